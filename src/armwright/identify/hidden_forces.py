# SPDX-License-Identifier: Apache-2.0
"""Which forces at a point stay below what every joint can tell: a polytope, with its nearest face and its farthest tip.

A force F loads joint j with J_j·F. If joint j tells torques from d_j on, the forces that no joint tells are

    |J_j·F| ≤ d_j for all j,

slabs around the origin. The nearest face is the force that is told soonest: min d_j/|J_j|, along J_j. The tip that lies
farthest out is the largest force that nobody tells; where the slabs leave a direction open it is infinite.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from armwright.types import Array

FLATNESS = 1e-6
"""Share of the largest lever (or of a unit vector's volume) below which three slabs have no common corner."""


class HiddenForces(NamedTuple):
    """Smallest forces that are told, in the best and in the worst direction.

    Attributes:
        best, worst: [N] (or N m, for moments); inf where no joint, or not every direction, tells.
        best_direction, worst_direction: (3,) unit vectors, in the axes of the levers.
        along: (3,) along each axis.
    """

    best: float
    best_direction: Array
    worst: float
    worst_direction: Array
    along: Array


def hidden_forces(levers: Array, torques: Array) -> HiddenForces:
    """Return how large a force can be that no joint tells.

    Args:
        levers: (n, 3) torque of each joint per unit of force along the axes: Jᵀ.
        torques: (n,) smallest torques that are told [N m]; inf or NaN where a joint tells nothing.
    """
    d = np.where(np.isnan(torques), np.inf, torques)
    size = np.linalg.norm(levers, axis=1)
    telling = np.isfinite(d) & (size > FLATNESS * max(float(size.max(initial=0.0)), 1e-300))
    nothing = np.full(3, np.nan)
    if not telling.any():
        return HiddenForces(np.inf, nothing, np.inf, nothing, np.full(3, np.inf))
    A = levers[telling] / d[telling][:, None]  # |A F| ≤ 1
    norms = np.linalg.norm(A, axis=1)
    nearest = int(np.argmax(norms))
    with np.errstate(divide="ignore"):
        along = 1.0 / np.abs(A).max(axis=0)
    best, direction = float(1.0 / norms[nearest]), A[nearest] / norms[nearest]
    _, values, axes = np.linalg.svd(A / norms.max(), full_matrices=True)
    if len(values) < 3 or values[2] < FLATNESS:
        return HiddenForces(best, direction, np.inf, axes[2], along)
    tip = _farthest(A)
    worst = float(np.linalg.norm(tip))
    return HiddenForces(best, direction, worst, tip / worst, along)


def _farthest(A: Array) -> Array:
    """Corner (3,) of |A F| ≤ 1 that is farthest from the origin; A has full rank."""
    found: Array = np.zeros(3)
    for rows in combinations(range(len(A)), 3):
        corner = A[list(rows)]
        scale = float(np.prod(np.linalg.norm(corner, axis=1)))
        if abs(np.linalg.det(corner)) < FLATNESS * scale:
            continue
        for signs in product((1.0,), (1.0, -1.0), (1.0, -1.0)):  # the polytope is symmetric
            F = np.asarray(np.linalg.solve(corner, signs), dtype=np.float64)
            if np.abs(A @ F).max() <= 1.0 + 1e-9 and found @ found < F @ F:
                found = F
    return found
