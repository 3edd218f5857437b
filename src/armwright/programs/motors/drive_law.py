# SPDX-License-Identifier: Apache-2.0
"""How a drive follows a plan that may ask more than it has: one step of a bounded tracking law.

    e  = q_r − q
    c  = K_p e, within ±√(2 a_b |e|),   a_b = ½ max(0.1 τ_max, τ_max − |n|)/J_ii
    v* = q̇_r + c, within the speed limits of joints and motors
    a* = (q̈_r where v* was not cut) + K_v (v* − q̇)
    τ* = M a* + n;  if it fits, a = a*
    else  drive: share the shortage, a = s a* with the largest s ≤ 1 for which n + s M a* fits
          axes:  every motor is clipped by itself, and a is what follows
    if n alone does not fit, both clip: the arm cannot be held
    q̇ += h a,  q += h q̇

No integrator, so nothing winds up; the root is the speed from which the arm can still brake in e, so it does not
overshoot. A **trip** ends the run: |e| beyond `Trips.lag`, or a speed beyond `Trips.speed` of its limit.

`drive_step` is one NumPy function; `drive_loop` traces it. The choice among laws is the table `choices.TRACKINGS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics.actuator_side import Motors, consistent, joint_friction, joint_side
from armwright.programs.motors.motor_cycle import Limited, full
from armwright.robot.loaded_tree import loaded
from armwright.robot.tree import tree_of

if TYPE_CHECKING:
    from armwright.dynamics.actuator_side import ActuatorSide
    from armwright.programs.motors.motor_limits import Drives
    from armwright.robot.model import Robot
    from armwright.types import Array, Traced

STEP_SECONDS = 0.001  # [s] of a drive's loop, as most makers have it
LEAST_BRAKING_SHARE = 0.1  # of the torque limit that counts as left for braking where gravity takes nearly all
BRAKING_SHARE = 0.5  # of what is left for braking that the root bound counts on
TINY_TORQUE = 1e-12  # [N m] below which accelerating takes nothing of a motor


@dataclass(frozen=True, slots=True)
class TrackingLaw:
    """A way to follow a plan.

    Attributes:
        name: as in `choices.TRACKINGS`.
        says: what it is, in a sentence for reports.
        clips: whether each motor is clipped by itself; else the shortage is shared.
        printed: whether it is Algorithm 1 of 001, which runs in the controller's cycles.
    """

    name: str
    says: str
    clips: bool = False
    printed: bool = False


DRIVE = TrackingLaw("drive", "the joints share a shortage of torque")
AXES = TrackingLaw("axes", "every motor is clipped by itself", clips=True)
ALGORITHM_1 = TrackingLaw("algorithm-1", "Algorithm 1 of 001 as printed: the planner's speed, lags stay", printed=True)


class TrackingGains(NamedTuple):
    """K_p and K_v [1/s]. Nobody knows a maker's: results that hang on them are not to be believed."""

    position: float = 30.0
    speed: float = 300.0


class Trips(NamedTuple):
    """When a drive switches off: lag [rad; m of joints that slide], and speed as a multiple of its limit."""

    lag: float = 0.2
    speed: float = 1.2


class DriveState(NamedTuple):
    """What a step hands on.

    Attributes:
        q, qd, heat: (n,) as in `motor_cycle.MotorState`.
        lag, speed: (n,) largest |e| [rad or m], and largest speed over its limit, so far.
        steps: (1,) how many were done before a trip.
        off: (1,) 1.0 after a trip; then nothing changes any more.
        trip_lag, trip_speed: (n,) |e| and speed over its limit where the drive tripped.
    """

    q: Traced
    qd: Traced
    heat: Traced
    lag: Traced
    speed: Traced
    steps: Traced
    off: Traced
    trip_lag: Traced
    trip_speed: Traced


class DriveStep(NamedTuple):
    """The new state, and of the step: where its forces were taken (q0, qd0), and the fields of `motor_cycle.Cycle`."""

    q: Traced
    qd: Traced
    heat: Traced
    lag: Traced
    speed: Traced
    steps: Traced
    off: Traced
    trip_lag: Traced
    trip_speed: Traced
    q0: Traced
    qd0: Traced
    qdd: Traced
    torque: Traced
    wanted: Traced
    limit: Traced
    saturated: Traced
    clipped: Traced


class DriveSettings(NamedTuple):
    """Numbers that may differ from lane to lane, each (1,): gains, clip (1.0 for `AXES`), bounds of a trip."""

    k_p: Traced
    k_v: Traced
    clip: Traced
    most_lag: Traced
    most_speed: Traced


def shared(side: ActuatorSide, qdd: Traced, limit: Traced) -> Limited:
    """Scale all accelerations alike until the torques fit: the largest s ≤ 1 for which u + s H q̈ is within limits."""
    wanted = side.torque(qdd)
    moving = wanted - side.u
    s: Any = 1.0
    for i in np.flatnonzero(_bounded(limit)):
        left = np.where(moving[i] > 0.0, limit[i] - side.u[i], limit[i] + side.u[i])
        size = np.abs(moving[i])
        s = np.minimum(s, np.where(size > TINY_TORQUE, left / np.maximum(size, TINY_TORQUE), 1.0))
    s = np.maximum(s, 0.0)  # negative where u alone does not fit, which is not this rule's case
    over = np.where(np.abs(wanted) > limit, 1.0, 0.0)
    return Limited(s * qdd, side.u + s * moving, wanted, over)


