# SPDX-License-Identifier: Apache-2.0
"""`TextTable`: a text file of numbers, whatever separates them: its dialect, its names, its rows, what was no row.

The dialect (separator and decimal mark) is found by trying all of them on lines from the middle of the file: the one in
which most cells are numbers, and most lines have as many. Names stand in the last line before the first row, behind
``#`` or ``%`` too, perhaps with a line of units between. A cell may hold a list, ``"[0.1, 0.2]"``, or a date.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.files import read_regular
from armwright.identify.current_log import Dropped

if TYPE_CHECKING:
    from armwright.types import Array

MOST_LOG_TEXT = 2 * 2**30  # bytes
LINES_LOOKED_AT = 40
"""Lines from the middle of a file that decide on its dialect."""
LEAST_NUMBERS = 0.85
"""Share of cells that must be numbers in the dialect that is taken, columns of words left out."""
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "spaces"}
_LISTED = re.compile(r"(?<![^,;|\s])\"?[\[(]\s*([-+.\dn][^\])]*)[\])]\"?")
"""A list of numbers that is a cell of its own; the index of ``q[0]`` and a unit in brackets are none."""
_ARRAY = re.compile(r"array\('[a-z]',\s*")
_SCALAR = re.compile(r"np\.float\d+\(([^)]*)\)")
"""Numbers as Python prints NumPy's."""


@dataclass(frozen=True)
class TextDialect:
    """How cells are written: what stands between them, and the decimal mark."""

    separator: str
    decimal: str = "."

    @property
    def words(self) -> str:
        """Return the dialect as a report says it."""
        return SEPARATORS[self.separator] + ("" if self.decimal == "." else " with decimal comma")

    def split(self, line: str) -> list[str]:
        """Return the cells of a line; a list in a cell becomes cells of its own."""
        if "[" in line or "(" in line:
            line = _ARRAY.sub("", _SCALAR.sub(r"\1", line))
            line = _LISTED.sub(lambda found: self._unlisted(found[1]), line)
        cells = line.split() if self.separator == " " else line.split(self.separator)
        return [cell.strip().strip('"').strip("'").strip() for cell in cells]

    def sizes(self, line: str) -> list[int]:
        """Return how many cells each cell of a line became."""
        marked = _LISTED.sub(lambda found: f"\0{len(self._parts(found[1]))}", _ARRAY.sub("", line))
        cells = marked.split() if self.separator == " " else marked.split(self.separator)
        return [int(cell.strip()[1:]) if cell.strip().startswith("\0") else 1 for cell in cells]

    @staticmethod
    def _parts(content: str) -> list[str]:
        return [part for part in re.split(r"[,;\s]+", content.strip()) if part]

    def _unlisted(self, content: str) -> str:
        return self.separator.join(self._parts(content))

    def value(self, cell: str) -> float | None:
        """Return the number in a cell, seconds of a date; None if it is neither."""
        try:
            return float(cell if self.decimal == "." else cell.replace(",", "."))
        except ValueError:
            return date_seconds(cell)


TEXT_DIALECTS = tuple(
    TextDialect(mark, decimal) for decimal in ".," for mark in SEPARATORS if (mark, decimal) != (",", ",")
)


def date_seconds(cell: str) -> float | None:
    """Return the seconds since 1970 of an ISO date with time; None for anything else."""
    if len(cell) < 19 or cell[4:5] != "-":
        return None
    try:
        stamp = datetime.fromisoformat(cell.replace("/", "-"))
    except ValueError:
        return None
    return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()


@dataclass(frozen=True, eq=False)
class TextTable:
    """A table of numbers from a file.

    Attributes:
        path: of the file.
        dialect: how its cells are written; None for a table that is no text.
        names: of the columns, one each; None if the file has none.
        first_line: the first line of the file, shortened.
        values: (T, k); NaN where a cell is no number.
        words: by column, the words that stand in it instead of numbers, where they are always the same.
        lines: number of each row's line in the file, from 1.
        dropped: lines that are no rows.
    """

    path: Path
    dialect: TextDialect | None
    names: tuple[str, ...] | None
    first_line: str
    values: Array
    words: dict[int, str]
    lines: Sequence[int]
    dropped: tuple[Dropped, ...]

    def place(self, row: int) -> str:
        """Return where a row stands."""
        return f"line {self.lines[row]}" if self.dialect is not None else f"row {row + 1}"


