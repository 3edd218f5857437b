# SPDX-License-Identifier: Apache-2.0
"""Expressions of G-code: ``[#1 + 2 * SIN[30]]``, in degrees.

From the strongest sign to the weakest: ``**``, ``* / MOD``, ``+ -``, ``EQ NE GT GE LT LE``, ``AND OR XOR``.
``ATAN[y]/[x]`` is the angle of (x, y).

An expression is a float or a tuple: ``("var", which)``, ``("neg", a)``, ``("bin", sign, a, b)``, ``("fun", name, a)``,
``("atan", y, x)``, ``("exists", name)``. `worked_out` gives its value; `Unknown` parts make it unknown.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable

from armwright.programs.interpreter.program_values import Unknown, Value, ValueTrouble, combined, guessed
from armwright.syntax.program_tree import Node

NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)")
SIGNS = ({"**"}, {"*", "/", "mod"}, {"+", "-"}, {"eq", "ne", "gt", "ge", "lt", "le"}, {"and", "or", "xor"})
SIGN = re.compile(r"\*\*|[-+*/]|(?:mod|eq|ne|gt|ge|lt|le|and|or|xor)(?![a-z]{2})", re.IGNORECASE)
DEEPEST_BRACKETS = 60  # brackets within brackets


class WordTrouble(Exception):  # noqa: N818 - becomes an error with its place
    """A line is not understood from a position on."""

    def __init__(self, message: str, position: int, valid: str) -> None:
        """Keep where, and what would be valid."""
        super().__init__(message)
        self.position, self.valid = position, valid


class ExpressionParser:
    """Reads expressions from a line, from `position` on."""

    def __init__(self, text: str, position: int) -> None:
        """Begin at a position."""
        self.text, self.position, self.depth = text, position, 0

    def peek(self) -> str:
        """Return the next character, or nothing."""
        return self.text[self.position : self.position + 1]

    def blanks(self) -> None:
        """Go over blanks."""
        while self.peek() in (" ", "\t") and self.peek():
            self.position += 1

    def fail(self, message: str, valid: str) -> None:
        """Say that this is no expression."""
        raise WordTrouble(message, self.position, valid)

    def bracket(self) -> Node:
        """Read ``[…]``."""
        self.blanks()
        if self.peek() != "[":
            self.fail("an expression stands in brackets", "[#1 + 2]")
        self.position += 1
        self.depth += 1
        if self.depth > DEEPEST_BRACKETS:
            self.fail(f"more than {DEEPEST_BRACKETS} brackets within each other", "fewer of them")
        found = self.level(len(SIGNS) - 1)
        self.blanks()
        if self.peek() != "]":
            self.fail("an expression that is never closed", "]")
        self.position += 1
        self.depth -= 1
        return found

    def sum(self) -> Node:
        """Read an expression without brackets around it, as Fanuc writes behind ``=``."""
        return self.level(len(SIGNS) - 1)

    def level(self, strength: int) -> Node:
        """Read signs up to a level; all of them group from the left."""
        found = self.value() if strength < 0 else self.level(strength - 1)
        while strength >= 0:
            self.blanks()
            match = SIGN.match(self.text, self.position)
            if match is None or match[0].lower() not in SIGNS[strength]:
                break
            self.position = match.end()
            found = ("bin", match[0].lower(), found, self.level(strength - 1))
        return found

    def variable(self) -> Node:
        """Read ``#1``, ``#<name>``, ``##1``, ``#[…]``."""
        self.position += 1
        self.blanks()
        named = re.compile(r"<([^>\n]*)>").match(self.text, self.position)
        if named:
            self.position = named.end()
            return ("var", f"<{named[1].lower().replace(' ', '')}>")
        return ("var", self.value())

    def value(self) -> Node:
        """Read a number, variable, bracket or function, with its sign."""
        self.blanks()
        self.depth += 1
        if self.depth > DEEPEST_BRACKETS:
            self.fail("too many signs behind each other", "fewer of them")
        try:
            return self._value()
        finally:
            self.depth -= 1

    def _value(self) -> Node:
        sign = self.peek()
        if sign in ("-", "+") and sign:
            self.position += 1
            inner = self.value()
            return inner if sign == "+" else -inner if isinstance(inner, float) else ("neg", inner)
        if sign == "#":
            return self.variable()
        if sign == "[":
            return self.bracket()
        number = NUMBER.match(self.text, self.position)
        if number:
            self.position = number.end()
            return float(number[0])
        name = re.compile(r"[A-Za-z]+").match(self.text, self.position)
        if name is None or name[0].lower() not in FUNCTIONS:
            self.fail("expected a number", "a number, #variable, [expression], or one of " + ", ".join(FUNCTIONS))
        assert name is not None
        word = name[0].lower()
        self.position = name.end()
        if word == "exists":
            inside = re.compile(r"[ \t]*\[[ \t]*#<([^>]*)>[ \t]*\]").match(self.text, self.position)
            if inside is None:
                self.fail("EXISTS asks for a name", "EXISTS[#<name>]")
            assert inside is not None
            self.position = inside.end()
            return ("exists", f"<{inside[1].lower()}>")
        first = self.bracket()
        if word == "atan":
            self.blanks()
            if self.peek() != "/":
                return ("fun", "atan", first)
            self.position += 1
            return ("atan", first, self.bracket())
        return ("fun", word, first)


