# SPDX-License-Identifier: Apache-2.0
"""One fit that physics allows: bodies that can exist and friction that dissipates, found together with all else.

    minimise ½ Σ_j ‖C_j v_j(Bπ, δ, φ, ψ, κ)‖²/σ_j² + λN Σ_i [tr(P_i⁰⁻¹ P_i) − log det(P_i⁰⁻¹ P_i) − 4]

over the rigid parameters π of bodies and rotors themselves, not their combinations β = Bπ, with

    viscous, Coulomb ≥ 0,   0 ≤ load ≤ 0.5,   friction at the fastest speed ≥ 0

at every joint and coupled motor. As v|v| is concave where its coefficient is negative, friction that is not negative at
0 and at the fastest speed is not negative between. Fitting first and clipping afterwards leaves a model whose residual
nobody has computed: here bounds and consistency are part of the fit, and the residual is that of the result.

The problem is convex for fixed gains and is solved by Newton's method with a logarithmic barrier, whose weight falls;
then σ_j is the residual of the result, and it is solved again. Free gains are linearised anew each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.identify.consistent_bodies import PriorBodies
from armwright.identify.least_squares import (
    SMALLEST_SQUARE,
    Solution,
    UnknownLayout,
    determined_step,
    normal_equations,
    squares,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.identify.gram_matrices import Grams
    from armwright.identify.identifiable import Structure
    from armwright.types import Array

LARGEST_LOAD_FRICTION = 0.5
"""Largest load coefficient of friction; gears that rub more lock."""
BARRIERS = (1e-2, 1e-4, 1e-6)
"""Weights of the barrier per equation, one after another; the last costs a bound less than a hundredth of σ."""
SIGMA_ROUNDS, MOST_SIGMA_ROUNDS = 3, 12
"""Solutions with σ from the one before; free gains need more to settle."""
SETTLED_GAINS = 1e-6
"""Relative change of free gains at which no further round is needed."""
RIDGE = 1e-6
"""Weight per equation that keeps finite what the logs do not show at all."""
MOST_BARRIER_STEPS = 200
DECREMENT = 1e-9
"""Newton decrement per equation at which a problem counts as solved."""
LEAST_SIGMA = 3e-6
"""Residual relative to the current below which weights do not grow: exact data would leave physics no digits."""
NEAR_BOUND = 1e-3
"""Distance from its bound, relative to the joint's friction, at which a coefficient counts as lying on it."""


@dataclass(frozen=True, eq=False)
class Bounded:
    """Result of `bounded_fit`.

    Attributes:
        solution: θ, its residuals σ, its normal matrix.
        parameters: (10 nb + n,) rigid parameters π, consistent.
        misfit: growth of the residual's sum of squares against unbounded least squares, relative.
        steps: Newton steps, all together. converged: whether every problem was solved.
        active: (size,) which of θ lie on a bound.
    """

    solution: Solution
    parameters: Array
    misfit: float
    steps: int
    converged: bool
    active: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FrictionBounds:
    """Linear bounds A θ ≥ b, and the scale of each row."""

    A: Array
    b: Array

    @staticmethod
    def of(layout: UnknownLayout, free: NDArray[np.bool_], fastest: Array, level: Array) -> FrictionBounds:
        """Return the bounds of the free friction terms.

        Args:
            layout: of θ.
            free: (size,) what is fitted.
            fastest: (n,) speeds up to which friction dissipates [rad/s].
            level: (n,) rms current of each joint [A], the scale of its rows.
        """
        rows, values = [], []

        def add(entries: dict[int, float], value: float = 0.0) -> None:
            row = np.zeros(layout.size)
            for at, x in entries.items():
                row[at] = x
            rows.append(row)
            values.append(value)

        for j in range(layout.n):
            viscous, degressive, coulomb, load, _ = range(layout.friction(j).start, layout.friction(j).stop)
            v = fastest[j]
            if free[viscous]:
                add({viscous: v / level[j]})
            if free[coulomb]:
                add({coulomb: 1.0 / level[j]})
            if free[load]:
                add({load: 1.0})
                add({load: -1.0, layout.gain(j): LARGEST_LOAD_FRICTION})
            if free[degressive]:
                add({viscous: v / level[j], degressive: v * v / level[j], coulomb: 1.0 / level[j]})
        for at in range(layout.motor.start, layout.motor.stop):
            if free[at]:
                add({at: 1.0})
        return FrictionBounds(np.array(rows).reshape(-1, layout.size), np.array(values))


