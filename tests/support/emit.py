# SPDX-License-Identifier: Apache-2.0
"""Random programs and a plain interpreter: what the tests of tape and emitters compare with."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

import armwright.graph.array  # noqa: F401 - lets NumPy's functions take expressions
from armwright.graph.expr import Graph, NaiveGraph
from armwright.graph.ops import MEANING, Op
from armwright.graph.traced_program import ProgramSignal, TracedProgram, finish

INPUTS = (ProgramSignal("q", (3,)), ProgramSignal("T", (2, 2)), ProgramSignal("x", ()))
SIZES = [signal.size for signal in INPUTS]
SAMPLES = np.random.default_rng(7).uniform(-2.0, 2.0, (6, sum(SIZES)))
CONSTANTS = (0.5, -0.75, 2.0, 1.0, -1e-5, math.pi, 0.1)
ARITY = {
    **dict.fromkeys((Op.NEG, Op.SIN, Op.COS, Op.SQRT, Op.ABS, Op.EXP, Op.LOG, Op.TANH, Op.FLOOR, Op.NOT), 1),
    Op.SELECT: 3,
}


BUILDERS = {
    Op.ADD: "add",
    Op.SUB: "subtract",
    Op.MUL: "multiply",
    Op.DIV: "divide",
    Op.NEG: "negate",
    Op.SIN: "sine",
    Op.COS: "cosine",
    Op.SELECT: "select",
}
KINDS = st.sampled_from([*list(Op)[2:], Op.LT, Op.LE, Op.AND, Op.OR, Op.SELECT, Op.SELECT])


def split(rows):
    """Cut (N, all sizes) into one (N, size) array per input."""
    return [np.ascontiguousarray(part) for part in np.split(rows, np.cumsum(SIZES)[:-1], axis=-1)]


def interpret(program: TracedProgram, inputs) -> list[np.ndarray]:
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
    """Whether a step stays moderate and away from jumps that rounding could cross."""
    if not all(abs(v) < 1e3 for v in values):
        return False
    if op in (Op.LT, Op.LE, Op.EQ):
        return all(a == b or abs(a - b) > 1e-6 for a, b in zip(*columns, strict=True))
    if op is Op.ATAN2:
        return all(abs(a) > 1e-3 for a in columns[0])
    return op is not Op.FLOOR or all(abs(a - round(a)) > 1e-6 for a in columns[0])


@st.composite
def programs(draw) -> TracedProgram:
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
    steps = draw(st.lists(st.tuples(KINDS, *[st.integers(0, 10**6)] * 3), min_size=25, max_size=70))
    for op, *picks in steps:
        wants = [op in (Op.AND, Op.OR, Op.NOT) or (op is Op.SELECT and k == 0) for k in range(ARITY.get(op, 2))]
        pools = [truths if want else numbers for want in wants]
        if not all(pools):
            continue
        # recent values are preferred, else nothing gets deep
        operands = [pool[-1 - pick % min(len(pool), 12)] for pool, pick in zip(pools, picks, strict=False)]
        columns = [values[x.index] for x in operands]
        if op in (Op.SQRT, Op.LOG, Op.DIV):  # keep away from the edge of the domain
            operands[-1] = abs(operands[-1]) + 0.5
            columns[-1] = [abs(v) + 0.5 for v in columns[-1]]
        elif op is Op.EXP:
            operands, columns = [np.sin(operands[0])], [[math.sin(v) for v in columns[0]]]
        column = [MEANING[op](*row) for row in zip(*columns, strict=True)]
        if not _harmless(op, columns, column):
            continue
        build = BUILDERS.get(op)
        expr = getattr(graph, build)(*operands) if build else graph.apply(op, *operands)
        note(expr, column)
    last = numbers[-12:]
    outputs = [
        ("tau", np.array(last[:3], dtype=object)),
        ("E", last[3]),
        ("grid", np.array([last[4:8], last[8:]], dtype=object)),
    ]
    return finish(graph, "law", INPUTS, outputs, single=False)
