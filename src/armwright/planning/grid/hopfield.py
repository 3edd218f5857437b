# SPDX-License-Identifier: Apache-2.0
"""The Hopfield planner (Glasius), corrected: it comes to rest, knows when there is no path, and finds the shortest.

Activity σ spreads from the goal (σ = 1) through free cells and is followed uphill. In Glasius' network (000 eq. 6.1)
σ_i = β Σ_j σ_j sums over **all walks** to the goal, so that many slightly longer routes can outweigh a short corridor,
and σ ~ β^d leaves the range of doubles on long paths. Two remedies, both here:

* ``dynamics="max"`` (default): σ_i = max_j β^{c_ij} σ_j, the limit β → 0 of the same network. At rest σ = β^d exactly,
  d the cost of a shortest path: uphill *is* the shortest path. Kept as d = log σ / log β, so nothing underflows. The
  role of the eigenvalue is played by the largest geometric mean of the weights around a cycle, which is below 1 for
  every 0 < β < 1: the fixed point is unique and reached after finitely many updates.
* ``dynamics="sum"``: Glasius' own sum with β from the true eigenvalue bound and a convergence test, in logarithms where
  σ would underflow. Its path is compared with the shortest, and the excess reported.

`stability` says when the network settles: eigenvalues of its links and the bounds on β; `lyapunov` is its Lyapunov
function (000 eq. 6.8–6.12).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.planning.grid.grid import grid_shape
from armwright.planning.grid.hopfield_sweeps import Padded, descend, relax, sweep, weighted_sweep
from armwright.planning.grid.neighbourhood import Neighbourhood, neighbourhood
from armwright.planning.grid.path_plan import PathPlan, Problem, problem, refused, walled_in

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_matrix

    from armwright.planning.grid.grid_map import GridMap
    from armwright.types import Array

DENSE_SOLVER_CELLS = 600  # cells up to which a general neighbourhood's eigenvalues come from a dense solver


@dataclass(frozen=True, slots=True)
class Stability:
    """Eigenvalues of the link matrix T and the bounds that they put on β.

    Attributes:
        lambda_min, lambda_max: extreme eigenvalues of T on the empty grid. Obstacles and the goal only remove rows and
            columns, which moves both towards zero (interlacing), so the bounds hold for every map on this grid.
        beta_convergence: 1/|lambda_min|: below it every synchronous sweep lowers the Lyapunov function.
        beta_unique: 1/lambda_max: below it the fixed point is unique.
        beta_bound: the smaller of both.
    """

    lambda_min: float
    lambda_max: float

    @property
    def beta_convergence(self) -> float:
        """Bound for convergence of synchronous sweeps."""
        return 1.0 / abs(self.lambda_min) if self.lambda_min < 0.0 else float("inf")

    @property
    def beta_unique(self) -> float:
        """Bound for a unique fixed point."""
        return 1.0 / self.lambda_max if self.lambda_max > 0.0 else float("inf")

    @property
    def beta_bound(self) -> float:
        """β must be smaller than this."""
        return min(self.beta_convergence, self.beta_unique)

    def holds(self, beta: float) -> bool:
        """Return whether the network with slope β converges to its only fixed point."""
        return 0.0 < beta < self.beta_bound


@names_culprit
def stability(
    shape: tuple[int, ...], hood: Neighbourhood | str | ArrayLike = "von_neumann", *, self_link: bool = False
) -> Stability:
    """Return the extreme eigenvalues of T on a grid and the bounds on β (C16 of 000).

    000 takes λ ≈ 3.0 for 20×20; the true values are ±3.955 without self-links (as its code has it), −2.955 … 4.955 with
    them (as its equation has it): 3.0 is about |λ_min| of the latter, while uniqueness needs λ_max.

    Args:
        shape: shape of the grid.
        hood: the links.
        self_link: also link every cell with itself (adds 1 to every eigenvalue).

    Closed form for straight and full neighbourhoods (a path graph of n cells has 2cos(kπ/(n+1))), else numeric.

    >>> stability((20, 20)).beta_bound  # 1/3.955
    """
    sizes = grid_shape(shape)
    links = neighbourhood(hood, len(sizes))
    extra = 1.0 if self_link else 0.0
    paths = [2.0 * np.cos(np.arange(1, n + 1) * np.pi / (n + 1)) for n in sizes]
    if links.name == "von_neumann":
        low, high = sum(float(p[-1]) for p in paths), sum(float(p[0]) for p in paths)
    elif links.name == "moore":
        products = np.ones(1)
        for p in paths:
            # only the extremes of each factor 1 + 2cos can make the extremes of the product
            ends = np.array([(1.0 + p).min(), (1.0 + p).max()])
            products = np.outer(products, ends).reshape(-1)
        low, high = float(products.min()) - 1.0, float(products.max()) - 1.0
    else:
        low, high = _extremes(sizes, links)
    return Stability(low + extra, high + extra)


@names_culprit
def link_matrix(shape: tuple[int, ...], hood: Neighbourhood | str | ArrayLike = "von_neumann") -> csr_matrix:
    """Return T as a sparse matrix (N, N): 1 where cells are linked.

    >>> int(link_matrix((3, 3)).sum())
    24
    """
    from scipy import sparse

    sizes = grid_shape(shape)
    links = neighbourhood(hood, len(sizes))
    cells = np.indices(sizes).reshape(len(sizes), -1)
    number = np.arange(cells.shape[1]).reshape(sizes)
    rows, columns = [], []
    for offset in links.offsets:
        other = cells + offset[:, None]
        good = ((other >= 0) & (other < np.array(sizes)[:, None])).all(axis=0)
        rows.append(np.flatnonzero(good))
        columns.append(number[tuple(other[:, good])])
    i, j = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_matrix((np.ones(i.size), (i, j)), shape=(number.size, number.size))


def _extremes(shape: tuple[int, ...], links: Neighbourhood) -> tuple[float, float]:
    T = link_matrix(shape, links)
    if T.shape[0] <= DENSE_SOLVER_CELLS:
        values = np.linalg.eigvalsh(T.toarray())
        return float(values[0]), float(values[-1])
    from scipy.sparse.linalg import eigsh

    start = np.random.default_rng(0).random(T.shape[0])  # reproducible
    low, high = (float(eigsh(T, k=1, which=w, return_eigenvectors=False, v0=start)[0]) for w in ("SA", "LA"))
    return low, high


@names_culprit
def lyapunov(
    sigma: ArrayLike, inputs: ArrayLike, beta: float, hood: Neighbourhood | str | ArrayLike = "von_neumann"
) -> float:
    """Return L = −½ Σ T_ij σ_i σ_j − Σ I_i σ_i + Σ G(σ_i), G(σ) = ∫₀^σ g⁻¹ = σ²/(2β) (000 eq. 6.4, sign as in 6.5).

    Args:
        sigma: activities, shape of the grid.
        inputs: I, the same shape.
        beta: slope of g.
        hood: the links T.
    """
    s, I = np.asarray(sigma, dtype=np.float64), np.asarray(inputs, dtype=np.float64)  # noqa: E741 - 000's symbol
    if s.shape != I.shape or not beta > 0.0:
        raise InputError(f"lyapunov: sigma {s.shape} and inputs {I.shape} must agree, and beta be > 0, got {beta!r}")
    flat = s.reshape(-1)
    T = link_matrix(s.shape, hood)
    return float(-0.5 * flat @ (T @ flat) - (I * s).sum() + (s * s).sum() / (2.0 * beta))


BETA_FRACTION = 0.1  # share of the eigenvalue bound: small slopes weigh long detours less
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


def hopfield_sum(**options: Any) -> Hopfield:
    """Return the network whose neurons sum their neighbours, with its options."""
    return Hopfield(dynamics="sum", **options)


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
