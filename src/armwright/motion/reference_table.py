# SPDX-License-Identifier: Apache-2.0
"""A trajectory at many instants, compiled: the table of references that a loop follows, one row per tick.

Every row is computed alone and in the same way, so that a table does not depend on how a run is cut into stretches.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from armwright.graph import jit
from armwright.graph.emit.polynomial_table import table_ir
from armwright.graph.kernel import backend, compiled

if TYPE_CHECKING:
    from armwright.types import Array

_P, _I = ctypes.c_void_p, ctypes.c_int64


@lru_cache(maxsize=64)
def _filler(size: int, n: int) -> Callable[..., None]:
    name = f"armwright_reference_table_{size}_{n}"
    address = compiled((name,), name, lambda: table_ir(name, size, n, fma=jit.host().fma))
    return ctypes.CFUNCTYPE(None, *[_P] * 4, *[_I] * 3)(address)


def fill_table(breaks: Array, coefficients: Array, t: Array, out: Array) -> bool:
    """Write q, qd, qdd of a trajectory at many instants; return False, and write nothing, where LLVM is missing.

    Args:
        breaks: (m+1,) instants of a `Trajectory` [s].
        coefficients: (m, degree+1, n) of its pieces.
        t: (T,) [s], best in order of time; not NaN.
        out: (T, 3n); the numbers of a row must lie side by side, rows may be apart.
    """
    if backend() != "llvm":
        return False
    m, size, n = coefficients.shape
    t = np.ascontiguousarray(t, dtype=np.float64)
    assert out.shape == (len(t), 3 * n)
    assert out.dtype == np.float64
    assert out.strides[1] == out.itemsize
    if len(t):
        _filler(size, n)(
            t.ctypes.data,
            breaks.ctypes.data,
            coefficients.ctypes.data,
            out.ctypes.data,
            len(t),
            m - 1,
            out.strides[0] // out.itemsize,
        )
    return True
