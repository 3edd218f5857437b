# SPDX-License-Identifier: Apache-2.0
"""Runs of a program put one behind the other, and the corners between them rounded in joint space.

Where a joint move meets anything, no tool path exists on both sides. So q itself is blended: over the zone on either
side of the corner by the quintic in ℓ that meets q, q′, q″ of both sides. This is how a PTP flows into a circle.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.motion.blend import TANGENT
from armwright.motion.point_to_point import quintic_coefficients
from armwright.motion.time_optimal import subdivide
from armwright.motion.trajectory import Trajectory
from armwright.programs.program import Stop, Tangent
from armwright.programs.zones import zone_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.motion.joint_curve import JointCurve
    from armwright.programs.legs import Leg, Walker
    from armwright.types import Array

BLEND_PIECES = 24
STRAIGHT = 0.25  # of the shorter neighbour, where two moves meet without a corner: only their scales of ℓ differ


class Pieces(NamedTuple):
    """Pieces of a curve: lengths h (m,), coefficients c (m, 6, n), owner, rounded, stop at their ends (m,)."""

    h: Array
    c: Array
    owner: NDArray[np.int64]
    rounded: NDArray[np.bool_]
    stop: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Legs that are one curve without a joint-space corner: `curve` by ℓ, `owner` and `stop` (m,) of its pieces."""

    legs: list[Leg]
    curve: Trajectory
    owner: NDArray[np.int64]
    stop: NDArray[np.bool_]

    @property
    def q_end(self) -> Array:
        """Joints (n,) at the end."""
        return np.asarray(self.curve.end.q)

    @staticmethod
    def straight(leg: Leg) -> Run:
        """A joint move."""
        c = np.zeros((1, 6, leg.q.shape[1]))
        c[0, 0], c[0, 1] = leg.q[0], (leg.q[1] - leg.q[0]) / leg.length
        return Run([leg], Trajectory(np.array([0.0, leg.length]), c), np.array([leg.index]), np.zeros(1, dtype=bool))

    @staticmethod
    def tool(legs: list[Leg], curve: JointCurve, corners: Array) -> Run:
        """Tool moves; `corners` are the σ where they meet."""
        middle = 0.5 * (curve.sigma[1:] + curve.sigma[:-1])
        leg = np.searchsorted(corners[1:-1], middle)
        owner = np.array([leg.index for leg in legs])[leg]
        halts = np.array([isinstance(leg.blend, Stop) for leg in legs])
        last = np.concatenate([leg[1:] != leg[:-1], [False]])
        return Run(legs, curve.motion, owner, last & halts[leg])


def chain(walker: Walker, runs: list[Run]) -> tuple[Pieces, Array]:
    """Put runs one behind the other; return all pieces, and the wait (m+1,) [s] at the start and behind each piece."""
    zone = np.zeros(len(runs) + 1)
    for k, (run, following) in enumerate(pairwise(runs)):
        zone[k + 1] = _zone(walker, run, following)
    parts, waits = [], [np.zeros(1)]
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
    return Pieces(*(np.concatenate(column) for column in zip(*parts, strict=True))), np.concatenate(waits)


def _zone(walker: Walker, run: Run, following: Run) -> float:
    """ℓ [m] on either side of the corner between two runs over which q is blended; 0 where the arm stops."""
    leg, other = run.legs[-1], following.legs[0]
    if isinstance(leg.blend, Stop):
        return 0.0
    move = walker.program.moves[leg.index]
    if isinstance(leg.blend, Tangent):
        a, b = run.curve.end.qd, following.curve.start.qd
        angle = np.degrees(np.arccos(np.clip(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)), -1.0, 1.0)))
        if angle > np.degrees(TANGENT):
            raise walker.refuse(
                move,
                f"it is to be passed without rounding, but the joints change direction by {angle:.2f}° there",
                "a blend over a distance or a share (c_ptp, C_PTP, a zone), or a stop",
            )
        return STRAIGHT * min(leg.length, other.length)
    asked = zone_size(leg, other, move)
    room = 0.5 * min(leg.length, other.length)
    if asked > room * (1.0 + 1e-6):
        walker.note(
            move,
            f"the zone of {1e3 * asked:.1f} mm at its end is more than half of a neighbour: {1e3 * room:.1f} mm "
            "are rounded",
        )
    return min(asked, room)


def _trim(run: Run, first: float, last: float) -> Pieces:
    """The pieces of a run between the zones at its ends."""
    curve, length = run.curve, run.curve.duration
    cuts = np.array([x for x in (first, length - last) if 0.0 < x < length])
    if cuts.size:
        cuts = cuts[np.abs(np.diff(cuts, prepend=-length)) > 1e-9 * length]  # both are one where the zones meet
        near = np.abs(curve.breaks[:, None] - cuts).min(axis=0) < 1e-9 * length
        points = np.sort(np.concatenate([curve.breaks, cuts[~near]]))
        curve = subdivide(curve, points)
    middle = 0.5 * (curve.breaks[1:] + curve.breaks[:-1])
    keep = (middle > first) & (middle < length - last) & (np.diff(curve.breaks) > 1e-9 * length)
    piece = np.searchsorted(run.curve.breaks[1:-1], middle, side="right")
    c = np.pad(curve.coefficients, ((0, 0), (0, 6 - curve.coefficients.shape[1]), (0, 0)))
    ends = np.concatenate([piece[1:] != piece[:-1], [True]])
    parts = Pieces(np.diff(curve.breaks), c, run.owner[piece], np.zeros(piece.size, dtype=bool), run.stop[piece] & ends)
    return Pieces(parts.h[keep], parts.c[keep], parts.owner[keep], parts.rounded[keep], parts.stop[keep])


def _rounded(run: Run, following: Run, zone: float) -> Pieces:
    """The quintic over the corner between two runs, cut into pieces."""
    a = run.curve.evaluate(run.curve.duration - zone)
    b = following.curve.evaluate(zone)
    whole = Trajectory(
        np.array([0.0, 2.0 * zone]), quintic_coefficients(2.0 * zone, a.q, b.q, a.qd, b.qd, a.qdd, b.qdd)[None]
    )
    curve = subdivide(whole, np.linspace(0.0, 2.0 * zone, BLEND_PIECES + 1))
    half = np.arange(BLEND_PIECES) < BLEND_PIECES // 2
    owner = np.where(half, run.legs[-1].index, following.legs[0].index)
    ones = np.ones(BLEND_PIECES, dtype=bool)
    return Pieces(np.diff(curve.breaks), curve.coefficients, owner, ones, ~ones)
