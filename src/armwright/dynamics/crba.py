# SPDX-License-Identifier: Apache-2.0
"""Composite rigid body algorithm: M(q) in body frames, and forward dynamics by M = LᵀDL (Featherstone; WO3 of 001).

Column j of M is the force that the composite of everything beyond joint j needs for a unit acceleration of joint j
alone; it is carried towards the root and read off at every joint on the way. Bodies on different branches never meet,
their entries are the number 0, and the factorisation from the tips inwards keeps them 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics.newton_euler import bias
from armwright.dynamics.terms import gather_symmetric, with_rotors
from armwright.robot.step import steps
from armwright.robot.tree import as_tree
from armwright.spatial.linear import cross, ltdl_solve

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.step import Step
    from armwright.robot.tree import Tree
    from armwright.types import Traced


def shift_inertia(J: Traced, h: Traced, m: Traced, p: Traced) -> Traced:
    """Inertia about a point from which the old one lies at p: J − [p][h] − [h][p] − m[p][p], entries used once."""
    x, y, z = p
    hx, hy, hz = h
    xy = J[0, 1] - (x * hy + y * hx) - (x * y) * m
    xz = J[0, 2] - (x * hz + z * hx) - (x * z) * m
    yz = J[1, 2] - (y * hz + z * hy) - (y * z) * m
    xx = J[0, 0] + 2.0 * (y * hy + z * hz) + (y * y + z * z) * m
    yy = J[1, 1] + 2.0 * (x * hx + z * hz) + (x * x + z * z) * m
    zz = J[2, 2] + 2.0 * (x * hx + y * hy) + (x * x + y * y) * m
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def composites(tree: Tree, st: list[Step]) -> list[tuple[Traced, Traced, Traced]]:
    """Mass, first moment and inertia (m, h, J) of each body with all it carries, in body axes about its origin."""
    out: list[tuple[Any, Any, Any]] = [(tree.m[i], tree.h[i], tree.J[i]) for i in range(tree.nb)]
    for i in range(tree.nb - 1, -1, -1):
        k = tree.parent[i]
        if k >= 0:
            m, h, J = out[i]
            h = st[i].up(h)
            J = shift_inertia(st[i].up_symmetric(J), h, m, st[i].p)
            out[k] = (out[k][0] + m, out[k][1] + (h + m * st[i].p), out[k][2] + J)
    return out


def crba(arm: Robot | Tree, q: Traced, *, rotors: bool = True) -> Traced:
    """Joint-space mass matrix M (n, n), symmetric, rotor inertia included unless `rotors` is off. q is (n,).

    >>> M = crba(robot, q)
    """
    tree = as_tree(arm)
    st = steps(tree, q)
    return with_rotors(tree, gather_symmetric(tree, crba_bodies(tree, st)), rotors=rotors)


def crba_bodies(tree: Tree, st: list[Step]) -> list[list[Traced]]:
    """Mass matrix of the bodies, nb rows of nb, each body on a coordinate of its own."""
    reactions = []
    for j, (m, h, J) in enumerate(composites(tree, st)):
        if tree.revolute[j]:
            reactions.append((np.array([-h[1], h[0], 0.0]), J[:, 2]))
        else:
            reactions.append((np.array([0.0, 0.0, m]), np.array([h[1], -h[0], 0.0])))
    return carried(tree, st, reactions)


def carried(tree: Tree, st: list[Step], reactions: list[tuple[Traced, Traced]]) -> list[list[Traced]]:
    """Carry each composite's force and moment to the root and read them off at every joint on the way.

    Args:
        tree: the arm.
        st: its steps at q.
        reactions: per body the force and the moment about its origin, body axes, that its composite needs for a unit
            acceleration of its own joint.
    """
    M: list[list[Any]] = [[0.0] * tree.nb for _ in range(tree.nb)]
    for j, (f, n) in enumerate(reactions):
        M[j][j] = n[2] if tree.revolute[j] else f[2]
        i = j
        while tree.parent[i] >= 0:
            f, n = st[i].up(f), st[i].up(n)
            n = n + cross(st[i].p, f)
            i = tree.parent[i]
            M[j][i] = M[i][j] = n[2] if tree.revolute[i] else f[2]
    return M


def crba_inverse(
    arm: Robot | Tree,
    q: Traced,
    qd: Traced,
    qdd: Traced,
    wrench: Traced | None = None,
    wrenches: Traced | None = None,
    *,
    gravity: bool = True,
    friction: bool = True,
    rotors: bool = True,
) -> Traced:
    """Inverse dynamics (n,) as M q̈ + bias; arguments as in `rnea`."""
    tree = as_tree(arm)
    rest = bias(tree, q, qd, wrench, wrenches, gravity=gravity, friction=friction)
    return crba(tree, q, rotors=rotors) @ qdd + rest


def crba_forward(
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
    """Joint accelerations (n,) for actuator torques tau (n,): LᵀDL of M from CRBA, bias from RNEA."""
    tree = as_tree(arm)
    rest = bias(tree, q, qd, wrench, wrenches, gravity=gravity, friction=friction)
    return ltdl_solve(crba(tree, q, rotors=rotors), tau - rest)
