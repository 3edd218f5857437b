# SPDX-License-Identifier: Apache-2.0
"""Singular values of small matrices without a branch: for functions that are traced (LAPACK's cannot be).

One-sided Jacobi (Hestenes 1958): pairs of rows are turned until all rows are orthogonal, A = U B with the rows of B
orthogonal; their lengths are the singular values, the columns of U the left singular vectors. A pair (x, y) is turned
by the angle whose tangent t is the smaller root of t² + t (y·y − x·x)/(x·y) = 1. The number of sweeps is fixed:
convergence is quadratic, and after `SWEEPS` of them the rows of a matrix with up to six are orthogonal to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from armwright.spatial.linear import dot
from armwright.types import Traced

SWEEPS = 7
"""One more than matrices of six rows need, whatever their condition."""


class LeftSingular(NamedTuple):
    """Left singular vectors, column k of `U` (m, m) with value `s[k]`, and singular values `s` (m,), largest first."""

    U: Traced
    s: Traced


def left_singular(A: Traced) -> LeftSingular:
    """Return left singular vectors (m, m) and values (m,) of A (m, n), on floats or symbols; zeros where rank is lost.

    Derivatives exist where the singular values differ from each other and from 0.
    """
    m = len(A)
    rows = [[A[i], np.eye(m)[i]] for i in range(m)]
    for _ in range(SWEEPS):
        for i in range(m - 1):
            for j in range(i + 1, m):
                rows[i], rows[j] = _turned(rows[i], rows[j])
    lengths = [np.sqrt(dot(row, row)) for row, _ in rows]
    found = [(length, axis) for length, (_, axis) in zip(lengths, rows, strict=True)]
    for last in range(m - 1, 0, -1):  # a fixed network of exchanges in place of a sort
        for i in range(last):
            (a, x), (b, y) = found[i], found[i + 1]
            right = a >= b
            found[i] = (np.where(right, a, b), np.where(right, x, y))
            found[i + 1] = (np.where(right, b, a), np.where(right, y, x))
    return LeftSingular(np.stack([axis for _, axis in found], axis=1), np.stack([length for length, _ in found]))


def _turned(first: list[Any], second: list[Any]) -> tuple[list[Any], list[Any]]:
    """Turn two rows, and the axes that they belong to, until the rows are orthogonal."""
    x, y = first[0], second[0]
    across, difference = 2.0 * dot(x, y), dot(y, y) - dot(x, x)
    size = np.abs(difference) + np.sqrt(difference * difference + across * across)
    t = np.where(difference >= 0.0, across, -across) / np.where(size > 0.0, size, 1.0)
    c = 1.0 / np.sqrt(1.0 + t * t)
    s = c * t
    one = [c * a - s * b for a, b in zip(first, second, strict=True)]
    other = [s * a + c * b for a, b in zip(first, second, strict=True)]
    return one, other
