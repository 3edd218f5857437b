# SPDX-License-Identifier: Apache-2.0
"""The form in which a program is written, to be read or to be run: this is the one place that decides.

`readable` collects terms for people, `cheapest` looks for the fewest operations. Both may merge the angles of parallel
axes (`merge_angles`): a recursion over joints writes c₂c₃ − s₂s₃ where a person writes c₂₃, and misses that c₃c₃ + s₃s₃
is 1. The rewriting is exact in real arithmetic. It makes equations shorter; compiled kernels do without it, because a
sine costs more than it saves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from armwright.graph.collect import collect
from armwright.graph.expr import Expr, Graph, rebuilt
from armwright.graph.ops import TRIGONOMETRIC, Op
from armwright.graph.traced_program import Node, TracedProgram, finish

MOST_SUMMANDS = 8  # of a sum that is searched for pairs
MOST_FACTORS = 12  # of a product that is taken apart
SAME_CONSTANT_DIFFERENCE = 1e-14  # constants that differ by rounding only


class NodeProduct(NamedTuple):
    """A product: number times nodes."""

    number: float
    factors: Counter[int]


class Angle(NamedTuple):
    """A combination of nodes with whole-number coefficients, plus a constant."""

    parts: tuple[tuple[int, int], ...]
    constant: float


def merge_angles(program: TracedProgram) -> TracedProgram:
    """Return an equal program in which products of sines and cosines are merged by the addition theorems."""
    return _Merger().run(program)


class _Merger:
    def __init__(self) -> None:
        self.graph = Graph()

    def run(self, program: TracedProgram) -> TracedProgram:
        values: list[Expr] = []
        for node in program.nodes:
            values.append(self.rebuild(node, [values[a] for a in node.args]))
        outputs = []
        for signal, result in zip(program.outputs, program.results, strict=True):
            cells = np.empty(signal.size, dtype=object)
            cells[:] = [values[k] for k in result]
            outputs.append((signal.name, cells.reshape(signal.shape)))
        return finish(self.graph, program.name, program.inputs, outputs, single=program.single)

    def rebuild(self, node: Node, operands: list[Expr]) -> Expr:
        if node.op in (Op.ADD, Op.SUB):
            return self.sum(operands[0], operands[1], node.op)
        if node.op in TRIGONOMETRIC:
            return self.wave(node.op, self.angle(operands[0]))
        return rebuilt(self.graph, node.op, operands, node.value)

    def sum(self, x: Expr, y: Expr, op: Op) -> Expr:
        """Return x ± y, with pairs of terms merged where a theorem fits."""
        left, right = self.terms(x, 1.0), self.terms(y, 1.0 if op is Op.ADD else -1.0)
        found = False
        while pair := next(
            ((i, j, m) for i, a in enumerate(left) for j, b in enumerate(right) if (m := self.merge(a, b)) is not None),
            None,
        ):
            i, j, merged = pair
            del left[i], right[j]
            found = True
            right += [term for term in self.terms(merged, 1.0) if term.number != 0.0]
        if not found:
            return self.graph.add(x, y) if op is Op.ADD else self.graph.subtract(x, y)
        total = self.graph.constant(0.0)
        for term in left + right:
            total = self.graph.add(total, self.product(term))
        return total

    def terms(self, x: Expr, sign: float) -> list[NodeProduct]:
        """Take a sum apart; a long one stays whole."""
        out: list[NodeProduct] = []
        stack = [(x, sign)]
        while stack:
            y, s = stack.pop()
            if y.op in (Op.ADD, Op.SUB) and len(out) + len(stack) < MOST_SUMMANDS:
                stack += [(y.operands[1], s if y.op is Op.ADD else -s), (y.operands[0], s)]
            elif y.op is Op.NEG:
                stack.append((y.operands[0], -s))
            else:
                out.append(self.term(y, s))
        return out

    def term(self, x: Expr, number: float) -> NodeProduct:
        factors: Counter[int] = Counter()
        stack = [x]
        while stack:
            y = stack.pop()
            if y.is_constant:
                number *= y.value
            elif y.op is Op.NEG:
                number = -number
                stack.append(y.operands[0])
            elif y.op is Op.MUL and factors.total() + len(stack) < MOST_FACTORS:
                stack += [y.operands[0], y.operands[1]]
            else:
                factors[y.index] += 1
        return NodeProduct(number, factors)

    def product(self, term: NodeProduct) -> Expr:
        out = self.graph.constant(1.0)
        for k in term.factors.elements():
            out = self.graph.multiply(out, self.graph.nodes[k])
        return self.graph.multiply(self.graph.constant(term.number), out)

    def merge(self, x: NodeProduct, y: NodeProduct) -> Expr | None:
        """Return x + y as one term: like terms, or an addition theorem; None if neither applies."""
        opposite = math.isclose(x.number, -y.number, rel_tol=SAME_CONSTANT_DIFFERENCE)
        if x.factors == y.factors:
            return self.product(NodeProduct(0.0 if opposite else x.number + y.number, x.factors))
        if not (opposite or math.isclose(x.number, y.number, rel_tol=SAME_CONSTANT_DIFFERENCE)):
            return None
        common = x.factors & y.factors
        pairs = [[self.graph.nodes[k] for k in (t.factors - common).elements()] for t in (x, y)]
        if any(len(pair) != 2 or not {e.op for e in pair} <= TRIGONOMETRIC for pair in pairs):
            return None
        (a, b), (c, d) = (sorted(pair, key=lambda e: (e.op, e.operands[0].index)) for pair in pairs)
        angles = [[e.operands[0].index for e in pair] for pair in ((a, b), (c, d))]
        if a.op is not b.op and c.op is not d.op and angles[0] == angles[1][::-1]:  # sin α cos β ± cos α sin β
            number, kind, sign = x.number, Op.SIN, -1 if opposite else 1
        elif a.op is b.op is not c.op is d.op and angles[0] == angles[1]:  # cos α cos β ∓ sin α sin β
            number, kind, sign = (x if a.op is Op.COS else y).number, Op.COS, 1 if opposite else -1
        else:
            return None
        angle = _combine(self.angle(a.operands[0]), self.angle(b.operands[0]), sign)
        if any(abs(c) > 1 for _, c in angle.parts):
            return None  # the sine of twice an angle is one more sine, not a shorter equation
        return self.graph.multiply(self.product(NodeProduct(number, common)), self.wave(kind, angle))

    def angle(self, x: Expr) -> Angle:
        """Write a sum of nodes as a combination; anything else is its own only part."""
        parts: Counter[int] = Counter()
        constant = 0.0
        for term in self.terms(x, 1.0):
            size, whole = term.factors.total(), float(term.number).is_integer() and abs(term.number) < 100
            if size == 0:
                constant += term.number
            elif size == 1 and whole:
                parts[next(iter(term.factors))] += int(term.number)
            else:
                parts[self.product(term).index] += 1
        return _angle(parts, constant)

    def wave(self, kind: Op, angle: Angle) -> Expr:
        """Return the sine or cosine of a combination, of the one of ±angle that starts with a plus."""
        g = self.graph
        coefficients = [c for _, c in angle.parts]
        flip = max(coefficients) < 0 if coefficients else angle.constant < 0.0
        sign = -1 if flip else 1
        total = g.constant(0.0)
        for k, c in sorted(angle.parts, key=lambda part: (part[1] * sign < 0, part[0])):
            total = g.add(total, g.multiply(g.constant(float(c * sign)), g.nodes[k]))
        total = g.add(total, g.constant(angle.constant * sign))
        if kind is Op.COS:
            return g.cosine(total)
        return g.negate(g.sine(total)) if flip else g.sine(total)


def _angle(parts: Counter[int], constant: float) -> Angle:
    return Angle(tuple(sorted((k, c) for k, c in parts.items() if c)), constant)


def _combine(a: Angle, b: Angle, sign: int) -> Angle:
    parts = Counter(dict(a.parts))
    for k, c in b.parts:
        parts[k] += sign * c
    return _angle(parts, a.constant + sign * b.constant)


WORTH_OPERATIONS, SHORT_OPERATIONS = (
    3,
    300,
)  # a collected form may have this many times the operations of one with shared terms, plus this many
TRIG = 15  # multiplications that cost as much as a sine in C


def readable(program: TracedProgram) -> TracedProgram:
    """Return the collected form, or one with merged angles where the collected form is too long to read."""
    collected, merged = collect(program), merge_angles(program)
    if collected is None or collected.counts.flops > WORTH_OPERATIONS * merged.counts.flops + SHORT_OPERATIONS:
        return merged
    return collected


def cheapest(program: TracedProgram, *, multiply_out: bool = False) -> TracedProgram:
    """Return an equal program with the fewest operations that rewriting finds; the program itself if it finds none.

    Args:
        program: what to write.
        multiply_out: also look at the collected form. It is exact in real arithmetic, and as good as the recursions for
            equations of arms; in others, (x − y)² multiplied out may cancel.
    """
    forms = [program, merge_angles(program)]
    collected = collect(program, to_read=False) if multiply_out else None
    return min(forms if collected is None else [*forms, collected], key=cost)


def cost(program: TracedProgram) -> int:
    """Return the number of operations, a sine counted as `TRIG` of them."""
    counts = program.counts
    return counts.flops + counts.other + TRIG * counts.trig


def without_idle(program: TracedProgram, names: Collection[str]) -> TracedProgram:
    """Return the program without those of the named inputs that it does not read."""
    used = {node.value[0] for node in program.nodes if node.op is Op.INPUT}
    kept = [k for k, signal in enumerate(program.inputs) if k in used or signal.name not in names]
    number = {old: new for new, old in enumerate(kept)}
    nodes = tuple(
        node._replace(value=(number[node.value[0]], node.value[1])) if node.op is Op.INPUT else node
        for node in program.nodes
    )
    return replace(program, inputs=tuple(program.inputs[k] for k in kept), nodes=nodes)
