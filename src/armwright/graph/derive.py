"""Exact derivatives of traced expressions, forward and reverse. They grow in the same graph, so terms are shared."""

from __future__ import annotations

from typing import Any

import numpy as np

from armwright.errors import TraceError
from armwright.graph.array import sign, traced, where
from armwright.graph.expr import Expr, Graph
from armwright.graph.ops import BOOLEAN, Op


def partials(x: Expr) -> list[tuple[int, Any]]:
    """Return (operand node, ∂x/∂operand) for every operand of x that carries a derivative."""
    graph, op = x.graph, x.op
    args = graph.args[x.index]
    if not args or op in BOOLEAN or op is Op.FLOOR:
        return []
    a = x.operand(0)
    b = x.operand(1) if len(args) > 1 else a
    match op:
        case Op.ADD:
            values: list[Any] = [1.0, 1.0]
        case Op.SUB:
            values = [1.0, -1.0]
        case Op.NEG:
            values = [-1.0]
        case Op.MUL:
            values = [b, a]
        case Op.DIV:
            values = [1.0 / b, -(x / b)]
        case Op.SIN:
            values = [graph.cosine(a)]
        case Op.COS:
            values = [-graph.sine(a)]
        case Op.SQRT:
            values = [0.5 / x]
        case Op.ABS:
            values = [sign(a)]
        case Op.EXP:
            values = [x]
        case Op.LOG:
            values = [1.0 / a]
        case Op.TANH:
            values = [1.0 - x * x]
        case Op.ATAN2:
            square = a * a + b * b
            values = [b / square, -(a / square)]
        case Op.MIN:
            values = [where(a <= b, 1.0, 0.0), where(a <= b, 0.0, 1.0)]
        case Op.MAX:
            values = [where(a >= b, 1.0, 0.0), where(a >= b, 0.0, 1.0)]
        case Op.SELECT:
            return [(args[1], where(a, 1.0, 0.0)), (args[2], where(a, 0.0, 1.0))]
        case _:
            raise TraceError(f"no derivative is known for {op.name.lower()}")
    return list(zip(args, values, strict=True))


def _scaled(factor: Any, tangent: Expr) -> Expr:
    return tangent if isinstance(factor, float) and factor == 1.0 else factor * tangent


def _cone(graph: Graph, roots: list[int]) -> list[int]:
    """Nodes that `roots` depend on, in topological order."""
    live: set[int] = set()
    stack = list(roots)
    while stack:
        index = stack.pop()
        if index not in live:
            live.add(index)
            stack.extend(graph.args[index])
    return sorted(live)


def jacobian(outputs: Any, wrt: Any, *, mode: str = "auto") -> Any:
    """Return ∂outputs/∂wrt with shape ``outputs.shape + wrt.shape``.

    Args:
        outputs: traced array or scalar.
        wrt: traced array or scalar of *inputs or intermediate values* of the same graph.
        mode: "forward" (one sweep per element of `wrt`), "reverse" (one per output), "auto" (the fewer sweeps).
    """
    y, x = np.asarray(outputs, dtype=object), np.asarray(wrt, dtype=object)
    targets = [element for element in x.ravel()]
    graph = next((e.graph for e in targets if isinstance(e, Expr)), None)
    if graph is None:
        raise TraceError("jacobian: `wrt` holds no traced value")
    roots = [e.as_number() if isinstance(e, Expr) else graph.constant(float(e)) for e in y.ravel()]
    if mode not in ("auto", "forward", "reverse"):
        raise TraceError(f"jacobian: mode must be 'auto', 'forward' or 'reverse', got {mode!r}")
    if mode == "auto":
        mode = "reverse" if len(roots) < len(targets) // 2 else "forward"
    rows = _reverse(graph, roots, targets) if mode == "reverse" else _forward(graph, roots, targets)
    return traced(np.array(rows, dtype=object).reshape(y.shape + x.shape))


def _forward(graph: Graph, roots: list[Expr], targets: list[Expr]) -> list[list[Expr]]:
    order = _cone(graph, [root.index for root in roots])
    derivative = {k: partials(Expr(graph, k)) for k in order}
    zero = graph.constant(0.0)
    columns = []
    for target in targets:
        tangent: dict[int, Expr] = {target.index: graph.constant(1.0)}
        for k in order:
            if k in tangent:
                continue
            terms = [_scaled(factor, tangent[a]) for a, factor in derivative[k] if a in tangent]
            terms = [term for term in terms if not term.is_zero]
            if terms:
                tangent[k] = terms[0] if len(terms) == 1 else terms[0] + terms[1]
        columns.append([tangent.get(root.index, zero) for root in roots])
    return [[column[row] for column in columns] for row in range(len(roots))]


def _reverse(graph: Graph, roots: list[Expr], targets: list[Expr]) -> list[list[Expr]]:
    zero = graph.constant(0.0)
    rows = []
    for root in roots:
        adjoint: dict[int, Expr] = {root.index: graph.constant(1.0)}
        for k in reversed(_cone(graph, [root.index])):
            if k not in adjoint:
                continue
            for a, factor in partials(Expr(graph, k)):
                term = _scaled(factor, adjoint[k])
                if not term.is_zero:
                    adjoint[a] = adjoint[a] + term if a in adjoint else term
        rows.append([adjoint.get(target.index, zero) for target in targets])
    return rows
