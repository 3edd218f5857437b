# SPDX-License-Identifier: Apache-2.0
"""Values of a running program: numbers, truth, text, lists, poses, structures; and what operators do with them.

Lists, poses and structures are values: whoever keeps one gets its own (`own`). A list holds numbers and truth values,
or texts; one that holds lists, poses or structures is `Rows`. Whole numbers stay within ±2³¹, beyond they become
others.
Every size is limited, and long work is charged to the thread's budget by whoever calls (`weight`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from armwright.lab.script.script_faults import ScriptFault

ScriptValue = Any
"""int, float, bool, str, list, Rows, PoseValue, StructValue or None."""
LARGEST_WHOLE = 2**31
MOST_ITEMS = 65_536  # of a list, those of its rows included
MOST_SUMMED_ITEMS = 4096  # of lists that are added or multiplied: 0.5 ms
MOST_TEXT_LENGTH = 65_536  # of a text
MOST_TOLD_ITEMS = 1024  # of a list that is made a text
CONTAINER_ITEMS = 16  # that a list, a pose or a structure itself counts for


class PoseValue(list[Any]):
    """p[x, y, z, rx, ry, rz]: metres and a rotation vector [rad]."""

    __slots__ = ()


class RoomyList(list[Any]):
    """A list that has its own limit: what `make_list` was told, or the length that it began with.

    Attributes:
        most: items that it may have.
    """

    most = MOST_ITEMS


class Rows(RoomyList):
    """A list of lists, poses or structures."""


class StructValue:
    """Named parts."""

    __slots__ = ("parts",)

    def __init__(self, parts: dict[str, ScriptValue]) -> None:
        """Keep the parts."""
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        """Return whether all parts are the same."""
        return isinstance(other, StructValue) and self.parts == other.parts

    __hash__ = None  # type: ignore[assignment]


NUMBERS: frozenset[Any] = frozenset((int, float))
FLAT: frozenset[Any] = frozenset((list, RoomyList))
LISTS: frozenset[Any] = FLAT | {Rows}
CONTAINERS: frozenset[Any] = LISTS | {PoseValue, StructValue}
SCALARS: frozenset[Any] = frozenset((int, float, bool, str))
KIND_NAMES = {
    int: "integer",
    float: "float",
    bool: "boolean",
    str: "string",
    list: "list",
    RoomyList: "list",
    Rows: "list",
    PoseValue: "pose",
    StructValue: "struct",
    type(None): "none",
}


def kind_of(value: ScriptValue) -> str:
    """Return the name of a value's kind."""
    return KIND_NAMES.get(value.__class__, "unknown")


def own(value: ScriptValue) -> ScriptValue:
    """Return a value that shares nothing with `value`."""
    kind = value.__class__
    if kind is list:
        return value.copy()
    if kind is PoseValue:
        return PoseValue(value)
    if kind is Rows or kind is RoomyList:
        made = kind(map(own, value)) if kind is Rows else kind(value)
        if value.most != MOST_ITEMS:
            made.most = value.most
        return made
    if kind is StructValue:
        return StructValue({name: own(part) for name, part in value.parts.items()})
    return value


def most_of(value: list[ScriptValue]) -> int:
    """Return how many items a list may have."""
    return MOST_ITEMS if value.__class__ is list else value.most  # type: ignore[attr-defined]


def with_room(items: list[ScriptValue], most: int) -> ScriptValue:
    """Return a list that may have so many items; `Rows` are taken over."""
    made = items if items.__class__ is Rows else RoomyList(items)
    made.most = most
    return made


def fitted(before: ScriptValue, value: ScriptValue) -> ScriptValue:
    """Return what a variable keeps that had another value: before software 5.15 a list keeps its first length."""
    if before.__class__ not in LISTS or value.__class__ not in LISTS:
        return value
    most = most_of(before)
    first = len(before) if most == MOST_ITEMS else most
    if not first or (len(value) == first and value.__class__ is list):  # a list of nothing has no length yet
        return value
    if len(value) > first:
        raise ScriptFault(f"a list of {len(value)} items in place of {first}: before 5.15 a list keeps its length")
    return with_room(value, first)


