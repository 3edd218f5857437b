# SPDX-License-Identifier: Apache-2.0
"""Lagrangian dynamics by products of exponentials (002, section 2.9.4, corrected; Murray, Li and Sastry).

Everything is written with screws ξ_i = (v, ω) and link inertias M′_l of the home pose, in root axes about the root's
origin; the configuration enters through A_ij alone, which carries a twist of joint j to link i:

    A_ij = Ad⁻¹(e^{ξ_{j+1}θ_{j+1}} ⋯ e^{ξ_iθ_i}),    M_ij = Σ_l (A_li ξ_i)ᵀ M′_l (A_lj ξ_j)
    ∂M_ij/∂θ_k = Σ_l [A_li ξ_i, A_lk ξ_k]ᵀ M′_l A_lj ξ_j + (A_li ξ_i)ᵀ M′_l [A_lj ξ_j, A_lk ξ_k]

where a bracket whose first index lies beyond k is 0, and A_lk[x, y] = [A_lk x, A_lk y] has moved the document's
bracket to link l. The home pose is the one with all displacements 0. Corrections to the thesis: the sign pattern of the
skew operator, and M′ instead of M in the sum (2.58).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics.crba import shift_inertia
from armwright.dynamics.terms import (
    external_torque,
    gather,
    gather_matrix,
    gather_symmetric,
    joint_torque,
    root_frames,
    spread,
    with_rotors,
)
from armwright.robot.step import steps
from armwright.robot.tree import as_tree
from armwright.spatial.linear import cross, dot, ltdl_solve
from armwright.spatial.rotations import skew

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.step import Step
    from armwright.robot.tree import Tree
    from armwright.types import Traced

Twist = tuple[Any, Any]
"""(v, ω), linear first."""


class PoeHome(NamedTuple):
    """Constants of the home pose, one per body: screws (v, ω), and inertias (m, h, J) about the root's origin."""

    screws: list[Twist]
    inertias: list[tuple[Any, Any, Any]]


def home_pose(tree: Tree) -> PoeHome:
    """Screws and link inertias M′_l in the home pose, all displacements 0."""
    R: list[Any] = []
    p: list[Any] = []
    screws: list[Twist] = []
    inertias = []
    for i in range(tree.nb):
        k = tree.parent[i]
        before, origin = (R[k], p[k]) if k >= 0 else (np.eye(3), np.zeros(3))
        R.append(before @ tree.R0[i])
        p.append(origin + before @ tree.p0[i])
        z = R[i][:, 2]
        screws.append((-cross(z, p[i]), z) if tree.revolute[i] else (z, np.zeros(3)))
        h, m = R[i] @ tree.h[i], tree.m[i]
        inertias.append((m, h + m * p[i], shift_inertia(R[i] @ tree.J[i] @ R[i].T, h, m, p[i])))
    return PoeHome(screws, inertias)


def exponential(screw: Twist, step: Step, displacement: Traced) -> tuple[Traced, Traced]:
    """e^{ξ̂θ} as (R, p) (002 eq. 2.11): Rodrigues about a revolute axis, a translation along a prismatic one."""
    v, w = screw
    if not step.revolute:
        return np.eye(3), v * displacement
    W = skew(w)
    R = np.eye(3) + W * step.s + (W @ W) * (1.0 - step.c)
    return R, (np.eye(3) - R) @ cross(w, v)


def _back(E: tuple[Traced, Traced], twist: Twist) -> Twist:
    """Ad⁻¹(E) of a twist: Rᵀ(v − p × ω), Rᵀω."""
    R, p = E
    return R.T @ (twist[0] - cross(p, twist[1])), R.T @ twist[1]


def _bracket(x: Twist, y: Twist) -> Twist:
    return cross(x[1], y[0]) - cross(y[1], x[0]), cross(x[1], y[1])


def _momentum(inertia: tuple[Traced, Traced, Traced], twist: Twist) -> Twist:
    m, h, J = inertia
    v, w = twist
    return m * v + cross(w, h), J @ w + cross(h, v)


def _power(x: Twist, y: Twist) -> Traced:
    return dot(x[0], y[0]) + dot(x[1], y[1])


class Exponentials(NamedTuple):
    """The configuration: e^{ξ̂_iθ_i} per body, and A_ij ξ_j for every body i and every joint j on its path."""

    E: list[tuple[Any, Any]]
    carried: list[dict[int, Twist]]


def _configure(tree: Tree, home: PoeHome, q: Traced) -> Exponentials:
    displacement = spread(tree, q)
    E: list[tuple[Any, Any]] = []
    carried: list[dict[int, Twist]] = []
    for i, step in enumerate(steps(tree, q)):
        E.append(exponential(home.screws[i], step, displacement[i] + tree.offset[i]))
        before = carried[tree.parent[i]] if tree.parent[i] >= 0 else {}
        carried.append({j: _back(E[i], x) for j, x in before.items()} | {i: home.screws[i]})
    return Exponentials(E, carried)


