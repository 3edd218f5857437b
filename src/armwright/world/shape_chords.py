# SPDX-License-Identifier: Apache-2.0
"""Where a line runs through a shape, and what is left of it outside of several; floats."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from armwright.types import Array
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Shape, Sphere

BURIED = 1e-10
"""Depth in another shape [m] from which on a point counts as covered: far above rounding, far below `WELD`."""


def roots(a: float, b: float, c: float) -> tuple[float, float]:
    """Return where a t² + 2 b t + c ≤ 0, a ≥ 0: (low, high), (inf, −inf) if nowhere."""
    if a < 1e-300:
        return (-math.inf, math.inf) if c <= 0.0 else (math.inf, -math.inf)
    discriminant = b * b - a * c
    if discriminant <= 0.0:
        return math.inf, -math.inf
    root = math.sqrt(discriminant)
    return (-b - root) / a, (-b + root) / a


def slab(along: float, at: float, half: float) -> tuple[float, float]:
    """Return where |at + t along| ≤ half."""
    if abs(along) < 1e-12:
        return (-math.inf, math.inf) if abs(at) <= half else (math.inf, -math.inf)
    a, b = (-half - at) / along, (half - at) / along
    return min(a, b), max(a, b)


def chord(shape: Shape, p: Array, d: Array, inset: float = BURIED) -> tuple[float, float]:
    """Return the stretch (low, high) of the line p + t d, |d| = 1, inside a shape whose faces lie deeper by `inset`."""
    if isinstance(shape, HalfSpace):
        n = np.array(shape.normal)
        along, at = float(n @ d), float(n @ (p - np.array(shape.point))) + inset
        if abs(along) < 1e-12:
            return (-math.inf, math.inf) if at <= 0.0 else (math.inf, -math.inf)
        return (-math.inf, -at / along) if along > 0.0 else (-at / along, math.inf)
    if isinstance(shape, Box):
        R, half = np.array(shape.rotation), 0.5 * np.array(shape.size) - inset
        spans = [
            slab(float(x), float(y), float(h)) for x, y, h in zip(R.T @ d, R.T @ (p - shape.centre), half, strict=True)
        ]
        return max(s[0] for s in spans), min(s[1] for s in spans)
    if isinstance(shape, Sphere):
        return _chord_of_ball(np.array(shape.centre), shape.radius - inset, p, d)
    if isinstance(shape, Cylinder):
        return _chord_of_tube(
            np.array(shape.centre), np.array(shape.axis), shape.radius - inset, 0.5 * shape.height - inset, p, d
        )
    assert isinstance(shape, Capsule)
    start, end = np.array(shape.start), np.array(shape.end)
    spans = [_chord_of_ball(x, shape.radius - inset, p, d) for x in (start, end)]
    length = float(np.linalg.norm(end - start))
    if length > 1e-12:
        axis = (end - start) / length
        spans.append(_chord_of_tube(0.5 * (start + end), axis, shape.radius - inset, 0.5 * length, p, d))
    return min(s[0] for s in spans), max(s[1] for s in spans)


def _chord_of_ball(centre: Array, radius: float, p: Array, d: Array) -> tuple[float, float]:
    r = p - centre
    return roots(1.0, float(r @ d), float(r @ r) - radius * radius)


def _chord_of_tube(centre: Array, axis: Array, radius: float, half: float, p: Array, d: Array) -> tuple[float, float]:
    r = p - centre
    along, at = float(d @ axis), float(r @ axis)
    flat, across = r - at * axis, d - along * axis
    a = float(across @ across)
    around = roots(a if a > 1e-18 else 0.0, float(flat @ across), float(flat @ flat) - radius * radius)
    between = slab(along, at, half)
    low, high = max(around[0], between[0]), min(around[1], between[1])
    return (low, high) if low <= high else (math.inf, -math.inf)


def open_stretches(low: float, high: float, hidden: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return what is left of low…high without the intervals `hidden`; at least a nanometre each."""
    out, at = [], low
    for a, b in sorted(hidden):
        if b <= a:
            continue
        if a > at:
            out.append((at, min(a, high)))
        at = max(at, b)
    out.append((at, high))
    return [(a, b) for a, b in out if b - a > 1e-9]
