# SPDX-License-Identifier: Apache-2.0
"""Geometry of points, directions and segments, written so that no input makes a NaN: floats and symbols alike.

A square root is only ever taken of a number that is safely positive, so derivatives of traced functions stay finite
at degenerate points (the centre of a sphere, the axis of a cylinder) as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from armwright.spatial.linear import dot
from armwright.types import Scalar, Traced

UP = (0.0, 0.0, 1.0)
"""Direction used where a point has none of its own."""
ZERO_SEGMENT_LENGTH = 1e-12
"""Lengths below this count as zero [m]."""
PARALLEL_SINE_SQUARED = 1e-14
"""sin² of the angle below which segments count as parallel: thirty times the rounding of the determinant that tells it.
Distances then differ by less than 1e-7 of the length."""


def direction(v: Traced, fallback: Iterable[float]) -> tuple[Traced, Traced]:
    """Return length and unit vector of v; below `ZERO_SEGMENT_LENGTH` the length is 0 and the direction `fallback`.

    Args:
        v: vector of two or three components.
        fallback: unit vector of the same size.
    """
    square = dot(v, v)
    known = square > ZERO_SEGMENT_LENGTH * ZERO_SEGMENT_LENGTH
    length = np.sqrt(np.where(known, square, 1.0))
    inverse = 1.0 / length
    unit = np.array([np.where(known, x * inverse, y) for x, y in zip(v, fallback, strict=True)])
    return np.where(known, length, 0.0), unit


def length(v: Traced) -> Traced:
    """Return the length of v, 0 below `ZERO_SEGMENT_LENGTH`."""
    square = dot(v, v)
    known = square > ZERO_SEGMENT_LENGTH * ZERO_SEGMENT_LENGTH
    return np.where(known, np.sqrt(np.where(known, square, 1.0)), 0.0)


def clamp(x: Traced, low: float = 0.0, high: float = 1.0) -> Traced:
    """Return x limited to low…high."""
    return np.minimum(np.maximum(x, low), high)


def ratio(numerator: Scalar, denominator: Scalar, fallback: Scalar) -> Traced:
    """Return numerator/denominator for denominators ≥ 0; `fallback` below `ZERO_SEGMENT_LENGTH` squared."""
    known = denominator > ZERO_SEGMENT_LENGTH * ZERO_SEGMENT_LENGTH
    return np.where(known, numerator / np.where(known, denominator, 1.0), fallback)


def nearest_to_point(a: Traced, d: Traced, point: Traced) -> Traced:
    """Return s in 0…1 at which a + s·d comes nearest to a point (any dimension); ½ if the segment has no length."""
    return clamp(ratio(dot(point - a, d), dot(d, d), 0.5))


def nearest_pair(a: Traced, d: Traced, start: Traced, along: Traced) -> tuple[Traced, Traced]:
    """Return s and u in 0…1 at which the segments a + s·d and start + u·along come nearest to each other.

    Exact: the pair of lines first, then each end of the other segment in turn. Parallel segments meet in the middle
    of their overlap as far as the clamping allows.
    """
    r = a - start
    dd, ee = dot(d, d), dot(along, along)
    f, c, b = dot(along, r), dot(d, r), dot(d, along)
    determinant = dd * ee - b * b
    parallel = determinant <= PARALLEL_SINE_SQUARED * dd * ee
    s = np.where(parallel, 0.5, clamp((b * f - c * ee) / np.where(parallel, 1.0, determinant)))
    u = clamp(ratio(b * s + f, ee, 0.5))
    return clamp(ratio(b * u - c, dd, 0.5)), u


def nearest_to_box(a: Traced, d: Traced, half: Traced, flat: float = 0.0) -> Traced:
    """Return s in 0…1 at which a + s·d comes nearest to the box |x_k| ≤ half_k, all (3,), box axes.

    Half the squared distance is convex along the segment. Its slope rises, and is linear between the marks where the
    segment crosses the planes of the faces. So the minimum lies between the last mark with a slope ≤ 0 and the first
    with one ≥ 0, and linear interpolation between them is exact. A stretch of zero slope (through the box, or along a
    face) counts with its middle.

    Args:
        a: start of the segment.
        d: end minus start.
        half: half edges.
        flat: slopes of the distance [-] below this count as zero, so that rounding does not choose the end of a
            stretch along a face.
    """

    def slope(s: Traced) -> Traced:
        p = a + s * d
        return dot([p[k] - clamp(p[k], -half[k], half[k]) for k in range(3)], d)

    zero = flat * length(d) if flat else 0.0
    marks: list[Any] = [0.0, 1.0]
    for k in range(3):
        known = np.abs(d[k]) > ZERO_SEGMENT_LENGTH
        inverse = np.where(known, 1.0 / np.where(known, d[k], 1.0), 0.0)
        marks += [clamp((-half[k] - a[k]) * inverse), clamp((half[k] - a[k]) * inverse)]
    low: Any = 0.0
    high: Any = 1.0
    at_low: Any = -1.0
    at_high: Any = 1.0
    for s in marks:
        here = slope(s)
        more, less = (here <= zero) & (s >= low), (here >= -zero) & (s <= high)
        low, at_low = np.where(more, s, low), np.where(more, here, at_low)
        high, at_high = np.where(less, s, high), np.where(less, here, at_high)
    between = high > low
    share = np.where(between, -at_low / np.where(between, at_high - at_low, 1.0), 0.5)
    return low + (high - low) * share


def segment_point(a: Traced, b: Traced, point: Traced) -> Traced:
    """Return the distance of the segment a–b from a point; (3,) each, or (3, ...) for many at once."""
    d = b - a
    gap = point - a - nearest_to_point(a, d, point) * d
    return np.sqrt(dot(gap, gap))


def segment_segment(a: Traced, b: Traced, start: Traced, end: Traced) -> Traced:
    """Return the distance between the segments a–b and start–end, points (3,); a point is a segment of length 0."""
    d, along = b - a, end - start
    s, u = nearest_pair(a, d, start, along)
    gap = a - start + s * d - u * along
    return np.sqrt(dot(gap, gap))


def segment_box(a: Traced, b: Traced, half: Traced) -> Traced:
    """Return the distance of the segment a–b from the box |x_k| ≤ half_k, all (3,), box axes; 0 where they meet."""
    d = b - a
    p = a + nearest_to_box(a, d, half) * d
    gap = [np.maximum(np.abs(p[k]) - half[k], 0.0) for k in range(3)]
    return np.sqrt(dot(gap, gap))


def basis(axis: Traced) -> Traced:
    """Return a rotation (3, 3), floats, whose third column is the unit vector `axis`."""
    z = np.asarray(axis, dtype=np.float64)
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - (x @ z) * z
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