class _BoundedProblem:
    """One convex problem: quadratic in θ, with bodies, bounds and ridge; unknowns x = (π, free rest of θ)."""

    def __init__(
        self,
        H: Array,
        c: Array,
        fixed: Array,
        others: NDArray[np.int64],
        B: Array,
        bodies: PriorBodies,
        bounds: FrictionBounds,
        ridge: Array,
        prior: float,
        rows: float,
    ) -> None:
        rank, count = B.shape
        self.bodies, self.count, self.prior, self.rows, self.ridge = bodies, count, prior * rows, rows, ridge * rows
        T = np.zeros((len(fixed), count + len(others)))
        T[:rank, :count] = B
        T[others, count + np.arange(len(others))] = 1.0
        rest = fixed.copy()
        rest[:rank] = 0.0
        rest[others] = 0.0
        self.T, self.rest = T, rest
        self.A, self.b = T.T @ H @ T, T.T @ (c - H @ rest)
        self.D, self.e = bounds.A @ T, bounds.b - bounds.A @ rest

    def theta(self, x: Array) -> Array:
        return np.asarray(self.T @ x + self.rest)

    def value(self, x: Array, barrier: float) -> float:
        slack = self.D @ x - self.e
        if (slack <= 0.0).any():
            return np.inf
        far = self.bodies.divergence(x[: self.count])
        w = x[self.count :]
        smooth = 0.5 * float(x @ self.A @ x) - float(self.b @ x) + 0.5 * float(self.ridge @ w**2)
        return smooth + self.prior * far - barrier * self.rows * float(np.sum(np.log(slack)))

    def solve(self, x: Array, barrier: float, enough: float = DECREMENT) -> tuple[Array, int, bool]:
        """Minimise by Newton's method from a feasible x; return it, the steps, and whether it converged."""
        value = self.value(x, barrier)
        if not np.isfinite(value):
            return x, 0, False
        for step in range(1, MOST_BARRIER_STEPS + 1):
            slack = self.D @ x - self.e
            try:
                pull, curve = self.bodies.derivatives(x[: self.count])
            except np.linalg.LinAlgError:  # a body at the edge of what can exist, to the last digit
                return x, step, False
            weight = barrier * self.rows / slack
            gradient = self.A @ x - self.b - self.D.T @ weight
            gradient[: self.count] += self.prior * pull
            gradient[self.count :] += self.ridge * x[self.count :]
            H = self.A + (self.D.T * (weight / slack)) @ self.D
            H[: self.count, : self.count] += self.prior * curve
            at = np.arange(self.count, len(x))
            H[at, at] += self.ridge
            scale = 1.0 / np.sqrt(np.diag(H))
            d = -scale * np.linalg.solve(H * np.outer(scale, scale), scale * gradient)
            decrement = -float(gradient @ d)
            if decrement < enough * self.rows:
                return x, step, True
            toward = self.D @ d
            ends = toward < 0.0
            length = min(1.0, 0.99 * float(np.min(-slack[ends] / toward[ends], initial=np.inf)))
            while not (new := self.value(x + length * d, barrier)) <= value - 1e-4 * length * decrement:
                length *= 0.5
                if length < 1e-10:
                    return x, step, decrement < 1e3 * DECREMENT * self.rows
            x, value = x + length * d, new
        return x, MOST_BARRIER_STEPS, False


