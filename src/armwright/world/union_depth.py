# SPDX-License-Identifier: Apache-2.0
"""How deep a point is in the union of shapes that meet, and the way out: the nearest point outside of all of them.

The ball of radius δ about x lies in the union and touches its surface at y. There y lies either on a smooth piece of
one shape, and is the foot of x on it, or on a crease of two, where the material turns inwards; a convex edge is never
nearest from inside. So δ is the least of

    feet      x behind a face, or in a round shape: the foot on it, within its bounds, not covered by another shape
    creases   the nearest point of the lines, circles and bends of `creases_of`, and the points where they end

Every candidate is a point of the surface, so that none can make δ too small. The shapes are grown by W = `WELD` first,
and W is taken off again: depth d − W with d in the grown union. On faces that is the depth in the shapes themselves; at
a crease that opens by the angle θ it is more by W (1/sin(θ/2) − 1), 0.25 µm at a right angle.

With different stiffness k the candidate of least k (d − W)² counts, and a crease has the softer one's: the energy
½ k (d − W)² is then continuous.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from armwright.spatial.linear import cross, dot
from armwright.types import Condition, Scalar, Traced
from armwright.world.crease_curves import Bend, Creases, Edge, Owners, Ring, creases_of
from armwright.world.segments import direction, nearest_to_point
from armwright.world.shape_chords import BURIED, chord, open_stretches
from armwright.world.shape_distance import distance_and_normal
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Shape, Sphere
from armwright.world.solid_clusters import WELD, beyond, boxes_apart, grown, neighbours_of
from armwright.world.surface_pieces import Flat, Piece, Side, bending, level, on_piece, pieces_of

NEWTON_STEPS = 4
"""Steps of Newton's method along a bend, from the circle near it: below 1e-12 m in random unions."""
ON_BOTH = 1e-9
"""How far from one of its two surfaces [m] a point of a bend may lie to count."""


FLAT_SHARE = 0.02
"""Least curvature of the distance along a bend, as a share of that to a straight line: near the centre of curvature
the distance is flat, and a longer step would leave the bend."""


class Face(NamedTuple):
    """A smooth piece, and the shapes that may cover parts of it."""

    piece: Piece
    covers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Union:
    """Shapes that hang together: as they are, grown by `WELD`, their open faces and creases."""

    shapes: tuple[Shape, ...]
    grown: tuple[Shape, ...]
    faces: tuple[Face, ...]
    creases: Creases

    @property
    def candidates(self) -> int:
        """Number of points that are compared at every call."""
        return len(self.faces) + len(self.creases)

    @property
    def one_stiffness(self) -> bool:
        """Return whether all shapes are equally stiff."""
        return len({shape.stiffness for shape in self.shapes}) == 1


class Exit(NamedTuple):
    """The way out of a union at a point x: whether x is in contact, depth [m], outward normal (3,), owner's number."""

    inside: Any
    depth: Scalar
    normal: Traced
    owner: Scalar


@lru_cache(maxsize=128)
def union_of(shapes: tuple[Shape, ...]) -> Union:
    """Return the union of shapes (any but meshes), with its open faces and creases."""
    large = tuple(grown(shape, WELD) for shape in shapes)
    near = neighbours_of(shapes)
    faces = [_open_face(piece, near[k], large) for k, shape in enumerate(large) for piece in pieces_of(shape, k)]
    creases = creases_of(large, near)
    creases.edges += _seams(large, [shape.stiffness for shape in shapes], near)
    return Union(shapes, large, tuple(face for face in faces if face is not None), creases)


