# SPDX-License-Identifier: Apache-2.0
"""Speed and acceleration limits of an arm, and how much of its speeds a motion uses, from exact peaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.motion.inputs import bounds
from armwright.motion.roots import extreme
from armwright.motion.trajectory import Trajectory, differentiate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class SpeedLimits:
    """The set {qd : |rows @ qd| ≤ 1}: joint speeds and motor speeds at once.

    Attributes:
        rows: (k, n); a unit row over its limit for a joint, a row of the gear matrix over its limit for a motor
            (qd_motor = gear qd, 001 §3.10). k may be 0.
        labels: k names for messages, "speed of joint 'elbow'" or "speed of motor 3".
    """

    rows: Array
    labels: tuple[str, ...]

    def use(self, trajectory: Trajectory) -> Array:
        """Largest |speed|/limit (k,) of a motion."""
        if not self.labels:
            return np.zeros(0)
        return extreme(trajectory.breaks, differentiate(trajectory.coefficients) @ self.rows.T, absolute=True)[0]


def speed_limits(robot: Robot, velocity: ArrayLike | None = None) -> SpeedLimits:
    """Return the arm's speed limits.

    Args:
        robot: the arm; its joints' velocity limits and its motors' speed limits both count, as far as they are finite.
        velocity: joint limits, scalar or (n,), to take instead; `inf` for none.
    """
    n = robot.n
    labels = [f"speed of joint {joint.name!r}" for joint in robot.joints]
    if velocity is not None:
        rows, bound = np.eye(n), bounds(velocity, "velocity", n)
    else:
        gear, motor = np.asarray(robot.actuators.gear), np.asarray(robot.actuators.speed_limit, dtype=np.float64)
        joint = np.array([joint.limits.velocity for joint in robot.joints])
        rows, bound = np.concatenate([np.eye(n), gear]), np.concatenate([joint, motor])
        labels += [f"speed of motor {i + 1}" for i in range(n)]
        if (bound <= 0.0).any():
            raise InputError(f"{labels[int(np.argmin(bound))]} of {robot.name!r} has limit 0; give velocity=…")
    known = np.isfinite(bound)
    named = tuple(label for label, keep in zip(labels, known, strict=True) if keep)
    return SpeedLimits(rows[known] / bound[known, None], named)


def acceleration_limits(robot: Robot, acceleration: ArrayLike | None = None) -> Array:
    """Return the joints' acceleration limits (n,), `inf` for none: the arm's own, or those given (scalar or (n,))."""
    if acceleration is not None:
        return bounds(acceleration, "acceleration", robot.n)
    own = np.array([joint.limits.acceleration for joint in robot.joints])
    if (own <= 0.0).any():
        name = robot.joints[int(np.argmin(own))].name
        raise InputError(f"acceleration of joint {name!r} of {robot.name!r} has limit 0; give acceleration=…")
    return own
