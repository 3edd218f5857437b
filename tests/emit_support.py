"""Random programs and a plain interpreter: what the tests of tape and emitters compare with."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from armwright.graph.expr import Graph, NaiveGraph
from armwright.graph.ops import BOOLEAN, MEANING, Op
from armwright.graph.program import Program, Signal, finish

INPUTS = (Signal("q", (3,)), Signal("T", (2, 2)), Signal("x", ()))
SIZES = [signal.size for signal in INPUTS]
SAMPLES = np.random.default_rng(7).uniform(-2.0, 2.0, (6, sum(SIZES)))
CONSTANTS = (0.5, -0.75, 2.0, 1.0, -1e-5, math.pi, 0.1)
ARITY = {
    **dict.fromkeys((Op.NEG, Op.SIN, Op.COS, Op.SQRT, Op.ABS, Op.EXP, Op.LOG, Op.TANH, Op.FLOOR, Op.NOT), 1),
    Op.SELECT: 3,
}


def split(rows):
    """Cut (N, all sizes) into one (N, size) array per input."""
    return [np.ascontiguousarray(part) for part in np.split(rows, np.cumsum(SIZES)[:-1], axis=-1)]


def interpret(program: Program, inputs) -> list[np.ndarray]:
    """Evaluate row by row with the meanings of the operations alone."""
    outputs = [np.empty((len(inputs[0]), signal.size)) for signal in program.outputs]
    for row in range(len(inputs[0])):
        values = []
        for op, args, value in program.nodes:
            if op is Op.CONST:
                values.append(value)
            elif op is Op.INPUT:
                values.append(float(inputs[value[0]][row, value[1]]))
            else:
                values.append(MEANING[op](*(values[a] for a in args)))
        for result, out in zip(program.results, outputs, strict=True):
            out[row] = [values[k] for k in result]
    return outputs


def _harmless(op, columns, values):
    """Whether a step stays finite, moderate, and away from jumps that rounding could cross."""
    if not all(math.isfinite(v) and abs(v) < 1e3 for v in values):
        return False
    if op in (Op.LT, Op.LE, Op.EQ, Op.MIN, Op.MAX):
        return all(a == b or abs(a - b) > 1e-6 for a, b in zip(*columns, strict=True))
    if op in (Op.SQRT, Op.LOG):
        return all(a > 1e-3 for a in columns[0])
    if op is Op.DIV:
        return all(abs(b) > 1e-2 for b in columns[1])
    if op is Op.ATAN2:
        return all(abs(a) > 1e-3 for a in columns[0])
    return op is not Op.FLOOR or all(abs(a - round(a)) > 1e-6 for a in columns[0])


@st.composite
def programs(draw) -> Program:
    """Random programs over every operation, with folding or as written; every node is finite on SAMPLES."""
    graph = NaiveGraph() if draw(st.booleans()) else Graph()
    numbers, truths, values = [], [], {}

    def note(expr, column):
        pool = truths if expr.is_boolean else numbers
        pool.append(expr)
        values[expr.index] = column

    for value in CONSTANTS:
        note(graph.constant(value), [value] * len(SAMPLES))
    flat = 0
    for s, size in enumerate(SIZES):
        for e in range(size):
            note(graph.input(s, e), [float(v) for v in SAMPLES[:, flat]])
            flat += 1
    steps = draw(
        st.lists(st.tuples(st.sampled_from(list(Op)[2:]), *[st.integers(0, 10**6)] * 3), min_size=5, max_size=60)
    )
    for op, *picks in steps:
        arity = ARITY.get(op, 2)
        pools = [
            truths if op in (Op.AND, Op.OR, Op.NOT) or (op is Op.SELECT and k == 0) else numbers for k in range(arity)
        ]
        if not all(pools):
            continue
        # recent values are preferred, else nothing gets deep
        operands = [pool[-1 - pick % min(len(pool), 12)] for pool, pick in zip(pools, picks, strict=False)]
        columns = [values[x.index] for x in operands]
        try:
            column = [MEANING[op](*row) for row in zip(*columns, strict=True)]
        except (OverflowError, ValueError):
            continue
        if op not in BOOLEAN and not _harmless(op, columns, column):
            continue
        if op in (Op.LT, Op.LE, Op.EQ) and not _harmless(op, columns, [0.0]):
            continue
        build = {
            Op.ADD: graph.add, Op.SUB: graph.subtract, Op.MUL: graph.multiply, Op.DIV: graph.divide,
            Op.NEG: graph.negate, Op.SIN: graph.sine, Op.COS: graph.cosine, Op.SELECT: graph.select,
        }.get(op)  # fmt: skip
        expr = build(*operands) if build else graph.apply(op, *operands)
        note(expr, column)
    last = numbers[-4:]
    outputs = [
        ("tau", np.array(last[:3], dtype=object)),
        ("E", last[3]),
        ("grid", np.array([last[::-1][:2]], dtype=object)),
    ]
    return finish(graph, "law", INPUTS, outputs, single=False)
