# SPDX-License-Identifier: Apache-2.0
"""Arcs of G-code in a plane of the frame: centre and angle by I, J, K or by R, the helix, and how they are moved.

A flat arc is one move through its middle; a full circle, or several turns, one move by its angle. A helix is a chain
of short arcs in space: their middle and end lie on it, and they meet at less than `HELIX_CORNER`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from armwright.programs.interpreter.program_values import ValueTrouble
from armwright.types import Array

PLANES = {"G17": (0, 1, 2), "G18": (2, 0, 1), "G19": (1, 2, 0)}
"""Plane → its first and second axis and its normal, right-handed."""
ARC_PLANE_TOLERANCE = 1e-9  # m: how far an arc may leave its plane and count as flat
ARC_SAME_PLACE = 1e-8  # m: start and end that are one place: a full circle
ROUNDING = 5e-6  # m: radii at start and end differ by this much through rounding alone (grbl's and LinuxCNC's figure)
MOST_OFF, MOST_SHARE = 5e-4, 1e-3  # m and of the radius: beyond, start and end lie on no common circle
HELIX_CORNER = math.radians(0.05)  # arcs that meet below 0.1° are passed at speed
WIDEST_PIECE = math.radians(30.0)


@dataclass(frozen=True)
class ArcShape:
    """An arc from p to q (3,) [m] about `centre` (3,) by `turn` [rad], counter-clockwise about the plane's normal."""

    p: Array
    q: Array
    centre: Array
    turn: float
    plane: str

    def at(self, *shares: float) -> list[Array]:
        """Return the points (3,) after shares of the arc: radius and height change evenly."""
        u, v, w = PLANES[self.plane]
        p, q, centre = self.p.tolist(), self.q.tolist(), self.centre.tolist()
        first = math.atan2(p[v] - centre[v], p[u] - centre[u])
        r0, r1 = (math.hypot(x[u] - centre[u], x[v] - centre[v]) for x in (p, q))
        found = []
        for share in shares:
            radius, angle = r0 + share * (r1 - r0), first + share * self.turn
            point = [0.0, 0.0, 0.0]
            point[u], point[v] = centre[u] + radius * math.cos(angle), centre[v] + radius * math.sin(angle)
            point[w] = p[w] + share * (q[w] - p[w])
            found.append(np.array(point))
        return found

    @property
    def rise(self) -> float:
        """How far the arc leaves its plane [m]."""
        w = PLANES[self.plane][2]
        return float(self.q[w] - self.p[w])

    @property
    def radius(self) -> float:
        """At the start [m]."""
        u, v, _ = PLANES[self.plane]
        return math.hypot(self.p[u] - self.centre[u], self.p[v] - self.centre[v])

    def pieces(self) -> list[tuple[Array, Array, float | None]]:
        """Return via, target and angle of the moves that make the arc."""
        if abs(self.rise) <= ARC_PLANE_TOLERANCE:
            if abs(self.turn) > 2.0 * math.pi - 1e-9:
                via, end = self.at(1.0 / 3.0 * _one(self.turn), 2.0 / 3.0 * _one(self.turn))
                return [(via, end, abs(self.turn))]
            return [(self.at(0.5)[0], np.array(self.q), None)]
        slope = abs(self.rise) / (self.radius * abs(self.turn))
        half = min(0.5 * WIDEST_PIECE, math.sqrt(1.5 * HELIX_CORNER / slope))
        count = math.ceil(abs(self.turn) / (2.0 * half))
        ends = [*self.at(*((k + 1) / count for k in range(count - 1))), np.array(self.q)]
        middles = self.at(*((k + 0.5) / count for k in range(count)))
        return [(middle, end, None) for middle, end in zip(middles, ends, strict=True)]


def _one(turn: float) -> float:
    """Return the share of all turns that is one turn."""
    return 2.0 * math.pi / abs(turn)


def arc_by_centre(p: Array, q: Array, centre: Array, plane: str, clockwise: bool, turns: int = 1) -> ArcShape:
    """Return the arc from p to q about a centre (3,) [m]; start and end at one place make a full circle."""
    u, v, _ = PLANES[plane]
    radius, other = (math.hypot(x[u] - centre[u], x[v] - centre[v]) for x in (p, q))
    letters = " and ".join("IJK"[axis] for axis in sorted((u, v)))
    if min(radius, other) < ROUNDING:
        raise ValueTrouble("an arc without a radius", f"{letters} from the start to the centre")
    off = abs(radius - other)
    if off > ROUNDING and (off > MOST_OFF or off > MOST_SHARE * radius):
        raise ValueTrouble(
            f"the end is {1e3 * off:.4g} mm off the circle about the centre that {letters} give",
            f"{letters} from the start to the centre",
        )
    return ArcShape(p, q, centre, _turn(p, q, centre, plane, clockwise, turns), plane)


def arc_by_radius(p: Array, q: Array, radius: float, plane: str, clockwise: bool, turns: int = 1) -> ArcShape:
    """Return the arc from p to q [m]; a negative radius means the longer way."""
    u, v, _ = PLANES[plane]
    du, dv = q[u] - p[u], q[v] - p[v]
    chord = math.hypot(du, dv)
    if chord < ARC_SAME_PLACE:
        raise ValueTrouble("R with an end at the start names no circle", "I, J, K from the start to the centre")
    if chord > 2.0 * abs(radius) + 2.0 * ROUNDING:
        half = f"R of at least half the way, {500.0 * chord:.6g} mm"
        raise ValueTrouble(f"no circle of radius {1e3 * abs(radius):.6g} mm leads there", half)
    height = math.sqrt(max(radius * radius - 0.25 * chord * chord, 0.0))
    side = (-1.0 if clockwise else 1.0) * math.copysign(1.0, radius)
    centre = 0.5 * (p + q)
    centre[u] -= side * height * dv / chord
    centre[v] += side * height * du / chord
    return ArcShape(p, q, centre, _turn(p, q, centre, plane, clockwise, turns), plane)


def _turn(p: Array, q: Array, centre: Array, plane: str, clockwise: bool, turns: int) -> float:
    u, v, _ = PLANES[plane]
    first, last = (math.atan2(x[v] - centre[v], x[u] - centre[u]) for x in (p, q))
    turn = (first - last if clockwise else last - first) % (2.0 * math.pi)
    if math.hypot(q[u] - p[u], q[v] - p[v]) < ARC_SAME_PLACE:
        turn = 2.0 * math.pi
    turn += 2.0 * math.pi * (turns - 1)
    return -turn if clockwise else turn
