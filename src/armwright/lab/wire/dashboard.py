# SPDX-License-Identifier: Apache-2.0
"""The dashboard server of a UR, port 29999: one line in, one line out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.lab.controller.controller_states import (
    ROBOT_MODES,
    RUNTIME,
    CommandPlace,
    ControllerEvent,
    ControllerState,
    RobotMode,
    RuntimeState,
)
from armwright.lab.wire.text_lines import first_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from armwright.lab.controller.controller import Controller

PORT = 29999
BANNER = b"Connected: Universal Robots Dashboard Server\n"
MOST_DASHBOARD_LINE = 1024
_RUNS = (RuntimeState.PLAYING, RuntimeState.STOPPING)
_PROGRAM = {RuntimeState.STOPPED: "STOPPED", RuntimeState.PAUSED: "PAUSED"}


def _change(event: ControllerEvent, yes: str, no: str) -> Callable[[Controller, str], str]:
    return lambda c, _: yes if c.handle(event) else no


def _play(c: Controller, _: str) -> str:
    """Play a paused program; others cannot be played, as texts are not kept."""
    return (
        "Starting program"
        if c.state is ControllerState.PAUSED and c.handle(ControllerEvent.PLAY)
        else "Failed to execute: play"
    )


def _popup(c: Controller, text: str) -> str:
    c.messages.append(f"popup: {text[:200]}")
    return "showing popup"


def _program_state(c: Controller) -> str:
    return _PROGRAM.get(RUNTIME.get(c.state, RuntimeState.STOPPED), "PLAYING") + " rtde_control.urp"


COMMANDS: dict[str, Callable[[Controller, str], str]] = {
    "unlock protective stop": _change(
        ControllerEvent.UNLOCK, "Protective stop releasing", "Cannot unlock protective stop: there is none"
    ),
    "restart safety": _change(ControllerEvent.RESTART, "Restarting safety", "Safety runs"),
    "close safety popup": lambda c, _: "closing safety popup",
    "close popup": lambda c, _: "closing popup",
    "popup": _popup,
    "power on": _change(ControllerEvent.POWER_ON, "Powering on", "Failed to execute: power on"),
    "power off": _change(ControllerEvent.POWER_OFF, "Powering off", "Failed to execute: power off"),
    "brake release": _change(ControllerEvent.RELEASE, "Brake releasing", "Failed to execute: brake release"),
    "play": _play,
    "pause": _change(ControllerEvent.PAUSE, "Pausing program", "Failed to execute: pause"),
    "stop": _change(ControllerEvent.STOP, "Stopped", "Failed to execute: stop"),
    "load installation": lambda c, text: f"File not found: {text[:200]}",
    "load": lambda c, text: f"File not found: {text[:200]}",
    "get loaded program": lambda c, _: "No program loaded",
    "running": lambda c, _: (
        f"Program running: {'true' if RUNTIME.get(c.state, RuntimeState.STOPPED) in _RUNS else 'false'}"
    ),
    "robotmode": lambda c, _: f"Robotmode: {ROBOT_MODES.get(c.state, RobotMode.RUNNING).name}",
    "safetymode": lambda c, _: f"Safetymode: {c.safety.name}",
    "safetystatus": lambda c, _: f"Safetystatus: {c.safety.name}",
    "programState": lambda c, _: _program_state(c),
    "isProgramSaved": lambda c, _: "true rtde_control.urp",
    "PolyscopeVersion": lambda c, _: f"URSoftware {'.'.join(map(str, c.version))} (armwright lab)",
    "version": lambda c, _: f"URSoftware {'.'.join(map(str, c.version))} (armwright lab)",
    "get robot model": lambda c, _: c.plant.robot.name.upper(),
    "get serial number": lambda c, _: "20140001",
    "is in remote control": lambda c, _: "true" if c.place is CommandPlace.REMOTE else "false",
    "addToLog": lambda c, text: "Added log message" if text else "No log message to add",
    "setUserRole": lambda c, text: f"Setting user role: {text[:40]}",
    "getUserRole": lambda c, _: "PROGRAMMER",
    "clear operational mode": lambda c, _: "No longer controlling the operational mode",
    "shutdown": lambda c, _: "Failed to execute: shutdown",
}
_BY_WORDS = {tuple(name.lower().split()): command for name, command in COMMANDS.items()}
_MOST_WORDS = max(map(len, _BY_WORDS))


def answer(c: Controller, line: str) -> str:
    """Return the answer to a line, without its newline; of two commands that begin alike the longer one counts."""
    text = line.strip()
    words = text.lower().split(maxsplit=_MOST_WORDS)
    for count in range(min(len(words), _MOST_WORDS), 0, -1):
        command = _BY_WORDS.get(tuple(words[:count]))
        if command is not None:
            return command(c, "".join(text.split(maxsplit=count)[count:]))
    return f"could not understand: '{text[:200]}'"


class DashboardConnection:
    """Lines of one client."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def take(self, buffer: bytearray) -> bytes | None:
        """Return the answer to the first line; None if it is not whole yet.

        Raises:
            ValueError: a line that is too long.
            EOFError: the client has said goodbye.
        """
        line = first_line(buffer, MOST_DASHBOARD_LINE)
        if line is None:
            return None
        text = line.strip()
        if text in ("quit", "exit"):
            raise EOFError
        return answer(self._controller, text).encode() + b"\n" if text else b""
