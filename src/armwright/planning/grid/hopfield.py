# SPDX-License-Identifier: Apache-2.0
"""The Hopfield planner (Glasius), corrected: it comes to rest, knows when there is no path, and finds the shortest.

Activity σ spreads from the goal (σ = 1) through free cells and is followed uphill. In Glasius' network (000 §3.9)
σ_i = β Σ_j σ_j sums over **all walks** to the goal, so that many slightly longer routes can outweigh a short corridor,
and σ ~ β^d leaves the range of doubles on long paths. Two remedies, both here:

* ``dynamics="max"`` (default): σ_i = max_j β^{c_ij} σ_j, the limit β → 0 of the same network. At rest σ = β^d exactly,
  d the cost of a shortest path: uphill *is* the shortest path. Kept as d = log σ / log β, so nothing underflows. The
  role of the eigenvalue is played by the largest geometric mean of the weights around a cycle, which is below 1 for
  every 0 < β < 1: the fixed point is unique and reached after finitely many updates.
* ``dynamics="sum"``: Glasius' own sum with β from the true eigenvalue bound and a convergence test, in logarithms where
  σ would underflow. Its path is compared with the shortest, and the excess reported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from armwright.errors import InputError
from armwright.planning.grid.neighbourhood import Neighbourhood, neighbourhood
from armwright.planning.grid.network import stability
from armwright.planning.grid.path_plan import PathPlan, Problem, problem, refused, walled_in
from armwright.planning.grid.sweeps import Padded, descend, relax, sweep, weighted_sweep

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.planning.grid.occupancy import GridMap
    from armwright.types import Array

BETA_FRACTION = 0.1  # of the eigenvalue bound: small slopes weigh long detours less
DRIVE = 1e300  # input that clamps goal and obstacles whatever β is
MOST_SWEEPS = 1_000_000
LINEAR_ABOVE = -650.0  # log σ; below, exp is too near the end of the doubles


@dataclass(frozen=True, slots=True)
class Hopfield:
    """A planner: ``Hopfield()(map, start, goal) -> PathPlan``.

    Attributes:
        dynamics: "max" (shortest path guaranteed) or "sum" (excess reported); see the module.
        hood: neighbourhood, by name, offsets or `Neighbourhood`; any dimension.
        beta: slope; None takes `BETA_FRACTION` of the true bound of the grid. Values at or above the bound are refused.
        tolerance: relative change of σ at which the sum-network counts as at rest.
    """

    space: ClassVar[str] = "grid"
    dynamics: str = "max"
    hood: Neighbourhood | str | Any = "von_neumann"
    beta: float | None = None
    tolerance: float = 1e-13

    def __post_init__(self) -> None:
        """Check the options."""
        if self.dynamics not in ("max", "sum"):
            raise InputError(f"dynamics must be 'max' or 'sum', got {self.dynamics!r}")
        if self.beta is not None and not 0.0 < self.beta < 1.0:
            raise InputError(f"beta: must lie between 0 and 1, got {self.beta!r}")
        if not 0.0 < self.tolerance < 1.0:
            raise InputError(f"tolerance: must lie between 0 and 1, got {self.tolerance!r}")

    @property
    def name(self) -> str:
        """For tables."""
        return "hopfield" if self.dynamics == "max" else "hopfield-sum"

    def __call__(self, where: GridMap | ArrayLike, start: ArrayLike, goal: ArrayLike) -> PathPlan:
        """Plan from start to goal, cells numbered as the map counts."""
        p = problem(where, start, goal)
        hood = neighbourhood(self.hood, p.blocked.ndim)
        no = refused(p, self.name)
        if no is not None:
            return no
        if self.dynamics == "sum":
            slope = self._slope(p.blocked.shape, hood)
        else:
            slope = self.beta if self.beta is not None else 0.1  # only scales the field: any value gives the same path
        d, updates, layout = relax(p.blocked, hood, p.goal)
        shortest = float(d[layout.flat(p.start)])
        if shortest == np.inf:
            return walled_in(p, self.name, updates, int((np.abs(d) < np.inf).sum()))
        to_go = d.reshape(layout.shape)[layout.inner]
        if self.dynamics == "max":
            field = np.where(p.blocked, np.nan, to_go * np.log(slope))
            return self._plan(p, descend(d, layout, p.start, p.goal, layout.costs), hood, shortest, updates, 0, field)
        log_sigma, sweeps = settle(p, hood, slope, self.tolerance)
        cells = descend(-log_sigma, layout, p.start, p.goal, np.zeros_like(layout.costs))
        field = np.where(p.blocked, np.nan, log_sigma.reshape(layout.shape)[layout.inner])
        return self._plan(p, cells, hood, shortest, sweeps * p.blocked.size, sweeps, field)

    def _slope(self, shape: tuple[int, ...], hood: Neighbourhood) -> float:
        bound = stability(shape, hood).beta_bound
        if self.beta is None:
            return BETA_FRACTION * min(bound, 1.0)
        if self.beta >= bound:
            raise InputError(
                f"beta: {self.beta} is not below the bound {bound:.4f} of a {shape} grid with {hood.name} links, so "
                "the network may not settle; leave beta out"
            )
        return self.beta

    def _plan(
        self,
        p: Problem,
        cells: list[tuple[int, ...]],
        hood: Neighbourhood,
        shortest: float,
        updates: int,
        sweeps: int,
        field: Array,
    ) -> PathPlan:
        cost, text = shortest, "shortest"
        if self.dynamics == "sum":
            cost = path_cost(cells, hood)
            excess = cost - shortest
            text = "as long as the shortest" if abs(excess) < 1e-9 else f"{excess:.6g} longer than the shortest"
        message = f"found: {len(cells) - 1} steps, cost {cost:.6g}, {text}"
        return PathPlan("found", p.numbered(cells), cost, updates, self.name, message, shortest, sweeps, field)


def path_cost(cells: list[tuple[int, ...]], hood: Neighbourhood) -> float:
    """Return the sum of the costs of a path's steps."""
    table: dict[tuple[int, ...], float] = {
        tuple(row): cost for row, cost in zip(hood.offsets.tolist(), hood.costs.tolist(), strict=True)
    }
    return sum((table[tuple(b - a for a, b in zip(x, y, strict=True))] for x, y in pairwise(cells)), 0.0)


