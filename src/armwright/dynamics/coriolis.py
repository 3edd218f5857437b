# SPDX-License-Identifier: Apache-2.0
"""The Christoffel matrix C(q, q̇) in O(n²) by composite bodies, as `crba` does for M (Echeandia and Wensing 2021).

`lagrange` follows the documents and differentiates M; this gives the same matrix from one velocity pass. A body with
motion (ω, u) at its origin adds to C the bilinear form xᵀ(I ẏ + B y) of the joints' motions x, y, where the Christoffel
symbols require B = ½(v×* I − I v× + (I v)×̄*). Written out in 3-vectors, B looks at the angular part a of y alone:

    force  a × p,  p = m u + ω × h        moment  N a,  N = ½([ω]J − J[ω] − [Jω]) + (h·u)1 − u hᵀ

so a composite carries p (3) and N (3×3) in addition to its mass, first moment and inertia.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics.crba import composites
from armwright.dynamics.terms import ZERO, Z, gather_matrix, spread
from armwright.robot.step import steps
from armwright.robot.tree import as_tree
from armwright.spatial.linear import cross, dot
from armwright.spatial.rotations import skew

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.step import Step
    from armwright.robot.tree import Tree
    from armwright.types import Traced


def _velocities(tree: Tree, st: list[Step], qd: Traced) -> list[tuple[Traced, Traced]]:
    """(ω, u) of every body at its origin, body axes."""
    rates = spread(tree, qd)
    out: list[tuple[Any, Any]] = []
    for i, step in enumerate(st):
        w, u = out[tree.parent[i]] if tree.parent[i] >= 0 else (ZERO, ZERO)
        w, u = step.down(w), step.down(u + cross(w, step.p))
        out.append((w + Z * rates[i], u) if tree.revolute[i] else (w, u + Z * rates[i]))
    return out


def _forms(tree: Tree, st: list[Step], velocity: list[tuple[Traced, Traced]]) -> list[tuple[Traced, Traced]]:
    """(p, N) of each body with all it carries, body axes about its origin."""
    out: list[tuple[Any, Any]] = []
    for i, (w, u) in enumerate(velocity):
        m, h, J, W = tree.m[i], tree.h[i], tree.J[i], skew(w)
        WJ = W @ J
        N = 0.5 * (WJ + WJ.T - skew(J @ w)) + dot(h, u) * np.eye(3) - np.outer(u, h)  # −J[ω] = ([ω]J)ᵀ
        out.append((m * u + cross(w, h), N))
    for i in range(tree.nb - 1, -1, -1):
        k, step = tree.parent[i], st[i]
        if k >= 0:
            p, N = step.up(out[i][0]), out[i][1]
            half = np.array([step.up(N[:, c]) for c in range(3)]).T
            N = np.array([step.up(half[r]) for r in range(3)])
            N = N + dot(step.p, p) * np.eye(3) - np.outer(p, step.p)  # moment of the force a × p
            out[k] = (out[k][0] + p, out[k][1] + N)
    return out


def coriolis(arm: Robot | Tree, q: Traced, qd: Traced) -> Traced:
    """C (n, n) with C q̇ the velocity torques, C_kj = Σ_i c_ijk q̇_i and so Ṁ − 2C skew; q and qd are (n,)."""
    tree = as_tree(arm)
    st = steps(tree, q)
    velocity = _velocities(tree, st, qd)
    # rate of change of each joint's own motion, (angular, linear), body axes
    rate = [
        (cross(w, Z), cross(u, Z)) if turns else (ZERO, cross(w, Z))
        for (w, u), turns in zip(velocity, tree.revolute, strict=True)
    ]
    C: list[list[Any]] = [[0.0] * tree.nb for _ in range(tree.nb)]
    for j, ((m, h, J), (p, N)) in enumerate(zip(composites(tree, st), _forms(tree, st, velocity), strict=True)):
        a, b = rate[j]
        # F1 = I ẏ_j + B y_j,  F2 = I y_j,  F3 = Bᵀ y_j (a moment alone)
        f1, n1 = m * b - cross(h, a), J @ a + cross(h, b)
        if tree.revolute[j]:
            f1, n1 = f1 + cross(Z, p), n1 + N[:, 2]
            f2, n2, n3 = cross(Z, h), J[:, 2], N[2]
        else:
            f2, n2, n3 = m * Z, cross(h, Z), cross(p, Z)
        C[j][j] = n1[2] if tree.revolute[j] else f1[2]
        i = j
        while tree.parent[i] >= 0:
            step = st[i]
            f1, n1, f2, n2, n3 = (step.up(x) for x in (f1, n1, f2, n2, n3))
            n1, n2 = n1 + cross(step.p, f1), n2 + cross(step.p, f2)
            i = tree.parent[i]
            C[i][j] = n1[2] if tree.revolute[i] else f1[2]
            C[j][i] = dot(rate[i][0], n2) + dot(rate[i][1], f2) + (n3[2] if tree.revolute[i] else 0.0)
    return gather_matrix(tree, C)
