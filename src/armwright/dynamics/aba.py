# SPDX-License-Identifier: Apache-2.0
"""Articulated-body forward dynamics (Featherstone 1983), in body frames with 3×3 blocks, O(n).

The articulated inertia of a body is kept as three blocks about its origin, in body axes,

    n = I ω̇ + H a + p_n,      f = Hᵀ ω̇ + W a + p_f      (I, W symmetric)

with a the acceleration of the origin minus gravity. Joint i takes out its own freedom: with U = (column of the inertia
along the axis), D = axis·U + rotor inertia, u = tau − axis·p, the rest is reduced by U Uᵀ/D and handed to the parent.

Rotor inertia on the diagonal belongs in D. Motors that are coupled (off-diagonal armature B; 001, App. D) are
outside the recursion, which sees one joint at a time. With M₀ the matrix the recursion solves and K the joints that
B touches, (M₀ + B) q̈ = r is solved as

    X = M₀⁻¹ E_K,   x = M₀⁻¹ r,   (X_K⁻¹ + B_KK) y = X_K⁻¹ x_K,   q̈ = x − X B_KK y

that is |K| more sweeps over the factors already there and one small symmetric positive definite system (X_K⁻¹ is M₀
reduced to K). CRBA is usually cheaper for such arms. Mimic joints tie two bodies to one coordinate: not possible here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics.newton_euler import inertial_moment, rate_matrix
from armwright.dynamics.terms import ZERO, Z, body_loads, friction_torque, is_plain
from armwright.errors import NotSupportedError
from armwright.robot.step import steps
from armwright.robot.tree import as_tree, present
from armwright.spatial.linear import cross, dot, ldl_inverse, ltdl_solve
from armwright.spatial.rotations import skew

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.step import Step
    from armwright.robot.tree import Tree
    from armwright.types import Scalar, Traced


class ArticulatedJoint(NamedTuple):
    """What the sweeps need of one joint: U = (Uw, Uv), 1/D, reduced blocks in body axes and the same in parent axes."""

    Uw: Traced
    Uv: Traced
    D_inverse: Scalar
    locked: bool  # no rotor: the reduced body cannot resist along the axis, those entries are exactly 0
    I: Any  # noqa: E741 - the equation's name
    H: Any
    W: Any
    H_parent: Any
    W_parent: Any


def _symmetric(xx: Scalar, xy: Scalar, xz: Scalar, yy: Scalar, yz: Scalar, zz: Scalar) -> Traced:
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _reduced(S: Traced, u: Traced, b: Traced, zero: int | None) -> Traced:
    """S − u bᵀ for symmetric results; row and column `zero` vanish identically."""

    def entry(r: int, c: int) -> Scalar:
        return 0.0 if zero in (r, c) else S[r, c] - u[r] * b[c]

    return _symmetric(entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2))


def _articulate(tree: Tree, st: list[Step], rotor: Traced) -> list[ArticulatedJoint]:
    """Backward pass over the inertias."""
    eye = np.eye(3)
    I: list[Any] = [tree.J[i] for i in range(tree.nb)]  # noqa: E741
    H: list[Any] = [skew(tree.h[i]) for i in range(tree.nb)]
    W: list[Any] = [tree.m[i] * eye for i in range(tree.nb)]
    joints: list[Any] = [None] * tree.nb
    for i in range(tree.nb - 1, -1, -1):
        turns, step, locked = tree.revolute[i], st[i], rotor[i] == 0.0
        Uw, Uv = (I[i][:, 2], H[i][2]) if turns else (H[i][:, 2], W[i][:, 2])
        D_inverse = 1.0 / ((Uw[2] if turns else Uv[2]) + rotor[i])
        k = tree.parent[i]
        if k < 0:
            joints[i] = ArticulatedJoint(Uw, Uv, D_inverse, locked, None, None, None, None, None)
            continue
        bw, bv = Uw * D_inverse, Uv * D_inverse
        Ir = _reduced(I[i], Uw, bw, 2 if turns and locked else None)
        Wr = _reduced(W[i], Uv, bv, 2 if not turns and locked else None)
        Hr = H[i] - np.outer(Uw, bv)
        if locked:
            Hr = np.array([Hr[0], Hr[1], ZERO]) if turns else np.array([Hr[:, 0], Hr[:, 1], ZERO]).T
        half = np.array([step.up(Hr[:, c]) for c in range(3)]).T  # R H
        Hp = np.array([step.up(half[r]) for r in range(3)])  # R H Rᵀ
        Wp = step.up_symmetric(Wr)
        Wp = _symmetric(Wp[0, 0], Wp[0, 1], Wp[0, 2], Wp[1, 1], Wp[1, 2], Wp[2, 2])
        joints[i] = ArticulatedJoint(Uw, Uv, D_inverse, locked, Ir, Hr, Wr, Hp, Wp)
        P = skew(step.p)
        H_shifted = Hp + P @ Wp
        turned = step.up_symmetric(Ir)
        change = P @ Hp.T - H_shifted @ P
        shifted = [turned[r, c] + change[r, c] for r in range(3) for c in range(r, 3)]
        I[k], H[k], W[k] = I[k] + _symmetric(*shifted), H[k] + H_shifted, W[k] + Wp
    return joints


class Drift(NamedTuple):
    """What moves the bodies besides the joint torques, all in body axes but `v_parent` (parent axes).

    Rates of change at q̈ = 0: w (angular), v and v_parent (linear); p = (force, moment) a body needs for them.
    """

    w: list[Any]
    v: list[Any]
    v_parent: list[Any]
    force: list[Any]
    moment: list[Any]


def _drift(tree: Tree, st: list[Step], qd: Traced, wrench: Traced | None, wrenches: Traced | None) -> Drift:
    out = Drift([], [], [], [], [])
    w: list[Any] = []
    loads = body_loads(tree, st, wrench, wrenches)
    for i, step in enumerate(st):
        k, load = tree.parent[i], loads[i]
        before = w[k] if k >= 0 else ZERO
        out.v_parent.append(rate_matrix(before, ZERO) @ step.p)
        now = step.down(before)
        carried = np.array([now[1] * qd[i], -(now[0] * qd[i]), 0.0])  # ω × z q̇
        out.w.append(carried if tree.revolute[i] else ZERO)
        out.v.append(ZERO if tree.revolute[i] else 2.0 * carried)
        w.append(np.array([now[0], now[1], now[2] + qd[i]]) if tree.revolute[i] else now)
        U = rate_matrix(w[i], ZERO)
        force, moment = U @ tree.h[i], inertial_moment(tree.J[i], w[i], ZERO, U)
        out.force.append(force if load is None else force - load[0])
        out.moment.append(moment if load is None else moment - load[1])
    return out


def _still(tree: Tree) -> Drift:
    none: list[Any] = [ZERO] * tree.nb
    return Drift(none, none, none, list(none), list(none))


def _sweep(
    tree: Tree, st: list[Step], joints: list[ArticulatedJoint], drift: Drift, tau: Traced, gravity: Traced
) -> Traced:
    """Backward pass over the forces, forward pass over the accelerations; joint accelerations (n,)."""
    force, moment, u = list(drift.force), list(drift.moment), [0.0] * tree.nb
    for i in range(tree.nb - 1, -1, -1):
        J, step, turns = joints[i], st[i], tree.revolute[i]
        u[i] = tau[i] - (moment[i][2] if turns else force[i][2])
        k = tree.parent[i]
        if k < 0:
            continue
        gain = u[i] * J.D_inverse
        n = moment[i] + J.I @ drift.w[i] + J.H @ drift.v[i] + J.Uw * gain
        f = force[i] + drift.w[i] @ J.H + J.W @ drift.v[i] + J.Uv * gain
        if J.locked and turns:  # the axis passes on exactly what its motor gives
            n = np.array([n[0], n[1], tau[i]])
        elif J.locked:
            f = np.array([f[0], f[1], tau[i]])
        n = step.up(n) + J.H_parent @ drift.v_parent[i]
        f = step.up(f) + J.W_parent @ drift.v_parent[i]
        force[k], moment[k] = force[k] + f, moment[k] + (n + cross(step.p, f))
    state: list[tuple[Any, Any]] = []
    qdd: list[Any] = []
    for i, step in enumerate(st):
        J, k = joints[i], tree.parent[i]
        wd, a = state[k] if k >= 0 else (ZERO, -gravity)
        a = step.down(a + cross(wd, step.p) + drift.v_parent[i]) + drift.v[i]
        wd = step.down(wd) + drift.w[i]
        qdd.append((u[i] - (dot(J.Uw, wd) + dot(J.Uv, a))) * J.D_inverse)
        state.append((wd + Z * qdd[i], a) if tree.revolute[i] else (wd, a + Z * qdd[i]))
    return np.array(qdd)


def aba(
    arm: Robot | Tree,
    q: Traced,
    qd: Traced,
    tau: Traced,
    wrench: Traced | None = None,
    wrenches: Traced | None = None,
    *,
    gravity: bool = True,
    friction: bool = True,
    rotors: bool = True,
) -> Traced:
    """Joint accelerations (n,) by the articulated-body algorithm.

    Args:
        arm: robot or tree, without mimic joints.
        q: joint coordinates (n,).
        qd: joint velocities (n,).
        tau: actuator torques (n,).
        wrench: (6,) what the world exerts on the tool, at the tool origin, base axes; none if omitted.
        wrenches: (nb, 6), one per body at the origin of its link frame, base axes; none if omitted.
        gravity: whether gravity acts.
        friction: whether viscous and Coulomb friction is included.
        rotors: whether rotor inertia is included.

    Raises:
        NotSupportedError: for mimic joints; CRBA takes them.

    >>> qdd = aba(robot, q, qd, tau)
    """
    tree = as_tree(arm)
    if not is_plain(tree):
        raise NotSupportedError(
            "aba: joints that mimic each other close a loop over the articulated bodies; use method='crba'"
        )
    armature = tree.armature if rotors else np.zeros((tree.n, tree.n))
    st = steps(tree, q)
    joints = _articulate(tree, st, np.diag(armature))
    if friction and (present(tree.viscous) or present(tree.coulomb)):
        tau = tau - friction_torque(tree, qd)
    qdd = _sweep(tree, st, joints, _drift(tree, st, qd, wrench, wrenches), tau, tree.gravity if gravity else ZERO)
    B = armature - np.diag(np.diag(armature))
    K = [k for k in range(tree.n) if np.any(B[k])]
    if not K:
        return qdd
    X = np.array([_sweep(tree, st, joints, _still(tree), np.eye(tree.n)[k], ZERO) for k in K]).T
    reduced = ldl_inverse(X[K])
    y = ltdl_solve(reduced + B[np.ix_(K, K)], reduced @ qdd[K])
    return qdd - X @ (B[np.ix_(K, K)] @ y)
