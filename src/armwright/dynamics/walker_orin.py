# SPDX-License-Identifier: Apache-2.0
"""Walker and Orin's methods 1, 2 and 3 for forward dynamics (1982; 001, Table 2).

All three build M and the bias u′ and solve; they differ in how M is obtained.

1. Column k is a call of inverse dynamics with unit acceleration k, no velocity, no gravity: n + 1 calls in all.
2. The same, but a column is only computed for the joints beyond k; symmetry gives the rest.
3. Composite bodies, each by its mass, its centre and its inertia about it, in the frame of its own link.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics.crba import carried, crba_bodies
from armwright.dynamics.newton_euler import bias, efforts, motions
from armwright.dynamics.terms import gather_symmetric, with_rotors
from armwright.errors import InputError
from armwright.robot.step import steps
from armwright.robot.tree import as_tree
from armwright.spatial.linear import cross, dot, ltdl_solve

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.step import Step
    from armwright.robot.tree import Tree
    from armwright.types import Traced


def _method_1(tree: Tree, st: list[Step]) -> list[list[Traced]]:
    """All rows of every column, one complete Newton–Euler pass per column."""
    unit = _bodies_apart(tree)
    columns = []
    for k in range(tree.nb):
        one = np.eye(tree.nb)[k]
        reaction = efforts(unit, st, motions(unit, st, np.zeros(tree.nb), one, gravity=False), [None] * tree.nb)
        columns.append([n[2] if tree.revolute[i] else f[2] for i, (f, n) in enumerate(reaction)])
    return [[columns[k][i] for k in range(tree.nb)] for i in range(tree.nb)]


def _method_2(tree: Tree, st: list[Step]) -> list[list[Traced]]:
    """Rows i ≥ k of column k: bodies before k do not move, and their torques are known by symmetry."""
    nb = tree.nb
    M: list[list[Any]] = [[0.0] * nb for _ in range(nb)]
    for k in range(nb):
        beyond = [i for i in range(k, nb) if k in tree.ancestors(i)]
        wd: dict[int, Any] = {}
        a: dict[int, Any] = {}
        force: dict[int, Any] = {}
        moment: dict[int, Any] = {}
        for i in beyond:
            if i == k:
                wd[i] = np.array([0.0, 0.0, 1.0 if tree.revolute[k] else 0.0])
                a[i] = np.array([0.0, 0.0, 0.0 if tree.revolute[k] else 1.0])
            else:
                p = tree.parent[i]
                wd[i], a[i] = st[i].down(wd[p]), st[i].down(a[p] + cross(wd[p], st[i].p))
            force[i] = tree.m[i] * a[i] + cross(wd[i], tree.h[i])
            moment[i] = tree.J[i] @ wd[i] + cross(tree.h[i], a[i])
        for i in reversed(beyond):
            M[i][k] = M[k][i] = moment[i][2] if tree.revolute[i] else force[i][2]
            if i != k:
                p, f = tree.parent[i], st[i].up(force[i])
                force[p] = force[p] + f
                moment[p] = moment[p] + (st[i].up(moment[i]) + cross(st[i].p, f))
    return M


def _method_3(tree: Tree, st: list[Step]) -> list[list[Traced]]:
    """Composite bodies in link frames: total mass, centre of mass c and inertia E about it, from the tip inwards.

    Two bodies at a distance d have E = E_1 + E_2 + μ(d·d 1 − d dᵀ) about their common centre, μ = m_1 m_2/(m_1 + m_2).
    A unit acceleration of joint i needs F = m z × c (m z for a prismatic joint) and N = E z about the centre; both are
    carried to the root. Bodies without a mass of their own (regrouped ones) have no centre: then the moments are taken
    about the origins, as `crba` does.
    """
    if not all(float(m) > 0.0 for m in tree.m):
        return crba_bodies(tree, st)
    composite: list[tuple[Any, Any, Any]] = []
    for i in range(tree.nb):
        m, c = float(tree.m[i]), tree.h[i] / float(tree.m[i])
        composite.append((m, c, tree.J[i] - m * (dot(c, c) * np.eye(3) - np.outer(c, c))))
    reactions: list[tuple[Any, Any]] = []
    for i in range(tree.nb - 1, -1, -1):
        m, c, E = composite[i]
        if tree.revolute[i]:
            F = np.array([-(m * c[1]), m * c[0], 0.0])
            n = E[:, 2] + np.array([-(c[2] * F[1]), c[2] * F[0], c[0] * F[1] - c[1] * F[0]])
        else:
            F, n = np.array([0.0, 0.0, m]), np.array([m * c[1], -(m * c[0]), 0.0])
        reactions.append((F, n))
        k = tree.parent[i]
        if k >= 0:
            composite[k] = _together(composite[k], (m, st[i].up(c) + st[i].p, st[i].up_symmetric(E)))
    return carried(tree, st, reactions[::-1])


def _together(one: tuple[Any, Any, Any], other: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Mass, centre and central inertia of two bodies, both in the same axes."""
    (m1, c1, E1), (m2, c2, E2) = one, other
    x, y, z = d = c2 - c1
    share, reduced = m2 / (m1 + m2), m1 * m2 / (m1 + m2)
    xx, yy, zz = reduced * (x * x), reduced * (y * y), reduced * (z * z)
    xy, xz, yz = -(reduced * (x * y)), -(reduced * (x * z)), -(reduced * (y * z))
    between = [[yy + zz, xy, xz], [xy, xx + zz, yz], [xz, yz, xx + yy]]
    rows = [[E1[min(i, k), max(i, k)] + E2[min(i, k), max(i, k)] + between[i][k] for k in range(3)] for i in range(3)]
    return m1 + m2, c1 + share * d, np.array(rows)