def weight(value: ScriptValue) -> int:
    """Return how many items a value has, 1 for a number; see `CONTAINER_ITEMS`."""
    kind = value.__class__
    if kind in FLAT or kind is PoseValue:
        if value and value[0].__class__ is str:
            return CONTAINER_ITEMS + sum(map(weight, value))
        return len(value) + CONTAINER_ITEMS
    if kind is Rows:
        return CONTAINER_ITEMS + sum(map(weight, value))
    if kind is StructValue:
        return CONTAINER_ITEMS + sum(map(weight, value.parts.values()))
    return 1 + len(value) // 64 if kind is str else 1


def depth_of(value: ScriptValue) -> int:
    """Return how deep lists and structures stand inside one another."""
    kind = value.__class__
    if kind is Rows:
        return 1 + max(map(depth_of, value), default=0)
    if kind is StructValue:
        return 1 + max(map(depth_of, value.parts.values()), default=0)
    return 0


MOST_NESTED_VALUES = 16


def list_of(items: list[ScriptValue]) -> ScriptValue:
    """Return a list of items; the list itself is taken over."""
    for item in items:
        if item.__class__ in CONTAINERS:
            made = Rows(items)
            check_size(made)
            return made
        if item is None:
            raise ScriptFault("type_error: a list of what has no value")
        if (item.__class__ is str) != (items[0].__class__ is str):
            raise ScriptFault(f"type_error: a {kind_of(item)} beside a {kind_of(items[0])} in a list")
    return items


def fits_beside(base: list[ScriptValue], value: ScriptValue) -> bool:
    """Return whether a value may stand in a list: rows beside rows, texts beside texts."""
    if value is None or (value.__class__ in CONTAINERS) != (base.__class__ is Rows):
        return False
    return not base or (value.__class__ is str) == (base[0].__class__ is str)


def check_size(value: ScriptValue) -> None:
    """Refuse a value that is too large to be kept."""
    if weight(value) > MOST_ITEMS + CONTAINER_ITEMS:
        raise ScriptFault(f"out of memory: more than {MOST_ITEMS} items in one value")
    if depth_of(value) > MOST_NESTED_VALUES:
        raise ScriptFault(f"lists and structures more than {MOST_NESTED_VALUES} deep")


def pose_value(*six: ScriptValue) -> PoseValue:
    """Return a pose of six numbers."""
    for number in six:
        if number.__class__ not in NUMBERS:
            raise ScriptFault(f"type_error: a pose has numbers, not a {kind_of(number)}")
    return PoseValue(six)


def truth(value: ScriptValue) -> bool:
    """Return a value as the answer of a test: numbers are true unless 0."""
    kind = value.__class__
    if kind is bool:
        return value
    if kind in NUMBERS:
        return value != 0
    raise ScriptFault(f"type_error: a condition is a boolean or a number, not a {kind_of(value)}")


def within(number: int | float) -> int | float:
    """Return a number: whole ones beyond ±2³¹ become others."""
    if number.__class__ is int and not -LARGEST_WHOLE <= number < LARGEST_WHOLE:
        return float(number)
    return number


# --- operators --------------------------------------------------------------------------------------------------------


def add(a: ScriptValue, b: ScriptValue) -> ScriptValue:
    """Return a + b."""
    if a.__class__ is float and b.__class__ is float:
        return a + b
    if a.__class__ in NUMBERS and b.__class__ in NUMBERS:
        return within(a + b)
    if a.__class__ is str and b.__class__ is str:
        return joined(a, b)
    return _item_by_item("+", add, a, b)


def subtract(a: ScriptValue, b: ScriptValue) -> ScriptValue:
    """Return a - b."""
    if a.__class__ is float and b.__class__ is float:
        return a - b
    if a.__class__ in NUMBERS and b.__class__ in NUMBERS:
        return within(a - b)
    return _item_by_item("-", subtract, a, b)


def multiply(a: ScriptValue, b: ScriptValue) -> ScriptValue:
    """Return a · b; a list of lists is a matrix."""
    if a.__class__ is float and b.__class__ is float:
        return a * b
    if a.__class__ in NUMBERS and b.__class__ in NUMBERS:
        return within(a * b)
    if a.__class__ in FLAT and b.__class__ in NUMBERS:
        return _scaled(a, b)
    if b.__class__ in FLAT and a.__class__ in NUMBERS:
        return _scaled(b, a)
    if (a.__class__ is Rows and b.__class__ in LISTS) or (b.__class__ is Rows and a.__class__ in LISTS):
        return _matrix_product(a, b)
    return _item_by_item("*", multiply, a, b)


