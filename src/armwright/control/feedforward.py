# SPDX-License-Identifier: Apache-2.0
"""Feed-forward of the reference's own torque, with PD around it (003 §9, the control ladder)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.arguments import names_culprit
from armwright.control.checks import gain
from armwright.control.law import Law
from armwright.control.pd import pd_torque
from armwright.dynamics.newton_euler import rnea

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.motion.reference import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


def feedforward_torque(
    arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, kp: Traced, kd: Traced, friction: bool = True
) -> Traced:
    """Tau = ID(q_d, q̇_d, q̈_d) + K_p e + K_d ė, shape (n,)."""
    return rnea(arm, ref.q, ref.qd, ref.qdd, friction=friction) + pd_torque(q, qd, ref, kp, kd)


@names_culprit
def feedforward(kp: ArrayLike, kd: ArrayLike, *, friction: bool = True) -> Law:
    """Feed-forward + PD: tau = M(q_d)q̈_d + C(q_d, q̇_d)q̇_d + g(q_d) + K_p e + K_d ė.

    The model is evaluated on the reference, so the feedback path has no model in it and the torque no measurement
    noise from it. Claim: on the reference tau is exact, e ≡ 0 is a solution; it is locally exponentially stable for
    K_p, K_d large enough against the slopes of the dynamics. No storage function is known without those bounds.

    Args:
        kp: stiffness ≥ 0 [N m/rad], scalar or (n,).
        kd: damping ≥ 0 [N m s/rad], scalar or (n,).
        friction: whether the model's friction at q̇_d is fed forward.
    """

    def function(arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, kp: Traced, kd: Traced) -> Traced:
        return feedforward_torque(arm, q, qd, ref, kp, kd, friction)

    gains = {"kp": gain(kp, "kp"), "kd": gain(kd, "kd")}
    return Law("feed-forward + PD", function, gains, doc=feedforward.__doc__ or "")
