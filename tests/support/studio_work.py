# SPDX-License-Identifier: Apache-2.0
"""Tasks for processes of the studio: one that ends, and ones that fail in every way."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any

from armwright.errors import InputError

Progress = Callable[[float, str], None]


def add_up(progress: Progress, numbers: list[int]) -> dict[str, Any]:
    """Return a sum."""
    progress(0.5, "half")
    return {"sum": sum(numbers)}


def busy_for_ever(progress: Progress, port: int = 0) -> dict[str, Any]:
    """Never report, never end; holds a connection to a port of this machine, whose end tells the end of the process."""
    line = socket.create_connection(("127.0.0.1", port)) if port else None
    progress(0.1, "busy")
    while line is None or line.fileno() >= 0:
        pass
    raise AssertionError("nobody closes it")


def refuse(progress: Progress) -> dict[str, Any]:
    """Refuse."""
    raise InputError("what would be valid")


def stumble(progress: Progress) -> dict[str, Any]:
    """Have a defect."""
    raise KeyError("nobody thought of that")


def die(progress: Progress) -> dict[str, Any]:
    """End without an answer."""
    os._exit(3)


def chatter(progress: Progress) -> dict[str, Any]:
    """Print something, which is no answer."""
    print('{"result": "printed"}', flush=True)
    return {"said": "returned"}


def devour(progress: Progress) -> dict[str, Any]:
    """Ask for more memory than there may be."""
    return {"size": len(bytearray(1 << 40))}


def never_open(progress, file, tip, folder, law, knows):
    """In place of opening an arm: goes on for ever."""
    busy_for_ever(progress)