def divide(a: ScriptValue, b: ScriptValue) -> ScriptValue:
    """Return a / b, always a real division."""
    if a.__class__ in NUMBERS and b.__class__ in NUMBERS:
        if b == 0:
            raise ScriptFault("division by zero")
        return a / b
    if a.__class__ in FLAT and b.__class__ in NUMBERS:
        if b == 0:
            raise ScriptFault("division by zero")
        return [divide(item, b) for item in _summed(a)]
    return _item_by_item("/", divide, a, b)


def remainder(a: ScriptValue, b: ScriptValue) -> ScriptValue:
    """Return a % b: what is left of a, with its sign, as C has it."""
    if a.__class__ not in NUMBERS or b.__class__ not in NUMBERS:
        raise ScriptFault(f"type_error: {kind_of(a)} % {kind_of(b)}")
    if b == 0:
        raise ScriptFault("division by zero")
    if math.isinf(a):
        return math.nan
    rest = math.fmod(a, b)
    return int(rest) if a.__class__ is int and b.__class__ is int else rest


def negative(a: ScriptValue) -> ScriptValue:
    """Return -a."""
    if a.__class__ in NUMBERS:
        return within(-a)
    if a.__class__ in FLAT:
        return [negative(item) for item in _summed(a)]
    raise ScriptFault(f"type_error: -{kind_of(a)}")


def positive(a: ScriptValue) -> ScriptValue:
    """Return +a."""
    if a.__class__ in NUMBERS:
        return a
    raise ScriptFault(f"type_error: +{kind_of(a)}")


def exclusive(a: ScriptValue, b: ScriptValue) -> bool:
    """Return whether one of two conditions holds, and the other does not."""
    return truth(a) != truth(b)


def equal(a: ScriptValue, b: ScriptValue) -> bool:
    """Return whether two values are the same."""
    return bool(a == b)


def _ordered(sign: str, compare: Callable[[Any, Any], bool]) -> Callable[[ScriptValue, ScriptValue], bool]:
    def ordered(a: ScriptValue, b: ScriptValue) -> bool:
        if (a.__class__ in NUMBERS and b.__class__ in NUMBERS) or (a.__class__ is str and b.__class__ is str):
            return compare(a, b)
        raise ScriptFault(f"type_error: {kind_of(a)} {sign} {kind_of(b)}")

    return ordered


less, more = _ordered("<", operator.lt), _ordered(">", operator.gt)
at_most, at_least = _ordered("<=", operator.le), _ordered(">=", operator.ge)


def _summed(items: list[ScriptValue]) -> list[ScriptValue]:
    if (weight(items) if items.__class__ is Rows else len(items)) > MOST_SUMMED_ITEMS:
        raise ScriptFault(f"sums of lists of more than {MOST_SUMMED_ITEMS} items are not done here")
    return items


def _scaled(items: list[ScriptValue], factor: int | float) -> list[ScriptValue]:
    return [multiply(item, factor) for item in _summed(items)]


def _item_by_item(sign: str, how: Callable[[Any, Any], Any], a: ScriptValue, b: ScriptValue) -> ScriptValue:
    """Return an operator applied to lists, item by item."""
    if a.__class__ in LISTS and b.__class__ in LISTS:
        if len(a) != len(b):
            raise ScriptFault(f"lists of {len(a)} and {len(b)} items {sign} item by item")
        made = [how(x, y) for x, y in zip(_summed(a), b, strict=True)]
    elif a.__class__ in LISTS and b.__class__ in NUMBERS and sign in "*/":
        made = [how(x, b) for x in _summed(a)]
    elif b.__class__ in LISTS and a.__class__ in NUMBERS and sign == "*":
        made = [how(a, y) for y in _summed(b)]
    else:
        raise ScriptFault(f"type_error: {kind_of(a)} {sign} {kind_of(b)}")
    return Rows(made) if a.__class__ is Rows or b.__class__ is Rows else made


