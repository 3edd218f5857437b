# SPDX-License-Identifier: Apache-2.0
"""Which shapes make one solid: boxes that are a box together are merged, shapes that meet form clusters.

Gaps of up to 2 `WELD` count as closed: every shape of a cluster is grown by `WELD` (`grown`), so that faces which abut
bury each other and no seam needs a rule of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from armwright.types import Array
from armwright.world.shape_distance import distance_and_normal
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Mesh, Shape, Sphere, kind_of, vector

WELD = 6e-7
"""How far a shape of a cluster is grown [m]: gaps of 0, 1e-9 and 1e-6 m close, and 2e-6 m stays open."""
CLOSE = 2.0 * WELD + 1e-12
"""Widest gap that counts as closed, with rounding [m]."""
SAME_COORDINATE = 1e-9
"""Difference [m, or of a direction] at which two boxes still have the same axes and the same faces."""
PROJECTIONS = 400
"""Most projections in turn onto two convex shapes, in search of a plane between them."""


@dataclass(frozen=True)
class Solid:
    """A shape, and the numbers of the world's shapes that it stands for: several where boxes were merged."""

    shape: Shape
    parts: tuple[int, ...]


def grown(shape: Shape, by: float) -> Shape:
    """Return a shape whose faces lie farther out by `by` [m]; round edges stay round, sharp ones sharp."""
    if isinstance(shape, (Sphere, Capsule)):
        return replace(shape, radius=shape.radius + by)
    if isinstance(shape, Cylinder):
        return replace(shape, radius=shape.radius + by, height=shape.height + 2.0 * by)
    if isinstance(shape, Box):
        return replace(shape, size=vector(np.array(shape.size) + 2.0 * by, "size"))
    if isinstance(shape, HalfSpace):
        return replace(shape, point=vector(np.array(shape.point) + by * np.array(shape.normal), "point"))
    raise AssertionError(kind_of(shape))


def bounds(shape: Shape) -> tuple[Array, Array]:
    """Return the lowest and the highest coordinates (3,) of a shape; infinite where it has no end."""
    if isinstance(shape, Sphere):
        centre, reach = np.array(shape.centre), np.full(3, shape.radius)
    elif isinstance(shape, Capsule):
        ends = np.array([shape.start, shape.end])
        return ends.min(axis=0) - shape.radius, ends.max(axis=0) + shape.radius
    elif isinstance(shape, Cylinder):
        axis = np.array(shape.axis)
        across = shape.radius * np.sqrt(np.maximum(1.0 - axis * axis, 0.0))
        along = np.where(np.abs(axis) > 0.0, math.inf, 0.0) if math.isinf(shape.height) else np.abs(axis) * shape.height
        centre, reach = np.array(shape.centre), across + 0.5 * along
    elif isinstance(shape, Box):
        centre, reach = np.array(shape.centre), np.abs(np.array(shape.rotation)) @ (0.5 * np.array(shape.size))
    else:
        return np.full(3, -math.inf), np.full(3, math.inf)
    return centre - reach, centre + reach


def _lowest(shape: Shape, n: Array) -> float:
    """Return the least n·y over the points y of a shape; −inf where it has none."""
    if isinstance(shape, Sphere):
        return float(n @ shape.centre) - shape.radius
    if isinstance(shape, Capsule):
        return float(min(n @ shape.start, n @ shape.end)) - shape.radius
    if isinstance(shape, Box):
        return float(n @ shape.centre) - 0.5 * float(np.abs(np.array(shape.rotation).T @ n) @ shape.size)
    if isinstance(shape, Cylinder):
        along = abs(float(n @ shape.axis))
        across = shape.radius * math.sqrt(max(1.0 - along * along, 0.0))
        if math.isinf(shape.height):
            return -math.inf if along > SAME_COORDINATE else float(n @ shape.centre) - across
        return float(n @ shape.centre) - across - 0.5 * along * shape.height
    assert isinstance(shape, HalfSpace)
    return float(n @ shape.point) if float(n @ shape.normal) < -1.0 + SAME_COORDINATE else -math.inf