def _degrees(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda a: math.degrees(function(a))


FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": lambda a: math.sin(math.radians(a)),
    "cos": lambda a: math.cos(math.radians(a)),
    "tan": lambda a: math.tan(math.radians(a)),
    "asin": _degrees(math.asin),
    "acos": _degrees(math.acos),
    "atan": _degrees(math.atan),
    "abs": abs,
    "exp": math.exp,
    "ln": math.log,
    "sqrt": math.sqrt,
    "round": lambda a: float(math.floor(a + 0.5)),
    "fix": lambda a: float(math.floor(a)),
    "fup": lambda a: float(math.ceil(a)),
    "exists": lambda a: a,
}
BINARY: dict[str, Callable[[float, float], float]] = {
    "**": lambda a, b: float(a**b),
    "*": operator.mul,
    "/": operator.truediv,
    "mod": lambda a, b: a - b * math.floor(a / b),
    "+": operator.add,
    "-": operator.sub,
    "eq": lambda a, b: float(a == b),
    "ne": lambda a, b: float(a != b),
    "gt": lambda a, b: float(a > b),
    "ge": lambda a, b: float(a >= b),
    "lt": lambda a, b: float(a < b),
    "le": lambda a, b: float(a <= b),
    "and": lambda a, b: float(bool(a) and bool(b)),
    "or": lambda a, b: float(bool(a) or bool(b)),
    "xor": lambda a, b: float(bool(a) != bool(b)),
}
LARGEST = 1e12  # beyond all numbers of a program


def worked_out(node: Node, look: Callable[[Node], Value], exists: Callable[[str], bool]) -> Value:
    """Return the value of an expression; `look` gives that of a variable, by its number or name.

    Raises:
        ValueTrouble: what numbers do not allow: a division by zero, the root of a negative number.
    """
    if isinstance(node, float):
        return node
    kind = node[0]
    if kind == "var":
        return look(node[1])
    if kind == "exists":
        return float(exists(node[1]))
    parts = [worked_out(part, look, exists) for part in node[(1 if kind in ("neg", "atan") else 2) :]]

    def made(*values: Value) -> float:
        if any(value is None for value in values):
            if kind == "bin" and node[1] in ("eq", "ne"):
                return float((values[0] is values[1]) == (node[1] == "eq"))
            raise ValueTrouble("a variable that was never set", "a variable with a value")
        try:
            if kind == "neg":
                found = -values[0]
            elif kind == "atan":
                found = math.degrees(math.atan2(values[0], values[1]))
            elif kind == "bin":
                found = BINARY[node[1]](*values)
            else:
                found = FUNCTIONS[node[1]](*values)
        except ZeroDivisionError:
            raise ValueTrouble("division by zero", "another number") from None
        except (ValueError, OverflowError, TypeError):
            raise ValueTrouble("a number that this has no answer for", "another number") from None
        if not abs(found) <= LARGEST:
            raise ValueTrouble("beyond all numbers of a program", f"at most {LARGEST:g}")
        return found

    if any(isinstance(part, Unknown) for part in parts):
        return combined(*parts, guess=lambda: made(*(guessed(part) for part in parts)))
    return made(*parts)
