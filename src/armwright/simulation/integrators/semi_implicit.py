# SPDX-License-Identifier: Apache-2.0
"""Semi-implicit Euler: velocity first, position with the new velocity; dry friction that really holds.

Coulomb friction (and stiction) is set-valued at rest, so it is not evaluated but solved for, at the end of the step:

    M v⁺ + p = m,   m = M v + h (τ − b),   p_i = h F_i sign(v_i⁺) where joint i slides, |p_i| ≤ h F_i where it sticks,

the optimum of ½ v⁺ᵀM v⁺ − mᵀv⁺ + Σ h F_i |v_i⁺|. A joint inside its static friction therefore stays where it is,
exactly and
for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.spatial import ltdl_solve

if TYPE_CHECKING:
    from armwright.simulation.system import System
    from armwright.types import Traced

ROUNDS = 4  # three were enough for every one of thousands of random states of a six-axis arm


def semi_implicit_euler(system: System, t: Traced, x: Traced, h: Traced) -> tuple[Traced, Traced]:
    """v⁺ = v + h v̇(q, v), q⁺ = q + h v⁺; other states explicitly; dry friction implicitly."""
    n = system.n
    if not system.has_dry_friction:
        xd = system.derivative(t, x)
        qd = x[n : 2 * n] + h * xd[n : 2 * n]
        return np.concatenate([x[:n] + h * qd, qd, x[2 * n :] + h * xd[2 * n :]]), None
    torque, M, rest = system.without_dry_friction(t, x)
    v = x[n : 2 * n]
    bound = np.array([h * b for b in system.dry_friction(v)])
    qd = velocity_with_dry_friction(M, M @ v + h * torque, bound, v)
    return np.concatenate([x[:n] + h * qd, qd, x[2 * n :] + h * rest]), None


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
