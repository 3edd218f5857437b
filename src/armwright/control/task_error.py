# SPDX-License-Identifier: Apache-2.0
"""What task-space laws share: pose errors, tool velocities and accelerations, an inverse that survives singularities.

The reference stays a joint reference; it is carried to the tool by forward kinematics, exactly, with its velocity and
acceleration, so every reference serves every law. A constant pose may be given instead (`goal`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.kinematics.forward import frame_pose
from armwright.kinematics.frame_motion import euler_jacobian, euler_jacobian_dot, frame_acceleration, frame_twist
from armwright.kinematics.jacobians import pose_jacobian
from armwright.spatial.euler import euler_from_rotation
from armwright.spatial.linear import ltdl_solve, singular_clearance
from armwright.spatial.rotations import SMALL_ANGLE_SQUARED, log_so3, skew, turn_coefficients

if TYPE_CHECKING:
    from armwright.motion.trajectory import Reference
    from armwright.robot.tree import Tree
    from armwright.types import Traced

ROTATION_VECTOR = "rotation vector"


class TaskError(NamedTuple):
    """Tool against reference, base axes: errors e and ed (6,), desired acceleration a (6,), J (6, n), drift J̇q̇ (6,)."""

    e: Traced
    ed: Traced
    a: Traced
    J: Traced
    drift: Traced


def rotation_vector_task(tree: Tree, q: Traced, qd: Traced, ref: Reference, goal: Traced | None = None) -> TaskError:
    """Errors e = [p_d − p; log(R_d Rᵀ)], ed = difference of the twists, J geometric.

    The rotation error is the vector φ about which R must turn to reach R_d; φ·d φ/dt = φ·(ω_d − ω), without the
    degenerate orientations of Euler angles (there is one left: |φ| = π).
    """
    T, J = pose_jacobian(tree, q)
    drift = frame_acceleration(tree, q, qd, np.zeros(tree.n))
    if goal is None:
        T_d, twist = frame_pose(tree, ref.q), frame_twist(tree, ref.q, ref.qd)
        a = frame_acceleration(tree, ref.q, ref.qd, ref.qdd)
    else:
        T_d, twist, a = goal, np.zeros(6), np.zeros(6)
    e = np.concatenate([T_d[:3, 3] - T[:3, 3], log_so3(T_d[:3, :3] @ T[:3, :3].T)])
    return TaskError(e, twist - J @ qd, a, J, drift)


def euler_task(tree: Tree, q: Traced, qd: Traced, ref: Reference, euler: str, goal: Traced | None = None) -> TaskError:
    """X = [p; angles] of a named Euler set, J_a analytic (004 eq. 2.77–2.79); angle errors in (−π, π]."""
    T = frame_pose(tree, q)
    J, Jd = euler_jacobian(tree, q, None, euler)[0], euler_jacobian_dot(tree, q, qd, None, euler)[0]
    if goal is None:
        T_d, J_d = frame_pose(tree, ref.q), euler_jacobian(tree, ref.q, None, euler)[0]
        Jd_d = euler_jacobian_dot(tree, ref.q, ref.qd, None, euler)[0]
        rate, a = J_d @ ref.qd, J_d @ ref.qdd + Jd_d @ ref.qd
    else:
        T_d, rate, a = goal, np.zeros(6), np.zeros(6)
    turn = euler_from_rotation(T_d[:3, :3], euler).angles - euler_from_rotation(T[:3, :3], euler).angles
    e = np.concatenate([T_d[:3, 3] - T[:3, 3], np.arctan2(np.sin(turn), np.cos(turn))])
    return TaskError(e, rate - J @ qd, a, J, Jd @ qd)


def damped_inverse(J: Traced, threshold: float, damping: float) -> Traced:
    """J⁺ = Jᵀ(JJᵀ + λ²)⁻¹ (n, k), with λ = 0 away from singularities (`singular_clearance`)."""
    A = J @ J.T
    return ltdl_solve(A + singular_clearance(A, threshold, damping).damping * np.eye(len(A)), J).T


# cot: (1 − (φ/2) cot(φ/2))/φ² = 1/12 + φ²/720 + …
_COT = (1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000)


def spring_moment(phi: Traced, k: Traced) -> Traced:
    """Moment (3,) of the rotational spring ½ φᵀ diag(k) φ, base axes, φ = log(R_d Rᵀ).

    The gradient of the energy is J_l⁻¹(φ) K φ, J_l⁻¹ = 1 − ½φ̂ + c φ̂²; it is Kφ itself where the three stiffnesses
    are equal.
    """
    x = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    turn = turn_coefficients(x)
    small = x < SMALL_ANGLE_SQUARED
    safe = np.where(small, 1.0, x)
    series: Any = _COT[-1]
    for coefficient in reversed(_COT[:-1]):
        series = coefficient + x * series
    c = np.where(small, series, (1.0 - 0.5 * turn.a / turn.b) / safe)
    P, force = skew(phi), k * phi
    return force - 0.5 * (P @ force) + c * (P @ (P @ force))
