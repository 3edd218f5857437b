# SPDX-License-Identifier: Apache-2.0
"""Torque, acceleration and velocity limits of an arm on a path, linear in u = s̈ and x = ṡ² on every grid interval.

Both ends of an interval are looked at from inside it: where the path bends or a joint reverses at a grid point, each
side has its own curvature and its own direction of Coulomb friction. At the far end x has grown to x + 2hu.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.dynamics.public import inverse_dynamics
from armwright.errors import InputError
from armwright.kinematics import jacobian, jacobian_dot
from armwright.motion.arm_limits import joint_viscous

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.motion.arm_limits import SpeedLimits, TorqueLimits
    from armwright.motion.trajectory import Trajectory
    from armwright.robot.model import Robot
    from armwright.types import Array

NEAR_DEAD_ZONE = 1.5
"""Multiples of a joint's dead zone [rad/s] up to which Coulomb friction may or may not act: the speed of a later
solution differs from the one that was looked at, by less than half of it once the solutions settle."""
STANDSTILL = 1e-9
"""Share of the largest |dq/ds| below which a path stands still: dividing by its speed would leave no digits."""


class LimitRows(NamedTuple):
    """Limits a u + b x + c ≤ 0 of every grid interval, each (N, k)."""

    a: Array
    b: Array
    c: Array


@dataclass(frozen=True, slots=True, eq=False)
class PathLimits:
    """Parts of inertia·u + curve·x + viscous·√x + gravity + Coulomb ≤ 1, each (N, 2, k): N intervals, both ends.

    Limits to both sides are two rows. Acceleration limits are rows of the same form without the last three; `coulomb`
    is (N, 2, k, n), a column per joint.
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

    def rows(self, sd: Array, blend: float, near: NDArray[np.bool_]) -> LimitRows:
        """Linear limits with the viscous term taken about the path speeds sd (N+1,) of an earlier solution.

        √x ≈ blend·x/ṡ + (1 − blend)·ṡ is exact at x = ṡ²: 1 is the chord from rest, 1/2 the tangent. `near` (N, 2, n)
        marks where Coulomb friction may or may not act; the worse case counts.
        """
        v = np.stack([sd[:-1], sd[1:]], axis=1)[..., None]  # (N, 2, 1)
        slope = blend / np.where(v > 0.0, v, np.inf)
        curve, steady = self.curve + slope * self.viscous, self.gravity + (1.0 - blend) * v * self.viscous
        if self.coulomb.any():
            worst = np.where(near[:, :, None, :], np.maximum(self.coulomb, 0.0), self.coulomb)
            steady = steady + worst.sum(axis=-1)
        reach = np.stack([np.zeros_like(self.h), 2.0 * self.h], axis=1)[..., None]
        speed = self.fast[..., None] ** 2
        parts = (
            np.concatenate([self.inertia + reach * curve, reach * speed], axis=-1),
            np.concatenate([curve, speed], axis=-1),
            np.concatenate([steady - 1.0, np.full_like(speed, -1.0)], axis=-1),
        )
        return LimitRows(*(part.reshape(self.h.size, -1) for part in parts))


class ToolLimits(NamedTuple):
    """Limits of the tool point on a path: speed and tangential acceleration [m/s, m/s²], scalar or (N,); inf for none.

    `point` (3,) or (N, 3) is the tool point in the frame that the robot calls its tool [m].
    """

    speed: Array | float = np.inf
    acceleration: Array | float = np.inf
    point: Array | tuple[float, float, float] = (0.0, 0.0, 0.0)


def path_limits(
    robot: Robot,
    pieces: Trajectory,
    limits: TorqueLimits,
    speeds: SpeedLimits,
    acceleration: Array,
    *,
    wrench: Array | None = None,
    tool: ToolLimits | None = None,
) -> PathLimits:
    """Evaluate the limits on a path already split at its grid.

    Args:
        robot: the arm.
        pieces: the path, N pieces.
        limits: torque limits.
        speeds: speed limits of joints and motors.
        acceleration: (n,) acceleration limits of the joints, may be inf.
        wrench: what the world does to the arm, base axes, at the tool: (6,) or (N, 2, 6) at both ends of every piece.
        tool: limits of the tool.
    """
    q, dq, ddq = pieces.within([0.0, 1.0])
    size = np.linalg.norm(dq, axis=-1)
    if (size < STANDSTILL * size.max()).any():
        k = int(np.argmin(size.min(axis=1)))
        raise InputError(
            f"path: it stands still at s = {pieces.breaks[k]:.6g}; give the geometry (waypoints, or a motion of "
            "constant speed), not a motion that already starts and stops"
        )
    tree, zero = robot.tree, np.zeros_like(q)
    middle = pieces.within([0.5]).qd
    own = joint_viscous(robot)
    load = _Share(*_load(robot, q, dq, ddq, zero, wrench), dq * own, (tree.coulomb * np.sign(middle)) + zero)
    rotor = _Share(dq @ tree.armature.T, ddq @ tree.armature.T, zero, dq @ (tree.viscous - np.diag(own)).T, zero)
    parts = _torque_rows(limits, load, rotor, middle)
    bound = np.concatenate([acceleration, acceleration])
    weight = np.concatenate([np.eye(robot.n), -np.eye(robot.n)])[np.isfinite(bound)] / bound[np.isfinite(bound), None]
    inertia, curve = [dq @ weight.T], [ddq @ weight.T]
    fast = np.abs(dq @ speeds.rows.T).max(axis=-1, initial=0.0)
    between = np.abs(middle @ speeds.rows.T).max(axis=-1, initial=0.0)
    # the fastest place of a piece counts for all of it: x is straight in between, the joints' share of it is not
    fast = np.broadcast_to(np.maximum(fast.max(axis=1, keepdims=True), between), fast.shape)
    if tool is not None:
        travel, bend = _travel(robot, q, dq, ddq, tool)
        speed, push = (np.broadcast_to(v, q.shape[:1])[:, None] for v in (tool.speed, tool.acceleration))
        fast = np.maximum(fast, travel / speed)
        inertia.append(np.stack([travel / push, -travel / push], axis=-1))
        curve.append(np.stack([bend / push, -bend / push], axis=-1))
    none = np.zeros((*q.shape[:2], sum(part.shape[-1] for part in inertia)))
    return PathLimits(
        h=np.diff(pieces.breaks),
        inertia=np.concatenate([parts.inertia, *inertia], axis=-1),
        curve=np.concatenate([parts.curve, *curve], axis=-1),
        viscous=np.concatenate([parts.viscous, none], axis=-1),
        gravity=np.concatenate([parts.gravity, none], axis=-1),
        coulomb=np.concatenate([parts.coulomb, np.zeros((*none.shape, robot.n))], axis=-2),
        dq=dq,
        dead_zone=np.asarray(tree.dead_zone, dtype=np.float64),
        fast=fast,
    )


