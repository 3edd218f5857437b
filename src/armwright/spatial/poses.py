# SPDX-License-Identifier: Apache-2.0
"""Poses: 4×4 matrices ``T_a_b`` that turn coordinates in b into coordinates in a, and the exponential of SE(3).

Twists are linear first, ``ξ = [v; w]``. Everything works on floats and on symbols, and takes
SciPy's `Rotation` and `RigidTransform` for a rotation and a pose.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import matrix_of
from armwright.spatial.rotations import SMALL_ANGLE_SQUARED, exp_so3, log_so3, skew, turn_coefficients

if TYPE_CHECKING:
    from armwright.types import Traced

# (1 − (φ/2) cot(φ/2))/φ² = Σ |B₂ₖ|/(2k)! φ^(2k−2)
_HALF_COTANGENT = (
    1.0 / 12.0,
    1.0 / 720.0,
    1.0 / 30240.0,
    1.0 / 1209600.0,
    1.0 / 47900160.0,
    691.0 / 1307674368000.0,
    1.0 / 74724249600.0,
)


def pose(R: Traced, p: Traced) -> Traced:
    """Pose (4, 4) of a rotation (3, 3) and an origin (3,) [m].

    >>> T_base_tool = pose(np.eye(3), [0.1, 0.0, 0.4])
    """
    p = np.asarray(p)
    top = np.concatenate([np.asarray(matrix_of(R)), p.reshape(3, 1)], axis=1)
    return np.concatenate([top, np.array([[0.0, 0.0, 0.0, 1.0]])], axis=0)


def translation(p: Traced) -> Traced:
    """Pose (4, 4) of a pure displacement p (3,) [m].

    >>> translation([0.0, 0.0, 0.1]) @ [0.0, 0.0, 0.0, 1.0]
    array([0. , 0. , 0.1, 1. ])
    """
    return pose(np.eye(3), p)


def rotation_pose(R: Traced) -> Traced:
    """Pose (4, 4) of a pure rotation (3, 3).

    >>> rotation_pose(np.eye(3))  # the identity (4, 4)
    """
    return pose(R, np.zeros(3))


def inverse(T: Traced) -> Traced:
    """Inverse of a pose by transposition, [Rᵀ, −Rᵀp] (004 eq. 2.12).

    >>> inverse(translation([1.0, 2.0, 3.0]))[:3, 3]
    array([-1., -2., -3.])
    """
    T = matrix_of(T)
    Rt = T[:3, :3].T
    return pose(Rt, -(Rt @ T[:3, 3]))


def compose(*poses: Traced) -> Traced:
    """Product T_a_b · T_b_c · …; the identity if none is given.

    >>> compose(translation([1.0, 0.0, 0.0]), translation([0.0, 2.0, 0.0]))[:3, 3]
    array([1., 2., 0.])
    """
    return reduce(lambda A, B: A @ B, map(matrix_of, poses), np.eye(4))


def apply(T: Traced, points: Traced) -> Traced:
    """Map a point (3,) or points (k, 3) from coordinates in b to coordinates in a.

    >>> apply(translation([1.0, 0.0, 0.0]), [0.0, 2.0, 0.0])
    array([1., 2., 0.])
    """
    T = matrix_of(T)
    return points @ T[:3, :3].T + T[:3, 3]


def exp_se3(xi: Traced) -> Traced:
    """Pose (4, 4) reached by moving along a constant twist ξ = [v; w] (6,) for unit time (002 eq. 2.11).

    R = exp ŵ, p = (1 + b ŵ + c ŵ²) v: rotation, pure translation (w = 0) and screws with any pitch in one formula.

    >>> exp_se3([0.0, 0.0, 0.3, 0.0, 0.0, np.pi])  # half a turn about z, 0.3 m along it
    """
    v, w = xi[:3], xi[3:]
    k = turn_coefficients(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    W = skew(w)
    Wv = W @ v
    return pose(exp_so3(w), v + k.b * Wv + k.c * (W @ Wv))


def log_se3(T: Traced) -> Traced:
    """Twist ξ = [v; w] (6,), |w| ≤ π, with ``exp_se3(ξ) == T``; accurate near 0 and near π like `log_so3`.

    >>> log_se3(translation([1.0, 0.0, 0.0]))
    array([1., 0., 0., 0., 0., 0.])
    """
    T = matrix_of(T)
    w, p = log_so3(T[:3, :3]), T[:3, 3]
    squared = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    small = squared < SMALL_ANGLE_SQUARED
    safe = np.where(small, 1.0, squared)
    k = turn_coefficients(safe)
    series: Any = _HALF_COTANGENT[-1]
    for coefficient in reversed(_HALF_COTANGENT[:-1]):
        series = coefficient + squared * series
    d = np.where(small, series, (1.0 - 0.5 * k.a / k.b) / safe)
    W = skew(w)
    Wp = W @ p
    return np.concatenate([p - 0.5 * Wp + d * (W @ Wp), w])