def _open_face(piece: Piece, near: list[int], shapes: tuple[Shape, ...]) -> Face | None:
    """Return a piece with what may cover it; None if one shape covers all of it."""
    if not isinstance(piece, Flat) or not math.isfinite(piece.half[0]):
        return Face(piece, tuple(near))
    u, v = piece.half[0] * piece.u, piece.half[1] * piece.v
    corners = np.array([piece.centre + a * u + b * v for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
    # the box's own third axis: a product of the other two would double the rounding of a matrix that was typed in
    third = piece.normal * np.sign(np.cross(piece.u, piece.v) @ piece.normal)
    rotation = np.stack([piece.u, piece.v, third], axis=1)
    turned = cast("Any", tuple(tuple(row) for row in rotation.tolist()))
    size = (2.0 * piece.half[0], 2.0 * piece.half[1], 1e-15)
    plate = Box(name="plate", centre=cast("Any", tuple(piece.centre)), size=size, rotation=turned)
    covers = []
    for k in near:
        shape = shapes[k]
        if beyond(shape, corners).max() <= BURIED and beyond(shape, piece.centre[None])[0] < -BURIED:
            return None  # convex: all between the corners as well
        if isinstance(shape, Box):
            hidden = boxes_apart(plate, shape) < -BURIED
        elif isinstance(shape, HalfSpace):
            hidden = bool(beyond(shape, corners).min() < -BURIED)
        else:
            hidden = True
        if hidden:
            covers.append(k)
    return Face(piece, tuple(covers))


def _seams(shapes: tuple[Shape, ...], stiffness: list[float], near: list[list[int]]) -> list[Edge]:
    """Return edges of boxes that lie against a stiffer shape: beyond them its face is softer than what goes on."""
    out = []
    for i, shape in enumerate(shapes):
        stiffer = [j for j in near[i] if stiffness[j] > stiffness[i]]
        if not isinstance(shape, Box) or not stiffer:
            continue
        R, half = np.array(shape.rotation), 0.5 * np.array(shape.size)
        for k in range(3):
            a, b = (k + 1) % 3, (k + 2) % 3
            for x in (-half[a], half[a]):
                for y in (-half[b], half[b]):
                    p, d = np.array(shape.centre) + x * R[:, a] + y * R[:, b], R[:, k]
                    touching = [chord(shapes[j], p, d, -4.0 * WELD) for j in stiffer]
                    hidden = [chord(shapes[j], p, d) for j in near[i]]
                    for low, high in touching:
                        low, high = max(low, -half[k]), min(high, half[k])
                        spans = open_stretches(low, high, hidden) if high > low else []
                        out += [Edge((i, i), p + s * d, (e - s) * d) for s, e in spans]
    return out


def buried(shape: Shape, y: Traced) -> Condition:
    """Return whether a point (3,) lies deeper than `BURIED` in a shape, traceable."""
    if isinstance(shape, HalfSpace):
        return dot(y - np.array(shape.point), np.array(shape.normal)) < -BURIED
    if isinstance(shape, Box):
        p = np.array(shape.rotation).T @ (y - np.array(shape.centre))
        half = 0.5 * np.array(shape.size) - BURIED
        return (np.abs(p[0]) < half[0]) & (np.abs(p[1]) < half[1]) & (np.abs(p[2]) < half[2])
    if isinstance(shape, Cylinder):
        r, axis = y - np.array(shape.centre), np.array(shape.axis)
        z = dot(r, axis)
        flat = r - z * axis
        around = dot(flat, flat) < (shape.radius - BURIED) ** 2
        return around if math.isinf(shape.height) else around & (np.abs(z) < 0.5 * shape.height - BURIED)
    if isinstance(shape, Capsule):
        start, along = np.array(shape.start), np.array(shape.end) - np.array(shape.start)
        r = y - (start + nearest_to_point(start, along, y) * along)
    else:
        assert isinstance(shape, Sphere)
        r = y - np.array(shape.centre)
    return dot(r, r) < (shape.radius - BURIED) ** 2


class _Nearest:
    """The best candidate so far: its score, the way e (3,) to it, and its owner."""

    def __init__(self, union: Union, x: Traced) -> None:
        self.union, self.x = union, x
        self.score: Any = math.inf
        self.e: list[Any] = [0.0, 0.0, 0.0]
        self.owner: Any = 0.0
        self.first = True

    def softer(self, owners: Owners) -> int:
        return min(owners, key=lambda k: (self.union.shapes[k].stiffness, k))

    def offer(self, owners: Owners, e: Traced, square: Scalar, valid: Condition) -> None:
        """Compare a candidate at x + e, |e|² = square."""
        owner = self.softer(owners)
        score = square
        if not self.union.one_stiffness:
            far = np.sqrt(np.maximum(square, WELD * WELD))
            score = math.sqrt(self.union.shapes[owner].stiffness) * (far - WELD)
        if valid is not True:
            score = np.where(valid, score, math.inf)
        if self.first:
            self.score, self.e, self.owner, self.first = score, list(e), float(owner), False
            return
        better = score < self.score
        self.score = np.where(better, score, self.score)
        self.e = [np.where(better, a, b) for a, b in zip(e, self.e, strict=True)]
        self.owner = np.where(better, float(owner), self.owner)

    def covered(self, y: Traced, covers: tuple[int, ...], valid: Condition) -> Condition:
        for k in covers:
            shown = ~buried(self.union.grown[k], y)
            valid = shown if valid is True else valid & shown
        return valid


def way_out(union: Union, x: Traced) -> Exit:
    """Return the way out of a union at x (3,), base frame; depth and normal mean nothing where `inside` is False."""
    best = _Nearest(union, x)
    inside: Any = False
    local: dict[int, Any] = {}
    for k, shape in enumerate(union.grown):
        if isinstance(shape, Box):
            p = np.array(shape.rotation).T @ (x - np.array(shape.centre))
            half = 0.5 * np.array(shape.size)
            here = (np.abs(p[0]) < half[0]) & (np.abs(p[1]) < half[1]) & (np.abs(p[2]) < half[2])
        else:
            far, n = distance_and_normal(shape, x)
            here = far < 0.0
            local[k] = (far, n)
        inside = here if inside is False else inside | here
    for face in union.faces:
        _foot(best, face, local)
    for edge in union.creases.edges:
        e = edge.start - x + nearest_to_point(edge.start, edge.along, x) * edge.along
        best.offer(edge.owners, e, dot(e, e), True)
    for owners, corner in union.creases.corners:
        e = corner - x
        best.offer(owners, e, dot(e, e), True)
    for ring in union.creases.rings:
        _on_ring(best, ring)
    for bend in union.creases.bends:
        _on_bend(best, bend)
    d, n = direction(np.array(best.e), (0.0, 0.0, 1.0))
    return Exit(inside & (d > WELD), d - WELD, n, best.owner)


def _both(a: Condition, b: Condition) -> Condition:
    return b if a is True else a if b is True else a & b


def _foot(best: _Nearest, face: Face, local: dict[int, Any]) -> None:
    """Offer the foot of x on a smooth piece."""
    piece, x = face.piece, best.x
    shape = best.union.grown[piece.owner]
    if isinstance(shape, (Sphere, Capsule)):
        if piece is not next(f.piece for f in best.union.faces if f.piece.owner == piece.owner):
            return  # one foot for all pieces
        far, n = local[piece.owner]
        s, valid = -far, far < 0.0
    elif isinstance(piece, Flat):
        n = piece.normal
        s = dot(piece.centre - x, n)
        valid = _both(s > 0.0, on_piece(piece, x, 0.0))
    else:
        assert isinstance(piece, Side)
        r = x - piece.centre
        z = dot(r, piece.axis)
        rho, n = direction(r - z * piece.axis, np.linalg.qr(np.stack([piece.axis, *np.eye(3)], axis=1))[0][:, 1])
        s = piece.radius - rho
        valid = s > 0.0 if math.isinf(piece.half) else (s > 0.0) & (np.abs(z) <= piece.half)
    e = s * n
    best.offer((piece.owner, piece.owner), e, s * s, best.covered(x + e, face.covers, valid))


def _on_ring(best: _Nearest, ring: Ring) -> None:
    """Offer the nearest point of a circle, if it is open there."""
    q = best.x - ring.centre
    h = dot(q, ring.normal)
    aside = np.cross(ring.normal, np.eye(3)[int(np.argmin(np.abs(ring.normal)))])
    _, unit = direction(q - h * ring.normal, aside / np.linalg.norm(aside))
    valid: Any = True
    for k, (middle, least) in enumerate(ring.windows):
        here = dot(unit, middle) >= least
        valid = here if k == 0 else valid | here
    e = ring.radius * unit - q
    best.offer(ring.owners, e, dot(e, e), valid)


def _on_bend(best: _Nearest, bend: Bend) -> None:
    """Offer the nearest point of a bend: least |y − x| with y on two quadrics, by Newton's method with multipliers."""
    x = best.x
    if math.isinf(bend.radius):
        y = bend.centre + dot(x - bend.centre, bend.normal) * bend.normal
    else:
        q = x - bend.centre
        aside = np.cross(bend.normal, np.eye(3)[int(np.argmin(np.abs(bend.normal)))])
        unit = direction(q - dot(q, bend.normal) * bend.normal, aside / np.linalg.norm(aside))[1]
        y = bend.centre + bend.radius * unit
    for _ in range(NEWTON_STEPS):
        y = _newton(bend.first, bend.second, x, y, along=True)
    y = _newton(bend.first, bend.second, x, y, along=False)
    valid = _both(on_piece(bend.first, y, BURIED), on_piece(bend.second, y, BURIED))
    for piece in (bend.first, bend.second):
        f, _ = level(piece, y)
        scale = 1.0 if isinstance(piece, Flat) else piece.radius
        valid = _both(valid, np.abs(f) < ON_BOTH * scale)
    e = y - x
    best.offer(bend.owners, e, dot(e, e), best.covered(y, bend.covers, valid))


def _newton(first: Piece, second: Piece, x: Traced, y: Traced, *, along: bool) -> Traced:
    """Return a better y (3,): onto both quadrics, and along their common tangent towards the nearest point to x."""
    (f, g), (h, k) = level(first, y), level(second, y)
    gg, gk, kk = dot(g, g), dot(g, k), dot(k, k)
    determinant = gg * kk - gk * gk
    known = determinant > 1e-20 * gg * kk + 1e-300
    inverse = np.where(known, 1.0 / np.where(known, determinant, 1.0), 0.0)
    a, b = (kk * f - gk * h) * inverse, (gg * h - gk * f) * inverse
    back = a * g + b * k
    if not along:
        return y - back
    t, e = cross(g, k), y - x
    eg, ek = dot(e, g), dot(e, k)
    first_force, second_force = -(kk * eg - gk * ek) * inverse, -(gg * ek - gk * eg) * inverse
    tt = dot(t, t)
    curved = tt + first_force * bending(first, t) + second_force * bending(second, t)
    curved = np.maximum(curved, FLAT_SHARE * tt)
    step = np.where(known, -dot(t, e) / np.where(known, curved, 1.0), 0.0)
    return y - back + step * t
