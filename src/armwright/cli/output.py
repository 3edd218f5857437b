"""How commands speak: tables for people, JSON for programs, one line for errors, and the exit codes."""

from __future__ import annotations

import functools
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from armwright.errors import ArmwrightError

NEGATIVE, WRONG, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
RobotName = Annotated[str, typer.Argument(metavar="ROBOT", help="Catalogue name, or path of a URDF or TOML sheet.")]


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


def as_json(value: Any) -> str:
    """Write JSON with every innermost list on one line."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=False)

    def one_line(match: re.Match[str]) -> str:
        return re.sub(r"\s+", " ", match[0]).replace("[ ", "[").replace(" ]", "]")

    return re.sub(r"\[[^\[\]{}\"]*\]", one_line, text)


def say_json(value: Any) -> None:
    """Print one JSON document."""
    typer.echo(as_json(value))


def say(text: str = "") -> None:
    """Print one line of rich markup (brackets that are not markup must be escaped by the caller)."""
    _console().print(text, highlight=False)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, left: int = 1) -> None:
    """Print a table; the first `left` columns are texts, the others are right-aligned numbers."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    grid = Table(title=escape(title), box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for index, column in enumerate(columns):
        text = index < left
        grid.add_column(escape(column), justify="left" if text else "right", no_wrap=not text, overflow="fold")
    for row in rows:
        grid.add_row(*(escape(cell if isinstance(cell, str) else number(cell)) for cell in row))
    _console().print(grid)


def number(value: Any) -> str:
    """Write a number the way a table wants it."""
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return str(value)
    return "∞" if math.isinf(value) and value > 0 else "-∞" if math.isinf(value) else f"{value:.5g}"


def _console() -> Any:
    from rich.console import Console

    # A pipe has no width: keep rows whole there instead of folding them at 80 columns.
    return Console() if sys.stdout.isatty() else Console(width=150, no_color=True)


def write_text(path: Path, text: str) -> None:
    """Write a file; what goes wrong names the file (see `guarded`)."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:  # a full disk does not name the file by itself
        raise OSError(error.errno, error.strerror, str(path)) from error


def fail(message: str, code: int = WRONG) -> NoReturn:
    """Print one line to stderr and leave."""
    typer.echo(f"armwright: {message}", err=True)
    raise typer.Exit(code)


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Turn errors of the user and of the machine into one line and an exit code; bugs keep their traceback."""

    @functools.wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except ArmwrightError as error:
            fail(str(error))
        except BrokenPipeError:
            # The reader has gone (``| head``): say nothing, also not while the interpreter flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from None
        except KeyboardInterrupt:
            fail("interrupted", INTERRUPTED)
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            fail(f"{place}{error.strerror or error}")

    return wrapper
