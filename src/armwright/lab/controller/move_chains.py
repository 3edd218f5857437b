# SPDX-License-Identifier: Apache-2.0
"""Several moves as one: stops between them, blends of a radius (movej, movel), or one even speed throughout (movep).

A blend of radius r lets the next move begin while the last one still brakes:

    q(t) = q_a(t) + q_b(t − t_b) − q_w,   t_b = T_a − τ,   τ = min(ramps of both, time of either over r)

At τ before its end the braking move is within r of the waypoint, at τ the beginning one as well, so the TCP leaves
the taught path only within r of the waypoint, and passes without a stop. Blends take at most half of a move.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import tan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.lab.controller.motions import (
    MOTION_TICK,
    Motion,
    PathLostError,
    Stretch,
    TcpMotion,
    Towards,
    trapezoid,
)
from armwright.motion.trajectory import Reference
from armwright.spatial.rotations import exp_so3, log_so3

if TYPE_CHECKING:
    from armwright.types import Array

Maker = Callable[[Reference], Motion]
SHARPEST = 1e-3  # [rad] below which there is no corner


class Chain:
    """One motion after the other; each is made when the one before has ended, or blends into it."""

    resumes = True
    returned = False

    def __init__(
        self,
        makers: Sequence[Maker],
        start: Reference,
        radii: Sequence[float] = (),
        firsts: Sequence[int] | None = None,
    ) -> None:
        """Begin.

        Args:
            makers: of the motions, each from where the last one ends.
            start: of the first.
            radii: of the blend at the end of each [m], 0 or left out for a stop.
            firsts: number of the move that each begins with, where one stands for several (`ToolCourse`).
        """
        if not makers:
            raise InputError("lab: a chain of no motions")
        self._makers, self._k = list(makers), 0
        self._firsts = list(range(len(makers)) if firsts is None else firsts)
        self._radii = [*radii, *[0.0] * len(makers)][: len(makers)]
        self._now = makers[0](start)
        self._next: Motion | None = None
        self._overlap, self._waypoint = 0.0, start.q
        self._prepare()

    @property
    def number(self) -> int:
        """Return the number of the move under way, from 0."""
        return self._firsts[self._k] + (self._now.passed if isinstance(self._now, ToolCourse) else 0)

    def _prepare(self) -> None:
        """Make the next motion beforehand if it blends into this one."""
        self._next, now, k = None, self._now, self._k
        if k + 1 >= len(self._makers) or not self._radii[k] > 0.0 or not isinstance(now, Stretch):
            return
        try:
            self._waypoint = now.end()
        except PathLostError:  # reported when the arm comes to it; until then it moves
            return
        following = self._makers[k + 1](Reference(self._waypoint, np.zeros(6), np.zeros(6)))
        if isinstance(following, Stretch):
            self._next = following
            self._overlap = min(now.time_within(self._radii[k], last=True), following.time_within(self._radii[k]))

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        at, ended = self._now.step(scale)
        if isinstance(self._now, Stretch) and self._next is not None and self._now.left < self._overlap:
            other, _ = self._next.step(scale)
            at = Reference(at.q + other.q - self._waypoint, at.qd + other.qd, at.qdd + other.qdd)
        if ended and self._k + 1 < len(self._makers):
            self._k += 1
            self._now = self._next if self._next is not None else self._makers[self._k](at)
            self._prepare()
            ended = False
        return at, ended


class _Corner(NamedTuple):
    """A circular arc between two lines, or a point: where it begins, its tangents, radius [m] and angle [rad]."""

    begin: Array
    before: Array
    inward: Array
    radius: float
    angle: float


def _corner(a: Array, b: Array, c: Array, r: float) -> tuple[_Corner | None, float]:
    """Return the arc from a → b to b → c that begins at distance r of b (half a line at most), and that distance."""
    u, w = b - a, c - b
    lengths = float(np.linalg.norm(u)), float(np.linalg.norm(w))
    if min(lengths) == 0.0 or r <= 0.0:
        return None, 0.0
    u, w = u / lengths[0], w / lengths[1]
    angle = float(np.arccos(np.clip(u @ w, -1.0, 1.0)))
    if not SHARPEST < angle < np.pi - SHARPEST:
        return None, 0.0
    d = min(r, 0.5 * lengths[0], 0.5 * lengths[1])
    inward = w - (u @ w) * u
    return _Corner(b - d * u, u, inward / np.linalg.norm(inward), d / tan(0.5 * angle), angle), d


class ToolCourse(TcpMotion):
    """Movep: lines with circular arcs at the waypoints, at one tool speed; the tool turns from waypoint to waypoint.

    The speed is lowered for the whole course if an arc would need more than the acceleration a: v² ≤ a ρ.

    Attributes:
        passed: inner waypoints so far.
    """

    resumes = True

    def __init__(
        self, start: Reference, poses: Array, radii: Sequence[float], v: float, a: float, towards: Towards
    ) -> None:
        """Take poses (k, 6), the first where it begins; radii [m] of the k − 2 inner ones, all > 0 or straight on."""
        super().__init__(start, towards)
        points = poses[:, :3]
        self._R = [exp_so3(pose[3:]) for pose in poses]
        self._turns = [log_so3(A.T @ B) for A, B in zip(self._R, self._R[1:], strict=False)]
        self._pieces: list[tuple[float, Array, Array, _Corner | None]] = []  # where it begins, point, direction, arc
        self._stations, s, at = [0.0], 0.0, points[0]
        for k in range(1, len(points)):
            inner = k + 1 < len(points)
            corner, d = _corner(points[k - 1], points[k], points[k + 1], radii[k - 1]) if inner else (None, 0.0)
            way = points[k] - at
            length = float(np.linalg.norm(way))
            direction = way / length if length > 0.0 else np.zeros(3)
            self._pieces.append((s, at, direction, None))
            s, at = s + length - d, points[k] - d * direction
            middle = s
            if corner is not None:
                self._pieces.append((s, at, direction, corner))
                arc = corner.radius * corner.angle
                v = min(v, float(np.sqrt(a * corner.radius)))
                out = np.cos(corner.angle) * corner.before + np.sin(corner.angle) * corner.inward
                s, at, middle = s + arc, points[k] + d * out, s + 0.5 * arc
            self._stations.append(middle)
        turning = max((float(np.linalg.norm(turn)) for turn in self._turns), default=0.0)
        self._length, self._stretched = s, max(s, 0.25 * turning)
        self._v, self._a, self._t, self.passed = v, a, 0.0, 0
        self._begins = [piece[0] for piece in self._pieces]

    def begin(self, start: Reference) -> ToolCourse:
        """Return itself, to begin at a reference: a long course is planned before the arm is there."""
        self.q, self._qd = np.array(start.q), np.array(start.qd)
        return self

    def _position(self, s: float) -> Array:
        begin, at, direction, corner = self._pieces[max(0, bisect_right(self._begins, s) - 1)]
        if corner is None:
            straight: Array = at + (s - begin) * direction
            return straight
        phi = (s - begin) / corner.radius
        round_: Array = at + corner.radius * (np.sin(phi) * corner.before + (1.0 - np.cos(phi)) * corner.inward)
        return round_

    def _rotation(self, s: float) -> Array:
        """Return the rotation at s; between two waypoints the turn eases in and out, so that its rate has no jump."""
        leg = self.passed = min(int(np.searchsorted(self._stations, s, side="right")) - 1, len(self._turns) - 1)
        low, high = self._stations[leg], self._stations[leg + 1]
        x = (s - low) / (high - low) if high > low else 1.0
        R: Array = self._R[leg] @ exp_so3(x * x * (3.0 - 2.0 * x) * self._turns[leg])
        return R

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        self._t += MOTION_TICK * scale
        s, _, _, whole = trapezoid(self._stretched, self._v, self._a, self._t)
        s = s * self._length / self._stretched if self._stretched else 0.0
        pose = np.concatenate([self._position(s), log_so3(self._rotation(s))])
        return self.follow(pose), self._t >= whole
