# SPDX-License-Identifier: Apache-2.0
"""Programs out of a stream of text: a ``def`` or ``sec`` up to the ``end`` that belongs to it, or bare lines.

A bare line is a program of its own; so is a bare ``if`` or ``while`` with its block, and a line whose brackets are not
closed takes the next ones to it. Indentation means nothing.
"""

from __future__ import annotations

import re

from armwright.lab.wire.script_text import MOST_TEXT
from armwright.lab.wire.text_lines import first_line
from armwright.urscript.urscript_parser import OPENERS, STATEMENT_WORDS

MOST_SCRIPT_LINE = 1 << 13  # bytes
LINES_AT_ONCE, BYTES_AT_ONCE = 32, 2048  # of a program that are read in one step: 0.2 ms
PROGRAMS = ("def", "sec")
BLOCKS = (*OPENERS, "case", "default")
WORDS = re.compile(
    r"\"[^\"\n]*\"?|'[^'\n]*'?|#|[\[\](){}]|(?<![\w.])(?:" + "|".join((*BLOCKS, "end")) + r")(?!\w)", re.ASCII
)
FIRST_WORD = re.compile(r"\s*(\w+)", re.ASCII)


class ScriptReader:
    """Reads programs out of a byte stream, some lines at a time.

    A text above `MOST_TEXT` or a line above `MOST_SCRIPT_LINE` ends the connection.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = self._depth = self._brackets = 0
        self._program = False  # what is collected begins with def or sec

    def take(self, buffer: bytearray) -> str | None:
        """Take some lines off a buffer, one program at most; return it if it is complete now.

        Raises:
            ValueError: a text or line that is too long.
        """
        enough = len(buffer) - BYTES_AT_ONCE
        for _ in range(LINES_AT_ONCE):
            if self._brackets and not self._depth and self._next_begins_anew(buffer):
                return self._whole()
            line = first_line(buffer, MOST_SCRIPT_LINE)
            if line is None:
                return None
            whole = self._add(line, buffer)
            if whole is not None:
                return whole
            if len(buffer) <= enough:
                return None
        return None

    def _next_begins_anew(self, buffer: bytearray) -> bool:
        """Return whether the next line is no part of brackets that were left open."""
        if b"\n" not in buffer:
            return False
        word = FIRST_WORD.match(buffer[:100].decode("ascii", errors="replace"))
        return word is not None and word[1] in STATEMENT_WORDS

    def _add(self, line: str, buffer: bytearray) -> str | None:
        if not self._lines and not line.strip():
            return None
        for word in WORDS.finditer(line):
            said = word[0]
            if said == "#":
                break
            if said in "[({":
                self._brackets += 1
            elif said in "])}":
                self._brackets = max(0, self._brackets - 1)
            elif said == "end":
                self._depth -= 1
                if self._depth <= 0 and self._program:
                    rest = line[word.end() :]
                    if rest.split("#")[0].strip():
                        buffer[:0] = rest.encode() + b"\n"
                    self._lines.append(line[: word.end()])
                    return self._whole()
            elif said in BLOCKS:
                if not self._depth and not self._lines and not line[: word.start()].strip():
                    self._program = said in PROGRAMS
                self._depth += 1
        self._lines.append(line)
        self._size += len(line) + 1
        if self._size > MOST_TEXT:
            raise ValueError(f"a program of more than {MOST_TEXT} bytes")
        if self._depth > 0 or (self._brackets and not self._program):
            return None
        return self._whole()

    def _whole(self) -> str | None:
        text = "\n".join(self._lines)
        self._lines, self._program = [], False
        self._size = self._depth = self._brackets = 0
        return text if text.split("#")[0].strip() or "\n" in text else None
