# SPDX-License-Identifier: Apache-2.0
"""Exact derivatives of traced expressions, forward and reverse. They grow in the same graph, so terms are shared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import TraceError
from armwright.graph.array import sign, traced, where
from armwright.graph.expr import Expr, Graph
from armwright.graph.ops import BOOLEAN, Op

if TYPE_CHECKING:
    from armwright.types import Symbolic


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """A factor that is 1 where `condition` has the truth `value`, and 0 elsewhere.

    It is not a number: 0·∞ is not 0, and the alternative that was not chosen may well be infinite.
    """

    condition: Expr
    value: bool

    def __mul__(self, tangent: Expr) -> Expr:
        """Return the tangent where the gate is open, 0 elsewhere."""
        chosen: Expr = where(self.condition, tangent, 0.0) if self.value else where(self.condition, 0.0, tangent)
        return chosen


def partials(x: Expr) -> list[tuple[int, Any]]:
    """Return (operand node, ∂x/∂operand) for every operand of x that carries a derivative; choices give a `Gate`."""
    graph, op = x.graph, x.op
    args = graph.args[x.index]
    if not args or op in BOOLEAN or op is Op.FLOOR:
        return []
    a = x.operands[0]
    b = x.operands[1] if len(args) > 1 else a
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
            values = [Gate(a <= b, True), Gate(a <= b, False)]
        case Op.MAX:
            values = [Gate(a >= b, True), Gate(a >= b, False)]
        case Op.SELECT:
            return [(args[1], Gate(a, True)), (args[2], Gate(a, False))]
        case _:
            raise TraceError(f"no derivative is known for {op.name.lower()}")
    return list(zip(args, values, strict=True))


def _gated(tangent: Expr) -> bool:
    return tangent.op is Op.SELECT and (tangent.operands[1].is_zero or tangent.operands[2].is_zero)


def _scaled(factor: Symbolic, tangent: Expr) -> Expr:
    """Return factor·tangent; behind a closed gate 0, whatever the factor is."""
    if isinstance(factor, float) and factor == 1.0:
        return tangent
    if _gated(tangent) and not isinstance(factor, Gate):
        open_when_true = tangent.operands[2].is_zero
        inner = _scaled(factor, tangent.operands[1 if open_when_true else 2])
        return Gate(tangent.operands[0], open_when_true) * inner
    product: Expr = factor * tangent
    return product


def _sum(x: Expr, y: Expr) -> Expr:
    """Return x + y; two values behind gates of one condition stay behind it."""
    total: Expr
    if _gated(x) and _gated(y) and x.operands[0].index == y.operands[0].index:
        total = where(x.operands[0], x.operands[1] + y.operands[1], x.operands[2] + y.operands[2])
    else:
        total = x + y
    return total


def _cone(graph: Graph, roots: list[int], held: frozenset[int]) -> list[int]:
    """Return the nodes that `roots` depend on without passing through `held`, in topological order."""
    live: set[int] = set()
    stack = list(roots)
    while stack:
        index = stack.pop()
        if index not in live and index not in held:
            live.add(index)
            stack.extend(graph.args[index])
    return sorted(live)


def derivative_matrix(outputs: Symbolic, wrt: Symbolic, *, mode: str = "auto", held: Symbolic = ()) -> Symbolic:
    """Return ∂outputs/∂wrt with shape ``outputs.shape + wrt.shape``.

    Args:
        outputs: traced array or scalar.
        wrt: traced array or scalar of *inputs or intermediate values* of the same graph.
        mode: "forward" (one sweep per element of `wrt`), "reverse" (one per output), "auto" (the fewer sweeps).
        held: intermediate values that count as constants (partial derivatives).

    >>> M = aw.compile(lambda q: derivative_matrix(np.sin(q), q), shapes={"q": 2})  # diag(cos q)
    """
    y, x = np.asarray(outputs, dtype=object), np.asarray(wrt, dtype=object)
    targets = list(x.ravel())
    graph = next((e.graph for e in targets if isinstance(e, Expr)), None)
    if graph is None or not all(isinstance(e, Expr) and not e.is_constant for e in targets):
        raise TraceError("jacobian: `wrt` must hold traced values only, no constants")
    roots = [e.as_number() if isinstance(e, Expr) else graph.constant(float(e)) for e in y.ravel()]
    if mode not in ("auto", "forward", "reverse"):
        raise TraceError(f"jacobian: mode must be 'auto', 'forward' or 'reverse', got {mode!r}")
    if mode == "auto":
        mode = "reverse" if len(roots) < len(targets) // 2 else "forward"
    constant = frozenset(e.index for e in np.asarray(held, dtype=object).ravel() if isinstance(e, Expr))
    sweep = _reverse if mode == "reverse" else _forward
    rows = sweep(graph, roots, targets, constant)
    return traced(np.array(rows, dtype=object).reshape(y.shape + x.shape))


def _forward(graph: Graph, roots: list[Expr], targets: list[Expr], held: frozenset[int]) -> list[list[Expr]]:
    order = _cone(graph, [root.index for root in roots], held)
    derivative = {k: partials(graph.nodes[k]) for k in order}
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
                tangent[k] = terms[0] if len(terms) == 1 else _sum(terms[0], terms[1])
        columns.append([tangent.get(root.index, zero) for root in roots])
    return [[column[row] for column in columns] for row in range(len(roots))]


def _reverse(graph: Graph, roots: list[Expr], targets: list[Expr], held: frozenset[int]) -> list[list[Expr]]:
    zero = graph.constant(0.0)
    rows = []
    for root in roots:
        adjoint: dict[int, Expr] = {root.index: graph.constant(1.0)}
        for k in reversed(_cone(graph, [root.index], held)):
            if k not in adjoint:
                continue
            for a, factor in partials(graph.nodes[k]):
                term = _scaled(factor, adjoint[k])
                if not term.is_zero:
                    adjoint[a] = _sum(adjoint[a], term) if a in adjoint else term
        rows.append([adjoint.get(target.index, zero) for target in targets])
    return rows
