# SPDX-License-Identifier: Apache-2.0
"""Exact distances of a segment from a point, a segment and a box, one pair at a time, for floats and for symbols.

Traced together with the arm's forward kinematics they become one compiled test of a configuration against a shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

TINY = 1e-30


def _dot(x: Any, y: Any) -> Any:
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]


def _unit_interval(x: Any) -> Any:
    return np.minimum(np.maximum(x, 0.0), 1.0)


def segment_point(p: Any, q: Any, x: Any) -> Any:
    """Return the distance of the segment p–q from a point x, all (3,)."""
    d, r = q - p, x - p
    gap = r - d * _unit_interval(_dot(r, d) / np.maximum(_dot(d, d), TINY))
    return np.sqrt(_dot(gap, gap))


def segment_segment(p1: Any, q1: Any, p2: Any, q2: Any) -> Any:
    """Return the distance between segments p1–q1 and p2–q2, points (3,); a point is a segment of length 0.

    Closest points s, t solve a 2×2 system, clamped to the segments one after the other; parallel ones start from s = 0.
    """
    d1, d2, r = q1 - p1, q2 - p2, p1 - p2
    a, e, b, c, f = _dot(d1, d1), _dot(d2, d2), _dot(d1, d2), _dot(d1, r), _dot(d2, r)
    den = a * e - b * b
    crossing = den > 1e-14 * a * e + TINY
    s = np.where(crossing, _unit_interval((b * f - c * e) / np.where(crossing, den, 1.0)), 0.0)
    t = np.where(e > TINY, _unit_interval((b * s + f) / np.maximum(e, TINY)), 0.0)
    s = np.where(a > TINY, _unit_interval((b * t - c) / np.maximum(a, TINY)), 0.0)
    gap = r + d1 * s - d2 * t
    return np.sqrt(_dot(gap, gap))


def segment_box(p: Any, q: Any, half: Any) -> Any:
    """Return the distance of the segment p–q from the box |x_k| ≤ half_k, all (3,), box axes; 0 where they meet.

    Half the squared distance is convex along the segment; its derivative rises and is linear between the kinks, where
    the segment crosses the planes of the faces. So the minimum lies between the last kink with a derivative ≤ 0 and
    the first with one ≥ 0, and linear interpolation between them is exact.
    """
    d = q - p
    kinks: list[Any] = [0.0, 1.0]
    for k in range(3):
        moves = np.abs(d[k]) > TINY
        safe = np.where(moves, d[k], 1.0)
        kinks += [np.where(moves, _unit_interval((side * half[k] - p[k]) / safe), 0.0) for side in (1.0, -1.0)]

    def slope(t: Any) -> Any:
        total: Any = 0.0
        for k in range(3):
            x = p[k] + d[k] * t
            total = total + d[k] * (np.maximum(x - half[k], 0.0) + np.minimum(x + half[k], 0.0))
        return total

    t0: Any = 0.0
    t1: Any = 1.0
    s0, s1 = slope(0.0), slope(1.0)
    for t in kinks[2:]:
        s = slope(t)
        before, after = (s <= 0.0) & (t >= t0), (s >= 0.0) & (t <= t1)
        t0, s0 = np.where(before, t, t0), np.where(before, s, s0)
        t1, s1 = np.where(after, t, t1), np.where(after, s, s1)
    rises = s1 - s0 > TINY
    inner = t0 - s0 * (t1 - t0) / np.where(rises, s1 - s0, 1.0)
    best = np.where(s0 >= 0.0, t0, np.where(s1 <= 0.0, t1, np.where(rises, inner, t0)))
    gap = np.array([np.maximum(np.abs(p[k] + d[k] * best) - half[k], 0.0) for k in range(3)])
    return np.sqrt(_dot(gap, gap))
