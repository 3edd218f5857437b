# SPDX-License-Identifier: Apache-2.0
"""Commands of ur_rtde's script, group 1: moves, servoing, stopping, kinematics, settings. d: doubles, i: integers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import ArmwrightError, InputError
from armwright.lab.controller import moves
from armwright.lab.controller.core import STEADY, TICK
from armwright.lab.controller.motions import Chain, JointServo
from armwright.lab.controller.state import Event
from armwright.spatial.rotations import exp_so3, log_so3

if TYPE_CHECKING:
    from armwright.lab.controller.desk import Desk
    from armwright.types import Array


def _joint_move(d: Desk, *, is_pose: bool) -> None:
    """Movej: goal d0–5, speed d6, acceleration d7, asynchronous i1."""
    v, a = d.numbers(6, 2)
    d.move(moves.joint_move(d.c, d.numbers(0), v, a, is_pose=is_pose))


def _line_move(d: Desk, *, is_pose: bool) -> None:
    """Movel: goal d0–5, speed d6, acceleration d7, asynchronous i1."""
    v, a = d.numbers(6, 2)
    d.move(moves.line_move(d.c, d.numbers(0), v, a, is_pose=is_pose))


def _move_path(d: Desk) -> None:
    """The literal moves that were uploaded with the script, one after the other; blend radii are not used."""
    d.move(Chain([partial(moves.motion_from, d.c, call) for call in d.path], d.c.reference))


def _speed_joints(d: Desk) -> None:
    """Speedj: d0–5, acceleration d6, time d7; 0 counts for a second, the client repeats it."""
    a, time = d.numbers(6, 2)
    d.c.begin(moves.joint_speed(d.c, d.numbers(0), a, time if time > 0.0 else 1.0))


def _speed_tool(d: Desk) -> None:
    """Speedl: d0–5, acceleration d6, time d7."""
    a, time = d.numbers(6, 2)
    d.c.begin(moves.tool_speed(d.c, d.numbers(0), a, time if time > 0.0 else 1.0))


def _servo(d: Desk, *, is_pose: bool) -> None:
    """Servoj and servol: goal d0–5, time d8, lookahead d9, gain d10."""
    goal = moves.configuration(d.c, d.numbers(0), is_pose=is_pose)
    time, lookahead, gain = d.numbers(8, 3)
    motion = d.c.motion
    if not (d.c.moving and isinstance(motion, JointServo)):
        motion = JointServo(d.c.reference, d.c.most_speed, d.c.most_acceleration)
        d.c.begin(motion)
    motion.aim(goal, time if time > 0.0 else 0.008, lookahead, gain)


def _stop_steering(d: Desk) -> None:
    """End of speedj, speedl, servoj: deceleration d0."""
    d.stop(d.numbers(0, 1)[0])


def _stop_move(d: Desk) -> None:
    """Stopl and stopj: deceleration d0, asynchronous i1."""
    d.stop(d.numbers(0, 1)[0], later=bool(d.integer(1)))


def _inverse(d: Desk, *, near: bool) -> None:
    """Joints of a pose d0–5, near d6–11 or near where the arm is."""
    d.give(moves.configuration(d.c, d.numbers(0), is_pose=True, near=_near(d, near)))
    d.done()


def _has_inverse(d: Desk, *, near: bool) -> None:
    """Whether there are such joints: i-out 1."""
    try:
        moves.configuration(d.c, d.numbers(0), is_pose=True, near=_near(d, near))
        d.say(1, 1)
    except ArmwrightError:
        d.say(0, 1)
    d.done()


def _near(d: Desk, given: bool) -> Array | None:
    return np.array(d.numbers(6)) if given else None


def _within_limits(d: Desk, *, is_pose: bool) -> None:
    """Whether a pose or joints d0–5 can be reached: i-out 1."""
    try:
        moves.configuration(d.c, d.numbers(0), is_pose=is_pose)
        d.say(1, 1)
    except ArmwrightError:
        d.say(0, 1)
    d.done()


def _forward(d: Desk) -> None:
    """TCP pose of the arm as it is."""
    d.give(d.c.plant.pose_of(np.array(d.c.plant.live.q)))
    d.done()


def _forward_of(d: Desk) -> None:
    """TCP pose at joints d0–5 with the TCP d6–11."""
    d.give(d.c.plant.pose_of(np.array(d.numbers(0)), np.array(d.numbers(6))))
    d.done()


def _flange_pose(d: Desk) -> None:
    """Pose of the flange as it is."""
    d.give(d.c.plant.pose_of(np.array(d.c.plant.live.q), np.zeros(6)))


def _target_waypoint(d: Desk) -> None:
    """TCP pose of the reference."""
    d.give(d.c.target_pose())
    d.done()


def _pose_trans(d: Desk) -> None:
    """Pose d6–11 seen through pose d0–5."""
    a, b = np.array(d.numbers(0)), np.array(d.numbers(6))
    R = exp_so3(a[3:])
    d.give(np.concatenate([a[:3] + R @ b[:3], log_so3(R @ exp_so3(b[3:]))]))
    d.done()


def _set_payload(d: Desk) -> None:
    """Mass d0, centre d1–3; an inertia is taken as that of a point."""
    mass, *centre = d.numbers(0, 4)
    d.c.plant.told(mass, np.array(centre))
    d.done()


def _set_tcp(d: Desk) -> None:
    """Pose at the flange d0–5."""
    tcp = np.array(d.numbers(0))
    if not np.isfinite(tcp).all() or np.abs(tcp[:3]).max() > 2.0:
        raise InputError("tcp: a pose within 2 m of the flange needed")
    d.c.plant.tcp[...] = tcp
    d.done()


def _get_tcp(d: Desk) -> None:
    d.give(d.c.plant.tcp)
    d.done()


def _protective_stop(d: Desk) -> None:
    d.c.protective_stop("asked for by the program")


def _set_watchdog(d: Desk) -> None:
    """Least frequency of commands d0 [1/s]."""
    d.watch(d.numbers(0, 1)[0])
    d.done()


def _torques(d: Desk) -> None:
    """Joint torques beyond what the arm's own motion needs: the observer's."""
    d.give(d.c.plant.live.outputs["tau_ext"])


def _is_steady(d: Desk) -> None:
    """Whether the arm has stood still for a while: i-out 1."""
    d.say(int(d.c.steady >= STEADY), 1)
    d.done()


def _step_time(d: Desk) -> None:
    """Of a program [s]."""
    d.give([TICK if d.c.e_series else 4 * TICK])


def _end(d: Desk) -> None:
    d.done()
    d.c.handle(Event.STOP)


def accepted(d: Desk) -> None:
    """A setting that changes nothing here."""
    d.done()


GROUP_1: dict[int, Callable[[Desk], None]] = {
    1: partial(_joint_move, is_pose=False),
    2: partial(_joint_move, is_pose=True),
    3: partial(_line_move, is_pose=True),
    4: partial(_line_move, is_pose=False),
    9: _speed_joints,
    10: _speed_tool,
    11: partial(_servo, is_pose=False),
    15: _stop_steering,
    16: _stop_steering,
    17: _set_payload,
    24: partial(_servo, is_pose=True),
    26: _step_time,
    28: _target_waypoint,
    29: _set_tcp,
    30: partial(_inverse, near=True),
    31: _protective_stop,
    33: _stop_move,
    34: _stop_move,
    35: _set_watchdog,
    36: partial(_within_limits, is_pose=True),
    37: partial(_within_limits, is_pose=False),
    38: _torques,
    39: _pose_trans,
    40: _get_tcp,
    43: _forward,
    44: _forward_of,
    45: _move_path,
    46: partial(_inverse, near=False),
    47: _is_steady,
    58: _flange_pose,
    60: partial(_has_inverse, near=False),
    61: partial(_has_inverse, near=True),
    65: _set_payload,
    99: accepted,
    255: _end,
}
