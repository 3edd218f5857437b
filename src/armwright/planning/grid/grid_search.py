# SPDX-License-Identifier: Apache-2.0
"""Dijkstra and A*: the oracle for path lengths, behind the planners' common interface."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from armwright.planning.grid.hopfield_sweeps import Padded, pad
from armwright.planning.grid.neighbourhood import Neighbourhood, neighbourhood
from armwright.planning.grid.path_plan import PathPlan, Problem, problem, refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from armwright.planning.grid.grid_map import GridMap


@dataclass(frozen=True, slots=True)
class Dijkstra:
    """A planner that settles cells in the order of their distance from the start until the goal is settled.

    Attributes:
        hood: neighbourhood, by name, offsets or `Neighbourhood`.
    """

    space: ClassVar[str] = "grid"
    hood: Neighbourhood | str | Any = "von_neumann"

    @property
    def name(self) -> str:
        """For tables."""
        return "dijkstra"

    def __call__(self, where: GridMap | ArrayLike, start: ArrayLike, goal: ArrayLike) -> PathPlan:
        """Plan from start to goal."""
        p = problem(where, start, goal)
        return _search(p, neighbourhood(self.hood, p.blocked.ndim), self.name, lambda _: 0.0)


@dataclass(frozen=True, slots=True)
class AStar:
    """Dijkstra's search drawn to the goal by a lower bound of the cost still to come; same path cost, fewer cells.

    Attributes:
        hood: neighbourhood, by name, offsets or `Neighbourhood`.
    """

    space: ClassVar[str] = "grid"
    hood: Neighbourhood | str | Any = "von_neumann"

    @property
    def name(self) -> str:
        """For tables."""
        return "astar"

    def __call__(self, where: GridMap | ArrayLike, start: ArrayLike, goal: ArrayLike) -> PathPlan:
        """Plan from start to goal."""
        p = problem(where, start, goal)
        hood = neighbourhood(self.hood, p.blocked.ndim)
        return _search(p, hood, self.name, _bound(hood, p))


def _bound(hood: Neighbourhood, p: Problem) -> Callable[[int], float]:
    """Cost still to come, never too high: the larger of ‖Δ‖₁ and ‖Δ‖₂ at the cheapest price a step pays for them."""
    size1 = np.abs(hood.offsets).sum(axis=1)
    size2 = np.sqrt((hood.offsets**2).sum(axis=1))
    # coordinates of padded flat indices, last axis first
    sizes = [s + 2 * hood.reach for s in reversed(p.blocked.shape)]
    ends = [c + hood.reach for c in reversed(p.goal)]
    price1, price2 = float((hood.costs / size1).min()), float((hood.costs / size2).min())

    def bound(flat: int) -> float:
        delta: list[int] = []
        for size, end in zip(sizes, ends, strict=True):
            flat, c = divmod(flat, size)
            delta.append(abs(c - end))
        # rounding must not make it exceed the true cost: ties would be settled too early
        straight = float(sum(x * x for x in delta)) ** 0.5
        return float(max(price1 * sum(delta), price2 * straight)) * (1.0 - 1e-12)

    return bound


def _search(p: Problem, hood: Neighbourhood, name: str, bound: Callable[[int], float]) -> PathPlan:
    no = refused(p, name)
    if no is not None:
        return no
    layout: Padded = pad(p.blocked, hood)
    wall = np.ones(layout.shape, dtype=bool)
    wall[layout.inner] = p.blocked
    free = (~wall).reshape(-1)
    steps = list(zip(range(len(hood.costs)), layout.offsets.tolist(), hood.costs.tolist(), strict=True))
    begin, end = layout.flat(p.start), layout.flat(p.goal)
    cost, parent = {begin: 0.0}, {begin: -1}
    settled: set[int] = set()
    heap = [(bound(begin), begin)]
    while heap:
        _, i = heapq.heappop(heap)
        if i in settled:
            continue
        settled.add(i)
        if i == end:
            chain = []
            while i >= 0:
                chain.append(i)
                i = parent[i]
            cells = layout.cells(np.array(chain))
            total = cost[end]
            message = f"found: {len(cells) - 1} steps, cost {total:.6g}, shortest"
            return PathPlan("found", p.numbered(cells[::-1]), total, len(settled), name, message, total)
        word, here = int(layout.moves[i * layout.each]), cost[i]
        for k, offset, c in steps:
            j = i + offset
            if free[j] and word >> k & 1 and here + c < cost.get(j, np.inf):
                cost[j], parent[j] = here + c, i
                heapq.heappush(heap, (here + c + bound(j), j))
    start, goal = p.numbered([p.start, p.goal])
    message = f"unreachable: {len(settled)} free cells are connected with the start {start}, not the goal {goal}"
    return PathPlan("unreachable", (), float("inf"), len(settled), name, message, float("inf"))
