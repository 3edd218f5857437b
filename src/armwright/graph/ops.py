# SPDX-License-Identifier: Apache-2.0
"""The operations of the graph: everything that a traced function can consist of."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import IntEnum


class Op(IntEnum):
    """One scalar operation. Operands are node numbers; CONST and INPUT carry a value instead."""

    CONST = 0
    INPUT = 1
    ADD = 2
    SUB = 3
    MUL = 4
    DIV = 5
    NEG = 6
    SIN = 7
    COS = 8
    SQRT = 9
    ABS = 10
    EXP = 11
    LOG = 12
    TANH = 13
    ATAN2 = 14
    MIN = 15
    MAX = 16
    FLOOR = 17
    LT = 18
    LE = 19
    EQ = 20
    AND = 21
    OR = 22
    NOT = 23
    SELECT = 24


LEAVES = frozenset({Op.CONST, Op.INPUT})
BOOLEAN = frozenset({Op.LT, Op.LE, Op.EQ, Op.AND, Op.OR, Op.NOT})
COMMUTATIVE = frozenset({Op.ADD, Op.MUL, Op.MIN, Op.MAX, Op.EQ, Op.AND, Op.OR})
TRIGONOMETRIC = frozenset({Op.SIN, Op.COS})


def _divide(a: float, b: float) -> float:
    if b == 0.0:
        return math.nan if a == 0.0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


# What each operation means on floats; the one definition that folding and the interpreter share.
MEANING: dict[Op, Callable[..., float | bool]] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.DIV: _divide,
    Op.NEG: lambda a: -a,
    Op.SIN: math.sin,
    Op.COS: math.cos,
    Op.SQRT: lambda a: math.sqrt(a) if a >= 0.0 else math.nan,
    Op.ABS: abs,
    Op.EXP: math.exp,
    Op.LOG: lambda a: math.log(a) if a > 0.0 else (-math.inf if a == 0.0 else math.nan),
    Op.TANH: math.tanh,
    Op.ATAN2: math.atan2,
    Op.MIN: min,
    Op.MAX: max,
    Op.FLOOR: math.floor,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.EQ: lambda a, b: a == b,
    Op.AND: lambda a, b: a and b,
    Op.OR: lambda a, b: a or b,
    Op.NOT: lambda a: not a,
    Op.SELECT: lambda condition, a, b: a if condition else b,
}
