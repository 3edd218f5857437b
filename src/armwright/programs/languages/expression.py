# SPDX-License-Identifier: Apache-2.0
"""Expressions, loops and branches of program texts, evaluated while reading, never by ``eval``.

Arithmetic and comparisons on literals and constants, by recursive descent:

    either     = both {"or" both}              both = comparison {"and" comparison}
    comparison = ["not"] sum [("<"|">"|…) sum]
    sum        = term {("+"|"-") term}         term = sign {("*"|"/") sign}
    sign       = {"+"|"-"} atom                atom = number | "(" either ")" | name | what the language adds

Loops and branches whose course is known from the text alone are carried out at once (`repeat`, `Blocks`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armwright.programs.languages.program_draft import Draft
from armwright.syntax.scanner import Cursor, Token

LARGEST_PROGRAM_NUMBER = 1e12
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "=": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
}


@dataclass
class Scope:
    """Meaning of names in an expression.

    Attributes:
        values: variables and constants by key; numbers, truth values, and what the language adds (poses, lists).
        atom: reads what only this language has (an aggregate, a call) and returns it; None if it does not begin here.
        inputs: beginnings of names that stand for the state of a running cell; these are refused.
        what: how an undeclared name is called in messages.
    """

    values: dict[str, Any] = field(default_factory=dict)
    atom: Callable[[Cursor], Any] = lambda _: None
    inputs: tuple[str, ...] = ()
    what: str = "constant"


def number(cursor: Cursor, scope: Scope, what: str = "a number") -> float:
    """Read a sum whose value is one finite number."""
    first = cursor.word
    return finite(cursor, _sum(cursor, scope, what), what, first)


def finite(cursor: Cursor, value: object, what: str, at: Token) -> float:
    """Return `value` if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, float):
        cursor.fail(f"expected {what}", at=at, valid="a number")
    if not abs(value) <= LARGEST_PROGRAM_NUMBER:  # NaN included
        cursor.fail(
            f"{what}: {value:g} is beyond all numbers of a program", at=at, valid=f"at most {LARGEST_PROGRAM_NUMBER:g}"
        )
    return value


def evaluate(cursor: Cursor, scope: Scope, what: str = "a value") -> object:
    """Read any expression."""
    cursor.deeper()
    value = _both(cursor, scope, what)
    while word := cursor.accept("or"):
        right = _truth(cursor, _both(cursor, scope, what), word)
        value = _truth(cursor, value, word) or right
    cursor.higher()
    return value


def condition(cursor: Cursor, scope: Scope) -> bool:
    """Read an expression that is true or false."""
    first = cursor.word
    return _truth(cursor, evaluate(cursor, scope, "a condition"), first)


def _truth(cursor: Cursor, value: object, at: Token) -> bool:
    if not isinstance(value, bool):
        cursor.fail("a condition must be true or false", at=at, valid="a comparison of known numbers, or a truth value")
    return value


def _both(cursor: Cursor, scope: Scope, what: str) -> object:
    value = _comparison(cursor, scope, what)
    while word := cursor.accept("and"):
        right = _truth(cursor, _comparison(cursor, scope, what), word)
        value = _truth(cursor, value, word) and right
    return value


def _comparison(cursor: Cursor, scope: Scope, what: str) -> object:
    negations = 0
    while cursor.accept("not"):
        negations += 1
    first = cursor.word
    value = _sum(cursor, scope, what)
    if sign := cursor.accept(*COMPARISONS):
        right = _sum(cursor, scope, what)
        if not isinstance(value, float) or not isinstance(right, float):
            cursor.fail("only numbers are compared", at=sign, valid="a number on either side")
        value = bool(COMPARISONS[sign.key](value, right))
    if negations:
        return _truth(cursor, value, first) ^ bool(negations % 2)
    return value


def _sum(cursor: Cursor, scope: Scope, what: str) -> object:
    cursor.deeper()
    value = _term(cursor, scope, what)
    while sign := cursor.accept("+", "-"):
        left, right = _pair(cursor, sign, value, _term(cursor, scope, what))
        value = left + right if sign.key == "+" else left - right
    cursor.higher()
    return value


def _term(cursor: Cursor, scope: Scope, what: str) -> object:
    value = _sign(cursor, scope, what)
    while sign := cursor.accept("*", "/"):
        left, right = _pair(cursor, sign, value, _sign(cursor, scope, what))
        if sign.key == "/" and right == 0.0:
            cursor.fail("division by zero", at=sign, valid="a divisor that is not 0")
        value = left * right if sign.key == "*" else left / right
    return value


