# SPDX-License-Identifier: Apache-2.0
"""How large the zones are in which corners are rounded: what the program asks, and what its legs leave room for."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from armwright.motion.blend import Corner
from armwright.programs.program import BySpeed, Distance, Share, Stop, Tangent, ToolRate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.programs.legs import Leg, Walker
    from armwright.programs.program import Move
    from armwright.types import Array

HALF = ("rapid", "krl")  # languages whose zones take at most half of a leg, whatever happens at its other end
ROOM = 1.0 - 1e-9


def zone_size(leg: Leg, following: Leg, move: Move) -> float:
    """σ [m] on either side of the corner that the blend of `leg` asks for; 0 for stops and tangents."""
    blend = leg.blend
    if isinstance(blend, Distance):
        return blend.position
    if isinstance(blend, Share):
        return 0.5 * blend.value * min(leg.length, following.length)
    if isinstance(blend, BySpeed):
        if isinstance(move.speed, ToolRate) and isinstance(move.acceleration, ToolRate):
            return (blend.value * move.speed.linear) ** 2 / (2.0 * move.acceleration.linear)
        return 0.25 * blend.value**2 * min(leg.length, following.length)  # a trapezoid's ramp, were it half the leg
    return 0.0


def fit_zones(walker: Walker, legs: Sequence[Leg]) -> Array:
    """Zones (len(legs) + 1,) [m] at the corners of legs that follow one another, shrunk until none overlap."""
    moves, program = walker.program.moves, walker.program
    n = len(legs)
    length = np.array([leg.length for leg in legs])
    asked = np.zeros(n + 1)
    for k, (leg, following) in enumerate(pairwise(legs)):
        asked[k + 1] = zone_size(leg, following, moves[leg.index])
    most = length * (0.5 if program.language in HALF else 1.0)
    zone = np.minimum(asked, np.minimum(np.concatenate([[0.0], most]), np.concatenate([most, [0.0]])))
    both = zone[:-1] + zone[1:]
    scale = np.where(both > length, length / np.where(both > 0.0, both, 1.0), 1.0) * ROOM
    zone *= np.minimum(np.concatenate([[1.0], scale]), np.concatenate([scale, [1.0]]))
    for k in map(int, np.flatnonzero(zone < asked * (1.0 - 1e-6))):
        leg, other = legs[k - 1], legs[k]
        walker.note(
            moves[leg.index],
            f"the zone of {1e3 * asked[k]:.1f} mm at its end does not fit beside its neighbours (legs of "
            f"{1e3 * leg.length:.1f} and {1e3 * other.length:.1f} mm): {1e3 * zone[k]:.1f} mm are rounded",
        )
    return np.asarray(zone)


def tool_corner(leg: Leg, following: Leg, zone: float) -> Corner:
    """How two tool segments are joined, given the position zone [m]."""
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
    return Corner(zone, zone, turn, turn)


def _turn_rate(leg: Leg) -> float:
    segment = leg.segment
    return 0.0 if segment is None else float(np.linalg.norm(segment.turn)) / segment.length
