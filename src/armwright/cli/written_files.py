# SPDX-License-Identifier: Apache-2.0
"""Files that commands write: never one that they read, and half a result never in the place of an older file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from armwright.cli.output import tell
from armwright.errors import InputError
from armwright.files import free_name

WRITTEN = frozenset({"out", "report", "plot", "animate", "sheet", "csv", "draw", "corrected"})
"""Parameters of commands that name what is written; all others name what is read."""


def check_outputs(words: Mapping[str, Any]) -> None:
    """Refuse a command that would write over a file which it reads, before it does anything.

    Args:
        words: what the command was given, by parameter.
    """
    written = {name: word for name, word in words.items() if name in WRITTEN and word and os.path.isfile(word)}
    read = [
        str(part)
        for name, word in words.items()
        if name not in WRITTEN and isinstance(word, str | Path | list | tuple)
        for part in ([word] if isinstance(word, str | Path) else word)
        if isinstance(part, str | Path) and _is_file(part)
    ]
    for name, word in written.items():
        if any(os.path.samefile(word, part) for part in read):
            raise InputError(f"--{name} {word}: this command reads that file; choose another name")


def _is_file(word: str | Path) -> bool:
    try:
        return os.path.isfile(word)
    except ValueError:  # text with a NUL is no path
        return False


def unfinished(path: Path) -> Path:
    """Return where the result of an interrupted run goes: `path`, or another name next to an older file, which is told.

    >>> unfinished(Path("report.html"))
    """
    free = free_name(path)
    if free != path:
        tell(f"armwright: {path} stays as it was; what was done until the interrupt goes to {free}")
    return free