def _pair(cursor: Cursor, sign: Token, left: object, right: object) -> tuple[float, float]:
    return finite(cursor, left, "a number before the sign", sign), finite(cursor, right, "a number behind it", sign)


def _sign(cursor: Cursor, scope: Scope, what: str) -> object:
    first, negative = cursor.word, False
    while sign := cursor.accept("+", "-"):
        negative ^= sign.key == "-"
    value = _atom(cursor, scope, what)
    return -finite(cursor, value, what, first) if negative else value


def _atom(cursor: Cursor, scope: Scope, what: str) -> object:
    word = cursor.word
    if word.kind == "number":
        cursor.take()
        return float(word.text)
    own = scope.atom(cursor)
    if own is not None:
        return own
    if cursor.accept("("):
        value = evaluate(cursor, scope, what)
        cursor.expect(")")
        return value
    if word.kind == "string":
        return cursor.take().key
    if word.kind == "name":
        if word.key in ("true", "false"):
            cursor.take()
            return word.key == "true"
        if word.key in scope.values:
            return scope.values[cursor.take().key]
        if word.key.startswith(scope.inputs or "\n"):
            cursor.fail(
                f"{word.text!r} is only known while the cell runs; what depends on it cannot be checked beforehand",
                valid="numbers and constants of the program",
            )
        cursor.unknown(f"expected {what}; {scope.what} {word.text!r} is not declared", ["a number", *scope.values])
    cursor.fail(f"expected {what}", valid="a number, a declared name or '('")


def tuple_of(cursor: Cursor, count: int | None, scope: Scope, what: str, brackets: str = "()") -> list[float]:
    """Read ``(a, b, …)`` of `count` numbers (any number if None)."""
    opening = cursor.expect(brackets[0])
    values = [number(cursor, scope, what)]
    while cursor.accept(","):
        values.append(number(cursor, scope, what))
    if not cursor.accept(brackets[1]):
        cursor.expect(",", brackets[1])
    if count is not None and len(values) != count:
        cursor.fail(f"{len(values)} numbers given, {count} needed", at=opening, valid=f"{count} numbers: {what} each")
    return values


@dataclass(frozen=True)
class Blocks:
    """Words that open a block of statements and words that close one."""

    openers: tuple[str, ...]
    closers: tuple[str, ...]
    lines: bool = True  # they open a block only at the beginning of a line

    def skip(self, cursor: Cursor, opening: Token, *wanted: str) -> None:
        """Go to the next of `wanted` on this level, without taking it."""
        depth = 0
        while not (depth == 0 and cursor.at(*wanted)):
            if cursor.word.kind == "end":
                cursor.fail(
                    f"the block that begins here is never closed by {wanted[-1]!r}",
                    at=opening,
                    valid=f"{wanted[-1]!r} at the end of the block",
                )
            begins = not self.lines or cursor.words[cursor.index - 1].kind == "newline"
            if begins and cursor.at(*self.openers):
                depth += 1
            elif cursor.at(*self.closers):
                depth -= 1
            cursor.take()


class BreakLoop(Exception):  # noqa: N818 - not an error: the loop around it ends
    """The statement that leaves a loop was reached."""


def repeat(
    draft: Draft,
    opening: Token,
    state: dict[str, Any],
    test: Callable[[], bool],
    body: Callable[[], None],
    leave: Callable[[], None],
) -> None:
    """Carry out a loop.

    Args:
        draft: counts the steps.
        opening: the word that opens the loop.
        state: the variables; a pass that changes none of them would repeat for ever.
        test: reads the condition (called with the cursor after `opening`) and returns whether the body runs.
        body: carries out the statements up to the closing word, not taking it.
        leave: moves from anywhere inside the body to after the closing word.
    """
    cursor = draft.cursor
    start, depth = cursor.index, cursor.depth
    while True:
        cursor.index = start
        before = dict(state)
        cursor.count(len(before))
        draft.step(opening)
        if not test():
            break
        inside = cursor.index
        try:
            body()
        except BreakLoop:
            cursor.index, cursor.depth = inside, depth
            break
        if state.keys() == before.keys() and all(_same(state[name], value, cursor) for name, value in before.items()):
            cursor.fail(
                "endless loop: nothing that its condition depends on changes",
                at=opening,
                valid="a loop with a known number of passes",
            )
    leave()


def _same(a: object, b: object, cursor: Cursor) -> bool:
    cursor.count()  # lists of lists of the same list have more places than memory
    if isinstance(a, list) and isinstance(b, list):
        cursor.deeper()
        same = a is b or (len(a) == len(b) and all(_same(x, y, cursor) for x, y in zip(a, b, strict=True)))
        cursor.higher()
        return same
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    return type(a) is type(b) and bool(a == b)
