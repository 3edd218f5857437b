# SPDX-License-Identifier: Apache-2.0
"""Functions of the language that lead the arm. They only begin motions of the controller, and wait for them.

A move that is under way when its thread is killed is braked, unless another motion follows in the same frame. What is
steered from frame to frame (speedj, speedl) keeps its speed for one frame, then the arm brakes. Their time is the
scaled one: at a slider of 50 % a frame counts half. servoj counts real time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.lab.controller import move_calls as moves
from armwright.lab.controller.commands import ToolServo
from armwright.lab.controller.compliant_motions import AxesFreeDrive, DirectTorque, ForceMode, FreeDrive
from armwright.lab.controller.motions import brake
from armwright.lab.script.script_arguments import number, numbers, pose_numbers, text, whole
from armwright.lab.script.script_faults import ScriptFault
from armwright.lab.script.script_state import joints_near
from armwright.lab.script.script_values import LISTS, PoseValue, ScriptValue, kind_of
from armwright.motion.trajectory import Reference
from armwright.spatial import exp_so3

if TYPE_CHECKING:
    from armwright.lab.controller.motions import Motion, Stretch
    from armwright.lab.script.script_machine import ScriptMachine
    from armwright.types import Array

Waiting = Generator[object, None, None]
SLOWEST_CHANGE = 1e-6  # [rad/s², m/s²]: speedj may be asked to keep its speed
SAME_SPEED = 1e-6  # [rad/s, m/s] within which a speed counts as reached
END_OF_MODE_DECELERATION = 10.0  # [rad/s²]
TIME_SLACK = 1e-9  # [s] in sums of steps
MOST_TIME = 1e6  # [s]
TOOL_LIMITS = (1.0, 5.0)  # [m/s, m/s²] that a share of 1 means for the tool
FORCE_GAIN = 0.5  # of force mode; what a program sets is relative to it


def check_may_move(m: ScriptMachine) -> None:
    """Refuse to move in a secondary program."""
    if m.beside:
        raise ScriptFault("a secondary program may not move the arm")


def moved(m: ScriptMachine, motion: Motion) -> Waiting:
    """Begin a motion and wait until it has ended, or another has taken its place."""
    check_may_move(m)
    ended: list[bool] = []
    m.c.begin(motion, lambda: ended.append(True))
    m.steering = False
    try:
        while not ended and m.c.motion is motion:
            yield None
    except GeneratorExit:
        m.orphan = motion
        raise


def goal_joints(m: ScriptMachine, goal: ScriptValue, name: str) -> Generator[object, None, Array]:
    """Return joints (6,): those that are given, or those of a pose."""
    if goal.__class__ is not PoseValue:
        return moves.joint_goal(m.c, numbers(goal, name, 6).tolist())
    pose = moves.pose_goal(pose_numbers(goal, name).tolist())
    near = np.array(m.c.reference.q)
    found = yield from joints_near(m, pose, near, m.c.plant.tcp.copy())
    return moves.reached(found, pose)


def goal_pose(m: ScriptMachine, goal: ScriptValue, name: str) -> Array:
    """Return a TCP pose (6,): that which is given, or where joints bring the tool."""
    if goal.__class__ is PoseValue:
        return moves.pose_goal(pose_numbers(goal, name).tolist())
    if goal.__class__ not in LISTS:
        raise ScriptFault(f"type_error: {name} is a pose or a list of joints, not a {kind_of(goal)}")
    return m.c.plant.pose_of(moves.joint_goal(m.c, numbers(goal, name, 6).tolist()))


def _radius(value: ScriptValue) -> float:
    r = number(value, "r")
    if not 0.0 <= r <= moves.MOST_RADIUS:
        raise ScriptFault(f"value_error: a blend radius of 0 to {moves.MOST_RADIUS:g} m, got {r:g}")
    return r


def _timed(m: ScriptMachine, move: Stretch, t: ScriptValue, *, tool: bool) -> Stretch:
    """Make a move take a time, if one is given."""
    time = number(t, "t")
    if not 0.0 <= time <= MOST_TIME:
        raise ScriptFault(f"value_error: t is 0 to {MOST_TIME:g} s, got {time:g}")
    if time > 0.0:
        move.last(time, *moves.rates(m.c, 100.0, 1000.0, tool=tool))
    return move


def _rest(m: ScriptMachine) -> Reference:
    """Return where a move begins: moves begin at rest."""
    return Reference(np.array(m.c.reference.q), np.zeros(6), np.zeros(6))


def _still(m: ScriptMachine) -> Waiting:
    """Brake first where the arm moves: a move from rest would jump."""
    if np.any(np.abs(m.c.reference.qd) > SAME_SPEED):
        yield from moved(m, brake(m.c.reference, END_OF_MODE_DECELERATION))


def _movej(m: ScriptMachine, q: ScriptValue, a: ScriptValue, v: ScriptValue, t: ScriptValue, r: ScriptValue) -> Waiting:
    check_may_move(m)
    _radius(r)
    goal = yield from goal_joints(m, q, "q")
    yield from _still(m)
    move = moves.joint_move(m.c, _rest(m), goal, *_rates(v, a, t))
    yield from moved(m, _timed(m, move, t, tool=False))


def _movel(
    m: ScriptMachine, pose: ScriptValue, a: ScriptValue, v: ScriptValue, t: ScriptValue, r: ScriptValue
) -> Waiting:
    check_may_move(m)
    _radius(r)
    goal = goal_pose(m, pose, "pose")
    yield from _still(m)
    move = moves.line_move(m.c, _rest(m), goal, *_rates(v, a, t))
    yield from moved(m, _timed(m, move, t, tool=True))


def _rates(v: ScriptValue, a: ScriptValue, t: ScriptValue = 0) -> tuple[float, float]:
    """Return speed and acceleration; where a time is given they may be 0."""
    speed, acceleration = number(v, "v"), number(a, "a")
    if number(t, "t") > 0.0:
        return (speed if speed > 0.0 else 1.0), (acceleration if acceleration > 0.0 else 1.0)
    return speed, acceleration


def _movep(m: ScriptMachine, pose: ScriptValue, a: ScriptValue, v: ScriptValue, r: ScriptValue) -> Waiting:
    yield from _movel(m, pose, a, v, 0, r)


def _share(value: ScriptValue, name: str) -> float:
    share = number(value, name)
    if not 0.0 < share <= 1.0:
        raise ScriptFault(f"value_error: {name} is a share above 0 and at most 1, got {share:g}")
    return share


def _optimovej(m: ScriptMachine, q: ScriptValue, a: ScriptValue, v: ScriptValue, r: ScriptValue) -> Waiting:
    """Move the joints with shares of the slowest joint's limits."""
    speed, rate = _share(v, "v") * float(m.c.most_speed.min()), _share(a, "a") * float(m.c.most_acceleration.min())
    yield from _movej(m, q, rate, speed, 0, r)


