# SPDX-License-Identifier: Apache-2.0
"""How commands speak: lines and tables for people, JSON for programs, source code as it is, remarks on stderr."""

from __future__ import annotations

import contextlib
import json
import math
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from armwright.cli.terminal import carries_unicode, console, safe, writing

NEGATIVE, WRONG, BUG, INTERRUPTED, PIPE_CLOSED = 1, 2, 70, 130, 141

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


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


def as_json(value: Any, *, ascii_only: bool = False) -> str:
    """Write JSON with every innermost list on one line; characters that a terminal could obey are escaped."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=ascii_only)

    def one_line(match: re.Match[str]) -> str:
        return re.sub(r"\s+", " ", match[0]).replace("[ ", "[").replace(" ]", "]")

    text = re.sub(r"\[[^\[\]{}\"]*\]", one_line, text)
    return "\n".join(
        line if line.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)
        for line in text.split("\n")
    )


def say_json(value: Any) -> None:
    """Print one JSON document."""
    with writing():
        typer.echo(as_json(value, ascii_only=not carries_unicode(sys.stdout)))


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


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, left: int = 1) -> None:
    """Print a table; the first `left` columns are texts, the others are right-aligned numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(title=Text(safe(title)), box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for index, column in enumerate(columns):
        text = index < left
        grid.add_column(Text(safe(column)), justify="left" if text else "right", no_wrap=not text, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(safe(cell if isinstance(cell, str) else number(cell))) for cell in row))
    with writing():
        console().print(grid)


def number(value: Any) -> str:
    """Write a number the way a table wants it."""
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return str(value)
    return "∞" if math.isinf(value) and value > 0 else "-∞" if math.isinf(value) else f"{value:.5g}"


def write_text(path: Path, text: str) -> None:
    """Write a file; what goes wrong names the file (see `armwright.cli.failures.guarded`)."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:  # a full disk does not name the file by itself
        raise OSError(error.errno, error.strerror, str(path)) from error
