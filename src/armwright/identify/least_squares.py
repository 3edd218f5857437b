# SPDX-License-Identifier: Apache-2.0
"""Weighted least squares on the currents of all logs: base parameters, friction, gains and payloads, before physics.

From Gram matrices alone it solves

    i_j = κ_j Y_j (β + L δ_l) + F_j φ_j + κ_j M_j ψ      joint j, log l

β are the base parameters, δ_l the ten parameters of the payload of log l (none, all, or all but a known mass), φ_j the
friction in amperes, ψ the friction of motors that turn with several joints [N m], κ_j = 1/gain, fixed or free. Fixed,
the problem is linear; free, it is bilinear and a few Gauss–Newton steps solve it. Weights are 1/σ_j², σ_j from the
residuals of each joint. `bounded_fit` begins here.

Deviations come from the scatter of whole seconds (`covariance`). Residuals of an arm are ripple, drift and friction,
not white noise: neighbouring samples repeat each other, and white-noise formulas give deviations four times too small
on real logs. The sums Cᵀr of one-second blocks are nearly independent, and their scatter gives the covariance
H⁻¹ (Σ s sᵀ) H⁻¹ (the sandwich).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.identify.current_log import Log
from armwright.identify.drive_gains import Free, Gains, Known
from armwright.identify.filtered_log import Prepared, even_samples
from armwright.identify.gear_friction import DAHL, MOTOR_TERMS, TERMS, checked_dahl
from armwright.identify.gram_matrices import Grams, LogColumns
from armwright.identify.identifiable import Structure, structure
from armwright.identify.identified import Load
from armwright.identify.log_checks import check_log, check_rows, check_seconds
from armwright.identify.target_gains import TargetGains, gains_from_targets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array

GAUSS_NEWTON_STEPS = 30
COST_CHANGE = 1e-11
"""Relative change of the cost at which Gauss–Newton stops."""
UNEXCITED_EIGENVALUE = 1e-11
"""Eigenvalue of the scaled normal matrix, relative to the largest, below which a direction is not excited."""


@dataclass(frozen=True, eq=False)
class UnknownLayout:
    """Layout of the unknowns in θ = (β, δ of each loaded log, φ, ψ, κ).

    Attributes:
        rank, n: numbers of base parameters and joints.
        motors: number of motors that turn with several joints.
        loads: (rank, 10) effect of a payload on β.
        payloads: for each log the place of its payload among `masses`, None without.
        masses: of each payload [kg], None where unknown.
        free_gains: whether κ is unknown.
    """

    rank: int
    n: int
    loads: Array
    payloads: tuple[int | None, ...]
    masses: tuple[float | None, ...]
    free_gains: bool
    motors: int = 0

    @property
    def size(self) -> int:
        """Return the number of unknowns, known masses included as constants."""
        return self.rank + 10 * len(self.masses) + len(TERMS) * self.n + len(MOTOR_TERMS) * self.motors + self.n

    def payload(self, g: int) -> slice:
        """Return the place of payload g."""
        return slice(self.rank + 10 * g, self.rank + 10 * g + 10)

    def friction(self, j: int) -> slice:
        """Return the place of the friction of joint j."""
        start = self.rank + 10 * len(self.masses) + len(TERMS) * j
        return slice(start, start + len(TERMS))

    @property
    def motor(self) -> slice:
        """Return the place of the friction of all coupled motors."""
        start = self.size - self.n - len(MOTOR_TERMS) * self.motors
        return slice(start, self.size - self.n)

    def gain(self, j: int) -> int:
        """Return the place of κ_j."""
        return self.size - self.n + j

    @property
    def free(self) -> NDArray[np.bool_]:
        """Return the mask of the unknowns that are estimated."""
        free = np.ones(self.size, bool)
        for g, mass in enumerate(self.masses):
            free[self.payload(g).start] = mass is None
        free[self.size - self.n :] = self.free_gains
        return free

    def beta(self, theta: Array, log: int) -> Array:
        """Return the base parameters of log `log`, payload included."""
        g = self.payloads[log]
        return theta[: self.rank] + (self.loads @ theta[self.payload(g)] if g is not None else 0.0)

    def vector(self, theta: Array, log: int, j: int) -> Array:
        """Return v with residual C_j v."""
        kappa = theta[self.gain(j)]
        own = theta[self.friction(j)]
        return np.concatenate([kappa * self.beta(theta, log), own, kappa * theta[self.motor], [-1.0]])

    def tangent(self, theta: Array, log: int, j: int) -> Array:
        """Return ∂v/∂θ (m, size)."""
        own, motor = slice(self.rank, self.rank + len(TERMS)), slice(self.rank + len(TERMS), -1)
        J = np.zeros((self.rank + len(TERMS) + len(MOTOR_TERMS) * self.motors + 1, self.size))
        kappa = theta[self.gain(j)]
        J[: self.rank, : self.rank] = kappa * np.eye(self.rank)
        g = self.payloads[log]
        if g is not None:
            J[: self.rank, self.payload(g)] = kappa * self.loads
        J[own, self.friction(j)] = np.eye(len(TERMS))
        J[motor, self.motor] = kappa * np.eye(len(MOTOR_TERMS) * self.motors)
        J[: self.rank, self.gain(j)] = self.beta(theta, log)
        J[motor, self.gain(j)] = theta[self.motor]
        return J


SMALLEST_SQUARE = 1e-15
"""Share of the currents' mean square below which a residual is rounding: it is a difference of sums of squares, and
what rounding left of it once called parameters undetermined on processors that add in another order."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Result of `solve`.

    Attributes:
        theta: (size,) see `UnknownLayout`.
        sigma: (n,) rms residual of each joint [A].
        normal: (size, size) JᵀWJ.
        null: (k, size) directions that the data do not determine.
        rows: number of equations, all joints together.
    """

    theta: Array
    sigma: Array
    normal: Array
    null: Array
    rows: float


def solve(grams: Sequence[Grams], layout: UnknownLayout, start: Array) -> Solution:
    """Minimise the weighted residual of all logs from a starting θ whose κ, and known masses, are set."""
    theta = start.copy()
    rows = np.maximum(sum(g.rows for g in grams), 1.0)
    sigma = np.sqrt(np.maximum(sum(g.squares for g in grams), 1e-300) / rows)
    before = np.inf
    for _ in range(GAUSS_NEWTON_STEPS):
        H, g = normal_equations(grams, layout, theta, sigma)
        step, _ = determined_step(H, g, layout.free)
        theta = theta + step
        square = squares(grams, layout, theta) / rows
        floor = SMALLEST_SQUARE * (sum(g.squares for g in grams) / rows) + 1e-300
        new = np.sqrt(np.maximum(square, floor))
        cost = float(np.sum(np.log(new)))
        sigma = new
        if abs(before - cost) < COST_CHANGE * max(1.0, abs(cost)):
            break
        before = cost
    H, g = normal_equations(grams, layout, theta, sigma)
    _, null = determined_step(H, g, layout.free)
    if layout.free_gains and (theta[layout.size - layout.n :] <= 0.0).any():
        raise InputError(
            "gains: the fit gives a drive gain ≤ 0; the logs do not determine it, use Known or FromTargets"
        )
    return Solution(theta, sigma, H, null, float(np.sum(rows)))


def normal_equations(grams: Sequence[Grams], layout: UnknownLayout, theta: Array, sigma: Array) -> tuple[Array, Array]:
    """Return JᵀWJ and −JᵀWr of all logs."""
    H, g = np.zeros((layout.size, layout.size)), np.zeros(layout.size)
    for k, gram in enumerate(grams):
        for j in range(layout.n):
            J = layout.tangent(theta, k, j)
            GJ = gram.matrices[j] @ J
            w = 1.0 / sigma[j] ** 2
            H += w * (J.T @ GJ)
            g -= w * (GJ.T @ layout.vector(theta, k, j))
    return H, g


def squares(grams: Sequence[Grams], layout: UnknownLayout, theta: Array) -> Array:
    """Return Σ r² of each joint over all logs (n,) [A²]."""
    out = np.zeros(layout.n)
    for k, gram in enumerate(grams):
        for j in range(layout.n):
            v = layout.vector(theta, k, j)
            out[j] += max(float(v @ gram.matrices[j] @ v), 0.0)
    return out


def determined_step(H: Array, g: Array, free: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return the Newton step in the free unknowns, along determined directions only; and the other directions."""
    at = np.flatnonzero(free)
    A, b = H[np.ix_(at, at)], g[at]
    scale = np.sqrt(np.maximum(np.diag(A), 0.0))
    scale = np.where(scale > 1e-150, scale, 1.0)
    values, vectors = np.linalg.eigh(A / np.outer(scale, scale))
    good = values > UNEXCITED_EIGENVALUE * values[-1]
    along = vectors[:, good]
    step = np.zeros(len(free))
    step[at] = (along @ ((along.T @ (b / scale)) / values[good])) / scale
    null = np.zeros((int((~good).sum()), len(free)))
    null[:, at] = vectors[:, ~good].T / scale
    return step, null