def boxes_apart(a: Box, b: Box) -> float:
    """Return the widest gap between two boxes over the 15 axes that can separate them; ≤ 0: they meet."""
    A, B = np.array(a.rotation), np.array(b.rotation)
    x, y = A.T[:, None, :], B.T[None, :, :]
    across = x[..., [1, 2, 0]] * y[..., [2, 0, 1]] - x[..., [2, 0, 1]] * y[..., [1, 2, 0]]
    across = across.reshape(-1, 3)
    size = np.sqrt(np.sum(across * across, axis=1))
    crossed = size > SAME_COORDINATE
    n = np.concatenate([A.T, B.T, across[crossed] / size[crossed, None]])
    reach = 0.5 * (np.abs(n @ A) @ np.array(a.size) + np.abs(n @ B) @ np.array(b.size))
    return float((np.abs(n @ (np.array(b.centre) - np.array(a.centre))) - reach).max())


def meet(a: Shape, b: Shape) -> bool:
    """Return whether two shapes overlap, abut, or leave a gap of at most 2 `WELD`.

    Round shapes meet unless a plane between them is found: shapes that are counted together without touching get the
    same depth, only by more operations.
    """
    if isinstance(a, Box) and isinstance(b, Box):
        return boxes_apart(a, b) <= CLOSE
    for one, other in ((a, b), (b, a)):
        if isinstance(one, HalfSpace):
            n = np.array(one.normal)
            return _lowest(other, n) - float(n @ one.point) <= CLOSE
        if isinstance(one, Sphere):
            return float(distance_and_normal(other, np.array(one.centre))[0]) <= one.radius + CLOSE
    return not _parted(a, b)


def _parted(a: Shape, b: Shape) -> bool:
    """Return whether a plane was found that parts two convex shapes by more than 2 `WELD`.

    Projections onto one and the other in turn come nearer and nearer to the gap, slowly where surfaces are nearly
    parallel; each gives the normal of a plane to try.
    """
    assert isinstance(a, Box | Cylinder | Capsule), "half-spaces and spheres have a closed form, meshes no clusters"
    p = np.array(a.start if isinstance(a, Capsule) else a.centre)
    for k in range(PROJECTIONS):
        far, normal = distance_and_normal(b if k % 2 == 0 else a, p)
        if far <= 0.0:
            return False
        n = np.asarray(normal, dtype=np.float64)
        towards_b = -n if k % 2 == 0 else n
        if _lowest(b, towards_b) + _lowest(a, -towards_b) > CLOSE:
            return True
        p = p - float(far) * n
    return False


def _surface(shape: Shape) -> tuple[float, float, float]:
    return shape.stiffness, shape.damping, shape.friction


def _box_of_both(a: Box, b: Box) -> Box | None:
    """Return the box that two boxes are together (or the one that holds the other); None if they are none."""
    R = np.array(a.rotation)
    turn = np.abs(R.T @ np.array(b.rotation))
    if _surface(a) != _surface(b) or np.abs(turn - np.round(turn)).max() > SAME_COORDINATE:
        return None
    half, other = 0.5 * np.array(a.size), np.round(turn) @ (0.5 * np.array(b.size))
    middle = R.T @ (np.array(b.centre) - np.array(a.centre))
    low, high = np.minimum(-half, middle - other), np.maximum(half, middle + other)
    if (middle - other >= -half - SAME_COORDINATE).all() and (middle + other <= half + SAME_COORDINATE).all():
        return a
    if (middle - other <= -half + SAME_COORDINATE).all() and (middle + other >= half - SAME_COORDINATE).all():
        return b
    same = (np.abs(middle - other + half) <= SAME_COORDINATE) & (np.abs(middle + other - half) <= SAME_COORDINATE)
    if same.sum() != 2 or (np.abs(middle) - half - other)[~same][0] > CLOSE:
        return None
    centre = np.array(a.centre) + R @ (0.5 * (low + high))
    return replace(a, centre=vector(centre, "centre"), size=vector(high - low, "size"))


