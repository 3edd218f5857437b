# SPDX-License-Identifier: Apache-2.0
"""The way of the TCP in a move, piece by piece: lines, arcs, and the bends that join two lines.

σ [m] counts the length of the pieces; a piece that only turns counts 0.25 m per radian, so that a tool speed of
0.25 m/s turns at 1 rad/s. A bend of d on either side of a corner W is the parabola that two lines give which brake and
begin at once,

    p(τ) = W − (1 − τ)² u + τ² w,   σ = 2 d τ,   R(τ) = R_P exp((2τ − τ²) a) exp(τ² b),

with u, w the ways from where it begins to the corner and from there to where it ends, a and b the turns on these ways:
dp/dσ and the rate of turning are those of the lines at both ends, so that nothing jumps. movep bends in a circle
instead, of radius ρ = d / tan(γ/2) between lines at an angle γ and length σ = ρ γ, on which

    R(τ) = R_P exp((3τ² − 2τ³ + κ (τ − 2τ² + τ³)) a) exp((3τ² − 2τ³ − κ (τ² − τ³)) b),   κ = ρ γ / d,

goes on turning as fast as the lines do, again.
Everything here is a few scalars: it is asked every tick.
"""

from __future__ import annotations

from math import atan2, cos, hypot, sin, sqrt, tan
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from armwright.errors import InputError
from armwright.motion.cartesian_path import CartesianPath, circle_via
from armwright.spatial.rotations import exp_so3

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.types import Array

METRES_PER_RADIAN = 0.25
"""What a turn on the spot counts: 1 rad/s at a tool speed of 0.25 m/s."""
SHORTEST_WAY = 1e-9  # [m]: below, a way has no length
LEAST_BEND = 1e-6  # [m]
ROUNDED = 1e-3, 2.9
"""Least and largest angle between two lines [rad] that a circle joins: nearly straight on, nearly back."""
MOST_EASE = 3.0  # times the usual speed of σ on a sharp bend

Quaternion = tuple[float, float, float, float]
"""w, x, y, z of a rotation."""


def quaternion_of(turn: Sequence[float] | Array) -> Quaternion:
    """Return the quaternion of a rotation vector (3,)."""
    x, y, z = float(turn[0]), float(turn[1]), float(turn[2])
    angle = sqrt(x * x + y * y + z * z)
    if angle < 1e-12:
        return 1.0, 0.5 * x, 0.5 * y, 0.5 * z
    k = sin(0.5 * angle) / angle
    return cos(0.5 * angle), k * x, k * y, k * z