_METHODS = {1: _method_1, 2: _method_2, 3: _method_3}


def _bodies_apart(tree: Tree) -> Tree:
    """The same tree with every body on a coordinate of its own, for columns body by body."""
    return replace(tree, n=tree.nb, joint=tuple(range(tree.nb)), ratio=np.ones(tree.nb))


def walker_orin_mass(arm: Robot | Tree, q: Traced, *, variant: int = 3, rotors: bool = True) -> Traced:
    """Mass matrix M (n, n) by method `variant` = 1, 2 or 3; q is (n,)."""
    if variant not in _METHODS:
        raise InputError(f"walker_orin_mass: variant must be 1, 2 or 3, got {variant!r}")
    tree = as_tree(arm)
    return with_rotors(tree, gather_symmetric(tree, _METHODS[variant](tree, steps(tree, q))), rotors=rotors)


def walker_orin_inverse(
    arm: Robot | Tree,
    q: Traced,
    qd: Traced,
    qdd: Traced,
    wrench: Traced | None = None,
    wrenches: Traced | None = None,
    *,
    variant: int = 3,
    gravity: bool = True,
    friction: bool = True,
    rotors: bool = True,
) -> Traced:
    """Inverse dynamics (n,), u = M q̈ + u′ (001 eq. 34); arguments as in `rnea`."""
    tree = as_tree(arm)
    rest = bias(tree, q, qd, wrench, wrenches, gravity=gravity, friction=friction)
    return walker_orin_mass(tree, q, variant=variant, rotors=rotors) @ qdd + rest


def walker_orin_forward(
    arm: Robot | Tree,
    q: Traced,
    qd: Traced,
    tau: Traced,
    wrench: Traced | None = None,
    wrenches: Traced | None = None,
    *,
    variant: int = 3,
    gravity: bool = True,
    friction: bool = True,
    rotors: bool = True,
) -> Traced:
    """Joint accelerations (n,) from M q̈ = tau − u′ (001 eq. 2); arguments as in `crba_forward`."""
    tree = as_tree(arm)
    rest = bias(tree, q, qd, wrench, wrenches, gravity=gravity, friction=friction)
    return ltdl_solve(walker_orin_mass(tree, q, variant=variant, rotors=rotors), tau - rest)
