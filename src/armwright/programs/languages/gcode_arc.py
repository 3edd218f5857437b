# SPDX-License-Identifier: Apache-2.0
"""Arcs of G-code: in a plane, by centre or by radius; returned as the point half-way along them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from armwright.programs.languages.cursor import Cursor
from armwright.programs.languages.lexer import Token

if TYPE_CHECKING:
    from armwright.types import Array

PLANES = {"G17": (0, 1, 2), "G18": (2, 0, 1), "G19": (1, 2, 0)}
"""Plane → its first and second axis and its normal, right-handed."""
SLACK = 2e-5  # m: how far start and end may differ in their distance to the centre, as programs are rounded
FLAT = 1e-9  # m: how far an arc may leave its plane


def arc_by_centre(cursor: Cursor, at: Token, p: Array, q: Array, offset: Array, plane: str, clockwise: bool) -> Array:
    """Return the middle (3,) [m] of the arc from p to q about ``p + offset``."""
    u, v, w = PLANES[plane]
    _check_flat(cursor, at, p, q, w, plane)
    centre = p + offset
    radius, other = (math.hypot(x[u] - centre[u], x[v] - centre[v]) for x in (p, q))
    if radius < SLACK:
        cursor.fail("an arc without a radius", at=at, valid=f"{'XYZ'[u]}, {'XYZ'[v]} and two of I, J, K")
    if abs(radius - other) > SLACK:
        cursor.fail(
            f"the end is {1e3 * abs(radius - other):.4g} mm off the circle about the centre that I, J, K give",
            at=at,
            valid="I, J, K from the start to the centre",
        )
    return _middle(cursor, at, p, q, centre, plane, clockwise)


def arc_by_radius(cursor: Cursor, at: Token, p: Array, q: Array, radius: float, plane: str, clockwise: bool) -> Array:
    """Return the middle (3,) [m] of the arc from p to q; a negative radius means the longer way."""
    u, v, w = PLANES[plane]
    _check_flat(cursor, at, p, q, w, plane)
    du, dv = q[u] - p[u], q[v] - p[v]
    chord = math.hypot(du, dv)
    if chord < SLACK or chord > 2.0 * abs(radius) + SLACK:
        cursor.fail(f"no circle of radius {abs(radius):.6g} m leads there", at=at, valid="R of at least half the way")
    height = math.sqrt(max(radius * radius - 0.25 * chord * chord, 0.0))
    side = (-1.0 if clockwise else 1.0) * math.copysign(1.0, radius)
    centre = 0.5 * (p + q)
    centre[u] -= side * height * dv / chord
    centre[v] += side * height * du / chord
    return _middle(cursor, at, p, q, centre, plane, clockwise)


def _check_flat(cursor: Cursor, at: Token, p: Array, q: Array, w: int, plane: str) -> None:
    if abs(q[w] - p[w]) > FLAT:
        cursor.fail(f"a helix: {'XYZ'[w]} changes along an arc of {plane}", at=at, valid="an arc in the plane")


def _middle(cursor: Cursor, at: Token, p: Array, q: Array, centre: Array, plane: str, clockwise: bool) -> Array:
    u, v, _ = PLANES[plane]
    first, last = (math.atan2(x[v] - centre[v], x[u] - centre[u]) for x in (p, q))
    turn = (first - last if clockwise else last - first) % (2.0 * math.pi)
    if turn < 1e-9 or turn > 2.0 * math.pi - 1e-9:
        cursor.fail("a full circle: its start and end do not tell the way", at=at, valid="two arcs of half a circle")
    angle = first + (-0.5 if clockwise else 0.5) * turn
    radius = math.hypot(p[u] - centre[u], p[v] - centre[v])
    middle = np.array(p)
    middle[u], middle[v] = centre[u] + radius * math.cos(angle), centre[v] + radius * math.sin(angle)
    return middle
