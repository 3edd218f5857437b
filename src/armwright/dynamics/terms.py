# SPDX-License-Identifier: Apache-2.0
"""What every formulation shares: bodies and coordinates, friction, rotors, external wrenches, frames in root axes.

A formulation works on the nb bodies, each with its own displacement. `spread` and `gather` connect bodies with
the n coordinates; they differ only where joints mimic each other. With the constant matrix G (nb, n),
G[i, joint[i]] = ratio[i], virtual work gives tau = Gᵀ tau_bodies and M = Gᵀ M_bodies G, and since G is constant the
Christoffel symbols follow the same rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.robot.tree import present
from armwright.spatial.linear import cross, dot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.robot.step import Step
    from armwright.robot.tree import Tree
    from armwright.types import Scalar, Traced

Z = np.array([0.0, 0.0, 1.0])
ZERO = np.zeros(3)


def is_plain(tree: Tree) -> bool:
    """Whether body i is moved by coordinate i with ratio 1: no mimic joints."""
    return tree.joint == tuple(range(tree.n)) and bool(np.all(tree.ratio == 1.0))


def spread(tree: Tree, x: Traced) -> list[Traced]:
    """Coordinates (n,) to bodies: entry i is ratio[i]·x[joint[i]]."""
    return [tree.ratio[i] * x[tree.joint[i]] for i in range(tree.nb)]


def gather(tree: Tree, x: Sequence[Traced]) -> Traced:
    """Bodies to coordinates (n,): Gᵀ x, the transpose of `spread`."""
    out: list[Any] = [0.0] * tree.n
    for i in range(tree.nb):
        out[tree.joint[i]] = out[tree.joint[i]] + tree.ratio[i] * x[i]
    return np.array(out)


def gather_matrix(tree: Tree, A: Sequence[Sequence[Scalar]]) -> Traced:
    """Bodies to coordinates (n, n): Gᵀ A G."""
    if is_plain(tree):
        return np.array([list(row) for row in A]).reshape(tree.n, tree.n)
    out: list[list[Any]] = [[0.0] * tree.n for _ in range(tree.n)]
    for i in range(tree.nb):
        for k in range(tree.nb):
            row, column = tree.joint[i], tree.joint[k]
            out[row][column] = out[row][column] + (tree.ratio[i] * tree.ratio[k]) * A[i][k]
    return np.array(out).reshape(tree.n, tree.n)


def gather_symmetric(tree: Tree, A: Sequence[Sequence[Traced]]) -> Traced:
    """Gᵀ A G (n, n) of a symmetric A, exactly symmetric: the upper half of the result is mirrored."""
    out = gather_matrix(tree, A)
    return np.array([[out[min(i, k), max(i, k)] for k in range(tree.n)] for i in range(tree.n)]).reshape(tree.n, tree.n)


def coulomb_sign(tree: Tree, qd: Traced) -> Traced:
    """sign(q̇) with sign(0) = 0, and 0 inside the dead zone |q̇| ≤ dead_zone (004 eq. 6.4), shape (n,)."""
    out = []
    for k, zone in enumerate(tree.dead_zone):
        out.append(np.where(np.abs(qd[k]) <= zone, 0.0, np.sign(qd[k])) if zone > 0.0 else np.sign(qd[k]))
    return np.array(out)


def friction_torque(tree: Tree, qd: Traced) -> Traced:
    """Torque that friction takes (n,): F_v q̇ + coulomb·sign(q̇) (004 eq. 3.12; F_v may couple joints, 001 eq. 91)."""
    out = tree.viscous @ qd
    if present(tree.coulomb):
        signs = coulomb_sign(tree, qd)
        dry = [c * sign if present(c) else 0.0 for c, sign in zip(tree.coulomb, signs, strict=True)]
        out = np.array([out[k] + dry[k] for k in range(tree.n)])
    return out


def joint_torque(tree: Tree, qd: Traced, qdd: Traced | None, *, friction: bool, rotors: bool) -> Traced:
    """The part of tau that acts in the joints alone (n,): rotor inertia Kᵀ I_a K q̈ and friction."""
    out: Any = np.zeros(tree.n)
    if rotors and qdd is not None and present(tree.armature):
        out = out + tree.armature @ qdd
    if friction and (present(tree.viscous) or present(tree.coulomb)):
        out = out + friction_torque(tree, qd)
    return out


def with_rotors(tree: Tree, M: Traced, *, rotors: bool) -> Traced:
    """M(q) + Kᵀ I_a K (n, n), exactly symmetric if M is."""
    if not rotors or not present(tree.armature):
        return M
    return M + (np.triu(tree.armature) + np.triu(tree.armature, 1).T)  # one rounding of KᵀI_aK for both halves


class BodyFrames(NamedTuple):
    """Where the bodies are, in root axes, per body: rotation R (3, 3), origin p (3,), joint axis z (3,)."""

    R: list[Any]
    p: list[Any]
    z: list[Any]


def root_frames(tree: Tree, st: Sequence[Step]) -> BodyFrames:
    """Pose of every body frame in the root frame; the joint axis of body i passes through p[i] along z[i]."""
    R: list[Any] = []
    p: list[Any] = []
    for i, step in enumerate(st):
        k = tree.parent[i]
        before = R[k] if k >= 0 else np.eye(3)
        origin = p[k] if k >= 0 else ZERO
        R.append(np.array([step.down(row) for row in before]))  # rows of R_root_parent · R_parent_body
        p.append(origin + before @ step.p)
    return BodyFrames(R, p, [matrix[:, 2] for matrix in R])


class Masses(NamedTuple):
    """Inertia of every body in root axes, taken at a point c of the body.

    c is the centre of mass, as in the documents, where the body has mass; then h = 0 and J is central. Bodies whose
    mass was regrouped into the parent (m = 0, h ≠ 0) have no centre of mass: c is their frame's origin, and h, J are
    about it.
    """

    m: list[float]
    c: list[Any]
    h: list[Any]
    J: list[Any]


def root_masses(tree: Tree, frames: BodyFrames) -> Masses:
    """Masses, reference points, first moments and inertia tensors in root axes."""
    c, h, J = [], [], []
    for i in range(tree.nb):
        m, first, second = float(tree.m[i]), tree.h[i], tree.J[i]
        local = first / m if m > 0.0 else ZERO
        rest = ZERO if m > 0.0 else first
        central = second - m * (dot(local, local) * np.eye(3) - np.outer(local, local))
        R = frames.R[i]
        c.append(frames.p[i] + R @ local)
        h.append(R @ rest)
        J.append(R @ central @ R.T)
    return Masses([float(m) for m in tree.m], c, h, J)


def jacobian_columns(tree: Tree, frames: BodyFrames, i: int, point: Traced) -> dict[int, tuple[Any, Any]]:
    """Columns (linear, angular) of the Jacobian of a point of body i, root axes, for every body on its path."""
    out = {}
    for k in tree.ancestors(i):
        z = frames.z[k]
        out[k] = (cross(z, point - frames.p[k]), z) if tree.revolute[k] else (z, ZERO)
    return out


Load = tuple[Any, Any]
"""Force and moment (about the origin of the body frame) that the world exerts on the body."""


def body_loads(
    tree: Tree, st: Sequence[Step], wrench: Traced | None = None, wrenches: Traced | None = None
) -> list[Load | None]:
    """External wrenches turned into each body's own frame.

    Args:
        tree: the arm.
        st: its steps at q.
        wrench: (6,) at the tool origin, base axes, or None.
        wrenches: (nb, 6), row i at the origin of **link** frame i, base axes, or None.

    Returns:
        Per body None or (force, moment about the body frame's origin), both in body axes.
    """
    loads: list[Load | None] = [None] * tree.nb
    R_root_base = tree.T_base_root[:3, :3].T
    if wrench is not None and tree.tip >= 0:
        f, n = R_root_base @ wrench[:3], R_root_base @ wrench[3:]
        for k in reversed(tree.ancestors(tree.tip)):
            f, n = st[k].down(f), st[k].down(n)
        loads[tree.tip] = (f, n + cross(tree.T_tip_tool[:3, 3], f))
    if wrenches is not None:
        R = root_frames(tree, st).R
        for i in range(tree.nb):
            f, n = R[i].T @ (R_root_base @ wrenches[i][:3]), R[i].T @ (R_root_base @ wrenches[i][3:])
            n = n + cross(tree.T_body_link[i][:3, 3], f)
            known = loads[i]
            loads[i] = (f, n) if known is None else (known[0] + f, known[1] + n)
    return loads


def root_loads(
    tree: Tree, frames: BodyFrames, wrench: Traced | None = None, wrenches: Traced | None = None
) -> list[Load | None]:
    """The same wrenches in root axes, moments about each body frame's origin."""
    loads: list[Load | None] = [None] * tree.nb
    R_root_base = tree.T_base_root[:3, :3].T
    if wrench is not None and tree.tip >= 0:
        f = R_root_base @ wrench[:3]
        arm = frames.R[tree.tip] @ tree.T_tip_tool[:3, 3]
        loads[tree.tip] = (f, R_root_base @ wrench[3:] + cross(arm, f))
    if wrenches is not None:
        for i in range(tree.nb):
            f = R_root_base @ wrenches[i][:3]
            n = R_root_base @ wrenches[i][3:] + cross(frames.R[i] @ tree.T_body_link[i][:3, 3], f)
            known = loads[i]
            loads[i] = (f, n) if known is None else (known[0] + f, known[1] + n)
    return loads


def external_torque(
    tree: Tree, frames: BodyFrames, wrench: Traced | None = None, wrenches: Traced | None = None
) -> list[Traced]:
    """Joint torques equivalent to external wrenches, one per body: Σ Jᵀ w. The actuators' tau falls by them."""
    out: list[Any] = [0.0] * tree.nb
    for i, load in enumerate(root_loads(tree, frames, wrench, wrenches)):
        if load is None:
            continue
        for k, (linear, angular) in jacobian_columns(tree, frames, i, frames.p[i]).items():
            out[k] = out[k] + dot(linear, load[0]) + dot(angular, load[1])
    return out
