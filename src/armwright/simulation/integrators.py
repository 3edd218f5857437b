# SPDX-License-Identifier: Apache-2.0
"""The integrators. Each advances x by one step h of ẋ = f(t, x), traced into the loop.

An `Integrator` takes the system (`armwright.simulation.system.System`), the time since the tick began, the state and
the step, and returns the next state, with an error estimate if it can adapt its step (`accept` chooses the next one).

- **RK4**, the classical method of order four, in pieces: a step of its own, or stages around one derivative. A compiled
  loop calls the derivative four times (step_stages.py): a quarter of the code of one long step, so less to trace, to
  compile and to fetch. Both forms give the same numbers.
- **Semi-implicit Euler**: velocity first, position with the new velocity. Coulomb friction (and stiction) is set-valued
  at rest, so it is not evaluated but solved for, at the end of the step:

      M v⁺ + p = m,   m = M v + h (τ − b),   p_i = h F_i sign(v_i⁺) where joint i slides, |p_i| ≤ h F_i where it sticks,

  the optimum of ½ v⁺ᵀM v⁺ − mᵀv⁺ + Σ h F_i |v_i⁺|. A joint inside its static friction stays where it is, exactly.
  `Loop.creep` lets it creep in the dead zone that its description has (creeping_velocity.py). Bristles that bend
  (bristle_friction.py) add h·slope to M and are bent by the speed at the end of the step, too.
- **Dormand–Prince 5(4)**: explicit, with the error estimate that lets the loop adapt its step.
- **RODAS3**: a linearly implicit (Rosenbrock) method of order 3, L-stable, with an embedded estimate of order 2.
  Coefficients: Sandu et al., Atmospheric Environment 31 (1997) 3459–3472. Each stage solves

      (1/(γh) − J) K_i = f(t + α_i h, x + Σ a_ij K_j) + Σ (c_ij/h) K_j + γ_i h ∂f/∂t,     x⁺ = x + Σ m_i K_i

  with the exact Jacobian J of the closed loop, taken from the graph. The rows of the accelerations are multiplied by M
  and the positions eliminated, which leaves M/(γh) + D + γh·K: nearly symmetric and positive definite, so elimination
  needs no pivoting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.choices import INTEGRATORS
from armwright.errors import InputError
from armwright.simulation.creeping_velocity import creeping_velocity
from armwright.spatial import ltdl_solve

if TYPE_CHECKING:
    from armwright.simulation.system import System
    from armwright.types import Scalar, Traced

RELATIVE, ABSOLUTE = 1e-7, 1e-9  # tolerances
LARGEST_CHANGE, SMALLEST_CHANGE = 5.0, 0.2  # bounds of the step's change


def accept(
    method: Integrator, x: Traced, new: Traced, error: Traced, h: Traced, asked: Traced, left: Traced
) -> tuple[Traced, Traced, Traced]:
    """Keep the step if its error is within tolerance; choose the next one (standard controller, order p)."""
    ratio: Any = 0.0
    total: Any = 0.0  # not finite if any error is; a maximum would pass over NaN
    for k in range(len(x)):
        total = total + np.abs(error[k])
        scale = ABSOLUTE + RELATIVE * np.maximum(np.abs(x[k]), np.abs(new[k]))
        ratio = np.maximum(ratio, np.abs(error[k]) / scale)
    finite = total < np.inf
    good = (ratio <= 1.0) & finite & (left > 0.0)
    factor = 0.9 * np.exp(np.log(ratio + 1e-10) * (-1.0 / method.order))
    factor = np.where(finite, np.minimum(np.maximum(factor, SMALLEST_CHANGE), LARGEST_CHANGE), SMALLEST_CHANGE)
    # a step cut short by the end of the tick says nothing against the longer one
    following = np.where(good & (h < asked), np.maximum(h * factor, asked), h * factor)
    following = np.where(left > 0.0, following, asked)  # this lane waits for the others
    near_end = left - h < 1e-12
    moved = np.where(good, np.where(near_end, left, h), 0.0)
    return np.array([np.where(good, b, a) for a, b in zip(x, new, strict=True)]), moved, np.array([following])


POINTS = ((1.0, 0.5), (2.0, 0.5), (2.0, 1.0))
"""For each of the first three slopes: its weight in the sum, and how far along it the next point lies (times h)."""


def onward(
    t: Traced, x: Traced, h: Traced, total: Traced, slope: Traced, point: tuple[float, float]
) -> tuple[Traced, Traced, Traced]:
    """Return the sum of slopes, and the time and state at which the next slope is taken."""
    weight, reach = point
    return total + weight * slope, t + reach * h, x + (reach * h) * slope


def finished(x: Traced, h: Traced, total: Traced, slope: Traced) -> Traced:
    """Return the state at the end of the step; the last slope has weight one."""
    return x + (h / 6.0) * (total + slope)


def rk4(system: System, t: Traced, x: Traced, h: Traced) -> tuple[Traced, Traced | None]:
    """Return x + h/6 (k1 + 2 k2 + 2 k3 + k4)."""
    total, time, at = 0.0 * x, t, x
    for point in POINTS:
        total, time, at = onward(t, x, h, total, system.derivative(time, at), point)
    return finished(x, h, total, system.derivative(time, at)), None


BRISTLE_ROUNDS = 3  # the speed that bends them: at the beginning of the step, then twice as found
HELD = 1e6  # times all impulses of a step: no joint moves against that
ROUNDS = 4  # three were enough for every one of thousands of random states of a six-axis arm


def semi_implicit_euler(system: System, t: Traced, x: Traced, h: Traced) -> tuple[Traced, Traced | None]:
    """v⁺ = v + h v̇(q, v), q⁺ = q + h v⁺; other states explicitly; dry friction and bristles implicitly."""
    n = system.n
    model = system.friction
    bends = model is not None and model.is_solved
    if not (system.has_dry_friction or bends):
        xd = system.derivative(t, x)
        qd = x[n : 2 * n] + h * xd[n : 2 * n]
        return np.concatenate([x[:n] + h * qd, qd, x[2 * n :] + h * xd[2 * n :]]), None
    torque, M, rest = system.without_dry_friction(t, x)
    v = x[n : 2 * n]
    momentum, extra = M @ v + h * torque, x[2 * n :] + h * rest
    bound = np.array([h * b for b in system.dry_friction(t, x)]) if system.has_dry_friction else None
    if model is None or not bends:
        qd = _speeds(system, M, momentum, bound, v)
        return np.concatenate([x[:n] + h * qd, qd, extra]), None
    states, qd = system.states(x, model.state_names), v
    for _ in range(BRISTLE_ROUNDS):
        solved = model.solved(qd, states, h)
        stiff = np.array([[M[i, j] + (h * solved.slope[i] if i == j else 0.0) for j in range(n)] for i in range(n)])
        qd = _speeds(system, stiff, momentum - h * solved.constant, bound, v)
    after = solved.after(qd)
    kept = {name: after.get(name, extra[at.start - 2 * n : at.stop - 2 * n]) for name, at in system.extra.items()}
    return np.concatenate([x[:n] + h * qd, qd, *kept.values()]), None


def _speeds(system: System, M: Traced, momentum: Traced, bound: Traced | None, v: Traced) -> Traced:
    """Speeds (n,) at the end of a step, as the dry friction of the arm or its model holds them."""
    if bound is None:
        return ltdl_solve(M, momentum)
    if system.creeps:
        return creeping_velocity(M, momentum, bound, system.tree.dead_zone, v)
    zone = None if system.friction is None else system.friction.stick_zone(system.n)
    if zone is None:
        return velocity_with_dry_friction(M, momentum, bound, v)
    return velocity_with_stick_zone(M, momentum, bound, zone, v)


def velocity_with_stick_zone(M: Traced, momentum: Traced, bound: Traced, zone: Traced, v: Traced) -> Traced:
    """Speeds (n,) at the end of a step if joints with |v_i| ≤ zone_i count as standing (karnopp_friction.py).

    First with these at rest: who stays there is held, its small momentum included. That is an impulse at its own joint,
    as large as it must be, so it takes energy only.
    """
    n = len(v)
    inside = [np.abs(v[i]) <= zone[i] for i in range(n)]
    moving = np.array([np.where(inside[i], 0.0, v[i]) for i in range(n)])
    first = velocity_with_dry_friction(M, momentum - M @ (v - moving), bound, moving)
    whole = sum((np.abs(momentum[i]) for i in range(n)), start=0.0)  # more than any impulse that holds one of them
    held = np.array([np.where(inside[i] & (first[i] == 0.0), bound[i] + HELD * whole, bound[i]) for i in range(n)])
    return velocity_with_dry_friction(M, momentum, held, moving)


def velocity_with_dry_friction(M: Traced, momentum: Traced, bound: Traced, v: Traced) -> Traced:
    """Solve M v⁺ + p = momentum with |p_i| ≤ bound_i for v⁺ (n,), zero where a joint sticks.

    Each round lets one joint after the other slide or stick as it must if the others keep their speed, then solves for
    the sliding
    ones together, as far as none of them turns round. Both lower the same convex function, so the rounds cannot go in
    circles.
    """
    n = len(v)
    speed = list(v)
    for _ in range(ROUNDS):
        for i in [*range(n), *range(n)]:
            left = momentum[i] - sum((M[i, j] * speed[j] for j in range(n) if j != i), start=0.0)
            speed[i] = (np.maximum(left - bound[i], 0.0) + np.minimum(left + bound[i], 0.0)) / M[i, i]
        speed = _slide_together(M, momentum, bound, speed)
    return np.array(speed)


def _slide_together(M: Traced, momentum: Traced, bound: Traced, speed: list[Traced]) -> list[Traced]:
    """Solve for the sliding joints; if some would turn round, go as far as the first that comes to rest."""
    n = len(speed)
    slides = [np.where((np.abs(speed[i]) > 0.0) | (bound[i] <= 0.0), 1.0, 0.0) for i in range(n)]
    A = [[slides[i] * slides[j] * M[i, j] + (1.0 - slides[i] if i == j else 0.0) for j in range(n)] for i in range(n)]
    right = [slides[i] * (momentum[i] - bound[i] * np.sign(speed[i])) for i in range(n)]
    wanted = ltdl_solve(np.array(A), np.array(right))
    turns = [(bound[i] > 0.0) & (wanted[i] * speed[i] < 0.0) for i in range(n)]
    rest = [np.where(turns[i], speed[i] / np.where(turns[i], speed[i] - wanted[i], 1.0), 2.0) for i in range(n)]
    part: Any = 1.0
    for i in range(n):
        part = np.minimum(part, rest[i])
    return [np.where(rest[i] <= part, 0.0, speed[i] + part * (wanted[i] - speed[i])) for i in range(n)]


C = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
A = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
E = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)  # fifth minus fourth order


def dormand_prince(system: System, t: Traced, x: Traced, h: Traced) -> tuple[Traced, Traced]:
    """Return the fifth-order result and its difference to the embedded fourth-order one."""
    k: list[Any] = []
    for c, row in zip(C, A, strict=True):
        at = x
        for a, slope in zip(row, k, strict=True):
            if a:
                at = at + (h * a) * slope
        k.append(system.derivative(t + c * h, at))
    error = sum((e * slope for e, slope in zip(E, k, strict=True) if e), start=0.0)
    return at, h * error


GAMMA = 0.5
RODAS_A = ((), (0.0,), (2.0, 0.0), (2.0, 0.0, 1.0))
COUPLING = ((), (4.0,), (1.0, -1.0), (1.0, -1.0, -8.0 / 3.0))
ALPHA = (0.0, 0.0, 1.0, 1.0)
GAMMAS = (0.5, 1.5, 0.0, 0.0)


def rodas3(system: System, t: Traced, x: Traced, h: Traced) -> tuple[Traced, Traced]:
    """Return the third-order result and its difference to the embedded second-order one."""
    n = system.n
    slope, M, scaled, drift = system.linearised(t, x)  # f, mass matrix, ∂(M f_v, f_rest)/∂x, the same by t
    g = 1.0 / (GAMMA * h)
    A_q, A_r = scaled[:, :n], scaled[:, n:]
    size = scaled.shape[0]
    mass = _mass(M, size, n)
    factors = _lu(
        [
            [
                g * mass[i][j] - A_r[i, j] - (1.0 / g) * A_q[i, j] if j < n else g * mass[i][j] - A_r[i, j]
                for j in range(size)
            ]
            for i in range(size)
        ]
    )
    K: list[Any] = []
    for i in range(4):
        at = x + sum((a * k for a, k in zip(RODAS_A[i], K, strict=True) if a), start=0.0 * x)
        f = slope if i < 2 else system.derivative(t + ALPHA[i] * h, at)
        right = f + sum((c * k for c, k in zip(COUPLING[i], K, strict=True)), start=0.0 * x) / h
        lower = np.concatenate([M @ right[n : 2 * n], right[2 * n :]])
        if GAMMAS[i]:
            lower = lower + (GAMMAS[i] * h) * drift
        # first block row: g·K_q − K_v = r_q, so K_q = (r_q + K_v)/g
        lower = lower + A_q @ right[:n] / g
        K_r = _solve(factors, list(lower))
        K.append(np.concatenate([(right[:n] + K_r[:n]) / g, K_r]))
    return x + 2.0 * K[0] + K[2] + K[3], K[3]


def _mass(M: Traced, size: int, n: int) -> list[list[Scalar]]:
    return [[M[i, j] if i < n and j < n else float(i == j) for j in range(size)] for i in range(size)]


def _lu(A: list[list[Traced]]) -> tuple[list[list[Traced]], list[Traced]]:
    """Factor in place, L with unit diagonal below, U above; reciprocals of the pivots apart."""
    n = len(A)
    inverse: list[Any] = []
    for k in range(n):
        inverse.append(1.0 / A[k][k])
        for i in range(k + 1, n):
            A[i][k] = A[i][k] * inverse[k]
            for j in range(k + 1, n):
                A[i][j] = A[i][j] - A[i][k] * A[k][j]
    return A, inverse


def _solve(factors: tuple[list[list[Traced]], list[Traced]], b: list[Traced]) -> Traced:
    A, inverse = factors
    n = len(b)
    for i in range(n):
        for j in range(i):
            b[i] = b[i] - A[i][j] * b[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] = b[i] - A[i][j] * b[j]
        b[i] = b[i] * inverse[i]
    return np.array(b)


Step = Callable[["System", Any, Any, Any], tuple[Any, Any]]


@dataclass(frozen=True)
class Integrator:
    """An integrator: its step, order, and whether it is adaptive or stiffly stable.

    `growth(z)` is |R(z)|, the factor by which one step multiplies a mode ẋ = λx with z = hλ.
    """

    name: str
    step: Step
    order: int
    adaptive: bool
    stiff: bool
    growth: Callable[[complex], float]


def _explicit(order: int) -> Callable[[complex], float]:
    def growth(z: complex) -> float:
        term, total = 1.0 + 0.0j, 1.0 + 0.0j
        for k in range(1, order + 1):
            term *= z / k
            total += term
        return abs(total)

    return growth


def _semi_implicit(z: complex) -> float:
    """Real modes as explicit Euler; an oscillating pair as v⁺ = v − b x − a v, x⁺ = x + v⁺."""
    if z.imag == 0.0:
        return abs(1.0 + z)
    a, b = -2.0 * z.real, abs(z) ** 2
    half, product = 1.0 - 0.5 * (a + b), 1.0 - a
    root = (half * half - product + 0j) ** 0.5
    return float(max(abs(half + root), abs(half - root)))


RK4 = Integrator("rk4", rk4, 4, False, False, _explicit(4))
SEMI_IMPLICIT = Integrator("semi-implicit", semi_implicit_euler, 1, False, False, _semi_implicit)
DOPRI5 = Integrator("dopri5", dormand_prince, 5, True, False, lambda z: 0.0)
RODAS3 = Integrator("rodas3", rodas3, 3, False, True, lambda z: 0.0)
RODAS3_ADAPTIVE = Integrator("rodas3-adaptive", rodas3, 3, True, True, lambda z: 0.0)
METHODS = INTEGRATORS


def method(name: str) -> Integrator:
    """Return the integrator of this name."""
    found: Integrator = INTEGRATORS.find(
        name, lambda valid: InputError(f"integrator {name!r} is unknown; valid are {valid}")
    )
    return found
