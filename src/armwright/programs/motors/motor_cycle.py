# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 of 001: one controller cycle from where the arm is to where its motors can take it.

    1  q̇ := (wish − q)/Δt, within the speed limits of joints and motors
    2  q̈ := (q̇ − q̇(t_k))/Δt
    3  H, u′ of the links at t_k                        4  H_a, u′_a, u_a of the motors
    5  torques within what the motors have at their speed
    6  the accelerations that follow, by a rule
    7  q̇(t_k+1) = q̇(t_k) + q̈Δt,  q(t_k+1) = q(t_k) + q̇(t_k+1)Δt

`cycle` is one NumPy function; a program, a stream and a controller in C trace the same source.

A rule (steps 5 and 6) takes the motor side of one cycle, the wished accelerations and the torques at hand, and returns
what really happens where a motor cannot give its torque. The rule that the document prints ("if i_ui = 1 then q̈_i
takes the new value") is in `studies.doc001_erfd`.

A load on the tool is ten numbers (`armwright.robot.loaded_tree`), which may be symbols, so that it can change from
cycle to cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics.actuator_side import Motors, Side, consistent, joint_friction, joint_side
from armwright.errors import InputError
from armwright.programs.motors.motor_limits import Drives
from armwright.robot.loaded_tree import loaded
from armwright.robot.tree import tree_of
from armwright.spatial.linear import solve_from_last

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.dynamics.actuator_side import ActuatorSide
    from armwright.robot.model import Robot
    from armwright.types import Array, Traced


def point_mass(mass: float, com: Sequence[float] | Array = (0.0, 0.0, 0.0)) -> Array:
    """Return the payload (10,) of a point mass [kg] at `com` (3,) in the tool frame [m].

    Example:
        >>> point_mass(2.0, (0.0, 0.0, 0.05))  # (10,): 2 kg, 5 cm in front of the flange
    """
    return np.array([mass, *com, *[0.0] * 6], dtype=np.float64)


class Limited(NamedTuple):
    """q̈ that happens, motor torques applied and wanted, 1.0 where a motor was at its limit; each (n,)."""

    qdd: Traced
    torque: Traced
    wanted: Traced
    saturated: Traced


Rule = Callable[["ActuatorSide", Any, Any], Limited]


def full(side: ActuatorSide, qdd: Traced, limit: Traced) -> Limited:
    """Clip the torques and take every acceleration from the clipped system: the limits hold always."""
    wanted = side.torque(qdd)
    over = np.abs(wanted) > limit
    torque = np.clip(wanted, -limit, limit)
    happens = side.accelerations(torque)
    return Limited(np.where(np.any(over), happens, qdd), torque, wanted, np.where(over, 1.0, 0.0))


def partitioned(side: ActuatorSide, qdd: Traced, limit: Traced) -> Limited:
    """Keep the wish of every axis whose motor can follow; solve for the others with their torques at the limit.

    With S the saturated motors and U the rest, H_SS q̈_S = (±M − u′)_S − H_SU q̈_U; motors of U that this drives beyond
    their limit join S; this is repeated n times at most. Motor i is taken to drive mainly axis i.
    """
    n = len(qdd)
    wanted = side.torque(qdd)
    held, torque, happens = wanted, wanted, qdd
    at_limit = np.abs(wanted) > limit
    eye = np.eye(n)
    for _ in range(n):
        held = np.where(at_limit, np.where(held > 0.0, limit, -limit), held)
        rows = [np.where(at_limit[i], side.H[i], eye[i]) for i in range(n)]
        happens = solve_from_last(np.array(rows), np.where(at_limit, held - side.u, qdd))
        needed = side.torque(happens)
        torque = np.where(at_limit, held, needed)
        held = torque
        at_limit = np.logical_or(at_limit, np.abs(needed) > limit * (1.0 + 1e-12))
    bound = np.any(np.abs(wanted) > limit)
    return Limited(np.where(bound, happens, qdd), np.where(bound, torque, wanted), wanted, np.where(at_limit, 1.0, 0.0))


def unlimited(side: ActuatorSide, qdd: Traced, limit: Traced) -> Limited:
    """Take the wish as it is, and flag what the motors could not give: the program without Algorithm 1."""
    wanted = side.torque(qdd)
    return Limited(qdd, wanted, wanted, np.where(np.abs(wanted) > limit, 1.0, 0.0))


RULES: dict[str, Rule] = {"full": full, "partitioned": partitioned, "unlimited": unlimited}


def find_rule(rule: str | Rule) -> Rule:
    """Return a rule by name, or the rule itself.

    Example:
        >>> find_rule("partitioned")
    """
    if callable(rule):
        return rule
    if rule not in RULES:
        raise InputError(f"rule: {rule!r} is unknown; there are {', '.join(RULES)}")
    return RULES[rule]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """Choices of how a cycle is computed.

    Attributes:
        rule: what happens at a torque limit.
        side: how the joint side becomes the motor side.
        catch_up: whether an axis that fell behind is sent to the wished position (dead beat), or only told the wished
            speed (the arm then keeps its lag).
        motor_speed: whether the motors' speed limits count as well as those of the joints.
        clip: whether speeds beyond their limits are cut, or only flagged.
    """

    rule: Rule = full
    side: Side = consistent
    catch_up: bool = True
    motor_speed: bool = True
    clip: bool = True


class MotorState(NamedTuple):
    """State that a cycle hands on to the next, each (n,): position, speed, heat, and the last wished position."""

    q: Traced
    qd: Traced
    heat: Traced
    wish: Traced


class Cycle(NamedTuple):
    """Result of one cycle, each (n,).

    Attributes:
        q, qd, heat, wish: state at its end; heat is the motor's (torque/continuous torque)², through its thermal lag:
            1 is what it can stand permanently, 0 where its data are unknown.
        qdd: accelerations that happened.
        torque, wanted: motor torques applied, and those that the wish would have taken [N m].
        limit: torque that the motor had at its speed [N m].
        saturated, clipped: 1.0 where the motor was at its torque limit; where the wished speed was cut.
    """

    q: Traced
    qd: Traced
    heat: Traced
    wish: Traced
    qdd: Traced
    torque: Traced
    wanted: Traced
    limit: Traced
    saturated: Traced
    clipped: Traced


def cycle(
    robot: Robot,
    drives: Drives,
    algorithm: Algorithm,
    dt: float,
    state: MotorState,
    q_next: Traced,
    wrench: Traced | None = None,
    payload: Traced | None = None,
    friction: Traced | None = None,
    torque: Traced | None = None,
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
        payload: (10,) load on the tool, see the module docstring.
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
