# SPDX-License-Identifier: Apache-2.0
"""Where a segment (the axis of a link's capsule) comes nearest to a shape, traceable.

The signed distance of a convex shape is a convex function along a segment, so there is one minimum.

| shape | method | accuracy |
|---|---|---|
| sphere, capsule, infinite cylinder | closed form | exact |
| half-space | both ends (a lying link rests on two points) | exact |
| box | slope of the squared distance at the planes | exact while the axis is outside, else the middle of the chord |
| finite cylinder | `STEPS` tangent and secant steps | 0.7 mm at worst, 0.1 mm in 99 of 100 (links up to 0.6 m) |
| mesh | coal, floats only | coal's |
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from armwright.world.distance import distance_and_normal
from armwright.world.geometry import TINY, clamp, dot, length, nearest_to_point, nearest_to_segment
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Mesh, Shape, Sphere

STEPS = 8
"""Evaluations of the slope between the ends, for finite cylinders."""


def nearest_parameters(shape: Shape, a: Any, d: Any) -> list[Any]:
    """Return the values of s in 0…1 at which contact between the segment a + s·d and `shape` is to be looked for.

    Args:
        shape: any but a mesh (which `nearest_to_mesh` handles on floats).
        a: start of the segment (3,), base frame [m].
        d: end minus start (3,) [m].

    Returns:
        One value; two (both ends) for a half-space.
    """
    if isinstance(shape, HalfSpace):
        return [0.0, 1.0]
    if isinstance(shape, Sphere):
        return [nearest_to_point(a, d, np.array(shape.centre))]
    if isinstance(shape, Capsule):
        start = np.array(shape.start)
        return [nearest_to_segment(a, d, start, np.array(shape.end) - start)]
    if isinstance(shape, Cylinder) and math.isinf(shape.height):
        axis = np.array(shape.axis)
        upright = [k for k in range(3) if shape.axis[k] == 0.0]
        if len(upright) == 2:  # along a base axis: plane geometry
            centre = np.array([shape.centre[k] for k in upright])
            return [nearest_to_point(np.array([a[k] for k in upright]), np.array([d[k] for k in upright]), centre)]
        r = a - np.array(shape.centre)
        flat, across = r - dot(r, axis) * axis, d - dot(d, axis) * axis
        return [nearest_to_point(flat, across, np.zeros(3))]
    if isinstance(shape, Mesh):
        from armwright.world.mesh.distance import nearest_to_mesh

        return [nearest_to_mesh(shape, a, d)]
    if isinstance(shape, Box):
        R = np.array(shape.rotation)
        return [_nearest_to_box(0.5 * np.array(shape.size), R.T @ (a - np.array(shape.centre)), R.T @ d)]
    return [_least(shape, a, d)]


def _nearest_to_box(half: Any, a: Any, d: Any) -> Any:
    """Solve for s in a box's own axes: between the crossings of its planes, the squared distance has a linear slope.

    A stretch of zero slope (through the box, or along a face) counts with its middle.
    """

    def slope(s: Any) -> Any:
        p = a + s * d
        return dot([p[k] - clamp(p[k], -half[k], half[k]) for k in range(3)], d)

    zero = TINY * length(d)
    marks: list[Any] = [0.0, 1.0]
    for k in range(3):
        known = np.abs(d[k]) > TINY
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


def _least(shape: Shape, a: Any, d: Any) -> Any:
    """Find where the distance is least, by turns with the tangents at the bracket's ends and with secants of the slope.

    Tangents settle stretches on which the distance is straight (far away, and inside a box), secants the round ones
    (past an edge). What was tried and lay lowest is returned.
    """

    def look(s: Any) -> tuple[Any, Any]:
        far, n = distance_and_normal(shape, a + s * d)
        return far, dot(n, d)

    low: Any = 0.0
    high: Any = 1.0
    (far_low, at_low), (far_high, at_high) = look(0.0), look(1.0)
    bracket = (at_low < 0.0) & (at_high > 0.0)
    best = np.where(far_low < far_high, 0.0, 1.0)
    least = np.minimum(far_low, far_high)
    for k in range(STEPS):
        span = high - low
        inner = -at_low if k % 2 else (far_low - far_high) / np.where(span > TINY, span, 1.0) + at_high
        s = low + span * clamp(inner / np.where(bracket, at_high - at_low, 1.0), 0.01, 0.99)
        far, here = look(s)
        lower, left = far < least, here < 0.0
        best, least = np.where(lower, s, best), np.where(lower, far, least)
        low, far_low, at_low = (np.where(left, x, y) for x, y in ((s, low), (far, far_low), (here, at_low)))
        high, far_high, at_high = (np.where(left, y, x) for x, y in ((s, high), (far, far_high), (here, at_high)))
    return best
