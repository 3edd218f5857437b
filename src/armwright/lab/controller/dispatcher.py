# SPDX-License-Identifier: Apache-2.0
"""ur_rtde's control script, played instead of executed: commands come in registers, answers go out in registers.

The client writes a command when it reads 1 (ready), waits for 2 (done), then writes 0. Real-time commands are obeyed
whenever their numbers arrive, and leave the register at 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from armwright.errors import ArmwrightError
from armwright.lab.controller.commands import GROUP_1
from armwright.lab.controller.commands_compliant import GROUP_2
from armwright.lab.controller.commands_dynamics import GROUP_3
from armwright.lab.controller.compliance import back_from_contact
from armwright.lab.controller.desk import READY, Desk
from armwright.lab.controller.paths import Chain
from armwright.lab.controller.state import Event

if TYPE_CHECKING:
    from armwright.lab.controller.core import Controller
    from armwright.lab.wire.script import Script

REAL_TIME = frozenset({6, 9, 10, 11, 24, 25, 26, 27, 38, 58, 66, 67, 68, 69, 70, 71})
MOVES = frozenset({1, 2, 3, 4, 45, 51})
COMMANDS = GROUP_1 | GROUP_2 | GROUP_3


class Dispatcher(Desk):
    """The program that ur_rtde uploads.

    Attributes:
        missing: numbers of commands that came and are not known here; they are answered as done.
    """

    def __init__(self, controller: Controller, script: Script) -> None:
        super().__init__(controller, script)
        self._executing, self._seen = False, 0
        self.missing: set[int] = set()

    def tick(self) -> None:
        """Look at the command register once."""
        command = self.integer(0)
        if self.watchdog is not None:
            period, last = self.watchdog
            if command not in (0, self._seen):
                self.watchdog = (period, self.c.time)
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
        if isinstance(self.c.motion, Chain) and self.told is not None and self.c.motion.number != self.told:
            self.write_progress(self.c.motion.number)
        if self.contact is not None and not self.felt and self.c.touched(self.contact):
            self.felt = True
            if self.c.moving:
                self.c.begin(back_from_contact(self.c))

    def ask(self, job: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """See `Desk`."""
        command = self._seen

        def answered(result: Any) -> None:
            if isinstance(result, ArmwrightError):
                raise result
            then(result)

        def deliver(result: Any) -> None:
            if self.c.program is self:
                self._attempt(command, partial(answered, result))

        self.c.solver.ask(job, deliver)

    def _obey(self, command: int) -> None:
        action = COMMANDS.get(command)
        if action is None:
            self.missing.add(command)
            self.c.messages.append(f"command {command} is not known here")
            self.done()
            return
        self._attempt(command, partial(action, self))

    def _attempt(self, command: int, action: Callable[[], None]) -> None:
        try:
            action()
        except ArmwrightError as error:
            self.c.messages.append(f"command {command} refused: {error}")
            if command in MOVES:  # a runtime error ends a program
                self.c.handle(Event.STOP)
            elif command not in REAL_TIME:
                self.done()
