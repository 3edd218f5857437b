# SPDX-License-Identifier: Apache-2.0
"""Plain values of an experiment file, each checked; whatever is wrong names file, line, key and what would be valid.

What a page may say: every message is checked here, field by field, before anything is done with it.

A message is one JSON object, ``{"do": name, "id": number, …fields}``. Unknown names and fields, missing fields, NaN,
infinities, numbers out of range and texts that are too long are refused with a sentence that says what would be valid.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from armwright.errors import DescriptionError, InputError
from armwright.files import read_regular
from armwright.schema.toml_text import MAX_BYTES, Table, read_tree

MOST_BYTES = 64 * 1024
"""Of one message; what is larger comes by upload."""
Check = Callable[[Any], Any]


def number(low: float, high: float) -> Check:
    """A finite number within low … high."""

    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise InputError(f"must be a number within {low:g} … {high:g}, got {value!r:.40}")
        return float(value)

    return check


def whole(low: int, high: int) -> Check:
    """A whole number within low … high."""

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InputError(f"must be a whole number within {low} … {high}, got {value!r:.40}")
        return value

    return check


def numbers(low: float, high: float, *, count: int | None = None, most: int = 64) -> Check:
    """A list of `count` (or 1 … most) finite numbers within low … high."""
    one = number(low, high)

    def check(value: Any) -> list[float]:
        wanted = f"{count}" if count is not None else f"1 to {most}"
        fits = isinstance(value, list) and (len(value) == count if count is not None else 1 <= len(value) <= most)
        if not fits:
            raise InputError(f"must be a list of {wanted} numbers, got {value!r:.40}")
        return [one(item) for item in value]

    return check


def text(most: int) -> Check:
    """A text of 1 … most characters without control characters."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or not 0 < len(value) <= most or not all(c.isprintable() for c in value):
            raise InputError(f"must be a text of 1 to {most} printable characters, got {value!r:.40}")
        return value

    return check


def one_of(*names: str) -> Check:
    """One of some words."""

    def check(value: Any) -> str:
        if value not in names:
            raise InputError(f"must be one of {', '.join(names)}; got {value!r:.40}")
        return str(value)

    return check


def one_of_these(names: Callable[[], Iterable[str]]) -> Check:
    """One of some words that are looked up when first needed: those who know them take long to import."""

    def check(value: Any) -> str:
        return str(one_of(*names())(value))

    return check


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise InputError(f"must be true or false, got {value!r:.40}")
    return value


def listed(item: Check, most: int) -> Check:
    """A list of up to `most` items of one kind."""

    def check(value: Any) -> list[Any]:
        if not isinstance(value, list) or len(value) > most:
            raise InputError(f"must be a list of at most {most} items, got {value!r:.40}")
        return [item(entry) for entry in value]

    return check


