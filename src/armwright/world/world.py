# SPDX-License-Identifier: Apache-2.0
"""A `World`: named shapes that stand still. Frozen, hashable, stored as TOML files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.kinematics.forward import fk_all
from armwright.world.distance import signed_distance
from armwright.world.link_capsules import LinkCapsule, fixed_column, link_capsules
from armwright.world.segment import nearest_parameters
from armwright.world.shapes import HalfSpace, Shape, kind_of
from armwright.world.task import Task, ToolTask

if TYPE_CHECKING:
    from armwright.robot.model import Robot

PACKAGE = "armwright.world"
MAX_SHAPES = 10_000
MOST_NAMES = 8  # shapes that a line has room for


@dataclass(frozen=True)
class World:
    """What stands in the workspace.

    Attributes:
        shapes: with unique names, base frame.
        name, title, notes: as in the file.
        task: of the whole arm, for which the world was made; None if it says nothing.
        tool_task: of the tool alone, on a map of cells; None if it says nothing.
    """

    shapes: tuple[Shape, ...] = ()
    name: str = "world"
    title: str = ""
    notes: str = ""
    task: Task | None = None
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
        more = f", … {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        return f"World({self.name!r}, {len(names)} shapes: {', '.join(map(repr, names[:MOST_NAMES])) or 'none'}{more})"

    def __iter__(self) -> Iterator[Shape]:
        """Go through the shapes."""
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
        return load_world(path)

    def save(self, path: str | Path) -> None:
        """Write the world as a file that `load_world` reads back without loss."""
        from armwright.world.file import world_text

        Path(path).write_text(world_text(self), encoding="utf-8")


def worlds() -> list[str]:
    """Return the names of the worlds that come with the package, sorted."""
    folder = resources.files(PACKAGE) / "worlds"
    return sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml"))


@names_culprit
def load_world(path: str | Path) -> World:
    """Read a world: the name of one that comes with the package (`worlds`), or a TOML file.

    Raises:
        DescriptionError: with file, line, dotted path and rule.
    """
    from armwright.world.file import read_world, world_from_text

    text = str(path)
    if isinstance(path, str) and not text.endswith(".toml"):
        if text not in worlds():
            raise InputError(f"no world {text!r}, and not a .toml file; the package has: {', '.join(worlds())}")
        content = (resources.files(PACKAGE) / "worlds" / f"{text}.toml").read_text(encoding="utf-8")
        return world_from_text(content, f"worlds/{text}.toml")
    return read_world(Path(text))


@names_culprit
def check_base(world: World, robot: Robot, capsules: tuple[LinkCapsule, ...] | None = None) -> None:
    """Refuse shapes that overlap the robot's base: the root's origin, and the links that no joint can move.

    A half-space may touch them from below (the floor the arm stands on) as long as no axis point lies inside.

    Raises:
        InputError: naming the shape and how deep it reaches.
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