def product(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the rotation b, then a."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def turn_of(q: Quaternion) -> tuple[float, float, float]:
    """Return the rotation vector (3,) of a quaternion, at most π long."""
    w, x, y, z = q if q[0] >= 0.0 else (-q[0], -q[1], -q[2], -q[3])
    size = sqrt(x * x + y * y + z * z)
    k = 2.0 * atan2(size, w) / size if size > 1e-12 else 2.0
    return k * x, k * y, k * z


class _Turning(NamedTuple):
    """An orientation that turns evenly about an axis fixed in the tool."""

    start: Quaternion
    turn: tuple[float, float, float]

    def at(self, part: float) -> Quaternion:
        x, y, z = self.turn
        return product(self.start, quaternion_of((part * x, part * y, part * z)))


def _turning(before: Sequence[float] | Array, after: Sequence[float] | Array) -> _Turning:
    """Return the turn between two rotation vectors (3,)."""
    first = quaternion_of(before)
    w, x, y, z = first
    return _Turning(first, turn_of(product((w, -x, -y, -z), quaternion_of(after))))


class ToolPiece(Protocol):
    """A part of the way.

    Attributes:
        length: its share of σ [m].
        metres: how far the TCP goes [m].
    """

    length: float
    metres: float

    def pose(self, s: float) -> Array:
        """Return the TCP pose (6,) at s in [0, length]."""

    def ease(self, s: float) -> float:
        """Return how much faster than v σ may go at s, as the TCP is slower there than on a line; 1 at least."""

    def curvature(self, s: float) -> float:
        """Return |d²p/dσ²| at s [1/m]."""


class LinePiece:
    """A straight line between two TCP poses (6,); the tool turns evenly."""

    def __init__(self, before: Array, after: Array) -> None:
        self.before, self.after = np.array(before), np.array(after)
        self._way = self.after[:3] - self.before[:3]
        self.metres = float(np.linalg.norm(self._way))
        self._turning = _turning(before[3:], after[3:])
        self.length = max(self.metres, METRES_PER_RADIAN * hypot(*self._turning.turn))

    def pose(self, s: float) -> Array:
        """See `ToolPiece`."""
        part = s / self.length if self.length > 0.0 else 1.0
        return np.concatenate([self.before[:3] + part * self._way, turn_of(self._turning.at(part))])

    def ease(self, s: float) -> float:
        """See `ToolPiece`."""
        return 1.0

    def curvature(self, s: float) -> float:
        """See `ToolPiece`."""
        return 0.0


class ArcPiece:
    """An arc of a circle; the tool turns evenly from its first to its last orientation, or with the arc."""

    def __init__(self, path: CartesianPath, before: Array) -> None:
        self._centre, self._radius, self._angle = path.centre, path.radius, path.angle
        self._out = path.T_start[:3, 3] - path.centre
        self._side = np.cross(path.normal, self._out)
        self._start, self._turn = quaternion_of(before[3:]), path.turn
        self.metres = path.length
        self.length = max(self.metres, METRES_PER_RADIAN * float(np.linalg.norm(path.turn)))

    def pose(self, s: float) -> Array:
        """See `ToolPiece`."""
        part = s / self.length
        phi = part * self._angle
        place = self._centre + cos(phi) * self._out + sin(phi) * self._side
        return np.concatenate([place, turn_of(product(quaternion_of(part * self._turn), self._start))])

    def ease(self, s: float) -> float:
        """See `ToolPiece`."""
        return 1.0

    def curvature(self, s: float) -> float:
        """See `ToolPiece`."""
        return self.metres**2 / (self.length**2 * self._radius)


def arc_piece(before: Array, via: Array, after: Array, *, fixed: bool) -> ArcPiece:
    """Return the arc of a movec from a TCP pose (6,) through the place (3,) of `via` to `after` (6,).

    Args:
        before: pose at the beginning.
        via: pose (6,) or place (3,) on the way; its orientation does not count.
        after: pose at the end.
        fixed: the tool keeps its orientation against the tangent of the arc (mode 1), that of `after` does not count.

    Raises:
        InputError: the three places are on a line or coincide.
    """
    T, G = np.eye(4), np.eye(4)
    T[:3, :3], T[:3, 3] = exp_so3(before[3:]), before[:3]
    G[:3, :3], G[:3, 3] = exp_so3(after[3:]), after[:3]
    try:
        path = circle_via(T, via[:3], G)
    except InputError as error:
        raise InputError(f"movec: {error}") from error
    if fixed:
        path = CartesianPath(path.T_start, path.chord, path.centre, path.normal, path.angle, path.normal * path.angle)
    return ArcPiece(path, before)


class BendPiece:
    """The parabola about a corner; see the text of this file."""

    def __init__(self, first: Array, corner: Array, last: Array, d: float) -> None:
        """Take the poses (6,) where it begins, of the corner and where it ends; d [m] is σ on either side."""
        self._corner = corner[:3]
        self._before, self._after = corner[:3] - first[:3], last[:3] - corner[:3]
        self._left, self._next = _turning(first[3:], corner[3:]), _turning(corner[3:], last[3:])
        self.length = 2.0 * d
        self._bend = float(np.linalg.norm(self._after - self._before)) / (2.0 * d * d)
        self._paces = float(np.linalg.norm(self._before)) / d, float(np.linalg.norm(self._after)) / d
        steps = np.linspace(0.0, 1.0, 9)
        self.metres = float(np.trapezoid([self._pace(x) for x in steps], 2.0 * d * steps))

    def pose(self, s: float) -> Array:
        """See `ToolPiece`."""
        tau = s / self.length
        rest = 1.0 - tau
        place = self._corner - rest * rest * self._before + tau * tau * self._after
        x, y, z = self._next.turn
        k = tau * tau
        turned = product(self._left.at(tau * (2.0 - tau)), quaternion_of((k * x, k * y, k * z)))
        return np.concatenate([place, turn_of(turned)])

    def _pace(self, tau: float) -> float:
        """Return |dp/dσ|."""
        slope = 2.0 * ((1.0 - tau) * self._before + tau * self._after) / self.length
        return sqrt(float(slope @ slope))

    def ease(self, s: float) -> float:
        """See `ToolPiece`."""
        tau = s / self.length
        usual = (1.0 - tau) * self._paces[0] + tau * self._paces[1]
        return min(MOST_EASE, max(1.0, usual / max(self._pace(tau), 1e-9)))

    def curvature(self, s: float) -> float:
        """See `ToolPiece`."""
        return self._bend


class RoundPiece:
    """The circle between two lines; see the text of this file. Their paces must be 1: σ is what the TCP goes."""

    def __init__(self, first: Array, corner: Array, last: Array, d: float) -> None:
        """Take the poses (6,) where it begins, of the corner and where it ends; d [m] is σ on either side."""
        self._begin, self._out = first[:3].copy(), (corner[:3] - first[:3]) / d
        back = (last[:3] - corner[:3]) / d
        angle = turn_between(self._out, back)
        self._radius = d / tan(0.5 * angle)
        self._side = (back - cos(angle) * self._out) / sin(angle)
        self._left, self._next = _turning(first[3:], corner[3:]), _turning(corner[3:], last[3:])
        self.length = self.metres = self._radius * angle
        self._pace = self.length / d

    def pose(self, s: float) -> Array:
        """See `ToolPiece`."""
        phi, tau = s / self._radius, s / self.length
        place = self._begin + self._radius * (sin(phi) * self._out + (1.0 - cos(phi)) * self._side)
        even, square = tau * tau * (3.0 - 2.0 * tau), tau * tau
        x, y, z = self._next.turn
        k = even - self._pace * square * (1.0 - tau)
        before = self._left.at(even + self._pace * tau * (1.0 - tau) * (1.0 - tau))
        return np.concatenate([place, turn_of(product(before, quaternion_of((k * x, k * y, k * z))))])

    def ease(self, s: float) -> float:
        """See `ToolPiece`."""
        return 1.0

    def curvature(self, s: float) -> float:
        """See `ToolPiece`."""
        return 1.0 / self._radius


def turn_between(a: Array, b: Array) -> float:
    """Return the angle between two unit vectors (3,) [rad]."""
    return 2.0 * atan2(float(np.linalg.norm(a - b)), float(np.linalg.norm(a + b)))


class ToolWay:
    """Pieces one after the other.

    Attributes:
        length: of all [m]. joints: σ of the places where pieces meet, both ends too.
    """

    def __init__(self, pieces: Sequence[ToolPiece]) -> None:
        self.pieces = tuple(piece for piece in pieces if piece.length > SHORTEST_WAY)
        self.joints = [0.0]
        for piece in self.pieces:
            self.joints.append(self.joints[-1] + piece.length)
        self.length = self.joints[-1]

    def _at(self, s: float) -> tuple[ToolPiece, float]:
        k = 0
        while k + 1 < len(self.pieces) and s > self.joints[k + 1]:
            k += 1
        return self.pieces[k], min(max(0.0, s - self.joints[k]), self.pieces[k].length)

    def pose(self, s: float) -> Array:
        """Return the TCP pose (6,) at σ = s; the way must have a length."""
        piece, x = self._at(s)
        return piece.pose(x)

    def ease(self, s: float) -> float:
        """Return how much faster than v σ may go at σ = s; see `ToolPiece`."""
        piece, x = self._at(s)
        return piece.ease(x)

    def curvature(self, s: float) -> float:
        """Return |d²p/dσ²| at σ = s [1/m]."""
        piece, x = self._at(s)
        return piece.curvature(x)


def bent(
    first: Array, corner: Array, last: Array, radius: float, ahead: float = 0.0, *, rounded: bool = False
) -> list[ToolPiece]:
    """Return the pieces from a pose (6,) past a corner to another: line of at least `ahead` [m], bend, line.

    The bend is within `radius` [m] of the corner; a circle if it is `rounded` and the tool moves more than it turns.
    The bend takes at most half of the way behind the corner, so that there is room for the next one.
    """
    before, after = LinePiece(first, corner), LinePiece(corner, last)
    if min(before.length, after.length) < SHORTEST_WAY:
        return [before, after]
    paces = [piece.metres / piece.length for piece in (before, after)]
    d = min(radius / max(*paces, 1e-9), before.length - ahead, 0.5 * after.length)
    if d < LEAST_BEND:
        return [before, after]
    begin, end = before.pose(before.length - d), after.pose(d)
    bend: ToolPiece = BendPiece(begin, corner, end, d)
    if rounded and min(paces) > 1.0 - 1e-9:
        angle = turn_between((corner[:3] - begin[:3]) / d, (end[:3] - corner[:3]) / d)
        if ROUNDED[0] < angle < ROUNDED[1]:
            bend = RoundPiece(begin, corner, end, d)
    return [LinePiece(first, begin), bend, LinePiece(end, last)]
