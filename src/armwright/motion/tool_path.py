# SPDX-License-Identifier: Apache-2.0
"""A tool path of many segments as one function of σ, its nominal length: lines, arcs, splines and the blends between.

σ [m] counts the lengths of the segments as programmed; a blend that cuts a corner keeps the σ of the corner it cuts, so
that |dp/dσ| = 1 on lines and arcs, and less inside a blend. Position and orientation have pieces of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.motion.cartesian_path import ZERO_LENGTH, CartesianPath, PathPoint, spinning, turning
from armwright.spatial import exp_so3, log_so3

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.types import Array

ON_THE_SPOT = 0.1  # σ of a turn without travel [m/rad]: only a scale, rates are always taken of the turn itself


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A piece of position, Σ poly[k] xᵏ + cosine cos(rate x) + sine sin(rate x); vectors (3,) [m], poly (6, 3)."""

    poly: Array
    cosine: Array
    sine: Array
    rate: float


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """One programmed move of the tool: position along x in [0, length], orientation turned evenly by `turn`.

    Attributes:
        length: its share of σ [m].
        curve: position by x.
        R_start: (3, 3) orientation at x = 0.
        turn: rotation vector (3,) [rad], base axes, made from x = 0 to length; with `spin`, as seen from the path.
        still: whether the tool point stays where it is (a turn on the spot).
        spin: rotation vector (3,) [rad], base axes, made by the direction of travel, if the tool turns with it.
    """

    length: float
    curve: Curve
    R_start: Array
    turn: Array
    still: bool = False
    spin: Array = field(default_factory=lambda: np.zeros(3))


def segment_of(path: CartesianPath, *, with_path: bool = False) -> Segment:
    """Return a line, an arc or a turn on the spot as a segment.

    With `with_path` the tool's turn on an arc is split: it turns with the direction of travel, and evenly as seen from
    there by what is missing to the end's orientation.

    >>> segment_of(line(aw.fk(robot, q), aw.fk(robot, q + 0.1))).length
    """
    poly, zero = np.zeros((6, 3)), np.zeros(3)
    p = path.T_start[:3, 3]
    length = path.length
    still = length < ZERO_LENGTH
    if still:
        length = ON_THE_SPOT * float(np.linalg.norm(path.turn))
        poly[0] = p
        curve = Curve(poly, zero, zero, 0.0)
    elif path.angle:
        poly[0] = path.centre
        r = p - path.centre
        curve = Curve(poly, r, np.cross(path.normal, r), path.angle / length)
    else:
        poly[0], poly[1] = p, path.chord / length
        curve = Curve(poly, zero, zero, 0.0)
    R, spin, turn = path.T_start[:3, :3], zero, path.turn
    if with_path and path.angle:
        spin = path.angle * path.normal
        turn = np.asarray(log_so3(exp_so3(-spin) @ exp_so3(path.turn)), dtype=np.float64)
    return Segment(length, curve, R, turn, still, spin)


def spline_segments(
    points: Array, rotations: Array, turns: Array, *, tangents: tuple[Array | None, Array | None]
) -> list[Segment]:
    """Return the cubic spline through points (N, 3), parameter the chords, as N − 1 segments, C² where they meet.

    Args:
        points: neighbours must differ.
        rotations: (N − 1, 3, 3) at the starts.
        turns: (N − 1, 3) rotation vectors, base axes, one per segment.
        tangents: unit directions at both ends; None leaves the end free of curvature.
    """
    from scipy.interpolate import CubicSpline

    chord = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if (chord < ZERO_LENGTH).any():
        k = int(np.argmin(chord))
        raise InputError(f"spline: points {k} and {k + 1} coincide; drop one")
    s = np.concatenate([[0.0], np.cumsum(chord)])
    ends: Any = tuple((2, np.zeros(3)) if t is None else (1, t) for t in tangents)
    c = np.asarray(CubicSpline(s, points, bc_type=ends).c)[::-1]  # (4, N−1, 3), lowest power first
    out = []
    for k in range(chord.size):
        poly = np.zeros((6, 3))
        poly[:4] = c[:, k]
        out.append(Segment(float(chord[k]), Curve(poly, np.zeros(3), np.zeros(3), 0.0), rotations[k], turns[k]))
    return out


@dataclass(frozen=True, slots=True, eq=False)
class ToolPath:
    """Position and orientation of the tool as functions of σ in [0, length].

    Attributes:
        breaks: (m+1,) σ where the pieces of position begin and end.
        poly, cosine, sine, rate: (m, 6, 3), (m, 3), (m, 3), (m,), a `Curve` per piece, x counted from its start.
        turn_breaks: (k+1,) likewise of orientation.
        phi, spin, R: (k, 6, 3), (k, 3), (k, 3, 3): the orientation exp(x spin) exp(Σ phi[j] xʲ) R.
        corners: (segments+1,) σ where the programmed segments begin and end.
    """

    breaks: Array
    poly: Array
    cosine: Array
    sine: Array
    rate: Array
    turn_breaks: Array
    phi: Array
    spin: Array
    R: Array
    corners: Array

    @property
    def length(self) -> float:
        """σ at the end [m]."""
        return float(self.breaks[-1])

    @property
    def T_start(self) -> Array:
        """T_base_tool at σ = 0."""
        return self.at(0.0).T

    def at(self, sigma: ArrayLike, *, before: bool = False) -> PathPoint:
        """Return pose and derivatives by σ at sigma (...); at a break of the later piece, with `before` the earlier."""
        s = np.asarray(sigma, dtype=np.float64)
        k = _piece(self.breaks, s, before)
        p, dp, ddp = position(self.poly[k], self.cosine[k], self.sine[k], self.rate[k], s - self.breaks[k])
        k = _piece(self.turn_breaks, s, before)
        x = (s - self.turn_breaks[k])[..., None]
        R, w, dw = spinning(x * self.spin[k], self.spin[k], turning(*_polynomial(self.phi[k], x), self.R[k]))
        T = np.zeros((*s.shape, 4, 4))
        T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, p, 1.0
        return PathPoint(T, np.concatenate([dp, w], axis=-1), np.concatenate([ddp, dw], axis=-1))


def _piece(breaks: Array, s: Array, before: bool) -> NDArray[np.int64]:
    return np.asarray(np.searchsorted(breaks[1:-1], s, side="left" if before else "right"))


def _polynomial(c: Array, x: Array) -> tuple[Array, Array, Array]:
    """Value and two derivatives (..., 3) of quintics c (..., 6, 3) at x (..., 1)."""
    v, d, dd = c[..., 5, :], np.zeros_like(c[..., 5, :]), np.zeros_like(c[..., 5, :])
    for k in range(4, -1, -1):
        v, d, dd = v * x + c[..., k, :], d * x + v, dd * x + 2.0 * d
    return v, d, dd


def position(poly: Array, cosine: Array, sine: Array, rate: Array, x: Array) -> tuple[Array, Array, Array]:
    """Position and two derivatives (..., 3) of curves given by their parts, at x (...)."""
    p, dp, ddp = _polynomial(poly, x[..., None])
    w = rate[..., None]
    c, s = np.cos(rate * x)[..., None], np.sin(rate * x)[..., None]
    round_, ahead = c * cosine + s * sine, c * sine - s * cosine
    return p + round_, dp + w * ahead, ddp - w * w * round_
