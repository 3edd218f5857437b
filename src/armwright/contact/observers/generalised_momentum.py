# SPDX-License-Identifier: Apache-2.0
"""Generalised momentum p = M(q) q̇ and the term Cᵀq̇ of its rate, by one pass out and one back, without M, C or Ṁ.

In fixed axes the momentum of everything beyond joint j, H_j, changes by the forces on it, and p_j = S_j·H_j with S_j
the joint's axis (a screw). So

    ṗ_j = S_j·Ḣ_j + Ṡ_j·H_j        S_j·Ḣ_j = (tau + tau_ext − g − friction)_j        Ṡ_j = v_j × S_j

and comparing with ṗ = tau + tau_ext + Cᵀq̇ − g − friction gives (Cᵀq̇)_j = Ṡ_j·H_j = ½ ∂(q̇ᵀM q̇)/∂q_j. No factor C is
chosen anywhere: 000 dropped the momentum observer because its C did not make Ṁ − 2C skew, but only the vector
Cᵀq̇ = Ṁq̇ − Cq̇ is needed, which is the same for every factor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics.terms import ZERO, Z, gather, spread
from armwright.robot.step import steps
from armwright.robot.tree import as_tree, present
from armwright.spatial.vectors import cross, dot

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


class Momentum(NamedTuple):
    """Generalised momentum p = M q̇ (n,) [N m s] and Cᵀq̇ (n,) [N m]."""

    p: Any
    transport: Any


def generalised_momentum(arm: Robot | Tree, q: Traced, qd: Traced) -> Momentum:
    """Return p = M(q) q̇ (rotors included) and Cᵀq̇ = ½ ∂(q̇ᵀM q̇)/∂q, both (n,), at q and qd (n,). See the module text."""
    tree = as_tree(arm)
    st = steps(tree, q)
    rates = spread(tree, qd)
    velocity: list[tuple[Any, Any]] = []
    H: list[tuple[Any, Any]] = []  # linear and angular momentum about the body's origin, body axes
    for i, step in enumerate(st):
        w, u = velocity[tree.parent[i]] if tree.parent[i] >= 0 else (ZERO, ZERO)
        w, u = step.down(w), step.down(u + cross(w, step.p))
        along = np.array([0.0, 0.0, rates[i]])
        w, u = (w + along, u) if tree.revolute[i] else (w, u + along)
        velocity.append((w, u))
        H.append((tree.m[i] * u + cross(w, tree.h[i]), tree.J[i] @ w + cross(tree.h[i], u)))
    for i in range(tree.nb - 1, -1, -1):
        k = tree.parent[i]
        if k >= 0:
            f, n = st[i].up(H[i][0]), st[i].up(H[i][1])
            H[k] = (H[k][0] + f, H[k][1] + (n + cross(st[i].p, f)))
    p, transport = [], []
    for (w, u), (f, n), turns in zip(velocity, H, tree.revolute, strict=True):
        p.append(n[2] if turns else f[2])
        transport.append(dot(cross(w, Z), n) + dot(cross(u, Z), f) if turns else dot(cross(w, Z), f))
    total = gather(tree, p)
    if present(tree.armature):
        total = total + tree.armature @ qd
    return Momentum(total, gather(tree, transport))
