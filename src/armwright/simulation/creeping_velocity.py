# SPDX-License-Identifier: Apache-2.0
"""Velocities at the end of a step under dry friction that vanishes in a dead zone |v_i| ≤ z_i (004 eq. 6.4).

    M v⁺ + p = m,   p_i = h F_i sign(v_i⁺) where |v_i⁺| > z_i,   0 where |v_i⁺| < z_i,   between them at |v_i⁺| = z_i:

the optimum of ½ v⁺ᵀM v⁺ − mᵀv⁺ + Σ h F_i max(|v_i⁺| − z_i, 0), which is convex. A joint that friction could hold creeps
with the speed z_i at most, whatever the step. Without dead zones it is what `velocity_with_dry_friction` solves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.spatial import ltdl_solve

if TYPE_CHECKING:
    from armwright.types import Array, Traced

FIXED_ROUNDS = 4  # as many as without dead zones


def creeping_velocity(M: Traced, momentum: Traced, bound: Traced, zone: Array, v: Traced) -> Traced:
    """Return v⁺ (n,) of M v⁺ + p = momentum with dry friction impulses `bound` (n,) outside of the zones (n,) [rad/s].

    Each round finds one joint's speed after the other, given the others, then solves for those that are not held at the
    edge of their zone together, as far as none of them crosses an edge. Both lower the same convex function.
    """
    n = len(v)
    speed = list(v)
    for _ in range(FIXED_ROUNDS):
        for i in [*range(n), *range(n)]:
            left = momentum[i] - sum((M[i, j] * speed[j] for j in range(n) if j != i), start=0.0)
            edge = zone[i] * M[i, i]
            outside = np.maximum(left - edge - bound[i], 0.0) + np.minimum(left + edge + bound[i], 0.0)
            speed[i] = (outside + np.minimum(np.maximum(left, -edge), edge)) / M[i, i]
        speed = _together(M, momentum, bound, zone, speed)
    return np.array(speed)


def _together(M: Traced, momentum: Traced, bound: Traced, zone: Array, speed: list[Traced]) -> list[Traced]:
    """Solve for the joints that are not at an edge; if some would cross one, go as far as the first that reaches it."""
    n = len(speed)
    # a joint without dry friction has no edges, and is never held
    held = [np.where((np.abs(speed[i]) == zone[i]) & (bound[i] > 0.0), 1.0, 0.0) for i in range(n)]
    free = [1.0 - part for part in held]
    side = [np.where(np.abs(speed[i]) > zone[i], np.sign(speed[i]), 0.0) for i in range(n)]
    A = [[free[i] * free[j] * M[i, j] + (held[i] if i == j else 0.0) for j in range(n)] for i in range(n)]
    right = []
    for i in range(n):
        pulled = sum((M[i, j] * held[j] * speed[j] for j in range(n) if j != i), start=0.0)
        right.append(free[i] * (momentum[i] - bound[i] * side[i] - pulled) + held[i] * speed[i])
    wanted = ltdl_solve(np.array(A), np.array(right))
    edges, shares = [], []
    for i in range(n):
        lower = np.where(side[i] > 0.0, zone[i], np.where(side[i] < 0.0, -np.inf, -zone[i]))
        upper = np.where(side[i] < 0.0, -zone[i], np.where(side[i] > 0.0, np.inf, zone[i]))
        low = (wanted[i] < lower) & (free[i] > 0.0) & (bound[i] > 0.0)
        high = (wanted[i] > upper) & (free[i] > 0.0) & (bound[i] > 0.0)
        edge = np.where(low, lower, np.where(high, upper, 0.0))
        way = np.where(low | high, wanted[i] - speed[i], 1.0)
        edges.append(edge)
        shares.append(np.where(low | high, (edge - speed[i]) / way, 2.0))
    part: Any = 1.0
    for share in shares:
        part = np.minimum(part, share)
    return [np.where(shares[i] <= part, edges[i], speed[i] + part * (wanted[i] - speed[i])) for i in range(n)]
