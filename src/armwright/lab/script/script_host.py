# SPDX-License-Identifier: Apache-2.0
"""`ScriptHost`: texts that have arrived become programs that run, one beside secondary ones.

A text is compiled in a thread of its own, not in a tick; a tick that finds it done starts it, in place of the program
that runs, or says what is wrong with it. A text with a fault replaces nothing. One is started a tick, so that each of
several lines that come at once runs at least its first frame.
"""

from __future__ import annotations

import sys
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from armwright.errors import ArmwrightError, InputError
from armwright.lab.controller.controller import PROGRAM_STOP_DECELERATION
from armwright.lab.controller.controller_messages import RuntimeExceptionMessage
from armwright.lab.controller.controller_states import ControllerEvent
from armwright.lab.controller.tick_solver import Solver
from armwright.lab.script.script_compiler import CompiledScript, compile_script
from armwright.lab.script.script_faults import ScriptError
from armwright.lab.script.script_machine import ScriptMachine

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller

MOST_BESIDE = 16  # secondary programs at a time
TURN_SECONDS = 0.0003  # after which Python lets the clock's thread go on while a text is compiled
MOST_WAITING = 32  # texts that are compiled, or wait to be started


class ScriptHost:
    """What a controller does with texts.

    Attributes:
        beside: secondary programs that run. hosts: addresses that programs may dial besides loopback.
    """

    def __init__(self, controller: Controller, *, hosts: frozenset[str] = frozenset()) -> None:
        self.c, self.hosts = controller, hosts
        self.beside: list[ScriptMachine] = []
        self._compiler = Solver()
        self._waiting = 0
        self._found: deque[CompiledScript | ArmwrightError] = deque()
        controller.scripts = self

    @property
    def full(self) -> bool:
        """Return whether no further text should come for now."""
        return self._waiting >= MOST_WAITING

    def take(self, text: str) -> None:
        """Take a whole text: a ``def``, a ``sec``, or bare lines."""
        try:
            self._compiler.ask(partial(_compiled_beside, text, self.c.version), self._found.append)
            self._waiting += 1
        except InputError:
            self.c.note("script ignored: too many are waiting")

    def run(self, text: str) -> None:
        """Compile and start a text at once, within a tick: for tests and short texts of our own."""
        try:
            self._compiled(compile_script(text, self.c.version))
        except ScriptError as error:
            self._compiled(error)

    def tick(self) -> None:
        """Start what has been compiled, and go on with secondary programs."""
        self._compiler.deliver()
        if self._found:
            self._waiting -= 1
            self._compiled(self._found.popleft())
        for machine in self.beside[:]:
            machine.tick()
        self.beside = [machine for machine in self.beside if not machine.ended]

    def _compiled(self, found: CompiledScript | ArmwrightError) -> None:
        if isinstance(found, ScriptError):
            self.c.say(RuntimeExceptionMessage(found.line, found.column, found.words))
            return
        if isinstance(found, ArmwrightError):
            self.c.say(RuntimeExceptionMessage(1, 1, str(found)))
            return
        if found.kind == "sec":
            if len(self.beside) < MOST_BESIDE:
                self.beside.append(ScriptMachine(self.c, found, hosts=self.hosts))
            return
        if not self.c.handle(ControllerEvent.PLAY):
            self.c.ignored += 1
            self.c.note(f"program {found.name} ignored: {self.c.state.value}")
            return
        if self.c.program is not None:
            self.c.drop_program()
            self.c.halt(PROGRAM_STOP_DECELERATION)
        machine = ScriptMachine(self.c, found, hosts=self.hosts)
        self.c.program = machine
        machine.started()

    def close(self) -> None:
        """End everything."""
        for machine in self.beside:
            machine.close()
        self._compiler.close()


def _compiled_beside(text: str, version: tuple[int, ...]) -> CompiledScript:
    """Compile in another thread than that of the clock, which gets its turn often meanwhile.

    Raises:
        ScriptError: the text cannot be run.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(min(usual, TURN_SECONDS))
    try:
        return compile_script(text, version)
    finally:
        sys.setswitchinterval(usual)
