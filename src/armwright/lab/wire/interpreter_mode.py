# SPDX-License-Identifier: Apache-2.0
"""Interpreter mode, port 30020: a program that has called ``interpreter_mode()`` takes statements, one line each.

    statement       → ack: number: statement        or  discard: reason: statement
    skipbuffer      → ack: number: skipbuffer       forget what has not begun
    abort           → ack: number: abort            stop the motion under way; what waits follows
    statelast…      → state: number: statelast…     the last statement interpreted, executed, cleared; how many wait

Who takes the statements is a `StatementTaker`, the program that runs; without one everything is discarded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from armwright.errors import ArmwrightError
from armwright.lab.wire.text_lines import first_line

PORT = 30020
MOST_STATEMENT = 4096  # bytes
MOST_SHOWN = 1024  # characters of a statement that an answer repeats
NOT_IN_MODE = "no program is in interpreter mode"


class StatementTaker(Protocol):
    """A program in interpreter mode.

    Attributes:
        last_interpreted, last_executed, last_cleared: numbers of statements, 0 for none. unexecuted: how many wait.
    """

    last_interpreted: int
    last_executed: int
    last_cleared: int
    unexecuted: int

    def accept(self, statement: str) -> int:
        """Take a statement; return its number.

        Raises:
            ArmwrightError: it is no statement, or too many wait; the message says which.
        """

    def skip(self) -> int:
        """Forget what has not begun; return the number of the last statement that was forgotten."""

    def abort(self) -> int:
        """Stop the motion under way; return the number of the last statement that was taken."""


STATES = {
    "statelastinterpreted": "last_interpreted",
    "statelastexecuted": "last_executed",
    "statelastcleared": "last_cleared",
    "stateunexecuted": "unexecuted",
}
Found: TypeAlias = "Callable[[], StatementTaker | None]"


def interpreter_answer(taker: StatementTaker | None, line: str) -> str:
    """Return the answer to a line, without its newline."""
    statement = line.strip()
    shown = "".join(letter if letter.isprintable() else " " for letter in statement[:MOST_SHOWN])
    if taker is None:
        return f"discard: {NOT_IN_MODE}: {shown}"
    if statement in STATES:
        return f"state: {getattr(taker, STATES[statement])}: {statement}"
    try:
        if statement == "skipbuffer":
            number = taker.skip()
        elif statement == "abort":
            number = taker.abort()
        else:
            number = taker.accept(statement)
    except ArmwrightError as error:
        reason = " ".join(str(error).split())
        return f"discard: {reason[:MOST_SHOWN]}: {shown}"
    return f"ack: {number}: {shown}"


class InterpreterConnection:
    """Statements of one client."""

    def __init__(self, found: Found) -> None:
        self._found = found

    def take(self, buffer: bytearray) -> bytes | None:
        """Return the answer to the first line; None if it is not whole yet.

        Raises:
            ValueError: a line that is too long.
        """
        line = first_line(buffer, MOST_STATEMENT)
        if line is None:
            return None
        return interpreter_answer(self._found(), line).encode() + b"\n" if line.strip() else b""
