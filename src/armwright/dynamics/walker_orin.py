# SPDX-License-Identifier: Apache-2.0
"""Walker and Orin's methods 1, 2 and 3 for forward dynamics (001 §3.12).

All three build M and the bias u′ and solve; they differ in how M is obtained.

1. Column k is a call of inverse dynamics with unit acceleration k, no velocity, no gravity: n + 1 calls in all.
2. The same, but a column is only computed for the joints beyond k; symmetry gives the rest.
3. Composite bodies in the root frame, where adding two bodies is adding ten numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics.crba import shift_inertia
from armwright.dynamics.newton_euler import bias, efforts, motions
from armwright.dynamics.terms import gather_symmetric, root_frames, with_rotors
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
    """Composite bodies about the root's origin: Yᶜ_i = Y_i + Σ Yᶜ_children, h_ij = S_j · Yᶜ_i S_i."""
    nb, frames = tree.nb, root_frames(tree, st)
    composite = []
    for i in range(nb):
        R, p, m = frames.R[i], frames.p[i], tree.m[i]
        h = R @ tree.h[i]
        composite.append((m, h + m * p, shift_inertia(R @ tree.J[i] @ R.T, h, m, p)))
    # a unit rate of joint i, as the motion (v, w) of the body point that passes through the root's origin
    screw = [
        (cross(p, z), z) if revolute else (z, np.zeros(3))
        for z, p, revolute in zip(frames.z, frames.p, tree.revolute, strict=True)
    ]
    M: list[list[Any]] = [[0.0] * nb for _ in range(nb)]
    for i in range(nb - 1, -1, -1):
        m, h, J = composite[i]
        v, w = screw[i]
        f, n = m * v + cross(w, h), J @ w + cross(h, v)
        for j in tree.ancestors(i):
            M[i][j] = M[j][i] = dot(screw[j][0], f) + dot(screw[j][1], n)
        k = tree.parent[i]
        if k >= 0:
            composite[k] = (composite[k][0] + m, composite[k][1] + h, composite[k][2] + J)
    return M


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
