# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics with two velocities: M q̈_r + C(q, q̇) q̇_r + g, with the C for which Ṁ − 2C is skew.

Passivity-based laws need C as a matrix times another velocity. The Christoffel C is symmetric in its two arguments,
C(q, a) b = C(q, b) a, so the quadratic velocity torque c(x) = C(q, x) x of the ordinary recursion gives it by
polarisation,

    C(q, q̇) q̇_r = c(½(q̇ + q̇_r)) − c(½(q̇ − q̇_r))

and Newton–Euler, run twice, needs no second form (Niemeyer and Slotine's recursion gives the same V̇).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.control.friction_cancelling import cancelled_friction
from armwright.dynamics.energy import kinetic_energy
from armwright.dynamics.newton_euler import rnea
from armwright.dynamics.regressor import body_regressor
from armwright.robot.tree import as_tree

if TYPE_CHECKING:
    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Scalar, Traced


def passive_torque(
    arm: Robot | Tree, q: Traced, qd: Traced, qd_r: Traced, qdd_r: Traced, *, friction: str = "none"
) -> Traced:
    """M(q) q̈_r + C(q, q̇) q̇_r + g(q) (n,), rotors included, plus `cancelled_friction` (reference: q̇_r)."""
    tree = as_tree(arm)
    tau = rnea(tree, q, 0.5 * (qd + qd_r), qdd_r, friction=False)
    tau = tau - rnea(tree, q, 0.5 * (qd - qd_r), np.zeros(tree.n), gravity=False, friction=False, rotors=False)
    return tau if friction == "none" else tau + cancelled_friction(tree, qd, qd_r, friction)


def passive_regressor(arm: Robot | Tree, q: Traced, qd: Traced, qd_r: Traced, qdd_r: Traced) -> Traced:
    """Y(q, q̇, q̇_r, q̈_r) (n, 10 nb): Y π = M q̈_r + C q̇_r + g of the rigid bodies, π as in `dynamics.regressor`."""
    tree = as_tree(arm)
    still = np.zeros(tree.n)
    Y = body_regressor(tree, q, 0.5 * (qd + qd_r), qdd_r)
    return Y - body_regressor(tree, q, 0.5 * (qd - qd_r), still, gravity=False)


class Sliding(NamedTuple):
    """s, q̇_r and q̈_r, each (n,)."""

    s: Traced
    qd_r: Traced
    qdd_r: Traced


def sliding(q: Traced, qd: Traced, ref: Reference, lam: Scalar) -> Sliding:
    """Compose s = q̃̇ + Λq̃, q̇_r = q̇_d − Λq̃, q̈_r = q̈_d − Λq̃̇, each (n,); q̃ = q − q_d."""
    qd_r = ref.qd - lam * (q - ref.q)
    return Sliding(qd - qd_r, qd_r, ref.qdd - lam * (qd - ref.qd))


def sliding_energy(arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, lam: Traced) -> Traced:
    """V = ½ sᵀM(q) s [J]."""
    return kinetic_energy(arm, q, sliding(q, qd, ref, lam).s)
