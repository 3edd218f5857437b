# SPDX-License-Identifier: Apache-2.0
"""Distances of many segments from one shape, or from as many segments, in plain arrays: links along a whole motion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from armwright.world.segments import segment_box, segment_point, segment_segment
from armwright.world.shape_distance import nearest_parameters, signed_distance
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Mesh, Shape, Sphere, kind_of

if TYPE_CHECKING:
    from armwright.types import Array

SECTIONS = 40
"""Golden sections of a segment beside a cylinder: 0.618^40 of a metre is less than 0.01 µm."""
GOLDEN_SECTION = 0.5 * (math.sqrt(5.0) - 1.0)


def axis_gaps(shape: Shape, start: Array, end: Array, near: float = math.inf) -> Array:
    """Return how far segments are from a shape (N,) [m]: 0 or less where they enter it.

    Args:
        shape: any.
        start: of the segments, (N, 3), base frame [m].
        end: of the segments, (N, 3).
        near: of meshes alone: segments farther than this from the mesh's bounding box are told their distance from
            that box, which is a lower bound; meshes are looked at one segment at a time.
    """
    a, b = np.asarray(start, dtype=np.float64).T, np.asarray(end, dtype=np.float64).T
    if isinstance(shape, Sphere):
        gap = segment_point(a, b, np.array(shape.centre)[:, None]) - shape.radius
    elif isinstance(shape, Capsule):
        ends = (np.array(point)[:, None] for point in (shape.start, shape.end))
        gap = segment_segment(a, b, *ends) - shape.radius
    elif isinstance(shape, HalfSpace):
        normal = np.array(shape.normal)
        gap = np.minimum(normal @ a, normal @ b) - float(normal @ np.array(shape.point))
    elif isinstance(shape, Box):
        R, centre = np.array(shape.rotation), np.array(shape.centre)[:, None]
        gap = segment_box(R.T @ (a - centre), R.T @ (b - centre), 0.5 * np.array(shape.size))
    elif isinstance(shape, Cylinder):
        gap = _beside_cylinder(shape, a, b)
    elif isinstance(shape, Mesh):
        gap = axis_gaps(shape.bounding_box(), start, end)
        for k in np.flatnonzero(gap < near):
            p, d = a[:, k], b[:, k] - a[:, k]
            gap[k] = min(float(signed_distance(shape, p + s * d)) for s in nearest_parameters(shape, p, d))
    else:
        raise AssertionError(kind_of(shape))
    return np.array(gap, dtype=np.float64)


def pair_gaps(start: Array, end: Array, other_start: Array, other_end: Array) -> Array:
    """Return the distances (N,) between segments and as many others, all (N, 3) [m]."""
    return np.asarray(segment_segment(start.T, end.T, other_start.T, other_end.T))


def _beside_cylinder(shape: Cylinder, a: Array, b: Array) -> Array:
    """Find the least signed distance along segments (3, N): it is convex along each of them."""
    axis, centre = np.array(shape.axis), np.array(shape.centre)[:, None]

    def far(s: Array) -> Array:
        p = a + s * (b - a) - centre
        z = axis @ p
        side = np.linalg.norm(p - axis[:, None] * z, axis=0) - shape.radius
        if math.isinf(shape.height):
            return np.asarray(side)
        cap = np.abs(z) - 0.5 * shape.height
        return np.asarray(
            np.hypot(np.maximum(side, 0.0), np.maximum(cap, 0.0)) + np.minimum(np.maximum(side, cap), 0.0)
        )

    low, high = np.zeros(a.shape[1]), np.ones(a.shape[1])
    for _ in range(SECTIONS):
        left, right = high - GOLDEN_SECTION * (high - low), low + GOLDEN_SECTION * (high - low)
        lower = far(left) < far(right)
        low, high = np.where(lower, low, left), np.where(lower, right, high)
    return np.minimum(np.minimum(far(low), far(high)), np.minimum(far(np.zeros_like(low)), far(np.ones_like(low))))
