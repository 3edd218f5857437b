# SPDX-License-Identifier: Apache-2.0
"""Lines of a displayed equation: how wide LaTeX text is in print, and where it is broken."""

from __future__ import annotations

import itertools
import re

WORDS = re.compile(r"\\(?:dot|ddot|mathrm|text|bigl|bigr|left|right|,|quad|begin|end)|[{}^&]")
TOKEN = re.compile(r" [+-] |[{}()]")
FULL = 0.6  # of a line: from here on a break between outer terms is better than a later one inside parentheses


def breadth(text: str) -> float:
    """Return about how many letters wide a formula is printed; subscripts count for two thirds."""
    small = sum(len(match) for match in re.findall(r"[_^]\{([^{}]*)\}", text))
    plain = WORDS.sub("", text).replace("_", "")
    plain = re.sub(r"\\(sin|cos|ln|exp|tanh|min|max) ?", r"\1", plain)
    plain = re.sub(r"\\[A-Za-z]+", "x", plain)  # a Greek letter, a root, a fraction bar
    signs = len(re.findall(r" [+-] ", plain))
    return len(plain.replace(" ", "")) - small / 3.0 + 1.5 * signs + text.count(r"\,") / 3.0


def broken(left: str, right: str, width: int) -> list[str]:
    r"""Return ``left &= right`` as rows of an aligned display, broken before signs."""
    pieces = _pieces(right)
    room = width - breadth(left) - 2.0
    rows: list[str] = []
    start = 0
    while start < len(pieces):
        reach = [0.0, *itertools.accumulate(breadth(piece) for piece, _ in pieces[start:])]
        fitting = max(1, sum(width <= room for width in reach[1:]))
        if start + fitting < len(pieces):  # of the signs at the end of the line, that in the fewest parentheses
            late = [k for k in range(1, fitting + 1) if reach[k] >= FULL * room] or [fitting]
            fitting = min(late, key=lambda k: (pieces[start + k][1], -k))
        line = "".join(piece for piece, _ in pieces[start : start + fitting]).strip()
        rows.append(rf"&\quad {line}" if rows else f"{left} &= {line}")
        start += fitting
    return rows


def _pieces(text: str) -> list[tuple[str, int]]:
    """Cut a formula before its signs; each piece with the number of parentheses that are open where it begins."""
    pieces: list[tuple[str, int]] = []
    braces = depth = start = begun = 0
    for match in TOKEN.finditer(text):
        word = match[0]
        if word in "{}":
            braces += 1 if word == "{" else -1
        elif word in "()":
            depth += 1 if word == "(" else -1
        elif braces == 0:
            pieces.append((text[start : match.start()], begun))
            start, begun = match.start(), depth
    return [*pieces, (text[start:], begun)]
