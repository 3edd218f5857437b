# SPDX-License-Identifier: Apache-2.0
"""Lines of the ports 30001 to 30003 that are no URScript: what an operator does at the panel, asked for by a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.lab.controller.controller_messages import READ_ONLY, ErrorCodeMessage
from armwright.lab.controller.controller_states import CommandPlace, ControllerEvent, ControllerState

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller

PORT_COMMANDS: dict[str, ControllerEvent] = {
    "power on": ControllerEvent.POWER_ON,
    "power off": ControllerEvent.POWER_OFF,
    "set robotmode run": ControllerEvent.RELEASE,
    "set unlock protective stop": ControllerEvent.UNLOCK,
    "stop program": ControllerEvent.STOP,
    "pause program": ControllerEvent.PAUSE,
    "resume program": ControllerEvent.PLAY,
}


def port_command(line: str) -> str | None:
    """Return the command that a line is, None for any other line."""
    words = " ".join(line.split(maxsplit=6))
    return words if words in PORT_COMMANDS else None


def obey_port(c: Controller, command: str) -> bool:
    """Do what a command of `PORT_COMMANDS` says; False if it is refused in the present state."""
    if refuses(c):
        return False
    event = PORT_COMMANDS[command]
    if event is ControllerEvent.PLAY and c.state is not ControllerState.PAUSED:
        return False  # there is nothing to go on with
    return c.handle(event)


def refuses(c: Controller) -> bool:
    """Return whether the panel alone commands the arm; a client that tries is told."""
    if c.place is not CommandPlace.LOCAL:
        return False
    c.ignored += 1
    c.note("script refused: the controller is in local control")
    c.say(ErrorCodeMessage(READ_ONLY, 0, 3, "the interface is read-only: the controller is in local control"))
    return True
