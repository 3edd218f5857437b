# SPDX-License-Identifier: Apache-2.0
"""The Hopfield planner exactly as 000's code has it, its faults included (C.2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from armwright.arguments import names_culprit
from armwright.planning.grid.grid_map import ring_of
from armwright.planning.grid.hopfield_sweeps import sweep
from armwright.planning.grid.neighbourhood import von_neumann
from armwright.planning.grid.path_plan import PathPlan, Problem, problem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.planning.grid.grid_map import GridMap
    from armwright.types import Array

CLAMPED_INPUT = 1000.0
MOST_PATH_POINTS = 1200


@dataclass(frozen=True, slots=True)
class HopfieldPublished:
    """The planner of 000: ``HopfieldPublished()(map, start, goal) -> PathPlan``.

    g(x) = min(max(βx, 0), 1); inputs ±1000; the goal is set and **then** the outer ring overwritten as obstacle;
    10·√(nm) − 1 synchronous sweeps from σ = 0, no convergence test; uphill in the order (−1,0), (+1,0), (0,−1), (0,+1),
    the later of equals winning (``>=``); it stops at the goal, gives up in the ring or after 1200 points.

    Its faults are kept: where all neighbours have σ = 0 the tie rule walks into obstacles and may still report success
    (the message then names the obstacle cells entered); neither a blocked start nor an unreachable goal is noticed;
    many longer routes may outweigh the shortest. Use `Hopfield` for planning.

    Attributes:
        beta: slope.
        sweeps: number of sweeps; None for the rule above (10 times the mean edge, in any dimension, minus 1).
    """

    space: ClassVar[str] = "grid"
    beta: float = 0.1
    sweeps: int | None = None

    @property
    def name(self) -> str:
        """Return the name for tables."""
        return "hopfield-published"

    def activity(self, where: GridMap | ArrayLike, goal: ArrayLike) -> Array:
        """Return σ per cell after the last sweep."""
        return self._activity(problem(where, goal, goal))

    def _sweeps(self, shape: tuple[int, ...]) -> int:
        edge = np.sqrt(np.prod(shape)) if len(shape) == 2 else np.prod(shape) ** (1.0 / len(shape))
        return max(1, int(np.floor(10.0 * edge - 1.0 + 1e-9))) if self.sweeps is None else self.sweeps

    def _activity(self, p: Problem) -> Array:
        n = self._sweeps(p.blocked.shape)
        return sweep(inputs(p), von_neumann(p.blocked.ndim), self.beta, n, least=n)[0]

    def __call__(self, where: GridMap | ArrayLike, start: ArrayLike, goal: ArrayLike) -> PathPlan:
        """Plan as 000 does; the answer is "found" or "gave up"."""
        p = problem(where, start, goal)
        sigma = self._activity(p)
        offsets = [tuple(int(x) for x in row) for row in von_neumann(p.blocked.ndim).offsets]
        ring = ring_of(p.blocked.shape)
        cells, here = [p.start], p.start
        end = ""
        while here != p.goal and not end:
            best, step = -np.inf, here
            for offset in offsets:
                near = tuple(a + b for a, b in zip(here, offset, strict=True))
                inside = all(0 <= c < s for c, s in zip(near, sigma.shape, strict=True))
                if inside and sigma[near] >= best:
                    best, step = float(sigma[near]), near
            here = step
            cells.append(here)
            if here != p.goal and ring[here]:
                end = "it entered the outer ring"
            elif here != p.goal and len(cells) >= MOST_PATH_POINTS:
                end = f"{MOST_PATH_POINTS} points were not enough"
        field = np.where(p.blocked, np.nan, np.log(np.where(sigma > 0.0, sigma, np.nan)))
        n = self._sweeps(sigma.shape)
        path = p.numbered(cells)
        if end:
            message = f"gave up at {path[-1]}: {end}"
            return PathPlan("gave up", (), float("inf"), n * sigma.size, self.name, message, sweeps=n, field=field)
        through = [c for c, raw in zip(path[1:], cells[1:], strict=True) if p.blocked[raw] and raw != p.goal]
        message = f"found: {len(cells) - 1} steps"
        if through:
            message += f", of which {len(through)} through obstacles: {', '.join(map(str, through))}"
        return PathPlan("found", path, float(len(cells) - 1), n * sigma.size, self.name, message, sweeps=n, field=field)


def inputs(p: Problem) -> Array:
    """Return I: −1000 at obstacles, +1000 at the goal, then −1000 in the whole outer ring."""
    drive = np.where(p.blocked, -CLAMPED_INPUT, 0.0)
    drive[p.goal] = CLAMPED_INPUT
    drive[ring_of(drive.shape)] = -CLAMPED_INPUT
    return drive


@names_culprit
def display(where: GridMap | ArrayLike, plan: PathPlan, start: ArrayLike, goal: ArrayLike) -> Array:
    """Return the picture of 000 C.2.3: 0 obstacle, 1 free, 2 goal, 0.75 start, 0.5 path."""
    p = problem(where, start, goal)
    picture = inputs(p) / CLAMPED_INPUT + 1.0
    for cell in plan.path[1:-1]:
        picture[tuple(c - p.first for c in cell)] = 0.5
    picture[p.start] = 0.75
    return np.asarray(picture)