def _matrix_product(a: list[ScriptValue], b: list[ScriptValue]) -> ScriptValue:
    """Return the product of two matrices, or of one and a vector."""
    left = a if a.__class__ is Rows else [a]
    right = b if b.__class__ is Rows else [[item] for item in b]
    inner = len(right)
    wide = len(right[0]) if inner and right[0].__class__ in FLAT else 0
    sized = [(row, inner) for row in left] + [(row, wide) for row in right]
    if not wide or any(row.__class__ not in FLAT or len(row) != size for row, size in sized):
        raise ScriptFault("a product of matrices whose sizes do not fit")
    if len(left) * inner * wide > MOST_SUMMED_ITEMS:
        raise ScriptFault(f"products of more than {MOST_SUMMED_ITEMS} terms are not done here")
    made = []
    for row in left:
        out: list[ScriptValue] = []
        for column in range(wide):
            total: ScriptValue = 0
            for k in range(inner):
                total = add(total, multiply(row[k], right[k][column]))
            out.append(total)
        made.append(out)
    if a.__class__ is not Rows:
        return made[0]
    return Rows(made) if b.__class__ is Rows else [row[0] for row in made]


# --- items and parts --------------------------------------------------------------------------------------------------


def place_of(base: ScriptValue, index: ScriptValue) -> int:
    """Return where an item stands, from 0."""
    if base.__class__ not in LISTS and base.__class__ is not PoseValue:
        raise ScriptFault(f"type_error: a {kind_of(base)} has no items")
    if index.__class__ is float and index.is_integer():
        index = int(index)
    if index.__class__ is not int:
        raise ScriptFault(f"type_error: an index is a whole number, not a {kind_of(index)}")
    if not 0 <= index < len(base):
        raise ScriptFault(f"index_error: no item {index} of {len(base)}")
    return index


def item(base: ScriptValue, index: ScriptValue) -> ScriptValue:
    """Return an item of a list or pose."""
    if base.__class__ is list and index.__class__ is int and 0 <= index < len(base):
        return base[index]
    return base[place_of(base, index)]


def set_item(base: ScriptValue, index: ScriptValue, value: ScriptValue) -> None:
    """Put a value in the place of an item."""
    at = place_of(base, index)
    if base.__class__ is PoseValue:
        if value.__class__ not in NUMBERS:
            raise ScriptFault(f"type_error: a pose has numbers, not a {kind_of(value)}")
    elif not (
        fits_beside(base, value) or (len(base) == 1 and base.__class__ is not Rows and value.__class__ in SCALARS)
    ):
        raise ScriptFault(f"type_error: a {kind_of(value)} in place of a {kind_of(base[at])}")
    base[at] = value
    if base.__class__ is Rows:
        check_size(base)


def part(base: ScriptValue, name: str) -> ScriptValue:
    """Return a part of a structure."""
    if base.__class__ is not StructValue:
        raise ScriptFault(f"type_error: a {kind_of(base)} has no part {name!r}")
    if name not in base.parts:
        raise ScriptFault(f"no part {name!r} in this structure")
    return base.parts[name]


def set_part(base: ScriptValue, name: str, value: ScriptValue) -> None:
    """Put a value in the place of a part; its kind stays."""
    before = part(base, name)
    both = {before.__class__, value.__class__}
    if before.__class__ is not value.__class__ and not both <= NUMBERS:
        raise ScriptFault(f"type_error: a {kind_of(value)} in place of a {kind_of(before)}")
    base.parts[name] = value
    check_size(base)


# --- text -------------------------------------------------------------------------------------------------------------


def joined(*texts: str) -> str:
    """Return texts one after the other."""
    if sum(map(len, texts)) > MOST_TEXT_LENGTH:
        raise ScriptFault(f"a text of more than {MOST_TEXT_LENGTH} characters")
    return "".join(texts)


def text_of(value: ScriptValue) -> str:
    """Return a value as text."""
    kind = value.__class__
    if kind is str:
        return value
    if kind in CONTAINERS and weight(value) > MOST_TOLD_ITEMS:
        raise ScriptFault(f"lists of more than {MOST_TOLD_ITEMS} items are not made a text")
    if kind in LISTS:
        return "[" + ", ".join(map(text_of, value)) + "]"
    if kind is PoseValue:
        return "p[" + ", ".join(map(text_of, value)) + "]"
    if kind is StructValue:
        return "struct(" + ", ".join(f"{name}={text_of(inner)}" for name, inner in value.parts.items()) + ")"
    if kind in SCALARS:
        return str(value)
    return "None"