def bounded_fit(
    grams: Sequence[Grams],
    model: Structure,
    layout: UnknownLayout,
    start: Solution,
    fastest: Array,
    *,
    prior: float,
    free: NDArray[np.bool_] | None = None,
    rounds: int = SIGMA_ROUNDS,
    again: Bounded | None = None,
) -> Bounded:
    """Fit everything at once, within physics.

    Args:
        grams: sums over the logs.
        model: structure of the arm, whose description is the prior.
        layout: of the unknowns.
        start: least squares without bounds: its θ and σ are the beginning.
        fastest: (n,) speeds up to which friction dissipates [rad/s].
        prior: λ.
        free: (size,) what is fitted; what is not stays at 0, or as given. All that can be by default.
        rounds: how often σ is taken anew.
        again: a result to begin with, of nearly the same problem.
    """
    rank, n = layout.rank, layout.n
    rows = np.maximum(sum(g.rows for g in grams), 1.0)
    total = np.asarray(sum(g.squares for g in grams))
    level = np.sqrt(np.maximum(total, 1e-300) / rows)
    level = np.maximum(level, 1e-6 * max(float(level.max()), 1e-9))
    fitted = layout.free if free is None else free & layout.free
    # what no row asks for cannot be told: it stays at 0
    seen = np.diag(start.normal) > 0.0
    others = np.flatnonzero(fitted & seen)
    others = others[others >= rank]
    mask = np.zeros(layout.size, bool)
    mask[others] = True
    bounds = FrictionBounds.of(layout, mask, fastest, level)
    bodies = PriorBodies(model.base.regrouping, start.theta[:rank], model.sheet(), len(model.robot.bodies))
    begin, barriers = (start, BARRIERS) if again is None else (again.solution, BARRIERS[-1:])
    theta = np.where(fitted | ~layout.free, begin.theta, 0.0)
    theta = _inside(theta, layout, mask, level, fastest) if again is None else theta
    x = np.concatenate([bodies.start if again is None else again.parameters, theta[others]])
    ridge = RIDGE / _natural(layout, level, fastest)[others] ** 2
    sigma, steps, converged = begin.sigma, 0, True
    floor = np.maximum(LEAST_SIGMA * level, np.sqrt(SMALLEST_SQUARE) * level + 1e-150)
    for turn in range(MOST_SIGMA_ROUNDS):
        H, g = normal_equations(grams, layout, theta, np.maximum(sigma, floor))
        args = (H @ theta + g, theta, others, model.base.regrouping, bodies, bounds, ridge, prior, float(rows.sum()))
        problem = _BoundedProblem(H, *args)
        for barrier in barriers if turn == 0 else barriers[-1:]:
            x, count, done = problem.solve(x, barrier)
            steps, converged = steps + count, converged and done
        old, theta = theta, problem.theta(x)
        sigma = np.sqrt(np.maximum(squares(grams, layout, theta) / rows, SMALLEST_SQUARE * total / rows + 1e-300))
        gains = slice(layout.size - n, layout.size)
        moved = float(np.abs(theta[gains] / old[gains] - 1.0).max())
        if turn + 1 >= rounds and moved < SETTLED_GAINS:
            break
    H, g = normal_equations(grams, layout, theta, sigma)
    _, null = determined_step(H, g, mask | (np.arange(layout.size) < rank))
    plain = float(np.sum(squares(grams, layout, start.theta) / start.sigma**2))
    misfit = float(np.sum(squares(grams, layout, theta) / start.sigma**2)) / max(plain, 1e-300) - 1.0
    return Bounded(
        Solution(theta, sigma, H, null, float(rows.sum())),
        x[: 10 * len(model.robot.bodies) + n].copy(),
        misfit,
        steps,
        converged,
        _active(theta, layout, mask, level, fastest),
    )


def _natural(layout: UnknownLayout, level: Array, fastest: Array) -> Array:
    """Sizes (size,) that unknowns of an arm have, for the ridge."""
    out = np.ones(layout.size)
    for g in range(len(layout.masses)):
        out[layout.payload(g)] = 5.0
    for j in range(layout.n):
        v = fastest[j]
        out[layout.friction(j)] = level[j] * np.array([1.0 / v, 1.0 / v**2, 1.0, 0.0, 1.0])
        out[layout.friction(j).start + 3] = abs(1.0 / 10.0)
    return out