def settle(p: Problem, hood: Neighbourhood, beta: float, tolerance: float) -> tuple[Array, int]:
    """Return log σ of the sum-network at rest, padded and flat (−inf where σ = 0), and the number of sweeps.

    Small maps are swept as they are. On long ones σ would underflow, so it is written σ_i = e^{a_i} m_i, a_i the
    logarithm of the sum over the **shortest** walks alone (counted outwards, layer by layer): then m_i ≥ 1 holds what
    the longer walks add, and obeys the same linear equations with weights β e^{a_j − a_i} ≤ 1.
    """
    links = replace(hood, costs=np.ones(len(hood.costs)))  # the network counts links, whatever they cost
    hops, _, layout = relax(p.blocked, links, p.goal)
    reached = np.abs(hops) < np.inf
    goal = layout.flat(p.goal)
    uniform = hood.squeeze or not hood.diagonal
    if uniform and hops[reached].max() * np.log(beta) > LINEAR_ABOVE:
        inputs = np.where(p.blocked, -DRIVE, 0.0)
        inputs[p.goal] = DRIVE
        sigma, sweeps, rest = sweep(inputs, links, beta, MOST_SWEEPS, tolerance=tolerance)
        base, m = np.zeros(hops.size), np.zeros(layout.shape)
        m[layout.inner] = sigma
        m = m.reshape(-1)
    else:
        base = _shortest_walks(hops, reached, layout, beta)
        weights = np.zeros((layout.offsets.size, hops.size))
        cells = np.flatnonzero(reached & (hops > 0.0))
        for k, offset in enumerate(layout.offsets):
            near = cells + offset
            good = reached[near] & layout.may(cells)[:, k]
            weights[k, cells[good]] = beta * np.exp(base[near[good]] - base[cells[good]])
        source = np.zeros(hops.size)
        source[goal] = 1.0
        m, sweeps, rest = weighted_sweep(reached.astype(np.float64), source, weights, layout, MOST_SWEEPS, tolerance)
        base = np.where(reached, base, 0.0)
    if not rest or not np.isfinite(m).all():
        raise InputError(f"beta: the network did not settle in {sweeps} sweeps at β = {beta}; use a smaller β")
    with np.errstate(divide="ignore"):
        return base + np.log(m), sweeps


def _shortest_walks(hops: Array, reached: NDArray[np.bool_], layout: Padded, beta: float) -> Array:
    """Return log(β^h × number of shortest walks) per cell, −inf where there is none."""
    logs = np.full(hops.size, -np.inf)
    cells = np.flatnonzero(reached)
    cells = cells[np.argsort(hops[cells], kind="stable")]
    edges = np.searchsorted(hops[cells], np.arange(hops[cells[-1]] + 2.0))
    logs[cells[0]] = 0.0
    for layer, (i, j) in enumerate(pairwise(edges[1:])):
        here = cells[i:j]
        near = here[:, None] + layout.offsets
        before = np.where(layout.may(here) & (hops[near] == layer), logs[near], -np.inf)
        top = before.max(axis=1)
        logs[here] = np.log(beta) + top + np.log(np.exp(before - top[:, None]).sum(axis=1))
    return logs
