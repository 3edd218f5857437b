# SPDX-License-Identifier: Apache-2.0
"""What a controller says of its own accord: records that `Controller.say` takes and the ports make bytes of.

Only what is said is here; how it looks on a port is the protocol's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

PROGRAM_STARTED, PROGRAM_STOPPED = "PROGRAM_XXX_STARTED", "PROGRAM_XXX_STOPPED"
POPUP_LOOKS = ("message", "warning", "error")
REPORT_LEVELS = {0: "debug", 1: "information", 2: "warning", 3: "violation", 4: "fault"}
CANNOT_FOLLOW, COLLISION_FELT, STOP_BY_PROGRAM, READ_ONLY = 154, 157, 209, 210
"""Codes of errors: joints cannot follow a motion, a collision, ``protective_stop()``, a port in local control."""
VALUE_KINDS = ("boolean", "integer", "float", "string")


@dataclass(frozen=True, slots=True)
class KeyMessage:
    """A program begins or ends: `title` is `PROGRAM_STARTED` or `PROGRAM_STOPPED`, `text` the program's name."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class RuntimeExceptionMessage:
    """A program has a fault: at which line and column, both from 1, and which."""

    line: int
    column: int
    text: str


@dataclass(frozen=True, slots=True)
class ErrorCodeMessage:
    """Something is wrong with the arm: error C`code`A`argument`; `level` is a key of `REPORT_LEVELS`."""

    code: int
    argument: int = 0
    level: int = 2
    text: str = ""


@dataclass(frozen=True, slots=True)
class SafetyModeMessage:
    """The safety mode is another now: its number, as RTDE's ``safety_mode`` has it."""

    mode: int


@dataclass(frozen=True, slots=True)
class TextMessage:
    """What ``textmsg`` says."""

    text: str


@dataclass(frozen=True, slots=True)
class LabelMessage:
    """A program comes to a line ``$ number "name"``."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class PopupMessage:
    """A window for the operator; `look` is one of `POPUP_LOOKS`; of a `blocking` one the program waits for the end."""

    number: int
    title: str
    text: str
    look: str = "message"
    blocking: bool = False


@dataclass(frozen=True, slots=True)
class RequestValueMessage:
    """A program asks a client for a value of a kind out of `VALUE_KINDS`; `number` is to be told with the answer."""

    number: int
    kind: str
    text: str


MOST_TOLD_LETTERS = 200  # characters of a text that the operator is shown
ControllerMessage: TypeAlias = (
    KeyMessage
    | RuntimeExceptionMessage
    | ErrorCodeMessage
    | SafetyModeMessage
    | TextMessage
    | LabelMessage
    | PopupMessage
    | RequestValueMessage
)


def words_of(record: ControllerMessage) -> str:
    """Return what the operator reads of a record; nothing of those that only clients are told."""
    if isinstance(record, KeyMessage):
        return f"program {record.text}: {'started' if record.title == PROGRAM_STARTED else 'stopped'}"
    if isinstance(record, RuntimeExceptionMessage):
        return f"program, line {record.line}, column {record.column}: {record.text[:MOST_TOLD_LETTERS]}"
    if isinstance(record, TextMessage):
        return f"textmsg: {record.text[:MOST_TOLD_LETTERS]}"
    if isinstance(record, PopupMessage):
        return f"popup: {record.text[:MOST_TOLD_LETTERS]}"
    if isinstance(record, RequestValueMessage):
        return f"the program asks for a value ({record.kind}): {record.text[:MOST_TOLD_LETTERS]}"
    return ""
