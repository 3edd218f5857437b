# SPDX-License-Identifier: Apache-2.0
"""`ScriptRun`: what functions of the language find of the program that calls them: controller, sockets, answers."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from armwright.errors import ArmwrightError
from armwright.lab.script import script_values as values
from armwright.lab.script.script_faults import ScriptFault
from armwright.lab.script.script_sockets import ScriptSockets

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller
    from armwright.lab.script.script_values import ScriptValue
    from armwright.lab.script.statement_queue import Statement, StatementQueue
    from armwright.types import Array

T = TypeVar("T")
THREAD_WORK = 2000  # passes of loops and calls of a thread in a frame
MOST_STATEMENT_WORK = 9000  # of what nothing interrupts, beyond the share of the frame: 2 to 4 ms
FLAGS = 32


class ModbusSignal(NamedTuple):
    """A signal: its kind, see `script_installation`, and what was written to it."""

    kind: int
    value: ScriptValue


class ScriptRun:
    """A program under way, as its functions see it.

    Attributes:
        c: the controller. step_time: of a frame [s]. sockets: of the program.
        budget: passes that are left to the thread in this frame.
        fed: whether the thread has read something that came from outside in this frame: it does not loop for nothing.
        beside: whether it runs beside the program (``sec``): it may neither wait nor move.
        orphan: a motion whose thread was killed in this frame.
        passing: the move to a goal whose instruction was over last; in its blend zone it is still under way.
        planned_at: tick of the controller in which a way of the tool was last planned; -1 before the first.
        interpreter: takes statements while the program is in interpreter mode, else None.
        outputs_at_end, modbus: see `script_installation`.
        flags, random, force_gain, inertia: what the functions of the same names remember.
    """

    def __init__(self, controller: Controller, hosts: frozenset[str], *, beside: bool) -> None:
        """Begin; `hosts` may be dialled besides loopback."""
        self.c, self.beside = controller, beside
        self.step_time = 0.002 if controller.e_series else 0.008
        self.budget, self.fed = THREAD_WORK, False
        self.sockets = ScriptSockets(hosts)
        self.flags = [False] * FLAGS
        self.outputs_at_end: dict[int, int] = {}
        self.modbus: dict[str, ModbusSignal] = {}
        self.orphan: object = None
        self.passing: object = None
        self.planned_at = -1
        self.random = random.Random(0)  # the same in every run
        self.force_gain: float | None = None
        self.inertia: Array | None = None
        self.gravity: Array | None = None
        self.interpreter: StatementQueue | None = None
        self._answers: dict[int, ScriptValue] = {}
        self._requests = self._closed = 0

    def statement(self, text: str, number: int) -> Statement:
        """Return what carries out a statement that came while the program runs; `number` is for its places."""
        raise NotImplementedError

    def work(self, units: int) -> None:
        """Charge work to the thread; a statement may overdraw its share of the frame, but not by everything.

        Raises:
            ScriptFault: one statement does too much.
        """
        self.budget -= units
        if self.budget < -MOST_STATEMENT_WORK:
            raise ScriptFault("too much work in one statement: nothing else could run meanwhile")

    def charge(self, value: ScriptValue) -> None:
        """Count the work with a large value."""
        if value.__class__ in values.CONTAINERS or value.__class__ is str:
            self.work(values.weight(value) // 16)

    # --- answers of clients -------------------------------------------------------------------------------------------

    def ask(self) -> int:
        """Return the number of a question to a client."""
        self._requests += 1
        return self._requests

    def answer(self, number: int, value: ScriptValue) -> None:
        """Take a client's answer to question `number`."""
        if 0 < number <= self._requests:
            self._answers[number] = value

    def close_popup(self) -> None:
        """Take it that the window that is open has been closed."""
        self._closed = self._requests

    def popup_closed(self, number: int) -> bool:
        """Return whether a window has been closed."""
        return number <= self._closed or self._answers.pop(number, None) is not None

    def answered(self, number: int) -> Generator[object, None, ScriptValue]:
        """Wait for the answer to a question and return it."""
        while number not in self._answers:
            yield None
        return self._answers.pop(number)

    # --- work outside of the tick -------------------------------------------------------------------------------------

    def solved(self, job: Callable[[], T]) -> Generator[object, None, T]:
        """Wait for work that a tick cannot do; return its result.

        Raises:
            ArmwrightError: the work found that it cannot be done.
        """
        result: list[T | ArmwrightError] = []
        self.c.solver.ask(job, result.append)
        while not result:
            yield None
        found = result[0]
        if isinstance(found, ArmwrightError):
            raise found
        return found