def _bounded(limit: Traced) -> Array:
    """Return which motors have a torque limit (n,); limits along a curve are symbols, and finite."""
    return np.array([not (isinstance(x, int | float | np.floating) and np.isinf(x)) for x in limit])


def correction(e: Traced, side: ActuatorSide, limit: Traced, k_p: Traced) -> Traced:
    """Return K_p e (n,), within the speeds from which the joints can brake in e."""
    c = k_p * e
    bounded = _bounded(limit)
    out = []
    for i in range(len(e)):
        if not bounded[i]:
            out.append(c[i])
            continue
        left = np.maximum(LEAST_BRAKING_SHARE * limit[i], limit[i] - np.abs(side.u[i]))
        most = np.sqrt(2.0 * BRAKING_SHARE * left / np.abs(side.H[i, i]) * np.abs(e[i]))
        out.append(np.clip(c[i], -most, most))
    return np.array(out)


def drive_step(
    robot: Robot,
    drives: Drives,
    h: float,
    state: DriveState,
    settings: DriveSettings,
    plan: tuple[Traced, Traced, Traced],
    wrench: Traced | None = None,
    payload: Traced | None = None,
) -> DriveStep:
    """Run one step of `h` [s] with the plan's q, q̇, q̈ (n,) at its beginning; on floats or on symbols.

    The motor side is that of Algorithm 1: gears, rotors and friction count, M and n above are H_a and u′_a. Wrench
    (6,) and payload (10,) as in `motor_cycle.cycle`.
    """
    q, qd = state.q, state.qd
    q_r, qd_r, qdd_r = plan
    tree = tree_of(robot, regroup=True)
    if payload is not None:
        tree = loaded(tree, payload)
    H, u = joint_side(tree, q, qd, wrench, dry=joint_friction(robot))
    if drives.reflected is not None:
        H, u = H + drives.reflected, u + drives.drag @ qd
    motors = Motors.of(drives.actuators)
    limit = drives.torque_at(drives.actuators.gear @ qd)

    e = q_r - q
    # friction takes its sense from an acceleration: the plan's, until the law has its own
    asked = qd_r + correction(e, consistent(motors, H, u, qd, qdd_r, h), limit, settings.k_p[0])
    allowed = drives.within_speeds(asked)
    cut = np.abs(asked - allowed) > 1e-12 * np.abs(asked)
    wish = np.where(cut, 0.0, qdd_r) + settings.k_v[0] * (allowed - qd)
    side = consistent(motors, H, u, qd, wish, h)
    fits, clipped = shared(side, wish, limit), full(side, wish, limit)
    falls = np.any(np.abs(side.u) > limit)
    alone = np.logical_or(falls, settings.clip[0] > 0.5)
    qdd, torque = (np.where(alone, getattr(clipped, name), getattr(fits, name)) for name in ("qdd", "torque"))

    qd_new = qd + h * qdd
    use = speed_use(drives, qd_new)
    away = np.abs(e)
    beyond = np.logical_or(np.any(away > settings.most_lag[0]), np.any(use > settings.most_speed[0]))
    was_off = state.off[0] > 0.5
    stays = np.logical_or(was_off, beyond)
    now = np.logical_and(beyond, np.logical_not(was_off))
    warming = state.heat + drives.warming(h) * ((torque * drives.per_continuous) ** 2 - state.heat)
    return DriveStep(
        q=np.where(stays, q, q + h * qd_new),
        qd=np.where(stays, qd, qd_new),
        heat=np.where(stays, state.heat, warming),
        lag=np.where(was_off, state.lag, np.maximum(state.lag, away)),
        speed=np.where(stays, state.speed, np.maximum(state.speed, use)),
        steps=state.steps + np.where(stays, 0.0, 1.0),
        off=np.array([np.where(stays, 1.0, 0.0)]),
        trip_lag=np.where(now, away, state.trip_lag),
        trip_speed=np.where(now, use, state.trip_speed),
        q0=q + 0.0,
        qd0=qd + 0.0,
        qdd=qdd,
        torque=torque,
        wanted=fits.wanted,
        limit=np.array([x + 0.0 for x in limit]),
        saturated=fits.saturated,
        clipped=np.where(cut, 1.0, 0.0),
    )


def speed_use(drives: Drives, qd: Traced) -> Traced:
    """Return (n,) the larger of |q̇|/limit of a joint and |K q̇|/limit of its motor; 0 where there is none."""
    a = drives.actuators
    turning = a.gear @ qd
    out = []
    for i in range(len(drives.speed)):
        use: Any = 0.0 * qd[i]
        if np.isfinite(drives.speed[i]):
            use = np.maximum(use, np.abs(qd[i]) / drives.speed[i])
        if np.isfinite(a.speed_limit[i]):
            use = np.maximum(use, np.abs(turning[i]) / a.speed_limit[i])
        out.append(use)
    return np.array(out)
