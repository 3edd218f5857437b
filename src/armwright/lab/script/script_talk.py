# SPDX-License-Identifier: Apache-2.0
"""Functions of the language by which a program talks to people and clients: texts, windows, questions."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any

from armwright.lab.controller.controller_messages import PopupMessage, RequestValueMessage, TextMessage
from armwright.lab.script.script_arguments import flag
from armwright.lab.script.script_values import ScriptValue, joined, text_of, weight

if TYPE_CHECKING:
    from armwright.lab.script.script_run import ScriptRun


def _textmsg(m: ScriptRun, s1: ScriptValue, s2: ScriptValue) -> None:
    m.work((weight(s1) + weight(s2)) // 4)
    m.c.say(TextMessage(joined(text_of(s1), text_of(s2))))


def _popup(
    m: ScriptRun, s: ScriptValue, title: ScriptValue, warning: ScriptValue, error: ScriptValue, waits: ScriptValue
) -> Generator[object, None, None]:
    """Open a window; of a blocking one wait until somebody closes it."""
    look = "error" if flag(error, "error") else "warning" if flag(warning, "warning") else "message"
    blocking = flag(waits, "blocking")
    number = m.ask()
    m.c.say(PopupMessage(number, text_of(title), text_of(s), look, blocking))
    while blocking and not m.popup_closed(number):
        yield None


def _request(kind: str, m: ScriptRun, message: ScriptValue) -> Generator[object, None, ScriptValue]:
    """Ask a client for a value and wait for it."""
    number = m.ask()
    m.c.say(RequestValueMessage(number, kind, text_of(message)))
    value = yield from m.answered(number)
    return value


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "textmsg": _textmsg,
    "popup": _popup,
    **{
        f"request_{kind}_from_primary_client": partial(_request, kind)
        for kind in ("boolean", "integer", "float", "string")
    },
}
