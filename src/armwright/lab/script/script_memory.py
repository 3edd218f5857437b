# SPDX-License-Identifier: Apache-2.0
"""How much a program keeps: the one account of its memory, over all its variables, threads and unfinished calls.

It is counted anew when so much work has been done since that it may have grown too large: what makes values is charged
a unit of work for every `ITEMS_PER_WORK` items at most. What a single statement makes beside that is limited by its
own work, see `ScriptRun.work`.
"""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterable
from types import GeneratorType

from armwright.lab.script.script_values import CONTAINERS, ScriptValue, weight

MOST_KEPT = 262_144  # items of all values of a program: some 10 MB, and 3 ms to count
ITEMS_PER_WORK = 16  # that a unit of work can make


class MemoryAccount:
    """What one program keeps.

    Attributes:
        kept: items at the last count.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self.kept, self._made = 0, 0

    def spend(self, work: int) -> bool:
        """Take notice of work; return whether it is time to count."""
        self._made += work * ITEMS_PER_WORK
        return self.kept + self._made > MOST_KEPT

    def count(self, variables: Iterable[ScriptValue], code: Iterable[Generator[object, None, ScriptValue]]) -> bool:
        """Count what variables and unfinished calls hold; return whether that is too much."""
        self.kept, self._made = items_of(variables, code), 0
        return self.kept > MOST_KEPT


def items_of(variables: Iterable[ScriptValue], code: Iterable[Generator[object, None, ScriptValue]]) -> int:
    """Return the items of all values that variables and generators hold, each value once."""
    found, seen = 0, set[int]()
    for value in variables:
        found += _once(value, seen)
    waiting = list(code)
    while waiting:
        for held in gc.get_referents(waiting.pop()):  # a generator's own variables, and operands of what is unfinished
            if held.__class__ is GeneratorType:
                if id(held) not in seen:
                    seen.add(id(held))
                    waiting.append(held)
            else:
                found += _once(held, seen)
    return found


def _once(value: object, seen: set[int]) -> int:
    if value.__class__ is str:
        return weight(value)
    if value.__class__ not in CONTAINERS:
        return 1
    if id(value) in seen:
        return 0
    seen.add(id(value))
    return weight(value)
