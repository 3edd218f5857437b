# SPDX-License-Identifier: Apache-2.0
"""`PathMove`: the TCP along a way (movel, movep, movec), as fast as tool and joints may.

It gives control back to its program where its blend zone begins (`returned`); the next move may then take over with the
speed that it has (`follow_on`). It ends at rest, so an arm that is told nothing more stops at its goal.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from armwright.lab.controller.motions import (
    LOST_IK_ERROR,
    MOTION_TICK,
    SLOWEST_SCALE,
    STEP_SHARE,
    JointLimits,
    PathLostError,
    Stretch,
    Towards,
)
from armwright.lab.controller.path_law import PathLaw, TrapezoidLaw, WaySamples, law_of
from armwright.lab.controller.tool_way import LinePiece, ToolWay, bent
from armwright.motion.trajectory import Reference

if TYPE_CHECKING:
    from armwright.types import Array

NEXT_SAMPLE = 1e-9  # [m] to the first sample ahead, at least


class PathMove(Stretch):
    """A move of the TCP along a way.

    Attributes:
        way: pieces. radius: of the blend at its end [m]; rounded: whether that is a circle. law: σ over time.
    """

    def __init__(
        self,
        start: Reference,
        way: ToolWay,
        samples: WaySamples | None,
        v: float,
        a: float,
        towards: Towards,
        limits: JointLimits,
        *,
        radius: float = 0.0,
        rounded: bool = False,
        speed: float = 0.0,
        since: float = 0.0,
        time: float = 0.0,
    ) -> None:
        """Plan its speed.

        Args:
            start: reference at its beginning.
            way: from there on.
            samples: of the way, see `sampled`; None for a way without a length.
            v: tool speed [m/s].
            a: tool acceleration [m/s²].
            towards: follows poses.
            limits: of the joints.
            radius: of the blend at its end [m].
            rounded: whether that is a circle.
            speed: σ̇ at the beginning [m/s].
            since: σ at the beginning [m].
            time: that it takes [s], in place of v and a, or as long as its limits demand; 0: not told.
        """
        super().__init__(way.length, v, a)
        if time > 0.0:
            self.last(time, v, a)
        self.way, self.radius, self.rounded = way, radius, rounded
        self._towards, self._limits = towards, limits
        self._q, self._qd, self._s, self._pace = np.array(start.q), np.array(start.qd), since, speed
        self._samples = samples
        self.law: PathLaw | TrapezoidLaw
        if samples is None:
            self.law = TrapezoidLaw(0.0, self._v, self._a)
        else:
            self.law = law_of(way, samples, self._v, self._a, limits, speed)
        self._zone = self._zone_begins()

    @property
    def left(self) -> float:
        """See `Stretch`."""
        return self.law.whole - self._t

    @property
    def returned(self) -> bool:
        """Return whether control is back with the program: the blend zone has begun."""
        return self.radius > 0.0 and self._t >= self._zone

    @property
    def passed(self) -> float:
        """Return σ now [m]."""
        return self._s

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
        self._q, self._qd, self._s, self._pace = q, qd, s, speed * share
        return at, self._t >= self.law.whole

    def way_on(self, pose: Array, ticks: int = 0) -> ToolWay | None:
        """Return the way that leaves this move on a bend, then goes in a line to a pose (6,); None if it is on no line.

        It begins where this move is now. The bend begins where this move will be in so many ticks, or where it comes
        within its own reach.
        """
        piece = self.way.pieces[-1] if self.way.pieces else None
        if not isinstance(piece, LinePiece) or self._s < self.way.joints[-2]:
            return None
        ahead = ticks * MOTION_TICK * self._pace
        return ToolWay(bent(self.way.pose(self._s), self.goal, pose, self.radius, ahead, rounded=self.rounded))

    def follow_on(
        self,
        way: ToolWay,
        begun: float,
        samples: WaySamples,
        v: float,
        a: float,
        towards: Towards,
        limits: JointLimits,
        radius: float,
        *,
        rounded: bool,
    ) -> PathMove | None:
        """Return the move along a way of `way_on` that began at σ = `begun` of this one, which has gone on since.

        None if the way has left its first line by now, or nothing of it is left.
        """
        since = self._s - begun  # both count along the same line
        first = way.pieces[0]
        if since > (first.length if isinstance(first, LinePiece) else 0.0):
            return None
        rest = samples.s > since + NEXT_SAMPLE
        ahead = WaySamples(
            np.concatenate([[since], samples.s[rest]]), np.vstack([self._q, samples.q[rest]]), samples.lost
        )
        if len(ahead.s) < 2:
            return None
        at = Reference(self._q, self._qd, np.zeros_like(self._q))
        return PathMove(
            at, way, ahead, v, a, towards, limits, radius=radius, rounded=rounded, speed=self._pace, since=since
        )


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
