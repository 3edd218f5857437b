# SPDX-License-Identifier: Apache-2.0
"""A tick in single precision, one rounding per operation: the twin of exported code with `float`.

Constants are rounded once; sine, cosine, exponential and hyperbolic tangent are our own (`own_functions.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.graph.emit.own_functions import FLOAT, strict_exp, strict_sincos, strict_tanh
from armwright.graph.ops import MEANING, Op
from armwright.graph.tick_program import NEXT

if TYPE_CHECKING:
    from armwright.graph.tick_program import TickProgram
    from armwright.types import Array


def _own(function: Callable[[Array], Array]) -> Callable[[np.float32], np.float32]:
    return lambda x: function(np.array([x]))[0]


def _turned(k: int) -> Callable[[np.float32], np.float32]:
    far = (np.sin, np.cos)[k]
    return lambda x: strict_sincos(np.array([x]))[k][0] if abs(x) < FLOAT.far else far(x)


SINGLE: dict[Op, Callable[..., Any]] = MEANING | {
    Op.DIV: lambda a, b: a / b,
    Op.SIN: _turned(0),
    Op.COS: _turned(1),
    Op.SQRT: np.sqrt,
    Op.EXP: _own(strict_exp),
    Op.LOG: np.log,
    Op.TANH: _own(strict_tanh),
    Op.ATAN2: np.arctan2,
    Op.FLOOR: np.floor,
}
"""What each operation means on `numpy.float32`; those of which Python's own keep the type are as in double."""


@np.errstate(all="ignore")
def run_single(program: TickProgram, inputs: Mapping[str, Array], ticks: int) -> dict[str, Any]:
    """Run ticks in single precision; arguments and results as `TickProgram.run`, results float32."""
    p, code = program, program.program
    rows = {name: np.asarray(value, dtype=np.float32).reshape(ticks, -1) for name, value in inputs.items()}
    held: dict[str, Any] = {name: np.ravel(start).astype(np.float32) for name, start in p.starts.items()}
    names = [port.name for port in (*p.inputs, *p.parameters, *p.states)]
    made = {port.name: np.empty((ticks, port.size), dtype=np.float32) for port in p.outputs}
    fixed: list[Any] = [np.float32(node.value) if type(node.value) is float else node.value for node in code.nodes]
    for tick in range(ticks):
        held |= {name: table[tick] for name, table in rows.items()}
        values: list[Any] = []
        for (op, args, _), constant in zip(code.nodes, fixed, strict=True):
            if op is Op.CONST:
                values.append(constant)
            elif op is Op.INPUT:
                values.append(held[names[constant[0]]][constant[1]])
            else:
                values.append(SINGLE[op](*[values[a] for a in args]))
        results = [np.array([values[k] for k in result], dtype=np.float32) for result in code.results]
        for port, result in zip((*p.outputs, *p.states), results, strict=True):
            if port in p.outputs:
                made[port.name][tick] = result
        held |= {port.name: result for port, result in zip(p.states, results[len(p.outputs) :], strict=True)}
    out = {port.name: made[port.name].reshape(ticks, *port.shape) for port in p.outputs}
    return out | {port.name + NEXT: held[port.name].reshape(port.shape) for port in p.states}
