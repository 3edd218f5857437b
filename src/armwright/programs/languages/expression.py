# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on literals and constants: ``+ - * / ( )``, by recursive descent, never by ``eval``."""

from __future__ import annotations

import math
from collections.abc import Mapping

from armwright.programs.languages.cursor import Cursor
from armwright.programs.languages.lexer import Token


def number(cursor: Cursor, constants: Mapping[str, float], what: str = "a number") -> float:
    """Read an expression of numbers; the result must be finite.

    Grammar: ``sum = term {("+"|"-") term}``, ``term = sign {("*"|"/") sign}``, ``sign = ["+"|"-"] sign | atom``.
    """
    first = cursor.word
    value = _sum(cursor, constants, what)
    if not math.isfinite(value):
        cursor.fail(f"{what}: the result is not a finite number", at=first, valid="a finite number")
    return value


def _sum(cursor: Cursor, constants: Mapping[str, float], what: str) -> float:
    cursor.deeper()
    value = _term(cursor, constants, what)
    while sign := cursor.accept("+", "-"):
        right = _term(cursor, constants, what)
        value = value + right if sign.key == "+" else value - right
    cursor.higher()
    return value


def _term(cursor: Cursor, constants: Mapping[str, float], what: str) -> float:
    value = _sign(cursor, constants, what)
    while sign := cursor.accept("*", "/"):
        right = _sign(cursor, constants, what)
        value = value * right if sign.key == "*" else quotient(cursor, value, right, sign)
    return value


def quotient(cursor: Cursor, value: float, right: float, sign: Token) -> float:
    """Divide; by zero is an error at the sign."""
    if right == 0.0:
        cursor.fail("division by zero", at=sign, valid="a divisor that is not 0")
    return value / right


def _sign(cursor: Cursor, constants: Mapping[str, float], what: str) -> float:
    negative = False
    while sign := cursor.accept("+", "-"):
        negative ^= sign.key == "-"
    value = _atom(cursor, constants, what)
    return -value if negative else value


def _atom(cursor: Cursor, constants: Mapping[str, float], what: str) -> float:
    word = cursor.word
    if word.kind == "number":
        cursor.take()
        return float(word.text)
    if cursor.accept("("):
        value = _sum(cursor, constants, what)
        cursor.expect(")")
        return value
    if word.kind == "name":
        if word.key not in constants:
            cursor.unknown(f"expected {what}; {word.text!r} is no declared constant", ["a number", *constants])
        cursor.take()
        return constants[word.key]
    cursor.fail(f"expected {what}", valid="a number, a declared constant or '('")


def tuple_of(
    cursor: Cursor, count: int | None, constants: Mapping[str, float], what: str, brackets: str = "()"
) -> list[float]:
    """Read ``(a, b, …)`` of `count` numbers (any number if None)."""
    opening = cursor.expect(brackets[0])
    values = [number(cursor, constants, what)]
    while cursor.accept(","):
        values.append(number(cursor, constants, what))
    cursor.expect(",", brackets[1]) if not cursor.at(brackets[1]) else cursor.take()
    if count is not None and len(values) != count:
        cursor.fail(f"{what}: {len(values)} given, {count} needed", at=opening, valid=f"{count} numbers")
    return values
