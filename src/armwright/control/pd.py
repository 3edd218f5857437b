# SPDX-License-Identifier: Apache-2.0
"""Proportional–derivative control of each joint by itself (002 eq. 5.19; 004 section 2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.arguments import names_culprit
from armwright.control.law import Law
from armwright.control.tick_function import gain
from armwright.dynamics.energy import kinetic_energy, potential_energy

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


def pd_torque(q: Traced, qd: Traced, ref: Reference, kp: Traced, kd: Traced) -> Traced:
    """Tau = K_p (q_d − q) + K_d (q̇_d − q̇), shape (n,)."""
    return kp * (ref.q - q) + kd * (ref.qd - qd)


def error_energy(arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, kp: Traced) -> Traced:
    """½ ėᵀM(q) ė + ½ eᵀK_p e [J], e = q_d − q."""
    e = ref.q - q
    return kinetic_energy(arm, q, ref.qd - qd) + 0.5 * (e @ (kp * e))


def pd_storage(arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, kp: Traced) -> Traced:
    """V = ½ ėᵀM ė + ½ eᵀK_p e + P(q) [J]."""
    return error_energy(arm, q, qd, ref, kp) + potential_energy(arm, q)


@names_culprit
def pd(kp: ArrayLike, kd: ArrayLike) -> Law:
    """PD: tau = K_p (q_d − q) + K_d (q̇_d − q̇), K_p, K_d diagonal.

    Storage: V = ½q̇ᵀMq̇ + ½eᵀK_p e + P(q). Claim, for constant q_d: V̇ = −q̇ᵀK_d q̇ − q̇·friction, so the arm comes
    to rest where K_p e = g(q): a steady error, about g/K_p (3.2 rad for 002's arm with K_p = 50; 8 mrad in 003's run).

    Args:
        kp: stiffness ≥ 0 [N m/rad], scalar or (n,).
        kd: damping ≥ 0 [N m s/rad], scalar or (n,).

    >>> run = aw.simulate(robot.with_rotors(0.1), pd(kp=400.0, kd=40.0), path)
    """
    return Law("PD", pd_torque, {"kp": gain(kp, "kp"), "kd": gain(kd, "kd")}, storage=pd_storage, doc=pd.__doc__ or "")
