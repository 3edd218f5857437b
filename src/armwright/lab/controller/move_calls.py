# SPDX-License-Identifier: Apache-2.0
"""Literal script calls and register commands become motions; what cannot be obeyed is refused with a reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.lab.controller import controller as core
from armwright.lab.controller.motions import (
    JointLimits,
    JointMove,
    JointServo,
    JointSpeed,
    Motion,
    Stretch,
    ToolSpeed,
    brake,
)
from armwright.lab.controller.move_chains import Chain, Maker, ToolCourse
from armwright.lab.controller.path_move import PathMove
from armwright.lab.controller.tool_way import LinePiece, ToolWay
from armwright.lab.wire.script_text import Call, PoseLiteral
from armwright.motion.trajectory import Reference

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller
    from armwright.types import Array

LARGEST_POSITION = 3.0  # [m]: positions beyond are refused without a search
FARTHEST_POSITION = 1000.0  # [m, rad] of what counts as a pose at all
MOST_ANGLE = 4.0 * np.pi
LEAST_WAY = 1e-6  # [m] between two points of a course
OPPOSITE_LEGS_COSINE = -0.985  # cosine between two legs of a course that are nearly opposite: no arc fits
MOST_RADIUS = 2.0  # of a blend [m]
REACHED_POSE_ERROR = 1e-6  # error of a pose that counts as reached [m, rad]
RESTING_SPEED = 1e-9  # [rad/s]: an arm that is slower rests
MOVES_AT_ONCE = 8  # moves that may be planned within a tick: 1 ms at most
TO_A_GOAL = ("movej", "movel", "movep")


def six(numbers: Sequence[float], what: str, most: float) -> Array:
    """Return six finite numbers within ±most."""
    values = np.array(numbers, dtype=np.float64)
    if values.shape != (6,) or not np.isfinite(values).all() or np.abs(values).max() > most:
        raise InputError(f"{what}: six numbers within ±{most:g} needed")
    return values


def pose_goal(goal: Sequence[float]) -> Array:
    """Return a TCP pose that may be within reach."""
    pose = six(goal, "pose", max(LARGEST_POSITION, MOST_ANGLE))
    if np.abs(pose[:3]).max() > LARGEST_POSITION:
        raise InputError(f"pose: no arm reaches {np.round(pose[:3], 3).tolist()}")
    return pose


def tool_goal(goal: Sequence[float]) -> Array:
    """Return a TCP pose at the end of a way of the tool, within reach or not: the arm goes as far as it can."""
    return six(goal, "pose", FARTHEST_POSITION)


def joint_goal(c: Controller, goal: Sequence[float]) -> Array:
    """Return joints within their range."""
    q = six(goal, "joints", MOST_ANGLE)
    robot = c.plant.robot
    if (q > robot.upper).any() or (q < robot.lower).any():
        raise InputError(f"joints {np.round(q, 3).tolist()} leave their range")
    return q


def reached(found: Array | None, pose: Array) -> Array:
    """Return the configuration that was found.

    Raises:
        InputError: there is none.
    """
    if found is None:
        raise InputError(f"no configuration reaches {np.round(pose, 4).tolist()}")
    return found


def rates(c: Controller, v: float, a: float, tool: bool) -> tuple[float, float]:
    """Return speed and acceleration within (0, limit]; those of joints are those of the fastest joint."""
    most_v, most_a = (3.0, 150.0) if tool else (float(c.most_speed.max()), float(c.most_acceleration.max()))
    if not (np.isfinite(v) and np.isfinite(a) and v > 0.0 and a > 0.0):
        raise InputError(f"speed and acceleration must be > 0, got {v} and {a}")
    return min(v, most_v), min(a, most_a)


def joint_limits(c: Controller, share: float = 1.0) -> JointLimits:
    """Return what the joints may do, or a share of it."""
    return JointLimits(share * c.most_speed, share * c.most_acceleration)


def joint_move(c: Controller, start: Reference, q: Array, v: float, a: float, radius: float = 0.0) -> JointMove:
    """Return the motion of a movej."""
    place, limits = lambda at: c.plant.pose_of(at)[:3], joint_limits(c)
    return JointMove(start.q, q, *rates(c, v, a, tool=False), place, limits, radius=radius)


def line_move(c: Controller, start: Reference, pose: Array, v: float, a: float, radius: float = 0.0) -> PathMove:
    """Return the motion of a movel."""
    way = ToolWay([LinePiece(c.plant.pose_of(start.q), pose)])
    return PathMove(start, way, *rates(c, v, a, tool=True), c.plant.towards, joint_limits(c), radius=radius)


def tool_speed(c: Controller, start: Reference, speed: Sequence[float], a: float, time: float) -> ToolSpeed:
    """Return the motion of a speedl; a time of 0 counts for a second."""
    wanted, (_, a) = six(speed, "speed", 10.0), rates(c, 1.0, a, tool=True)
    motion = ToolSpeed(start, c.plant.pose_of(start.q), wanted, a, time if time > 0.0 else 1.0, c.plant.towards)
    motion.take_over(c.motion)
    return motion


def joint_speed(c: Controller, start: Reference, speed: Sequence[float], a: float, time: float) -> JointSpeed:
    """Return the motion of a speedj; joint speeds are clipped to their limits, a time of 0 counts for a second."""
    wanted = np.clip(six(speed, "speed", 100.0), -c.most_speed, c.most_speed)
    return JointSpeed(start, wanted, rates(c, 1.0, a, tool=False)[1], time if time > 0.0 else 1.0)


def servo_joints(c: Controller, goal: Array, time: float, lookahead: float, gain: float) -> None:
    """Servoj: aim the servo that is under way, or begin one."""
    motion = c.motion
    if not (c.moving and isinstance(motion, JointServo)):
        motion = JointServo(c.reference, c.most_speed, c.most_acceleration)
        c.begin(motion)
    motion.aim(goal, time if time > 0.0 else 0.008, lookahead, gain)


def _first(call: Call) -> tuple[Sequence[float], bool]:
    """Return the first six numbers, and whether they are a pose."""
    first = call.values[0] if call.values else call.named.get("pose", call.named.get("q", call.named.get("qd", ())))
    numbers = first.numbers if isinstance(first, PoseLiteral) else first
    if not isinstance(numbers, tuple):
        raise InputError(f"{call.name}: a list of six numbers must come first")
    return numbers, isinstance(first, PoseLiteral)


def servo_call(c: Controller, call: Call) -> None:
    """Obey a literal servoj that comes alone."""
    servo_joints(c, *_servo_target(c, call))


def _servo_target(c: Controller, call: Call) -> tuple[Array, float, float, float]:
    numbers, is_pose = _first(call)
    if is_pose:
        raise InputError("servoj: joints needed, not a pose")
    lookahead, gain = call.number(4, "lookahead_time", 0.1), call.number(5, "gain", 300.0)
    return joint_goal(c, numbers), call.number(3, "t", 0.002), lookahead, gain


def needs_inverse(calls: Sequence[Call]) -> bool:
    """Return whether joints have to be found for a pose before the moves can be made."""
    return any(call.name == "movej" and _first(call)[1] for call in calls)


def with_joints(c: Controller, calls: Sequence[Call], q: Array, tcp: Array) -> list[Call]:
    """Return the moves with joints in place of movej's poses, nearest to where the arm then is; q (6,): at first.

    Raises:
        InputError: a pose that cannot be reached.
    """
    out = []
    for call in calls:
        if call.name in TO_A_GOAL:
            numbers, is_pose = _first(call)
            pose = pose_goal(numbers) if is_pose else np.zeros(6)
            found = c.plant.inverse(pose, q, tcp) if is_pose else joint_goal(c, numbers)
            if call.name == "movej":
                joints = tuple(reached(found, pose).tolist())
                named = {name: value for name, value in call.named.items() if name not in ("pose", "q")}
                call = Call(call.name, (joints, *call.values[1:]), named)
            q = q if found is None else found
        out.append(call)
    return out


def motion_of(c: Controller, call: Call, start: Reference) -> Motion:
    """Return the motion of a literal call from where an earlier one ends; poses of movej are joints by now."""
    if call.name in ("stopj", "stopl"):
        first = call.values[0] if call.values else None
        a = first if isinstance(first, float) else call.number(0, "a", 2.0)
        return brake(start, rates(c, 1.0, float(a), tool=False)[1])
    if call.name == "servoj":
        servo = JointServo(start, c.most_speed, c.most_acceleration)
        servo.aim(*_servo_target(c, call))
        return servo
    numbers, is_pose = _first(call)
    if call.name in ("speedj", "speedl"):
        speed = joint_speed if call.name == "speedj" else tool_speed
        return speed(c, start, numbers, call.number(1, "a", 1.4), call.number(2, "t", 1.0))
    a, v = _rates_of(call)
    if call.name == "movej":
        move: Stretch = joint_move(c, start, joint_goal(c, numbers), v, a)
    else:
        move = line_move(c, start, _tool_goal(c, numbers, is_pose), v, a)
    time = call.number(3, "t", 0.0) if call.name != "movep" else 0.0
    if time > 0.0:
        move.last(time, *rates(c, 100.0, 1000.0, tool=call.name != "movej"))
    return move


def _tool_goal(c: Controller, numbers: Sequence[float], is_pose: bool) -> Array:
    """Return a TCP pose, or where joints bring the TCP."""
    return pose_goal(numbers) if is_pose else c.plant.pose_of(joint_goal(c, numbers))


def _rates_of(call: Call) -> tuple[float, float]:
    tool = call.name != "movej"
    a = call.number(1, "a", core.TOOL_ACCELERATION if tool else core.JOINT_ACCELERATION)
    return a, call.number(2, "v", core.TOOL_SPEED if tool else core.JOINT_SPEED)


def _radius(call: Call) -> float:
    r = call.number(3 if call.name == "movep" else 4, "r", 0.0)
    if not 0.0 <= r <= MOST_RADIUS:
        raise InputError(f"{call.name}: a blend radius of 0 to {MOST_RADIUS:g} m, got {r}")
    return r


def _course(c: Controller, calls: Sequence[Call], before: Array) -> Maker:
    """Return what makes several movep one path from a TCP pose (6,) on; v and a are those of the first."""
    a, v = _rates_of(calls[0])
    poses = np.array([before, *[_tool_goal(c, *_first(call)) for call in calls]])
    legs = np.diff(poses[:, :3], axis=0)
    ways = np.linalg.norm(legs, axis=1)
    if (
        ways.min() < LEAST_WAY
        or (np.sum(legs[:-1] * legs[1:], axis=1) < OPPOSITE_LEGS_COSINE * ways[:-1] * ways[1:]).any()
    ):
        return partial(Chain, [partial(motion_of, c, call) for call in calls])  # the path only turns, or turns back
    start = Reference(c.reference.q, np.zeros(6), np.zeros(6))
    radii = [_radius(call) for call in calls[:-1]]
    return ToolCourse(start, poses, radii, *rates(c, v, a, tool=True), c.plant.towards).begin


def _course_later(c: Controller, calls: Sequence[Call]) -> Maker:
    """Return the same for a path of which the beginning is not known yet; it is planned in a tick."""
    if len(calls) > MOVES_AT_ONCE:
        raise InputError(f"movep: more than {MOVES_AT_ONCE} that blend must follow a movej, movel or movep")
    return lambda start: _course(c, calls, c.plant.pose_of(start.q))(start)


def _end_pose(c: Controller, call: Call) -> Array | None:
    """Return the TCP pose (6,) at which a call ends, None where it tells no goal."""
    return _tool_goal(c, *_first(call)) if call.name in TO_A_GOAL else None


def planned(c: Controller, calls: Sequence[Call], q: Array, tcp: Array) -> Chain:
    """Return literal moves from q (6,) on, poses of movej solved; long programs take long: not in a tick."""
    return path(c, with_joints(c, calls, q, tcp) if needs_inverse(calls) else calls, q)


def still_there(c: Controller, start: Array) -> None:
    """Check that the arm is where moves were planned from.

    Raises:
        InputError: it was moved in the meantime.
    """
    if not np.array_equal(c.reference.q, start):
        raise InputError("moves: the arm was moved before they could begin")


def path(c: Controller, calls: Sequence[Call], q: Array) -> Chain:
    """Return literal moves from q (6,) on, with their blends; several movep that blend are one path."""
    makers: list[Maker] = []
    radii: list[float] = []
    firsts: list[int] = []
    k = 0
    while k < len(calls):
        run = k  # the last of the movep that belong to the one at k
        while calls[run].name == "movep" and run + 1 < len(calls) and calls[run + 1].name == "movep":
            if not _radius(calls[run]) > 0.0:
                break
            run += 1
        if run > k:
            course = calls[k : run + 1]
            before = _end_pose(c, calls[k - 1]) if k else c.plant.pose_of(q)
            makers.append(_course_later(c, course) if before is None else _course(c, course, before))
            radii.append(0.0)
        else:
            makers.append(partial(motion_of, c, calls[k]))
            radii.append(_radius(calls[k]) if calls[k].name in TO_A_GOAL else 0.0)
        firsts.append(k)
        k = run + 1
    return Chain(makers, Reference(q, np.zeros(6), np.zeros(6)), radii, firsts)


def last_settings(calls: Iterable[Call]) -> Iterable[Call]:
    """Return of the settings of one thing the last: those before it would change nothing."""
    last: dict[object, Call] = {}
    for call in calls:
        key: tuple[object, ...] = (call.name, *map(type, call.values))
        if call.name.endswith("digital_out"):
            key = ("digital_out", call.values[:1], len(call.values) > 1)
        last.pop(key, None)  # in the order of the last ones
        last[key] = call
    return last.values()


def setting(c: Controller, call: Call) -> None:
    """Obey set_tcp, set_payload and digital outputs."""
    first = call.values[0] if call.values else None
    if call.name == "set_tcp" and isinstance(first, PoseLiteral):
        c.plant.tcp[...] = six(first.numbers, "tcp", max(1.0, 2.0 * np.pi))
    elif call.name == "set_payload" and isinstance(first, float):
        centre = call.values[1] if len(call.values) > 1 else (0.0, 0.0, 0.0)
        c.plant.told(first, np.array(centre if isinstance(centre, tuple) and len(centre) == 3 else (0.0, 0.0, 0.0)))
    elif isinstance(first, float) and 0 <= first < 8 and len(call.values) > 1:
        bit = 1 << int(first)
        c.registers.digital = c.registers.digital | bit if call.values[1] else c.registers.digital & ~bit
