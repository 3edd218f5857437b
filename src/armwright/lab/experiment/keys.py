# SPDX-License-Identifier: Apache-2.0
"""Plain values of an experiment file, each checked; whatever is wrong names file, line, key and what would be valid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from armwright.errors import DescriptionError
from armwright.regular_file import read_regular
from armwright.robot.sheet.text import MAX_BYTES, Table, read_tree


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


def number(table: Table, key: str, default: float | None, low: float, high: float) -> float:
    """A number from low to high."""
    value = table.entries.get(key, default)
    if value is None:
        raise table.refuse(f"missing key {key!r}: a number from {low:g} to {high:g}", "required key")
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not good or not math.isfinite(value) or not low <= value <= high:
        raise table.refuse(f"must be a number from {low:g} to {high:g}, got {value!r:.60}", "range", key)
    return float(value)


def numbers(table: Table, key: str, default: Sequence[float], count: int, most: float) -> tuple[float, ...]:
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


def one_of(table: Table, key: str, default: str, valid: Sequence[str]) -> str:
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