def _optimovel(m: ScriptMachine, pose: ScriptValue, a: ScriptValue, v: ScriptValue, r: ScriptValue) -> Waiting:
    """Move on a line with shares of the tool's usual limits."""
    yield from _movel(m, pose, _share(a, "a") * TOOL_LIMITS[1], _share(v, "v") * TOOL_LIMITS[0], 0, r)


# --- from frame to frame ----------------------------------------------------------------------------------------------


def scaled_time(m: ScriptMachine, time: float) -> Waiting:
    """Wait so long, slowed by the slider; at least one frame."""
    left = time
    while True:
        m.steered = True
        yield None
        left -= m.step_time * m.c.scale
        if left <= TIME_SLACK:
            return


def _steer(m: ScriptMachine, motion: Motion, a: float) -> None:
    check_may_move(m)
    m.c.begin(motion)
    m.steering = m.steered = True
    m.settings["braking"] = max(a, 1.0)


def _speedj(m: ScriptMachine, qd: ScriptValue, a: ScriptValue, t: ScriptValue) -> Waiting:
    speed, rate, time = numbers(qd, "qd", 6), max(number(a, "a"), SLOWEST_CHANGE), number(t, "t")
    _steer(m, moves.joint_speed(m.c, m.c.reference, speed.tolist(), rate, np.inf), rate)
    if time > 0.0:
        yield from scaled_time(m, time)
        return
    yield from scaled_time(m, m.step_time)
    wanted = np.clip(speed, -m.c.most_speed, m.c.most_speed)
    while np.abs(m.c.reference.qd - m.c.scale * wanted).max() > SAME_SPEED:
        m.steered = True
        yield None


def _speedl(m: ScriptMachine, xd: ScriptValue, a: ScriptValue, t: ScriptValue, aRot: ScriptValue) -> Waiting:
    speed, rate, time = numbers(xd, "xd", 6), max(number(a, "a"), SLOWEST_CHANGE), number(t, "t")
    if not (aRot.__class__ is str and aRot == "a"):
        number(aRot, "aRot")
    _steer(m, moves.tool_speed(m.c, m.c.reference, speed.tolist(), rate, np.inf), END_OF_MODE_DECELERATION)
    size = max(float(np.linalg.norm(speed[:3])), 0.25 * float(np.linalg.norm(speed[3:])))
    yield from scaled_time(m, time if time > 0.0 else max(m.step_time, size / rate))


def _servoj(
    m: ScriptMachine,
    q: ScriptValue,
    a: ScriptValue,
    v: ScriptValue,
    t: ScriptValue,
    lookahead: ScriptValue,
    gain: ScriptValue,
) -> Waiting:
    check_may_move(m)
    number(a, "a"), number(v, "v")
    time = m.step_time if t is None else number(t, "t")
    goal = moves.joint_goal(m.c, numbers(q, "q", 6).tolist())
    m.steering = False
    moves.servo_joints(m.c, goal, max(time, m.step_time), number(lookahead, "lookahead_time"), number(gain, "gain"))
    yield from frames(m, time)


