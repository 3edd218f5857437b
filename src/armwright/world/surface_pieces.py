# SPDX-License-Identifier: Apache-2.0
"""The smooth pieces that surfaces of shapes are made of: flat faces, sides of cylinders, balls.

A piece lies on a quadric with constant second derivatives, f(y) = 0:

    flat   f = n·(y − c)                       ∇f = n            ∇²f = 0
    side   f = ½(|r|² − (a·r)² − ρ²), r = y − c   ∇f = r − (a·r) a   ∇²f = 1 − a aᵀ
    ball   f = ½(|r|² − ρ²)                    ∇f = r            ∇²f = 1
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from armwright.spatial.linear import dot
from armwright.types import Array, Condition, Scalar, Traced
from armwright.world.segments import basis
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Shape, Sphere


@dataclass(frozen=True, eq=False)
class Flat:
    """Face of shape `owner`: through `centre` with outward `normal`; |u·r| and |v·r| ≤ `half`, or |r| ≤ `radius`."""

    owner: int
    centre: Array
    normal: Array
    u: Array
    v: Array
    half: tuple[float, float] = (math.inf, math.inf)
    radius: float = math.inf


@dataclass(frozen=True, eq=False)
class Side:
    """Side of a cylinder about `centre` along `axis`, |a·r| ≤ `half`."""

    owner: int
    centre: Array
    axis: Array
    radius: float
    half: float = math.inf


@dataclass(frozen=True, eq=False)
class BallPiece:
    """Sphere about `centre`; where `axis` is given, only its half with axis·r ≥ 0."""

    owner: int
    centre: Array
    radius: float
    axis: Array | None = None


Piece = Flat | Side | BallPiece


def pieces_of(shape: Shape, owner: int) -> list[Piece]:
    """Return the smooth pieces of a shape's surface."""
    if isinstance(shape, Sphere):
        return [BallPiece(owner, np.array(shape.centre), shape.radius)]
    if isinstance(shape, HalfSpace):
        B = basis(np.array(shape.normal))
        return [Flat(owner, np.array(shape.point), np.array(shape.normal), B[:, 0], B[:, 1])]
    if isinstance(shape, Box):
        R, half, out = np.array(shape.rotation), 0.5 * np.array(shape.size), list[Piece]()
        for k in range(3):
            a, b = (k + 1) % 3, (k + 2) % 3
            for side in (-1.0, 1.0):
                centre = np.array(shape.centre) + side * half[k] * R[:, k]
                out.append(Flat(owner, centre, side * R[:, k], R[:, a], R[:, b], (float(half[a]), float(half[b]))))
        return out
    if isinstance(shape, Cylinder):
        axis, centre, half_height = np.array(shape.axis), np.array(shape.centre), 0.5 * shape.height
        caps: list[Piece] = []
        if math.isfinite(half_height):
            B = basis(axis)
            for side in (-1.0, 1.0):
                end = centre + side * half_height * axis
                caps.append(Flat(owner, end, side * axis, B[:, 0], B[:, 1], radius=shape.radius))
        return [Side(owner, centre, axis, shape.radius, half_height), *caps]
    assert isinstance(shape, Capsule)
    start, end = np.array(shape.start), np.array(shape.end)
    length = float(np.linalg.norm(end - start))
    if length < 1e-12:
        return [BallPiece(owner, start, shape.radius)]
    axis = (end - start) / length
    return [
        Side(owner, 0.5 * (start + end), axis, shape.radius, 0.5 * length),
        BallPiece(owner, start, shape.radius, -axis),
        BallPiece(owner, end, shape.radius, axis),
    ]


def room(piece: Piece, Y: Array) -> Array:
    """Return how far points (m, 3) on the quadric of a piece lie within its bounds (m,); < 0: not on the piece."""
    r = Y - piece.centre
    if isinstance(piece, Flat):
        u, v = np.abs(r @ piece.u), np.abs(r @ piece.v)
        across = piece.radius - np.hypot(u, v) if math.isfinite(piece.radius) else math.inf
        return np.minimum(np.minimum(piece.half[0] - u, piece.half[1] - v), across)
    if isinstance(piece, Side):
        return np.asarray(piece.half - np.abs(r @ piece.axis))
    return np.full(len(Y), math.inf) if piece.axis is None else np.asarray(r @ piece.axis)


def on_piece(piece: Piece, y: Traced, slack: float) -> Condition:
    """Return whether a point (3,) on the quadric lies within the bounds of a piece, traceable; True if it has none."""
    r = y - piece.centre
    if isinstance(piece, Flat):
        if math.isfinite(piece.radius):
            flat = r - dot(r, piece.normal) * piece.normal
            return dot(flat, flat) <= (piece.radius + slack) ** 2
        if math.isinf(piece.half[0]):
            return True
        u, v = np.abs(dot(r, piece.u)), np.abs(dot(r, piece.v))
        return (u <= piece.half[0] + slack) & (v <= piece.half[1] + slack)
    if isinstance(piece, Side):
        return True if math.isinf(piece.half) else np.abs(dot(r, piece.axis)) <= piece.half + slack
    return True if piece.axis is None else dot(r, piece.axis) >= -slack


def level(piece: Piece, y: Traced) -> tuple[Traced, Traced]:
    """Return f and ∇f (3,) of the quadric of a piece at a point (3,), traceable."""
    r = y - piece.centre
    if isinstance(piece, Flat):
        return dot(r, piece.normal), piece.normal
    flat = r if isinstance(piece, BallPiece) else r - dot(r, piece.axis) * piece.axis
    return 0.5 * (dot(flat, flat) - piece.radius**2), flat


def bending(piece: Piece, t: Traced) -> Scalar:
    """Return tᵀ ∇²f t of the quadric of a piece for a vector t (3,), traceable."""
    if isinstance(piece, Flat):
        return 0.0
    along = 0.0 if isinstance(piece, BallPiece) else dot(t, piece.axis)
    return dot(t, t) - along * along
