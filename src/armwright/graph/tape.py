# SPDX-License-Identifier: Apache-2.0
"""The runtime that needs NumPy alone: a program as a list of ufunc calls on rows of a scratch array.

Used where llvmlite has no wheel. Batches are cut into blocks that stay in the processor's cache; a row is reused as
soon as its value is dead. One or two configurations run on Python floats, where a ufunc call would cost more.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from armwright.graph.emit.printing import is_boolean, last_uses
from armwright.graph.ops import MEANING, Op
from armwright.graph.traced_program import TracedProgram
from armwright.types import Array

BLOCK = 2000  # fewer rows cost more in calls, more rows leave the cache
KEPT = 4  # block lengths whose scratch is kept for the next run
FEW = 2  # up to this many configurations floats are faster than rows


def _select(condition: NDArray[np.bool_], a: Array, b: Array, out: Array) -> None:
    np.copyto(out, b)
    np.copyto(out, a, where=condition)


def _minimum(a: Array, b: Array, out: Array) -> None:
    np.minimum(a, b, out=out)  # these two take their output by name


def _maximum(a: Array, b: Array, out: Array) -> None:
    np.maximum(a, b, out=out)


UFUNCS: dict[Op, Callable[..., Any]] = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.DIV: np.divide,
    Op.NEG: np.negative,
    Op.SIN: np.sin,
    Op.COS: np.cos,
    Op.SQRT: np.sqrt,
    Op.ABS: np.absolute,
    Op.EXP: np.exp,
    Op.LOG: np.log,
    Op.TANH: np.tanh,
    Op.ATAN2: np.arctan2,
    Op.MIN: _minimum,
    Op.MAX: _maximum,
    Op.FLOOR: np.floor,
    Op.LT: np.less,
    Op.LE: np.less_equal,
    Op.EQ: np.equal,
    Op.AND: np.logical_and,
    Op.OR: np.logical_or,
    Op.NOT: np.logical_not,
    Op.SELECT: _select,
}
_SCALAR: dict[Op, Callable[..., Any]] = {
    **MEANING,
    Op.ADD: operator.add,
    Op.SUB: operator.sub,
    Op.MUL: operator.mul,
    Op.NEG: operator.neg,
}


class TapeRow(NamedTuple):
    """Where a value lives: a row of the scratch of numbers or of the scratch of truth values."""

    boolean: bool
    number: int


class Instruction(NamedTuple):
    """One ufunc call; operands are rows or constants (zero-dimensional arrays)."""

    function: Callable[..., Any]
    operands: tuple[TapeRow | npt.NDArray[Any], ...]
    target: TapeRow


class TapeFrame(NamedTuple):
    """Scratch for blocks of one length, with every call bound to its rows."""

    numbers: Array
    calls: list[tuple[Callable[..., Any], tuple[Any, ...]]]


class _RowScan:
    """Linear scan: rows in use, and a heap of free ones for each kind."""

    def __init__(self) -> None:
        self.free: dict[bool, list[int]] = {False: [], True: []}
        self.count = {False: 0, True: 0}

    def take(self, boolean: bool) -> TapeRow:
        if self.free[boolean]:
            return TapeRow(boolean, self.free[boolean].pop())
        self.count[boolean] += 1
        return TapeRow(boolean, self.count[boolean] - 1)

    def give(self, row: TapeRow) -> None:
        self.free[row.boolean].append(row.number)


class Tape:
    """A program made ready to run on NumPy."""

    def __init__(self, program: TracedProgram) -> None:
        """Assign rows and list the calls."""
        self.program = program
        rows = _RowScan()
        self._inputs = [[rows.take(False).number for _ in range(signal.size)] for signal in program.inputs]
        last = last_uses(program)
        place: list[TapeRow | npt.NDArray[Any]] = []
        self._instructions: list[Instruction] = []
        for k, (op, args, value) in enumerate(program.nodes):
            if op is Op.CONST:
                place.append(np.array(value))
                continue
            if op is Op.INPUT:
                place.append(TapeRow(False, self._inputs[value[0]][value[1]]))
                continue
            dying = [row for a in sorted(set(args)) if last[a] == k and isinstance(row := place[a], TapeRow)]
            boolean = is_boolean(program.nodes[k])
            if op is Op.SELECT:  # written in two passes: the target must not be one of the operands
                target = rows.take(boolean)
            for row in dying:
                rows.give(row)
            if op is not Op.SELECT:
                target = rows.take(boolean)
            place.append(target)
            self._instructions.append(Instruction(UFUNCS[op], tuple(place[a] for a in args), target))
        self._rows = rows.count[False]
        self._truths = rows.count[True]
        self._results = [[place[k] for k in result] for result in program.results]
        self._scalar: list[tuple[int, Callable[..., Any], int, int, int]] = []
        for k, (op, args, _) in enumerate(program.nodes):
            if args:
                a, b, c = (*args, -1, -1)[:3]
                self._scalar.append((k, _SCALAR[op], a, b, c))
        self._frames: dict[int, list[TapeFrame]] = {}

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Evaluate a batch.

        Args:
            inputs: per input an array (N, size), row-major elements.
            outputs: per output an array (N, size) to be filled.
        """
        count = outputs[0].shape[0] if outputs else 0
        if count <= FEW:
            self._run_scalar(inputs, outputs, count)
            return
        with np.errstate(all="ignore"):
            for start in range(0, count, BLOCK):
                stop = min(start + BLOCK, count)
                self._run_block([x[start:stop] for x in inputs], [y[start:stop] for y in outputs], stop - start)

    def _frame(self, length: int) -> TapeFrame:
        """Take a frame from the pool, so that threads never share one, or make it."""
        try:
            return self._frames[length].pop()
        except (KeyError, IndexError):
            pass
        numbers, truths = np.empty((self._rows, length)), np.empty((self._truths, length), dtype=bool)

        views = {True: list(truths), False: list(numbers)}
        calls = []
        for function, operands, target in self._instructions:
            bound = [views[x.boolean][x.number] if isinstance(x, TapeRow) else x for x in (*operands, target)]
            calls.append((function, tuple(bound)))
        return TapeFrame(numbers, calls)

    def _run_block(self, inputs: list[Array], outputs: list[Array], length: int) -> None:
        frame = self._frame(length)
        for rows, block in zip(self._inputs, inputs, strict=True):
            if rows:
                frame.numbers[rows[0] : rows[0] + len(rows)] = block.T
        for function, operands in frame.calls:
            function(*operands)
        for result, block in zip(self._results, outputs, strict=True):
            for element, place in enumerate(result):
                block[:, element] = frame.numbers[place.number] if isinstance(place, TapeRow) else place
        self._frames.setdefault(length, []).append(frame)
        while len(self._frames) > KEPT:
            self._frames.pop(next(iter(self._frames)), None)

    def _run_scalar(self, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> None:
        for row in range(count):
            flat = [block[row].tolist() for block in inputs]
            values = [flat[v[0]][v[1]] if op is Op.INPUT else v for op, _, v in self.program.nodes]
            try:
                for k, function, a, b, c in self._scalar:
                    if b < 0:
                        values[k] = function(values[a])
                    elif c < 0:
                        values[k] = function(values[a], values[b])
                    else:
                        values[k] = function(values[a], values[b], values[c])
            except (OverflowError, ValueError):  # Python refuses what IEEE arithmetic answers with inf or nan
                with np.errstate(all="ignore"):
                    self._run_block([x[row : row + 1] for x in inputs], [y[row : row + 1] for y in outputs], 1)
                continue
            for result, block in zip(self.program.results, outputs, strict=True):
                block[row] = [values[k] for k in result]
