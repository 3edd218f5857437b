# SPDX-License-Identifier: Apache-2.0
"""Why another process could not begin, as bytes: errors of Armwright keep their class, anything else stays a defect."""

from __future__ import annotations

import json
import traceback

from armwright import errors
from armwright.errors import ArmwrightError

REFUSED = b"!"  # first byte of an answer that is none
PLAIN = (str, int, float, bool, type(None))


class ProcessError(RuntimeError):
    """A defect in another process; the text ends with its traceback."""


def refusal(error: Exception) -> bytes:
    """Return an error as it crosses to the coordinator."""
    ours = isinstance(error, ArmwrightError)
    said = {
        "kind": next(kind.__name__ for kind in type(error).__mro__ if not ours or kind.__module__ == errors.__name__),
        "text": str(error),
        "fields": {name: value if isinstance(value, PLAIN) else None for name, value in vars(error).items()},
        "traceback": None if ours else "".join(traceback.format_exception(error)),
    }
    return REFUSED + json.dumps(said).encode()


def accepted(answer: bytes, what: str) -> bytes:
    """Return the answer of another process, or raise what it refused with."""
    if not answer.startswith(REFUSED):
        return answer
    said = json.loads(answer[len(REFUSED) :])
    if said["traceback"] is not None:
        raise ProcessError(f"{what}: {said['kind']}: {said['text']}\n{said['traceback']}")
    kind = getattr(errors, said["kind"])
    error: ArmwrightError = kind.__new__(kind)  # its text is composed already
    error.args = (said["text"],)
    vars(error).update(said["fields"])
    raise error
