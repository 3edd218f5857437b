# SPDX-License-Identifier: Apache-2.0
"""The difference of two poses as six numbers, and its exact Jacobian; on floats and on symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.spatial.rotations import log_so3, turn_coefficients
from armwright.spatial.vectors import cross, dot

if TYPE_CHECKING:
    from armwright.types import Traced

SERIES_BELOW = 1e-8
"""Square of the angle [rad²] below which 1/φ² − cot(φ/2)/2φ is its limit 1/12: off by φ²/720, 1e-11; the formula
cancels more."""


def pose_error(T: Traced, goal: Traced) -> Traced:
    """Return e (6,) = [p_goal − p; log(R_goal Rᵀ)], base axes [m, rad], of poses T and goal (4, 4)."""
    return np.concatenate([goal[:3, 3] - T[:3, 3], log_so3(goal[:3, :3] @ T[:3, :3].T)])


def error_jacobian(e: Traced, J: Traced) -> Traced:
    """Return −de/dq (6, n) from the geometric Jacobian J (6, n): its angular rows times the inverse of the right
    Jacobian of SO(3) at the rotation error, 1 + ½ê + (1/φ² − cot(φ/2)/(2φ)) ê².
    """  # noqa: D205
    w = e[3:]
    squared = dot(w, w)
    small = squared < SERIES_BELOW
    safe = np.where(small, 1.0, squared)
    turn = turn_coefficients(safe)  # a = sin φ/φ, b = (1 − cos φ)/φ²; cot(φ/2)/φ = a/(b φ²)
    k: Any = np.where(small, 1.0 / 12.0, (1.0 - 0.5 * turn.a / turn.b) / safe)
    columns = []
    for j in range(J.shape[1]):
        once = cross(w, J[3:, j])
        columns.append(np.concatenate([J[:3, j], J[3:, j] + 0.5 * once + k * cross(w, once)]))
    return np.stack(columns, axis=1)
