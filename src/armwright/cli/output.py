# SPDX-License-Identifier: Apache-2.0
"""How commands speak: lines and tables for people, JSON for programs, source code as it is, remarks on stderr.

Names, notes and paths come from files that others wrote. An escape character in them could move the cursor, a
bidirectional mark could turn a line around, and square brackets are markup to Rich. So all output of the commands goes
through `safe` and is handed to Rich as plain `Text`, never as markup. Pages are named by their address, and opened in a
browser where that is asked for.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from armwright.cli.interrupts import INTERRUPTED as INTERRUPTED

if TYPE_CHECKING:
    from rich.console import Console


class OutputError(Exception):
    """Standard output cannot be written (a full device, for example)."""


def safe(text: object, *, lines: bool = False) -> str:
    r"""Return text with every control, format, bidirectional and unpaired character written as an escape (``\x1b``).

    Args:
        text: anything; its `str` is taken.
        lines: leave line feeds and tabs as they are.
    """
    word = str(text)
    return word if word.isprintable() else "".join(_shown(letter, lines) for letter in word)


def _shown(letter: str, lines: bool) -> str:
    if letter.isprintable() or unicodedata.category(letter) == "Zs" or (lines and letter in "\n\t"):
        return letter
    return letter.encode("unicode_escape").decode("ascii")


def prepare_streams() -> None:
    """Let standard output and error take any text: what their encoding lacks becomes ``?``, and closed ones swallow."""
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:  # closed by the caller (``>&-``): nobody wants to read it, the exit code still answers
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (lives as long as the process)
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def carries_unicode(stream: object) -> bool:
    """Whether a stream can write every character."""
    return str(getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-").startswith("utf")


def console(*, width: int = 150) -> Console:
    """Return Rich's console on standard output; `width` holds where there is no terminal to give one."""
    from rich.console import Console

    class Outspoken(Console):
        """Rich leaves with exit code 1, which means "no" here, where the reader has gone: let `guarded` answer."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    # A pipe has no width: keep rows whole there instead of folding them at 80 columns.
    return Outspoken() if sys.stdout.isatty() else Outspoken(width=width, no_color=True)


@contextmanager
def writing() -> Iterator[None]:
    """Tell failures of standard output from those of files; a reader that has gone stays a `BrokenPipeError`."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write to standard output: {error.strerror or error}") from error


def drop_stdout() -> None:
    """Send the rest of standard output nowhere, so that the flush at exit says nothing."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # a stand-in without a descriptor has nothing to flush
        pass


NEGATIVE, WRONG, BUG, PIPE_CLOSED = 1, 2, 70, 141


def plain(value: Any) -> Any:
    """Turn arrays, tuples and non-finite floats into what JSON can carry (infinities and NaN become null)."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def as_json(value: object, *, ascii_only: bool = False) -> str:
    """Write JSON with every innermost list on one line; characters that a terminal could obey are escaped."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=ascii_only)

    def one_line(match: re.Match[str]) -> str:
        return re.sub(r"\s+", " ", match[0]).replace("[ ", "[").replace(" ]", "]")

    text = re.sub(r"\[[^\[\]{}\"]*\]", one_line, text)
    return "\n".join(
        line if line.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)
        for line in text.split("\n")
    )


def say_json(value: object) -> None:
    """Print one JSON document."""
    with writing():
        typer.echo(as_json(value, ascii_only=not carries_unicode(sys.stdout)))


def say_json_line(value: object) -> None:
    """Print a JSON object that a program waits for while the command goes on: one line, to be read by ``readline``."""
    text = json.dumps(plain(value), ensure_ascii=not carries_unicode(sys.stdout))
    with writing():
        typer.echo(text if text.isprintable() else json.dumps(plain(value)))


def say(text: str = "", *, lead: str = "") -> None:
    """Print one line: `lead` in bold, then `text`; both as they are, square brackets included."""
    from rich.text import Text

    with writing():
        console().print(Text.assemble((safe(lead), "bold"), safe(text)))


def say_source(text: str) -> None:
    """Print a file's content: byte for byte as UTF-8, as ``--out`` would write it, but harmless on a terminal."""
    with writing():
        if sys.stdout.isatty():
            typer.echo(safe(text, lines=True))
        else:
            typer.echo(text.encode("utf-8"))


def tell(text: str) -> None:
    """Print one line to stderr."""
    with contextlib.suppress(OSError):  # nowhere left to complain
        typer.echo(safe(text), err=True)


LEAST_TEXT = 14  # characters that a column of texts keeps beside many numbers
COLUMN_ROOM = 3  # characters between two columns, at most


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, left: int = 1) -> None:
    """Print a table; the first `left` columns are texts, the others are right-aligned numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    cells = [[safe(cell if isinstance(cell, str) else number(cell)) for cell in row] for row in rows]
    grid = Table(title=Text(safe(title)), box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    needed = 0
    for index, column in enumerate(columns):
        text, longest = (
            index < left,
            max(len(cell) for cell in (column, *(row[index] for row in cells if index < len(row)))),
        )
        least = min(longest, LEAST_TEXT) if text else longest
        needed += least + COLUMN_ROOM
        grid.add_column(
            Text(safe(column)),
            justify="left" if text else "right",
            no_wrap=not text,
            overflow="fold",
            min_width=least if text else None,
        )
    for row in cells:
        grid.add_row(*(Text(cell) for cell in row))
    out = console()
    out.width = max(out.width, needed)  # numbers are never cut, and names do not vanish beside them
    with writing():
        out.print(grid)


def number(value: float | str | None) -> str:
    """Write a number the way a table wants it."""
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return str(value)
    return "∞" if math.isinf(value) and value > 0 else "-∞" if math.isinf(value) else f"{value:.5g}"


def show_page(file: str | Path | None, *, opened: bool, quiet: bool = False) -> None:
    """Print the address of a page that was written, unless quiet, and open it where that is asked for."""
    if file is None:
        if opened:
            tell("armwright: --open: no report was written")
        return
    address = Path(file).resolve().as_uri()
    if not quiet:
        say(address, lead="open ")
    if opened:
        import webbrowser

        if not webbrowser.open(address):
            tell(f"armwright: --open: no browser was found; open {address}")


def page_of(files: list[str]) -> str | None:
    """Return the page among the files that were written."""
    return next((file for file in files if file.lower().endswith((".html", ".htm"))), None)
