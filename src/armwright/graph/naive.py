# SPDX-License-Identifier: Apache-2.0
"""The graph of what was written: nothing shared, nothing folded. For counting operations as the documents do."""

from __future__ import annotations

from armwright.graph.expr import Expr, Graph, Value
from armwright.graph.ops import Op


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
        """As written."""
        return self.apply(Op.NEG, x)

    def add(self, x: Expr, y: Expr) -> Expr:
        """As written."""
        return self.apply(Op.ADD, x, y)

    def subtract(self, x: Expr, y: Expr) -> Expr:
        """As written."""
        return self.apply(Op.SUB, x, y)

    def multiply(self, x: Expr, y: Expr) -> Expr:
        """As written."""
        return self.apply(Op.MUL, x, y)

    def divide(self, x: Expr, y: Expr) -> Expr:
        """As written."""
        return self.apply(Op.DIV, x, y)

    def sine(self, x: Expr) -> Expr:
        """As written, but one evaluation per argument: every hand-written program keeps its sines."""
        return self._once(Op.SIN, x)

    def cosine(self, x: Expr) -> Expr:
        """As written, one evaluation per argument."""
        return self._once(Op.COS, x)

    def _once(self, op: Op, x: Expr) -> Expr:
        key = (op, x.index)
        if key not in self.numbers:
            self.numbers[key] = self.apply(op, x).index
        return self.nodes[self.numbers[key]]
