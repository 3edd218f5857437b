# SPDX-License-Identifier: Apache-2.0
"""The interface of grid planners: a problem checked once, and a `PathPlan` that says how it went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from armwright.errors import InputError
from armwright.planning.grid.grid import cell_index, grid_shape
from armwright.planning.grid.grid_map import GridMap

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.types import Array

    Mask = NDArray[np.bool_]

Cell = tuple[int, ...]
Status = Literal["found", "unreachable", "start blocked", "goal blocked", "gave up"]


@dataclass(frozen=True, slots=True, eq=False)
class PathPlan:
    """The answer of a grid planner.

    Attributes:
        status: "found", "unreachable" (proved: no path exists), "start blocked", "goal blocked", or "gave up" (proves
            nothing).
        path: cells from start to goal, both included, numbered as the map counts; () if there is none.
        cost: sum of the steps' costs; inf if there is no path.
        expanded: cells (or updates of cells) that the planner worked through.
        planner: its name.
        message: one sentence for a person.
        shortest: cost of a shortest path where the planner knows it, else NaN.
        sweeps: sweeps of a network until it was at rest; 0 for others.
        field: potential per cell (natural logarithm of the activity for networks, cost to go for searches), NaN where
            blocked; None if the planner has none.
    """

    status: Status
    path: tuple[Cell, ...]
    cost: float
    expanded: int
    planner: str
    message: str
    shortest: float = float("nan")
    sweeps: int = 0
    field: Array | None = field(default=None, repr=False)

    @property
    def ok(self) -> bool:
        """Whether there is a path."""
        return self.status == "found"

    @property
    def steps(self) -> int:
        """Number of steps; -1 without a path."""
        return len(self.path) - 1

    @property
    def excess(self) -> float:
        """Cost above the shortest path: 0 where shortest is guaranteed, NaN if unknown."""
        return self.cost - self.shortest if self.ok else float("nan")


class GridPlanner(Protocol):
    """Anything that plans on a grid: ``planner(map or mask, start, goal)``; it declares so by ``space = "grid"``."""

    space: ClassVar[str]

    @property
    def name(self) -> str:
        """For tables."""

    def __call__(self, where: GridMap | ArrayLike, start: ArrayLike, goal: ArrayLike) -> PathPlan:
        """Plan from start to goal."""


class Problem(NamedTuple):
    """Blocked cells, start and goal as array indices, and the number of the first cell."""

    blocked: Mask
    start: Cell
    goal: Cell
    first: int

    def numbered(self, cells: list[Cell]) -> tuple[Cell, ...]:
        """Return array indices as the map numbers its cells."""
        first = self.first
        return tuple(cells) if first == 0 else tuple(tuple(c + first for c in cell) for cell in cells)


def problem(where: GridMap | ArrayLike, start: ArrayLike, goal: ArrayLike) -> Problem:
    """Check a planning problem; a bare mask counts from 0 and may have any dimension."""
    if isinstance(where, GridMap):
        blocked, first = where.blocked(), where.grid.first
    else:
        mask = np.asarray(where)
        if mask.dtype != np.bool_:
            if mask.dtype.kind not in "iuf":
                raise InputError(f"map: expected a GridMap or a mask of blocked cells, got {type(where).__name__}")
            if not ((mask == 0) | (mask == 1)).all():  # NaN fails this too
                raise InputError("map: a mask holds True/1 (blocked) and False/0 (free) only")
            mask = mask.astype(bool)
        blocked, first = mask, 0
        grid_shape(mask.shape)
    return Problem(
        blocked, cell_index(start, blocked.shape, first, "start"), cell_index(goal, blocked.shape, first, "goal"), first
    )


def refused(p: Problem, planner: str) -> PathPlan | None:
    """Return the answer to problems whose ends are blocked, None if the ends are free."""
    for status, what, cell in (("start blocked", "start", p.start), ("goal blocked", "goal", p.goal)):
        if p.blocked[cell]:
            name = p.numbered([cell])[0]
            return PathPlan(status, (), float("inf"), 0, planner, f"the {what} cell {name} is blocked")  # type: ignore[arg-type]
    return None


def walled_in(p: Problem, planner: str, expanded: int, reached: int, sweeps: int = 0) -> PathPlan:
    """Return the answer for a start that the goal's region does not contain."""
    start, goal = p.numbered([p.start, p.goal])
    text = f"unreachable: {reached} free cells are connected with the goal {goal}, not the start {start}"
    return PathPlan("unreachable", (), float("inf"), expanded, planner, text, float("inf"), sweeps)
