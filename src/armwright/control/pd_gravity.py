# SPDX-License-Identifier: Apache-2.0
"""PD with gravity compensation: the law that 002 (section 5.4.1) proves and 003 (§4.10) runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.arguments import names_culprit
from armwright.control.law import Law
from armwright.control.pd import error_energy, pd_torque
from armwright.control.tick_function import choice, gain
from armwright.dynamics.energy import potential_energy
from armwright.dynamics.newton_euler import gravity_torque

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


def pd_gravity_torque(arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, kp: Traced, kd: Traced) -> Traced:
    """Tau = −K_p q̃ − K_d q̃̇ + g(q), q̃ = q − q_d; 002 eq. 5.19 prints q̃ = q_d − q, which destabilises."""
    return pd_torque(q, qd, ref, kp, kd) + gravity_torque(arm, q)


def pd_constant_gravity_torque(
    arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, kp: Traced, kd: Traced
) -> Traced:
    """Tau = −K_p q̃ − K_d q̃̇ + g(q_d): gravity of the target, which can be computed ahead of time."""
    return pd_torque(q, qd, ref, kp, kd) + gravity_torque(arm, ref.q)


def pd_constant_gravity_storage(arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, kp: Traced) -> Traced:
    """V = ½ ėᵀM ė + ½ eᵀK_p e + P(q) − P(q_d) − (q − q_d)·g(q_d) [J]."""
    lift = potential_energy(arm, q) - potential_energy(arm, ref.q) - (q - ref.q) @ gravity_torque(arm, ref.q)
    return error_energy(arm, q, qd, ref, kp) + lift


@names_culprit
def pd_gravity(kp: ArrayLike, kd: ArrayLike, *, at: str = "measured") -> Law:
    """PD + gravity: tau = K_p (q_d − q) + K_d (q̇_d − q̇) + g (002 eq. 5.21 with its sign corrected; 003 eq. 20).

    at="measured", g(q): storage V = ½q̇ᵀMq̇ + ½eᵀK_p e. Claim, for constant q_d and an exact g: V̇ = −q̇ᵀK_d q̇ −
    q̇·friction, and by LaSalle q = q_d is globally asymptotically stable (without Coulomb friction). For a moving
    reference nothing is proved; 003 runs it so. at="reference", g(q_d): V = ½q̇ᵀMq̇ + ½eᵀK_p e + P(q) − P(q_d) − (q
    − q_d)·g(q_d), same V̇; V is positive only if every K_p exceeds max‖∂g/∂q‖ (163 N m/rad for 002's arm).

    Args:
        kp: stiffness ≥ 0 [N m/rad], scalar or (n,).
        kd: damping ≥ 0 [N m s/rad], scalar or (n,).
        at: where gravity is computed, "measured" or "reference".

    >>> run = aw.simulate(robot.with_rotors(0.1), pd_gravity(kp=400.0, kd=40.0), path)
    """
    gains = {"kp": gain(kp, "kp"), "kd": gain(kd, "kd")}
    doc = pd_gravity.__doc__ or ""
    if choice(at, "at", ("measured", "reference")) == "measured":
        return Law("PD + gravity", pd_gravity_torque, gains, storage=error_energy, doc=doc)
    return Law("PD + g(q_d)", pd_constant_gravity_torque, gains, storage=pd_constant_gravity_storage, doc=doc)
