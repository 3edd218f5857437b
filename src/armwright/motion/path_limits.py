# SPDX-License-Identifier: Apache-2.0
"""Torque, acceleration and velocity limits of an arm on a path, linear in u = s̈ and x = ṡ² on every grid interval.

Both ends of an interval are looked at from inside it: where the path bends or a joint reverses at a grid point, each
side has its own curvature and its own direction of Coulomb friction. At the far end x has grown to x + 2hu.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.dynamics.api import inverse_dynamics
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.motion.speed import SpeedLimits
    from armwright.motion.torque import TorqueLimits
    from armwright.motion.trajectory import Trajectory
    from armwright.robot.model import Robot
    from armwright.types import Array

NEAR_DEAD_ZONE = 1.5


class Rows(NamedTuple):
    """Limits a u + b x + c ≤ 0 of every grid interval, each (N, k)."""

    a: Array
    b: Array
    c: Array


@dataclass(frozen=True, slots=True, eq=False)
class PathLimits:
    """Parts of |inertia·u + curve·x + viscous·√x + gravity + Coulomb| ≤ 1, each (N, 2, k): N intervals, both ends.

    Acceleration limits are rows of the same form without the last three; `coulomb` is (N, 2, k, n), a column a joint.
    """

    h: Array
    inertia: Array
    curve: Array
    viscous: Array
    gravity: Array
    coulomb: Array
    dq: Array
    dead_zone: Array
    fast: Array

    def near_dead_zone(self, sd: Array) -> NDArray[np.bool_]:
        """Where joints (N, 2, n) move so slowly at path speeds sd (N+1,) that Coulomb friction may be absent."""
        speed = np.stack([sd[:-1], sd[1:]], axis=1)[..., None] * np.abs(self.dq)
        slow = (self.dead_zone > 0.0) & (speed <= NEAR_DEAD_ZONE * self.dead_zone)
        # between the ends the joint passes all speeds between
        return np.broadcast_to(slow.any(axis=1, keepdims=True), slow.shape)

    def rows(self, sd: Array, blend: float, near: NDArray[np.bool_]) -> Rows:
        """Linear limits with the viscous term taken about the path speeds sd (N+1,) of an earlier solution.

        √x ≈ blend·x/ṡ + (1 − blend)·ṡ is exact at x = ṡ²: 1 is the chord from rest, 1/2 the tangent. `near` (N, 2, n)
        marks where Coulomb friction must be allowed to be there or not, whichever is worse.
        """
        v = np.stack([sd[:-1], sd[1:]], axis=1)[..., None]  # (N, 2, 1)
        slope = blend / np.where(v > 0.0, v, np.inf)
        curve, steady = self.curve + slope * self.viscous, self.gravity + (1.0 - blend) * v * self.viscous
        most = np.where(near[:, :, None, :], np.maximum(self.coulomb, 0.0), self.coulomb).sum(axis=-1)
        least = np.where(near[:, :, None, :], np.minimum(self.coulomb, 0.0), self.coulomb).sum(axis=-1)
        reach = np.stack([np.zeros_like(self.h), 2.0 * self.h], axis=1)[..., None]
        a = self.inertia + reach * curve
        upper, lower = steady + most - 1.0, -steady - least - 1.0
        speed = self.fast[..., None] ** 2
        parts = (
            np.concatenate([a, -a, reach * speed], axis=-1),
            np.concatenate([curve, -curve, speed], axis=-1),
            np.concatenate([upper, lower, np.full_like(speed, -1.0)], axis=-1),
        )
        return Rows(*(part.reshape(self.h.size, -1) for part in parts))


def path_limits(
    robot: Robot, pieces: Trajectory, limits: TorqueLimits, speeds: SpeedLimits, acceleration: Array
) -> PathLimits:
    """Evaluate the limits on a path already split at its grid; acceleration (n,) may be inf."""
    q, dq, ddq = pieces.within([0.0, 1.0])
    size = np.linalg.norm(dq, axis=-1)
    if (size < 1e-9 * size.max()).any():
        k = int(np.argmin(size.min(axis=1)))
        raise InputError(
            f"path: it stands still at s = {pieces.breaks[k]:.6g}; give the geometry (waypoints, or a motion of "
            "constant speed), not a motion that already starts and stops"
        )
    tree, zero = robot.tree, np.zeros_like(q)
    gravity = inverse_dynamics(robot, q, zero, zero, friction=False)
    inertia = inverse_dynamics(robot, q, zero, dq, friction=False) - gravity
    curve = inverse_dynamics(robot, q, dq, ddq, friction=False) - gravity
    direction = np.sign(pieces.within([0.5]).qd)
    L = limits.rows / limits.bound[:, None]
    keep = np.isfinite(acceleration)
    bound = acceleration[keep]
    none = np.zeros((*q.shape[:2], bound.size))
    coulomb = np.broadcast_to((tree.coulomb * direction)[:, :, None, :] * L, (*q.shape[:2], *L.shape))
    return PathLimits(
        h=np.diff(pieces.breaks),
        inertia=np.concatenate([inertia @ L.T, dq[..., keep] / bound], axis=-1),
        curve=np.concatenate([curve @ L.T, ddq[..., keep] / bound], axis=-1),
        viscous=np.concatenate([dq @ tree.viscous.T @ L.T, none], axis=-1),
        gravity=np.concatenate([gravity @ L.T, none], axis=-1),
        coulomb=np.concatenate([coulomb, np.zeros((*none.shape, robot.n))], axis=-2),
        dq=dq,
        dead_zone=np.asarray(tree.dead_zone, dtype=np.float64),
        fast=np.abs(dq @ speeds.rows.T).max(axis=-1, initial=0.0),
    )
