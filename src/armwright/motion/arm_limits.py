# SPDX-License-Identifier: Apache-2.0
"""Speed, acceleration and torque limits of an arm, and how much of them a motion uses.

Speeds are judged by the exact peaks of the motion, torques by the exact inverse dynamics at many instants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.dynamics.public import inverse_dynamics
from armwright.dynamics.terms import coulomb_sign
from armwright.errors import InputError
from armwright.motion.motion_inputs import bounds
from armwright.motion.trajectory import Trajectory, differentiate, extreme

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class SpeedLimits:
    """The set {qd : |rows @ qd| ≤ 1}: joint speeds and motor speeds at once.

    Attributes:
        rows: (k, n); a unit row over its limit for a joint, a row of the gear matrix over its limit for a motor
            (qd_motor = gear qd; 001, D.1 and D.2). k may be 0.
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


CLOSE_LOOKS = 48
CLOSE_POINTS = 33
"""Samples with the highest torque that are looked at again, and points in the window about each. With 2000 samples of
random splines of a UR5 the peak is missed by 2e-5 without, by 5e-8 with them; 65 points gain nothing more."""
LIMIT_SLACK = 1e-9
"""Distance of a piece's first and last samples from its ends, where friction may jump, as a fraction of the piece."""


@dataclass(frozen=True, slots=True, eq=False)
class TorqueLimits:
    """The set {tau : |rows @ tau| ≤ bound}: joint efforts and motor torques at once.

    Where a motor's gears take the share μ of the load they carry, its torque is more than that (001, D.3):
    rows @ tau + μ sign(q̇_a) |rows @ tau_load|, with tau_load without rotors and without the motors' own friction.

    Attributes:
        rows: (k, n); a unit row for a joint, a row of gear^-T for a motor (tau = gearᵀ tau_motor).
        bound: (k,) > 0 [N m or N], finite.
        labels: k names for messages, "joint elbow" or "motor 3".
        load_friction: (k,) μ, 0 for joints.
        gear: (k, n) row of the gear matrix that gives the motor's speed, 0 for joints.
    """

    rows: Array
    bound: Array
    labels: tuple[str, ...]
    load_friction: Array
    gear: Array


@names_culprit
def torque_limits(robot: Robot, torque: ArrayLike | None = None) -> TorqueLimits:
    """Return the arm's torque limits.

    Args:
        robot: the arm; its joint efforts and its motors' torque limits both count, as far as they are finite.
        torque: joint limits, scalar or (n,), to take instead.

    >>> torque_limits(robot).labels
    """
    n = robot.n
    joints = [f"joint {joint.name!r}" for joint in robot.joints]
    if torque is not None:
        rows, bound, labels = np.eye(n), bounds(torque, "torque", n), joints
    else:
        effort = np.array([joint.limits.effort for joint in robot.joints])
        motor = np.asarray(robot.actuators.torque_limit, dtype=np.float64)
        rows, bound = np.eye(n), effort
        labels = joints
        ratio = np.diag(robot.actuators.gear)
        if np.array_equal(robot.actuators.gear, np.diag(ratio)) and not robot.actuators.load_friction.any():
            bound = np.minimum(effort, np.abs(ratio) * motor)  # each motor drives its own joint
        elif np.isfinite(motor).any():
            rows = np.concatenate([rows, np.linalg.inv(robot.actuators.gear).T])
            bound = np.concatenate([effort, motor])
            labels = joints + [f"motor {i + 1}" for i in range(n)]
        if (bound <= 0.0).any():
            raise InputError(f"{labels[int(np.argmin(bound))]} of {robot.name!r} has torque limit 0; give torque=…")
    friction, gear = np.zeros(bound.size), np.zeros((bound.size, n))
    if bound.size > n:
        friction[n:], gear[n:] = robot.actuators.load_friction, robot.actuators.gear
    known = np.isfinite(bound)
    if not known.any():
        raise InputError(f"robot {robot.name!r} has no torque limits; give them as torque=… (scalar or ({n},))")
    named = tuple(label for label, keep in zip(labels, known, strict=True) if keep)
    return TorqueLimits(rows[known], bound[known], named, friction[known], gear[known])


@dataclass(frozen=True, slots=True, eq=False)
class TorqueUse:
    """How much of its torque limits a motion uses.

    Attributes:
        use: (k,) largest |torque|/limit per limit; above 1 the limit is broken.
        time: (k,) when that is [s].
        peak: (n,) largest |tau| per joint [N m or N].
        labels: k names of the limits.
    """

    use: Array
    time: Array
    peak: Array
    labels: tuple[str, ...]

    @property
    def worst(self) -> float:
        """The largest use of all limits."""
        return float(self.use.max())

    @property
    def message(self) -> str:
        """One sentence for a person."""
        k = int(np.argmax(self.use))
        return f"{self.labels[k]} uses {100.0 * self.use[k]:.4g} % of its torque at t = {self.time[k]:.4g} s"


