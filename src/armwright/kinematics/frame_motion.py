# SPDX-License-Identifier: Apache-2.0
"""Velocities and accelerations of frames, and the time derivatives of geometric and analytic Jacobians.

`body_motion` propagates velocity and acceleration along the chain; twists, accelerations and dJ/dt follow from it.
Analytic Jacobians give rates of position and of a named Euler set instead of twists: X = [o; angles], dX/dt = J_a qd
with J_a = blkdiag(1, B⁻¹) J (004 eq. 2.34), where w = B·d(angles)/dt. The printed B (004 eq. 2.33) has its first and
last angle interchanged; `armwright.spatial.euler` has the one that belongs to the set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from armwright.errors import InputError
from armwright.graph.array import has_symbols
from armwright.kinematics.forward import body_poses
from armwright.kinematics.frame_names import FrameLike, body_index, placement
from armwright.kinematics.jacobians import Reference, own_axes_of, pose_jacobian, sum_columns
from armwright.robot.kernels import kernel
from armwright.robot.tree import Tree, as_tree
from armwright.spatial.euler import EULER_SETS, euler_from_rotation, euler_rate_inverse, euler_rate_matrix
from armwright.spatial.linear import determinant3

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array, Traced


class Moving(NamedTuple):
    """State of one body in base axes: rotation, origin, angular and linear velocity, and their derivatives."""

    R: Traced
    p: Traced
    w: Traced
    v: Traced
    wd: Traced
    vd: Traced


def body_motion(tree: Tree, q: Traced, qd: Traced, qdd: Traced, bodies: list[int]) -> dict[int, Moving]:
    """Propagate velocity and acceleration from the root (key -1, at rest) to `bodies` (a path, in any order).

    Revolute: w += z·rate; prismatic: v += z·rate, with the Coriolis term 2 w × z·rate in the acceleration.
    """
    poses = body_poses(tree, q, bodies)
    zero = np.zeros(3)
    out = {-1: Moving(*poses[-1], zero, zero, zero, zero)}
    for i in sorted(bodies):
        parent, (R, p) = out[tree.parent[i]], poses[i]
        z, arm = R[:, 2], p - parent.p
        rate, rate_dot = tree.ratio[i] * qd[tree.joint[i]], tree.ratio[i] * qdd[tree.joint[i]]
        v = parent.v + np.cross(parent.w, arm)
        vd = parent.vd + np.cross(parent.wd, arm) + np.cross(parent.w, np.cross(parent.w, arm))
        turning = np.cross(parent.w, z) * rate
        if tree.revolute[i]:
            out[i] = Moving(R, p, parent.w + z * rate, v, parent.wd + z * rate_dot + turning, vd)
        else:
            out[i] = Moving(R, p, parent.w, v + z * rate, parent.wd, vd + z * rate_dot + 2.0 * turning)
    return out


def frame_twist(arm: Robot | Tree, q: Traced, qd: Traced, body: int | None = None) -> Traced:
    """Return the twist [v; w] (6,), base axes, of a link frame or the tool (None)."""
    tree = as_tree(arm)
    carrier, T = placement(tree, body)
    tip = body_motion(tree, q, qd, np.zeros(tree.n), tree.ancestors(carrier))[carrier]
    return np.concatenate([tip.v + np.cross(tip.w, tip.R @ T[:3, 3]), tip.w])


def frame_acceleration(arm: Robot | Tree, q: Traced, qd: Traced, qdd: Traced, body: int | None = None) -> Traced:
    """Return [dv/dt; dw/dt] (6,), base axes, of a link frame or the tool (None): J qdd + Jd qd."""
    tree = as_tree(arm)
    carrier, T = placement(tree, body)
    tip = body_motion(tree, q, qd, qdd, tree.ancestors(carrier))[carrier]
    r = tip.R @ T[:3, 3]
    return np.concatenate([tip.vd + np.cross(tip.wd, r) + np.cross(tip.w, np.cross(tip.w, r)), tip.wd])


def point_jacobian_dot(
    arm: Robot | Tree, q: Traced, qd: Traced, point: Traced, body: int | None = None, own_axes: bool = False
) -> Traced:
    """Return dJ/dt (6, n) of `armwright.kinematics.jacobians.point_jacobian` along qd.

    d/dt [z × (o − p)] = ż × (o − p) + z × (ȯ − ṗ) with ż = w × z; in own axes d(RᵀJ)/dt = Rᵀ(J̇ − w × J).
    """
    tree = as_tree(arm)
    carrier, T = placement(tree, body)
    path = tree.ancestors(carrier)
    state = body_motion(tree, q, qd, np.zeros(tree.n), path)
    tip = state[carrier]
    R = tip.R @ T[:3, :3]
    r = tip.R @ T[:3, 3] + R @ point
    o, od = tip.p + r, tip.v + np.cross(tip.w, r)
    linear: dict[int, Any] = {}
    angular: dict[int, Any] = {}
    for i in path:
        z, p, pd = state[i].R[:, 2], state[i].p, state[i].v
        zd = np.cross(state[i].w, z)
        lin = np.cross(z, o - p) if tree.revolute[i] else z
        lin_dot = np.cross(zd, o - p) + np.cross(z, od - pd) if tree.revolute[i] else zd
        ang, ang_dot = (z, zd) if tree.revolute[i] else (np.zeros(3), np.zeros(3))
        if own_axes:
            lin_dot = R.T @ (lin_dot - np.cross(tip.w, lin))
            ang_dot = R.T @ (ang_dot - np.cross(tip.w, ang))
        linear[i], angular[i] = lin_dot, ang_dot
    return sum_columns(tree, path, linear, angular)


def frame_jacobian_dot(
    arm: Robot | Tree, q: Traced, qd: Traced, body: int | None = None, own_axes: bool = False
) -> Traced:
    """Return dJ/dt (6, n) of the geometric Jacobian of a link frame or the tool (None)."""
    return point_jacobian_dot(arm, q, qd, np.zeros(3), body, own_axes)


def jacobian_dot(
    robot: Robot | Tree,
    q: ArrayLike,
    qd: ArrayLike,
    frame: FrameLike = None,
    *,
    point: ArrayLike | None = None,
    reference: Reference = "base",
) -> Array:
    """Return the exact time derivative of `jacobian`, shape (..., 6, n), for q and qd of shape (..., n).

    >>> aw.jacobian(robot, q) @ qdd + aw.jacobian_dot(robot, q, qd) @ qd  # acceleration of the tool
    """
    options: dict[str, Any] = {"body": body_index(robot, frame), "own_axes": own_axes_of(reference)}
    if point is None:
        return cast("Array", kernel(robot, frame_jacobian_dot, name="jacobian_dot", **options)(q, qd))
    return cast("Array", kernel(robot, point_jacobian_dot, name="jacobian_dot", **options)(q, qd, point))


def twist(robot: Robot | Tree, q: ArrayLike, qd: ArrayLike, frame: FrameLike = None) -> Array:
    """Return the twist [v; w] of a frame, (..., 6), base axes, [m/s] and [rad/s]; v is that of the frame's origin.

    >>> aw.twist(robot, q, qd)  # equals aw.jacobian(robot, q) @ qd
    """
    return cast("Array", kernel(robot, frame_twist, name="twist", body=body_index(robot, frame))(q, qd))


def acceleration(robot: Robot | Tree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, frame: FrameLike = None) -> Array:
    """Return [dv/dt; dw/dt] of a frame, (..., 6), base axes, gravity not included (004 eq. 2.35, geometric form).

    >>> acceleration(robot, q, qd, qdd)[:3]  # of the tool's origin [m/s²]
    """
    k = kernel(robot, frame_acceleration, name="acceleration", body=body_index(robot, frame))
    return cast("Array", k(q, qd, qdd))


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
    if has_symbols(determinant):
        return J_a  # no value yet that could be refused
    gap = np.abs(np.asarray(determinant)).min(initial=1.0)
    if gap < DEGENERATE_BELOW:
        raise InputError(
            f"Euler set {euler!r} is degenerate at this orientation (|det B| = {gap:.3g}): its rates are undefined; "
            "use another set or the geometric Jacobian"
        )
    return J_a


def _options(robot: Robot | Tree, frame: FrameLike, euler: str) -> dict[str, Any]:
    if euler not in EULER_SETS:
        raise InputError(f"euler: expected one of {', '.join(EULER_SETS)}, got {euler!r}")
    return {"body": body_index(robot, frame), "euler": euler}


def analytic_jacobian(robot: Robot | Tree, q: ArrayLike, euler: str = "zyz", frame: FrameLike = None) -> Array:
    """Return the analytic Jacobian J_a: d[o; angles]/dt = J_a qd.

    Args:
        robot: the arm.
        q: joint coordinates (..., n).
        euler: name of an intrinsic Euler set, "zyz" (004) or any of `armwright.spatial.euler.EULER_SETS`.
        frame: None for the tool, a link's name, or a body index.

    Returns:
        (..., 6, n); rows 0–2 [m/s], rows 3–5 rates of the angles in the order of the set's name (004 eq. 2.34).

    Raises:
        InputError: where the Euler set is degenerate. (In a traced function nothing is raised: J_a grows without bound
            there.)

    >>> analytic_jacobian(robot, q, "zyx") @ qd  # rates of x, y, z and the three angles
    """
    return _regular(kernel(robot, euler_jacobian, name="analytic_jacobian", **_options(robot, frame, euler))(q), euler)


def analytic_jacobian_dot(
    robot: Robot | Tree, q: ArrayLike, qd: ArrayLike, euler: str = "zyz", frame: FrameLike = None
) -> Array:
    """Return the exact time derivative of `analytic_jacobian`, (..., 6, n): Xdd = J_a qdd + J̇_a qd (004 eq. 2.35).

    >>> analytic_jacobian(robot, q) @ qdd + analytic_jacobian_dot(robot, q, qd) @ qd
    """
    k = kernel(robot, euler_jacobian_dot, name="analytic_jacobian_dot", **_options(robot, frame, euler))
    return _regular(k(q, qd), euler)
