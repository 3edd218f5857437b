# SPDX-License-Identifier: Apache-2.0
"""`PathMove`: the TCP along a way (movel, movep, movec), as fast as tool and joints may.

It gives control back to its program where its blend zone begins (`returned`); the next move may then take over with the
speed that it has (`next_on`). It ends at rest, so an arm that is told nothing more stops at its goal.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from armwright.lab.controller.motions import (
    LOST_IK_ERROR,
    MOTION_TICK,
    JointLimits,
    PathLostError,
    Stretch,
    Towards,
)
from armwright.lab.controller.path_law import PathLaw, TrapezoidLaw, law_of, sampled
from armwright.lab.controller.tool_way import LinePiece, ToolWay, bent
from armwright.motion.trajectory import Reference

if TYPE_CHECKING:
    from armwright.types import Array

STEP_SHARE = 0.98  # of the joints' speed limits that a tick uses
SLOWEST_SCALE = 0.01  # of the planned step: a way that can only be followed slower than that is lost


class PathMove(Stretch):
    """A move of the TCP along a way.

    Attributes:
        way: pieces. radius: of the blend at its end [m]. law: σ over time.
    """

    def __init__(
        self,
        start: Reference,
        way: ToolWay,
        v: float,
        a: float,
        towards: Towards,
        limits: JointLimits,
        *,
        radius: float = 0.0,
        speed: float = 0.0,
    ) -> None:
        """Plan it.

        Args:
            start: reference at its beginning.
            way: from there on.
            v: tool speed [m/s].
            a: tool acceleration [m/s²].
            towards: follows poses.
            limits: of the joints.
            radius: of the blend at its end [m].
            speed: σ̇ at the beginning [m/s].
        """
        super().__init__(way.length, v, a)
        self.way, self.radius = way, radius
        self._towards, self._limits, self._begun = towards, limits, speed
        self._q, self._qd, self._s, self._speed = np.array(start.q), np.array(start.qd), 0.0, speed
        self._samples = sampled(way, self._q, towards) if way.length > 0.0 else None
        self.law: PathLaw | TrapezoidLaw
        self._plan()

    def _plan(self) -> None:
        if self._samples is None:
            self.law = TrapezoidLaw(0.0, self._v, self._a)
        else:
            self.law = law_of(self.way, self._samples, self._v, self._a, self._limits, self._begun)
        self._zone = self._zone_begins()

    def last(self, time: float, most_v: float, most_a: float) -> None:
        """See `Stretch`."""
        super().last(time, most_v, most_a)
        self._plan()

    @property
    def left(self) -> float:
        """See `Stretch`."""
        return self.law.whole - self._t

    @property
    def returned(self) -> bool:
        """Return whether control is back with the program: the blend zone has begun."""
        return self.radius > 0.0 and self._t >= self._zone

    @property
    def speed(self) -> float:
        """Return σ̇ now [m/s]."""
        return self._speed

    @property
    def goal(self) -> Array:
        """Return the TCP pose (6,) at its end."""
        return self.way.pose(self.way.length)

    def _zone_begins(self) -> float:
        """Return when [s] the TCP is within the radius of its goal, at most half of the last piece before it."""
        if not self.way.pieces or self.radius <= 0.0:
            return inf
        piece = self.way.pieces[-1]
        share = min(0.5, self.radius / piece.metres if piece.metres > 0.0 else 0.5)
        return self.law.time_at(self.way.length - share * piece.length)

    def end(self) -> Array:
        """See `Stretch`."""
        if self._samples is None:
            return self._q
        if self._samples.lost < inf:
            raise PathLostError("the path leaves what the joints can follow")
        return np.asarray(self._samples.q[-1])

    def distance(self, s: float, *, last: bool) -> float:
        """See `Stretch`."""
        at = self.way.pose(self.way.length - s if last else s)
        origin = self.way.pose(self.way.length if last else 0.0)
        return float(np.linalg.norm(at[:3] - origin[:3]))

    def time_within(self, radius: float, *, last: bool = False) -> float:
        """See `Stretch`."""
        whole = self._length
        if whole <= 0.0:
            return 0.0
        low, high = 0.0, 0.5 * whole
        if self.distance(high, last=last) > radius:
            for _ in range(20):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if self.distance(middle, last=last) <= radius else (low, middle)
            high = low
        if last:
            return self.law.whole - max(self.law.time_at(whole - high), self.law.braking)
        return min(self.law.time_at(high), sqrt(2.0 * high / self._a))

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        if self._samples is None:
            return Reference(self._q, np.zeros_like(self._q), np.zeros_like(self._q)), True
        before, share = self._t, 1.0
        while True:
            self._t = before + share * scale * MOTION_TICK
            s, speed = self.law.at(self._t)
            q, error = self._towards(self._q, self.way.pose(s))
            if not error <= LOST_IK_ERROR:
                raise PathLostError(f"the path leaves what the joints can follow by {error:.2g} m or rad")
            qd = (q - self._q) / MOTION_TICK
            fast = float(np.max(np.abs(qd) / self._limits.speed))
            if fast <= 1.0:
                break
            share *= STEP_SHARE / fast
            if share < SLOWEST_SCALE:
                raise PathLostError("the path is singular: the joints cannot pass it")
        if self._t >= self.law.whole and self._samples.lost < inf:
            raise PathLostError("the path leaves what the joints can follow: it is out of reach or singular")
        at = Reference(q, qd, (qd - self._qd) / MOTION_TICK)
        self._q, self._qd, self._s, self._speed = q, qd, s, speed * scale * share
        return at, self._t >= self.law.whole

    def next_on(
        self, pose: Array, v: float, a: float, towards: Towards, limits: JointLimits, radius: float
    ) -> PathMove | None:
        """Return the move that leaves this one on a bend, then goes in a line to a pose (6,); None if it is on no line.

        The bend begins where this move is now, or where it comes within the reach of the next one.
        """
        piece = self.way.pieces[-1] if self.way.pieces else None
        if not isinstance(piece, LinePiece) or self._s < self.way.joints[-2]:
            return None
        now = self.way.pose(self._s)
        way = ToolWay(bent(now, self.goal, pose, self.radius))
        at = Reference(self._q, self._qd, np.zeros_like(self._q))
        return PathMove(at, way, v, a, towards, limits, radius=radius, speed=self._speed)


class PathStop(Stretch):
    """A move along a way that brakes on it (stopl)."""

    def __init__(self, move: PathMove, deceleration: float) -> None:
        """Take over from `move`; the deceleration is that of the tool [m/s²]."""
        super().__init__(0.0, 1.0, deceleration)
        self._move, self._share = move, 1.0

    def step(self, scale: float) -> tuple[Reference, bool]:
        """See `Motion`."""
        usual = max(self._move.law.at(self._move._t)[1], 1e-6)
        self._share = max(0.0, self._share - self._a * MOTION_TICK / usual)
        if self._share <= 0.0:
            rest = np.zeros_like(self._move._q)
            return Reference(self._move._q, rest, rest), True
        return self._move.step(self._share)
