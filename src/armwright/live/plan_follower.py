# SPDX-License-Identifier: Apache-2.0
"""`PlanFollower`: where in the plan of a program a robot is that is listened to, how far off it, and how late.

A controller plans by its own rules, so its time is not the plan's. The place is found by the robot's targets: among the
places of the plan a little before and after the last one, the nearest that leads the same way; where several are
equally near, as in a wait, the one that is due. Lateness counts from the moment in which the robot was first on the
plan.

    waiting   it stands, at the plan's beginning or elsewhere, or moves elsewhere: it has not been on the plan yet
    on        it is on the plan
    off       it was on it, and is elsewhere: it is looked for on the whole plan
    over      it stands at the plan's end
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array

PlanState = Literal["waiting", "on", "off", "over"]
ON_PLAN_ANGLE = 0.01  # [rad] of every joint: so near is on the plan
SAME_ANGLE = 1e-3  # [rad] by which places are equally near
OFF_PLAN_ANGLE, OFF_PLAN_SECONDS = (
    0.05,
    0.5,
)  # [rad], [s]: farther, for so long, is off it; corners are rounded by other rules
AHEAD_ANGLE, BACK_ANGLE = 0.5, 0.1  # [rad] of the joints' way along the plan that is looked at
AHEAD_SECONDS = 1.0  # of the plan that is looked at beyond that: waits have no way
DUE_SPEED = 1e-3  # [rad/s] by which a place that is not due seems farther away
STANDING_SPEED, STANDING_SECONDS = 1e-4, 0.3  # [rad/s], [s]: a target so slow for so long stands


class PlanPlace(NamedTuple):
    """Where a robot is.

    Attributes:
        state: see the module. cycle: of the plan, time: of the plan [s], q: the plan there (n,).
        late: how much later it is than the plan, since it was first on it [s]; NaN before.
        deviation: of the joint that is farthest from the plan [rad].
    """

    state: PlanState
    cycle: int
    time: float
    q: Array
    late: float
    deviation: float


class PlanFollower:
    """Follows one plan. `place` is the newest."""

    def __init__(self, q: ArrayLike, dt: float) -> None:
        """Take a plan: q (K + 1, n) at multiples of dt [s]."""
        self._q = np.asarray(q, dtype=np.float64)
        if self._q.ndim != 2 or len(self._q) < 2 or not np.isfinite(self._q).all():
            raise InputError("plan: must be (K + 1, n), K > 0, and finite")
        self._dt = dt
        way = np.linalg.norm(np.diff(self._q, axis=0), axis=1)
        self._way = np.concatenate([[0.0], np.cumsum(way)])
        self._time = dt * np.arange(len(self._q))
        self._stamp, self._x, self._stood = np.nan, self._q[0], 0.0
        self._origin, self._good = np.nan, -np.inf
        self.place = PlanPlace("waiting", 0, 0.0, self._q[0], np.nan, np.nan)

    def forget(self) -> None:
        """Begin anew: what comes does not follow what was."""
        self._stamp, self._stood, self._origin = np.nan, 0.0, np.nan
        self.place = self.place._replace(state="waiting", late=np.nan)

    def take(self, stamp: float, x: Array) -> PlanPlace:
        """Take a target x (n,) at a stamp [s] that is later than the last one; return where the robot is."""
        first = np.isnan(self._stamp)
        step = 0.0 if first else stamp - self._stamp
        by = np.zeros_like(x) if first else x - self._x
        moved = float(np.abs(by).max())
        self._stood = self._stood + step if moved <= STANDING_SPEED * step else 0.0
        self._stamp, self._x = stamp, x
        if self.place.state in ("on", "over"):
            self._follow(x, by, step)
        else:
            self._join(x, by if moved > STANDING_SPEED * step else None)
        return self.place

    def _join(self, x: Array, by: Array | None) -> None:
        """Look for the robot on the whole plan: the earliest place where it goes the same way; by: its last step."""
        off = np.abs(self._q - x).max(axis=1)
        deviation = float(off.min())
        if by is not None:
            off[:-1][np.diff(self._q, axis=0) @ by <= 0.0] = np.inf
            off[-1] = np.inf
        if np.abs(x - self._q[0]).max() <= ON_PLAN_ANGLE:  # at the beginning, where loops end, too
            off[self._way > AHEAD_ANGLE] = np.inf
        if by is not None and off.min() <= ON_PLAN_ANGLE:
            k, time, deviation = self._between(int(np.argmax(off <= off.min() + SAME_ANGLE)), x)
            late = self.place.late
            if np.isnan(self._origin):
                self._origin, late = self._stamp - time, 0.0
            self._good = self._stamp
            self.place = PlanPlace("on", k, time, self._q[k], late, deviation)
        else:
            self.place = self.place._replace(deviation=deviation)

    def _follow(self, x: Array, by: Array, step: float) -> None:
        """Look for the robot near where it was."""
        here, way = self.place.cycle, self._way
        due = self.place.time + (step if self.place.state == "on" else 0.0)
        low = min(int(np.searchsorted(way, way[here] - BACK_ANGLE)), here)
        high = int(np.searchsorted(way, way[here] + AHEAD_ANGLE, side="right"))
        high = min(max(high, here + round(AHEAD_SECONDS / self._dt)), len(way))
        off = np.abs(self._q[low:high] - x).max(axis=1)
        off[:-1][np.diff(self._q[low:high], axis=0) @ by < 0.0] += ON_PLAN_ANGLE  # there and back on the same way
        k, time, deviation = self._between(
            low + int((off + DUE_SPEED * np.abs(self._time[low:high] - due)).argmin()), x
        )
        begin = self._time[np.searchsorted(way, way[k])]
        end = self._time[np.searchsorted(way, way[k], side="right") - 1]
        if begin < end and begin <= time <= end:  # a wait: all its places are equal, it is where it is due
            time = float(np.clip(due, begin, end))
            k = round(time / self._dt)
        if deviation <= OFF_PLAN_ANGLE:
            self._good = self._stamp
        elif self._stamp - self._good > OFF_PLAN_SECONDS:
            self.place = self.place._replace(state="off", deviation=deviation)
            return
        ended = way[-1] - way[k] <= ON_PLAN_ANGLE and self._stood >= STANDING_SECONDS
        late = self._stamp - self._origin - time
        if self.place.state == "over":  # it stays as it was when it came
            ended, late = ended or deviation <= ON_PLAN_ANGLE, self.place.late
        self.place = PlanPlace("over" if ended else "on", k, time, self._q[k], late, deviation)

    def _between(self, k: int, x: Array) -> tuple[int, float, float]:
        """Return index, time and deviation of the place nearest to x on the two pieces that meet at k."""
        best = (k, float(self._time[k]), float(np.abs(self._q[k] - x).max()))
        for a in (k - 1, k):
            if 0 <= a < len(self._q) - 1:
                along = self._q[a + 1] - self._q[a]
                size = float(along @ along)
                share = 0.0 if size == 0.0 else min(1.0, max(0.0, float((x - self._q[a]) @ along) / size))
                off = float(np.abs(self._q[a] + share * along - x).max())
                if off < best[2]:
                    best = (a + round(share), float(self._time[a] + share * self._dt), off)
        return best
