# SPDX-License-Identifier: Apache-2.0
"""Values of expressions: names, items, parts, calls, sums and tests, of which each may be unknown."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from armwright.programs.interpreter.interpreter_scope import CallFrame, Cell, Scopes
from armwright.programs.interpreter.program_values import (
    COMPARE,
    MOST_PARTS,
    RecordValue,
    Unknown,
    Value,
    ValueTrouble,
    combined,
    compared,
    copied,
    guessed,
    is_number,
    number_of,
    parts_in,
    truth_of,
)
from armwright.programs.interpreter.reading_notes import NOT_DECLARED, ReadingNotes
from armwright.programs.interpreter.told_inputs import ToldInputs
from armwright.programs.reading import ReadOptions
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Argument, Module, Node, Routine
from armwright.syntax.scanner import Token
from armwright.syntax.tree_parser import meant


class TreeValues:
    """What an interpreter knows, what a language adds to it, and how expressions get their values."""

    language = ""
    functions: Collection[str] = ()  # of the language, for messages

    def __init__(self, module: Module, options: ReadOptions) -> None:
        """Begin with the program's own file."""
        self.options = options
        self.notes = ReadingNotes(module, self.language)
        self.notes.draft.most_moves = options.moves
        self.scopes = Scopes()
        self.modules = [module]
        self.frame = CallFrame(module, None)
        self.steps = self.calls = self.changes = 0
        self.under_way: list[int] = []  # the routines whose calls have not ended, the first first
        self.work = 0  # values worked out and parts copied
        self.inputs = ToldInputs(options.inputs)
        self.worth: dict[type, Callable[[Any], Any]] = {
            tree.Literal: lambda node: node.value,
            tree.Name: self._name,
            tree.Index: self._index,
            tree.Member: self._member,
            tree.FunctionCall: self._call,
            tree.Unary: self._unary,
            tree.Binary: self._binary,
            tree.ListOf: lambda node: [self.value(item) for item in node.items],
            tree.RecordOf: self._record,
        }

    # --- what a language adds -----------------------------------------------------------------------------------------

    def instruction(self, at: Token, arguments: tuple[Argument, ...]) -> bool:
        """Carry out an instruction of the language; False if it has none of this name."""
        raise NotImplementedError

    def function(self, node: tree.FunctionCall) -> Value:
        """Return the value of one of the language's functions; `NotImplemented` if it has none of this name."""
        raise NotImplementedError

    def lacking(self, node: tree.FunctionCall, said: str) -> None:
        """Tell of a function that no file has, and forget what it may have changed."""

    def known_name(self, key: str) -> Value:
        """Return the value of a name that needs no declaration; `NotImplemented` if there is none."""
        return NotImplemented

    def fit(self, value: Value, kind: str, at: Token) -> Value:
        """Return a value as one of a type."""
        return value

    def blank(self, kind: str, at: Token) -> Value:
        """Return what a variable of a type has before it is set."""
        return Unknown(f"{at.text} has no value yet", (at.text,), unset=True)

    def elsewhere(self, key: str) -> bool:
        """Look for a name in further files, and link the one that has it."""
        return False

    def part_kind(self, kind: str, name: str) -> str:
        """Return the type of a record's part; nothing where it does not matter."""
        return ""

    def parts_of(self, kind: str) -> Collection[str]:
        """Return the names of all parts of a type of records; nothing where they are not known."""
        return ()

    def own_parts(self, kind: str) -> Collection[str]:
        """Return the names of the parts that every value of a type has."""
        return self.parts_of(kind)

    def set_system(self, target: Value, value: Value, at: Token) -> bool:
        """Set a variable of the controller; False if the name is an ordinary one."""
        return False

    # --- what the layers above add ------------------------------------------------------------------------------------

    def call(self, routine: Routine, arguments: tuple[Argument, ...], at: Token) -> Value:
        """Run a routine and return its value."""
        raise NotImplementedError

    def cell(self, at: Token) -> Cell | None:
        """Return the variable of a name."""
        raise NotImplementedError

    def routine(self, key: str) -> Routine | None:
        """Return a routine that can be called from here."""
        raise NotImplementedError

    # --- values -------------------------------------------------------------------------------------------------------

    def value(self, node: Node) -> Value:
        """Return the value of an expression."""
        self.work += 1
        return self.worth[type(node)](node)

    def copy(self, value: Value) -> Value:
        """Return a value that shares nothing with `value`; one that grew without bounds is refused."""
        if isinstance(value, str) and len(value) > MOST_PARTS:  # a text may double itself in a loop
            raise ValueTrouble(f"a text of more than {MOST_PARTS} characters", "shorter texts")
        if not isinstance(value, list | RecordValue):
            return value
        parts = parts_in(value)
        self.work += parts
        if parts > MOST_PARTS:
            raise ValueTrouble(f"a value of more than {MOST_PARTS} parts", "smaller lists and records")
        return copied(value)

    def names_in(self, node: Node) -> set[str]:
        """Return the names that an expression speaks of."""
        if isinstance(node, tree.Name):
            return {node.at.text}
        if isinstance(node, tree.Index | tree.Member):
            return self.names_in(node.base)
        if isinstance(node, tree.FunctionCall):
            own = {node.at.text} - {"p["}  # the bracket of a pose of URScript is no name
            return own.union(*(self.names_in(a.value) for a in node.arguments))
        if isinstance(node, tree.Unary):
            return self.names_in(node.operand)
        if isinstance(node, tree.Binary):
            return self.names_in(node.left) | self.names_in(node.right)
        return set()

    def _name(self, node: tree.Name) -> Value:
        cell = self.cell(node.at)
        if cell is not None:
            return self.changing(cell, node.at) if cell.changer else cell.value
        known = self.known_name(node.at.key)
        if known is not NotImplemented:
            return known
        return self.undeclared(node.at)

    def changing(self, cell: Cell, at: Token) -> Value:
        """Return what is known of a variable that an interrupt may change: tests take what the program put there."""
        if at.key in self.inputs:
            return self.input_value(at.key)
        if isinstance(cell.value, Unknown):
            return cell.value
        guess = cell.value if is_number(cell.value) or isinstance(cell.value, bool | str) else None
        return Unknown(f"{at.text} may be changed by the interrupt {cell.changer}", (at.text,), guess)

    def undeclared(self, at: Token) -> Value:
        """Return an input's value if the user says it, else that nothing is known about the name."""
        if at.key in self.inputs:
            return self.input_value(at.key)
        return Unknown(f"{at.text!r} {NOT_DECLARED}", (at.text,), 0.0)

    def input_value(self, key: str) -> Value:
        """Return what the user says about an input; a list is used up to its last value."""
        said = self.inputs[key]
        if isinstance(said, list):
            return said.pop(0) if len(said) > 1 else said[0]
        return said

    def _index(self, node: tree.Index) -> Value:
        value = self.value(node.base)
        for position in node.indices:
            value = self.item(value, self.value(position), node.at)
        return value

    first_index = 1

    def item(self, value: Value, position: Value, at: Token) -> Value:
        """Return one item of a list."""
        if isinstance(value, Unknown) or isinstance(position, Unknown):
            return combined(value, position)
        if not isinstance(value, list):
            raise ValueTrouble(f"{at.text} has no items", "an array")
        number = int(number_of(position)) - self.first_index
        if not 0 <= number < len(value):
            last = len(value) - 1 + self.first_index
            raise ValueTrouble(f"no item {position:g} in {at.text}", f"{self.first_index} to {last}")
        return value[number]

    def _member(self, node: tree.Member) -> Value:
        return self.part(self.value(node.base), node.name, node.at)

    def part(self, value: Value, name: str, at: Token) -> Value:
        """Return one part of a record."""
        if isinstance(value, Unknown):
            return value
        if not isinstance(value, RecordValue):
            raise ValueTrouble(f"{at.text} has no parts", "a record")
        if name not in value.parts:
            self.check_part(value.kind, name, at)
            return Unknown(f"{name} of {at.text} has no value", (f"{at.text}.{name}",))
        return value.parts[name]

    def check_part(self, kind: str, name: str, at: Token) -> None:
        """Refuse a part that records of a type do not have."""
        known = self.parts_of(kind)
        if known and name not in known:
            message = f"{at.text}: a {kind.upper()} has no part {name!r}{meant(name, known)}"
            self.notes.obstacle(message, at, ", ".join(sorted(known)))

    def _record(self, node: tree.RecordOf) -> Value:
        parts: dict[str, Any] = {}
        for name, value in node.parts:
            if name.key in parts:
                self.notes.obstacle(f"{name.text} is given twice", name, "each component once")
            parts[name.key] = self.value(value)
        return RecordValue(node.kind, parts, node.at)

    def _call(self, node: tree.FunctionCall) -> Value:
        routine = self.routine(node.at.key)
        if routine is None:
            made = self.function(node)
            if made is not NotImplemented:
                return made
            if not self.elsewhere(node.at.key) or (routine := self.routine(node.at.key)) is None:
                known = [*self.functions, *(key for module in self.modules for key in module.routines)]
                said = f"function {node.at.text!r} is in none of the files{meant(node.at.key, known)}"
                self.lacking(node, said)
                return Unknown(said, (node.at.text,))
        return self.call(routine, node.arguments, node.at)

    def _unary(self, node: tree.Unary) -> Value:
        return self.signed(node.sign, self.value(node.operand))

    def signed(self, sign: str, value: Value) -> Value:
        """Return ``-x``, ``+x`` or ``not x``."""
        if isinstance(value, Unknown):
            return combined(value, guess=lambda: self.signed(sign, value.guess))
        if sign == "not":
            return not truth_of(value)
        return -number_of(value) if sign == "-" else number_of(value)

    def _binary(self, node: tree.Binary) -> Value:
        left = self.value(node.left)
        sign = node.sign
        if sign in ("and", "or") and isinstance(left, bool) and left == (sign == "or"):
            return left
        right = self.value(node.right)
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            if sign in ("and", "or") and isinstance(right, bool) and right == (sign == "or"):
                return right
            return combined(left, right, guess=lambda: self.joined(sign, guessed(left), guessed(right)))
        return self.joined(sign, left, right)

    def joined(self, sign: str, left: Value, right: Value) -> Value:
        """Return ``left sign right`` of known values."""
        if type(left) is float and type(right) is float:
            if sign == "+":
                return left + right
            if sign == "-":
                return left - right
            if sign == "*":
                return left * right
        if sign in COMPARE:
            return compared(sign, left, right)
        if sign in ("and", "or", "xor", "exor"):
            a, b = truth_of(left), truth_of(right)
            return (a and b) if sign == "and" else (a or b) if sign == "or" else a != b
        return self.arithmetic(sign, left, right)

    def arithmetic(self, sign: str, left: Value, right: Value) -> Value:
        """Return a sum, product or quotient; languages differ in quotients of whole numbers."""
        if not (is_number(left) and is_number(right)):
            raise ValueTrouble(f"'{sign}' needs numbers", "a number on either side")
        number_of(left), number_of(right)
        if sign == "+":
            return left + right
        if sign == "-":
            return left - right
        if sign == "*":
            return left * right
        if right == 0:
            raise ValueTrouble("division by zero", "a divisor that is not 0")
        return self.quotient(sign, left, right)

    def quotient(self, sign: str, left: Value, right: Value) -> Value:
        """Return ``left / right`` and its like; `right` is not 0."""
        return left / right