def _inside(theta: Array, layout: UnknownLayout, mask: NDArray[np.bool_], level: Array, fastest: Array) -> Array:
    """θ with friction moved strictly inside its bounds."""
    out = theta.copy()
    for j in range(layout.n):
        at = layout.friction(j)
        viscous, degressive, coulomb, load, _ = out[at]
        least, v = 1e-2 * level[j], fastest[j]
        cap = LARGEST_LOAD_FRICTION * out[layout.gain(j)]
        viscous, coulomb = max(viscous, least / v), max(coulomb, least)
        load = min(max(load, 0.02 * cap), 0.9 * cap)
        if degressive * v * v + viscous * v + coulomb < 2.0 * least:
            degressive = 0.0
        inside = np.array([viscous, degressive, coulomb, load, out[at.stop - 1]])
        out[at] = np.where(mask[at], inside, out[at])
    motor = layout.motor
    out[motor] = np.where(mask[motor], np.maximum(out[motor], 1e-2), out[motor])
    return out


def _active(
    theta: Array, layout: UnknownLayout, mask: NDArray[np.bool_], level: Array, fastest: Array
) -> NDArray[np.bool_]:
    """Which of θ lie on a bound."""
    out = np.zeros(layout.size, bool)
    for j in range(layout.n):
        at, v = layout.friction(j).start, fastest[j]
        out[at] = theta[at] * v < NEAR_BOUND * level[j]
        out[at + 2] = theta[at + 2] < NEAR_BOUND * level[j]
        share = theta[at + 3] / theta[layout.gain(j)]
        out[at + 3] = share < NEAR_BOUND or share > LARGEST_LOAD_FRICTION - NEAR_BOUND
    return np.asarray(out & mask)


CHOICE_DECREMENT = 1e-6
"""Newton decrement per equation that is enough to compare terms."""
CHOICE_BARRIER = 1e-4
"""Weight of the barrier while terms are chosen: nearer to the bounds only costs steps."""


class BoundedProblems:
    """The bounded problems of one set of sums that differ in the friction terms that are fitted.

    Gains stay at those of a fit with all terms, and so do the weights: what is compared is one term more or less.
    """

    def __init__(
        self,
        grams: Sequence[Grams],
        model: Structure,
        layout: UnknownLayout,
        whole: Bounded,
        fastest: Array,
        *,
        prior: float,
    ) -> None:
        """Take sums over some pieces of the logs; arguments as `bounded_fit`, `whole` the fit to all of them."""
        self._layout, self._whole, self._fastest, self._prior = layout, whole, fastest, prior
        self._model = model
        self._rows = float(np.sum([g.rows for g in grams]))
        theta, sigma = whole.solution.theta, whole.solution.sigma
        rows, total = (np.sum([getattr(g, part) for g in grams], axis=0) for part in ("rows", "squares"))
        level = np.sqrt(np.maximum(total, 1e-300) / np.maximum(rows, 1.0))
        self._level = np.maximum(level, 1e-6 * max(float(level.max()), 1e-9))
        self._H, g = normal_equations(grams, layout, theta, np.maximum(sigma, LEAST_SIGMA * self._level))
        self._c = self._H @ theta + g
        self._bodies = PriorBodies(model.base.regrouping, theta[: layout.rank], model.sheet(), len(model.robot.bodies))

    def theta(self, free: NDArray[np.bool_]) -> Array:
        """Return θ (size,) with the friction terms that are `free` (size,) and the others 0."""
        layout, rank = self._layout, self._layout.rank
        mask = free & layout.free & (np.diag(self._H) > 0.0)
        mask[:rank] = mask[layout.size - layout.n :] = False
        others = np.flatnonzero(mask)
        begin = self._whole.solution.theta
        theta = np.where(mask, begin, 0.0)
        fixed = ~layout.free
        fixed[layout.size - layout.n :] = True
        theta[fixed] = begin[fixed]
        theta = _inside(theta, layout, mask, self._level, self._fastest)
        bounds = FrictionBounds.of(layout, mask, self._fastest, self._level)
        ridge = RIDGE / _natural(layout, self._level, self._fastest)[others] ** 2
        problem = _BoundedProblem(
            self._H,
            self._c,
            theta,
            others,
            self._model.base.regrouping,
            self._bodies,
            bounds,
            ridge,
            self._prior,
            self._rows,
        )
        x = np.concatenate([self._whole.parameters, theta[others]])
        return problem.theta(problem.solve(x, CHOICE_BARRIER, CHOICE_DECREMENT)[0])
