# SPDX-License-Identifier: Apache-2.0
"""Variables and where they are found: a routine's own, its module's, those that all modules share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from armwright.programs.interpreter.program_values import RecordValue, Unknown, Value, ValueTrouble, number_of
from armwright.syntax.program_tree import Declare, Module, Node, Routine

if TYPE_CHECKING:
    from collections.abc import Collection

    from armwright.syntax.scanner import Token


class Cell:
    """A variable: its value and type; `pending` is a module's data that nobody has asked for yet.

    `changer` names what may change it at any time: an interrupt's routine.
    """

    __slots__ = ("changer", "declared", "kind", "pending", "value")

    def __init__(
        self, kind: str, value: Value, *, declared: int = 0, pending: tuple[Declare, Module] | None = None
    ) -> None:
        """Make a variable; `declared` is its line, 0 if it was not declared."""
        self.kind, self.value, self.declared, self.pending = kind, value, declared, pending
        self.changer = ""


class PartsOf(Protocol):
    """What knows the parts of values: the interpreter of a language."""

    first_index: int

    def part_kind(self, kind: str, name: str) -> str:
        """Return the type of a record's part."""

    def part(self, value: Value, name: str, at: Token) -> Value:
        """Return one part of a record."""

    def item(self, value: Value, position: Value, at: Token) -> Value:
        """Return one item of a list."""

    def own_parts(self, kind: str) -> Collection[str]:
        """Return the names of the parts that every value of a type has."""


class Element:
    """One item of a list or part of a record, that can be set like a variable."""

    def __init__(self, owner: PartsOf, base: Node, key: Value, at: Token) -> None:
        """Belong to `base`, a variable or an element."""
        self.owner, self.base, self.key, self.at = owner, base, key, at
        self.kind = owner.part_kind(base.kind, key) if isinstance(key, str) else base.kind
        self.declared, self.pending = 0, None
        self.changer: str = base.changer

    @property
    def value(self) -> Value:
        """Return what it has."""
        held = self.base.value
        if isinstance(self.key, str):
            if isinstance(held, RecordValue) and self.key not in held.parts:
                return Unknown(f"{self.key} has no value")
            return self.owner.part(held, self.key, self.at)
        return self.owner.item(held, self.key, self.at)

    @value.setter
    def value(self, new: Value) -> None:
        held = self.base.value
        if isinstance(self.key, Unknown):
            self.base.value = Unknown(f"an item of {self.at.text} was set, and which one is not known", self.key.names)
        elif isinstance(held, Unknown) and isinstance(self.key, str):
            others = () if held.unset else self.owner.own_parts(self.base.kind)
            self.base.value = RecordValue(self.base.kind, {**dict.fromkeys(others, held), self.key: new})
        elif isinstance(held, Unknown):
            return  # which item it is does not matter: the whole is not known
        elif isinstance(self.key, str) and isinstance(held, RecordValue):
            held.parts[self.key] = new
        elif isinstance(held, list) and not isinstance(self.key, str):
            number = int(number_of(self.key)) - self.owner.first_index
            if not 0 <= number < len(held):
                raise ValueTrouble(f"no item {self.key:g} in {self.at.text}", f"1 to {len(held)}")
            held[number] = new
        else:
            raise ValueTrouble(f"{self.at.text} has no such part", "a record or an array")


class CallFrame:
    """What a routine sees first: its parameters and variables; `absent` are parameters that the call left out."""

    __slots__ = ("absent", "cells", "module", "routine")

    def __init__(self, module: Module, routine: Routine | None) -> None:
        """Begin without variables."""
        self.module, self.routine = module, routine
        self.cells: dict[str, Any] = {}
        self.absent: set[str] = set()


class Scopes:
    """Data of modules: `own` by module, `shared` by all; `unused` are definitions that nothing has looked for yet."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.own: dict[int, dict[str, Cell]] = {}
        self.shared: dict[str, Cell] = {}
        self.unused: dict[str, str] = {}

    def add(self, module: Module, declare: Declare, *, hidden: bool, partner: Module | None = None) -> None:
        """Add data of a module, which is worked out when it is first used; a partner sees them as its own."""
        cell = Cell(declare.kind, None, declared=declare.at.line, pending=(declare, module))
        for owner in (module, partner):
            if owner is not None:
                self.own.setdefault(id(owner), {})[declare.at.key] = cell
        if not hidden:
            self.shared.setdefault(declare.at.key, cell)

    def share(self, module: Module, partner: Module) -> None:
        """Let a partner see data of a module that was added before it as its own."""
        own = self.own.setdefault(id(partner), {})
        for key, cell in self.own.get(id(module), {}).items():
            own.setdefault(key, cell)

    def define(self, name: str, key: str, cell: Cell) -> None:
        """Add what a user defines, under the name that he wrote."""
        self.shared[key] = cell
        self.unused[key] = name

    def find(self, frame: CallFrame, key: str) -> Value:
        """Return the variable that a name means in a routine; None if there is none."""
        found = frame.cells.get(key)
        if found is None:
            found = self.own.get(id(frame.module), {}).get(key)
        if found is not None:
            return found
        if self.unused:
            self.unused.pop(key, None)
        return self.shared.get(key)

    def all_cells(self, frame: CallFrame) -> list[Cell]:
        """Return every variable that has a value."""
        cells = [*frame.cells.values(), *self.shared.values(), *(c for own in self.own.values() for c in own.values())]
        return [cell for cell in dict.fromkeys(cells) if isinstance(cell, Cell) and cell.pending is None]
