# SPDX-License-Identifier: Apache-2.0
"""Rounded corners between segments of a tool path: the C² blend, defined here and by no vendor's controller.

Position: on [σ_c − d₁, σ_c + d₂] a quintic that meets p, p′, p″ of both sides (or L-IRL's parabola, C¹, between lines).
Orientation: at every corner that is passed without a stop, R = exp(φ(σ)) R_a with φ quintic, meeting R, ω, ω′ of both
sides; without it the tool's turning would jump from one segment's rate to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.motion.cartesian_path import Turning, blend_turn, spinning, turning
from armwright.motion.point_to_point import quintic_coefficients
from armwright.motion.tool_path import Segment, ToolPath, position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from armwright.types import Array

Shape = Literal["quintic", "parabola"]
TANGENT_ANGLE = np.radians(
    0.1
)  # [rad] between neighbours that pass as tangent: the demo's own points meet within 0.0002°
TURN_ZONE = 0.25  # of the shorter neighbour; 0.1–0.45 serve as well


@dataclass(frozen=True, slots=True)
class Corner:
    """How two segments are joined.

    Attributes:
        before, after: σ [m] of either side that the position blend takes; 0 for both: pass exactly through the corner,
            which must be none (tangents within 0.1°).
        turn_before, turn_after: σ [m] of the orientation blend; None: a quarter of the shorter neighbour.
        shape: "quintic" (C²), or "parabola" (two lines, equal distances, C¹).
        stop: the tool comes to rest at the corner: nothing is blended, and every corner is allowed.
    """

    before: float = 0.0
    after: float = 0.0
    turn_before: float | None = None
    turn_after: float | None = None
    shape: Shape = "quintic"
    stop: bool = False

    def __post_init__(self) -> None:
        """Refuse zones that are not lengths."""
        for name in ("before", "after", "turn_before", "turn_after"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value < np.inf:
                raise InputError(f"corner: {name} must be a length ≥ 0 m, got {value!r}")
        if self.shape not in ("quintic", "parabola"):
            raise InputError(f"corner: shape must be 'quintic' or 'parabola', got {self.shape!r}")


def corner_angles(segments: Sequence[Segment]) -> Array:
    """Angles (n − 1,) [rad] by which the direction of travel jumps between segments.

    90° between travel and a turn on the spot, which does not travel; 0 between two turns on the spot.
    """
    s = _Stack.of(segments)
    a, b = s.position(s.length)[1][:-1], s.position(np.zeros_like(s.length))[1][1:]
    angle = np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), np.einsum("ni,ni->n", a, b))
    return np.asarray(np.where(s.still[:-1] != s.still[1:], 0.5 * np.pi, np.where(s.still[1:], 0.0, angle)))


class _Stack(NamedTuple):
    """Many segments as arrays, so that all corners are blended at once."""

    length: Array
    poly: Array
    cosine: Array
    sine: Array
    rate: Array
    R: Array
    turn: Array
    still: NDArray[np.bool_]
    spin: Array

    @staticmethod
    def of(segments: Sequence[Segment]) -> _Stack:
        rows = [
            (s.length, s.curve.poly, s.curve.cosine, s.curve.sine, s.curve.rate, s.R_start, s.turn, s.still, s.spin)
            for s in segments
        ]
        return _Stack(*(np.array(column) for column in zip(*rows, strict=True)))

    def position(self, x: Array) -> tuple[Array, Array, Array]:
        return position(self.poly, self.cosine, self.sine, self.rate, x)

    def turning(self, x: Array) -> Turning:
        rate = self.turn / self.length[:, None]
        spin = self.spin / self.length[:, None]
        return spinning(x[:, None] * spin, spin, turning(x[:, None] * rate, rate, np.zeros_like(rate), self.R))


def join(segments: Sequence[Segment], blends: Sequence[Corner]) -> ToolPath:
    """Join segments that follow one another, one `Corner` between each two, into one path passed without a stop.

    Raises:
        InputError: a corner that is not blended, zones that overlap, or a parabola between segments that are not lines;
            the message names the segments by their numbers, from 0.

    >>> join([segment_of(line(A, B)), segment_of(line(B, C))], [Corner(before=0.02, after=0.02)])
    """
    n = len(segments)
    if n == 0 or len(blends) != n - 1:
        raise InputError(f"join: expected a corner between each two segments, got {n} segments, {len(blends)} corners")
    s = _Stack.of(segments)
    corners = np.concatenate([[0.0], np.cumsum(s.length)])
    zone = np.zeros((n + 1, 2))  # before and after each corner; nothing at the ends
    zone[1:-1] = np.array([(blend.before, blend.after) for blend in blends]).reshape(-1, 2)
    usual = TURN_ZONE * np.minimum(s.length[1:], s.length[:-1])
    turn = np.zeros((n + 1, 2))
    for k, blend in enumerate(blends):
        if not blend.stop:
            turn[k + 1] = [usual[k] if z is None else z for z in (blend.turn_before, blend.turn_after)]
    _check_zones("position", s.length, zone)
    _check_zones("orientation", s.length, turn)
    sharp = (zone[1:-1].sum(axis=1) == 0.0) & (corner_angles(segments) > TANGENT_ANGLE)
    sharp &= ~np.array([blend.stop for blend in blends], dtype=bool)
    if sharp.any():
        k = int(np.argmax(sharp))
        raise InputError(
            f"join: segments {k} and {k + 1} meet at a corner of {np.degrees(corner_angles(segments)[k]):.3f}°, which "
            "cannot be passed at speed (0.1° is taken for none); blend it over a distance, or stop there"
        )
    zero = np.zeros((n - 1, 3))
    # one row per segment, from where the blend before it ends, and one row per blend, then in the order of σ
    x = zone[:-1, 1]
    own = (*_shifted(s, x), s.rate)
    rounded = (_rounded(s, blends, zone), zero, zero, np.zeros(n - 1))
    breaks, pieces = _interleave(corners, zone, own, rounded)
    first, last = _before(s.turning(s.length - turn[1:, 0])), _after(s.turning(turn[:-1, 1]))
    even = np.zeros((n, 6, 3))
    even[:, 0] = turn[:-1, 1:] * s.turn / s.length[:, None]
    even[:, 1] = s.turn / s.length[:, None]
    spin = s.spin / s.length[:, None]
    # x counts from the end of the blend before: the turn done until then is in phi, the spin in R
    R = s.R.copy()
    spun = spin.any(axis=1)
    if spun.any():
        done = turning(turn[:-1, 1:] * spin, 0.0 * spin, 0.0 * spin, np.broadcast_to(np.eye(3), R.shape)).R
        even[:, 0] = np.einsum("nij,nj->ni", done, even[:, 0])
        even[:, 1] = np.einsum("nij,nj->ni", done, even[:, 1])
        R = done @ R
    width = turn[1:-1].sum(axis=1)
    turned = blend_turn(np.where(width > 0.0, width, 1.0), first, last)
    turn_breaks, turns = _interleave(corners, turn, (even, spin, R), (turned, zero, first.R))
    poly, cosine, sine, rate = pieces
    phi, spins, starts = turns
    return ToolPath(breaks, poly, cosine, sine, rate, turn_breaks, phi, spins, starts, corners)


def _before(turning: Turning) -> Turning:
    return Turning(*(part[:-1] for part in turning))


def _after(turning: Turning) -> Turning:
    return Turning(*(part[1:] for part in turning))


def _interleave(
    corners: Array, zone: Array, own: tuple[Array, ...], blends: tuple[Array, ...]
) -> tuple[Array, list[Array]]:
    """Breaks and pieces in the order segment, blend, segment, …; pieces without length are left out."""
    n = corners.size - 1
    start, end = corners[:-1] + zone[:-1, 1], corners[1:] - zone[1:, 0]
    ends = np.stack([end, corners[1:] + zone[1:, 1]], axis=1).reshape(-1)[:-1]
    width = np.stack([end - start, zone[1:].sum(axis=1)], axis=1).reshape(-1)[:-1]
    keep = width > 1e-12 * np.repeat(np.diff(corners), 2)[:-1]
    out = []
    for a, b in zip(own, blends, strict=True):
        both = np.zeros((2 * n - 1, *a.shape[1:]))
        both[::2], both[1::2] = a, b
        out.append(both[keep])
    ends[-1] = corners[-1]
    return np.concatenate([[0.0], ends[keep]]), out


def _check_zones(what: str, lengths: Array, zone: Array) -> None:
    """Refuse zones at the two ends of one segment that overlap."""
    first, last = zone[:-1, 1], zone[1:, 0]
    over = first + last > lengths * (1.0 + 1e-12)
    if over.any():
        k = int(np.argmax(over))
        raise InputError(
            f"join: the {what} zones at the ends of segment {k} overlap: {1e3 * first[k]:.3f} and "
            f"{1e3 * last[k]:.3f} mm of {1e3 * lengths[k]:.3f} mm; make them smaller"
        )


def _shifted(s: _Stack, start: Array) -> tuple[Array, Array, Array]:
    """Return the curves with x counted from `start` (n,): Taylor coefficients, cosine, sine."""
    poly = np.zeros_like(s.poly)
    for k in range(6):
        for j in range(k, 6):
            poly[:, k] += comb(j, k) * (start ** (j - k))[:, None] * s.poly[:, j]
    c, d = np.cos(s.rate * start)[:, None], np.sin(s.rate * start)[:, None]
    return poly, c * s.cosine + d * s.sine, c * s.sine - d * s.cosine


def _rounded(s: _Stack, blends: Sequence[Corner], zone: Array) -> Array:
    """Return coefficients (n − 1, 6, 3) of the position blends; meaningless where a zone has no width."""
    p0, d0, dd0 = (part[:-1] for part in s.position(s.length - zone[1:, 0]))
    p1, d1, dd1 = (part[1:] for part in s.position(zone[:-1, 1]))
    h = zone[1:-1].sum(axis=1)
    h = np.where(h > 0.0, h, 1.0)
    out = quintic_coefficients(h, p0, p1, d0, d1, dd0, dd1)
    for k, blend in enumerate(blends):
        if blend.shape == "quintic":
            continue
        if np.abs([*dd0[k], *dd1[k]]).max() > 0.0 or blend.before != blend.after:
            raise InputError(
                f"join: a parabola joins two lines over equal distances; segments {k} and {k + 1} need shape 'quintic'"
            )
        out[k] = 0.0
        out[k, 0], out[k, 1], out[k, 2] = p0[k], d0[k], 0.5 * (d1[k] - d0[k]) / h[k]
    return out