WIDE = 0.25
"""A gain whose deviation exceeds this share of it (±50 % at two deviations) is undetermined."""


def covariance(layout: UnknownLayout, solution: Solution, data: Sequence[LogColumns], free: NDArray[np.bool_]) -> Array:
    """Return the covariance (size, size) of θ from the scatter of blocks of time; 0 where θ is fixed, not `free`.

    Directions that the data do not determine have infinite variance; they show as ``inf`` on the diagonal of the
    unknowns that take part in them.
    """
    at = np.flatnonzero(free)
    meat = np.zeros((layout.size, layout.size))
    count = 0
    for k, columns in enumerate(data):
        sums = columns.scores(np.array([layout.vector(solution.theta, k, j) for j in range(layout.n)]))
        s = np.zeros((len(sums), layout.size))
        for j in range(layout.n):
            s += sums[:, j] @ layout.tangent(solution.theta, k, j) / solution.sigma[j] ** 2
        meat += s.T @ s
        count += len(sums)
    # as many blocks as unknowns would leave no scatter to see: the usual small-sample factor
    factor = count / max(1, count - len(at) / layout.n)
    H = solution.normal[np.ix_(at, at)]
    scale = np.sqrt(np.maximum(np.diag(H), 0.0))
    scale = np.where(scale > 1e-150, scale, 1.0)
    values, vectors = np.linalg.eigh(H / np.outer(scale, scale))
    good = values > UNEXCITED_EIGENVALUE * values[-1]
    inverse = (vectors[:, good] / values[good]) @ vectors[:, good].T / np.outer(scale, scale)
    out = np.zeros((layout.size, layout.size))
    out[np.ix_(at, at)] = factor * inverse @ meat[np.ix_(at, at)] @ inverse
    for direction in solution.null:
        part = np.abs(direction) * np.sqrt(np.maximum(np.diag(solution.normal), 1e-300))
        open_ = np.flatnonzero(part > 1e-3 * part.max(initial=0.0))
        out[open_, open_] = np.inf
    return out


