# SPDX-License-Identifier: Apache-2.0
"""What a kernel may be called with: numbers or symbols, each with batch axes in front of its own shape.

Numbers become float64 arrays. Symbols have no values to compute with: the program behind the kernel is built again in
the graph that they belong to, so that a kernel called in a function that is being traced becomes part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import refuse_masked
from armwright.errors import InputError
from armwright.graph.array import TracedArray, cells, graph_of, has_symbols, traced
from armwright.graph.expr import Expr, Graph, rebuilt
from armwright.graph.ops import Op

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.graph.traced_program import ProgramSignal, TracedProgram
    from armwright.types import Array, Symbolic


def as_float64(value: Symbolic, what: str, shape: tuple[int, ...]) -> Array:
    """Convert to float64 without copying what already is; check the trailing shape."""
    try:
        array = np.asarray(value)
        if array is not value:
            refuse_masked(value, what)
        if array.dtype != np.float64:
            if array.dtype.kind not in "iufb" and (not isinstance(value, TracedArray) or has_symbols(value)):
                raise TypeError(f"dtype {array.dtype}")
            array = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{what}: expected real numbers of shape (..., {', '.join(map(str, shape))}), got {error}"
        ) from error
    check_tail(array, what, shape)
    return array


def check_tail(array: NDArray[Any], what: str, shape: tuple[int, ...]) -> None:
    """Refuse an array whose last axes are not `shape`."""
    if array.shape[max(0, array.ndim - len(shape)) :] != shape:
        wanted = ", ".join(["...", *map(str, shape)])
        raise InputError(f"{what}: expected shape ({wanted}), got {array.shape}")


def batch_axes(
    name: str, inputs: Sequence[ProgramSignal], arrays: Sequence[Any]
) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Return the leading axes of every array, and those to which they broadcast."""
    batches = [a.shape[: a.ndim - len(s.shape)] for a, s in zip(arrays, inputs, strict=True)]
    try:
        return batches, np.broadcast_shapes(*batches)
    except ValueError as error:
        shapes = ", ".join(f"{s.name} {a.shape}" for a, s in zip(arrays, inputs, strict=True))
        raise InputError(f"{name}: batch axes do not broadcast: {shapes}") from error


def over_rows(
    function: Callable[..., Any], name: str, inputs: Sequence[ProgramSignal], values: Sequence[Symbolic]
) -> Symbolic:
    """Call a function of one state with symbols or floats, once for every row of their batch axes.

    Args:
        function: of arrays with the shapes of `inputs`; returns an array or a tuple of arrays.
        name: of the function, for messages.
        inputs: name and shape of every argument.
        values: the arguments, with leading batch axes that broadcast.
    """
    arrays = []
    for value, s in zip(values, inputs, strict=True):
        what = f"{name}: {s.name}"
        array = cells(value) if has_symbols(value) else as_float64(value, what, s.shape)
        check_tail(array, what, s.shape)
        arrays.append(array)
    _, batch = batch_axes(name, inputs, arrays)
    if not batch:
        return function(*map(traced, arrays))
    if 0 in batch:
        raise InputError(f"{name}: a batch of symbols needs at least one row, got batch axes {batch}")
    wide = [np.broadcast_to(a, batch + s.shape) for a, s in zip(arrays, inputs, strict=True)]
    rows = [function(*(traced(a[index]) for a in wide)) for index in np.ndindex(*batch)]
    if not isinstance(rows[0], tuple):
        return _stacked(rows, batch)
    return tuple(_stacked(part, batch) for part in zip(*rows, strict=True))


def _stacked(rows: Sequence[Symbolic], batch: tuple[int, ...]) -> Symbolic:
    array = np.stack([cells(row) for row in rows])
    array = array.reshape(batch + array.shape[1:])
    return traced(array) if has_symbols(array) else array.astype(np.float64)


def in_graph(program: TracedProgram, values: Sequence[Symbolic]) -> Symbolic:
    """Return the results of a program for one state: its nodes built again in the graph of the symbols among `values`.

    None where there is no symbol at all.
    """
    entries = [np.ravel(cells(value)) for value in values]
    graph = graph_of(*(item for array in entries for item in array))
    if graph is None:
        return None
    made: list[Expr] = []
    for op, args, value in program.nodes:
        if op is Op.INPUT:
            made.append(_number_in(graph, entries[value[0]][value[1]]))
        else:
            made.append(rebuilt(graph, op, [made[k] for k in args], value))
    results = []
    for nodes, s in zip(program.results, program.outputs, strict=True):
        array = np.empty(s.size, dtype=object)
        array[:] = [made[k] for k in nodes]
        results.append(traced(array.reshape(s.shape)))
    return results[0] if program.single else tuple(results)


def _number_in(graph: Graph, value: Symbolic) -> Expr:
    return value.as_number() if isinstance(value, Expr) else graph.constant(float(value))
