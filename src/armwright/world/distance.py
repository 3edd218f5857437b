# SPDX-License-Identifier: Apache-2.0
"""Signed distance and outward normal of a shape at a point: positive outside, negative inside, traceable.

Where the nearest surface point is not unique (centres, axes, medial planes) one of the nearest is chosen by a fixed
rule; no point gives a NaN.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from armwright.spatial.vectors import dot
from armwright.types import Traced
from armwright.world.geometry import UP, direction, nearest_to_point
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Mesh, Shape, Sphere, kind_of


def distance_and_normal(shape: Shape, point: Traced) -> tuple[Any, Any]:
    """Return signed distance [m] and outward unit normal (3,) of `shape` at `point` (3,), base frame.

    The normal is the gradient of the distance wherever that exists.
    """
    if isinstance(shape, Sphere):
        far, n = direction(point - np.array(shape.centre), UP)
        return far - shape.radius, n
    if isinstance(shape, Capsule):
        start, along = np.array(shape.start), np.array(shape.end) - np.array(shape.start)
        s = nearest_to_point(start, along, point)
        far, n = direction(point - (start + s * along), _across(along))
        return far - shape.radius, n
    if isinstance(shape, HalfSpace):
        n = np.array(shape.normal)
        return dot(point - np.array(shape.point), n), n
    if isinstance(shape, Cylinder):
        return _cylinder(shape, point)
    if isinstance(shape, Box):
        R = np.array(shape.rotation)
        far, n = _box(R.T @ (point - np.array(shape.centre)), 0.5 * np.array(shape.size))
        return far, R @ n
    if isinstance(shape, Mesh):
        from armwright.world.mesh.distance import mesh_distance

        return mesh_distance(shape, point)
    raise AssertionError(kind_of(shape))


def signed_distance(shape: Shape, point: Traced) -> Traced:
    """Return the signed distance [m] of `shape` at `point` (3,): positive outside, negative inside."""
    return distance_and_normal(shape, point)[0]


def normal(shape: Shape, point: Traced) -> Traced:
    """Return the outward unit normal (3,) of `shape` at `point` (3,)."""
    return distance_and_normal(shape, point)[1]


def _across(along: Traced) -> Traced:
    """Return a unit vector at right angles to a constant vector."""
    across = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
    size = float(np.linalg.norm(across))
    return across / size if size > 0.0 else np.array(UP)


def _cylinder(shape: Cylinder, point: Traced) -> tuple[Any, Any]:
    axis = np.array(shape.axis)
    r = point - np.array(shape.centre)
    z = dot(r, axis)
    rho, across = direction(r - z * axis, _across(axis))
    side = rho - shape.radius
    if math.isinf(shape.height):
        return side, across
    cap = np.abs(z) - 0.5 * shape.height
    (far, (along_side, along_cap)) = _corner((side, cap))
    return far, along_side * across + (along_cap * np.where(z >= 0.0, 1.0, -1.0)) * axis


def _box(p: Traced, half: Traced) -> tuple[Any, Any]:
    far, n = _corner([np.abs(p[k]) - half[k] for k in range(3)])
    return far, np.array([n[k] * np.where(p[k] >= 0.0, 1.0, -1.0) for k in range(3)])


def _corner(beyond: Any) -> tuple[Any, Any]:
    """Return distance and normal from the overhangs beyond each pair of faces: all ≤ 0 inside.

    Outside the overhangs > 0 form a vector to the nearest edge or corner; inside, the nearest face counts (the first
    one if several are equally near).
    """
    out = np.array([np.maximum(x, 0.0) for x in beyond])
    nearest = beyond[0]
    for x in beyond[1:]:
        nearest = np.maximum(nearest, x)
    inner: list[Any] = []
    free: Any = 1.0
    for x in beyond:
        here = np.where(x >= nearest, free, 0.0)
        inner.append(here)
        free = free - here
    far, outer = direction(out, [1.0] + [0.0] * (len(beyond) - 1))
    n = np.array([np.where(far > 0.0, o, i) for o, i in zip(outer, inner, strict=True)])
    return far + np.minimum(nearest, 0.0), n