def read_text_table(path: Path, separator: str | None = None, decimal: str | None = None) -> TextTable:
    """Read a table of numbers; separator and decimal mark are found unless they are given.

    Raises:
        InputError: the file cannot be read, or is no table of numbers.
    """
    try:
        text = read_regular(path, MOST_LOG_TEXT).decode("utf-8-sig", errors="replace")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    lines = text.splitlines()
    cut = bool(text) and not text.endswith(("\n", "\r"))
    filled = [k for k, line in enumerate(lines) if line.strip()]
    rows = [k for k in filled if lines[k][0] not in "#%"]
    if not rows:
        raise InputError(f"{path}: no rows in it")
    dialect, width = _dialect(path, [lines[k] for k in rows], separator, decimal)
    first = next(k for k in rows if _is_row(dialect, lines[k], width))
    names, header = _header(dialect, lines, [k for k in filled if k < first], width, dialect.sizes(lines[first]))
    stop = len(lines)
    dropped = [_narrow(k, len(dialect.split(lines[k])), width) for k in rows if k < first and k not in header]
    if cut and len(rows) > 1:  # even a whole row may have lost digits
        stop -= 1
        last = f"line {len(lines)}"
        dropped.append(Dropped(1, last, last, "no end of line: the file was cut short there"))
    values, where, words, more = _rows(dialect, lines, first, stop, width)
    shown = lines[filled[0]]
    return TextTable(
        path,
        dialect,
        names,
        shown[:120] + ("…" if len(shown) > 120 else ""),
        values,
        words,
        where,
        tuple(dropped + more),
    )


