# SPDX-License-Identifier: Apache-2.0
"""Corners between the moves of a program: the zones in which they are rounded, and the rounding in joint space.

`fit_zones` gives every corner the zone that the program asks for, as far as its legs leave room. Where a joint move
meets anything, no tool path exists on both sides. So `chain` blends q itself: over the zone on either side of the
corner, by the quintic in ℓ that meets q, q′, q″ of both sides. This is how a PTP flows into a circle.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.motion.corner_blend import TANGENT_ANGLE, Corner
from armwright.motion.point_to_point import quintic_coefficients
from armwright.motion.time_optimal_path import subdivide
from armwright.motion.trajectory import Trajectory
from armwright.programs.legs import rested
from armwright.programs.program import BySpeed, Distance, Share, Stop, Tangent, ToolRate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from armwright.motion.joint_curve import JointCurve
    from armwright.programs.legs import Leg, Walker
    from armwright.programs.program import Move
    from armwright.types import Array

HALF = ("rapid", "krl")  # languages whose zones take at most half of a leg, whatever happens at its other end
BLEND_ROOM = 1.0 - 1e-9


def zone_size(leg: Leg, following: Leg, move: Move) -> float:
    """Return σ [m] on either side of the corner that the blend of `leg` asks for; 0 for stops and tangents."""
    blend = leg.blend
    if isinstance(blend, Distance):
        return blend.position
    if isinstance(blend, Share):
        return 0.5 * blend.value * min(leg.length, following.length)
    if isinstance(blend, BySpeed):
        if isinstance(move.speed, ToolRate) and isinstance(move.acceleration, ToolRate):
            return (blend.value * move.speed.linear) ** 2 / (2.0 * move.acceleration.linear)
        return 0.25 * blend.value**2 * min(leg.length, following.length)  # a trapezoid's ramp of half the leg
    return 0.0


def fit_zones(walker: Walker, legs: Sequence[Leg]) -> Array:
    """Return the zones (len(legs) + 1,) [m] at the corners of consecutive legs, shrunk until none overlap."""
    moves, program = walker.program.moves, walker.program
    n = len(legs)
    length = np.array([leg.length for leg in legs])
    asked = np.zeros(n + 1)
    for k, (leg, following) in enumerate(pairwise(legs)):
        asked[k + 1] = zone_size(leg, following, moves[leg.index])
    most = length * (0.5 if program.language in HALF else 1.0)
    zone = np.minimum(asked, np.minimum(np.concatenate([[0.0], most]), np.concatenate([most, [0.0]])))
    both = zone[:-1] + zone[1:]
    scale = np.where(both > length, length / np.where(both > 0.0, both, 1.0), 1.0) * BLEND_ROOM
    zone *= np.minimum(np.concatenate([[1.0], scale]), np.concatenate([scale, [1.0]]))
    for k in map(int, np.flatnonzero(zone < asked * (1.0 - 1e-6))):
        leg, other = legs[k - 1], legs[k]
        walker.note(
            moves[leg.index],
            f"the zone of {1e3 * asked[k]:.1f} mm at its end does not fit beside its neighbours (legs of "
            f"{1e3 * leg.length:.1f} and {1e3 * other.length:.1f} mm): {1e3 * zone[k]:.1f} mm are rounded",
        )
    return np.asarray(zone)


def tool_corner(leg: Leg, following: Leg, moves: tuple[Move, Move], zone: float) -> Corner:
    """Return how two tool segments of two moves are joined, given the position zone [m]."""
    blend = leg.blend
    if isinstance(blend, Stop):
        return Corner(stop=True)
    turn: float | None = None
    if isinstance(blend, Distance):
        sizes = [] if blend.orientation is None else [blend.orientation]
        rates = [_turn_rate(leg), _turn_rate(following)]
        if blend.angle is not None and max(rates) > 0.0:
            sizes.append(blend.angle / max(rates))
        if sizes:
            turn = min(*sizes, 0.5 * leg.length, 0.5 * following.length)
    if isinstance(blend, Tangent):
        zone = 0.0
    parabola = zone > 0.0 and _too_sharp((leg, following), moves, zone)
    return Corner(zone, zone, turn, turn, "parabola" if parabola else "quintic")


def _too_sharp(legs: tuple[Leg, Leg], moves: tuple[Move, Move], zone: float) -> bool:
    """Return whether the C² blend of a corner between two lines asks more than the written acceleration.

    At a corner of θ rounded over d on either side the quintic has p′ = d₀ + (d₁ − d₀)(3s² − 2s³), s = σ/2d. In its
    middle p″ = 1.5 |d₁ − d₀|/2d = 1.5 sin(θ/2)/d and |p′| = cos(θ/2), so that passing it at v takes
    1.5 sin(θ/2)/cos²(θ/2) v²/d, 2.12 v²/d at 90°. Of all blends the parabola asks the least: passed at σ̇ = v its
    acceleration is |d₁ − d₀| v²/2d = sin(θ/2) v²/d all the way, 0.71 v²/d at 90°.
    """
    a, b = (_line_direction(leg) for leg in legs)
    rates = [(move.speed, move.acceleration) for move in moves]
    if a is None or b is None or not all(isinstance(word, ToolRate) for pair in rates for word in pair):
        return False
    v, most = max(speed.linear for speed, _ in rates), min(push.linear for _, push in rates)  # type: ignore[union-attr]
    sine, cosine = 0.5 * np.linalg.norm(b - a), 0.5 * np.linalg.norm(a + b)
    return bool(1.5 * sine * v**2 > most * zone * cosine**2)


def _line_direction(leg: Leg) -> Array | None:
    """Return the unit direction (3,) of a line that is passed evenly; None of any other segment."""
    segment = leg.segment
    if segment is None or segment.still:
        return None
    curve = segment.curve
    poly = np.asarray(curve.poly)
    bent = np.any(curve.cosine) or np.any(curve.sine) or np.any(poly[2:])
    return None if bent else np.asarray(poly[1] / np.linalg.norm(poly[1]))


def _turn_rate(leg: Leg) -> float:
    segment = leg.segment
    return 0.0 if segment is None else float(np.linalg.norm(segment.turn)) / segment.length


def stops_at_corners(walker: Walker) -> bool:
    """Return whether a target that is to be passed without rounding may be a corner, at which the arm then stops.

    G64 without a tolerance lets the controller leave the path as far as its speed asks, which the program does not say;
    elsewhere passing without rounding is the program's own promise that curves meet without a corner.
    """
    return walker.program.language == "g-code"


def sharp_words(count: int) -> str:
    """Return the note on corners of G64 without a tolerance, told once at the first of `count`."""
    corners = "one corner, here" if count == 1 else f"{count} corners, here first"
    return (
        f"G64 without P says no tolerance for rounding corners: the arm stops at {corners}, and stays on the path; the "
        "time is an upper bound (G64 P… rounds them)"
    )


BLEND_PIECES = 24
STRAIGHT_BLEND_SHARE = (
    0.25  # of the shorter neighbour, where two moves meet without a corner: only their scales of ℓ differ
)


class CurvePieces(NamedTuple):
    """Pieces of a curve: lengths h (m,), coefficients c (m, 6, n), owner, rounded, stop at their ends, blended (m,)."""

    h: Array
    c: Array
    owner: NDArray[np.int64]
    rounded: NDArray[np.bool_]
    stop: NDArray[np.bool_]
    blended: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class CornerRun:
    """Legs that are one curve without a joint-space corner: `curve` by ℓ; `owner`, `stop`, `blended` (m,) by piece.

    Blended are the pieces of a tool path on which a corner is rounded.
    """

    legs: list[Leg]
    curve: Trajectory
    owner: NDArray[np.int64]
    stop: NDArray[np.bool_]
    blended: NDArray[np.bool_]

    @property
    def q_end(self) -> Array:
        """Return the joints (n,) at the end."""
        return np.asarray(self.curve.end.q)

    @staticmethod
    def straight(leg: Leg) -> CornerRun:
        """Return the run of a joint move."""
        c = np.zeros((1, 6, leg.q.shape[1]))
        c[0, 0], c[0, 1] = leg.q[0], (leg.q[1] - leg.q[0]) / leg.length
        never = np.zeros(1, dtype=bool)
        return CornerRun([leg], Trajectory(np.array([0.0, leg.length]), c), np.array([leg.index]), never, never)

    @staticmethod
    def tool(legs: list[Leg], curve: JointCurve, corners: Array, zone: Array) -> CornerRun:
        """Return the run of tool moves; `corners` are the σ where they meet, `zone` the σ rounded on either side."""
        middle = 0.5 * (curve.sigma[1:] + curve.sigma[:-1])
        leg = np.searchsorted(corners[1:-1], middle)
        owner = np.array([leg.index for leg in legs])[leg]
        halts = np.array([isinstance(leg.blend, Stop) for leg in legs])
        last = np.concatenate([leg[1:] != leg[:-1], [False]])
        blended = (middle < corners[leg] + zone[leg]) | (middle > corners[leg + 1] - zone[leg + 1])
        return CornerRun(legs, curve.motion, owner, last & halts[leg], blended)


def chain(walker: Walker, runs: list[CornerRun]) -> tuple[CurvePieces, Array, list[int]]:
    """Concatenate runs; return all pieces, the wait (m+1,) [s] at the start and after each piece, and each run's first.

    The first piece of a run is the one behind the rounding of the corner before it.
    """
    zone = np.zeros(len(runs) + 1)
    for k, (run, following) in enumerate(pairwise(runs)):
        zone[k + 1] = _zone(walker, run, following)
    parts, waits, begins = [], [np.zeros(1)], [0]
    for k, run in enumerate(runs):
        pieces = _trim(run, zone[k], zone[k + 1])
        wait = {leg.index: leg.wait for leg in run.legs if leg.wait}
        if k + 1 < len(runs) and zone[k + 1] > 0.0:
            parts += [pieces, _rounded(run, runs[k + 1], zone[k + 1])]
        else:
            pieces.stop[-1] = True if k + 1 == len(runs) else isinstance(run.legs[-1].blend, Stop)
            parts.append(pieces)
        for part in parts[-2:] if zone[k + 1] > 0.0 else parts[-1:]:
            waits.append(
                np.array([wait.get(int(o), 0.0) if s else 0.0 for o, s in zip(part.owner, part.stop, strict=True)])
            )
        begins.append(begins[-1] + sum(part.h.size for part in (parts[-2:] if zone[k + 1] > 0.0 else parts[-1:])))
    return CurvePieces(*(np.concatenate(column) for column in zip(*parts, strict=True))), np.concatenate(waits), begins


def _zone(walker: Walker, run: CornerRun, following: CornerRun) -> float:
    """Return ℓ [m] on either side of the corner between two runs over which q is blended; 0 where the arm stops."""
    leg, other = run.legs[-1], following.legs[0]
    if isinstance(leg.blend, Stop):
        return 0.0
    move = walker.program.moves[leg.index]
    if isinstance(leg.blend, Tangent):
        a, b = run.curve.end.qd, following.curve.start.qd
        angle = np.degrees(np.arccos(np.clip(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)), -1.0, 1.0)))
        if angle > np.degrees(TANGENT_ANGLE) and stops_at_corners(walker):
            walker.sharp.append(move)
            run.legs[-1] = rested(leg)
            return 0.0
        if angle > np.degrees(TANGENT_ANGLE):
            raise walker.refuse(
                move,
                f"it is to be passed without rounding, but the joints change direction by {angle:.2f}° there",
                "a blend over a distance or a share (c_ptp, C_PTP, a zone), or a stop",
            )
        return STRAIGHT_BLEND_SHARE * min(leg.length, other.length)
    asked = zone_size(leg, other, move)
    room = 0.5 * min(leg.length, other.length)
    if asked > room * (1.0 + 1e-6):
        walker.note(
            move,
            f"the zone of {1e3 * asked:.1f} mm at its end is more than half of a neighbour: {1e3 * room:.1f} mm "
            "are rounded",
        )
    return min(asked, room)


def _trim(run: CornerRun, first: float, last: float) -> CurvePieces:
    """Return the pieces of a run between the zones at its ends."""
    curve, length = run.curve, run.curve.duration
    cuts = np.array([x for x in (first, length - last) if 0.0 < x < length])
    if cuts.size:
        cuts = cuts[np.abs(np.diff(cuts, prepend=-length)) > 1e-9 * length]  # the cuts coincide where the zones meet
        near = np.abs(curve.breaks[:, None] - cuts).min(axis=0) < 1e-9 * length
        points = np.sort(np.concatenate([curve.breaks, cuts[~near]]))
        curve = subdivide(curve, points)
    middle = 0.5 * (curve.breaks[1:] + curve.breaks[:-1])
    keep = (middle > first) & (middle < length - last) & (np.diff(curve.breaks) > 1e-9 * length)
    piece = np.searchsorted(run.curve.breaks[1:-1], middle, side="right")
    c = np.pad(curve.coefficients, ((0, 0), (0, 6 - curve.coefficients.shape[1]), (0, 0)))
    ends = np.concatenate([piece[1:] != piece[:-1], [True]])
    none = np.zeros(piece.size, dtype=bool)
    parts = CurvePieces(np.diff(curve.breaks), c, run.owner[piece], none, run.stop[piece] & ends, run.blended[piece])
    h, c, owner, rounded, stop, blended = parts
    return CurvePieces(h[keep], c[keep], owner[keep], rounded[keep], stop[keep], blended[keep])


def _rounded(run: CornerRun, following: CornerRun, zone: float) -> CurvePieces:
    """Return the quintic over the corner between two runs, cut into pieces."""
    a = run.curve.evaluate(run.curve.duration - zone)
    b = following.curve.evaluate(zone)
    whole = Trajectory(
        np.array([0.0, 2.0 * zone]), quintic_coefficients(2.0 * zone, a.q, b.q, a.qd, b.qd, a.qdd, b.qdd)[None]
    )
    curve = subdivide(whole, np.linspace(0.0, 2.0 * zone, BLEND_PIECES + 1))
    half = np.arange(BLEND_PIECES) < BLEND_PIECES // 2
    owner = np.where(half, run.legs[-1].index, following.legs[0].index)
    ones = np.ones(BLEND_PIECES, dtype=bool)
    return CurvePieces(np.diff(curve.breaks), curve.coefficients, owner, ones, ~ones, ones)