def record(fields: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with just these fields."""
    return Fields(fields, optional or {}).read


@dataclass(frozen=True)
class Fields:
    """The fields of an object, required and optional ones."""

    fields: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)

    def read(self, value: Any) -> dict[str, Any]:
        """Return the checked fields, or say what is wrong with which."""
        known = {**self.fields, **self.optional}
        if not isinstance(value, dict):
            raise InputError(f"must be an object with {', '.join(known) or 'no fields'}, got {value!r:.40}")
        strange = sorted(set(value) - set(known))
        if strange:
            raise InputError(f"unknown field {strange[0]!r:.40}; valid: {', '.join(known) or 'none'}")
        missing = [name for name in self.fields if name not in value]
        if missing:
            raise InputError(f"field {missing[0]!r} is missing")
        out = {}
        for name, item in value.items():
            try:
                out[name] = known[name](item)
            except InputError as error:
                raise InputError(f"{name}: {error}") from None
        return out


def _refuse_constant(name: str) -> float:
    raise InputError(f"message: {name} is not a number that can be worked with")


def _finite(literal: str) -> float:
    value = float(literal)
    if not math.isfinite(value):
        raise InputError(f"message: {literal:.20} is too large")
    return value


def read_message(raw: str | bytes, shapes: Mapping[str, Fields]) -> tuple[str, int, dict[str, Any]]:
    """Read one message: (what to do, its number, its fields).

    Raises:
        InputError: it is not valid; nothing of it has been done.
    """
    if len(raw) > MOST_BYTES:
        raise InputError(f"message: at most {MOST_BYTES} bytes, got {len(raw)}")
    try:
        value = json.loads(raw, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("message: not valid JSON") from None
    if not isinstance(value, dict) or not isinstance(value.get("do"), str):
        raise InputError('message: must be an object such as {"do": "look", "id": 1, …}')
    name, ident = value.pop("do"), value.pop("id", 0)
    if name not in shapes:
        raise InputError(f"message: unknown {name!r:.40}; valid: {', '.join(shapes)}")
    try:
        ident = whole(0, 2**53)(ident)
        return name, ident, shapes[name].read(value)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def read_table(path: Path) -> Table:
    """A TOML file as a table that knows its lines."""
    try:
        content = read_regular(path, MAX_BYTES).decode("utf-8")
    except OSError as error:
        raise DescriptionError(f"cannot be read: {error.strerror or error}", where=str(path), rule="file") from None
    except UnicodeDecodeError:
        raise DescriptionError("is not UTF-8 text", where=str(path), rule="file") from None

    def nothing(name: str) -> tuple[str, str]:
        raise DescriptionError("an experiment extends no other", rule="extends")

    return read_tree(content, str(path), nothing)


def number_at(table: Table, key: str, default: float | None, low: float, high: float) -> float:
    """A number from low to high."""
    value = table.entries.get(key, default)
    if value is None:
        raise table.refuse(f"missing key {key!r}: a number from {low:g} to {high:g}", "required key")
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not good or not math.isfinite(value) or not low <= value <= high:
        raise table.refuse(f"must be a number from {low:g} to {high:g}, got {value!r:.60}", "range", key)
    return float(value)


def numbers_at(table: Table, key: str, default: Sequence[float], count: int, most: float) -> tuple[float, ...]:
    """So many numbers, none larger than `most` in size."""
    return row(table, key, table.entries.get(key, list(default)), count, most)


def row(table: Table, key: str, value: Any, count: int, most: float, where: str = "") -> tuple[float, ...]:
    """The numbers of a list that stands under a key."""
    good = isinstance(value, list) and len(value) == count
    if not good or not all(
        isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x) and abs(x) <= most for x in value
    ):
        raise table.refuse(f"{where}must be a list of {count} numbers up to ±{most:g}, got {value!r:.60}", "list", key)
    return tuple(float(x) for x in value)


def rows(table: Table, key: str, count: int, most: float) -> tuple[tuple[float, ...], ...]:
    """A list of lists of so many numbers; empty if absent."""
    value = table.entries.get(key, [])
    if not isinstance(value, list):
        raise table.refuse(f"must be a list of lists of {count} numbers, got {value!r:.60}", "list", key)
    return tuple(row(table, key, one, count, most, f"entry {k}: ") for k, one in enumerate(value, start=1))


def yes_or_no(table: Table, key: str, default: bool) -> bool:
    """True or false."""
    value = table.entries.get(key, default)
    if not isinstance(value, bool):
        raise table.refuse(f"must be true or false, got {value!r:.60}", "type", key)
    return value


def one_of_at(table: Table, key: str, default: str, valid: Sequence[str]) -> str:
    """One of some words."""
    value = table.text_of(key, default)
    if value not in valid:
        raise table.refuse(f"must be one of {', '.join(valid)}, got {value!r:.60}", "choice", key)
    return value


def sub_table(table: Table, key: str) -> Table:
    """A table below; empty if absent."""
    found = table.table(key)
    return found if found is not None else Table({}, table.text, f"{table.path}.{key}".strip("."))


def checked(table: Table, key: str, make: Callable[[], Any]) -> Any:
    """What `make` gives; its complaint becomes one about this key."""
    from armwright.errors import ArmwrightError

    try:
        return make()
    except ArmwrightError as error:
        raise table.refuse(str(error), key, key) from None
