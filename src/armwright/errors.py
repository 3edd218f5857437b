# SPDX-License-Identifier: Apache-2.0
"""The one exception family of Armwright.

A message says *what* is wrong, *where*, and *what would be valid*.
"""

from __future__ import annotations

import os
import sys
import warnings


class ArmwrightError(Exception):
    """Base of every error that Armwright raises on purpose."""


class InputError(ArmwrightError, ValueError):
    """An argument has the wrong shape, type or value (NaN and infinities included)."""


class DescriptionError(ArmwrightError, ValueError):
    """A robot description breaks a rule; `where` names file, line and element."""

    def __init__(self, message: str, *, where: str = "", rule: str = "") -> None:
        """Compose ``where: message [rule]``; both parts stay available as attributes."""
        self.where = where
        self.rule = rule
        text = f"{where}: {message}" if where else message
        super().__init__(f"{text} [{rule}]" if rule else text)


class ProgramError(ArmwrightError, ValueError):
    """A robot program cannot be read, or cannot be run as it stands; the place is in the text.

    `file`, `line` and `column` (from 1; 0 if unknown) and `word` say where, `valid` what would be known or work there,
    `words` is the message without them.
    """

    def __init__(
        self, message: str, *, file: str = "", line: int = 0, column: int = 0, word: str = "", valid: str = ""
    ) -> None:
        """Compose ``file, line 3, column 7, at 'word': message; valid here: …``; the parts stay as attributes."""
        self.file, self.line, self.column, self.word, self.valid = file, line, column, word, valid
        self.words = message
        places = [
            file,
            f"line {line}" if line else "",
            f"column {column}" if column else "",
            f"at {word!r}" if word else "",
        ]
        where = ", ".join(place for place in places if place)
        text = f"{where}: {message}" if where else message
        super().__init__(f"{text}; valid here: {valid}" if valid else text)


class NotSupportedError(ArmwrightError, NotImplementedError):
    """The request is well formed but outside what this function can do; the message says what can."""


class TraceError(ArmwrightError, TypeError):
    """A function cannot be traced (it branches on a traced value, for example)."""


class CompileError(ArmwrightError, RuntimeError):
    """The code generator or its back end failed."""


class SimulationError(ArmwrightError, RuntimeError):
    """A simulation cannot be run, or has stopped; `recording` holds what was recorded until then, if anything."""

    def __init__(self, message: str, recording: object = None) -> None:
        """Compose the error; `recording` stays available as an attribute."""
        self.recording = recording
        super().__init__(message)


class WriteError(ArmwrightError):
    """A file could not be written, and nothing has changed at its place; `file` names it."""

    def __init__(self, file: str, reason: str) -> None:
        """Compose ``file: could not be written (reason); nothing was changed there``."""
        self.file = file
        super().__init__(f"{file}: could not be written ({reason}); nothing was changed there")


class ArmwrightWarning(UserWarning):
    """Something was accepted by a named option, or runs slower than it could."""


def tell_user(message: str) -> None:
    """Warn with an `ArmwrightWarning` at the line of the user's program that led here: no line of ours is printed."""
    ours = os.path.dirname(__file__) + os.sep
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(ours):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, ArmwrightWarning, stacklevel=level)
