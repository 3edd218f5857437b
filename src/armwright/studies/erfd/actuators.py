# SPDX-License-Identifier: Apache-2.0
"""The motor side and the saturation rule as 001 prints them (001 §3.10, 3.11), for comparison only."""

from __future__ import annotations

from typing import Any

import numpy as np

from armwright.dynamics.actuator_side import ActuatorSide, Motors, friction_sense
from armwright.programs.motors.rules import Limited


def as_published(motors: Motors, H: Any, u: Any, qd: Any, qdd: Any, dt: float) -> ActuatorSide:
    """(D.3): Λ⁻¹ in the place of K^-T, and friction μ sign(q̇) u, frozen at the load that the wish would take.

    It drops what motors 3, 5 and 6 do to the joints before theirs, and where u < 0 friction *drives* the joint.
    """
    K = np.asarray(motors.gear)
    per_gear = 1.0 / np.diag(K)
    inertia = motors.rotor_inertia + dt * motors.viscous
    friction = motors.load_friction * np.sign(qd) * (H @ qdd + u)
    return ActuatorSide(
        per_gear[:, None] * H + inertia[:, None] * K, per_gear * (u + friction) + motors.viscous * (K @ qd)
    )


def opposing_friction(motors: Motors, H: Any, u: Any, qd: Any, qdd: Any, dt: float) -> ActuatorSide:
    """(D.3) with friction that opposes the motion and follows the load (S-form), the coupling Λ⁻¹ kept."""
    K = np.asarray(motors.gear)
    per_gear = 1.0 / np.diag(K)
    speed = K @ qd
    S = 1.0 + motors.load_friction * friction_sense(speed, per_gear * (H @ qdd + u))
    inertia = motors.rotor_inertia + dt * motors.viscous
    return ActuatorSide((S * per_gear)[:, None] * H + inertia[:, None] * K, S * per_gear * u + motors.viscous * speed)


def literal(side: ActuatorSide, qdd: Any, limit: Any) -> Limited:
    """Step 6 to the letter: solve the clipped system, take the new q̈ of flagged axes only.

    Torques are those that the mixture really needs; nothing keeps them within the limits.
    """
    wanted = side.torque(qdd)
    over = np.abs(wanted) > limit
    happens = np.where(over, side.accelerations(np.clip(wanted, -limit, limit)), qdd)
    return Limited(happens, side.torque(happens), wanted, np.where(over, 1.0, 0.0))
