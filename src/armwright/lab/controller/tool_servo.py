# SPDX-License-Identifier: Apache-2.0
"""Going after a TCP pose that is set again and again, at one tool speed (servoc)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.lab.controller.motions import DT, CartesianMotion, Towards
from armwright.spatial.rotations import exp_so3, log_so3

if TYPE_CHECKING:
    from armwright.motion.reference import Reference
    from armwright.types import Array

TURN = 4.0  # [rad/m]: turning may be so many times faster than moving
THERE = 1e-7  # [m, rad]


def _towards(way: Array, speed: Array, v: float, a: float) -> Array:
    """The speed after a tick: it turns towards `way` and keeps v until it has to brake, changing by at most a dt."""
    left = float(np.linalg.norm(way))
    brake = a * DT * (np.sqrt(0.25 + 2.0 * left / (a * DT * DT)) - 0.5)  # stops at the goal in whole ticks
    wanted = way / left * min(v, brake, left / DT) if left > 0.0 else np.zeros(3)
    change = wanted - speed
    size = float(np.linalg.norm(change))
    return speed + change * min(1.0, a * DT / size) if size > 0.0 else speed


class ToolServo(CartesianMotion):
    """Towards the last target at constant tool speed; a new target is turned to in an arc of radius v²/a."""

    def __init__(self, start: Reference, pose: Array, towards: Towards) -> None:
        super().__init__(start, towards)
        self._p, self._R = pose[:3].copy(), exp_so3(pose[3:])
        self._goal, self._goal_R = self._p, self._R
        self._speed, self._spin = np.zeros(3), np.zeros(3)
        self._v, self._a = 0.25, 1.2

    def aim(self, pose: Array, v: float, a: float) -> None:
        """A new target (6,), speed [m/s] and acceleration [m/s²]."""
        self._goal, self._goal_R, self._v, self._a = pose[:3], exp_so3(pose[3:]), v, a

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        self._speed = _towards(self._goal - self._p, self._speed, scale * self._v, self._a)
        turn = log_so3(self._goal_R @ self._R.T)
        self._spin = _towards(turn, self._spin, scale * TURN * self._v, TURN * self._a)
        self._p = self._p + self._speed * DT
        self._R = exp_so3(self._spin * DT) @ self._R
        at = self.follow(np.concatenate([self._p, log_so3(self._R)]))
        far = max(float(np.abs(self._goal - self._p).max()), float(np.abs(log_so3(self._goal_R @ self._R.T)).max()))
        moving = max(float(np.abs(self._speed).max()), float(np.abs(self._spin).max()))
        return at, far < THERE and moving < 1e-3 * self._v
