# SPDX-License-Identifier: Apache-2.0
"""Scripts that arrive on the ports: ur_rtde's dispatcher, literal moves, settings; unknown text is ignored.

`run_text` decides which it is. `Dispatcher` plays ur_rtde's control script instead of executing it: commands come in
registers, answers go out in registers. The client writes a command when it reads 1 (ready), waits for 2 (done), then
writes 0. Real-time commands are obeyed whenever their numbers arrive, and leave the register at 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from armwright.errors import ArmwrightError
from armwright.lab.controller import move_calls as moves
from armwright.lab.controller.command_registers import READY, Desk
from armwright.lab.controller.commands import GROUP_1, GROUP_3
from armwright.lab.controller.commands_compliant import GROUP_2
from armwright.lab.controller.compliant_motions import back_from_contact
from armwright.lab.controller.controller_states import ControllerEvent, ControllerState
from armwright.lab.controller.move_chains import Chain
from armwright.lab.controller.port_commands import obey_port, refuses
from armwright.lab.wire.script_text import MOVES as MOVE_NAMES
from armwright.lab.wire.script_text import Call, parse

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller
    from armwright.lab.wire.script_text import Script
    from armwright.types import Array

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

    def close(self) -> None:
        """End; there is nothing to tidy up."""

    def tick(self) -> None:
        """Look at the command register once."""
        command = self.integer(0)
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
                self.c.handle(ControllerEvent.END)
            elif command not in REAL_TIME:
                self.done()


STEERING = ("speedj", "speedl", "servoj", "stopj", "stopl")
"""Calls that take over from what is under way, when they come alone."""


def run_text(c: Controller, text: str) -> None:
    """Obey a script text."""
    run_script(c, parse(text))


def run_script(c: Controller, script: Script) -> None:
    """Obey a script that has arrived on one of the ports 30001 to 30003."""
    if script.command:
        obey_port(c, script.command)
        return
    if refuses(c):
        return
    if script.dispatcher:
        if c.handle(ControllerEvent.PLAY):
            c.halt(4.0)
            c.program = Dispatcher(c, script)
        return
    try:
        _run_calls(c, script.calls)
    except ArmwrightError as error:
        _refuse(c, error)


def _refuse(c: Controller, error: ArmwrightError) -> None:
    c.messages.append(f"script refused: {error}")


def _run_calls(c: Controller, calls: Sequence[Call]) -> None:
    wanted = [call for call in calls if call.name in MOVE_NAMES]
    for call in moves.last_settings(call for call in calls if call.name not in MOVE_NAMES):
        moves.setting(c, call)
    if not wanted:
        return
    name = wanted[-1].name
    alone = len(wanted) == 1 and name in STEERING
    busy = c.moving or c.solver.busy
    if not c.may_move or (busy and not alone):
        c.ignored += 1
        c.messages.append(f"{name} ignored: {'moving' if busy else c.state.value}")
        return
    if alone:
        _steer(c, wanted[0])
        return
    start = c.reference.q.copy()
    if len(wanted) > moves.MOVES_AT_ONCE or moves.needs_inverse(wanted):
        c.solver.ask(partial(moves.planned, c, wanted, start, c.plant.tcp.copy()), partial(_solved, c, start))
    else:
        _begin(c, moves.path(c, wanted, start))


def _solved(c: Controller, start: Array, found: Chain | ArmwrightError) -> None:
    try:
        if isinstance(found, ArmwrightError):
            raise found
        if c.may_move and not c.moving:
            moves.still_there(c, start)
            _begin(c, found)
    except ArmwrightError as error:
        _refuse(c, error)


def _begin(c: Controller, motion: Chain) -> None:
    _take_over(c)
    c.begin(motion, partial(_ended, c))


def _steer(c: Controller, call: Call) -> None:
    if call.name == "servoj":
        moves.servo_call(c, call)
        _take_over(c)
        c.finished = partial(_ended, c)
    else:
        motion = moves.motion_of(c, call, c.reference)
        _take_over(c)
        c.begin(motion, partial(_ended, c))


def _take_over(c: Controller) -> None:
    """Replace the program that runs by the new one; what has just begun goes on."""
    c.program = None
    c.handle(ControllerEvent.PLAY)


def _ended(c: Controller) -> None:
    if c.state is ControllerState.PLAYING and c.program is None:
        c.handle(ControllerEvent.END)
