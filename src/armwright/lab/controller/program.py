# SPDX-License-Identifier: Apache-2.0
"""A script text has arrived: ur_rtde's dispatcher, literal moves, settings, or nothing that is known."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from armwright.errors import ArmwrightError
from armwright.lab.controller.dispatcher import Dispatcher
from armwright.lab.controller.motions import Chain
from armwright.lab.controller.moves import motion_from, motion_of, setting
from armwright.lab.controller.state import Event, State
from armwright.lab.wire.script import MOVES, Call, parse

if TYPE_CHECKING:
    from armwright.lab.controller.core import Controller


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
        c.messages.append(f"script refused: {error}")


def _run_calls(c: Controller, calls: Sequence[Call]) -> None:
    wanted = [call for call in calls if call.name in MOVES]
    for call in calls:
        if call.name not in MOVES:
            setting(c, call)
    if not wanted:
        return
    name = wanted[-1].name
    steering = len(wanted) == 1 and name in ("speedj", "speedl", "stopj", "stopl")
    if not c.may_move or (c.moving and not steering):
        c.ignored += 1
        c.messages.append(f"{name} ignored: {'moving' if c.moving else c.state.value}")
        return
    if c.program is not None:  # a program on these ports replaces the one that runs
        c.handle(Event.STOP)
    makers = [partial(motion_from, c, call) for call in wanted]
    chain = Chain(makers, c.reference) if len(makers) > 1 else motion_of(c, wanted[0])

    def ended() -> None:
        if c.state is State.PLAYING and c.program is None:
            c.handle(Event.STOP)

    c.handle(Event.PLAY)
    c.begin(chain, ended)
