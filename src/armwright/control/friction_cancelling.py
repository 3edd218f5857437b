# SPDX-License-Identifier: Apache-2.0
"""The friction that a law adds to its torque, so that the arm moves as if it had none: at which speed it is computed.

Friction is a monotone function F of the speed. A law that adds F(v) to its torque leaves the arm with F(q̇) − F(v):

- "reference": v is the speed that the law wants, q̇_d. (q̇ − v)ᵀ(F(q̇) − F(v)) ≥ 0: what is left of the friction damps the
  error, also where the torque is held for a tick, and nothing switches with a measurement. Where the reference rests
  nothing is cancelled, and dry friction holds the arm as it would without. Laws that want q̇_r = q̇_d − Λq̃ take that,
  with the smooth sign of the next line, since q̃ is measured.
- "smooth": v is the measured speed, with q̇/√(q̇² + v_s²) in place of sign(q̇). What is left is dissipative too, but only
  as long as the period resolves (viscous + coulomb/v_s)/M. For arms that are led by hand, whose reference rests.
- "measured": v is the measured speed, F(q̇) cancels exactly; the documents' law. Only for laws that act continuously,
  or for heavy joints: held for a period h, the sign of a moment ago stops a joint that should turn round, and pushes
  a light one by coulomb·h/M in one tick.
- "none": nothing is cancelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.control.tick_function import choice
from armwright.dynamics.newton_euler import rnea
from armwright.dynamics.terms import friction_torque
from armwright.robot.tree import as_tree, present

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced

LAYERED = "reference, smooth"  # for laws whose wanted speed contains a measurement
FRICTION_SPEEDS = ("reference", "measured", "smooth", "none")
SMOOTH_SPEED = 0.1  # rad/s (m/s): v_s; a hand that leads an arm is faster, noise of a speed sensor slower


def friction_speed(friction: bool | str) -> str:
    """Return one of `FRICTION_SPEEDS`; True stands for "reference", False for "none"."""
    if isinstance(friction, bool | np.bool_):
        return "reference" if friction else "none"
    return choice(friction, "friction", FRICTION_SPEEDS)


def smooth_sign(v: Traced) -> Traced:
    """v/√(v² + v_s²) (n,), element by element: the sign of what is faster than `SMOOTH_SPEED`."""
    return np.array([each / np.sqrt(each * each + SMOOTH_SPEED**2) for each in v])


def cancelled_friction(arm: Robot | Tree, qd: Traced, qd_wanted: Traced, how: str) -> Traced:
    """Torque (n,) [N m] that `how` adds: F(v) = F_v v + coulomb·sign(v), see the module text.

    Args:
        arm: the controller's model.
        qd: measured speed (n,) [rad/s].
        qd_wanted: the speed that the law wants (n,) [rad/s].
        how: one of `FRICTION_SPEEDS`, or `LAYERED`.
    """
    tree = as_tree(arm)
    if how == "none" or not (present(tree.viscous) or present(tree.coulomb)):
        return np.zeros(tree.n)
    if how in ("smooth", LAYERED):
        v = qd if how == "smooth" else qd_wanted
        return tree.viscous @ v + tree.coulomb * smooth_sign(v)
    return friction_torque(tree, qd if how == "measured" else qd_wanted)


def cancelling_rnea(
    arm: Robot | Tree, q: Traced, qd: Traced, qdd: Traced, qd_wanted: Traced, how: str, wrench: Traced | None = None
) -> Traced:
    """M(q) q̈ + C(q, q̇)q̇ + g(q) − Jᵀw + F (n,), rotors included, with the friction F of `cancelled_friction`."""
    if how in ("measured", "none"):
        return rnea(arm, q, qd, qdd, wrench, friction=how == "measured")
    return rnea(arm, q, qd, qdd, wrench, friction=False) + cancelled_friction(arm, qd, qd_wanted, how)
