# SPDX-License-Identifier: Apache-2.0
"""Interpreter mode: a program that takes statements one by one, with its own variables and functions.

The thread that called ``interpreter_mode`` carries them out; a ``def`` defines a function for those behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from armwright.lab.script.script_arguments import flag
from armwright.lab.script.script_faults import ScriptFault
from armwright.lab.script.statement_queue import StatementQueue

if TYPE_CHECKING:
    from armwright.lab.script.script_run import ScriptRun
    from armwright.lab.script.script_values import ScriptValue


def _enter(m: ScriptRun, clear_on_enter: ScriptValue, clear_on_end: ScriptValue) -> Generator[object, None, None]:
    """Take statements until one of them ends the mode."""
    if m.interpreter is not None:
        raise ScriptFault("interpreter_mode: it is on already")
    flag(clear_on_enter, "clearQueueOnEnter"), flag(clear_on_end, "clearOnEnd")
    m.interpreter = StatementQueue(m.statement)
    try:
        yield from m.interpreter.run()
    finally:
        m.interpreter = None


def _leave(m: ScriptRun) -> None:
    if m.interpreter is not None:
        m.interpreter.leaving = True


def _clear(m: ScriptRun) -> None:
    if m.interpreter is not None:
        m.interpreter.clear()


FUNCTIONS: dict[str, Callable[..., object]] = {
    "interpreter_mode": _enter,
    "end_interpreter": _leave,
    "clear_interpreter": _clear,
}
