# SPDX-License-Identifier: Apache-2.0
"""Motions that yield to the world: force mode, free drive, torques from a client.

Free drive and direct torques use the servo as it is: where the reference is the state itself, its law is the model of
the arm, τ = M q̈_r + C q̇ + g + friction, so q̈_r chooses the torque.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.lab.controller.motions import MOTION_TICK, Motion, PathLostError, TcpMotion, ToolSpeed, brake
from armwright.lab.lab_plant import FRICTION_SMOOTHING_SPEED
from armwright.motion.trajectory import Reference
from armwright.spatial.rotations import exp_so3, log_so3

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller
    from armwright.types import Array

UNCLEAR = 1e-3  # a shorter vector has no direction [m, m/s]
GIVE = np.array([2e-3] * 3 + [2e-2] * 3)
"""Speed per missing newton or newton metre [m/s/N, rad/s/(N m)]."""


def force_axes(kind: int, frame: Array, place: Array, speed: Array, last: Array) -> Array:
    """Return the axes (3, 3) of a force mode of type 1, 2 or 3, from its task frame (6,), TCP and its speed (3,).

    1: y points from the TCP to the frame's origin. 2: the frame's own. 3: x is along the TCP's speed in the frame's
    x-y plane. Where that has no direction, `last` stays.
    """
    R: Array = exp_so3(frame[3:])
    if kind == 1:
        y = frame[:3] - place
        if np.linalg.norm(y) < UNCLEAR:
            return last
        y = y / np.linalg.norm(y)
        side = R[:, 0] if abs(R[:, 0] @ y) < 0.9 else R[:, 2]
        x = side - (side @ y) * y
        x = x / np.linalg.norm(x)
        return np.column_stack([x, y, np.cross(x, y)])
    if kind == 3:
        x = speed - (speed @ R[:, 2]) * R[:, 2]
        if np.linalg.norm(x) < UNCLEAR:
            return last
        x = x / np.linalg.norm(x)
        return np.column_stack([x, np.cross(R[:, 2], x), R[:, 2]])
    return R


class ForceMode(ToolSpeed):
    """Admittance: along chosen axes of a frame the tool moves until the world pushes back as hard as is wanted.

    v = clip(gain GIVE (w + F), ±limit), w the wanted wrench on the world, F what the observer feels of the world on
    the arm. Axes that are not chosen hold their position.
    """

    def __init__(self, controller: Controller) -> None:
        c = controller
        super().__init__(c.reference, c.target_pose(), np.zeros(6), 2.0, np.inf, c.plant.towards, c.most_speed)
        self._c = c
        self._free, self._kind, self._frame, self._axes = np.zeros(6, dtype=bool), 2, np.zeros(6), np.eye(3)
        self._wrench, self._limits, self._gain = np.zeros(6), np.zeros(6), 1.0

    def aim(self, free: Array, kind: int, frame: Array, wrench: Array, limits: Array, gain: float = 1.0) -> None:
        """Set selection (6,), type (see `force_axes`), task frame (6,), wrench (6,), speed limits (6,) and gain."""
        if not all(np.isfinite(part).all() for part in (frame, wrench, limits)) or np.abs(frame).max() > 13.0:
            raise InputError("force mode: frame, wrench and limits must be finite")
        if kind not in (1, 2, 3):
            raise InputError(f"force mode: type 1, 2 or 3, got {kind}")
        if kind != self._kind or not np.array_equal(frame, self._frame):
            self._axes = exp_so3(frame[3:])
        self._free, self._kind, self._frame, self._wrench, self._gain = free, kind, frame, wrench, gain
        self._limits = np.clip(np.abs(limits), 0.0, 1.0)

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        R = self._axes = force_axes(self._kind, self._frame, self._p, self._speed[:3], self._axes)
        felt = self._c.plant.look().force - self._c.ft_offset
        inside = np.concatenate([R.T @ felt[:3], R.T @ felt[3:]])
        wanted = self._gain * GIVE * (self._wrench + inside)
        speed = np.clip(wanted, -self._limits, self._limits) * self._free
        self._goal = np.concatenate([R @ speed[:3], R @ speed[3:]])
        return super().step(scale)


FREE_DRIVE_DAMPING = 0.2  # of free drive: share of the speed that the servo resists
SILENCE = 0.02  # [s] without a new torque, after which the arm brakes


class FreeDrive:
    """Free drive: the reference follows the arm; gravity and friction are carried, a hand moves the rest."""

    resumes = False
    returned = True

    def __init__(self, controller: Controller) -> None:
        self._live = controller.plant.live
        controller.plant.rest()

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        qd = (1.0 - FREE_DRIVE_DAMPING) * np.array(self._live.qd)
        return Reference(np.array(self._live.q) + qd * MOTION_TICK, qd, np.zeros_like(qd)), False


class AxesFreeDrive(TcpMotion):
    """Free drive along chosen axes of a frame; along the others the TCP stays on the line or plane of its start."""

    resumes = False
    returned = True

    def __init__(self, controller: Controller, free: Array, R: Array) -> None:
        """Take `free` (6,) of zeros and ones, linear first, and R (3, 3), the axes of the frame."""
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
        qd = (1.0 - FREE_DRIVE_DAMPING) * at.qd
        return Reference(at.q + qd * MOTION_TICK, qd, np.zeros(6)), False


VISCOUS_SCALES = np.array([0.9, 0.9, 0.8, 0.9, 0.9, 0.9])
COULOMB_SCALES = np.array([0.8, 0.8, 0.7, 0.8, 0.8, 0.8])
"""Shares of friction that a real controller compensates in direct_torque unless it is told others (ur_msgs)."""
SPEED_ROOM = 0.95  # of a joint's speed limit that torques may bring about
END_OF_RANGE_BRAKING = 10.0  # [rad/s²] that must be enough to stop within a joint's range
LIMITING_RATE = 50.0  # [1/s] at which a joint may come near that speed


class DirectTorque:
    """Torques at the joints beyond gravity (direct_torque); the arm brakes when no new ones come.

    Without friction a torque is an acceleration for good: 2.5 N m at a wrist of 0.1 kg m² pass its speed limit within
    0.13 s, however exactly it is integrated. So a joint is let accelerate by at most k (v − q̇), v a little below its
    limit: it comes to v and stays there, and a torque of the other sign acts at once.
    """

    resumes = False
    returned = True

    def __init__(self, controller: Controller) -> None:
        self._plant, self._left = controller.plant, 0.0
        self._plant.rest()
        self._torque, self._viscous, self._coulomb = np.zeros(6), np.ones(6), np.ones(6)
        self._stop: Motion | None = None
        self._most = SPEED_ROOM * controller.most_speed
        self._dead_zone = np.array(
            [max(j.friction.dead_zone, FRICTION_SMOOTHING_SPEED) for j in self._plant.robot.joints]
        )

    def aim(self, torque: Array, viscous: Array, coulomb: Array) -> None:
        """Set torques (6,) [N m], and which shares (6,) of viscous and dry friction are compensated."""
        self._torque, self._viscous, self._coulomb = torque, viscous, coulomb
        self._left, self._stop = SILENCE, None

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        q, qd = np.array(self._plant.live.q), np.array(self._plant.live.qd)
        self._left -= MOTION_TICK
        if self._left <= 0.0:
            if self._stop is None:
                self._stop = brake(Reference(q, qd, np.zeros(6)), 10.0)
            return self._stop.step(scale)
        rest = q + 0.5 * qd * np.abs(qd) / END_OF_RANGE_BRAKING
        robot = self._plant.robot
        out = (rest > robot.upper) | (rest < robot.lower)
        if out.any():
            raise PathLostError(f"joint {robot.joints[int(np.argmax(out))].name} comes to the end of its range")
        tree, model = self._plant.robot.tree, self._plant.model()
        # the servo compensates all of the friction, and near rest too much; here never more than the share
        carried = self._coulomb * np.sign(qd) * np.clip(2.0 * np.abs(qd) / self._dead_zone - 2.0, 0.0, 1.0)
        dry = np.tanh(qd / FRICTION_SMOOTHING_SPEED) - carried
        torque = self._torque - model.coriolis - (1.0 - self._viscous) * (tree.viscous @ qd) - tree.coulomb * dry
        wanted = np.linalg.solve(model.mass + tree.armature, torque)
        least, most = -LIMITING_RATE * (self._most + qd), LIMITING_RATE * (self._most - qd)
        return Reference(q, qd, np.clip(wanted, least, most)), False
