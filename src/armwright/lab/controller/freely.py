# SPDX-License-Identifier: Apache-2.0
"""Motions without a goal: the arm follows a hand, or torques that a client commands.

Both use the servo as it is: where the reference is the state itself, its law is the model of the arm,
τ = M q̈_r + C q̇ + g + friction, so q̈_r chooses the torque.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.lab.controller.motions import DT, CartesianMotion, Motion, brake
from armwright.lab.servo import SMOOTH
from armwright.motion.reference import Reference
from armwright.spatial.rotations import exp_so3, log_so3

if TYPE_CHECKING:
    from armwright.lab.controller.core import Controller
    from armwright.types import Array

DAMPING = 0.2  # of free drive: part of the speed that the servo holds against
SILENCE = 0.02  # [s] without a new torque, after which the arm brakes


class FreeDrive:
    """The reference follows the arm: gravity and friction are carried, a hand moves the rest."""

    def __init__(self, controller: Controller) -> None:
        self._live = controller.plant.live
        controller.plant.rest()

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        qd = (1.0 - DAMPING) * np.array(self._live.qd)
        return Reference(np.array(self._live.q) + qd * DT, qd, np.zeros_like(qd)), False


class AxesFreeDrive(CartesianMotion):
    """The same along chosen axes of a frame only; along the others the TCP stays on the line or plane of its start."""

    def __init__(self, controller: Controller, free: Array, R: Array) -> None:
        """`free` (6,) of zeros and ones, linear first; R (3, 3): axes of the frame."""
        super().__init__(controller.reference, controller.plant.towards)
        self._plant = controller.plant
        self._plant.rest()
        self._free, self._R = free, R
        pose = controller.target_pose()
        self._p0, self._R0 = pose[:3], exp_so3(pose[3:])

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        pose, R = self._plant.pose_of(np.array(self._plant.live.q)), self._R
        gone = R.T @ (pose[:3] - self._p0)
        turned = R.T @ log_so3(exp_so3(pose[3:]) @ self._R0.T)
        place = self._p0 + R @ (self._free[:3] * gone)
        turn = exp_so3(R @ (self._free[3:] * turned)) @ self._R0
        at = self.follow(np.concatenate([place, log_so3(turn)]))
        qd = (1.0 - DAMPING) * at.qd
        return Reference(at.q + qd * DT, qd, np.zeros(6)), False


class DirectTorque:
    """Torques beyond gravity at the joints (direct_torque); the arm brakes when no new ones come."""

    def __init__(self, controller: Controller) -> None:
        self._plant, self._left = controller.plant, 0.0
        self._plant.rest()
        self._torque, self._viscous, self._coulomb = np.zeros(6), np.ones(6), np.ones(6)
        self._stop: Motion | None = None
        self._dead_zone = np.array([max(j.friction.dead_zone, SMOOTH) for j in self._plant.robot.joints])

    def aim(self, torque: Array, viscous: Array, coulomb: Array) -> None:
        """New torques (6,) [N m]; which parts (6,) of viscous and dry friction are carried."""
        self._torque, self._viscous, self._coulomb = torque, viscous, coulomb
        self._left, self._stop = SILENCE, None

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        q, qd = np.array(self._plant.live.q), np.array(self._plant.live.qd)
        self._left -= DT
        if self._left <= 0.0:
            if self._stop is None:
                self._stop = brake(Reference(q, qd, np.zeros(6)), 10.0)
            return self._stop.step(scale)
        tree, model = self._plant.robot.tree, self._plant.model()
        # the servo carries all of the friction, and near rest more than there is; here never more than the part
        carried = self._coulomb * np.sign(qd) * np.clip(2.0 * np.abs(qd) / self._dead_zone - 2.0, 0.0, 1.0)
        dry = np.tanh(qd / SMOOTH) - carried
        torque = self._torque - model.coriolis - (1.0 - self._viscous) * (tree.viscous @ qd) - tree.coulomb * dry
        return Reference(q, qd, np.linalg.solve(model.mass + tree.armature, torque)), False
