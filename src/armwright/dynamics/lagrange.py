# SPDX-License-Identifier: Apache-2.0
"""Euler–Lagrange with Christoffel symbols (000 eq. 3.5–3.8 with the sign corrected; 004 eq. 2.61–2.66).

    M = Σ_i m_i J_viᵀ J_vi + J_ωiᵀ I_i J_ωi                     Jacobians of the centre of mass, root axes
    c_ijk = ½ (∂M_kj/∂q_i + ∂M_ki/∂q_j − ∂M_ij/∂q_k)            the report prints + before the last term
    C_kj = Σ_i c_ijk q̇_i,   g = ∂P/∂q,   P = −Σ m_i gᵀ r_ci

The derivatives of the Jacobian columns are geometry, not differences: with k nearer to the root than l,

    ∂J_v,k/∂q_l = ∂J_v,l/∂q_k = ω_k × J_v,l,     ∂ω_l/∂q_k = ω_k × ω_l,     ∂ω_k/∂q_l = 0

(ω_k = z_k, or 0 for a prismatic joint). Seen from the body, which turns with ω_k itself, only ∂ω_k/∂q_l = −ω_l × ω_k
remains of the last two, so the inertia tensor needs no derivative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics.terms import (
    external_torque,
    gather,
    gather_matrix,
    gather_symmetric,
    jacobian_columns,
    joint_torque,
    root_frames,
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


class LagrangeTerms(NamedTuple):
    """M q̈ + C q̇ + g = tau (rigid bodies alone): M (n, n), C (n, n) with Ṁ − 2C skew, g (n,)."""

    M: Traced
    C: Traced
    g: Traced


def _mass(tree: Tree, frames: BodyFrames, masses: Masses) -> list[list[Traced]]:
    M: list[list[Any]] = [[0.0] * tree.nb for _ in range(tree.nb)]
    for i in range(tree.nb):
        m, h, inertia = masses.m[i], masses.h[i], masses.J[i]
        column = jacobian_columns(tree, frames, i, masses.c[i])
        path = sorted(column)
        for a, j in enumerate(path):
            vj, wj = column[j]
            linear, angular = m * vj + cross(wj, h), inertia @ wj + cross(h, vj)
            for k in path[: a + 1]:
                vk, wk = column[k]
                M[k][j] = M[k][j] + (dot(vk, linear) + dot(wk, angular))
    return [[M[min(i, k)][max(i, k)] for k in range(tree.nb)] for i in range(tree.nb)]


def _slopes(tree: Tree, frames: BodyFrames, masses: Masses) -> dict[tuple[int, int, int], Any]:
    """∂M_kj/∂q_l for k ≤ j and every l, keys (k, j, l); missing means 0."""
    out: dict[tuple[int, int, int], Any] = {}
    for i in range(tree.nb):
        m, h, inertia = masses.m[i], masses.h[i], masses.J[i]
        column = jacobian_columns(tree, frames, i, masses.c[i])
        path = sorted(column)
        force = {j: m * v + cross(w, h) for j, (v, w) in column.items()}
        moment = {j: inertia @ w + cross(h, v) for j, (v, w) in column.items()}
        for l in path:  # noqa: E741 - the document's index
            turn = column[l][1]
            # the columns' rates as seen by an observer who turns with the body
            linear, angular = {}, {}
            for k in path:
                near, far = (k, l) if k <= l else (l, k)
                linear[k] = cross(column[near][1], column[far][0]) - cross(turn, column[k][0])
                angular[k] = -cross(turn, column[k][1]) if l > k else np.zeros(3)
            for a, j in enumerate(path):
                for k in path[: a + 1]:
                    slope = dot(linear[k], force[j]) + dot(angular[k], moment[j])
                    slope = slope + dot(linear[j], force[k]) + dot(angular[j], moment[k])
                    out[k, j, l] = out.get((k, j, l), 0.0) + slope
    return out


def _christoffel(tree: Tree, slopes: dict[tuple[int, int, int], Any], qd: Traced) -> list[list[Any]]:
    def slope(k: int, j: int, l: int) -> Traced:  # noqa: E741 - the document's index
        return slopes.get((min(k, j), max(k, j), l), 0.0)

    bodies, rates = range(tree.nb), spread(tree, qd)
    return [
        [sum(0.5 * (slope(k, j, i) + slope(k, i, j) - slope(i, j, k)) * rates[i] for i in bodies) for j in bodies]
        for k in bodies
    ]


def lagrange_equations(arm: Robot | Tree, q: Traced, qd: Traced) -> LagrangeTerms:
    """M (n, n), C (n, n) and g (n,) of the rigid bodies at q, qd (n,); no rotors, no friction."""
    tree = as_tree(arm)
    frames = root_frames(tree, steps(tree, q))
    masses = root_masses(tree, frames)
    C = _christoffel(tree, _slopes(tree, frames, masses), qd)
    g: list[Any] = [0.0] * tree.nb
    for i in range(tree.nb):
        for k, (v, w) in jacobian_columns(tree, frames, i, masses.c[i]).items():
            g[k] = g[k] - dot(tree.gravity, masses.m[i] * v + cross(w, masses.h[i]))
    return LagrangeTerms(gather_symmetric(tree, _mass(tree, frames, masses)), gather_matrix(tree, C), gather(tree, g))


def lagrange_mass(arm: Robot | Tree, q: Traced, *, rotors: bool = True) -> Traced:
    """Mass matrix M (n, n) from the Jacobians of the centres of mass; q is (n,)."""
    tree = as_tree(arm)
    frames = root_frames(tree, steps(tree, q))
    return with_rotors(tree, gather_symmetric(tree, _mass(tree, frames, root_masses(tree, frames))), rotors=rotors)


def coriolis_matrix(arm: Robot | Tree, q: Traced, qd: Traced) -> Traced:
    """Christoffel matrix C (n, n): C q̇ are the velocity torques, and Ṁ − 2C is skew. q, qd are (n,)."""
    return lagrange_equations(arm, q, qd).C


def _bias(
    tree: Tree,
    equations: LagrangeTerms,
    q: Traced,
    qd: Traced,
    wrench: Traced | None,
    wrenches: Traced | None,
    *,
    gravity: bool,
    friction: bool,
) -> Traced:
    out = equations.C @ qd + joint_torque(tree, qd, None, friction=friction, rotors=False)
    out = out + equations.g if gravity else out
    if wrench is None and wrenches is None:
        return out
    return out - gather(tree, external_torque(tree, root_frames(tree, steps(tree, q)), wrench, wrenches))


def lagrange_inverse(
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
    """Inverse dynamics (n,): M q̈ + C q̇ + g (004 eq. 2.64); arguments as in `rnea`."""
    tree = as_tree(arm)
    equations = lagrange_equations(tree, q, qd)
    rest = _bias(tree, equations, q, qd, wrench, wrenches, gravity=gravity, friction=friction)
    return with_rotors(tree, equations.M, rotors=rotors) @ qdd + rest


def lagrange_forward(
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
    """Joint accelerations (n,): M⁻¹(tau − C q̇ − g); arguments as in `crba_forward`."""
    tree = as_tree(arm)
    equations = lagrange_equations(tree, q, qd)
    rest = _bias(tree, equations, q, qd, wrench, wrenches, gravity=gravity, friction=friction)
    return ltdl_solve(with_rotors(tree, equations.M, rotors=rotors), tau - rest)