def undetermined(
    layout: UnknownLayout, solution: Solution, variance: Array, free: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return the mask of θ of estimates that others can replace, so that their value says nothing.

    A base, payload or friction parameter counts as undetermined where two of its deviations move the currents by more
    than their residual; a gain where two deviations exceed half of it.
    """
    sd = np.sqrt(np.maximum(variance, 0.0))
    with np.errstate(invalid="ignore"):
        effect = sd * np.sqrt(np.maximum(np.diag(solution.normal), 0.0) / solution.rows)  # rms, over the residual
    out = np.asarray(~(2.0 * effect <= 1.0))
    gains = slice(layout.size - layout.n, layout.size)
    out[gains] = ~(sd[gains] <= WIDE * np.abs(solution.theta[gains]))
    # a column of zeros: nothing in the logs asks for this parameter
    out |= np.diag(solution.normal) <= 0.0
    out[np.logical_not(free)] = False
    return out


MOST_DATA_PASSES = 12
"""Most passes over the data; each loads the friction with the torques that the last found. Four do for real logs."""
TORQUE_CHANGE = 1e-11
"""Relative change of those torques at which no further pass is needed,"""
RESIDUAL_SHARE = 0.02
"""or this share of the residual, which it can no longer change."""


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of least squares, and the data it was found from; `travel` is δ of joints and motors (n + k,)."""

    model: Structure
    layout: UnknownLayout
    solution: Solution
    data: tuple[LogColumns, ...]
    grams: tuple[Grams, ...]
    prepared: tuple[Prepared, ...]
    targets: TargetGains | None
    remarks: tuple[str, ...]
    travel: Array


def least_squares(
    logs: tuple[Log, ...],
    robot: Robot,
    gains: Gains | None,
    payloads: Sequence[Load | None] | None,
    rate: float = 100.0,
    cutoff: float | None = 8.0,
    dahl: float | None = None,
) -> Fit:
    """Estimate everything by weighted least squares on the currents; arguments as `fit`."""
    if not logs:
        raise InputError("fit: no logs given")
    for log in logs:
        check_log(log, robot)
    check_seconds(sum(log.duration for log in logs))
    model = structure(robot)
    n = robot.n
    travel = checked_dahl(DAHL if dahl is None else dahl, n + len(model.motors))
    carried = tuple(payloads) if payloads is not None else (None,) * len(logs)
    if len(carried) != len(logs):
        raise InputError(f"fit: {len(carried)} payloads for {len(logs)} logs; give one per log, None without")
    places, masses = [], list[float | None]()
    for load in carried:
        places.append(None if load is None else len(masses))
        if load is not None:
            masses.append(load.mass)
    if masses and None not in places:
        raise InputError("fit: every log carries a payload; at least one without is needed to tell load from arm")
    free = isinstance(gains, Free)
    if free and all(mass is None for mass in masses):
        raise InputError(
            "fit: free gains need a log with a load of known mass, Load(mass=…): currents show only ratios"
        )
    start_gains, targets = _start(logs, gains, n)
    layout = UnknownLayout(model.rank, n, model.loads, tuple(places), tuple(masses), free, len(model.motors))
    theta = np.zeros(layout.size)
    theta[: model.rank] = model.base.regrouping @ model.sheet()
    theta[-n:] = 1.0 / start_gains
    for g, mass in enumerate(masses):
        theta[layout.payload(g).start] = mass or 0.0
    prepared = tuple(even_samples(log, rate=rate, cutoff=cutoff) for log in logs)
    remarks = [f"{p.name}: {text}" for p in prepared for text in p.left_out]
    data = tuple(LogColumns(p, model, layout.beta(theta, i), dahl=travel) for i, p in enumerate(prepared))
    grams = tuple(x.grams for x in data)
    remarks += check_rows(grams, robot, int(layout.free.sum()), sum(p.duration for p in prepared))
    solution, grams = _solved(data, grams, layout, theta)
    return Fit(model, layout, solution, data, grams, prepared, targets, tuple(remarks), travel)


def _solved(
    data: Sequence[LogColumns], grams: tuple[Grams, ...], layout: UnknownLayout, theta: Array
) -> tuple[Solution, tuple[Grams, ...]]:
    """Solve until the friction is loaded with the torques of the result."""
    for _ in range(MOST_DATA_PASSES):
        solution = solve(grams, layout, theta)
        moved = _moved(layout, grams, theta, solution.theta)
        theta = solution.theta
        if moved < max(TORQUE_CHANGE, RESIDUAL_SHARE * _residual(grams, solution)):
            break
        grams = loaded_again(data, layout, theta)
    return solution, grams


def with_travel(fit: Fit, travel: Array) -> Fit:
    """Return least squares with other δ (n + k,) [rad]."""
    layout, theta = fit.layout, fit.solution.theta
    data = tuple(LogColumns(p, fit.model, layout.beta(theta, k), dahl=travel) for k, p in enumerate(fit.prepared))
    solution, grams = _solved(data, tuple(x.grams for x in data), fit.layout, fit.solution.theta)
    return replace(fit, solution=solution, data=data, grams=grams, travel=travel)


def loaded_again(
    data: Sequence[LogColumns], layout: UnknownLayout, theta: Array, travel: Array | None = None
) -> tuple[Grams, ...]:
    """Load the friction with the torques of θ, and other δ (n + k,) [rad] if given, and return the sums anew."""
    for k, columns in enumerate(data):
        columns.load(layout.beta(theta, k), travel)
    return tuple(columns.grams for columns in data)


def _start(logs: tuple[Log, ...], gains: Gains | None, n: int) -> tuple[Array, TargetGains | None]:
    """Return gains to begin with, and what the controller's targets tell of them, unless they are known."""
    if isinstance(gains, Known):
        values = np.array(gains.values)
        if values.shape != (n,):
            raise InputError(f"fit: {len(values)} gains for {n} joints")
        return values, None
    if not isinstance(gains, Free):
        found = gains_from_targets(logs, gains.assumed if gains is not None else None)
        return found.values, found
    try:  # free gains begin at the controller's where there are any
        found = gains_from_targets(logs)
        return found.values, found
    except InputError:
        return np.full(n, 10.0), None


def _moved(layout: UnknownLayout, grams: Sequence[Grams], before: Array, after: Array) -> float:
    """Return the largest relative change of a joint's rigid-body torque between two passes, over all logs."""
    worst = 0.0
    for k, gram in enumerate(grams):
        step = layout.beta(after, k) - layout.beta(before, k)
        beta = layout.beta(after, k)
        for G in gram.matrices[:, : layout.rank, : layout.rank]:
            level = float(beta @ G @ beta)
            worst = max(worst, float(step @ G @ step) / level) if level > 0.0 else worst
    return float(np.sqrt(worst))


def _residual(grams: Sequence[Grams], solution: Solution) -> float:
    """Return the smallest residual of a moving joint relative to its current."""
    rows, squares = (np.sum([getattr(g, part) for g in grams], axis=0) for part in ("rows", "squares"))
    moved = squares > 0.0
    return float(np.min(solution.sigma[moved] / np.sqrt(squares[moved] / rows[moved])))
