# SPDX-License-Identifier: Apache-2.0
"""How far rounding can move the outputs of a program: a running error analysis over a whole domain.

With |x| ≤ X and an error of at most e per operand, a sum errs by e_a + e_b + u·|a + b| and a product by
e_a·|b| + e_b·|a| + e_a·e_b + u·|a b|, u the unit roundoff. A sine errs by its argument's error and 4 units of its own.
The bound holds for every order of evaluation with at most one rounding an operation, fused ones included.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from armwright.errors import NotSupportedError
from armwright.graph.ops import Op
from armwright.graph.program import Program

UNIT = 2.0**-53
SINE_UNITS = 4.0


def rounding_bound(program: Program, largest: float) -> NDArray[np.float64]:
    """Return a bound on the rounding error of every output (m,), for inputs of magnitude at most `largest`."""
    size: list[float] = []
    error: list[float] = []
    for op, args, value in program.nodes:
        x = [size[k] for k in args]
        e = [error[k] for k in args]
        if op is Op.CONST:
            bound, slack = abs(float(value)), 0.0
        elif op is Op.INPUT:
            bound, slack = largest, 0.0
        elif op in (Op.ADD, Op.SUB):
            bound, slack = x[0] + x[1], e[0] + e[1]
        elif op is Op.MUL:
            bound, slack = x[0] * x[1], e[0] * x[1] + e[1] * x[0] + e[0] * e[1]
        elif op is Op.NEG:
            bound, slack = x[0], e[0]
        elif op in (Op.SIN, Op.COS):
            bound, slack = 1.0, e[0] + SINE_UNITS * UNIT
        else:
            raise NotSupportedError(f"no rounding bound is known for {op.name.lower()}")
        rounded = UNIT * (bound + slack) if op not in (Op.CONST, Op.INPUT, Op.NEG) else 0.0
        size.append(bound)
        error.append((slack + rounded) * (1.0 + 1e-12))  # this very sum is rounded too
    return np.array([error[k] for result in program.results for k in result])
