# SPDX-License-Identifier: Apache-2.0
"""Motors and gears between the commanded joint torque and the joint (001 App. D, 004 eq. 6.6).

Motor angles are q_a = K q, so joint torques are u = Kᵀ τ_motor. Rotor inertia and motor-side viscous friction are part
of the robot's dynamics (`Tree.armature`, `Tree.viscous`); a drive adds what limits the torque: saturation, speed, the
current loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit, numbers
from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Traced


@dataclass(frozen=True, eq=False)
class Drive:
    """Torque-limited motors with an optional first-order current loop.

    Attributes:
        gear: K (n, n). torque_limit, speed_limit: motor side (n,), inf where none.
        time_constant: of the current (torque) loop [s]; 0 for immediate.
        torque_constant: motor side [N m/A] (n,); for recording currents.
    """

    gear: Any
    torque_limit: Any
    speed_limit: Any
    time_constant: float = 0.0
    torque_constant: Any = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        gear = numbers(self.gear, "drive: gear")
        if (
            gear.ndim != 2
            or gear.shape[0] != gear.shape[1]
            or not np.isfinite(gear).all()
            or not np.linalg.matrix_rank(gear) == len(gear)
        ):
            raise InputError(f"drive: gear must be an invertible (n, n) matrix, got shape {gear.shape}")
        for name in ("torque_limit", "speed_limit"):
            limit = numbers(getattr(self, name), f"drive: {name}")
            if limit.shape not in ((), (len(gear),)) or not (limit > 0.0).all():
                raise InputError(f"drive: {name} must be > 0 (inf for none), a scalar or ({len(gear)},); got {limit}")
            object.__setattr__(self, name, np.broadcast_to(limit, (len(gear),)))
        object.__setattr__(self, "time_constant", float(numbers(self.time_constant, "drive: time_constant")))
        if not (np.isfinite(self.time_constant) and self.time_constant >= 0.0):
            raise InputError(f"drive: time_constant must be finite and ≥ 0 s, got {self.time_constant}")

    @property
    def state_names(self) -> tuple[str, ...]:
        """The motor torque is a state if the current loop takes time."""
        return ("motor_torque",) if self.time_constant > 0.0 else ()

    def motor_torque(self, tau: Traced) -> Traced:
        """Motor torques (n,) that give joint torques tau (n,): K⁻ᵀ tau."""
        return np.linalg.inv(np.asarray(self.gear, dtype=np.float64)).T @ tau

    def joint_torque(self, motor: Traced) -> Traced:
        """Joint torques (n,) of motor torques (n,): Kᵀ motor."""
        return np.asarray(self.gear, dtype=np.float64).T @ motor

    def limited(self, motor: Traced, qd: Traced) -> Traced:
        """Clip motor torques to their limit, and to braking where a motor is at its speed limit."""
        limit = np.asarray(self.torque_limit, dtype=np.float64)
        speed_limit = np.asarray(self.speed_limit, dtype=np.float64)
        speed = np.asarray(self.gear, dtype=np.float64) @ qd
        out = []
        for k in range(len(limit)):
            value = motor[k]
            if np.isfinite(limit[k]):
                value = np.minimum(np.maximum(value, -limit[k]), limit[k])
            if np.isfinite(speed_limit[k]):
                value = np.where(speed[k] >= speed_limit[k], np.minimum(value, 0.0), value)
                value = np.where(speed[k] <= -speed_limit[k], np.maximum(value, 0.0), value)
            out.append(value)
        return np.array(out)

    def torque(self, command: Traced, qd: Traced, states: Mapping[str, Any]) -> tuple[Traced, dict[str, Traced]]:
        """Return the joint torque (n,) for a commanded joint torque, and the derivative of the motor torque."""
        wanted = self.limited(self.motor_torque(command), qd)
        if not self.state_names:
            return self.joint_torque(wanted), {}
        motor = states["motor_torque"]
        return self.joint_torque(motor), {"motor_torque": (wanted - motor) / self.time_constant}

    def current(self, tau: Traced) -> Traced:
        """Motor currents (..., n) [A] for joint torques tau (..., n), on floats."""
        constant = np.asarray(self.torque_constant, dtype=np.float64)
        if np.any(constant <= 0.0):
            raise InputError("drive: motor currents need a torque constant > 0 for every motor")
        return np.asarray(tau) @ np.linalg.inv(np.asarray(self.gear, dtype=np.float64)) / constant


@names_culprit
def drive_of(robot: Robot, *, time_constant: float = 0.0) -> Drive:
    """Return the robot's own motors (`Robot.actuators`) as a drive."""
    a = robot.actuators
    return Drive(a.gear, a.torque_limit, a.speed_limit, time_constant, a.torque_constant)
