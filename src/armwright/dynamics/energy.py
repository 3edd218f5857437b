# SPDX-License-Identifier: Apache-2.0
"""Kinetic and potential energy of an arm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics.terms import ZERO, root_frames, spread
from armwright.robot.step import steps
from armwright.robot.tree import as_tree, present
from armwright.spatial.linear import cross, dot

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


class Energy(NamedTuple):
    """Joules: kinetic (rotors included), potential (0 if all mass were at the base origin), and their sum."""

    kinetic: Traced
    potential: Traced
    total: Traced


def kinetic_energy(arm: Robot | Tree, q: Traced, qd: Traced, *, rotors: bool = True) -> Traced:
    """Kinetic energy ½ Σ (m v·v + 2 v·(ω×h) + ω·Jω) + ½ q̇ᵀ Kᵀ I_a K q̇ [J]; q and qd are (n,)."""
    tree = as_tree(arm)
    rates = spread(tree, qd)
    state: list[tuple[Any, Any]] = []
    total: Any = 0.0
    for i, step in enumerate(steps(tree, q)):
        v, w = state[tree.parent[i]] if tree.parent[i] >= 0 else (ZERO, ZERO)
        v, w = step.down(v + cross(w, step.p)), step.down(w)
        along = np.array([0.0, 0.0, rates[i]])
        v, w = (v, w + along) if tree.revolute[i] else (v + along, w)
        state.append((v, w))
        momentum = tree.m[i] * v + 2.0 * cross(w, tree.h[i])
        total = total + 0.5 * (dot(v, momentum) + dot(w, tree.J[i] @ w))
    if rotors and present(tree.armature):
        total = total + 0.5 * (qd @ (tree.armature @ qd))
    return total


def potential_energy(arm: Robot | Tree, q: Traced) -> Traced:
    """Potential energy −Σ m gᵀ r_c [J], r_c in the base frame; q is (n,). Needs the unregrouped tree."""
    tree = as_tree(arm)
    frames = root_frames(tree, steps(tree, q))
    g_base = tree.T_base_root[:3, :3] @ tree.gravity
    total: Any = -np.sum(tree.m) * dot(g_base, tree.T_base_root[:3, 3])
    for i in range(tree.nb):
        total = total - dot(tree.gravity, tree.m[i] * frames.p[i] + frames.R[i] @ tree.h[i])
    return total


def energy(arm: Robot | Tree, q: Traced, qd: Traced, *, rotors: bool = True) -> Energy:
    """Kinetic, potential and total energy [J] at q, qd (n,). Without friction, d(total)/dt = q̇·(tau + Jᵀw)."""
    kinetic = kinetic_energy(arm, q, qd, rotors=rotors)
    potential = potential_energy(arm, q)
    return Energy(kinetic, potential, kinetic + potential)
