# SPDX-License-Identifier: Apache-2.0
"""Values of programs: numbers (whole ones and others), truth, text, lists, records, and what is not known.

Python's ``int``, ``float``, ``bool`` and ``str`` stand for themselves; a text that begins with ``#`` is a name of an
enumeration. `RecordValue` has named parts, of which some may be missing. `Unknown` says why a value is not known and
what the user could tell; every sum with it is unknown, too.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from armwright.syntax.scanner import Token

Value = Any
"""What a variable of a program may have: see the module's text."""
LARGEST = 1e12  # beyond all numbers of a program
MOST_PARTS = 100_000  # of one value: its items and parts, and theirs


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that the text alone does not tell.

    Attributes:
        reason: why, in words.
        names: on what it depends: inputs, data of other files.
        guess: what a test takes it for (inputs are off); None where nothing can be taken. Never used in a move.
        unset: whether nothing was put into it yet, so that it has no parts; else it has parts that are not known.
    """

    reason: str
    names: tuple[str, ...] = ()
    guess: Value = None
    unset: bool = False


@dataclass(slots=True)
class RecordValue:
    """Named parts; `at` is where the value was written, if it was written at one place."""

    kind: str
    parts: dict[str, Any]
    at: Token | None = field(default=None, compare=False)
    name: str = field(default="", compare=False)


def copied(value: Value) -> Value:
    """Return a value that shares nothing with `value`: assignments copy."""
    if isinstance(value, RecordValue):
        return RecordValue(value.kind, {name: copied(part) for name, part in value.parts.items()}, value.at, value.name)
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def parts_in(value: Value) -> int:
    """Return of how many parts a value is made, 1 for a number; counting ends one above `MOST_PARTS`."""
    count, inside = 0, [value]
    while inside and count <= MOST_PARTS:
        part = inside.pop()
        count += 1
        if isinstance(part, list):
            inside.extend(part)
        elif isinstance(part, RecordValue):
            inside.extend(part.parts.values())
    return count


def unknown_in(value: Value) -> Unknown | None:
    """Return the first unknown part of a value."""
    if isinstance(value, Unknown):
        return value
    parts = value.parts.values() if isinstance(value, RecordValue) else value if isinstance(value, list) else ()
    for part in parts:
        found = unknown_in(part)
        if found is not None:
            return found
    return None


def is_number(value: Value) -> bool:
    """Return whether a value is a number; truth values are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


class ValueTrouble(Exception):  # noqa: N818 - becomes an error with its place
    """An operation that its operands do not allow; `valid` says what they would have to be."""

    def __init__(self, message: str, valid: str) -> None:
        """Keep both parts."""
        super().__init__(message)
        self.valid = valid


class UnknownPart(Exception):  # noqa: N818 - the move becomes a gap
    """A part of a move is not known."""

    def __init__(self, unknown: Unknown) -> None:
        """Keep why."""
        self.unknown = unknown


def combined(*values: Value, guess: Callable[[], Any] | None = None) -> Unknown:
    """Return what follows from values of which one is unknown: its reason, all names, a guess if all have one."""
    unknown = [value for value in values if isinstance(value, Unknown)]
    names = tuple(dict.fromkeys(name for value in unknown for name in value.names))
    taken = None
    if guess is not None and all(value.guess is not None for value in unknown):
        try:
            taken = guess()
        except (ValueTrouble, ArithmeticError, TypeError, ValueError):
            taken = None
    return Unknown(unknown[0].reason, names, taken)


def guessed(value: Value) -> Value:
    """Return the value, or what a test takes it for."""
    return value.guess if isinstance(value, Unknown) else value


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "=": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
}


def compared(sign: str, left: Value, right: Value) -> bool:
    """Return ``left sign right``; only numbers and texts have an order."""
    if sign in ("==", "=", "<>", "!="):
        if isinstance(left, bool) != isinstance(right, bool) and is_number(left if isinstance(right, bool) else right):
            left, right = float(left), float(right)  # an input is 1 or TRUE
        return bool(COMPARE[sign](left, right))
    if (is_number(left) and is_number(right)) or (isinstance(left, str) and isinstance(right, str)):
        return bool(COMPARE[sign](left, right))
    raise ValueTrouble("only numbers are compared by size", "a number on either side")


def number_of(value: Value, what: str = "a number") -> Value:
    """Return `value`, which must be one finite number."""
    if not is_number(value):
        raise ValueTrouble(f"expected {what}", "a number")
    if not abs(value) <= LARGEST:  # NaN included
        raise ValueTrouble(f"{what}: {value:g} is beyond all numbers of a program", f"at most {LARGEST:g}")
    return value


def truth_of(value: Value) -> bool:
    """Return `value` as the answer of a test; numbers are true unless 0."""
    if isinstance(value, bool):
        return value
    if is_number(value):
        return bool(value != 0)
    raise ValueTrouble("a condition must be true or false", "a comparison of known numbers, or a truth value")


def rounded(value: float) -> int:
    """Return the nearest whole number, halves away from zero."""
    return math.floor(abs(value) + 0.5) * (1 if value >= 0 else -1)


def truncated(left: int, right: int) -> int:
    """Return the whole part of a quotient, towards zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left >= 0) == (right >= 0) else -quotient