class _Share(NamedTuple):
    """Torque on a path by parts, each (N, 2, n) of joints or (N, 2, k) of limits; coulomb with a column per joint."""

    inertia: Array
    curve: Array
    gravity: Array
    viscous: Array
    coulomb: Array


def _load(
    robot: Robot, q: Array, dq: Array, ddq: Array, zero: Array, wrench: Array | None
) -> tuple[Array, Array, Array]:
    """Return the torque (N, 2, n) that the links need from the joints: per u, per x, and at rest."""
    still = inverse_dynamics(robot, q, zero, zero, wrench, friction=False, rotors=False)
    free = still if wrench is None else inverse_dynamics(robot, q, zero, zero, friction=False, rotors=False)
    inertia = inverse_dynamics(robot, q, zero, dq, friction=False, rotors=False) - free
    return inertia, inverse_dynamics(robot, q, dq, ddq, friction=False, rotors=False) - free, still


def _torque_rows(limits: TorqueLimits, load: _Share, rotor: _Share, middle: Array) -> _Share:
    """One-sided rows of all torque limits.

    Without load friction a limit has two. With the share μ, and the motor turning in the sense d all over the interval,
    d τ + μ|τ| = max of d(1 ± μ)τ is convex: two rows towards d are exact. Against d, (1 − μ)τ is taken: exact where the
    load drives the motor, which is when a motor is at that limit, and on the safe side elsewhere.
    """
    L = limits.rows / limits.bound[:, None]
    mu = limits.load_friction
    d = np.sign(middle @ limits.gear.T)  # (N, 1, k), 0 for joints and motors at rest
    rub = mu * np.abs(d)
    sense = np.where(d == 0.0, 1.0, d)
    rows = [(sense, 1.0 + rub), (-sense, 1.0 - rub)]
    if mu.any():
        rows.append((sense, 1.0 - rub))
    out = []
    for a, b in zip(load[:4], rotor[:4], strict=True):
        carried, own = a @ L.T, b @ L.T
        out.append(np.concatenate([sign * (share * carried + own) for sign, share in rows], axis=-1))
    dry = load.coulomb[:, :, None, :] * L
    coulomb = np.concatenate([(sign * share)[..., None] * dry for sign, share in rows], axis=-2)
    inertia, curve, gravity, viscous = out
    return _Share(inertia, curve, gravity, viscous, coulomb)


def tool_use(robot: Robot, motion: Trajectory, tool: ToolLimits) -> tuple[float, float]:
    """Largest tool speed and tangential acceleration of a motion over their limits, at three places of every piece."""
    speed, push = _travel(robot, *motion.within([0.0, 0.5, 1.0]), tool)
    most = (np.broadcast_to(limit, speed.shape[:1])[:, None] for limit in (tool.speed, tool.acceleration))
    return tuple(float((np.abs(v) / limit).max()) for v, limit in zip((speed, push), most, strict=True))  # type: ignore[return-value]


def _travel(robot: Robot, q: Array, dq: Array, ddq: Array, tool: ToolLimits) -> tuple[Array, Array]:
    """|dp/ds| and its derivative (N, 2) of the tool point."""
    point = np.broadcast_to(np.asarray(tool.point, dtype=np.float64).reshape(-1, 1, 3), (*q.shape[:2], 3))
    J, dJ = (J[..., :3, :] for J in (jacobian(robot, q, point=point), jacobian_dot(robot, q, dq, point=point)))
    v = np.einsum("mfij,mfj->mfi", J, dq)
    a = np.einsum("mfij,mfj->mfi", J, ddq) + np.einsum("mfij,mfj->mfi", dJ, dq)
    travel = np.linalg.norm(v, axis=-1)
    return travel, np.einsum("mfi,mfi->mf", v, a) / np.where(travel > 0.0, travel, 1.0)
