# SPDX-License-Identifier: Apache-2.0
"""Making a node anew, in another graph or of other operands."""

from __future__ import annotations

from collections.abc import Sequence

from armwright.graph.expr import Expr, Graph, Value
from armwright.graph.ops import Op


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
