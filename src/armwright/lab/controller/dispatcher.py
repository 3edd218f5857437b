# SPDX-License-Identifier: Apache-2.0
"""ur_rtde's control script, played instead of executed: commands come in registers, answers go out in registers.

The client writes a command when it reads 1 (ready), waits for 2 (done), then writes 0. Real-time commands are obeyed
whenever their numbers arrive, and leave the register at 1. A move with the asynchronous flag is done at once, and
register 2 tells its progress: progress + 2¹⁵ running + 2¹⁶ writes + 2²⁴ operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import ArmwrightError
from armwright.lab.controller.commands import GROUP_1
from armwright.lab.controller.commands_compliant import GROUP_2
from armwright.lab.controller.motions import Chain, Motion, brake
from armwright.lab.controller.state import Event

if TYPE_CHECKING:
    from armwright.lab.controller.core import Controller
    from armwright.lab.wire.script import Call, Script
    from armwright.types import Array

READY, DONE = 1, 2
REAL_TIME = frozenset({6, 9, 10, 11, 24, 25, 26, 27, 38, 58, 66, 67, 68, 69, 70, 71})
COMMANDS = GROUP_1 | GROUP_2


class Dispatcher:
    """The program that ur_rtde uploads.

    Attributes:
        c: the controller. path: literal moves that were uploaded with the script.
        contact: direction (3,) in which a contact is waited for, or None. felt: whether it came.
        missing: numbers of commands that came and are not known here; they are answered as done.
    """

    def __init__(self, controller: Controller, script: Script) -> None:
        self.c, self._int, self._float = controller, script.offset_int, script.offset_float
        self.path: tuple[Call, ...] = script.path
        self._executing, self._seen = False, 0
        self._operation = self._writes = 0
        self._told: int | None = None  # progress of an asynchronous operation, None if there is none
        self._watchdog: tuple[float, float] | None = None  # period, time of the last sign
        self.contact: Array | None = None
        self.felt = False
        self.missing: set[int] = set()
        controller.registers.ints[self._int] = 0
        self._write_progress(-1)
        self.say(READY)

    # registers
    def integer(self, k: int) -> int:
        """Input integer register k of the client's range."""
        return self.c.registers.ints[self._int + k]

    def numbers(self, first: int, count: int = 6) -> list[float]:
        """Input double registers from `first` on."""
        return self.c.registers.doubles[self._float + first : self._float + first + count]

    def say(self, value: int, register: int = 0) -> None:
        """Set an output integer register."""
        self.c.registers.out_ints[self._int + register] = value

    def give(self, numbers: Array | list[float]) -> None:
        """Set output double registers from 0 on."""
        at = self._float
        self.c.registers.out_doubles[at : at + len(numbers)] = [float(x) for x in numbers]

    def done(self) -> None:
        """The command under way has been carried out."""
        self.say(DONE)

    # motions
    def move(self, motion: Motion) -> None:
        """Start a move; done when it has ended, or at once if i1 makes it asynchronous."""
        if self.integer(1):
            self.c.begin(motion, self._end_progress)
            self._write_progress(0)
            self.done()
        else:
            self._told = None
            self.c.begin(motion, self.done)

    def stop(self, deceleration: float, *, later: bool = False) -> None:
        """Brake; done at rest, or at once if `later`."""
        if not (np.isfinite(deceleration) and deceleration > 0.0):
            deceleration = 2.0
        self._end_progress()
        self.c.begin(brake(self.c.reference, deceleration), None if later else self.done)
        if later:
            self.done()

    def _end_progress(self) -> None:
        if self._told is not None:
            self._write_progress(-1)

    def _write_progress(self, value: int) -> None:
        self._writes = (self._writes + 1) % 128
        self._operation = (self._operation + (value == 0 and self._told is None)) % 128
        self._told = value if value >= 0 else None
        self.say((min(value, 32767) + 32768 if value >= 0 else 0) | self._writes << 16 | self._operation << 24, 2)

    def watch(self, frequency: float) -> None:
        """Stop the program if no new command comes for 1/frequency seconds; 0 ends that."""
        self._watchdog = (1.0 / frequency, self.c.time) if frequency > 0.0 else None

    def tick(self) -> None:
        """Look at the command register once."""
        command = self.integer(0)
        if self._watchdog is not None:
            period, last = self._watchdog
            if command not in (0, self._seen):
                self._watchdog = (period, self.c.time)
            elif self.c.time - last > period:
                self.c.messages.append("watchdog: the client has not been heard; the program is stopped")
                self.c.handle(Event.STOP)
                return
        self._seen = command
        if command in REAL_TIME:
            self._obey(command)
            self.say(READY)
        elif command == 0:
            self._executing = False
            self.say(READY)
        elif not self._executing:
            self._executing = True
            self.say(0)
            self._obey(command)
        if isinstance(self.c.motion, Chain) and self._told is not None and self.c.motion.number != self._told:
            self._write_progress(self.c.motion.number)
        if self.contact is not None and not self.felt and self.c.touched(self.contact):
            self.felt = True
            self.c.halt(3.0)

    def _obey(self, command: int) -> None:
        action = COMMANDS.get(command)
        if action is None:
            self.missing.add(command)
            self.c.messages.append(f"command {command} is not known here")
            self.done()
            return
        try:
            action(self)
        except ArmwrightError as error:
            self.c.messages.append(f"command {command} refused: {error}")
            if command in MOVES:  # a runtime error ends a program
                self.c.handle(Event.STOP)
            elif command not in REAL_TIME:
                self.done()


MOVES = frozenset({1, 2, 3, 4, 45, 51})