def _mass(tree: Tree, home: PoeHome, at: Exponentials) -> list[list[Traced]]:
    M: list[list[Any]] = [[0.0] * tree.nb for _ in range(tree.nb)]
    for inertia, x in zip(home.inertias, at.carried, strict=True):
        for j in x:
            momentum = _momentum(inertia, x[j])
            for i in x:
                if i <= j:
                    M[i][j] = M[i][j] + _power(x[i], momentum)
    return [[M[min(i, j)][max(i, j)] for j in range(tree.nb)] for i in range(tree.nb)]


def _slopes(tree: Tree, home: PoeHome, at: Exponentials) -> dict[tuple[int, int, int], Any]:
    """∂M_ij/∂θ_k for i ≤ j, keys (i, j, k); missing means 0."""
    out: dict[tuple[int, int, int], Any] = {}
    for inertia, x in zip(home.inertias, at.carried, strict=True):
        momentum = {j: _momentum(inertia, x[j]) for j in x}
        for k in x:
            bracket = {i: _bracket(x[i], x[k]) for i in x if i < k}
            for j in x:
                for i in x:
                    if i > j or i >= k:  # beyond k both brackets are 0
                        continue
                    slope = _power(bracket[i], momentum[j])
                    if j < k:
                        slope = slope + _power(bracket[j], momentum[i])
                    out[i, j, k] = out.get((i, j, k), 0.0) + slope
    return out


def _gravity(tree: Tree, home: PoeHome, at: Exponentials) -> list[Traced]:
    """g_i = Σ_{l≥i} −g · (m_l v′_i + ω′_i × h_l): ξ′ = spatial Jacobian columns, h_l = current first moments."""
    R: list[Any] = []
    p: list[Any] = []
    spatial: list[Twist] = []
    out: list[Any] = [0.0] * tree.nb
    for i in range(tree.nb):
        k = tree.parent[i]
        Rk, pk = (R[k], p[k]) if k >= 0 else (np.eye(3), np.zeros(3))
        w = Rk @ home.screws[i][1]
        spatial.append((Rk @ home.screws[i][0] + cross(pk, w), w))
        R.append(Rk @ at.E[i][0])
        p.append(pk + Rk @ at.E[i][1])
        m, h, _ = home.inertias[i]
        moment = R[i] @ h + m * p[i]
        for j in tree.ancestors(i):
            out[j] = out[j] - dot(tree.gravity, m * spatial[j][0] + cross(spatial[j][1], moment))
    return out


class PoeTerms(NamedTuple):
    """M q̈ + C q̇ + g = tau (rigid bodies alone): M (n, n), C (n, n), g (n,)."""

    M: Traced
    C: Traced
    g: Traced


def poe_equations(arm: Robot | Tree, q: Traced, qd: Traced) -> PoeTerms:
    """M (n, n), C (n, n) and g (n,) of the rigid bodies by products of exponentials (002 eq. 2.58, 2.59)."""
    tree = as_tree(arm)
    home = home_pose(tree)
    at = _configure(tree, home, q)
    slopes, rates, bodies = _slopes(tree, home, at), spread(tree, qd), range(tree.nb)

    def slope(i: int, j: int, k: int) -> Traced:
        return slopes.get((min(i, j), max(i, j), k), 0.0)

    C = [
        [sum(0.5 * (slope(i, j, k) + slope(i, k, j) - slope(k, j, i)) * rates[k] for k in bodies) for j in bodies]
        for i in bodies
    ]
    return PoeTerms(
        gather_symmetric(tree, _mass(tree, home, at)), gather_matrix(tree, C), gather(tree, _gravity(tree, home, at))
    )


def poe_mass(arm: Robot | Tree, q: Traced, *, rotors: bool = True) -> Traced:
    """Mass matrix M (n, n) by products of exponentials; q is (n,)."""
    tree = as_tree(arm)
    home = home_pose(tree)
    M = gather_symmetric(tree, _mass(tree, home, _configure(tree, home, q)))
    return with_rotors(tree, M, rotors=rotors)


def _parts(
    tree: Tree,
    q: Traced,
    qd: Traced,
    wrench: Traced | None,
    wrenches: Traced | None,
    *,
    gravity: bool,
    friction: bool,
    rotors: bool,
) -> tuple[Traced, Traced]:
    M, C, g = poe_equations(tree, q, qd)
    rest = C @ qd + joint_torque(tree, qd, None, friction=friction, rotors=False)
    rest = rest + g if gravity else rest
    if wrench is not None or wrenches is not None:
        rest = rest - gather(tree, external_torque(tree, root_frames(tree, steps(tree, q)), wrench, wrenches))
    return with_rotors(tree, M, rotors=rotors), rest


def poe_inverse(
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
    """Inverse dynamics (n,): M q̈ + C q̇ + g; arguments as in `rnea`."""
    tree = as_tree(arm)
    M, rest = _parts(tree, q, qd, wrench, wrenches, gravity=gravity, friction=friction, rotors=rotors)
    return M @ qdd + rest


def poe_forward(
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
    """Joint accelerations (n,): M⁻¹(tau − C q̇ − g) (002 eq. 5.3); arguments as in `crba_forward`."""
    tree = as_tree(arm)
    M, rest = _parts(tree, q, qd, wrench, wrenches, gravity=gravity, friction=friction, rotors=rotors)
    return ltdl_solve(M, tau - rest)
