# SPDX-License-Identifier: Apache-2.0
"""Motions that give way: force mode, free drive, jogging."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.lab.controller.motions import DT, ToolSpeed
from armwright.motion.reference import Reference
from armwright.spatial.rotations import exp_so3

if TYPE_CHECKING:
    from armwright.lab.controller.core import Controller
    from armwright.types import Array

DAMPING = 0.2  # of free drive: part of the speed that the servo holds against
GIVE = np.array([2e-3] * 3 + [2e-2] * 3)
"""Speed for each newton or newton metre that is missing [m/s/N, rad/s/(N m)]."""


class ForceMode(ToolSpeed):
    """Admittance: along chosen axes of a frame the tool moves until the world pushes back as hard as is wanted.

    v = clip(GIVE (w + F), ±limit), w the wanted wrench on the world, F what the observer feels of the world on the arm.
    Axes that are not chosen hold their position.
    """

    def __init__(self, controller: Controller) -> None:
        c = controller
        super().__init__(c.reference, c.target_pose(), np.zeros(6), 2.0, np.inf, c.plant.towards)
        self._c = c
        self._free, self._frame = np.zeros(6, dtype=bool), np.eye(3)
        self._wrench, self._limits = np.zeros(6), np.zeros(6)

    def aim(self, free: Array, frame: Array, wrench: Array, limits: Array) -> None:
        """New selection (6,), task frame (6,), wrench (6,) and speed limits (6,)."""
        if not all(np.isfinite(part).all() for part in (frame, wrench, limits)) or np.abs(frame).max() > 13.0:
            raise InputError("force mode: frame, wrench and limits must be finite")
        self._free, self._frame, self._wrench = free, exp_so3(frame[3:]), wrench
        self._limits = np.clip(np.abs(limits), 0.0, 1.0)

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        R, felt = self._frame, self._c.plant.look().force - self._c.ft_offset
        inside = np.concatenate([R.T @ felt[:3], R.T @ felt[3:]])
        speed = np.clip(GIVE * (self._wrench + inside), -self._limits, self._limits) * self._free
        self._goal = np.concatenate([R @ speed[:3], R @ speed[3:]])
        return super().step(scale)


class Jog(ToolSpeed):
    """Keep a TCP speed (6,), in the axes of R (3, 3), until something else is commanded."""

    def __init__(self, controller: Controller, speed: Array, acceleration: float, R: Array) -> None:
        c = controller
        if not (np.isfinite(speed).all() and np.abs(speed).max() <= 10.0 and acceleration > 0.0):
            raise InputError("jog: a speed of at most 10 and an acceleration > 0 needed")
        turned = np.concatenate([R @ speed[:3], R @ speed[3:]])
        super().__init__(c.reference, c.target_pose(), turned, acceleration, np.inf, c.plant.towards)


class UntilContact(Jog):
    """Keep a TCP speed, base axes, until something pushes against `direction` (3,); then brake. 0: any direction."""

    def __init__(self, controller: Controller, speed: Array, acceleration: float, direction: Array) -> None:
        super().__init__(controller, speed, acceleration if acceleration > 0.0 else 0.5, np.eye(3))
        self._c, self._direction = controller, direction if direction.any() else np.array(speed[:3])

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        if self._left > 0.0 and self._c.touched(self._direction):
            self._left, self._a = 0.0, 3.0
        return super().step(scale)


class FreeDrive:
    """The reference follows the arm: gravity and friction are carried, a hand moves the rest."""

    def __init__(self, controller: Controller) -> None:
        self._live = controller.plant.live
        controller.plant.rest()

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        qd = (1.0 - DAMPING) * np.array(self._live.qd)
        return Reference(np.array(self._live.q) + qd * DT, qd, np.zeros_like(qd)), False
