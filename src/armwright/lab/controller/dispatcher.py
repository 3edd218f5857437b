# SPDX-License-Identifier: Apache-2.0
"""ur_rtde's control script, played instead of executed: commands come in registers, answers go out in registers.

The client writes a command when it reads 1 (ready), waits for 2 (done), then writes 0. Real-time commands are obeyed
whenever their numbers arrive, and leave the register at 1. With the asynchronous flag a move is done at once, and
register 2 tells its progress: progress + 2¹⁵ running + 2¹⁶ count + 2²⁴ operation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import ArmwrightError
from armwright.lab.controller import moves
from armwright.lab.controller.compliance import ForceMode, FreeDrive, Jog
from armwright.lab.controller.core import STEADY, TICK
from armwright.lab.controller.motions import Chain, JointServo, Motion, brake
from armwright.lab.controller.state import Event
from armwright.spatial.rotations import exp_so3, log_so3

if TYPE_CHECKING:
    from armwright.lab.controller.core import Controller
    from armwright.lab.wire.script import Script
    from armwright.types import Array

READY, DONE = 1, 2
REAL_TIME = frozenset({6, 9, 10, 11, 24, 25, 26, 27, 38, 58, 66, 67, 68, 69, 70, 71})
NO_PROGRESS = -1


class Dispatcher:
    """The program that ur_rtde uploads.

    Attributes:
        missing: numbers of commands that came and are not known here; they are answered as done.
    """

    def __init__(self, controller: Controller, script: Script) -> None:
        self.c, self._int, self._float, self._path = controller, script.offset_int, script.offset_float, script.path
        self._executing, self._seen = False, 0
        self._operation = self._writes = 0
        self._watchdog: tuple[float, float] | None = None  # period, time of the last sign
        self.missing: set[int] = set()
        self.contact_felt: bool | None = None
        registers = controller.registers
        registers.ints[self._int] = 0
        registers.out_ints[self._int] = READY
        registers.out_ints[self._int + 2] = 0

    # registers
    def _i(self, k: int) -> int:
        return self.c.registers.ints[self._int + k]

    def _d(self, first: int, count: int = 6) -> list[float]:
        return self.c.registers.doubles[self._float + first : self._float + first + count]

    def _say(self, value: int, register: int = 0) -> None:
        self.c.registers.out_ints[self._int + register] = value

    def _give(self, numbers: Array | list[float], first: int = 0) -> None:
        at = self._float + first
        self.c.registers.out_doubles[at : at + len(numbers)] = [float(x) for x in numbers]

    def _done(self) -> None:
        self._say(DONE)

    def tick(self) -> None:
        """Look at the command register once."""
        command = self._i(0)
        if self._watchdog is not None:
            period, last = self._watchdog
            if command != 0 and command != self._seen:
                self._watchdog = (period, self.c.time)
            elif self.c.time - last > period:
                self.c.messages.append("watchdog: the client has not been heard; the program is stopped")
                self.c.handle(Event.STOP)
                return
        self._seen = command
        if command in REAL_TIME:
            self._obey(command)
            self._say(READY)
        elif command == 0:
            self._executing = False
            self._say(READY)
        elif not self._executing:
            self._executing = True
            self._say(0)
            self._obey(command)
        self._progress()

    def _obey(self, command: int) -> None:
        action = COMMANDS.get(command)
        if action is None:
            self.missing.add(command)
            self.c.messages.append(f"command {command} is not known here")
            self._done()
            return
        try:
            action(self)
        except ArmwrightError as error:
            self.c.messages.append(f"command {command} refused: {error}")
            if command in (1, 2, 3, 4, 45):
                self.c.protective_stop(str(error))
            elif command not in REAL_TIME:
                self._done()

    def _move(self, motion: Motion, *, flag: int = 1) -> None:
        """Start a move; done when it has ended, or at once if it is asynchronous."""
        later = bool(self._i(flag))
        self._operation = (self._operation + 1) % 128
        self.c.begin(motion, None if later else self._done)
        if later:
            self._writes = (self._writes + 1) % 256
            self._done()

    def _progress(self) -> None:
        running = self.c.moving
        number = getattr(self.c.motion, "number", 0)
        now = (number if running else 0) | (1 << 15 if running else 0)
        self._say(now | self._writes << 16 | self._operation << 24, 2)

    # group 1
    def move_joints(self) -> None:
        """Movej: d0–5, speed d6, acceleration d7, asynchronous i1."""
        v, a = self._d(6, 2)
        self._move(moves.joint_move(self.c, self._d(0), v, a, is_pose=False))

    def move_joints_to_pose(self) -> None:
        """Movej to a pose."""
        v, a = self._d(6, 2)
        self._move(moves.joint_move(self.c, self._d(0), v, a, is_pose=True))

    def move_line(self) -> None:
        """Movel."""
        v, a = self._d(6, 2)
        self._move(moves.line_move(self.c, self._d(0), v, a, is_pose=True))

    def move_line_to_joints(self) -> None:
        """Movel to where joints would bring the TCP."""
        v, a = self._d(6, 2)
        self._move(moves.line_move(self.c, self._d(0), v, a, is_pose=False))

    def move_path(self) -> None:
        """The literal moves that were uploaded with the script, one after the other; blend radii are not used."""
        self._move(Chain([partial(moves.motion_from, self.c, call) for call in self._path], self.c.reference))

    def speed_joints(self) -> None:
        """Speedj: d0–5, acceleration d6, time d7 (0: until told otherwise)."""
        a, time = self._d(6, 2)
        self.c.begin(moves.joint_speed(self.c, self._d(0), a, time if time > 0.0 else 1.0))

    def speed_tool(self) -> None:
        """Speedl."""
        a, time = self._d(6, 2)
        self.c.begin(moves.tool_speed(self.c, self._d(0), a, time if time > 0.0 else 1.0))

    def _servo(self, goal: Array) -> None:
        time, lookahead, gain = self._d(8, 3)
        motion = self.c.motion
        if not (self.c.moving and isinstance(motion, JointServo)):
            motion = JointServo(self.c.reference, self.c.most_speed, self.c.most_acceleration)
            self.c.begin(motion)
        motion.aim(goal, time, lookahead, gain)

    def servo_joints(self) -> None:
        """Servoj: d0–5, time d8, lookahead d9, gain d10."""
        self._servo(moves.configuration(self.c, self._d(0), is_pose=False))

    def servo_tool(self) -> None:
        """Servol."""
        self._servo(moves.configuration(self.c, self._d(0), is_pose=True))

    def _stop(self, deceleration: float, *, later: bool = False) -> None:
        if not (np.isfinite(deceleration) and deceleration > 0.0):
            deceleration = 2.0
        self.c.begin(brake(self.c.reference, deceleration), None if later else self._done)
        if later:
            self._done()

    def stop_steering(self) -> None:
        """End of speedj, speedl, servoj: deceleration d0."""
        self._stop(self._d(0, 1)[0])

    def stop_move(self) -> None:
        """Stopl and stopj: deceleration d0, asynchronous i1."""
        self._stop(self._d(0, 1)[0], later=bool(self._i(1)))

    def inverse(self) -> None:
        """Joints of a pose d0–5, near d6–11 (30, 61) or near here (46, 60)."""
        self._answer_inverse(near=None)

    def inverse_near(self) -> None:
        """The same near joints that are given."""
        self._answer_inverse(near=np.array(self._d(6)))

    def _answer_inverse(self, near: Array | None) -> None:
        try:
            self._give(moves.configuration(self.c, self._d(0), is_pose=True, near=near))
            self._say(1, 1)
        except ArmwrightError:
            self._say(0, 1)
            raise
        self._done()

    def forward(self) -> None:
        """TCP pose of the arm as it is."""
        self._give(self.c.plant.pose_of(np.array(self.c.plant.live.q)))
        self._done()

    def forward_of(self) -> None:
        """TCP pose at joints d0–5 with TCP d6–11."""
        self._give(self.c.plant.pose_of(np.array(self._d(0)), np.array(self._d(6))))
        self._done()

    def set_payload(self) -> None:
        """Mass d0, centre d1–3."""
        mass, *centre = self._d(0, 4)
        self.c.plant.told(mass, np.array(centre))
        self._done()

    def set_tcp(self) -> None:
        """Pose at the flange d0–5."""
        self.c.plant.tcp[...] = self._d(0)
        self._done()

    def get_tcp(self) -> None:
        """TCP offset."""
        self._give(self.c.plant.tcp)
        self._done()

    def protective_stop(self) -> None:
        """Asked for by the program."""
        self.c.protective_stop("asked for by the program")

    def set_watchdog(self) -> None:
        """Least frequency of commands d0 [1/s]."""
        frequency = self._d(0, 1)[0]
        self._watchdog = (1.0 / frequency, self.c.time) if frequency > 0.0 else None
        self._done()

    def torques(self) -> None:
        """External joint torques would be zero on a model without friction; the commanded ones less the bias."""
        self._give(self.c.plant.live.outputs["tau_ext"])

    def is_steady(self) -> None:
        """Whether the arm has stood still for a while."""
        self._say(int(self.c.steady >= STEADY), 1)
        self._done()

    def end(self) -> None:
        """Stop the program."""
        self._done()
        self.c.handle(Event.STOP)

    # group 2
    def force_mode(self) -> None:
        """Type i1, selection i2–7, frame d0–5, wrench d6–11, limits d12–17."""
        selection = [self._i(2 + k) != 0 for k in range(6)]
        values = np.array(self._d(0)), np.array(self._d(6)), np.array(self._d(12))
        motion = self.c.motion
        if not (self.c.moving and isinstance(motion, ForceMode)):
            motion = ForceMode(self.c)
            self.c.begin(motion)
        motion.aim(np.array(selection), *values)

    def zero_sensor(self) -> None:
        """Take the present TCP force as zero."""
        self.c.ft_offset = np.array(self.c.plant.look().force)
        self._done()

    def free_drive(self) -> None:
        """The arm follows the hand."""
        self.c.begin(FreeDrive(self.c))
        self._done()

    def rest(self) -> None:
        """End of a mode: hold where the arm is."""
        self.c.settle()
        self._done()

    def free_drive_status(self) -> None:
        """1 while the arm follows the hand."""
        self._say(int(isinstance(self.c.motion, FreeDrive) and self.c.moving), 1)
        self._done()

    def accepted(self) -> None:
        """A setting that changes nothing here."""
        self._done()

    def jog(self) -> None:
        """Keep a TCP speed d0–5 in a frame (i1: 0 base, 1 tool) until it is stopped."""
        speed, acceleration = np.array(self._d(0)), self._d(6, 1)[0]
        self.c.begin(Jog(self.c, speed, acceleration if acceleration > 0 else 0.5, in_tool=self._i(1) == 1))
        self._done()

    def flange_pose(self) -> None:
        """Pose of the flange as it is."""
        self._give(self.c.plant.pose_of(np.array(self.c.plant.live.q), np.zeros(6)))
        self._done()

    def pose_trans(self) -> None:
        """Pose d6–11 seen through pose d0–5."""
        a, b = np.array(self._d(0)), np.array(self._d(6))
        R = exp_so3(a[3:])
        self._give(np.concatenate([a[:3] + R @ b[:3], log_so3(R @ exp_so3(b[3:]))]))
        self._done()

    def step_time(self) -> None:
        """Of the program [s]."""
        self._give([TICK if self.c.e_series else 4 * TICK])


D = Dispatcher
COMMANDS: dict[int, Callable[[Dispatcher], None]] = {
    1: D.move_joints,
    2: D.move_joints_to_pose,
    3: D.move_line,
    4: D.move_line_to_joints,
    6: D.force_mode,
    7: D.rest,
    8: D.zero_sensor,
    9: D.speed_joints,
    10: D.speed_tool,
    11: D.servo_joints,
    15: D.stop_steering,
    16: D.stop_steering,
    17: D.set_payload,
    18: D.free_drive,
    19: D.rest,
    20: D.accepted,
    21: D.accepted,
    24: D.servo_tool,
    26: D.step_time,
    29: D.set_tcp,
    30: D.inverse_near,
    31: D.protective_stop,
    33: D.stop_move,
    34: D.stop_move,
    35: D.set_watchdog,
    38: D.torques,
    39: D.pose_trans,
    40: D.get_tcp,
    41: D.jog,
    42: D.stop_steering,
    43: D.forward,
    44: D.forward_of,
    45: D.move_path,
    46: D.inverse,
    47: D.is_steady,
    52: D.free_drive,
    53: D.rest,
    54: D.free_drive_status,
    60: D.inverse,
    61: D.inverse_near,
    99: D.accepted,
    255: D.end,
}
"""By number, of ur_rtde's groups 1 and 2."""
del D
