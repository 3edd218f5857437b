# SPDX-License-Identifier: Apache-2.0
"""A script text has arrived: ur_rtde's dispatcher, literal moves, settings, or nothing that is known."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from armwright.errors import ArmwrightError
from armwright.lab.controller import moves
from armwright.lab.controller.dispatcher import Dispatcher
from armwright.lab.controller.state import Event, State
from armwright.lab.wire.script import MOVES, Call, parse

if TYPE_CHECKING:
    from armwright.lab.controller.core import Controller

STEERING = ("speedj", "speedl", "servoj", "stopj", "stopl")
"""Calls that take over from what is under way, when they come alone."""


def run_text(c: Controller, text: str) -> None:
    """A script text has arrived on one of the ports 30001 to 30003."""
    script = parse(text)
    if script.dispatcher:
        if c.handle(Event.PLAY):
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
    wanted = [call for call in calls if call.name in MOVES]
    for call in calls:
        if call.name not in MOVES:
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
    if moves.needs_inverse(wanted):
        job = partial(moves.with_joints, c, wanted, c.reference.q.copy(), c.plant.tcp.copy())
        c.solver.ask(job, partial(_solved, c))
    else:
        _begin(c, wanted)


def _solved(c: Controller, found: list[Call] | ArmwrightError) -> None:
    try:
        if isinstance(found, ArmwrightError):
            raise found
        if c.may_move and not c.moving:
            _begin(c, found)
    except ArmwrightError as error:
        _refuse(c, error)


def _begin(c: Controller, calls: Sequence[Call]) -> None:
    motion = moves.path(c, calls)
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
    """A program on these ports replaces the one that runs; what has just begun goes on."""
    c.program = None
    c.handle(Event.PLAY)


def _ended(c: Controller) -> None:
    if c.state is State.PLAYING and c.program is None:
        c.handle(Event.STOP)