def piece_fractions(trajectory: Trajectory, samples: int) -> Array:
    """Fractions of every piece to look at: about `samples` in all, never the very ends.

    At an end a joint may stand still, where Coulomb friction jumps; the limits from inside are what the motion needs.
    """
    each = max(4, int(np.ceil(samples / (trajectory.breaks.size - 1))))
    return np.concatenate([[LIMIT_SLACK], np.linspace(0.0, 1.0, each + 1)[1:-1], [1.0 - LIMIT_SLACK]])


@names_culprit
def torque_use(
    robot: Robot,
    trajectory: Trajectory,
    torque: ArrayLike | TorqueLimits | None = None,
    *,
    samples: int = 2000,
    wrench: ArrayLike | None = None,
) -> TorqueUse:
    """Measure the torque a motion needs against the limits.

    Args:
        robot: the arm; friction and rotor inertia count.
        trajectory: the motion.
        torque: joint limits instead of the robot's own.
        samples: instants to look at, spread over all pieces, one-sided limits at the breaks included.
        wrench: (6,) what the world does to the tool all the time [f; n], base axes.

    >>> torque_use(robot, path).message
    """
    if trajectory.n != robot.n:
        raise InputError(f"trajectory: has {trajectory.n} joints, robot {robot.name!r} has {robot.n}")
    limits = torque if isinstance(torque, TorqueLimits) else torque_limits(robot, torque)
    f = piece_fractions(trajectory, samples)
    h = np.diff(trajectory.breaks)
    piece = np.repeat(np.arange(h.size), f.size)
    tau, use = _needed(robot, trajectory, limits, piece, np.tile(f, h.size), wrench)
    # the peaks lie between samples: look closely around the highest ones
    highest = np.argsort(use.max(axis=1))[-CLOSE_LOOKS:]
    spacing = float(np.diff(f).max())
    window = np.tile(f, h.size)[highest, None] + spacing * np.linspace(-1.0, 1.0, CLOSE_POINTS)
    close_piece, close = np.repeat(piece[highest], CLOSE_POINTS), np.clip(window, f[0], f[-1]).reshape(-1)
    close_tau, close_use = _needed(robot, trajectory, limits, close_piece, close, wrench)
    tau, use = np.concatenate([tau, close_tau]), np.concatenate([use, close_use])
    piece, fraction = np.concatenate([piece, close_piece]), np.concatenate([np.tile(f, h.size), close])
    at = np.argmax(use, axis=0)
    time = trajectory.breaks[piece[at]] + h[piece[at]] * fraction[at]
    return TorqueUse(use[at, np.arange(at.size)], time, np.abs(tau).max(axis=0), limits.labels)


def _needed(
    robot: Robot,
    trajectory: Trajectory,
    limits: TorqueLimits,
    piece: NDArray[np.int64],
    fraction: Array,
    wrench: ArrayLike | None,
) -> tuple[Array, Array]:
    """Torque (S, n) and use of every limit (S, k) at fractions (S,) of pieces (S,)."""
    state = trajectory.on_pieces(piece, np.diff(trajectory.breaks)[piece] * fraction)
    return needed(robot, limits, *state, wrench)


def needed(
    robot: Robot, limits: TorqueLimits, q: Array, qd: Array, qdd: Array, wrench: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Joint torque (S, n) that states (S, n) need, and use of every limit (S, k); wrench (6,), (S, 6) at the tool."""
    tau = inverse_dynamics(robot, q, qd, qdd, wrench)
    torque = tau @ limits.rows.T
    if limits.load_friction.any():
        load = inverse_dynamics(robot, q, qd, qdd, wrench, friction=False, rotors=False) + joint_friction(robot, qd)
        torque = torque + limits.load_friction * np.sign(qd @ limits.gear.T) * np.abs(load @ limits.rows.T)
    return tau, np.abs(torque) / limits.bound


def joint_viscous(robot: Robot) -> Array:
    """Viscous friction (n,) of the joints themselves, without that of the motors behind them."""
    return np.array([joint.friction.viscous for joint in robot.joints])


def joint_friction(robot: Robot, qd: Array) -> Array:
    """Friction torque (..., n) of the joints themselves at speeds qd (..., n)."""
    signs = np.moveaxis(coulomb_sign(robot.tree, np.moveaxis(qd, -1, 0)), 0, -1)
    return np.asarray(joint_viscous(robot) * qd + robot.tree.coulomb * signs)
