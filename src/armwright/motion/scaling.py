# SPDX-License-Identifier: Apache-2.0
"""Minimum durations of a motion under velocity, acceleration and exact torque limits; uniform scaling of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.motion.arm_limits import TorqueLimits, torque_limits, torque_use
from armwright.motion.motion_inputs import bounds, joint_vector, positive
from armwright.motion.point_to_point import quintic
from armwright.motion.trajectory import Trajectory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot

LARGEST_TIME_FACTOR = 1e6
"""Factor on the duration at which a motion counts as standing still: its inertial torques have fallen by 1e12."""
PRECISION = 1e-10
"""Relative width of the bracket around the shortest duration: 33 halvings; torque peaks are known to 5e-8."""


@names_culprit
def time_scaled(trajectory: Trajectory, factor: float) -> Trajectory:
    """Return the same path, `factor` times as long in time: qd falls by factor, qdd by factor².

    >>> time_scaled(quintic([0.0], [1.0], 1.0), 2.0).duration
    2.0
    """
    k = positive(factor, "factor", "-")
    powers = k ** np.arange(trajectory.degree + 1.0)
    return Trajectory(trajectory.breaks * k, trajectory.coefficients / powers[:, None])


@names_culprit
def stretch(trajectory: Trajectory, duration: float) -> Trajectory:
    """Return the same path in `duration` seconds.

    >>> stretch(quintic([0.0], [1.0], 1.0), 3.0).duration
    3.0
    """
    return time_scaled(trajectory, positive(duration, "duration") / trajectory.duration)


@names_culprit
def quintic_duration(
    q0: ArrayLike, q1: ArrayLike, velocity: ArrayLike = np.inf, acceleration: ArrayLike = np.inf
) -> float:
    """Return the shortest duration [s] of the rest-to-rest quintic under velocity and acceleration limits.

    t_f = max_j max(15|D_j|/(8 k_v,j), sqrt(10|D_j|/(√3 k_a,j))) (003 eq. 18, which is typeset with k_a under the
    inner root by mistake).

    Args:
        q0: start (n,).
        q1: goal (n,).
        velocity: limits, scalar or (n,); inf for none.
        acceleration: limits, scalar or (n,); inf for none. 003 takes k_a,j = tau_max,j / max λ(M).

    >>> quintic_duration([0.0], [1.0], velocity=1.0, acceleration=np.inf)
    1.875
    """
    start = joint_vector(q0, "q0")
    D = np.abs(joint_vector(q1, "q1", start.size) - start)
    kv, ka = bounds(velocity, "velocity", D.size), bounds(acceleration, "acceleration", D.size)
    T = float(max((1.875 * D / kv).max(), np.sqrt(10.0 * D / (np.sqrt(3.0) * ka)).max()))
    if not T > 0.0:
        raise InputError("quintic_duration: q0 and q1 coincide or nothing that moves is limited; give a finite limit")
    return T


@names_culprit
def velocity_factor(trajectory: Trajectory, velocity: ArrayLike = np.inf, acceleration: ArrayLike = np.inf) -> float:
    """Return the least time factor that keeps velocity and acceleration limits (scalar or (n,)), from exact peaks.

    >>> velocity_factor(quintic([0.0], [1.0], 1.0), velocity=1.0)  # the quintic's peak is 15/8 rad/s
    1.875
    """
    peaks = trajectory.peaks()
    kv, ka = bounds(velocity, "velocity", trajectory.n), bounds(acceleration, "acceleration", trajectory.n)
    return float(max((peaks.qd / kv).max(), np.sqrt(peaks.qdd / ka).max()))


@names_culprit
def torque_factor(
    robot: Robot,
    trajectory: Trajectory,
    torque: ArrayLike | TorqueLimits | None = None,
    *,
    samples: int = 2000,
    atleast: float = 0.0,
    precision: float = PRECISION,
    wrench: ArrayLike | None = None,
) -> float:
    """Return the least time factor for which a motion's path stays within the torque limits.

    Bisection on the true inverse dynamics (friction, rotors, gravity, velocity terms), sampled densely. Limits that
    gravity and friction already break are refused: slowing down does not help.

    Args:
        robot: the arm.
        trajectory: the motion to scale.
        torque: joint limits, scalar or (n,), instead of the robot's own.
        samples: instants to look at.
        atleast: lower bound on the factor, e.g. from `velocity_factor`.
        precision: relative width of the last bracket; its safe end is returned.
        wrench: (6,) what the world does to the tool all the time [f; n], base axes.

    >>> time_scaled(path, torque_factor(robot, path))  # as fast as the motors allow
    """
    limits = torque if isinstance(torque, TorqueLimits) else torque_limits(robot, torque)

    def worst(k: float) -> float:
        return torque_use(robot, time_scaled(trajectory, k), limits, samples=samples, wrench=wrench).worst

    high = max(1.0, atleast)
    while worst(high) > 1.0:
        high *= 2.0
        if high > LARGEST_TIME_FACTOR:
            use = torque_use(
                robot, time_scaled(trajectory, LARGEST_TIME_FACTOR), limits, samples=samples, wrench=wrench
            )
            raise InputError(
                f"torque: even standing on this path breaks the limits of {robot.name!r}: {use.message} when moving "
                "very slowly; change the path or the limits"
            )
    low = 0.5 * high
    while low > atleast and worst(low) <= 1.0:
        low, high = 0.5 * low, low
        if high < 1.0 / LARGEST_TIME_FACTOR:
            raise InputError("trajectory: it needs no torque at all, so torque limits do not bound its speed")
    low = max(low, atleast)
    if low > 0.0 and low == atleast and worst(low) <= 1.0:
        return low
    while high - low > precision * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if worst(middle) <= 1.0 else (middle, high)
    return high


@names_culprit
def minimum_duration(
    robot: Robot,
    q0: ArrayLike,
    q1: ArrayLike,
    torque: ArrayLike | None = None,
    *,
    velocity: ArrayLike = np.inf,
    acceleration: ArrayLike = np.inf,
    samples: int = 2000,
) -> float:
    """Return the shortest duration [s] of the rest-to-rest quintic under **exact** torque limits.

    003: its formula by acceleration bounds gives 0.41016 s for the ROB315 move, at which joint 2 needs 502.2 of
    500 N m; this function gives 0.4114 s.

    Args:
        robot: the arm.
        q0: start (n,).
        q1: goal (n,).
        torque: joint limits, scalar or (n,), instead of the robot's own.
        velocity: limits to keep as well.
        acceleration: limits to keep as well.
        samples: instants to look at.

    >>> minimum_duration(robot, [0.0] * 6, [0.5] * 6)  # [s]
    """
    start = joint_vector(q0, "q0", robot.n)
    goal = joint_vector(q1, "q1", robot.n)
    if (start == goal).all():
        raise InputError("minimum_duration: q0 and q1 coincide, so there is no shortest motion")
    motion = quintic(start, goal, 1.0)
    least = velocity_factor(motion, velocity, acceleration)
    return torque_factor(robot, motion, torque, samples=samples, atleast=least)
