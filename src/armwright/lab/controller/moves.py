# SPDX-License-Identifier: Apache-2.0
"""Literal script calls and register commands become motions; what cannot be obeyed is refused with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.lab.controller import core
from armwright.lab.controller.motions import JointMove, JointSpeed, LineMove, Motion, ToolSpeed, brake
from armwright.lab.wire.script import Call, Pose
from armwright.motion.reference import Reference

if TYPE_CHECKING:
    from armwright.lab.controller.core import Controller
    from armwright.types import Array

REACH = 3.0  # [m]: positions beyond are refused unseen


def _six(numbers: Sequence[float], what: str, most: float) -> Array:
    values = np.array(numbers, dtype=np.float64)
    if values.shape != (6,) or not np.isfinite(values).all() or np.abs(values).max() > most:
        raise InputError(f"{what}: six numbers within ±{most:g} needed")
    return values


def _rates(c: Controller, v: float, a: float, tool: bool) -> tuple[float, float]:
    """Speed and acceleration within (0, limit]."""
    most_v, most_a = (3.0, 150.0) if tool else (float(c.most_speed.min()), float(c.most_acceleration.max()))
    if not (np.isfinite(v) and np.isfinite(a) and v > 0.0 and a > 0.0):
        raise InputError(f"speed and acceleration must be > 0, got {v} and {a}")
    return min(v, most_v), min(a, most_a)


def configuration(c: Controller, goal: Sequence[float], *, is_pose: bool, near: Array | None = None) -> Array:
    """Joint positions of a goal: joints themselves, or a TCP pose through the inverse kinematics."""
    if not is_pose:
        q = _six(goal, "joints", 4.0 * np.pi)
        robot = c.plant.robot
        if (q > robot.upper).any() or (q < robot.lower).any():
            raise InputError(f"joints {np.round(q, 3).tolist()} leave their range")
        return q
    pose = _six(goal, "pose", max(REACH, 4.0 * np.pi))
    q_near = c.reference.q if near is None else near
    found = c.plant.inverse(pose, q_near)
    if found is None:
        raise InputError(f"no configuration reaches {np.round(pose, 4).tolist()}")
    return found


def joint_move(c: Controller, goal: Sequence[float], v: float, a: float, *, is_pose: bool) -> JointMove:
    """Movej to joints or to a pose."""
    q = configuration(c, goal, is_pose=is_pose)
    return JointMove(c.reference.q, q, *_rates(c, v, a, tool=False))


def line_move(c: Controller, goal: Sequence[float], v: float, a: float, *, is_pose: bool) -> LineMove:
    """Movel to a pose, or to where joints would bring the TCP."""
    pose = _six(goal, "pose", max(REACH, 4.0 * np.pi)) if is_pose else c.plant.pose_of(_six(goal, "joints", 13.0))
    return LineMove(c.reference, c.target_pose(), pose, *_rates(c, v, a, tool=True), c.plant.towards)


def tool_speed(c: Controller, speed: Sequence[float], a: float, time: float) -> ToolSpeed:
    """Speedl."""
    wanted = _six(speed, "speed", 10.0)
    motion = ToolSpeed(c.reference, c.target_pose(), wanted, _rates(c, 1.0, a, tool=True)[1], time, c.plant.towards)
    motion.take_over(c.motion)
    return motion


def joint_speed(c: Controller, speed: Sequence[float], a: float, time: float) -> JointSpeed:
    """Speedj; joints faster than their limit are limited."""
    wanted = np.clip(_six(speed, "speed", 100.0), -c.most_speed, c.most_speed)
    return JointSpeed(c.reference, wanted, _rates(c, 1.0, a, tool=False)[1], time)


def motion_of(c: Controller, call: Call) -> Motion:
    """The motion of a literal move from where the reference is now."""
    first = call.values[0] if call.values else call.named.get("pose", call.named.get("q", call.named.get("qd", ())))
    if call.name in ("stopj", "stopl"):
        a = first if isinstance(first, float) else call.number(0, "a", 2.0)
        return brake(c.reference, _rates(c, 1.0, float(a), tool=False)[1])
    is_pose = isinstance(first, Pose)
    numbers = first.numbers if isinstance(first, Pose) else first
    if not isinstance(numbers, tuple):
        raise InputError(f"{call.name}: a list of six numbers must come first")
    if call.name in ("speedj", "speedl"):
        a, time = call.number(1, "a", 1.4), call.number(2, "t", 1.0)
        make = joint_speed if call.name == "speedj" else tool_speed
        return make(c, numbers, a, time if time > 0.0 else 1.0)
    tool = call.name in ("movel", "movep")
    a = call.number(1, "a", core.TOOL_ACCELERATION if tool else core.JOINT_ACCELERATION)
    v = call.number(2, "v", core.TOOL_SPEED if tool else core.JOINT_SPEED)
    if call.name == "servoj":
        a, v = core.JOINT_ACCELERATION, core.JOINT_SPEED
    return (line_move if tool else joint_move)(c, numbers, v, a, is_pose=is_pose)


def motion_from(c: Controller, call: Call, start: Reference) -> Motion:
    """The same from where an earlier move ends."""
    c.reference = Reference(start.q, np.zeros(6), np.zeros(6))
    return motion_of(c, call)


def setting(c: Controller, call: Call) -> None:
    """set_tcp, set_payload and digital outputs."""
    first = call.values[0] if call.values else None
    if call.name == "set_tcp" and isinstance(first, Pose):
        c.plant.tcp[...] = _six(first.numbers, "tcp", max(1.0, 2.0 * np.pi))
    elif call.name == "set_payload" and isinstance(first, float):
        centre = call.values[1] if len(call.values) > 1 else (0.0, 0.0, 0.0)
        c.plant.told(first, np.array(centre if isinstance(centre, tuple) and len(centre) == 3 else (0.0, 0.0, 0.0)))
    elif isinstance(first, float) and 0 <= first < 8 and len(call.values) > 1:
        bit = 1 << int(first)
        c.registers.digital = c.registers.digital | bit if call.values[1] else c.registers.digital & ~bit