def _dialect(path: Path, rows: list[str], separator: str | None, decimal: str | None) -> tuple[TextDialect, int]:
    """Return the dialect of most lines in the middle, and the number of their columns."""
    middle = max(0, len(rows) // 2 - LINES_LOOKED_AT // 2)
    looked = rows[middle : middle + LINES_LOOKED_AT]
    best: tuple[tuple[float, int, float], TextDialect] | None = None
    for dialect in TEXT_DIALECTS:
        if (separator or dialect.separator) != dialect.separator or (decimal or dialect.decimal) != dialect.decimal:
            continue
        cells = [dialect.split(line) for line in looked]
        width = Counter(len(row) for row in cells).most_common(1)[0][0]
        same = [row for row in cells if len(row) == width]
        numbers = np.array([[cell == "" or dialect.value(cell) is not None for cell in row] for row in same])
        worded = numbers.mean(axis=0) < 0.5  # columns of words: names, modes
        share = float(numbers[:, ~worded].mean()) if not worded.all() else 0.0
        share *= len(same) / len(cells)
        numeric = int((~worded).sum())
        if share < LEAST_NUMBERS * 0.5 or not numeric:
            continue
        score = (round(share * (numeric / width) ** 0.5, 3), width, -TEXT_DIALECTS.index(dialect))
        if best is None or score > best[0]:
            best = (score, dialect)
    if best is None:
        raise InputError(
            f"{path}: no table of numbers: with none of {', '.join(SEPARATORS.values())} between them are the cells of "
            "its lines numbers; is it a log?"
        )
    dialect = best[1]
    return dialect, Counter(len(dialect.split(line)) for line in looked).most_common(1)[0][0]


def _is_row(dialect: TextDialect, line: str, width: int) -> bool:
    cells = dialect.split(line)
    return len(cells) == width and sum(dialect.value(cell) is not None for cell in cells) >= max(1, 0.3 * width)


_UNIT_WORDS = {
    "s",
    "ms",
    "us",
    "ns",
    "rad",
    "deg",
    "°",
    "rad/s",
    "deg/s",
    "°/s",
    "a",
    "ma",
    "nm",
    "n·m",
    "n.m",
    "m",
    "v",
}
_UNIT_WORDS |= {"m/s", "mm", "mm/s", "n", "-", "", "k", "c", "°c", "degree", "degrees", "radian", "radians", "sec"}


def _header(
    dialect: TextDialect, lines: list[str], before: list[int], width: int, sizes: list[int]
) -> tuple[tuple[str, ...] | None, set[int]]:
    """Return names and the lines that they stand in; the name of a list is that of all its cells, with numbers."""
    found: list[tuple[int, list[str]]] = []
    for k in reversed(before[-3:]):
        cells = dialect.split(lines[k].lstrip("#%").strip() if lines[k][0] in "#%" else lines[k])
        cells = cells[:-1] if len(cells) == width + 1 and cells[-1] == "" else cells
        if len(cells) == len(sizes) < width:
            pairs = zip(cells, sizes, strict=True)
            cells = [name if size == 1 else f"{name}_{k}" for name, size in pairs for k in range(size)]
        if len(cells) == width - 1 and _counts(dialect, lines, k + 1):  # written with row numbers, which have no name
            cells = ["", *cells]
        if len(cells) != width or any(dialect.value(cell) is not None for cell in cells if cell):
            break
        found.append((k, cells))
    if not found:
        return None, set()
    units = None
    if len(found) > 1 and all(cell.strip("[]()").lower() in _UNIT_WORDS for cell in found[0][1]):
        units = found.pop(0)
    at, names = found[0]
    used = {at}
    if units is not None:
        used.add(units[0])
        names = [f"{name} [{unit.strip('[]()')}]" if unit else name for name, unit in zip(names, units[1], strict=True)]
    return tuple(names), used


def _counts(dialect: TextDialect, lines: list[str], begin: int) -> bool:
    """Whether the first cells of the lines from `begin` on count the rows."""
    cells = [dialect.split(line)[0] for line in lines[begin : begin + LINES_LOOKED_AT] if line.strip()]
    values = [dialect.value(cell) for cell in cells]
    return len(values) > 1 and all(a is not None and b is not None and b == a + 1.0 for a, b in pairwise(values))


def _narrow(line: int, found: int, width: int) -> Dropped:
    return Dropped(1, f"line {line + 1}", f"line {line + 1}", f"{found} columns instead of {width}")


def _rows(
    dialect: TextDialect, lines: list[str], begin: int, stop: int, width: int
) -> tuple[Array, Sequence[int], dict[int, str], list[Dropped]]:
    """Parse lines into a table (T, width), the line of each row, words by column, and what was not a row."""
    if dialect.decimal == ".":
        try:  # the usual file: every line is a whole row of numbers
            mark = None if dialect.separator == " " else dialect.separator
            table = np.loadtxt(lines[begin:stop], delimiter=mark, comments=None, ndmin=2)
            if table.shape == (stop - begin, width):
                return table, range(begin + 1, stop + 1), {}, []
        except ValueError:
            pass
    values: list[list[float]] = []
    where: list[int] = []
    dropped: list[Dropped] = []
    texts: list[set[str]] = [set() for _ in range(width)]
    for k in range(begin, stop):
        if not lines[k].strip() or lines[k][0] in "#%":
            continue
        cells = dialect.split(lines[k])
        if len(cells) != width:
            dropped.append(_narrow(k, len(cells), width))
            continue
        row = []
        for text, cell in zip(texts, cells, strict=True):
            number = dialect.value(cell)
            row.append(np.nan if number is None else number)
            if number is None and cell and len(text) < 2:
                text.add(cell)
        values.append(row)
        where.append(k + 1)
    table = np.array(values, dtype=np.float64).reshape(-1, width)
    bare = [bool(len(table)) and bool(np.isnan(column).all()) for column in table.T]
    words = {c: text.pop() for c, text in enumerate(texts) if bare[c] and len(text) == 1}
    return table, where, words, dropped
