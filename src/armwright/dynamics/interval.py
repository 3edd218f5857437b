# SPDX-License-Identifier: Apache-2.0
"""Interval arithmetic on a traced program: ranges of all outputs over boxes of inputs, as a compiled kernel.

Every node becomes two: its least and its largest value. The result is a graph again, so it is compiled and runs over
many boxes at once. Rounding is not directed; ranges are widened by a proved bound on it instead: `rounding_bound` is a
running error analysis over a whole domain. With |x| ≤ X and an error of at most e per operand, a sum errs by
e_a + e_b + u·|a + b| and a product by e_a·|b| + e_b·|a| + e_a·e_b + u·|a b|, u the unit roundoff. A sine errs by its
argument's error and 4 units of its own. The bound holds for every order of evaluation with at most one rounding per
operation, fused ones included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armwright.errors import NotSupportedError
from armwright.graph.kernel import Kernel, compile_function
from armwright.graph.ops import Op
from armwright.graph.traced_program import Node, TracedProgram

if TYPE_CHECKING:
    from armwright.types import Traced

UNIT = 2.0**-53
SINE_UNITS = 4.0


def rounding_bound(program: TracedProgram, largest: float) -> NDArray[np.float64]:
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


TURN = 2.0 * np.pi


class Range(NamedTuple):
    """Least and largest value; equal objects for a constant."""

    lo: Any
    hi: Any

    @property
    def point(self) -> bool:
        """Whether the value is a constant number."""
        return isinstance(self.lo, float)


def _times(a: Range, b: Range) -> Range:
    if a.point:
        a, b = b, a
    if b.point:
        return Range(a.lo * b.lo, a.hi * b.lo) if b.lo >= 0.0 else Range(a.hi * b.lo, a.lo * b.lo)
    p, q, r, s = a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi
    return Range(np.minimum(np.minimum(p, q), np.minimum(r, s)), np.maximum(np.maximum(p, q), np.maximum(r, s)))


def _square(a: Range) -> Range:
    if a.point:
        return Range(a.lo * a.lo, a.lo * a.lo)
    near = np.maximum(np.maximum(a.lo, -a.hi), 0.0)
    far = np.maximum(a.hi, -a.lo)
    return Range(near * near, far * far)


def _wave(function: np.ufunc, a: Range, crest: float) -> Range:
    """Range of sin or cos: ±1 where a crest or trough lies inside, else the ends."""
    if a.point:
        value = float(function(a.lo))
        return Range(value, value)
    at_lo, at_hi = function(a.lo), function(a.hi)

    def inside(position: float) -> Traced:
        return np.floor((a.hi - position) / TURN) >= (a.lo - position) / TURN

    top = np.where(inside(crest), 1.0, np.maximum(at_lo, at_hi))
    bottom = np.where(inside(crest - np.pi), -1.0, np.minimum(at_lo, at_hi))
    return Range(bottom, top)


def _range(node: Node, known: list[Range], lo: Traced, hi: Traced) -> Range:
    op, args, value = node
    parts = [known[k] for k in args]
    if op is Op.CONST:
        return Range(float(value), float(value))
    if op is Op.INPUT:
        return Range(lo[value[1]], hi[value[1]])
    if op is Op.MUL:
        return _square(parts[0]) if args[0] == args[1] else _times(*parts)
    if op is Op.ADD:
        return Range(parts[0].lo + parts[1].lo, parts[0].hi + parts[1].hi)
    if op is Op.SUB:
        return Range(parts[0].lo - parts[1].hi, parts[0].hi - parts[1].lo)
    if op is Op.NEG:
        return Range(-parts[0].hi, -parts[0].lo)
    if op is Op.COS:
        return _wave(np.cos, parts[0], 0.0)
    if op is Op.SIN:
        return _wave(np.sin, parts[0], 0.5 * np.pi)
    raise NotSupportedError(
        f"interval arithmetic of {op.name.lower()} is not implemented; known are sums, products, sines and cosines"
    )


class Enclosure:
    """Ranges of a program's outputs over boxes.

    Attributes:
        program: what is enclosed; one input vector of n numbers, outputs flattened to m numbers.
        slack: (m,) rounding error that every range is widened by on both sides.
    """

    def __init__(self, program: TracedProgram, largest: float) -> None:
        """Compile the interval form of `program` for inputs of magnitude at most `largest`."""
        if len(program.inputs) != 1:
            raise NotSupportedError(f"{program.name}: interval arithmetic wants one input vector")
        self.program = program
        # ends of a range take a subtraction more than the program itself: twice its bound covers them amply
        self.slack = 2.0 * rounding_bound(program, largest)
        roots = [k for result in program.results for k in result]
        self._moving = sorted({k for k in roots if program.nodes[k].op is not Op.CONST})
        place = {k: column for column, k in enumerate(self._moving)}
        self._columns = np.array([place.get(k, -1) for k in roots])
        self._constants = np.array([0.0 if k in place else float(program.nodes[k].value) for k in roots])
        size = program.inputs[0].size
        self._kernel: Kernel = compile_function(
            self._ranges, {"lo": (size,), "hi": (size,)}, name=f"{program.name}_range"
        )

    def _ranges(self, lo: Traced, hi: Traced) -> tuple[Traced, Traced]:
        known: list[Range] = []
        for node in self.program.nodes:
            known.append(_range(node, known, lo, hi))
        if not self._moving:
            return np.zeros(1) * lo[0], np.zeros(1) * hi[0]
        return np.stack([known[k].lo for k in self._moving]), np.stack([known[k].hi for k in self._moving])

    @property
    def depends(self) -> NDArray[np.bool_]:
        """Return which outputs (m,) are not constants."""
        return self._columns >= 0

    def __call__(self, lo: NDArray[np.float64], hi: NDArray[np.float64]) -> tuple[Any, Any]:
        """Return centres and radii (N, m) of the outputs' ranges over boxes lo, hi (N, n)."""
        low, high = self._kernel(lo, hi)
        centre, radius = 0.5 * (low + high), 0.5 * (high - low)
        moving = self._columns >= 0
        mid = np.where(moving, centre[:, self._columns], self._constants)
        return mid, np.where(moving, radius[:, self._columns], 0.0) + self.slack
