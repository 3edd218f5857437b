# SPDX-License-Identifier: Apache-2.0
"""What an arm may be asked to do in a world: go from configuration to configuration, or its tool from cell to cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armwright.errors import InputError

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
class Task:
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
        """Check that shapes and cells belong together."""
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
