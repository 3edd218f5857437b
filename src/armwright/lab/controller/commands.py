# SPDX-License-Identifier: Apache-2.0
"""Commands of ur_rtde's script: moves, servoing, stopping, kinematics, settings, torques, the arm's mathematics.

These are groups 1 and 3 of the script; `commands_compliant` has group 2. In the docstrings, d are double registers and
i integer registers. `ToolServo` follows a TCP pose that is set again and again, at one tool speed (servoc).

ur_rtde 1.6.5 sends joints, velocities and TCP with 67 to 71, but its script asks the controller without them: the
answers are of the present state, here as there. Matrices are told by columns: registers 0 to 23, then 36 to 47.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.lab.controller import move_calls as moves
from armwright.lab.controller.compliant_motions import DirectTorque
from armwright.lab.controller.controller import CONTROLLER_TICK, STEADY
from armwright.lab.controller.controller_states import ControllerEvent
from armwright.lab.controller.motions import MOTION_TICK, TcpMotion, Towards
from armwright.spatial.rotations import exp_so3, log_so3

if TYPE_CHECKING:
    from armwright.lab.controller.command_registers import Desk
    from armwright.lab.controller.move_chains import Chain
    from armwright.motion.trajectory import Reference
    from armwright.types import Array

SERVO_ROUNDS = 8  # of Newton's method for servol


def _joint_move(d: Desk) -> None:
    """Movej: joints d0–5, speed d6, acceleration d7, asynchronous i1."""
    v, a = d.numbers(6, 2)
    d.move(moves.joint_move(d.c, d.c.reference, moves.joint_goal(d.c, d.numbers(0)), v, a))


def _joint_move_to_pose(d: Desk) -> None:
    """Movej to a TCP pose d0–5; speed, acceleration and asynchronous flag as for movej."""
    (v, a), pose = d.numbers(6, 2), moves.pose_goal(d.numbers(0))
    d.solve(pose, lambda q: d.move(moves.joint_move(d.c, d.c.reference, moves.reached(q, pose), v, a)))


def _line_move(d: Desk, *, is_pose: bool) -> None:
    """Movel: goal d0–5, speed d6, acceleration d7, asynchronous i1."""
    (v, a), goal = d.numbers(6, 2), d.numbers(0)
    pose = moves.pose_goal(goal) if is_pose else d.c.plant.pose_of(moves.joint_goal(d.c, goal))
    d.move(moves.line_move(d.c, d.c.reference, pose, v, a))


def _move_path(d: Desk) -> None:
    """Follow the literal moves that were uploaded with the script, one after the other, with their blends."""
    if not d.path:
        raise InputError("path: no moves came with the script")
    start = d.c.reference.q.copy()
    if len(d.path) <= moves.MOVES_AT_ONCE and not moves.needs_inverse(d.path):
        d.move(moves.path(d.c, d.path, start))
        return

    def begin(motion: Chain) -> None:
        moves.still_there(d.c, start)
        d.move(motion)

    d.ask(partial(moves.planned, d.c, d.path, start, d.c.plant.tcp.copy()), begin)


def _speed_joints(d: Desk) -> None:
    """Speedj: d0–5, acceleration d6, time d7; the client repeats it."""
    d.c.begin(moves.joint_speed(d.c, d.c.reference, d.numbers(0), *d.numbers(6, 2)))


def _speed_tool(d: Desk) -> None:
    """Speedl: d0–5, acceleration d6, time d7."""
    d.c.begin(moves.tool_speed(d.c, d.c.reference, d.numbers(0), *d.numbers(6, 2)))


def _servo(d: Desk) -> None:
    """Servoj: joints d0–5, time d8, lookahead d9, gain d10."""
    moves.servo_joints(d.c, moves.joint_goal(d.c, d.numbers(0)), *d.numbers(8, 3))


def _servo_to_pose(d: Desk) -> None:
    """Servol: a TCP pose d0–5 near where the arm is, reached by small steps; the rest as for servoj."""
    pose = moves.pose_goal(d.numbers(0))
    q, error = d.c.plant.towards(d.c.reference.q, pose, rounds=SERVO_ROUNDS)
    if not error < moves.REACHED_POSE_ERROR:
        raise InputError(f"servol: {np.round(pose, 4).tolist()} is not near enough, or out of reach")
    moves.servo_joints(d.c, moves.joint_goal(d.c, q.tolist()), *d.numbers(8, 3))


def _stop_steering(d: Desk) -> None:
    """End speedj, speedl or servoj: deceleration d0."""
    d.stop(d.numbers(0, 1)[0])


def _stop_move(d: Desk) -> None:
    """Stopl and stopj: deceleration d0, asynchronous i1."""
    d.stop(d.numbers(0, 1)[0], later=bool(d.integer(1)))


def _inverse(d: Desk, *, near: bool) -> None:
    """Give the joints of a pose d0–5, near d6–11 or near where the arm is."""
    pose = moves.pose_goal(d.numbers(0))

    def answer(q: Array | None) -> None:
        d.give(moves.reached(q, pose))
        d.done()

    d.solve(pose, answer, _near(d, near))


def _has_inverse(d: Desk, *, near: bool) -> None:
    """Say whether there are such joints: i-out 1."""

    def answer(q: Array | None) -> None:
        d.say(int(q is not None), 1)
        d.done()

    try:
        pose = moves.pose_goal(d.numbers(0))
    except InputError:
        answer(None)
    else:
        d.solve(pose, answer, _near(d, near))


def _near(d: Desk, given: bool) -> Array | None:
    return np.array(d.numbers(6)) if given else None


def _joints_within_limits(d: Desk) -> None:
    """Say whether joints d0–5 can be reached: i-out 1."""
    try:
        moves.joint_goal(d.c, d.numbers(0))
        d.say(1, 1)
    except InputError:
        d.say(0, 1)
    d.done()


def _forward(d: Desk) -> None:
    """Give the TCP pose of the arm as it is."""
    d.give(d.c.plant.pose_of(np.array(d.c.plant.live.q)))
    d.done()


def _forward_of(d: Desk) -> None:
    """Give the TCP pose at joints d0–5 with the TCP d6–11."""
    d.give(d.c.plant.pose_of(np.array(d.numbers(0)), np.array(d.numbers(6))))
    d.done()


def _flange_pose(d: Desk) -> None:
    """Give the pose of the flange as it is."""
    d.give(d.c.plant.pose_of(np.array(d.c.plant.live.q), np.zeros(6)))


def _target_waypoint(d: Desk) -> None:
    """Give the TCP pose of the reference."""
    d.give(d.c.target_pose())
    d.done()


def _pose_trans(d: Desk) -> None:
    """Give the pose d6–11 transformed by the pose d0–5."""
    a, b = np.array(d.numbers(0)), np.array(d.numbers(6))
    R = exp_so3(a[3:])
    d.give(np.concatenate([a[:3] + R @ b[:3], log_so3(R @ exp_so3(b[3:]))]))
    d.done()


def _set_payload(d: Desk) -> None:
    """Set mass d0, centre d1–3; an inertia is taken as that of a point."""
    mass, *centre = d.numbers(0, 4)
    d.c.plant.told(mass, np.array(centre))
    d.done()


def _set_tcp(d: Desk) -> None:
    """Set the TCP's pose at the flange d0–5."""
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
    """Set the least frequency of commands d0 [1/s]."""
    d.watch(d.numbers(0, 1)[0])
    d.done()


