# SPDX-License-Identifier: Apache-2.0
"""When the arm is where on its route: the fastest law that keeps the program's words, from stop to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.motion.reachability import largest_speeds
from armwright.motion.speed_profile import Profile, fastest
from armwright.programs.legs import refusal
from armwright.programs.program import Duration

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.programs.pace import Pace
    from armwright.programs.program import Program
    from armwright.programs.route import Route
    from armwright.robot.model import Robot
    from armwright.types import Array

WITHIN = 1.0 + 1e-9
FINER = 3


def words_law(route: Route, pace: Pace) -> Profile:
    """Return the fastest law under a pace, at rest where the route stops.

    Caps and pushes alone give the exact trapezoids of `fastest`. Where the way bends and joints must keep an
    acceleration, a section that breaks it is solved again with those rows by reachability, on the same grid.
    """
    parts = []
    for first, last in route.sections:
        s, piece = _grid(route, pace, first, last)
        part = fastest(s, pace.cap[piece], pace.push[piece], straight=pace.shaped[piece])
        part = Profile(part.s, part.x, piece[part.origin])
        rows = _rows(route, pace, part)
        parts.append(part if rows is None else Profile(part.s, largest_speeds(part.s, *rows), part.origin))
    return joined(parts)


def _grid(route: Route, pace: Pace, first: int, last: int) -> tuple[Array, NDArray[np.int64]]:
    """Grid of a section and the piece of each interval: finer where accelerations are to be kept on a bend."""
    count = np.where(pace.weight[first:last].any(axis=1), FINER, 1)
    piece = np.repeat(np.arange(first, last), count)
    inside = np.arange(piece.size) - np.repeat(np.cumsum(count) - count, count)
    breaks = route.curve.breaks
    s = breaks[piece] + (breaks[piece + 1] - breaks[piece]) * inside / count[piece - first]
    return np.append(s, breaks[last]), piece


def joined(parts: list[Profile]) -> Profile:
    """Laws of sections that follow one another, each from rest to rest, as one."""
    s = np.concatenate([parts[0].s[:1], *(part.s[1:] for part in parts)])
    x = np.concatenate([parts[0].x[:1], *(part.x[1:] for part in parts)])
    return Profile(s, x, np.concatenate([part.origin for part in parts]))


def _rows(route: Route, pace: Pace, law: Profile) -> tuple[Array, Array, Array] | None:
    """The limits as rows a u + b x + c ≤ 0 of the law's intervals, each (N, k); None if the law keeps them already."""
    weight = pace.weight[law.origin][:, None]
    if not weight.any():
        return None
    h = np.diff(law.s)
    start = route.curve.breaks[law.origin]
    ends = np.stack([law.s[:-1] - start, law.s[1:] - start], axis=1)
    first, last = int(law.origin[0]), int(law.origin[-1]) + 1
    _, dq, ddq = route.part(first, last).on_pieces(np.repeat(law.origin[:, None] - first, 2, axis=1), ends)
    inertia, curve = dq * weight, ddq * weight
    x = np.stack([law.x[:-1], law.x[1:]], axis=1)[..., None]
    if np.abs(inertia * law.push[:, None, None] + curve * x).max() <= WITHIN:
        return None
    reach = np.stack([np.zeros_like(h), 2.0 * h], axis=1)
    a = (inertia + reach[..., None] * curve).reshape(h.size, -1)
    b = curve.reshape(h.size, -1)
    push, cap = 1.0 / pace.push[law.origin], 1.0 / pace.cap[law.origin]
    a = np.concatenate([a, -a, push[:, None], -push[:, None], reach * cap[:, None]], axis=1)
    b = np.concatenate([b, -b, np.zeros((h.size, 2)), np.repeat(cap[:, None], 2, axis=1)], axis=1)
    return a, b, np.full_like(a, -1.0)


def check_bounded(robot: Robot, program: Program, route: Route, pace: Pace) -> None:
    """Refuse moves whose speed or acceleration nothing bounds."""
    for value, what in ((pace.cap, "speed"), (pace.push, "acceleration")):
        free = ~np.isfinite(value)
        if free.any():
            move = program.moves[int(route.owner[np.argmax(free)])]
            raise refusal(
                program,
                move,
                f"nothing bounds the {what} of this move: {robot.name!r} has no rated joint {what}s and the "
                "program gives none in m/s",
                f"a sheet with joint {what}s, or a {what} word of the tool",
            )


def stretched(program: Program, route: Route, law: Profile) -> Profile:
    """Slow sections of a single move that names its own duration down to it; refuse durations that are too short."""
    moves = program.moves
    x, times = law.x.copy(), law.times
    for first, last in route.sections:
        move = moves[int(route.owner[first])]
        word = move.speed
        alone = route.owner[first] == route.owner[last - 1]  # owners follow one another in order
        if not (alone and isinstance(word, Duration) and word.seconds > 0.0):
            continue
        begin, end = np.searchsorted(law.origin, [first, last])
        needs = float(times[begin:end].sum())
        if needs > word.seconds * (1.0 + 1e-9):
            raise refusal(
                program,
                move,
                f"the move is to take {word.seconds:g} s, but joints and motors need {needs:.4f} s at least",
                f"durations from {needs:.4f} s on",
            )
        x[begin : end + 1] *= (needs / word.seconds) ** 2
    return Profile(law.s, x, law.origin)
