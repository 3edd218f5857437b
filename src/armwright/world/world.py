# SPDX-License-Identifier: Apache-2.0
"""A `World`: named shapes that stand still, and what an arm may be asked to do among them.

Frozen, hashable, stored as TOML files. A `JointTask` goes from configuration to configuration, a `ToolTask` moves the
tool from cell to cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.files import write_file
from armwright.kinematics.forward import fk_all
from armwright.world.arm_capsules import LinkCapsule, fixed_column, link_capsules
from armwright.world.shape_distance import nearest_parameters, signed_distance
from armwright.world.shapes import HalfSpace, Shape, kind_of

if TYPE_CHECKING:
    from armwright.robot.model import Robot

Numbers = tuple[float, ...]
Matrix = tuple[Numbers, ...]


def _floats(values: object, what: str) -> Numbers:
    try:
        numbers = tuple(float(v) for v in values)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise InputError(f"{what} must be numbers, got {values!r:.60}") from None
    if not numbers or not np.isfinite(numbers).all():
        raise InputError(f"{what} must be finite numbers, got {numbers}")
    return numbers


@dataclass(frozen=True)
class JointTask:
    """A task for the whole arm: from configuration `start` to configuration `goal` [rad, m], for one robot."""

    robot: str
    start: Numbers
    goal: Numbers

    def __post_init__(self) -> None:
        """Check that both are configurations of one arm."""
        for what in ("start", "goal"):
            object.__setattr__(self, what, _floats(getattr(self, what), f"task: joint coordinates of {what}"))
        if len(self.start) != len(self.goal):
            raise InputError(f"task: start has {len(self.start)} joint coordinates, goal {len(self.goal)}")


@dataclass(frozen=True)
class ToolTask:
    """A task for the tool alone: from one cell of a map to another, its orientation kept.

    The centre of cell c is at ``origin + size · c``; cells are counted from 1.

    Attributes:
        robots: names of the arms that `near` and `rotation` are meant for.
        cells: how many along x, y and perhaps z; the outermost ones bound the map if `ring`.
        origin: (3,) base frame [m]. size: edge of a cell [m].
        start, goal: cells.
        near: configuration [rad, m] with the tool near the start cell; it chooses the branch of inverse kinematics.
        rotation: tool orientation in the base frame (3, 3); () for that of `near`.
    """

    robots: tuple[str, ...]
    cells: tuple[int, ...]
    origin: Numbers
    size: float
    start: tuple[int, ...]
    goal: tuple[int, ...]
    near: Numbers
    rotation: Matrix = ()
    ring: bool = True

    def __post_init__(self) -> None:
        """Check that sizes and cells belong together."""
        names = (self.robots,) if isinstance(self.robots, str) else tuple(self.robots)
        object.__setattr__(self, "robots", names)
        for what in ("cells", "start", "goal"):
            cell = tuple(getattr(self, what))
            if len(cell) not in (2, 3) or any(isinstance(c, bool) or c != int(c) or c < 1 for c in cell):
                raise InputError(f"tool task: {what} must be two or three whole numbers from 1 on, got {cell}")
            object.__setattr__(self, what, tuple(int(c) for c in cell))
        for what in ("start", "goal"):
            cell = getattr(self, what)
            if len(cell) != len(self.cells) or any(c > most for c, most in zip(cell, self.cells, strict=True)):
                raise InputError(f"tool task: {what} {cell} is not a cell of a map of {self.cells} cells")
        for what in ("origin", "near"):
            object.__setattr__(self, what, _floats(getattr(self, what), f"tool task: {what}"))
        object.__setattr__(self, "rotation", tuple(tuple(float(x) for x in row) for row in self.rotation))
        if len(self.origin) != 3 or not (np.isfinite(self.size) and self.size > 0.0):
            raise InputError(f"tool task: origin must be x, y, z and size positive, got {self.origin} and {self.size}")
        R = np.array(self.rotation)
        if R.size and (R.shape != (3, 3) or np.abs(R.T @ R - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0.0):
            raise InputError(f"tool task: rotation must be a rotation matrix (3, 3), got {R.tolist()}")


MAX_SHAPES = 10_000
NAMED_SHAPES = 8  # shapes that a line has room for


@dataclass(frozen=True)
class World:
    """The shapes in the workspace of an arm.

    Attributes:
        shapes: with unique names, base frame.
        name, title, notes: as in the file.
        task: task of the whole arm for which the world was made; None if there is none.
        tool_task: task of the tool alone, on a map of cells; None if there is none.
    """

    shapes: tuple[Shape, ...] = ()
    name: str = "world"
    title: str = ""
    notes: str = ""
    task: JointTask | None = None
    tool_task: ToolTask | None = None

    def __post_init__(self) -> None:
        """Check that the shapes are shapes and their names unique."""
        if not isinstance(self.shapes, Iterable):
            raise InputError(f"world {self.name!r}: shapes must be a sequence of shapes, got {self.shapes!r:.60}")
        object.__setattr__(self, "shapes", tuple(self.shapes))
        for shape in self.shapes:
            kind_of(shape)
        names = [shape.name for shape in self.shapes]
        if len(names) > MAX_SHAPES:
            raise InputError(f"world {self.name!r}: at most {MAX_SHAPES} shapes, got {len(names)}")
        twice = sorted(name for name in set(names) if names.count(name) > 1)
        if twice:
            raise InputError(f"world {self.name!r}: shape names must be unique, repeated: {', '.join(twice[:5])}")

    def __len__(self) -> int:
        """Number of shapes."""
        return len(self.shapes)

    def __repr__(self) -> str:
        """Return one line: name, and the shapes by name."""
        names = [shape.name for shape in self.shapes]
        more = f", … {len(names) - NAMED_SHAPES} more" if len(names) > NAMED_SHAPES else ""
        return (
            f"World({self.name!r}, {len(names)} shapes: {', '.join(map(repr, names[:NAMED_SHAPES])) or 'none'}{more})"
        )

    def __iter__(self) -> Iterator[Shape]:
        """Iterate over the shapes."""
        return iter(self.shapes)

    def __getitem__(self, name: str) -> Shape:
        """Return the shape called `name`."""
        for shape in self.shapes:
            if shape.name == name:
                return shape
        raise InputError(
            f"world {self.name!r} has no shape {name!r}; it has: {', '.join(s.name for s in self.shapes) or 'none'}"
        )

    def with_shapes(self, *shapes: Shape) -> World:
        """Return the same world with more shapes."""
        return replace(self, shapes=(*self.shapes, *shapes))

    def with_surface(self, **surface: float) -> World:
        """Return the same world with other stiffness [N/m], damping [N s/m] or friction [-] on every shape."""
        unknown = sorted(set(surface) - {"stiffness", "damping", "friction"})
        if unknown:
            raise InputError(f"with_surface: unknown {unknown[0]!r}; valid: stiffness, damping, friction")
        changes: dict[str, Any] = dict(surface)
        return replace(self, shapes=tuple(replace(shape, **changes) for shape in self.shapes))

    @staticmethod
    def load(path: str | Path) -> World:
        """Read a world file or a world that comes with the package; see `load_world`."""
        from armwright.world.world_catalogue import load_world

        return load_world(path)

    def save(self, path: str | Path) -> None:
        """Write the world as a file that `load_world` reads back without loss."""
        from armwright.world.world_file import world_text

        write_file(path, world_text(self))


@names_culprit
def check_base(world: World, robot: Robot, capsules: tuple[LinkCapsule, ...] | None = None) -> None:
    """Refuse shapes that overlap the robot's base: the root's origin, and the links that no joint can move.

    A half-space may touch them from below (the floor the arm stands on) as long as no axis point lies inside.

    Raises:
        InputError: naming the shape and how deep it reaches.

    >>> check_base(load_world("shelf"), robot)  # silent: nothing overlaps
    """
    parts = link_capsules(robot) if capsules is None else capsules
    T = fk_all(robot, np.zeros(robot.n)) if robot.n else np.zeros((0, 4, 4))
    origin = robot.T_base_root[:3, 3]
    pieces = [(origin, np.zeros(3), 0.0, "the base")]
    for part in fixed_column(robot, parts):
        R, p = T[part.body, :3, :3], T[part.body, :3, 3]
        a = p + R @ np.array(part.start)
        pieces.append((a, p + R @ np.array(part.end) - a, part.radius, f"link {part.link!r}"))
    for shape in world.shapes:
        for a, d, radius, what in pieces:
            allowed = 0.0 if isinstance(shape, HalfSpace) else radius
            far = min(float(signed_distance(shape, a + s * d)) for s in nearest_parameters(shape, a, d))
            if far - allowed < -1e-9:
                raise InputError(
                    f"world {world.name!r}: shape {shape.name!r} overlaps {what} of robot {robot.name!r} by "
                    f"{1e3 * (allowed - far):.1f} mm; move it or the robot (Robot.with_base)"
                )