def frames(m: ScriptMachine, time: float) -> Waiting:
    """Wait so long in real time; at least one frame."""
    left = min(time, MOST_TIME)
    while True:
        yield None
        left -= m.step_time
        if left <= TIME_SLACK:
            return


def _servoc(m: ScriptMachine, pose: ScriptValue, a: ScriptValue, v: ScriptValue, r: ScriptValue) -> Waiting:
    check_may_move(m)
    _radius(r)
    goal, motion = goal_pose(m, pose, "pose"), m.c.motion
    if not (m.c.moving and isinstance(motion, ToolServo)):
        motion = ToolServo(m.c.reference, m.c.target_pose(), m.c.plant.towards)
        m.c.begin(motion)
    m.steering = False
    motion.aim(goal, *moves.rates(m.c, number(v, "v"), number(a, "a"), tool=True))
    yield None


def _direct_torque(
    m: ScriptMachine, torque: ScriptValue, friction: ScriptValue, viscous: ScriptValue, coulomb: ScriptValue
) -> Waiting:
    check_may_move(m)
    wanted = moves.six(numbers(torque, "torque", 6).tolist(), "torque", 1000.0)
    share = 1.0 if friction is True else 0.0
    shares = [np.full(6, share) if s is None else numbers(s, "a scale", 6) for s in (viscous, coulomb)]
    for one in shares:
        if one.min() < 0.0 or one.max() > 1.0:
            raise ScriptFault("value_error: direct_torque: scales of 0 to 1")
    motion = m.c.motion
    if not (m.c.moving and isinstance(motion, DirectTorque)):
        motion = DirectTorque(m.c)
        m.c.begin(motion)
    m.steering = False
    motion.aim(wanted, *shares)
    yield None


# --- stops and modes --------------------------------------------------------------------------------------------------


def _stopj(m: ScriptMachine, a: ScriptValue, qa: ScriptValue) -> Waiting:
    rate = number(a, "a")
    yield from moved(m, brake(m.c.reference, max(rate, 0.1)))


def _stopl(m: ScriptMachine, a: ScriptValue, aRot: ScriptValue) -> Waiting:
    yield from _stopj(m, a, None)


def _force_mode(
    m: ScriptMachine,
    frame: ScriptValue,
    selection: ScriptValue,
    wrench: ScriptValue,
    kind: ScriptValue,
    limits: ScriptValue,
) -> None:
    check_may_move(m)
    free = numbers(selection, "selection_vector", 6) != 0.0
    task, wanted = pose_numbers(frame, "task_frame"), numbers(wrench, "wrench", 6)
    motion = m.c.motion
    if not (m.c.moving and isinstance(motion, ForceMode)):
        motion = ForceMode(m.c)
        m.c.begin(motion)
    m.steering = False
    gain = m.settings.get("force gain", FORCE_GAIN) / FORCE_GAIN
    motion.aim(free, whole(kind, "type", 1, 3), task, wanted, numbers(limits, "limits", 6), gain)


def _end_force_mode(m: ScriptMachine) -> None:
    if isinstance(m.c.motion, ForceMode):
        m.c.begin(brake(m.c.reference, END_OF_MODE_DECELERATION))


def _freedrive(m: ScriptMachine, axes: ScriptValue, feature: ScriptValue) -> None:
    check_may_move(m)
    free = (numbers(axes, "freeAxes", 6) != 0.0).astype(np.float64)
    if feature.__class__ is str:
        frame = m.c.target_pose() if text(feature, "feature") == "tool" else np.zeros(6)
    else:
        frame = numbers(feature, "feature", 6)
    m.steering = False
    m.c.begin(FreeDrive(m.c) if free.all() else AxesFreeDrive(m.c, free, exp_so3(frame[3:])))


def _end_freedrive(m: ScriptMachine) -> Waiting:
    if isinstance(m.c.motion, FreeDrive | AxesFreeDrive):
        q, qd = np.array(m.c.plant.live.q), np.array(m.c.plant.live.qd)
        m.c.reference = Reference(q, qd, np.zeros(6))
        yield from moved(m, brake(m.c.reference, END_OF_MODE_DECELERATION))


def _sleep(m: ScriptMachine, t: ScriptValue) -> Waiting:
    time = number(t, "t")
    if not 0.0 <= time <= MOST_TIME:
        raise ScriptFault(f"value_error: sleep: 0 to {MOST_TIME:g} s, got {time:g}")
    yield from frames(m, time)


def _sync(m: ScriptMachine) -> Waiting:
    yield None


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "movej": _movej,
    "movel": _movel,
    "movep": _movep,
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
