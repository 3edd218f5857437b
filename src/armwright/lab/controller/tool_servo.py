# SPDX-License-Identifier: Apache-2.0
"""`ToolServo`: the TCP follows a pose that is set again and again, at one tool speed (servoc)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.lab.controller.motions import MOTION_TICK, SteeredTool, Towards
from armwright.motion.trajectory import Reference
from armwright.spatial.rotations import exp_so3, log_so3

if TYPE_CHECKING:
    from armwright.types import Array

TURN_PER_METRE = 4.0  # [rad/m] ratio of the fastest turning to the fastest moving
THERE = 1e-7  # [m, rad]


def _towards(way: Array, speed: Array, v: float, a: float) -> Array:
    """Return the speed after a tick: towards `way`, at v until it must brake, changing by at most a dt."""
    left = float(np.linalg.norm(way))
    brake = (
        a * MOTION_TICK * (np.sqrt(0.25 + 2.0 * left / (a * MOTION_TICK * MOTION_TICK)) - 0.5)
    )  # stops at the goal in whole ticks
    wanted = way / left * min(v, brake, left / MOTION_TICK) if left > 0.0 else np.zeros(3)
    change = wanted - speed
    size = float(np.linalg.norm(change))
    return speed + change * min(1.0, a * MOTION_TICK / size) if size > 0.0 else speed


class ToolServo(SteeredTool):
    """Motion towards the last target at constant tool speed; to a new target it turns in an arc of radius v²/a."""

    resumes = True

    def __init__(self, start: Reference, pose: Array, towards: Towards, most_speed: Array) -> None:
        super().__init__(start, pose, towards, most_speed)
        self._goal, self._goal_R = self._p, self._R
        self._speed, self._spin = np.zeros(3), np.zeros(3)
        self._v, self._a = 0.25, 1.2

    def aim(self, pose: Array, v: float, a: float) -> None:
        """Set a new target (6,), speed [m/s] and acceleration [m/s²]."""
        self._goal, self._goal_R, self._v, self._a = pose[:3], exp_so3(pose[3:]), v, a

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        self._speed = _towards(self._goal - self._p, self._speed, scale * self._v, self._a)
        turn = log_so3(self._goal_R @ self._R.T)
        self._spin = _towards(turn, self._spin, scale * TURN_PER_METRE * self._v, TURN_PER_METRE * self._a)
        at, share = self.go_on(np.concatenate([self._speed, self._spin]))
        self._speed, self._spin = share * self._speed, share * self._spin
        far = max(float(np.abs(self._goal - self._p).max()), float(np.abs(log_so3(self._goal_R @ self._R.T)).max()))
        moving = max(float(np.abs(self._speed).max()), float(np.abs(self._spin).max()))
        return at, far < THERE and moving < 1e-3 * self._v
