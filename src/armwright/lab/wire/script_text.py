# SPDX-License-Identifier: Apache-2.0
"""URScript text, read and never executed: literal moves are recognised by a small grammar, everything else is ignored.

    call     = name "(" [argument {"," argument}] ")"
    argument = [name "="] (number | "[" numbers "]" | "p[" numbers "]" | True | False | "text")

`parse` reads one text. Programs that arrive on the ports are run by `lab/script`, not by this.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeAlias

MOST_TEXT = 1 << 20  # bytes of a program
MOST_HEAD = 4096  # characters of a program in which ur_rtde's name and register offsets are looked for
MOST_SCRIPT_LINE = 4096  # bytes
MOST_CALLS = 1000
MOST_ARGUMENTS, MOST_NUMBERS = 8, 8  # of a call; of a list: no call that is obeyed has more than six
MOVES = ("movej", "movel", "movep", "speedj", "speedl", "servoj", "stopj", "stopl")
SETTINGS = ("set_tcp", "set_payload", "set_digital_out", "set_standard_digital_out")
MARKER = "# inject move path"
DISPATCHER = "def rtde_control("

_NUMBER = r"[-+]?(?:\d{1,20}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][-+]?\d{1,3})?"
_CALL = re.compile(r"^(\w{1,40})\s*\((.{0,4000})\)$", re.ASCII)
_TOKEN = re.compile(
    rf"\s*(?:(?P<name>[a-z]\w{{0,30}})\s*=\s*)?(?:(?P<list>p?)\[(?P<inner>[^\[\]]{{0,1000}})\]|(?P<number>{_NUMBER})"
    r"|(?P<flag>True|False)|\"(?P<text>[^\"]{0,500})\")\s*(?:,|$)",
    re.ASCII,
)
_OFFSET = re.compile(r"reg_offset_(int|float) *= *(?:#[^\n]{0,80}\n)? *(\d{1,2})", re.ASCII)  # the number may follow


@dataclass(frozen=True, slots=True)
class PoseLiteral:
    """A pose literal p[x, y, z, rx, ry, rz]."""

    numbers: tuple[float, ...]


Value: TypeAlias = "float | bool | str | tuple[float, ...] | PoseLiteral"


@dataclass(frozen=True, slots=True)
class Call:
    """One literal call: its name, its values by position and by name."""

    name: str
    values: tuple[Value, ...]
    named: dict[str, Value]

    def number(self, position: int, name: str, default: float) -> float:
        """Return a number given by position or name."""
        value = self.named.get(name, self.values[position] if position < len(self.values) else default)
        return float(value) if isinstance(value, float) else default


@dataclass(frozen=True, slots=True)
class Script:
    """The recognised part of a text: ur_rtde's dispatcher with its register offset, literal calls, or a command."""

    dispatcher: bool
    offset_int: int
    offset_float: int
    calls: tuple[Call, ...]
    path: tuple[Call, ...]
    command: str = ""


def _numbers(text: str) -> tuple[float, ...] | None:
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if len(parts) > MOST_NUMBERS or not all(re.fullmatch(_NUMBER, part, re.ASCII) for part in parts):
        return None
    values = tuple(float(part) for part in parts)
    return values if all(map(math.isfinite, values)) else None


def parse_call(line: str) -> Call | None:
    """Return the literal call on a line, or None."""
    line = line.partition("#")[0].strip()
    found = _CALL.match(line) if len(line) <= MOST_SCRIPT_LINE else None
    if found is None:
        return None
    values: list[Value] = []
    named: dict[str, Value] = {}
    rest, at = found[2].strip(), 0
    while at < len(rest):
        token = _TOKEN.match(rest, at)
        if token is None or len(values) + len(named) >= MOST_ARGUMENTS:
            return None
        at = token.end()
        value: Value
        if token["inner"] is not None:
            inner = _numbers(token["inner"])
            if inner is None:
                return None
            value = PoseLiteral(inner) if token["list"] else inner
        elif token["number"] is not None:
            value = float(token["number"])
            if not math.isfinite(value):
                return None
        elif token["flag"] is not None:
            value = token["flag"] == "True"
        else:
            value = token["text"]
        if token["name"]:
            named[token["name"]] = value
        elif named:
            return None
        else:
            values.append(value)
    return Call(found[1], tuple(values), named)


class _Draft:
    """A program of which the lines come one after the other."""

    def __init__(self) -> None:
        self.size = 0
        self._head, self._dispatcher = "", False
        self._calls: list[Call] = []
        self._path: list[Call] = []
        self._marked, self._lines_of_path = False, 0

    def add(self, line: str) -> None:
        """Take the next line."""
        self.size += len(line) + 1
        if len(self._head) < MOST_HEAD:
            self._head = (self._head + line + "\n")[:MOST_HEAD]
            self._dispatcher = self._dispatcher or DISPATCHER in self._head
        if self._lines_of_path:
            self._follow(line)
        elif not self._marked and MARKER in line:
            self._marked, self._lines_of_path = True, 2 * MOST_CALLS
        if not self._dispatcher and len(self._calls) < MOST_CALLS:
            call = parse_call(line)
            if call is not None and call.name in (*MOVES, *SETTINGS):
                self._calls.append(call)

    def _follow(self, line: str) -> None:
        """Take a line of the path that ur_rtde writes behind its marker; the first that is none ends it."""
        call = parse_call(line)
        if call is not None and call.name in ("movej", "movel", "movep"):
            self._path.append(call)
        elif call is None or call.name != "signal_async_progress":
            self._lines_of_path = 1
        self._lines_of_path -= 1

    def whole(self) -> Script:
        """Return what was recognised."""
        if not self._dispatcher:
            return Script(False, 0, 0, tuple(self._calls), ())
        found = reversed(_OFFSET.findall(self._head))
        offsets = {kind: int(value) for kind, value in found if int(value) <= 24}
        return Script(True, offsets.get("int", 0), offsets.get("float", 0), (), tuple(self._path))


def parse(text: str) -> Script:
    """Read a program or single lines."""
    draft = _Draft()
    for line in text.split("\n"):
        draft.add(line)
    return draft.whole()
