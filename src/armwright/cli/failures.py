# SPDX-License-Identifier: Apache-2.0
"""How commands fail: one line on stderr, with ``--json`` one object on stdout too, and an exit code that says why.

Only an answer may be 1. A wrong request is 2, Ctrl-C 130, a reader that has gone 141, and a defect of this program 70.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import typer

from armwright.cli.interrupts import interruptible
from armwright.cli.output import BUG, INTERRUPTED, PIPE_CLOSED, WRONG, OutputError, drop_stdout, safe, say_json, tell
from armwright.cli.python_words import as_options
from armwright.cli.written_files import check_outputs
from armwright.errors import ArmwrightError, ArmwrightWarning, DescriptionError, ProgramError, WriteError
from armwright.files import inputs_protected

_PLACE = re.compile(r"(?P<file>.+?):(?P<line>\d+)(?=: |$)")


class CommandError(Exception):
    """The command ends here, with one line and an exit code; `answered` if its JSON has been printed already."""

    def __init__(self, message: str, code: int = WRONG, *, kind: str = "UsageError", answered: bool = False) -> None:
        """Keep what is to be said."""
        self.code, self.kind, self.answered = code, kind, answered
        super().__init__(message)


def fail(message: str, code: int = WRONG, *, kind: str = "UsageError", answered: bool = False) -> NoReturn:
    """End the command with one line on stderr; see `CommandError`."""
    raise CommandError(message, code, kind=kind, answered=answered)


def error_object(error: BaseException) -> dict[str, Any]:
    """Describe an error for JSON: kind, message, and file, line and rule where they are known."""
    out: dict[str, Any] = {"kind": getattr(error, "kind", type(error).__name__), "message": _message(error)}
    if isinstance(error, DescriptionError):
        place = _PLACE.match(error.where)
        if place is not None:
            out |= {"file": place["file"], "line": int(place["line"])}
        elif error.where:
            out["file"] = error.where
        if error.rule:
            out["rule"] = error.rule
    elif isinstance(error, ProgramError):
        parts = ("file", "line", "column", "word", "valid")
        out |= {part: getattr(error, part) for part in parts if getattr(error, part)}
    elif isinstance(error, WriteError):
        out["file"] = error.file
    elif isinstance(error, OSError):
        out["kind"] = "OSError"
        if error.filename is not None:
            out["file"] = str(error.filename)
    return out


def _message(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and not isinstance(error, ArmwrightError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror or error}"
    return str(error)


def report(error: BaseException, code: int, json: bool) -> int:
    """Say what went wrong, on stderr and with `json` on stdout too; return the exit code."""
    tell(f"armwright: {as_options(_message(error))}")
    if json and not getattr(error, "answered", False):
        try:
            say_json({"error": error_object(error)})
        except (
            OSError,
            OutputError,
        ):  # the line on stderr has said it; the rest of the buffer would fail, too
            drop_stdout()
    return code


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Turn every failure of a command into what the user sees of it, and warnings into lines on stderr."""

    @functools.wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        code = interruptible(lambda: outcome(lambda: _checked(command, *args, **kwargs), bool(kwargs.get("json"))))
        if code:
            raise typer.Exit(code)

    return wrapper


def _checked(command: Callable[..., None], *args: Any, **kwargs: Any) -> None:
    check_outputs(kwargs)
    with inputs_protected():
        command(*args, **kwargs)


def outcome(work: Callable[[], int | None], json: bool) -> int:
    """Run `work` and return its exit code, or that of what went wrong."""
    try:
        with _warnings_as_lines():
            return work() or 0
    except typer.Exit as leave:
        return leave.exit_code
    except CommandError as error:
        return report(error, error.code, json)
    except ArmwrightError as error:
        return report(error, WRONG, json)
    except BrokenPipeError:  # the reader has gone (``| head``): say nothing
        drop_stdout()
        return PIPE_CLOSED
    except OutputError as error:
        drop_stdout()
        return report(error, WRONG, json=False)
    except KeyboardInterrupt as error:
        return report(error, INTERRUPTED, json)
    except OSError as error:
        return report(error, WRONG, json)
    except Exception as error:  # noqa: BLE001 (a defect of ours: it must not be taken for the answer "no")
        with contextlib.suppress(OSError):
            sys.stderr.write(safe(traceback.format_exc(), lines=True))
        return report(error, BUG, json)


@contextlib.contextmanager
def _warnings_as_lines() -> Iterator[None]:
    told: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in told:
            told.add(str(message))
            tell(f"armwright: warning: {as_options(str(message))}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", ArmwrightWarning)
        warnings.showwarning = show
        yield
