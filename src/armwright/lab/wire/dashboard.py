# SPDX-License-Identifier: Apache-2.0
"""The dashboard server of a UR, port 29999: one line in, one line out.

Clients match the words of the answers: they are those of Universal Robots, "Dashboard server", e-Series and CB3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from armwright.lab.controller.controller_states import (
    ROBOT_MODES,
    RUNTIME,
    CommandPlace,
    ControllerEvent,
    RobotMode,
    RuntimeState,
)
from armwright.lab.operator_panel import NO_MODE, REPORTS
from armwright.lab.program_store import Loading
from armwright.lab.wire.arm_parts import robot_model
from armwright.lab.wire.text_lines import first_line

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller
    from armwright.lab.operator_panel import OperatorPanel

PORT = 29999
BANNER = b"Connected: Universal Robots Dashboard Server\n"
MOST_DASHBOARD_LINE = 1024
MOST_ECHO = 200  # characters of a client's text that an answer repeats
NO_PROGRAM = "<unnamed>"
SERIAL = {3: "2014000001", 5: "20190000001"}
"""First number of the version → serial number: the first four digits are a year."""
_RUNS = (RuntimeState.PLAYING, RuntimeState.STOPPING)
_PROGRAM = {RuntimeState.STOPPED: "STOPPED", RuntimeState.PAUSED: "PAUSED"}
Answer: TypeAlias = "str | Loading"
Command: TypeAlias = "Callable[[OperatorPanel, str], Answer]"


def _change(event: ControllerEvent, yes: str, no: str) -> Command:
    return lambda p, _: yes if p.c.handle(event) else no


def _say(answer: str) -> Command:
    return lambda p, _: answer


def _runtime(c: Controller) -> RuntimeState:
    return RUNTIME.get(c.state, RuntimeState.STOPPED)


def _play(p: OperatorPanel, _: str) -> str:
    return "Starting program" if p.store.play() else "Failed to execute: play"


def _stop(p: OperatorPanel, _: str) -> str:
    p.store.forget_request()
    return "Stopped" if p.c.handle(ControllerEvent.STOP) else "Failed to execute: stop"


def _popup(p: OperatorPanel, text: str) -> str:
    p.show_popup(text)
    return "showing popup"


def _close_popup(p: OperatorPanel, _: str) -> str:
    p.close_popup()
    return "closing popup"


def _loaded(p: OperatorPanel, _: str) -> str:
    return f"Loaded program: {p.store.name}" if p.store.name else "No program loaded"


def _saved(p: OperatorPanel, _: str) -> str:
    return f"true {p.store.name}" if p.store.name else f"false {NO_PROGRAM}"


def _installation(p: OperatorPanel, text: str) -> str:
    return f"{'Loading installation' if p.store.has_installation(text) else 'File not found'}: {text[:MOST_ECHO]}"


def _program_state(p: OperatorPanel, _: str) -> str:
    return f"{_PROGRAM.get(_runtime(p.c), 'PLAYING')} {p.store.name or NO_PROGRAM}"


def _version(p: OperatorPanel, _: str) -> str:
    return ".".join(map(str, p.c.version))


def _add_to_log(p: OperatorPanel, text: str) -> str:
    if text:
        p.add_to_log(text)
    return "Added log message" if text else "No log message to add"


def _role(p: OperatorPanel, text: str) -> str:
    return f"{'Setting' if p.set_role(text) else 'Failed setting'} user role: {text[:MOST_ECHO]}"


def _mode(p: OperatorPanel, text: str) -> str:
    return f"Operational mode {p.mode} is set" if p.set_mode(text) else f"Failed setting mode: {text[:MOST_ECHO]}"


def _clear_mode(p: OperatorPanel, _: str) -> str:
    p.mode = NO_MODE
    return f"No longer controlling the operational mode. Current operational mode: '{NO_MODE}'."


def _flight_report(p: OperatorPanel, text: str) -> str:
    if text.lower() not in REPORTS:
        return f"Error: no report {text[:MOST_ECHO]}; valid: {', '.join(filter(None, REPORTS))}"
    return f"Flight Report generated with id: {p.report()}"


def _support_file(p: OperatorPanel, text: str) -> str:
    return f"Completed successfully: report {p.report()}, kept in memory"


COMMANDS: dict[str, Command] = {
    "unlock protective stop": _change(
        ControllerEvent.UNLOCK, "Protective stop releasing", "Cannot unlock protective stop: there is none"
    ),
    "restart safety": _change(ControllerEvent.RESTART, "Restarting safety", "Failed to execute: restart safety"),
    "close safety popup": _say("closing safety popup"),
    "close popup": _close_popup,
    "popup": _popup,
    "power on": _change(ControllerEvent.POWER_ON, "Powering on", "Failed to execute: power on"),
    "power off": _change(ControllerEvent.POWER_OFF, "Powering off", "Failed to execute: power off"),
    "brake release": _change(ControllerEvent.RELEASE, "Brake releasing", "Failed to execute: brake release"),
    "play": _play,
    "pause": _change(ControllerEvent.PAUSE, "Pausing program", "Failed to execute: pause"),
    "stop": _stop,
    "load installation": _installation,
    "load": lambda p, text: p.store.load(text),
    "get loaded program": _loaded,
    "running": lambda p, _: f"Program running: {'true' if _runtime(p.c) in _RUNS else 'false'}",
    "robotmode": lambda p, _: f"Robotmode: {ROBOT_MODES.get(p.c.state, RobotMode.RUNNING).name}",
    "safetymode": lambda p, _: f"Safetymode: {p.c.safety.name}",
    "safetystatus": lambda p, _: f"Safetystatus: {p.c.safety.name}",
    "programState": _program_state,
    "isProgramSaved": _saved,
    "PolyscopeVersion": lambda p, _: f"URSoftware {_version(p, '')} (armwright lab)",
    "version": _version,
    "get robot model": lambda p, _: robot_model(p.c.plant.robot).upper(),
    "get serial number": lambda p, _: SERIAL.get(p.c.version[0], SERIAL[5]),
    "is in remote control": lambda p, _: "true" if p.c.place is CommandPlace.REMOTE else "false",
    "addToLog": _add_to_log,
    "saveLog": _say("Log saved to disk"),
    "setUserRole": _role,
    "getUserRole": lambda p, _: p.role,
    "set operational mode": _mode,
    "get operational mode": lambda p, _: p.mode,
    "clear operational mode": _clear_mode,
    "generate flight report": _flight_report,
    "generate support file": _support_file,
    "shutdown": _say("Failed to execute: shutdown"),
}
_BY_WORDS = {tuple(name.lower().split()): command for name, command in COMMANDS.items()}
_MOST_WORDS = max(map(len, _BY_WORDS))


def answer(panel: OperatorPanel, line: str) -> Answer:
    """Return the answer to a line, without its newline, or a program that is being read.

    Of two commands that begin alike the longer one counts.
    """
    text = line.strip()
    words = text.lower().split(maxsplit=_MOST_WORDS)
    for count in range(min(len(words), _MOST_WORDS), 0, -1):
        command = _BY_WORDS.get(tuple(words[:count]))
        if command is not None:
            return command(panel, "".join(text.split(maxsplit=count)[count:]))
    return f"could not understand: '{text[:MOST_ECHO]}'"


def loading_answer(loading: Loading) -> str:
    """Return what is said of a program that was read, or could not be."""
    name = loading.name[:MOST_ECHO]
    if not loading.refused:
        return f"Loading program: {name}"
    return f"File not found: {name}" if loading.missing else f"Error while loading program: {name}"


class DashboardConnection:
    """Lines of one client."""

    def __init__(self, panel: OperatorPanel) -> None:
        self._panel, self._ended = panel, False
        self._loading: Loading | None = None

    def take(self, buffer: bytearray) -> bytes | None:
        """Return the answer to the first line; None if it is not whole yet, nothing while a program is being read.

        Raises:
            ValueError: a line that is too long.
            EOFError: the client has said goodbye, and was answered.
        """
        if self._ended:
            raise EOFError
        if self._loading is None:
            line = first_line(buffer, MOST_DASHBOARD_LINE)
            if line is None:
                return None
            text = line.strip()
            if text.lower() in ("quit", "exit"):
                self._ended = True
                return b"Disconnected\n"
            said = answer(self._panel, text) if text else ""
            if isinstance(said, str):
                return said.encode() + b"\n" if said else b""
            self._loading = said
        if not self._loading.done:
            return b""
        said, self._loading = loading_answer(self._loading), None
        return said.encode() + b"\n"
