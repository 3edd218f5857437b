# SPDX-License-Identifier: Apache-2.0
"""Exact extremes of piecewise polynomials: values at the roots of the derivative and at the ends of every piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from armwright.types import Array

NEGLIGIBLE = 1e-13
"""Leading coefficients below this fraction of the largest are rounding, not a degree: 500 times that of one number."""


def unit_roots(c: Array) -> Array:
    """Points (N, d) in [0, 1] among which are all real roots there of N polynomials c (N, d+1), lowest power first.

    Roots elsewhere or complex are moved to the nearest point of [0, 1] on the real axis: as candidates for an extreme
    they do no harm, and a double root that rounding has split into a complex pair is not lost.
    """
    rows, size = c.shape
    out = np.zeros((rows, max(size - 1, 1)))
    if size == 1:
        return out
    big = np.abs(c) > NEGLIGIBLE * np.abs(c).max(axis=1, keepdims=True)
    degree = np.where(big.any(axis=1), size - 1 - np.argmax(big[:, ::-1], axis=1), 0)
    for d in range(1, size):
        pick = degree == d
        if pick.any():
            companion = np.zeros((int(pick.sum()), d, d))
            companion[:, np.arange(1, d), np.arange(d - 1)] = 1.0
            companion[:, :, -1] = -c[pick, :d] / c[pick, d : d + 1]
            out[pick, :d] = np.clip(np.linalg.eigvals(companion).real, 0.0, 1.0)
    return out


def candidates(breaks: Array, coefficients: Array) -> tuple[Array, Array]:
    """Candidates for extremes of pieces (m, size, n): fractions of each piece (m, n, K) and the values there."""
    m, size, n = coefficients.shape
    h = np.diff(breaks)
    scaled = coefficients * (h[:, None] ** np.arange(size))[:, :, None]
    rows = np.moveaxis(scaled, 1, 2).reshape(m * n, size)
    slope = rows[:, 1:] * np.arange(1.0, size) if size > 1 else np.zeros((m * n, 1))
    x = np.concatenate([unit_roots(slope), np.zeros((m * n, 1)), np.ones((m * n, 1))], axis=1)
    value = np.broadcast_to(rows[:, -1:], x.shape)
    for k in range(size - 2, -1, -1):
        value = value * x + rows[:, k : k + 1]
    return x.reshape(m, n, -1), value.reshape(m, n, -1)


def extreme(breaks: Array, coefficients: Array, *, absolute: bool = False) -> tuple[Array, Array]:
    """Return the largest value (or |value|) per joint (n,) and the time it is reached (n,) [s]."""
    x, value = candidates(breaks, coefficients)
    m, n, K = x.shape
    value = np.abs(value) if absolute else value
    time = breaks[:-1, None, None] + np.diff(breaks)[:, None, None] * x
    flat, when = (np.moveaxis(a, 1, 0).reshape(n, m * K) for a in (value, time))
    best = np.argmax(flat, axis=1)
    return flat[np.arange(n), best], when[np.arange(n), best]


def zero_crossings(breaks: Array, coefficients: Array) -> Array:
    """Times (K,), sorted, where any joint's polynomial (m, size, n) changes sign inside a piece."""
    m, size, n = coefficients.shape
    h = np.diff(breaks)
    scaled = coefficients * (h[:, None] ** np.arange(size))[:, :, None]
    rows = np.moveaxis(scaled, 1, 2).reshape(m * n, size)
    x = np.sort(np.concatenate([unit_roots(rows), np.zeros((m * n, 1)), np.ones((m * n, 1))], axis=1), axis=1)
    middle = 0.5 * (x[:, 1:] + x[:, :-1])
    value = np.broadcast_to(rows[:, -1:], middle.shape)
    for k in range(size - 2, -1, -1):
        value = value * middle + rows[:, k : k + 1]
    changes = (value[:, 1:] * value[:, :-1] < 0.0) & (x[:, 1:-1] > 0.0) & (x[:, 1:-1] < 1.0)
    row, column = np.nonzero(changes)
    piece = row // n
    return np.unique(breaks[piece] + h[piece] * x[row, column + 1])
