# SPDX-License-Identifier: Apache-2.0
"""Points, directions and segments, written so that no input makes a NaN: floats and symbols alike.

A square root is only ever taken of a number that is safely positive, so derivatives of traced functions stay finite
at degenerate points (the centre of a sphere, the axis of a cylinder) as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

UPRIGHT_FALLBACK = (0.0, 0.0, 1.0)
TINY = 1e-12
"""Lengths below this count as zero [m]."""


def dot(a: Any, b: Any) -> Any:
    """Scalar product of two vectors of the same length."""
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def cross(a: Any, b: Any) -> Any:
    """Vector product (3,)."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def direction(v: Any, fallback: Any) -> tuple[Any, Any]:
    """Return length and unit vector of v; a vector shorter than `TINY` has length 0 and the direction `fallback`.

    Args:
        v: vector of two or three components.
        fallback: unit vector of the same size.
    """
    square = dot(v, v)
    known = square > TINY * TINY
    length = np.sqrt(np.where(known, square, 1.0))
    inverse = 1.0 / length
    unit = np.array([np.where(known, x * inverse, y) for x, y in zip(v, fallback, strict=True)])
    return np.where(known, length, 0.0), unit


def length(v: Any) -> Any:
    """Return the length of v, 0 below `TINY`."""
    square = dot(v, v)
    known = square > TINY * TINY
    return np.where(known, np.sqrt(np.where(known, square, 1.0)), 0.0)


def clamp(x: Any, low: float = 0.0, high: float = 1.0) -> Any:
    """Return x limited to low…high."""
    return np.minimum(np.maximum(x, low), high)


def ratio(numerator: Any, denominator: Any, fallback: Any) -> Any:
    """Return numerator/denominator for denominators ≥ 0; `fallback` where the denominator is below `TINY` squared."""
    known = denominator > TINY * TINY
    return np.where(known, numerator / np.where(known, denominator, 1.0), fallback)


def nearest_to_point(a: Any, d: Any, point: Any) -> Any:
    """Return s in 0…1 at which a + s·d comes nearest to a point (any dimension); ½ if the segment has no length."""
    return clamp(ratio(dot(point - a, d), dot(d, d), 0.5))


def nearest_to_segment(a: Any, d: Any, start: Any, along: Any) -> Any:
    """Return s in 0…1 at which the segment a + s·d comes nearest to the segment start + u·along, u in 0…1.

    Exact: the pair of lines first, then each end of the other segment in turn. Parallel segments meet in the middle
    of their overlap as far as the clamping allows.
    """
    r = a - start
    dd, ee = dot(d, d), dot(along, along)
    f, c, b = dot(along, r), dot(d, r), dot(d, along)
    determinant = dd * ee - b * b
    parallel = determinant <= 1e-12 * dd * ee
    s = np.where(parallel, 0.5, clamp((b * f - c * ee) / np.where(parallel, 1.0, determinant)))
    u = clamp(ratio(b * s + f, ee, 0.5))
    return clamp(ratio(b * u - c, dd, 0.5))


def basis(axis: Any) -> Any:
    """Return a rotation (3, 3), floats, whose third column is the unit vector `axis`."""
    z = np.asarray(axis, dtype=np.float64)
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
