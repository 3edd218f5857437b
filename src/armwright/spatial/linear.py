# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of small vectors and matrices by plain loops, on floats and on symbols.

`dot` and `cross` are written out: quicker than NumPy's on single vectors, and the same on symbols. The factorisation
is Featherstone's A = LᵀDL, computed from the last row to the first: for a joint-space mass matrix it keeps the zeros
that branches of the tree put there (no fill-in). Entries that are the number 0 are skipped, so that they stay
structural when the code is traced. There is one reciprocal per pivot and no pivoting: A must be positive definite.

`left_singular` finds singular values without a branch, for functions that are traced (LAPACK's cannot be), by one-sided
Jacobi (Hestenes 1958): pairs of rows are turned until all rows are orthogonal, A = U B with the rows of B
orthogonal; their lengths are the singular values, the columns of U the left singular vectors. A pair (x, y) is turned
by the angle whose tangent t is the smaller root of t² + t (y·y − x·x)/(x·y) = 1. The number of sweeps is fixed:
convergence is quadratic, and after `SWEEPS` of them the rows of a matrix with up to six are orthogonal to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from armwright.types import Scalar, Traced


def dot(a: Traced | Sequence[Traced], b: Traced | Sequence[Traced]) -> Traced:
    """Scalar product of two vectors of the same length (k,); of (k, ...) along the first axis.

    >>> dot([1.0, 2.0], [3.0, 4.0])
    11.0
    """
    total = a[0] * b[0]
    for k in range(1, len(a)):
        total = total + a[k] * b[k]
    return total


def cross(a: Traced, b: Traced) -> Traced:
    """Vector product a × b of two vectors (3,).

    >>> cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    array([0., 0., 1.])
    """
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


class LTDL(NamedTuple):
    """Factors of A = LᵀDL: unit lower triangular L (n, n), pivots d (n,) and their reciprocals (n,)."""

    L: Traced
    d: Traced
    d_inverse: Traced


def _is_zero(value: Scalar) -> bool:
    """Return whether an entry is known to be zero: the number 0, or a symbol whose `is_zero` says so."""
    known = getattr(value, "is_zero", None)
    return bool(value == 0.0) if known is None else bool(known)


def _rows(A: Traced) -> list[list[Traced]]:
    return [[A[i, j] for j in range(A.shape[1])] for i in range(A.shape[0])]


def _factor(A: Traced) -> tuple[list[list[Traced]], list[Traced], list[Traced]]:
    """Rows of the strictly lower part of L, pivots, reciprocals."""
    n = A.shape[0]
    work = _rows(A)
    reciprocal: list[Any] = [0.0] * n
    for k in range(n - 1, -1, -1):
        reciprocal[k] = 1.0 / work[k][k]
        row = list(work[k])
        for i in range(k - 1, -1, -1):
            if _is_zero(row[i]):
                continue
            a = row[i] * reciprocal[k]
            for j in range(i + 1):
                if not _is_zero(row[j]):
                    work[i][j] = work[i][j] - row[j] * a
            work[k][i] = a
    return work, [work[k][k] for k in range(n)], reciprocal


def ltdl(A: Traced) -> LTDL:
    """Factor a symmetric positive definite A (n, n), of which only the lower triangle is read, into LᵀDL.

    >>> ltdl(np.diag([2.0, 4.0])).d
    array([2., 4.])
    """
    A = np.asarray(A)
    n = A.shape[0]
    work, pivots, reciprocals = _factor(A)
    L = [[work[i][j] if j < i else float(i == j) for j in range(n)] for i in range(n)]
    return LTDL(np.array(L).reshape(n, n), np.array(pivots), np.array(reciprocals))


def ltdl_solve(A: Traced, b: Traced) -> Traced:
    """Solve A x = b for symmetric positive definite A (n, n); b and x are (n,) or (n, k).

    >>> ltdl_solve(np.diag([2.0, 4.0]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    A, b = np.asarray(A), np.asarray(b)
    n = A.shape[0]
    L, _, reciprocal = _factor(A)
    columns = [[b[i] for i in range(n)]] if b.ndim == 1 else [[b[i, j] for i in range(n)] for j in range(b.shape[1])]
    solved = []
    for x in columns:
        for i in range(n - 1, -1, -1):  # Lᵀ y = b
            if not _is_zero(x[i]):
                for j in range(i):
                    if not _is_zero(L[i][j]):
                        x[j] = x[j] - L[i][j] * x[i]
        for i in range(n):
            x[i] = x[i] * reciprocal[i]
        for i in range(n):  # L x = D⁻¹ y
            for j in range(i):
                if not (_is_zero(L[i][j]) or _is_zero(x[j])):
                    x[i] = x[i] - L[i][j] * x[j]
        solved.append(x)
    out = np.array(solved).reshape(len(solved), n)
    return out[0] if b.ndim == 1 else out.T


def ldl_inverse(A: Traced) -> Traced:
    """Inverse (n, n) of a symmetric positive definite A (n, n): W D⁻¹ Wᵀ with W = L⁻¹, each entry computed once.

    >>> ldl_inverse(np.diag([2.0, 4.0])).diagonal()
    array([0.5 , 0.25])
    """
    A = np.asarray(A)
    n = A.shape[0]
    L, _, reciprocal = _factor(A)
    W: list[list[Any]] = [[float(i == j) for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(i):
            for k in range(j, i):
                if not (_is_zero(L[i][k]) or _is_zero(W[k][j])):
                    W[i][j] = W[i][j] - L[i][k] * W[k][j]
    out: list[list[Any]] = [[0.0] * n for _ in range(n)]
    for j in range(n):
        scaled = [0.0 if _is_zero(W[j][k]) else W[j][k] * reciprocal[k] for k in range(j + 1)]
        for i in range(j, n):
            total: Any = 0.0
            for k in range(j + 1):
                if not (_is_zero(W[i][k]) or _is_zero(scaled[k])):
                    total = total + W[i][k] * scaled[k]
            out[i][j] = out[j][i] = total
    return np.array(out).reshape(n, n)


class Clearance(NamedTuple):
    """How far J is from losing rank: `nearness` ≤ its smallest singular value; `damping` λ² for (J Jᵀ + λ²)⁻¹."""

    nearness: Traced
    damping: Traced


def singular_clearance(G: Traced, threshold: float, damping: float) -> Clearance:
    """Measure G = J Jᵀ (k, k) and return the damping that keeps the inverse of J bounded near a singularity.

    σ² = 1/tr G⁻¹ lies between σ_min²/k and σ_min². Where σ < threshold, λ² = damping²·(1 − σ²/threshold²), which
    bounds the gain of Jᵀ(J Jᵀ + λ²)⁻¹ by 1/(2·damping) at the singularity and is continuous; elsewhere λ = 0.
    """
    # the shift keeps the measure finite at a singularity and is lost in rounding elsewhere
    inverse = ldl_inverse(G + 1e-12 * np.eye(len(G)))
    squared = 1.0 / sum(inverse[k, k] for k in range(len(G)))
    return Clearance(np.sqrt(squared), damping**2 * np.maximum(1.0 - squared / threshold**2, 0.0))


def determinant3(A: Traced) -> Traced:
    """Determinant of a 3×3 matrix by its first row.

    >>> float(determinant3(2.0 * np.eye(3)))
    8.0
    """
    return (
        A[0, 0] * (A[1, 1] * A[2, 2] - A[1, 2] * A[2, 1])
        - A[0, 1] * (A[1, 0] * A[2, 2] - A[1, 2] * A[2, 0])
        + A[0, 2] * (A[1, 0] * A[2, 1] - A[1, 1] * A[2, 0])
    )


def solve_from_last(A: Traced, b: Traced) -> Traced:
    """Solve A x = b (n, n), (n,) by elimination from the last row to the first, without pivoting.

    Every trailing block of A must be regular; so it is where A is a mass matrix times a matrix that is nearly diagonal.
    Entries that are the number 0 are skipped.
    """
    A, b = np.asarray(A), np.asarray(b)
    n = A.shape[0]
    work, x = _rows(A), [b[i] for i in range(n)]
    reciprocal: list[Any] = [0.0] * n
    for k in range(n - 1, -1, -1):
        reciprocal[k] = 1.0 / work[k][k]
        for i in range(k):
            if _is_zero(work[i][k]):
                continue
            a = work[i][k] * reciprocal[k]
            for j in range(k):
                if not _is_zero(work[k][j]):
                    work[i][j] = work[i][j] - a * work[k][j]
            if not _is_zero(x[k]):
                x[i] = x[i] - a * x[k]
    for i in range(n):
        for j in range(i):
            if not (_is_zero(work[i][j]) or _is_zero(x[j])):
                x[i] = x[i] - work[i][j] * x[j]
        x[i] = x[i] * reciprocal[i]
    return np.array(x)


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
