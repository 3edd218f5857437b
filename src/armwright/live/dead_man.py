# SPDX-License-Identifier: Apache-2.0
"""A dead-man: what a person holds while an arm on the wire may move. Not a safety function.

An enabling device on the controller is better than any of these. `SpaceBar` reads a terminal, which repeats a key that
is held; `DigitalInput` reads an input of the controller. Both are asked with every sample; `WireArm` brings the arm to
rest when the answer has been no for `HELD_SECONDS`.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.live.wire_socket import WireSample

KEY = b" "
DIGITAL_INPUTS = 18  # of a UR: 0 to 7 standard, 8 to 15 configurable, 16 and 17 at the tool
DEAD_MAN_FORMS = "space, or di0 to di17 for a digital input of the controller"


class DeadMan(Protocol):
    """Says with every sample whether a person holds it. A context: what it changed is put back at its end."""

    name: str

    def held(self, sample: WireSample) -> bool:
        """Return whether it is held now."""
        ...

    def __enter__(self) -> DeadMan: ...

    def __exit__(self, *_: object) -> None: ...


class SpaceBar:
    """The space bar of a terminal: held while the terminal goes on repeating it."""

    name = "the space bar"

    def __init__(self, descriptor: int | None = None) -> None:
        """Read a terminal, standard input by default.

        Raises:
            InputError: it is none.
        """
        self._file = sys.stdin.fileno() if descriptor is None else descriptor
        if not os.isatty(self._file):
            raise InputError(
                f"dead-man: the space bar needs a terminal, and standard input is none; choose {DEAD_MAN_FORMS}"
            )
        if find_spec("termios") is None:
            raise InputError(
                "dead-man: the space bar is read as terminals of Linux and macOS are, which this system has not; "
                f"choose {DEAD_MAN_FORMS}"
            )
        self._before: Any = None

    def held(self, sample: WireSample) -> bool:
        """Return whether the key came since the last question."""
        found = False
        while select.select([self._file], [], [], 0.0)[0]:
            data = os.read(self._file, 1024)
            if not data:
                return False
            found = found or KEY in data
        return found

    def __enter__(self) -> SpaceBar:
        """Let keys come one by one, unprinted; Ctrl-C stays what it is."""
        import termios
        import tty

        self._before = termios.tcgetattr(self._file)
        tty.setcbreak(self._file)
        quiet = termios.tcgetattr(self._file)
        quiet[3] &= ~termios.ECHO
        termios.tcsetattr(self._file, termios.TCSANOW, quiet)
        return self

    def __exit__(self, *_: object) -> None:
        """Put the terminal back, and forget what was typed."""
        import termios

        if self._before is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._file, termios.TCSAFLUSH, self._before)


class DigitalInput:
    """A digital input of the controller, high while it is held."""

    def __init__(self, number: int) -> None:
        if not 0 <= number < DIGITAL_INPUTS:
            raise InputError(f"dead-man: a digital input is di0 to di{DIGITAL_INPUTS - 1}, got di{number}")
        self.name, self._number = f"digital input {number}", number

    def held(self, sample: WireSample) -> bool:
        """Return whether it is high."""
        return bool(sample.inputs >> self._number & 1)

    def __enter__(self) -> DigitalInput:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def dead_man(word: str) -> DeadMan:
    """Return what a word names: "space", or "di0" to "di17".

    Raises:
        InputError: there is no such dead-man, or no terminal for the space bar.
    """
    if word == "space":
        return SpaceBar()
    found = re.fullmatch(r"di(\d{1,2})", word)
    if found is None:
        raise InputError(f"dead-man: choose {DEAD_MAN_FORMS}; got {word!r}")
    return DigitalInput(int(found[1]))