def _torques(d: Desk) -> None:
    """Give the joint torques beyond what the arm's own motion needs: the observer's."""
    d.give(d.c.plant.live.outputs["tau_ext"])


def _is_steady(d: Desk) -> None:
    """Say whether the arm has stood still for a while: i-out 1."""
    d.say(int(d.c.steady >= STEADY), 1)
    d.done()


def _step_time(d: Desk) -> None:
    """Give the step time of a program [s]."""
    d.give([CONTROLLER_TICK if d.c.e_series else 4 * CONTROLLER_TICK])


def _end(d: Desk) -> None:
    d.done()
    d.c.handle(ControllerEvent.END)


def accepted(d: Desk) -> None:
    """Accept a setting that changes nothing here."""
    d.done()


GROUP_1: dict[int, Callable[[Desk], None]] = {
    1: _joint_move,
    2: _joint_move_to_pose,
    3: partial(_line_move, is_pose=True),
    4: partial(_line_move, is_pose=False),
    9: _speed_joints,
    10: _speed_tool,
    11: _servo,
    15: _stop_steering,
    16: _stop_steering,
    17: _set_payload,
    24: _servo_to_pose,
    26: _step_time,
    28: _target_waypoint,
    29: _set_tcp,
    30: partial(_inverse, near=True),
    31: _protective_stop,
    33: _stop_move,
    34: _stop_move,
    35: _set_watchdog,
    36: partial(_has_inverse, near=False),
    37: _joints_within_limits,
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


TURN_PER_METRE = 4.0  # [rad/m] ratio of the fastest turning to the fastest moving
THERE = 1e-7  # [m, rad]


def _towards(way: Array, speed: Array, v: float, a: float) -> Array:
    """Return the speed after a tick: towards `way`, at v until it must brake, changing by at most a dt."""
    left = float(np.linalg.norm(way))
    brake = (
        a * MOTION_TICK * (np.sqrt(0.25 + 2.0 * left / (a * MOTION_TICK * MOTION_TICK)) - 0.5)
    )  # stops at the goal in whole ticks
    wanted = way / left * min(v, brake, left / MOTION_TICK) if left > 0.0 else np.zeros(3)
    change = wanted - speed
    size = float(np.linalg.norm(change))
    return speed + change * min(1.0, a * MOTION_TICK / size) if size > 0.0 else speed


class ToolServo(TcpMotion):
    """Motion towards the last target at constant tool speed; to a new target it turns in an arc of radius v²/a."""

    resumes = True

    def __init__(self, start: Reference, pose: Array, towards: Towards) -> None:
        super().__init__(start, towards)
        self._p, self._R = pose[:3].copy(), exp_so3(pose[3:])
        self._goal, self._goal_R = self._p, self._R
        self._speed, self._spin = np.zeros(3), np.zeros(3)
        self._v, self._a = 0.25, 1.2

    def aim(self, pose: Array, v: float, a: float) -> None:
        """Set a new target (6,), speed [m/s] and acceleration [m/s²]."""
        self._goal, self._goal_R, self._v, self._a = pose[:3], exp_so3(pose[3:]), v, a

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        self._speed = _towards(self._goal - self._p, self._speed, scale * self._v, self._a)
        turn = log_so3(self._goal_R @ self._R.T)
        self._spin = _towards(turn, self._spin, scale * TURN_PER_METRE * self._v, TURN_PER_METRE * self._a)
        self._p = self._p + self._speed * MOTION_TICK
        self._R = exp_so3(self._spin * MOTION_TICK) @ self._R
        at = self.follow(np.concatenate([self._p, log_so3(self._R)]))
        far = max(float(np.abs(self._goal - self._p).max()), float(np.abs(log_so3(self._goal_R @ self._R.T)).max()))
        moving = max(float(np.abs(self._speed).max()), float(np.abs(self._spin).max()))
        return at, far < THERE and moving < 1e-3 * self._v


LOWER_REGISTERS, FIRST_UPPER_REGISTER = 24, 36  # numbers in the lower range of registers, first register of the rest


def _servo_circular(d: Desk) -> None:
    """Servoc: TCP pose d0–5, speed d6, acceleration d7; the blend radius d8 has no use, as the way is smooth."""
    pose, (v, a) = moves.pose_goal(d.numbers(0)), d.numbers(6, 2)
    motion = d.c.motion
    if not (d.c.moving and isinstance(motion, ToolServo)):
        motion = ToolServo(d.c.reference, d.c.target_pose(), d.c.plant.towards)
        d.c.begin(motion)
    motion.aim(pose, *moves.rates(d.c, v, a, tool=True))
    d.done()


def _history(d: Desk) -> None:
    """Give the joints i1 steps ago."""
    d.give(d.c.past(d.integer(1)))


def _direct_torque(d: Desk) -> None:
    """Apply torques d0–5 beyond gravity; shares d6–11 of viscous and d12–17 of dry friction are compensated."""
    torque = moves.six(d.numbers(0), "torque", 1000.0)
    viscous, coulomb = (moves.six(d.numbers(k), "friction scale", 1.0) for k in (6, 12))
    motion = d.c.motion
    if not (d.c.moving and isinstance(motion, DirectTorque)):
        motion = DirectTorque(d.c)
        d.c.begin(motion)
    motion.aim(torque, viscous, coulomb)


def _give_matrix(d: Desk, matrix: Array) -> None:
    columns = matrix.T.ravel()
    d.give(columns[:LOWER_REGISTERS])
    d.give(columns[LOWER_REGISTERS:], FIRST_UPPER_REGISTER)


def _mass(d: Desk) -> None:
    _give_matrix(d, d.c.plant.model().mass)


def _coriolis(d: Desk) -> None:
    d.give(d.c.plant.model().coriolis)


def _target_accelerations(d: Desk) -> None:
    d.give(d.c.reference.qdd)


def _jacobian(d: Desk) -> None:
    _give_matrix(d, d.c.plant.model().jacobian)


def _jacobian_rate(d: Desk) -> None:
    _give_matrix(d, d.c.plant.model().jacobian_dot)


GROUP_3: dict[int, Callable[[Desk], None]] = {
    12: _servo_circular,
    27: _history,
    66: _direct_torque,
    67: _mass,
    68: _coriolis,
    69: _target_accelerations,
    70: _jacobian,
    71: _jacobian_rate,
}
