# SPDX-License-Identifier: Apache-2.0
"""The registers through which a client of ur_rtde commands and is answered, and what every command does with them.

An asynchronous move counts as done at once; register 2 tells its progress: progress + 2¹⁵ running + 2¹⁶ writes + 2²⁴
operation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.lab.controller.motions import Motion, brake

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller
    from armwright.lab.wire.script_text import Call, Script
    from armwright.types import Array

READY, DONE = 1, 2


class Desk:
    """The place where commands come in and answers go out.

    Attributes:
        c: the controller. path: literal moves that were uploaded with the script.
        force_gain: of force mode, as set.
        contact: direction (3,) in which a contact is waited for, or None. felt: whether it came.
        told: progress of an asynchronous operation, None if there is none.
    """

    def __init__(self, controller: Controller, script: Script) -> None:
        self.c, self._int, self._float = controller, script.offset_int, script.offset_float
        self.path: tuple[Call, ...] = script.path
        self._operation = self._writes = 0
        self.told: int | None = None
        self.contact: Array | None = None
        self.felt, self.force_gain = False, 0.5
        controller.registers.ints[self._int] = 0
        self.write_progress(-1)
        self.say(READY)

    # registers
    def integer(self, k: int) -> int:
        """Return input integer register k of the client's range."""
        return self.c.registers.ints[self._int + k]

    def numbers(self, first: int, count: int = 6) -> list[float]:
        """Return input double registers from `first` on."""
        return self.c.registers.doubles[self._float + first : self._float + first + count]

    def say(self, value: int, register: int = 0) -> None:
        """Set an output integer register."""
        self.c.registers.out_ints[self._int + register] = value

    def give(self, numbers: Array | list[float], first: int = 0) -> None:
        """Set output double registers from `first` on.

        Raises:
            InputError: there are fewer registers (a matrix, to a client that works in the upper range).
        """
        at, out = self._float + first, self.c.registers.out_doubles
        if at + len(numbers) > len(out):
            raise InputError("registers: a matrix needs the lower range")
        out[at : at + len(numbers)] = [float(x) for x in numbers]

    def done(self) -> None:
        """Report that the command under way has been carried out."""
        self.say(DONE)

    # work that takes longer than a tick
    def ask(self, job: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Run a job outside the tick; `then` gets the result, unless the program has ended or the job was refused."""
        raise NotImplementedError

    def solve(self, pose: Array, then: Callable[[Array | None], None], near: Array | None = None) -> None:
        """Find joints of a TCP pose near `near`, or near where the arm is; `then` gets them, None if there are none."""
        seed = np.array(self.c.reference.q if near is None else near)
        self.ask(partial(self.c.plant.inverse, pose, seed, self.c.plant.tcp.copy()), then)

    # motions
    def move(self, motion: Motion) -> None:
        """Start a move; done when it has ended, or at once if i1 makes it asynchronous."""
        if self.integer(1):
            self.c.begin(motion, self._end_progress)
            self.write_progress(0)
            self.done()
        else:
            self.told = None
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
        if self.told is not None:
            self.write_progress(-1)

    def write_progress(self, value: int) -> None:
        """Tell the progress of an asynchronous operation: 0 begins one, a negative value ends it."""
        self._writes = (self._writes + 1) % 128
        self._operation = (self._operation + (value == 0 and self.told is None)) % 128
        self.told = value if value >= 0 else None
        self.say((min(value, 32767) + 32768 if value >= 0 else 0) | self._writes << 16 | self._operation << 24, 2)

    def watch(self, frequency: float) -> None:
        """Stop the program if the command register is not written for 1/frequency seconds; 0 ends that."""
        self.c.watchdogs.watch(f"input_int_register_{self._int}", frequency, "stop", self.c.time)
