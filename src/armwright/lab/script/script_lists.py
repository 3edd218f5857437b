# SPDX-License-Identifier: Apache-2.0
"""Methods of lists: ``length``, ``append``, ``pop``, ``insert``, ``remove``, ``extend``, ``slice`` and more."""

from __future__ import annotations

from collections.abc import Callable

from armwright.lab.script.script_faults import ScriptFault
from armwright.lab.script.script_values import (
    LISTS,
    Rows,
    ScriptValue,
    check_size,
    fits_beside,
    kind_of,
    most_of,
    own,
    place_of,
)


def _fits(base: list[ScriptValue], value: ScriptValue) -> None:
    if len(base) >= most_of(base):
        raise ScriptFault(f"out of memory: this list has room for {most_of(base)} items")
    if not fits_beside(base, value):
        raise ScriptFault(f"type_error: a {kind_of(value)} does not go into this list")


def _append(base: list[ScriptValue], value: ScriptValue) -> None:
    _fits(base, value)
    base.append(value)
    if base.__class__ is Rows:
        check_size(base)


def _insert(base: list[ScriptValue], index: ScriptValue, value: ScriptValue) -> None:
    _fits(base, value)
    base.insert(len(base) if index == len(base) else place_of(base, index), value)
    if base.__class__ is Rows:
        check_size(base)


def _extend(base: list[ScriptValue], more: ScriptValue) -> None:
    if more.__class__ not in LISTS or not (all(fits_beside(base, value) for value in more[:1])):
        raise ScriptFault("type_error: only a list of the same kind goes behind a list")
    if len(base) + len(more) > most_of(base):
        raise ScriptFault(f"out of memory: this list has room for {most_of(base)} items")
    base.extend(more)
    if base.__class__ is Rows:
        check_size(base)


def _pop(base: list[ScriptValue]) -> ScriptValue:
    if not base:
        raise ScriptFault("index_error: nothing is left in this list")
    return base.pop()


def _remove(base: list[ScriptValue], index: ScriptValue) -> None:
    del base[place_of(base, index)]


def _slice(base: list[ScriptValue], begin: ScriptValue, end: ScriptValue) -> ScriptValue:
    for index in (begin, end):
        if index.__class__ is not int or not 0 <= index <= len(base):
            raise ScriptFault(f"index_error: a slice from 0 to {len(base)}")
    return own(base.__class__(base[begin:end]))


METHODS: dict[str, tuple[int, Callable[..., ScriptValue]]] = {
    "length": (0, len),
    "append": (1, _append),
    "insert": (2, _insert),
    "extend": (1, _extend),
    "pop": (0, _pop),
    "remove": (1, _remove),
    "clear": (0, lambda base: base.clear()),
    "slice": (2, _slice),
    "capacity": (0, most_of),
    "excess_capacity": (0, lambda base: most_of(base) - len(base)),
}


def call_method(name: str, base: ScriptValue, arguments: tuple[ScriptValue, ...]) -> ScriptValue:
    """Return what ``base.name(arguments)`` gives."""
    if base.__class__ not in LISTS:
        raise ScriptFault(f"type_error: a {kind_of(base)} has no method {name!r}")
    row = METHODS.get(name)
    if row is None:
        raise ScriptFault(f"a list has no method {name!r}")
    if len(arguments) != row[0]:
        raise ScriptFault(f"{name} takes {row[0]} arguments, not {len(arguments)}")
    return row[1](base, *arguments)
