# SPDX-License-Identifier: Apache-2.0
"""Checks of plain values from outside: files of ours, settings, messages of a page.

A check takes a value and what refuses it, and returns the value as the program uses it. Checks are made of checks::

    PUSH = record({"force": numbers(-200.0, 200.0, count=3)}, {"seconds": number(0.1, 60.0)})
    PUSH({"force": [0, 0, 20]}, refuser("push"))  # {"force": (0.0, 0.0, 20.0)}
    PUSH(table, table.refuse)  # the same from a TOML file: what is wrong is told with file, line and key

Every refusal says what would be valid. Nothing unknown is skipped: a misspelt key must not silently become a default.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar

from armwright.errors import ArmwrightError, InputError
from armwright.schema.toml_text import Table

T = TypeVar("T")
S = TypeVar("S")
UNKNOWN = "unknown key"
MOST_BYTES = 64 * 1024
"""Of one message; what is larger comes by upload."""
MOST_NUMBERS = 64
"""Of a list whose length is free: no arm has more joints."""


class Refuse(Protocol):
    """Returns the error about the value at hand, or about what stands under a dotted key of it."""

    def __call__(self, message: str, rule: str, key: str = "", /) -> ArmwrightError:
        """Return the error to raise."""


Check: TypeAlias = Callable[[Any, Refuse], T]


def refuser(name: str) -> Refuse:
    """Return what refuses values that stand in no file: an `InputError`, ``name: key: message``."""

    def refuse(message: str, rule: str, key: str = "", /) -> InputError:
        return InputError(": ".join(part for part in (name, _place(key, rule), message) if part))

    return refuse


def _place(key: str, rule: str) -> str:
    """Return where a refusal belongs: the message about an unknown key names it."""
    return key.rpartition(".")[0] if rule == UNKNOWN else key


def below(refuse: Refuse, name: str) -> Refuse:
    """Return what refuses values under the key `name`."""
    return lambda message, rule, key="": refuse(message, rule, f"{name}.{key}" if key else name)


def _is_number(value: Any, low: float, high: float) -> bool:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
    return fits and abs(value) <= sys.float_info.max


def anything(value: Any, refuse: Refuse) -> Any:
    """Any value; who uses it checks it."""
    return value


def number(low: float, high: float = math.inf) -> Check[float]:
    """A finite number from low to high."""
    span = f"from {low:g} to {high:g}" if high < math.inf else f"≥ {low:g}"

    def check(value: Any, refuse: Refuse) -> float:
        if not _is_number(value, low, high):
            raise refuse(f"must be a number {span}, got {value!r:.60}", "range")
        return float(value)

    return check


def whole(low: int, high: int | None = None) -> Check[int]:
    """A whole number from low to high."""
    span = f"from {low} to {high}" if high is not None else f"≥ {low}"

    def check(value: object, refuse: Refuse) -> int:
        if not isinstance(value, int) or not _is_number(value, low, math.inf if high is None else high):
            raise refuse(f"must be a whole number {span}, got {value!r:.60}", "range")
        return value

    return check


def numbers(low: float, high: float, *, count: int | None = None) -> Check[tuple[float, ...]]:
    """A list of `count` finite numbers (or 1 to `MOST_NUMBERS`) from low to high."""
    many = f"{count}" if count is not None else f"1 to {MOST_NUMBERS}"
    span = f"up to ±{high:g}" if low == -high else f"from {low:g} to {high:g}"

    def check(value: Any, refuse: Refuse) -> tuple[float, ...]:
        fits = isinstance(value, list | tuple) and (
            1 <= len(value) <= MOST_NUMBERS if count is None else len(value) == count
        )
        if not fits or not all(_is_number(x, low, high) for x in value):
            raise refuse(f"must be a list of {many} numbers {span}, got {value!r:.60}", "list")
        return tuple(float(x) for x in value)

    return check


def text(most: int | None = None) -> Check[str]:
    """Any text; with `most` one of 1 to so many printable characters."""
    wanted = "a text" if most is None else f"a text of 1 to {most} printable characters"

    def check(value: Any, refuse: Refuse) -> str:
        fits = isinstance(value, str) and (most is None or (0 < len(value) <= most and value.isprintable()))
        if not fits:
            raise refuse(f"must be {wanted}, got {value!r:.60}", "type")
        return str(value)

    return check


def one_of(names: Iterable[str] | Callable[[], Iterable[str]]) -> Check[str]:
    """One of some words; those that take long to import are given as a function and looked up when first needed."""

    def check(value: object, refuse: Refuse) -> str:
        valid = tuple(names() if callable(names) else names)
        if value not in valid:
            raise refuse(f"must be one of {', '.join(valid)}, got {value!r:.60}", "choice")
        return str(value)

    return check


def flag(value: object, refuse: Refuse) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise refuse(f"must be true or false, got {value!r:.60}", "type")
    return value


def listed(item: Check[T], most: int | None = None, *, least: int = 0) -> Check[tuple[T, ...]]:
    """A list of items of one kind, `least` to `most` of them."""
    many = f"at least {least}" if most is None else f"{least} to {most}" if least < most else f"{most}"
    wanted = f" of {many} items" if least or most else ""

    def check(value: Any, refuse: Refuse) -> tuple[T, ...]:
        fits = isinstance(value, list | tuple) and least <= len(value) <= (math.inf if most is None else most)
        if not fits:
            raise refuse(f"must be a list{wanted}, got {value!r:.60}", "list")
        return tuple(item(entry, _entry(refuse, k)) for k, entry in enumerate(value, start=1))

    return check


def _entry(refuse: Refuse, which: int) -> Refuse:
    """Return what refuses an item of a list: its number, and a key in it, are told in the message."""

    def inner(message: str, rule: str, key: str = "", /) -> ArmwrightError:
        parts = (f"entry {which}", _place(key, rule), message)
        return refuse(": ".join(part for part in parts if part), "entry" if rule == UNKNOWN else rule)

    return inner


def _entries(value: object, refuse: Refuse, valid: str) -> Mapping[str, Any]:
    entries = value.entries if isinstance(value, Table) else value
    if not isinstance(entries, Mapping):
        raise refuse(f"must be a table with {valid}, got {value!r:.60}", "type")
    return entries


def record(
    required: Mapping[str, Check[Any]], optional: Mapping[str, Check[Any]] | None = None
) -> Check[dict[str, Any]]:
    """A table (or an object of JSON) with these keys and no others; those that are absent stay so."""
    known = {**required, **(optional or {})}
    valid = ", ".join(known) or "none"

    def check(value: object, refuse: Refuse) -> dict[str, Any]:
        entries = _entries(value, refuse, f"the keys {valid}")
        for key in entries:
            if key not in known:
                raise refuse(f"unknown key {key[:60]!r}; valid keys here: {valid}", UNKNOWN, key)
        out = {}
        for key, item in known.items():
            if key in entries:
                out[key] = item(entries[key], below(refuse, key))
            elif key in required:
                raise refuse(f"missing key {key!r}", "required key")
        return out

    return check


def named(item: Check[T]) -> Check[dict[str, T]]:
    """A table whose keys are names, each with an entry of one kind."""

    def check(value: object, refuse: Refuse) -> dict[str, T]:
        entries = _entries(value, refuse, "names")
        return {name: item(entry, below(refuse, name)) for name, entry in entries.items()}

    return check


def by_kind(kinds: Mapping[str, tuple[Check[dict[str, Any]], Callable[..., T]]], default: str = "") -> Check[T]:
    """A table whose key ``kind`` says what it is: the check of its other keys, and what is made of them."""

    def check(value: object, refuse: Refuse) -> T:
        entries = _entries(value, refuse, f"kind = {' | '.join(kinds)}")
        if "kind" not in entries and not default:
            raise refuse("missing key 'kind'", "required key")
        fields, make = kinds[one_of(kinds)(entries.get("kind", default), below(refuse, "kind"))]
        return made(fields, lambda found: make(**{k: v for k, v in found.items() if k != "kind"}), "value")(
            value, refuse
        )

    return check


def made(check: Check[S], make: Callable[[S], T], rule: str) -> Check[T]:
    """What `make` makes of a checked value; its complaint becomes a refusal of the value."""

    def both(value: object, refuse: Refuse) -> T:
        good = check(value, refuse)
        try:
            return make(good)
        except ArmwrightError as error:
            raise refuse(str(error), rule) from None

    return both


def read_message(raw: str | bytes, shapes: Mapping[str, Check[dict[str, Any]]]) -> tuple[str, int, dict[str, Any]]:
    """Read one message of a page, ``{"do": name, "id": number, …fields}``: (what to do, its number, its fields).

    Raises:
        InputError: it is not valid; nothing of it has been done.
    """
    refuse = refuser("message")
    if len(raw) > MOST_BYTES:
        raise refuse(f"at most {MOST_BYTES} bytes, got {len(raw)}", "size")

    def finite(literal: str) -> float:
        if not math.isfinite(float(literal)):
            raise refuse(f"{literal:.20} is not a number that can be worked with", "range")
        return float(literal)

    try:
        value = json.loads(raw, parse_constant=finite, parse_float=finite)
    except InputError:
        raise
    except (ValueError, RecursionError):
        raise refuse("not valid JSON", "syntax") from None
    if not isinstance(value, dict) or not isinstance(value.get("do"), str):
        raise refuse('must be an object such as {"do": "look", "id": 1, …}', "type")
    name, ident = value.pop("do"), value.pop("id", 0)
    if name not in shapes:
        raise refuse(f"unknown {name!r:.40}; valid: {', '.join(shapes)}", "choice")
    return name, whole(0, 2**53)(ident, below(refuser(name), "id")), shapes[name](value, refuser(name))
