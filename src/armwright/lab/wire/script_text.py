# SPDX-License-Identifier: Apache-2.0
"""URScript text, read and never executed: literal moves are recognised by a small grammar, everything else is ignored.

    call     = name "(" [argument {"," argument}] ")"
    argument = [name "="] (number | "[" numbers "]" | "p[" numbers "]" | True | False | "text")

`ScriptReader` cuts texts out of a byte stream, `parse` reads one.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeAlias

MOST_TEXT = 1 << 20
MOST_SCRIPT_LINE = 4096
MOST_CALLS = 1000
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
    """The recognised part of a text: ur_rtde's dispatcher with its register offset, or literal calls in order."""

    dispatcher: bool
    offset_int: int
    offset_float: int
    calls: tuple[Call, ...]
    path: tuple[Call, ...]


def _numbers(text: str) -> tuple[float, ...] | None:
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if len(parts) > 64 or not all(re.fullmatch(_NUMBER, part, re.ASCII) for part in parts):
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
        if token is None:
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


def parse(text: str) -> Script:
    """Read a program or single lines."""
    if DISPATCHER in text[:4096]:
        offsets = {kind: int(value) for kind, value in reversed(_OFFSET.findall(text[:4096])) if int(value) <= 24}
        _, _, tail = text.partition(MARKER)
        path = []
        for line in tail.splitlines()[1 : 2 * MOST_CALLS]:
            call = parse_call(line)
            if call is not None and call.name in ("movej", "movel", "movep"):
                path.append(call)
            elif call is None or call.name != "signal_async_progress":
                break
        return Script(True, offsets.get("int", 0), offsets.get("float", 0), (), tuple(path))
    calls = []
    for line in text.splitlines():
        call = parse_call(line)
        if call is not None and call.name in (*MOVES, *SETTINGS):
            calls.append(call)
        if len(calls) >= MOST_CALLS:
            break
    return Script(False, 0, 0, tuple(calls), ())


class ScriptReader:
    """Cuts texts out of a byte stream: a program from ``def`` to ``end``, or a line.

    A text above `MOST_TEXT` or a line above `MOST_SCRIPT_LINE` ends the connection.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._program: list[str] | None = None
        self._size = 0

    def receive(self, data: bytes) -> list[str]:
        """Return the texts that are complete now.

        Raises:
            ValueError: a text or line that is too long.
        """
        self._rest += data
        out = []
        *lines, rest = bytes(self._rest).split(b"\n")
        self._rest = bytearray(rest)
        if len(self._rest) > MOST_SCRIPT_LINE:
            raise ValueError(f"a line of more than {MOST_SCRIPT_LINE} bytes")
        for raw in lines:
            if len(raw) > MOST_SCRIPT_LINE:
                raise ValueError(f"a line of more than {MOST_SCRIPT_LINE} bytes")
            line = raw.decode("utf-8", errors="replace").rstrip("\r")
            if self._program is None:
                if re.match(r"\s*(def|sec)\s", line):
                    self._program, self._size = [], 0
                elif line.strip():
                    out.append(line)
                    continue
                else:
                    continue
            self._size += len(raw) + 1
            if self._size > MOST_TEXT:
                raise ValueError(f"a program of more than {MOST_TEXT} bytes")
            self._program.append(line)
            if line.rstrip() == "end":
                out.append("\n".join(self._program))
                self._program = None
        return out
