# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 of 001 (§3.11): one controller cycle from where the arm is to where its motors can take it.

    1  q̇ := (wish − q)/Δt, within the speed limits of joints and motors
    2  q̈ := (q̇ − q̇(t_k))/Δt
    3  H, u′ of the links at t_k                        4  H_a, u′_a, u_a of the motors
    5  torques within what the motors have at their speed
    6  the accelerations that come of it, by a rule (see `rules`)
    7  q̇(t_k+1) = q̇(t_k) + q̈Δt,  q(t_k+1) = q(t_k) + q̇(t_k+1)Δt

One NumPy function of one cycle; whoever runs it (a program, a stream, a controller in C) traces the same source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics.actuator_side import Motors, Side, consistent, joint_friction, joint_side
from armwright.errors import InputError
from armwright.programs.motors.drives import Drives
from armwright.programs.motors.payload import loaded
from armwright.programs.motors.rules import Rule, full
from armwright.robot.tree import tree_of

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Traced


@dataclass(frozen=True, slots=True)
class Algorithm:
    """How a cycle is computed.

    Attributes:
        rule: what happens at a torque limit.
        side: how the joint side becomes the motor side.
        catch_up: whether an axis that fell behind is sent to the wished position (dead beat), or only told the wished
            speed (the arm then keeps its lag).
        motor_speed: whether the motors' speed limits count beside those of the joints.
        clip: whether speeds beyond their limits are cut, or only flagged.
    """

    rule: Rule = full
    side: Side = consistent
    catch_up: bool = True
    motor_speed: bool = True
    clip: bool = True


class State(NamedTuple):
    """What a cycle hands on to the next, each (n,): position, speed, heat, and the last wished position."""

    q: Any
    qd: Any
    heat: Any
    wish: Any


class Cycle(NamedTuple):
    """What one cycle came to, each (n,).

    Attributes:
        q, qd, heat, wish: state at its end; heat is the motor's (torque/continuous torque)², through its thermal lag:
            1 is what it may have for ever, 0 where its data are unknown.
        qdd: accelerations that happened.
        torque, wanted: motor torques applied, and those that the wish would have taken [N m].
        limit: torque that the motor had at its speed [N m].
        saturated, clipped: 1.0 where the motor was at its torque limit; where the wished speed was cut.
    """

    q: Any
    qd: Any
    heat: Any
    wish: Any
    qdd: Any
    torque: Any
    wanted: Any
    limit: Any
    saturated: Any
    clipped: Any


def cycle(
    robot: Robot,
    drives: Drives,
    algorithm: Algorithm,
    dt: float,
    state: State,
    q_next: Any,
    wrench: Traced = None,
    payload: Any = None,
    friction: Traced = None,
    torque: Traced = None,
) -> Cycle:
    """Run one cycle; on floats or on symbols.

    Args:
        robot: the arm.
        drives: its motors and limits.
        algorithm: how.
        dt: Δt [s].
        state: at t_k.
        q_next: wished position at t_k+1 (n,).
        wrench: (6,) what the world does to the tool, tool origin, base axes.
        payload: (10,) load on the tool, see `payload`.
        friction: factor of all motor friction, 1 if omitted.
        torque: (n,) factors of the torque limits, 1 if omitted.
    """
    q, qd = state.q, state.qd
    tree = tree_of(robot, regroup=True)
    if payload is not None:
        tree = loaded(tree, payload)
    fraction = 1.0 if friction is None else friction[0]

    asked = (q_next - (q if algorithm.catch_up else state.wish)) / dt
    allowed = drives.within_speeds(asked, motors=algorithm.motor_speed)
    clipped = np.where(np.abs(asked - allowed) > 1e-12 * np.abs(asked), 1.0, 0.0)
    qdd = ((allowed if algorithm.clip else asked) - qd) / dt

    H, u = joint_side(tree, q, qd, wrench, dry=joint_friction(robot))
    if drives.reflected is not None:
        H, u = H + drives.reflected, u + fraction * (drives.drag @ qd)
    side = algorithm.side(Motors.of(drives.actuators, fraction), H, u, qd, qdd, dt)
    limit = drives.torque_at(drives.actuators.gear @ qd)
    limit = limit if torque is None else limit * torque
    found = algorithm.rule(side, qdd, limit)

    qd_new = qd + found.qdd * dt
    q_new = q + qd_new * dt
    warming = state.heat + drives.warming(dt) * ((found.torque * drives.per_continuous) ** 2 - state.heat)
    return Cycle(q_new, qd_new, warming, q_next, found.qdd, found.torque, found.wanted, limit, found.saturated, clipped)


def period(dt: float) -> float:
    """Check the length of a cycle [s]."""
    if not (isinstance(dt, int | float | np.floating | np.integer) and np.isfinite(dt) and dt > 0.0):
        raise InputError(f"dt: the cycle must last a finite time > 0 s, got {dt!r}")
    return float(dt)
