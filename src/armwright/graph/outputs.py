# SPDX-License-Identifier: Apache-2.0
"""Where results go: into new arrays, or into the caller's own after a check.

An output may be an input, or overlap one in any way: the results are those of separate arrays (they take a detour
through memory of their own), and inputs that are refused are left as they were. Outputs must not overlap one another.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.graph.program import Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.types import Array

SEARCH = 10_000  # steps of the exact search for a common element; beyond, arrays are taken to overlap


def result_arrays(program: Program, batch: tuple[int, ...], out: Array | Sequence[Array] | None) -> list[Array]:
    """Return one array of shape batch + output.shape for every output: new, or those of `out`."""
    if out is None:
        return [np.empty(batch + s.shape) for s in program.outputs]
    given: list[Any] = [out] if program.single and not isinstance(out, tuple) else list(out)
    if len(given) != len(program.outputs):
        raise InputError(f"{program.name}: out must hold {len(program.outputs)} arrays, got {len(given)}")
    for array, s in zip(given, program.outputs, strict=True):
        if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.shape != batch + s.shape:
            what = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            raise InputError(
                f"{program.name}: out for {s.name} must be a float64 array of shape {batch + s.shape}, got {what}"
            )
        if not array.flags.writeable:
            raise InputError(f"{program.name}: out for {s.name} is read-only")
        if not _elements_apart(array):
            raise InputError(f"{program.name}: elements of out for {s.name} share memory; each needs its own")
    for (a, first), (b, second) in combinations(zip(given, program.outputs, strict=True), 2):
        if _share_memory(a, b):
            raise InputError(
                f"{program.name}: out for {first.name} and out for {second.name} share memory; each needs its own"
            )
    return given


def computed_into(results: list[Any], inputs: list[Any]) -> list[Any]:
    """Return the arrays to compute into: each result itself, or new memory if it has gaps or overlaps an input."""
    return [
        r if r.flags.c_contiguous and not any(np.may_share_memory(r, a) for a in inputs) else np.empty(r.shape)
        for r in results
    ]


def _share_memory(a: Array, b: Array) -> bool:
    if not np.may_share_memory(a, b):  # by bounds: quick
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=SEARCH))  # type: ignore[arg-type]  # any count is allowed
    except np.exceptions.TooHardError:
        return True


def _elements_apart(array: Array) -> bool:
    """Whether each step along an axis leads beyond all that the shorter steps reach."""
    if array.flags.c_contiguous:
        return True
    reach = array.itemsize
    for stride, length in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < reach:
            return False
        reach += stride * (length - 1)
    return True