@lru_cache(maxsize=256)
def solids_of(shapes: tuple[Shape, ...]) -> tuple[Solid, ...]:
    """Return the shapes with boxes merged whose union is a box with the same surface: a wall of bricks has no seams.

    A shape that stands alone stays what it is. Order: of the first part.
    """
    solids = [Solid(shape, (k,)) for k, shape in enumerate(shapes)]
    merged = True
    while merged:
        merged, gone = False, set[int]()
        for i, j in near_pairs([solid.shape for solid in solids]):
            a, b = solids[i].shape, solids[j].shape
            if i in gone or j in gone or not (isinstance(a, Box) and isinstance(b, Box)):
                continue
            both = _box_of_both(a, b)
            if both is not None:
                parts = tuple(sorted(solids[i].parts + solids[j].parts))
                solids[i], merged = Solid(replace(both, name=a.name), parts), True
                gone.add(j)
        solids = [solid for k, solid in enumerate(solids) if k not in gone]
    return tuple(solids)


def near_pairs(shapes: Sequence[Shape]) -> list[tuple[int, int]]:
    """Return the pairs i < j of shapes whose bounds meet or leave a gap of at most 2 `WELD`; meshes are left out."""
    solid = [k for k, shape in enumerate(shapes) if not isinstance(shape, Mesh)]
    if not solid:
        return []
    low, high = (np.array(side) for side in zip(*(bounds(shapes[k]) for k in solid), strict=True))
    out = []
    for i in range(len(solid)):
        near = (low[i + 1 :] <= high[i] + CLOSE).all(axis=1) & (high[i + 1 :] >= low[i] - CLOSE).all(axis=1)
        out += [(solid[i], solid[i + 1 + int(j)]) for j in np.flatnonzero(near)]
    return out


def neighbours_of(shapes: Sequence[Shape]) -> list[list[int]]:
    """Return for every shape the numbers of those that it meets, in order; meshes meet nothing."""
    out: list[list[int]] = [[] for _ in shapes]
    for i, j in near_pairs(shapes):
        if meet(shapes[i], shapes[j]):
            out[i].append(j)
            out[j].append(i)
    return [sorted(numbers) for numbers in out]


@lru_cache(maxsize=256)
def clusters_of(shapes: tuple[Shape, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of shapes that hang together, one tuple per cluster, in order of the first; meshes alone."""
    neighbours, seen, out = neighbours_of(shapes), set[int](), list[tuple[int, ...]]()
    for k in range(len(shapes)):
        if k in seen:
            continue
        cluster, todo = {k}, [k]
        while todo:
            fresh = set(neighbours[todo.pop()]) - cluster
            cluster |= fresh
            todo += fresh
        seen |= cluster
        out.append(tuple(sorted(cluster)))
    return tuple(out)


def beyond(shape: Shape, Y: Array) -> Array:
    """Return how far points (m, 3) lie beyond the faces of a shape (m,): < 0 inside; never more than the distance."""
    if isinstance(shape, Sphere):
        return np.asarray(np.linalg.norm(Y - np.array(shape.centre), axis=1) - shape.radius)
    if isinstance(shape, Capsule):
        a, d = np.array(shape.start), np.array(shape.end) - np.array(shape.start)
        s = np.clip((Y - a) @ d / max(float(d @ d), 1e-300), 0.0, 1.0)
        return np.asarray(np.linalg.norm(Y - a - s[:, None] * d, axis=1) - shape.radius)
    if isinstance(shape, Cylinder):
        r, axis = Y - np.array(shape.centre), np.array(shape.axis)
        z = r @ axis
        side = np.linalg.norm(r - z[:, None] * axis, axis=1) - shape.radius
        return np.asarray(np.maximum(side, np.abs(z) - 0.5 * shape.height))
    if isinstance(shape, Box):
        p = (Y - np.array(shape.centre)) @ np.array(shape.rotation)
        return np.asarray((np.abs(p) - 0.5 * np.array(shape.size)).max(axis=1))
    assert isinstance(shape, HalfSpace)
    return np.asarray((Y - np.array(shape.point)) @ np.array(shape.normal))
