# SPDX-License-Identifier: Apache-2.0
"""mRNEA, the modified recursive Newton–Euler algorithm of ERFD (001, Section 4): explicit H and u′, root axes.

Every link's acceleration is kept as a polynomial in the joint rates,

    v̇_i = Σ_k b_ik q̈_k + Σ_{k≤j} b_ikj q̇_k q̇_j        N_i = Σ_k d_ik q̈_k + Σ_{k≤j} d_ikj q̇_k q̇_j

the coefficients go through the backward recursion one by one, and the joint axes project them on H and u′. Indices:
our z[k], p[k] are the document's z_{k−1}, p_{k−1} (axis of joint k and a point on it). The sums run over the joints on
the way to link i, so branches need no extra rule. The document's double count of f_e in (14) is removed.

A body whose mass was regrouped away (m = 0, h ≠ 0) has no centre of mass; its b_ik, d_ik belong to the frame's
origin, and the first moment h adds ω̇×h to the force and h×v̇ to the moment (see `terms.Masses`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics.terms import (
    ZERO,
    gather,
    gather_symmetric,
    jacobian_columns,
    joint_torque,
    root_frames,
    root_loads,
    root_masses,
    spread,
    with_rotors,
)
from armwright.robot.step import steps
from armwright.robot.tree import as_tree
from armwright.spatial.linear import cross, dot, ltdl_solve

if TYPE_CHECKING:
    from armwright.dynamics.terms import BodyFrames, Masses
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


class Coefficients(NamedTuple):
    """Coefficients of q̈_k in force and moment of links (001 eq. 15, 17): e_ik, d_ik; the rest e_i, d_i (root axes)."""

    e_k: list[dict[int, Any]]
    d_k: list[dict[int, Any]]
    e: list[Any]
    d: list[Any]


class Explicit(NamedTuple):
    """u = H q̈ + u′ (001 eq. 34): H (n, n) symmetric, u (n,) the bias u′; rigid bodies and external wrenches."""

    H: Traced
    u: Traced


def _expanded(tree: Tree, frames: BodyFrames, masses: Masses, rates: list[Traced]) -> tuple[list[Traced], list[Traced]]:
    """Velocity parts of force and moment by the b_ikj and d_ikj of 001 (eq. 5 and 9), in closed form: O(n³) vectors."""
    force, moment = [], []
    for i in range(tree.nb):
        m, h, inertia = masses.m[i], masses.h[i], masses.J[i]
        column = jacobian_columns(tree, frames, i, masses.c[i])
        trace = inertia[0, 0] + inertia[1, 1] + inertia[2, 2]
        e, d = ZERO, ZERO
        for j in sorted(column):
            b_j, turn_j = column[j]
            for k in (k for k in sorted(column) if k <= j):
                z = column[k][1]  # 0 for a prismatic joint k: then b_ikj = d_ikj = 0
                factor = 1.0 if k == j else 2.0
                b_kj = factor * cross(z, b_j)
                d_k = inertia @ z
                d_kj = cross(z, d_k) if k == j else trace * cross(z, turn_j) + 2.0 * cross(turn_j, d_k)
                d_kj = d_kj if tree.revolute[j] and tree.revolute[k] else ZERO
                rate = rates[k] * rates[j]
                e = e + (m * b_kj + factor * cross(z, cross(turn_j, h))) * rate
                d = d + (d_kj + cross(h, b_kj)) * rate
        force.append(e)
        moment.append(d)
    return force, moment


def _lean(tree: Tree, frames: BodyFrames, masses: Masses, rates: list[Traced]) -> tuple[list[Traced], list[Traced]]:
    """Velocity parts of force and moment from one forward recursion at q̈ = 0 (001, B.1): O(n) vectors."""
    state: list[tuple[Any, Any, Any]] = []
    force, moment = [], []
    for i in range(tree.nb):
        k, z = tree.parent[i], frames.z[i]
        w, wd, vd = state[k] if k >= 0 else (ZERO, ZERO, ZERO)
        arm = frames.p[i] - frames.p[k] if k >= 0 else frames.p[i]
        vd = vd + cross(wd, arm) + cross(w, cross(w, arm))
        if tree.revolute[i]:
            wd = wd + cross(w, z) * rates[i]
            w = w + z * rates[i]
        else:
            vd = vd + 2.0 * cross(w, z) * rates[i]
        state.append((w, wd, vd))
        r, h, inertia = masses.c[i] - frames.p[i], masses.h[i], masses.J[i]
        vc = vd + cross(wd, r) + cross(w, cross(w, r))
        force.append(masses.m[i] * vc + cross(wd, h) + cross(w, cross(w, h)))
        moment.append(inertia @ wd + cross(w, inertia @ w) + cross(h, vc))
    return force, moment


def coefficients(
    tree: Tree, frames: BodyFrames, masses: Masses, qd: Traced, *, expanded: bool = False, gravity: bool = True
) -> Coefficients:
    """Forward part (001 eq. 5–17): e_ik = m_i b_ik, d_ik = I_i z_k, and the velocity and gravity parts e_i, d_i."""
    e_k, d_k = [], []
    for i in range(tree.nb):
        m, h = masses.m[i], masses.h[i]
        column = jacobian_columns(tree, frames, i, masses.c[i])
        e_k.append({k: m * b + cross(z, h) for k, (b, z) in column.items()})
        d_k.append({k: masses.J[i] @ z + cross(h, b) for k, (b, z) in column.items()})
    force, moment = (_expanded if expanded else _lean)(tree, frames, masses, spread(tree, qd))
    if gravity:
        force = [e - masses.m[i] * tree.gravity for i, e in enumerate(force)]
        moment = [d - cross(masses.h[i], tree.gravity) for i, d in enumerate(moment)]
    return Coefficients(e_k, d_k, force, moment)


def mrnea(
    arm: Robot | Tree,
    q: Traced,
    qd: Traced,
    wrench: Traced | None = None,
    wrenches: Traced | None = None,
    *,
    expanded: bool = False,
    gravity: bool = True,
) -> Explicit:
    """Explicit H and u′ of u = H q̈ + u′ (001 eq. 34–36), in one backward pass over the coefficient vectors.

    Args:
        arm: robot or tree.
        q: joint coordinates (n,).
        qd: joint velocities (n,).
        wrench: (6,) what the world exerts on the tool (minus the document's f_e, n_e), tool origin, base axes.
        wrenches: (nb, 6), one per body at its link frame's origin, base axes.
        expanded: form every b_ikj, d_ikj as published instead of the lean recursion; same result.
        gravity: whether gravity acts.

    >>> H, u = mrnea(robot, q, qd)  # torques are H @ qdd + u
    """
    tree = as_tree(arm)
    frames = root_frames(tree, steps(tree, q))
    masses = root_masses(tree, frames)
    c = coefficients(tree, frames, masses, qd, expanded=expanded, gravity=gravity)
    loads = root_loads(tree, frames, wrench, wrenches)
    nb = tree.nb
    E: list[Any] = [ZERO] * nb
    nc: list[Any] = [ZERO] * nb
    Ek: list[dict[int, Any]] = [{} for _ in range(nb)]
    na: list[dict[int, Any]] = [{} for _ in range(nb)]
    H: list[list[Any]] = [[0.0] * nb for _ in range(nb)]
    u: list[Any] = [0.0] * nb
    for i in range(nb - 1, -1, -1):
        l, load = masses.c[i] - frames.p[i], loads[i]  # noqa: E741 - the document's l_i
        E[i], nc[i] = E[i] + c.e[i], nc[i] + c.d[i] + cross(l, c.e[i])
        if load is not None:
            E[i], nc[i] = E[i] - load[0], nc[i] - load[1]
        for k in c.e_k[i]:
            Ek[i][k] = Ek[i].get(k, ZERO) + c.e_k[i][k]
            na[i][k] = na[i].get(k, ZERO) + c.d_k[i][k] + cross(l, c.e_k[i][k])
            H[i][k] = H[k][i] = dot(frames.z[i], na[i][k] if tree.revolute[i] else Ek[i][k])
        u[i] = dot(frames.z[i], nc[i] if tree.revolute[i] else E[i])
        parent = tree.parent[i]
        if parent >= 0:
            arm_p = frames.p[i] - frames.p[parent]  # the document's p*
            E[parent], nc[parent] = E[parent] + E[i], nc[parent] + nc[i] + cross(arm_p, E[i])
            for k in Ek[i]:
                if k != i:  # symmetric half: column i is complete
                    Ek[parent][k] = Ek[parent].get(k, ZERO) + Ek[i][k]
                    na[parent][k] = na[parent].get(k, ZERO) + na[i][k] + cross(arm_p, Ek[i][k])
    return Explicit(gather_symmetric(tree, H), gather(tree, u))


def mrnea_mass(arm: Robot | Tree, q: Traced, *, rotors: bool = True) -> Traced:
    """Mass matrix H (n, n) of mRNEA; q is (n,)."""
    tree = as_tree(arm)
    return with_rotors(tree, mrnea(tree, q, np.zeros(tree.n), gravity=False).H, rotors=rotors)


def mrnea_inverse(
    arm: Robot | Tree,
    q: Traced,
    qd: Traced,
    qdd: Traced,
    wrench: Traced | None = None,
    wrenches: Traced | None = None,
    *,
    expanded: bool = False,
    gravity: bool = True,
    friction: bool = True,
    rotors: bool = True,
) -> Traced:
    """Inverse dynamics (n,): u = H q̈ + u′ (001 eq. 34); arguments as in `rnea` and `mrnea`."""
    tree = as_tree(arm)
    H, u = mrnea(tree, q, qd, wrench, wrenches, expanded=expanded, gravity=gravity)
    return H @ qdd + u + joint_torque(tree, qd, qdd, friction=friction, rotors=rotors)


def mrnea_forward(
    arm: Robot | Tree,
    q: Traced,
    qd: Traced,
    tau: Traced,
    wrench: Traced | None = None,
    wrenches: Traced | None = None,
    *,
    expanded: bool = False,
    gravity: bool = True,
    friction: bool = True,
    rotors: bool = True,
) -> Traced:
    """Joint accelerations (n,) from H q̈ = u − u′ (001 eq. 2); arguments as in `crba_forward` and `mrnea`."""
    tree = as_tree(arm)
    H, u = mrnea(tree, q, qd, wrench, wrenches, expanded=expanded, gravity=gravity)
    rest = u + joint_torque(tree, qd, None, friction=friction, rotors=False)
    return ltdl_solve(with_rotors(tree, H, rotors=rotors), tau - rest)
