# SPDX-License-Identifier: Apache-2.0
"""Calls of URScript: arguments by place or by name, and the few functions that make values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.programs.languages.cursor import Cursor
from armwright.programs.languages.expression import Scope, evaluate, finite, tuple_of
from armwright.programs.languages.lexer import Token
from armwright.programs.program import Joints, Pose, Target
from armwright.spatial import exp_so3, inverse, pose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.types import Array

JOINTS = 6
MOST_TURNING = 628.0


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call by name, each with the place where it stands."""

    cursor: Cursor
    call: Token
    given: dict[str, tuple[Any, Token]]

    def place(self, name: str) -> Token:
        """Return where the argument stands; the call where it is not given."""
        return self.given[name][1] if name in self.given else self.call

    def value(self, name: str) -> Any:
        """Return an argument that must be there."""
        if name not in self.given:
            self.cursor.fail(f"the call lacks {name!r}", at=self.call, valid=f"{name} = …")
        return self.given[name][0]

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number."""
        if default is not None and name not in self.given:
            return default
        return finite(self.cursor, self.value(name), f"a number for {name!r}", self.place(name))

    def numbers(self, name: str, count: int, default: Sequence[float]) -> list[float]:
        """Return a list of `count` numbers."""
        if name not in self.given:
            return list(default)
        value = self.given[name][0]
        if not isinstance(value, list) or len(value) != count:
            self.cursor.fail(f"{name!r} needs {count} numbers", at=self.place(name), valid=f"[…] of {count} numbers")
        return [finite(self.cursor, item, f"numbers for {name!r}", self.place(name)) for item in value]

    def pose(self, name: str) -> Array:
        """Return a pose (4, 4)."""
        value = self.value(name)
        if not isinstance(value, np.ndarray):
            self.cursor.fail(f"{name!r} needs a pose", at=self.place(name), valid="p[x, y, z, rx, ry, rz]")
        return value

    def target(self, name: str) -> Target:
        """Return a pose or joint angles."""
        value = self.value(name)
        if isinstance(value, np.ndarray):
            return Pose(value)
        if not isinstance(value, list):
            self.cursor.fail(f"{name!r} needs a target", at=self.place(name), valid="p[…] or a list of joint angles")
        if len(value) != JOINTS:
            few = "too few" if len(value) < JOINTS else "too many"
            self.cursor.fail(f"{few} joints: {len(value)}", at=self.place(name), valid=f"{JOINTS} joint angles [rad]")
        return Joints(np.array(self.numbers(name, JOINTS, ())))


def arguments(cursor: Cursor, scope: Scope, names: Sequence[str]) -> Arguments:
    """Read ``(…)``: first by place, then by name; without `names` anything is taken and nothing kept."""
    call = cursor.words[cursor.index - 1]
    cursor.expect("(")
    given: dict[str, tuple[Any, Token]] = {}
    count = 0
    while not cursor.accept(")"):
        if count and not cursor.accept(","):
            cursor.expect(",", ")")
        at = cursor.word
        by_name = at.kind == "name" and cursor.ahead().key == "="
        if by_name:
            cursor.take(), cursor.take()
        elif len(given) < count:
            cursor.fail("an argument by place behind one by name", at=at, valid="name = …")
        name = at.key if by_name else (names[count] if count < len(names) else "")
        value = evaluate(cursor, scope, f"the argument {name}".rstrip())
        count += 1
        if not names:
            given[str(count)] = (value, at)
        elif name not in names:
            what = f"{call.text} has no argument {name!r}" if name else f"{call.text} takes {len(names)} arguments"
            cursor.unknown(what, names, at=at)
        elif name in given:
            cursor.fail(f"{name!r} is given twice", at=at, valid="each argument once")
        else:
            given[name] = (value, at)
    return Arguments(cursor, call, given)


def pose_value(cursor: Cursor, scope: Scope, at: Token) -> Array:
    """Read ``[x, y, z, rx, ry, rz]`` behind ``p``: metres and a rotation vector [rad]."""
    x = tuple_of(cursor, 6, scope, "x, y, z, rx, ry, rz", "[]")
    if max(map(abs, x[3:])) > MOST_TURNING:
        cursor.fail("a rotation vector of more than a hundred turns", at=at, valid="radians, within ±2π mostly")
    T: Array = pose(exp_so3(np.array(x[3:])), np.array(x[:3]))
    return T


def _pose_trans(given: Arguments, word: Token) -> Array:
    T: Array = given.pose("a") @ given.pose("b")
    return T


def _pose_inv(given: Arguments, word: Token) -> Array:
    T: Array = inverse(given.pose("a"))
    return T


FUNCTIONS: dict[str, Callable[[Arguments, Token], Any]] = {
    "d2r": lambda given, word: math.radians(given.number("a")),
    "r2d": lambda given, word: math.degrees(given.number("a")),
    "pose_trans": _pose_trans,
    "pose_inv": _pose_inv,
}
