# SPDX-License-Identifier: Apache-2.0
"""Expressions: a hash-consed scalar graph that folds while it grows.

Equal expressions are one node, constants are computed at once, 0 and ±1 vanish, and signs are pulled outwards so
that ``a − b`` and ``b − a`` share a node. All of it is exact in real arithmetic. `NaiveGraph` shares and folds nothing:
it is the graph of what was written, for counting operations as the documents do. `rebuilt` makes a node again, in
another graph or of other operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from armwright.errors import TraceError
from armwright.graph.ops import BOOLEAN, COMMUTATIVE, MEANING, Op

if TYPE_CHECKING:
    from collections.abc import Callable

    from armwright.types import Symbolic

NUMBER = (int, float, np.integer, np.floating)

Value: TypeAlias = "float | bool | tuple[int, int] | None"
"""What a node carries in addition to its arguments: a constant, or (input number, element)."""


class Graph:
    """Nodes in creation order, which is a topological order."""

    def __init__(self) -> None:
        """Start empty."""
        self.nodes: list[Expr] = []
        self.ops: list[Op] = []
        self.args: list[tuple[int, ...]] = []
        self.values: list[Any] = []
        self.numbers: dict[tuple[Any, ...], int] = {}

    def node(self, op: Op, args: tuple[int, ...] = (), value: Value = None) -> Expr:
        """Return the node for (op, args, value), new only if no equal one exists."""
        key = (op, args, value, value is True or value is False)  # True == 1.0, yet they are different nodes
        index = self.numbers.get(key)
        if index is None:
            index = self.numbers[key] = self.append(op, args, value)
        return self.nodes[index]

    def append(self, op: Op, args: tuple[int, ...], value: Value) -> int:
        """Add a node without looking for an equal one; return its number."""
        index = len(self.ops)
        self.ops.append(op)
        self.args.append(args)
        self.values.append(value)
        self.nodes.append(Expr(self, index, op, tuple(self.nodes[k] for k in args), value))
        return index

    def known(self, op: Op, args: tuple[int, ...]) -> Expr | None:
        """Return the node for (op, args) if it exists already."""
        index = self.numbers.get((op, args, None, False))
        return None if index is None else self.nodes[index]

    def describe(self, node: Expr) -> str:
        """Return what a node is printed as."""
        return f"Expr(#{node.index} {node.op.name.lower()})"

    def constant(self, value: float | bool) -> Expr:
        """Return a constant; −0.0 is stored as 0.0."""
        return self.node(Op.CONST, (), bool(value) if isinstance(value, bool | np.bool_) else float(value) + 0.0)

    def input(self, signal: int, element: int) -> Expr:
        """Return element `element` of input number `signal`."""
        return self.node(Op.INPUT, (), (signal, element))

    def apply(self, op: Op, *operands: Expr) -> Expr:
        """Build an operation without the algebra of add/multiply: fold constants, order commutative operands."""
        args = tuple([x.index for x in operands])
        if operands[0].is_constant and all(x.is_constant for x in operands):
            try:
                return self.constant(MEANING[op](*(x.value for x in operands)))
            except (OverflowError, ValueError):  # Python refuses exp(1e4); the compiled code answers with inf
                return self.node(op, args)
        return self.node(op, tuple(sorted(args)) if op in COMMUTATIVE else args)

    def negate(self, x: Expr) -> Expr:
        """Return −x, with −(−a) = a and −(a − b) = b − a."""
        if x.op is Op.NEG:
            return x.operands[0]
        if x.op is Op.SUB:
            return self.subtract(x.operands[1], x.operands[0])
        return self.apply(Op.NEG, x)

    def add(self, x: Expr, y: Expr) -> Expr:
        """Return x + y; zeros vanish, negated operands turn it into a difference."""
        if x.is_zero:
            return y
        if y.is_zero:
            return x
        if y.op is Op.NEG:
            return self.subtract(x, y.operands[0])
        if x.op is Op.NEG:
            return self.subtract(y, x.operands[0])
        return self.apply(Op.ADD, x, y)

    def subtract(self, x: Expr, y: Expr) -> Expr:
        """Return x − y; a difference known the other way round is negated, not computed again."""
        if x.index == y.index:
            return self.constant(0.0)
        if y.is_zero:
            return x
        if x.is_zero:
            return self.negate(y)
        if y.op is Op.NEG:
            return self.add(x, y.operands[0])
        if x.op is Op.NEG:
            return self.negate(self.add(x.operands[0], y))
        opposite = self.known(Op.SUB, (y.index, x.index))
        if opposite is not None:
            return self.node(Op.NEG, (opposite.index,))
        return self.apply(Op.SUB, x, y)

    def multiply(self, x: Expr, y: Expr) -> Expr:
        """Return x·y; signs go outwards, constants are merged, 0 and ±1 vanish."""
        if y.is_constant:
            x, y = y, x
        if x.is_constant and not y.is_constant:
            value = x.value
            if value == 0.0:
                return x
            if value == 1.0:
                return y
            if value < 0.0:
                return self.negate(self.multiply(self.constant(-value), y))
            if y.op is Op.MUL and y.operands[0].is_constant:
                return self.multiply(self.constant(value * y.operands[0].value), y.operands[1])
            if y.op is Op.MUL and y.operands[1].is_constant:
                return self.multiply(self.constant(value * y.operands[1].value), y.operands[0])
        if x.op is Op.NEG or y.op is Op.NEG:
            flips = (x.op is Op.NEG) + (y.op is Op.NEG)
            product = self.multiply(x.operands[0] if x.op is Op.NEG else x, y.operands[0] if y.op is Op.NEG else y)
            return self.negate(product) if flips == 1 else product
        return self.apply(Op.MUL, x, y)

    def divide(self, x: Expr, y: Expr) -> Expr:
        """Return x/y; a constant divisor becomes a factor."""
        if y.is_constant and y.value != 0.0:
            return self.multiply(x, self.constant(1.0 / y.value))
        if x.is_zero:
            return x
        if x.op is Op.NEG:
            return self.negate(self.divide(x.operands[0], y))
        if y.op is Op.NEG:
            return self.negate(self.divide(x, y.operands[0]))
        return self.apply(Op.DIV, x, y)

    def sine(self, x: Expr) -> Expr:
        """Return sin x, odd."""
        return self.negate(self.sine(x.operands[0])) if x.op is Op.NEG else self.apply(Op.SIN, x)

    def cosine(self, x: Expr) -> Expr:
        """Return cos x, even."""
        return self.cosine(x.operands[0]) if x.op is Op.NEG else self.apply(Op.COS, x)

    def select(self, condition: Expr, x: Expr, y: Expr) -> Expr:
        """Return ``x if condition else y``."""
        if condition.is_constant:
            return x if condition.value else y
        return x if x.index == y.index else self.node(Op.SELECT, (condition.index, x.index, y.index))


class Expr:
    """One scalar of a graph. Arithmetic builds nodes; NumPy functions accept it (see `armwright.graph.array`)."""

    __slots__ = ("graph", "index", "is_boolean", "is_constant", "is_zero", "op", "operands", "value")

    def __init__(self, graph: Graph, index: int, op: Op, operands: tuple[Expr, ...], value: Value) -> None:
        """Describe node `index` of `graph`; made by `Graph.node` only, one object per node.

        `value` is that of a constant, or (signal, element) of an input.
        """
        self.graph = graph
        self.index = index
        self.op = op
        self.operands = operands
        self.value: Any = value  # a float or bool where is_constant
        self.is_constant = op is Op.CONST
        self.is_zero = self.is_constant and value == 0.0
        self.is_boolean = op in BOOLEAN or value is True or value is False

    def lift(self, other: Symbolic) -> Expr:
        """Make `other` a number of the same graph."""
        if isinstance(other, Expr):
            if other.graph is not self.graph:
                raise TraceError("two traced values of different functions were mixed; trace them together")
            return other.as_number() if other.is_boolean else other
        if isinstance(other, (*NUMBER, np.bool_)):
            return self.graph.constant(float(other))
        raise TraceError(f"cannot combine a traced value with {type(other).__name__}; use numbers or NumPy arrays")

    def as_number(self) -> Expr:
        """Turn a truth value into 1.0 or 0.0; leave numbers alone."""
        if not self.is_boolean:
            return self
        return self.graph.select(self, self.graph.constant(1.0), self.graph.constant(0.0))

    def as_truth(self) -> Expr:
        """Turn a number into ``x != 0``; leave truth values alone."""
        if self.is_boolean:
            return self
        return self.graph.apply(Op.NOT, self.graph.apply(Op.EQ, self, self.graph.constant(0.0)))

    def _binary(self, other: Symbolic, build: Callable[[Expr, Expr], Expr], *, swap: bool = False) -> Symbolic:
        if isinstance(other, np.ndarray):
            return NotImplemented  # NumPy broadcasts and comes back element by element
        a, b = self.as_number(), self.lift(other)
        return build(b, a) if swap else build(a, b)

    def __add__(self, other: Symbolic) -> Symbolic:
        return self._binary(other, self.graph.add)

    __radd__ = __add__

    def __sub__(self, other: Symbolic) -> Symbolic:
        return self._binary(other, self.graph.subtract)

    def __rsub__(self, other: Symbolic) -> Symbolic:
        return self._binary(other, self.graph.subtract, swap=True)

    def __mul__(self, other: Symbolic) -> Symbolic:
        return self._binary(other, self.graph.multiply)

    __rmul__ = __mul__

    def __truediv__(self, other: Symbolic) -> Symbolic:
        return self._binary(other, self.graph.divide)

    def __rtruediv__(self, other: Symbolic) -> Symbolic:
        return self._binary(other, self.graph.divide, swap=True)

    def __pow__(self, exponent: Symbolic) -> Symbolic:
        """Integer powers by repeated squaring, 0.5 by sqrt, others through exp and log."""
        if isinstance(exponent, np.ndarray):
            return NotImplemented
        exponent = exponent.value if isinstance(exponent, Expr) and exponent.is_constant else exponent
        if isinstance(exponent, NUMBER) and float(exponent).is_integer() and abs(float(exponent)) <= 64:
            power, base, result = abs(int(exponent)), self.as_number(), None
            while power:
                if power & 1:
                    result = base if result is None else result * base
                base, power = (base * base, power >> 1) if power > 1 else (base, 0)
            result = self.graph.constant(1.0) if result is None else result
            return 1.0 / result if float(exponent) < 0 else result
        if isinstance(exponent, NUMBER) and float(exponent) == 0.5:
            return self.graph.apply(Op.SQRT, self.as_number())
        logarithm = self.graph.apply(Op.LOG, self.as_number())
        return self.graph.apply(Op.EXP, self.graph.multiply(self.lift(exponent), logarithm))

    def __rpow__(self, base: Symbolic) -> Symbolic:
        return self.lift(base) ** self

    def __neg__(self) -> Expr:
        return self.graph.negate(self.as_number())

    def __pos__(self) -> Expr:
        return self.as_number()

    def __abs__(self) -> Expr:
        return self.graph.apply(Op.ABS, self.as_number())

    def _compare(self, other: Symbolic, op: Op, *, swap: bool = False) -> Symbolic:
        return self._binary(other, lambda a, b: self.graph.apply(op, a, b), swap=swap)

    def __lt__(self, other: Symbolic) -> Symbolic:
        return self._compare(other, Op.LT)

    def __le__(self, other: Symbolic) -> Symbolic:
        return self._compare(other, Op.LE)

    def __gt__(self, other: Symbolic) -> Symbolic:
        return self._compare(other, Op.LT, swap=True)

    def __ge__(self, other: Symbolic) -> Symbolic:
        return self._compare(other, Op.LE, swap=True)

    def __eq__(self, other: object) -> Symbolic:
        return self._compare(other, Op.EQ)

    def __ne__(self, other: object) -> Symbolic:
        equal = self._compare(other, Op.EQ)
        return equal if equal is NotImplemented else ~equal

    def __and__(self, other: Symbolic) -> Symbolic:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.graph.apply(Op.AND, self.as_truth(), truth(self.graph, other))

    __rand__ = __and__

    def __or__(self, other: Symbolic) -> Symbolic:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.graph.apply(Op.OR, self.as_truth(), truth(self.graph, other))

    __ror__ = __or__

    def __invert__(self) -> Expr:
        return self.graph.apply(Op.NOT, self.as_truth())

    def __bool__(self) -> bool:
        if self.is_constant:
            return bool(self.value)
        raise TraceError(
            "the code branches on a traced value (if/while/and/or/max/min on an input); "
            "use np.where, np.maximum, np.minimum, & and | instead"
        )

    def __float__(self) -> float:
        if self.is_constant:
            return float(self.value)
        raise TraceError("the code turns a traced value into a float; keep it symbolic (no float(), no math.*)")

    def __hash__(self) -> int:
        return hash((id(self.graph), self.index))

    def __repr__(self) -> str:
        return f"Expr({self.value!r})" if self.is_constant else self.graph.describe(self)


def truth(graph: Graph, value: Symbolic) -> Expr:
    """Make `value` (Expr, bool or number) a truth value of `graph`."""
    return value.as_truth() if isinstance(value, Expr) else graph.constant(bool(value))


class NaiveGraph(Graph):
    """A graph that neither shares nor folds: it counts what the written loops would do."""

    def node(self, op: Op, args: tuple[int, ...] = (), value: Value = None) -> Expr:
        """Append, always (constants and inputs excepted: they are not operations)."""
        if op in (Op.CONST, Op.INPUT):
            return super().node(op, args, value)
        return self.nodes[self.append(op, args, value)]

    def apply(self, op: Op, *operands: Expr) -> Expr:
        """Append the operation as written."""
        return self.node(op, tuple(x.index for x in operands))

    def negate(self, x: Expr) -> Expr:
        """Append the operation as written."""
        return self.apply(Op.NEG, x)

    def add(self, x: Expr, y: Expr) -> Expr:
        """Append the operation as written."""
        return self.apply(Op.ADD, x, y)

    def subtract(self, x: Expr, y: Expr) -> Expr:
        """Append the operation as written."""
        return self.apply(Op.SUB, x, y)

    def multiply(self, x: Expr, y: Expr) -> Expr:
        """Append the operation as written."""
        return self.apply(Op.MUL, x, y)

    def divide(self, x: Expr, y: Expr) -> Expr:
        """Append the operation as written."""
        return self.apply(Op.DIV, x, y)

    def sine(self, x: Expr) -> Expr:
        """Append a sine as written, but once per argument: every hand-written program keeps its sines."""
        return self._once(Op.SIN, x)

    def cosine(self, x: Expr) -> Expr:
        """Append a cosine as written, but once per argument."""
        return self._once(Op.COS, x)

    def _once(self, op: Op, x: Expr) -> Expr:
        key = (op, x.index)
        if key not in self.numbers:
            self.numbers[key] = self.apply(op, x).index
        return self.nodes[self.numbers[key]]


def rebuilt(graph: Graph, op: Op, operands: Sequence[Expr], value: Value) -> Expr:
    """Return the node (op, operands, value) of `graph`, folded as if the code were traced into it."""
    match op:
        case Op.CONST:
            return graph.constant(value)  # type: ignore[arg-type]  # a constant's value is a number
        case Op.INPUT:
            return graph.input(*value)  # type: ignore[misc]  # an input's is a pair
        case Op.ADD:
            return graph.add(*operands)
        case Op.SUB:
            return graph.subtract(*operands)
        case Op.MUL:
            return graph.multiply(*operands)
        case Op.DIV:
            return graph.divide(*operands)
        case Op.NEG:
            return graph.negate(*operands)
        case Op.SIN:
            return graph.sine(*operands)
        case Op.COS:
            return graph.cosine(*operands)
        case Op.SELECT:
            return graph.select(*operands)
    return graph.apply(op, *operands)
