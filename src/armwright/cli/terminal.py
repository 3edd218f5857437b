# SPDX-License-Identifier: Apache-2.0
"""Text on its way to a terminal: nothing in it can command the terminal, and every encoding can carry it.

Names, notes and paths come from files that others wrote. An escape character in them could move the cursor, a
bidirectional mark could turn a line around, and square brackets are markup to Rich. So all output of the commands goes
through `safe` and is handed to Rich as plain `Text`, never as markup.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


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


def carries_unicode(stream: Any) -> bool:
    """Whether a stream can write every character."""
    return str(getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-").startswith("utf")


def console(*, width: int = 150) -> Any:
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
