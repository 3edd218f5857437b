# SPDX-License-Identifier: Apache-2.0
"""Faces of boxes that are no surface because another shape stands against them.

A point inside a box is pushed out through the nearest face. Where two boxes share a face, or overlap a little, that
face leads into the other box and not out: each would push the point towards the seam, where neither is felt, and a tool
without width would pass through a wall of two boxes. So a face does not count where another shape lies behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np

from armwright.graph.program import trace
from armwright.graph.tape import Tape
from armwright.types import Traced
from armwright.world.distance import signed_distance
from armwright.world.geometry import direction
from armwright.world.shapes import Box, HalfSpace, Mesh, Shape

WELD = 1e-6
"""Gaps up to this are none [m]."""
GRID = 33  # points along a face's edges at which a round shape is looked for
CORNERS = [0, GRID - 1, -GRID, -1]
ROUNDING = 1e-9  # [m]


class Cover(NamedTuple):
    """What stands against a face of a box: `axis` 0…2, `side` ±1; nothing in `shapes` if all of it is covered."""

    axis: int
    side: float
    shapes: tuple[Shape, ...]


@lru_cache(maxsize=4096)
def covers_of(box: Box, others: tuple[Shape, ...]) -> tuple[Cover, ...]:
    """Return the faces of a box that other shapes (any but meshes) stand against or reach over, in part or in all."""
    near = [shape for shape in others if shape != box and _near(box, shape)]
    out = []
    for axis in range(3 if near else 0):
        for side in (-1.0, 1.0):
            points = _face(box, axis, side)
            if any(_distances(shape, points[CORNERS]).max() <= ROUNDING for shape in near):  # convex: all between, too
                out.append(Cover(axis, side, ()))
            elif partly := tuple(shape for shape in near if _may_cover(shape, points)):
                out.append(Cover(axis, side, partly))
    return tuple(out)


@lru_cache(maxsize=1024)
def _tape(shape: Shape) -> Tape:
    return Tape(trace(lambda point: np.array([signed_distance(shape, point)]), {"point": (3,)}))


def _distances(shape: Shape, points: Traced) -> Traced:
    """Signed distances (m,) of a shape at points (m, 3)."""
    out = np.empty((len(points), 1))
    _tape(shape).run([np.ascontiguousarray(points)], [out])
    return out[:, 0]


def _may_cover(shape: Shape, face: Any) -> bool:
    """Whether a shape may reach over a point of a face; False is certain."""
    if isinstance(shape, Box):
        return _meet(face[CORNERS], shape)
    if isinstance(shape, HalfSpace):
        return bool(_distances(shape, face[CORNERS]).min() < -ROUNDING)
    apart = float(np.linalg.norm(face[GRID + 1] - face[0]))
    return bool(_distances(shape, face).min() < 0.5 * apart)  # no point of the face is farther from one of these


def _near(box: Box, shape: Shape) -> bool:
    if isinstance(shape, Mesh):
        return False
    reach = 0.5 * float(np.linalg.norm(box.size)) + 2.0 * WELD
    return bool(signed_distance(shape, np.array(box.centre)) <= reach)


def _face(box: Box, axis: int, side: float) -> Any:
    """Points (GRID², 3) just outside a face, base frame, row by row."""
    half = 0.5 * np.array(box.size)
    t = np.linspace(-1.0, 1.0, GRID)
    first, second = (k for k in range(3) if k != axis)
    local = np.zeros((GRID, GRID, 3))
    local[..., axis] = side * (half[axis] + WELD)
    local[..., first], local[..., second] = t[:, None] * half[first], t * half[second]
    return np.array(box.centre) + local.reshape(-1, 3) @ np.array(box.rotation).T


def _meet(corners: Any, box: Box) -> bool:
    """Whether a rectangle and a box have a point in common: no axis separates them."""
    edges, R = [corners[1] - corners[0], corners[2] - corners[0]], np.array(box.rotation)
    axes = [*R.T, np.cross(*edges), *(np.cross(e, x) for e in edges for x in R.T)]
    for axis in axes:
        size = float(np.linalg.norm(axis))
        if size < ROUNDING * float(np.linalg.norm(edges[0]) + np.linalg.norm(edges[1])):
            continue
        along = axis / size
        mine, middle = corners @ along, float(along @ np.array(box.centre))
        reach = 0.5 * float(np.abs(R.T @ along) @ np.array(box.size))
        if max(mine.min() - middle, middle - mine.max()) - reach > -ROUNDING:
            return False
    return True


def covered_distance(box: Box, point: Traced, covers: Sequence[Cover]) -> tuple[Any, Any]:
    """Return signed distance [m] and outward normal (3,) of a box at a point (3,), base frame, through open faces only.

    As `distance_and_normal`; inside, the nearest face that is open at the point's foot on it counts, or the nearest of
    all if none is. A covered face is felt `WELD` beyond itself, so that a seam belongs to both sides.
    """
    R, centre, half = np.array(box.rotation), np.array(box.centre), 0.5 * np.array(box.size)
    p = R.T @ (point - centre)
    shut: dict[tuple[int, float], Any] = {}
    for cover in covers:
        foot = np.array([p[k] if k != cover.axis else cover.side * (half[k] + WELD) + 0.0 * p[k] for k in range(3)])
        here: Any = 0.0 if cover.shapes else 1.0
        for shape in cover.shapes:
            here = np.where(signed_distance(shape, centre + R @ foot) < 0.0, 1.0, here)
        shut[cover.axis, cover.side] = here
    places = [(axis, side) for axis in range(3) for side in (-1.0, 1.0)]
    enclosed: Any = 1.0
    for place in places:
        enclosed = enclosed * shut.get(place, 0.0)
    beyond: dict[tuple[int, float], Any] = {}
    ways: dict[tuple[int, float], Any] = {}  # the same of faces that lead out
    for axis, side in places:
        here = shut.get((axis, side), 0.0)
        beyond[axis, side] = side * p[axis] - half[axis] - WELD * here
        ways[axis, side] = np.where(here * (1.0 - enclosed) > 0.5, -np.inf, beyond[axis, side])
    nearest: Any = reduce(np.maximum, ways.values())
    inner: list[Any] = [0.0, 0.0, 0.0]
    free: Any = 1.0
    for axis, side in places:
        chosen = np.where(ways[axis, side] >= nearest, free, 0.0)
        inner[axis] = inner[axis] + side * chosen
        free = free - chosen
    out = [np.maximum(beyond[k, 1.0], 0.0) - np.maximum(beyond[k, -1.0], 0.0) for k in range(3)]
    far, outer = direction(np.array(out), (1.0, 0.0, 0.0))
    n = np.array([np.where(far > 0.0, o, i) for o, i in zip(outer, inner, strict=True)])
    return far + np.where(far > 0.0, 0.0, np.minimum(nearest, 0.0)), R @ n
