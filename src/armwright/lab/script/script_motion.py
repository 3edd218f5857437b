# SPDX-License-Identifier: Apache-2.0
"""Functions of the language that lead the arm. They only begin motions of the controller, and wait for them.

A move that is under way when its thread is killed is braked, unless another motion follows in the same frame.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.lab.controller import instructed_moves as ur
from armwright.lab.controller import move_goals as goals
from armwright.lab.controller.compliant_motions import (
    COULOMB_SCALES,
    VISCOUS_SCALES,
    AxesFreeDrive,
    DirectTorque,
    ForceMode,
    FreeDrive,
)
from armwright.lab.controller.controller_messages import CANNOT_FOLLOW
from armwright.lab.controller.motions import brake
from armwright.lab.controller.tool_servo import ToolServo
from armwright.lab.script.script_arguments import number, numbers, pose_numbers, text, whole
from armwright.lab.script.script_faults import ScriptFault, ScriptHalt
from armwright.lab.script.script_state import joints_near
from armwright.lab.script.script_values import LISTS, PoseValue, ScriptValue, kind_of
from armwright.motion.trajectory import Reference
from armwright.spatial import exp_so3

if TYPE_CHECKING:
    from armwright.lab.script.script_run import ScriptRun
    from armwright.types import Array

Waiting = Generator[object, None, None]
SLOWEST_CHANGE = 1e-6  # [rad/s², m/s²]: speedj may be asked to keep its speed
LEAST_BRAKING = 0.1  # [rad/s², m/s²]
END_OF_MODE_DECELERATION = 10.0  # [rad/s²]
TIME_SLACK = 1e-9  # [s] in sums of steps
MOST_TIME = 1e6  # [s]
FORCE_GAIN = 0.5  # of force mode; what a program sets is relative to it


def check_may_move(m: ScriptRun) -> None:
    """Refuse to move in a secondary program."""
    if m.beside:
        raise ScriptFault("a secondary program may not move the arm")


def told(m: ScriptRun, begin: Callable[[], None], *, to_rest: bool = False) -> Waiting:
    """Begin a motion and wait until the controller says that the instruction is over, or `to_rest` that the arm rests.

    Another motion that takes its place ends the waiting, too.
    """
    check_may_move(m)
    begin()
    motion = m.c.motion
    try:
        while True:
            yield None
            if m.c.motion is not motion or not m.c.moving or (not to_rest and m.c.instructed):
                return
    except GeneratorExit:
        m.orphan = motion
        raise


def told_goal(m: ScriptRun, begin: Callable[[], None]) -> Waiting:
    """Begin a move to a goal and wait for it, see `told`; a program that ends in its blend zone ends at the goal."""
    yield from told(m, begin)
    if m.c.instructed:  # not a move that another thread has begun in its place
        m.passing = m.c.motion


def told_path(m: ScriptRun, planning: ur.Planning) -> Waiting:
    """Plan a move along a way of the tool, begin it and wait for it, see `told_goal`.

    The way is followed through before the arm goes, a bounded part of it in a tick, of all threads one a tick.
    """
    check_may_move(m)
    begin = None
    try:
        while True:
            while m.planned_at == m.c.ticks:
                yield None
            m.planned_at = m.c.ticks
            next(planning)
            yield None
    except StopIteration as planned:
        begin = planned.value
    except GeneratorExit:
        m.orphan = m.c.motion
        raise
    if begin is not None:
        yield from told_goal(m, begin)


def goal_joints(m: ScriptRun, goal: ScriptValue, name: str) -> Generator[object, None, Array]:
    """Return joints (6,): those that are given, or those of a pose."""
    if goal.__class__ is not PoseValue:
        return goals.joint_goal(m.c, numbers(goal, name, 6).tolist())
    pose = goals.pose_goal(pose_numbers(goal, name).tolist())
    near = np.array(m.c.reference.q)
    found = yield from joints_near(m, pose, near, m.c.plant.tcp.copy())
    return goals.reached(found, pose)


def goal_pose(m: ScriptRun, goal: ScriptValue, name: str) -> Array:
    """Return a TCP pose (6,) of a Cartesian motion: that which is given, or where joints bring the tool.

    A pose that is out of reach is no fault of the program: the arm goes as far as it can, and stops there. So programs
    go on in a direction until something happens, with a goal a kilometre away.
    """
    if goal.__class__ is PoseValue:
        pose = pose_numbers(goal, name)
        try:
            return goals.tool_goal(pose.tolist())
        except InputError as error:
            m.c.protective_stop(str(error), CANNOT_FOLLOW)
            raise ScriptHalt from error
    if goal.__class__ not in LISTS:
        raise ScriptFault(f"type_error: {name} is a pose or a list of joints, not a {kind_of(goal)}")
    return m.c.plant.pose_of(goals.joint_goal(m.c, numbers(goal, name, 6).tolist()))


def _rates(a: ScriptValue, v: ScriptValue, t: ScriptValue = 0) -> tuple[float, float, float]:
    """Return acceleration, speed and time; where a time is given the others may be 0."""
    rate, speed, time = number(a, "a"), number(v, "v"), number(t, "t")
    if not 0.0 <= time <= MOST_TIME:
        raise ScriptFault(f"value_error: t is 0 to {MOST_TIME:g} s, got {time:g}")
    if time > 0.0:
        return (rate if rate > 0.0 else 1.0), (speed if speed > 0.0 else 1.0), time
    return rate, speed, time


def _movej(m: ScriptRun, q: ScriptValue, a: ScriptValue, v: ScriptValue, t: ScriptValue, r: ScriptValue) -> Waiting:
    check_may_move(m)
    rates, radius = _rates(a, v, t), number(r, "r")
    goal = yield from goal_joints(m, q, "q")
    yield from told_goal(m, partial(ur.movej, m.c, goal.tolist(), *rates, radius))


def _movel(m: ScriptRun, pose: ScriptValue, a: ScriptValue, v: ScriptValue, t: ScriptValue, r: ScriptValue) -> Waiting:
    goal = goal_pose(m, pose, "pose").tolist()
    yield from told_path(m, ur.movel(m.c, goal, *_rates(a, v, t), number(r, "r")))


def _movep(m: ScriptRun, pose: ScriptValue, a: ScriptValue, v: ScriptValue, r: ScriptValue) -> Waiting:
    goal = goal_pose(m, pose, "pose").tolist()
    yield from told_path(m, ur.movep(m.c, goal, *_rates(a, v)[:2], number(r, "r")))


def _movec(
    m: ScriptRun,
    via: ScriptValue,
    to: ScriptValue,
    a: ScriptValue,
    v: ScriptValue,
    r: ScriptValue,
    mode: ScriptValue,
) -> Waiting:
    over, goal = goal_pose(m, via, "pose_via").tolist(), goal_pose(m, to, "pose_to").tolist()
    turning = whole(mode, "mode", 0, 1)
    yield from told_path(m, ur.movec(m.c, over, goal, *_rates(a, v)[:2], number(r, "r"), turning))


def _optimovej(m: ScriptRun, q: ScriptValue, a: ScriptValue, v: ScriptValue, r: ScriptValue) -> Waiting:
    check_may_move(m)
    rates, radius = _rates(a, v)[:2], number(r, "r")
    goal = yield from goal_joints(m, q, "q")
    yield from told_goal(m, partial(ur.optimovej, m.c, goal.tolist(), *rates, radius))


def _optimovel(m: ScriptRun, pose: ScriptValue, a: ScriptValue, v: ScriptValue, r: ScriptValue) -> Waiting:
    goal = goal_pose(m, pose, "pose").tolist()
    yield from told_path(m, ur.optimovel(m.c, goal, *_rates(a, v)[:2], number(r, "r")))


# --- from frame to frame ----------------------------------------------------------------------------------------------


def _speedj(m: ScriptRun, qd: ScriptValue, a: ScriptValue, t: ScriptValue) -> Waiting:
    speed, rate = numbers(qd, "qd", 6).tolist(), max(number(a, "a"), SLOWEST_CHANGE)
    yield from told(m, partial(ur.speedj, m.c, speed, rate, number(t, "t")))


def _speedl(m: ScriptRun, xd: ScriptValue, a: ScriptValue, t: ScriptValue, aRot: ScriptValue) -> Waiting:
    speed, rate = numbers(xd, "xd", 6).tolist(), max(number(a, "a"), SLOWEST_CHANGE)
    if not (aRot.__class__ is str and aRot == "a"):
        number(aRot, "aRot")
    yield from told(m, partial(ur.speedl, m.c, speed, rate, number(t, "t")))


def _servoj(
    m: ScriptRun,
    q: ScriptValue,
    a: ScriptValue,
    v: ScriptValue,
    t: ScriptValue,
    lookahead: ScriptValue,
    gain: ScriptValue,
) -> Waiting:
    number(a, "a"), number(v, "v")
    time = max(m.step_time, m.step_time if t is None else number(t, "t"))
    if q.__class__ is PoseValue:
        raise ScriptFault("type_error: servoj takes six joint angles, not a pose")
    goal = numbers(q, "q", 6).tolist()
    ahead, strength = number(lookahead, "lookahead_time"), number(gain, "gain")
    yield from told(m, partial(ur.servoj, m.c, goal, min(time, MOST_TIME), ahead, strength))


def frames(m: ScriptRun, time: float) -> Waiting:
    """Wait so long in real time; at least one frame."""
    left = min(time, MOST_TIME)
    while True:
        yield None
        left -= m.step_time
        if left <= TIME_SLACK:
            return


def _servoc(m: ScriptRun, pose: ScriptValue, a: ScriptValue, v: ScriptValue, r: ScriptValue) -> Waiting:
    check_may_move(m)
    number(r, "r")
    goal, motion = goal_pose(m, pose, "pose"), m.c.motion
    if not (m.c.moving and isinstance(motion, ToolServo)):
        motion = ToolServo(m.c.reference, m.c.target_pose(), m.c.plant.towards, m.c.most_speed)
        m.c.begin(motion)
    motion.aim(goal, *goals.rates(m.c, number(v, "v"), number(a, "a"), tool=True))
    yield None


def _direct_torque(
    m: ScriptRun, torque: ScriptValue, friction: ScriptValue, viscous: ScriptValue, coulomb: ScriptValue
) -> Waiting:
    check_may_move(m)
    wanted = goals.six(numbers(torque, "torque", 6).tolist(), "torque", 1000.0)
    usual = (VISCOUS_SCALES, COULOMB_SCALES) if friction is True else (np.zeros(6), np.zeros(6))
    given = zip((viscous, coulomb), usual, strict=True)
    shares = [default if s is None else numbers(s, "a scale", 6) for s, default in given]
    for one in shares:
        if one.min() < 0.0 or one.max() > 1.0:
            raise ScriptFault("value_error: direct_torque: scales of 0 to 1")
    motion = m.c.motion
    if not (m.c.moving and isinstance(motion, DirectTorque)):
        motion = DirectTorque(m.c)
        m.c.begin(motion)
    motion.aim(wanted, *shares)
    yield None


# --- stops and modes --------------------------------------------------------------------------------------------------


def _stopj(m: ScriptRun, a: ScriptValue, qa: ScriptValue) -> Waiting:
    yield from told(m, partial(ur.stopj, m.c, max(number(a, "a"), LEAST_BRAKING)), to_rest=True)


def _stopl(m: ScriptRun, a: ScriptValue, aRot: ScriptValue) -> Waiting:
    yield from told(m, partial(ur.stopl, m.c, max(number(a, "a"), LEAST_BRAKING)), to_rest=True)


def _force_mode(
    m: ScriptRun,
    frame: ScriptValue,
    selection: ScriptValue,
    wrench: ScriptValue,
    kind: ScriptValue,
    limits: ScriptValue,
) -> None:
    check_may_move(m)
    free = numbers(selection, "selection_vector", 6) != 0.0
    task, wanted = pose_numbers(frame, "task_frame"), numbers(wrench, "wrench", 6)
    number_of_kind, most = whole(kind, "type", 1, 3), numbers(limits, "limits", 6)
    motion = m.c.motion
    if not (m.c.moving and isinstance(motion, ForceMode)):
        motion = ForceMode(m.c)
        m.c.begin(motion)
    gain = (FORCE_GAIN if m.force_gain is None else m.force_gain) / FORCE_GAIN
    motion.aim(free, number_of_kind, task, wanted, most, gain)


def _end_force_mode(m: ScriptRun) -> None:
    if isinstance(m.c.motion, ForceMode):
        m.c.begin(brake(m.c.reference, END_OF_MODE_DECELERATION))


def _freedrive(m: ScriptRun, axes: ScriptValue, feature: ScriptValue) -> None:
    check_may_move(m)
    free = (numbers(axes, "freeAxes", 6) != 0.0).astype(np.float64)
    if feature.__class__ is str:
        frame = m.c.target_pose() if text(feature, "feature") == "tool" else np.zeros(6)
    else:
        frame = numbers(feature, "feature", 6)
    m.c.begin(FreeDrive(m.c) if free.all() else AxesFreeDrive(m.c, free, exp_so3(frame[3:])))


def _end_freedrive(m: ScriptRun) -> Waiting:
    if isinstance(m.c.motion, FreeDrive | AxesFreeDrive):
        q, qd = np.array(m.c.plant.live.q), np.array(m.c.plant.live.qd)
        m.c.reference = Reference(q, qd, np.zeros(6))
        yield from told(m, partial(ur.stopj, m.c, END_OF_MODE_DECELERATION), to_rest=True)


def _sleep(m: ScriptRun, t: ScriptValue) -> Waiting:
    time = number(t, "t")
    if not 0.0 <= time <= MOST_TIME:
        raise ScriptFault(f"value_error: sleep: 0 to {MOST_TIME:g} s, got {time:g}")
    yield from frames(m, time)


def _sync(m: ScriptRun) -> Waiting:
    yield None


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "movej": _movej,
    "movel": _movel,
    "movep": _movep,
    "movec": _movec,
    "optimovej": _optimovej,
    "optimovel": _optimovel,
    "servoj": _servoj,
    "servoc": _servoc,
    "speedj": _speedj,
    "speedl": _speedl,
    "direct_torque": _direct_torque,
    "stopj": _stopj,
    "stopl": _stopl,
    "force_mode": _force_mode,
    "end_force_mode": _end_force_mode,
    "freedrive_mode": _freedrive,
    "teach_mode": lambda m: _freedrive(m, [1] * 6, PoseValue([0.0] * 6)),
    "end_freedrive_mode": _end_freedrive,
    "end_teach_mode": _end_freedrive,
    "sleep": _sleep,
    "sync": _sync,
}
