"""Torque limits of an arm, and how much of them a motion uses, by the exact inverse dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.dynamics.api import inverse_dynamics
from armwright.errors import InputError
from armwright.motion.inputs import bounds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.motion.trajectory import Trajectory
    from armwright.robot.model import Robot

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TorqueLimits:
    """The set {tau : |rows @ tau| ≤ bound}: joint efforts and motor torques at once.

    Attributes:
        rows: (k, n); a unit row for a joint, a row of gear^-T for a motor (tau = gearᵀ tau_motor, 001 §3.10).
        bound: (k,) > 0 [N m or N], finite.
        labels: k names for messages, "joint elbow" or "motor 3".
    """

    rows: Array
    bound: Array
    labels: tuple[str, ...]


def torque_limits(robot: Robot, torque: ArrayLike | None = None) -> TorqueLimits:
    """Return the arm's torque limits.

    Args:
        robot: the arm; its joint efforts and its motors' torque limits both count, as far as they are finite.
        torque: joint limits, scalar or (n,), to take instead.
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
        if np.isfinite(motor).any():
            rows = np.concatenate([rows, np.linalg.inv(robot.actuators.gear).T])
            bound = np.concatenate([effort, motor])
            labels = joints + [f"motor {i + 1}" for i in range(n)]
        if (bound <= 0.0).any():
            raise InputError(f"{labels[int(np.argmin(bound))]} of {robot.name!r} has torque limit 0; give torque=…")
    known = np.isfinite(bound)
    if not known.any():
        raise InputError(f"robot {robot.name!r} has no torque limits; give them as torque=… (scalar or ({n},))")
    return TorqueLimits(rows[known], bound[known], tuple(label for label, keep in zip(labels, known, strict=True) if keep))


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
    return np.concatenate([[1e-9], np.linspace(0.0, 1.0, each + 1)[1:-1], [1.0 - 1e-9]])


def torque_use(
    robot: Robot, trajectory: Trajectory, torque: ArrayLike | TorqueLimits | None = None, *, samples: int = 2000
) -> TorqueUse:
    """Measure the torque a motion needs against the limits.

    Args:
        robot: the arm; friction and rotor inertia count.
        trajectory: the motion.
        torque: joint limits instead of the robot's own.
        samples: instants to look at, spread over all pieces, one-sided limits at the breaks included.
    """
    if trajectory.n != robot.n:
        raise InputError(f"trajectory: has {trajectory.n} joints, robot {robot.name!r} has {robot.n}")
    limits = torque if isinstance(torque, TorqueLimits) else torque_limits(robot, torque)
    f = piece_fractions(trajectory, samples)
    tau = inverse_dynamics(robot, *trajectory.within(f)).reshape(-1, robot.n)
    time = (trajectory.breaks[:-1, None] + np.diff(trajectory.breaks)[:, None] * f).reshape(-1)
    use = np.abs(tau @ limits.rows.T) / limits.bound
    at = np.argmax(use, axis=0)
    return TorqueUse(use[at, np.arange(at.size)], time[at], np.abs(tau).max(axis=0), limits.labels)
