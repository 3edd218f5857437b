# SPDX-License-Identifier: Apache-2.0
"""Analytic Jacobians: rates of position and of a named Euler set, instead of twists.

X = [o; angles], dX/dt = J_a qd with J_a = blkdiag(1, B⁻¹) J (004 eq. 2.34), where w = B·d(angles)/dt. The printed B
(004 eq. 2.33) has its first and last angle interchanged; `armwright.spatial.euler` has the one that belongs to the set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from armwright.errors import InputError
from armwright.kinematics.frames import FrameLike, body_index
from armwright.kinematics.jacobian import pose_jacobian
from armwright.kinematics.motion import frame_jacobian_dot
from armwright.robot.kernels import kernel
from armwright.spatial.euler import EULER_SETS, euler_from_rotation, euler_rate_inverse, euler_rate_matrix
from armwright.spatial.linear import determinant3

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

DEGENERATE_BELOW = 1e-9
"""|det B| [-], sine or cosine of the middle angle, below which Euler rates are refused: seven digits are left there."""


def euler_jacobian(arm: Robot | Tree, q: Traced, body: int | None = None, euler: str = "zyz") -> tuple[Traced, Traced]:
    """Return J_a (6, n) of a link frame or the tool (None), and det B, which is zero where the set is degenerate."""
    T, J = pose_jacobian(arm, q, body)
    angles = euler_from_rotation(T[:3, :3], euler).angles
    J_a = np.concatenate([J[:3], euler_rate_inverse(angles, euler) @ J[3:]], axis=0)
    return J_a, determinant3(euler_rate_matrix(angles, euler))


def euler_jacobian_dot(
    arm: Robot | Tree, q: Traced, qd: Traced, body: int | None = None, euler: str = "zyz"
) -> tuple[Traced, Traced]:
    """Return dJ_a/dt (6, n) along qd, and det B: B⁻¹(J̇_w − Ḃ B⁻¹ J_w) in the angular rows (004 eq. 2.35)."""
    T, J = pose_jacobian(arm, q, body)
    Jd = frame_jacobian_dot(arm, q, qd, body)
    angles = euler_from_rotation(T[:3, :3], euler).angles
    B, B_inverse = euler_rate_matrix(angles, euler), euler_rate_inverse(angles, euler)
    rates = B_inverse @ (J[3:] @ qd)
    # each axis of B is carried along by the turns that precede it
    first = B[:, 0] * rates[0]
    Bd = np.stack([np.zeros(3), np.cross(first, B[:, 1]), np.cross(first + B[:, 1] * rates[1], B[:, 2])], axis=1)
    angular = B_inverse @ (Jd[3:] - Bd @ (B_inverse @ J[3:]))
    return np.concatenate([Jd[:3], angular], axis=0), determinant3(B)


def _regular(result: tuple[Traced, Traced], euler: str) -> Array:
    J_a, determinant = result
    gap = np.abs(np.asarray(determinant)).min(initial=1.0)
    if gap < DEGENERATE_BELOW:
        raise InputError(
            f"Euler set {euler!r} is degenerate at this orientation (|det B| = {gap:.3g}): its rates are undefined; "
            "use another set or the geometric Jacobian"
        )
    return cast("Array", J_a)


def _options(robot: Robot, frame: FrameLike, euler: str) -> dict[str, Any]:
    if euler not in EULER_SETS:
        raise InputError(f"euler: expected one of {', '.join(EULER_SETS)}, got {euler!r}")
    return {"body": body_index(robot, frame), "euler": euler}


def analytic_jacobian(robot: Robot, q: ArrayLike, euler: str = "zyz", frame: FrameLike = None) -> Array:
    """Return the analytic Jacobian J_a: d[o; angles]/dt = J_a qd.

    Args:
        robot: the arm.
        q: joint coordinates (..., n).
        euler: name of an intrinsic Euler set, "zyz" (004) or any of `armwright.spatial.euler.EULER_SETS`.
        frame: None for the tool, a link's name, or a body index.

    Returns:
        (..., 6, n); rows 0–2 [m/s], rows 3–5 rates of the angles in the order of the set's name (004 eq. 2.34).

    Raises:
        InputError: where the Euler set is degenerate.
    """
    return _regular(kernel(robot, euler_jacobian, name="analytic_jacobian", **_options(robot, frame, euler))(q), euler)


def analytic_jacobian_dot(
    robot: Robot, q: ArrayLike, qd: ArrayLike, euler: str = "zyz", frame: FrameLike = None
) -> Array:
    """Return the exact time derivative of `analytic_jacobian`, (..., 6, n): Xdd = J_a qdd + J̇_a qd (004 eq. 2.35)."""
    k = kernel(robot, euler_jacobian_dot, name="analytic_jacobian_dot", **_options(robot, frame, euler))
    return _regular(k(q, qd), euler)
