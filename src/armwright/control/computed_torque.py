# SPDX-License-Identifier: Apache-2.0
"""Computed torque (inverse dynamics) in joint space: 000 eq. 4.1–4.6, 004 eq. 2.69–2.74."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.arguments import names_culprit
from armwright.control.friction_cancelling import cancelling_rnea, friction_speed
from armwright.control.law import Law
from armwright.control.tick_function import gain

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


def commanded_acceleration(q: Traced, qd: Traced, ref: Reference, kp: Traced, kd: Traced) -> Traced:
    """a_q = q̈_d − K_0 (q − q_d) − K_1 (q̇ − q̇_d), shape (n,) (000 eq. 4.4; 004 eq. 2.71)."""
    return ref.qdd + kp * (ref.q - q) + kd * (ref.qd - qd)


def computed_torque_storage(q: Traced, qd: Traced, ref: Reference, kp: Traced) -> Traced:
    """V = ½ ėᵀė + ½ eᵀK_0 e [rad²/s²]: the energy of the linear error dynamics."""
    e, ed = ref.q - q, ref.qd - qd
    return 0.5 * (ed @ ed) + 0.5 * (e @ (kp * e))


@names_culprit
def computed_torque(kp: ArrayLike, kd: ArrayLike, *, friction: bool | str = "reference") -> Law:
    """Computed torque: tau = M(q) a_q + C(q, q̇)q̇ + g(q), a_q = q̈_d + K_0 e + K_1 ė (000 eq. 4.1; 004 eq. 2.69–2.74).

    Claim, for an exact model and friction "measured" (or none at all): q̈ = a_q, that is ë + K_1 ė + K_0 e = 0, linear
    and the same at every pose; K_0 = w², K_1 = 2w is critically damped (`frequency_gains`). Storage: V = ½ėᵀė +
    ½eᵀK_0 e, V̇ = −ėᵀK_1 ė. A torque that the model does not know appears as the acceleration M⁻¹τ on the right
    side: 000 reads contact from it. With friction F at the reference's speed, M⁻¹(F(q̇) − F(q̇_d)) stands there too,
    which is zero on the path and damps the error.

    Args:
        kp: K_0 ≥ 0 [1/s²], scalar or (n,).
        kd: K_1 ≥ 0 [1/s], scalar or (n,).
        friction: the model's friction that is added: at the speed "reference" (q̇_d), "measured" (q̇, as published: exact
            where the law acts continuously), "smooth" or "none" (`armwright.control.friction_cancelling`).

    >>> run = aw.simulate(robot, computed_torque(kp=225.0, kd=30.0), path)
    """
    how = friction_speed(friction)

    def cancelling(how: str) -> Callable[..., Traced]:
        def computed(arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, kp: Traced, kd: Traced) -> Traced:
            return cancelling_rnea(arm, q, qd, commanded_acceleration(q, qd, ref, kp, kd), ref.qd, how)

        return computed

    return Law(
        "computed torque",
        cancelling(how),
        {"kp": gain(kp, "kp"), "kd": gain(kd, "kd")},
        storage=computed_torque_storage,
        doc=computed_torque.__doc__ or "",
        friction=how,
        cancelling=cancelling,
    )
