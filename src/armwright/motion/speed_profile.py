# SPDX-License-Identifier: Apache-2.0
"""Laws along a path: the fastest under bounds on speed and acceleration, as functions of time, and with bounded jerk.

Fastest, exact: with x = ṡ² both bounds are straight: x ≤ cap, |dx/ds| ≤ 2 push. The fastest x(s) is the lower envelope
of lines of that slope through all caps, so it is piecewise linear; the points where it bends inside an interval become
grid points. Over time: a law with constant s̈ between its grid points is s(t), quadratic pieces. Bounded jerk: the mean
of a law over the last w seconds, s̃(t) = ∫ s dt / w, goes through the same places, is late by at most w, has |s̃″| no
larger than |s̈| was within w, and |s̃‴| ≤ (largest change of s̈ within w)/w.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.motion.trajectory import Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Array


class Profile(NamedTuple):
    """A law along a path: grid s (N+1,), x = ṡ² (N+1,) there and s̈ constant between; origin (N,): given interval."""

    s: Array
    x: Array
    origin: NDArray[np.int64]

    @property
    def times(self) -> Array:
        """Duration (N,) of every interval [s]: the mean speed is that of its ends."""
        v = np.sqrt(self.x)
        return np.asarray(2.0 * np.diff(self.s) / (v[1:] + v[:-1]))

    @property
    def push(self) -> Array:
        """s̈ (N,) of every interval."""
        return np.asarray(np.diff(self.x) / (2.0 * np.diff(self.s)))


def fastest(
    s: Array,
    cap: Array,
    push: Array,
    *,
    start: float = 0.0,
    end: float = 0.0,
    straight: NDArray[np.bool_] | None = None,
) -> Profile:
    """Return the fastest law on a grid s (N+1,).

    Args:
        s: increasing.
        cap: (N,) largest x = ṡ² inside each interval; inf for none.
        push: (N,) largest |s̈| inside each interval; inf for none.
        start: x at the beginning; taken lower where the bounds ask for it.
        end: x at the end, likewise.
        straight: (N,) intervals in which x goes straight from end to end, where climbing to the cap and back would only
            follow the steps of a grid.
    """
    h = np.diff(s)
    top = np.minimum(np.concatenate([[start], cap]), np.concatenate([cap, [end]]))
    rise = 2.0 * h * np.minimum(push, 1e9)  # in effect without a bound, and still finite
    climb = np.concatenate([[0.0], np.cumsum(rise)])
    brake = np.minimum.accumulate((top + climb)[::-1])[::-1] - climb
    x = np.maximum(np.minimum.accumulate(brake - climb) + climb, 0.0)
    x = np.minimum(x, top)
    slope, low, high = rise / h, x[:-1], x[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = 0.5 * (high - low + slope * h) / slope  # where the rising line meets the falling one
        peak = low + slope * meet
        first = np.where(peak > cap, (cap - low) / slope, meet)
        last = np.where(peak > cap, h - (cap - high) / slope, meet)
    points = np.concatenate([s, s[:-1] + first, s[:-1] + last])
    values = np.concatenate([x, np.minimum(peak, cap), np.minimum(peak, cap)])
    origin = np.concatenate([np.arange(h.size), [h.size - 1], np.arange(h.size), np.arange(h.size)])
    inside = np.concatenate(
        [np.ones(s.size, dtype=bool), *((v > 1e-9 * h) & (v < h * (1.0 - 1e-9)) for v in (first, last))]
    )
    if straight is not None:
        inside[s.size :] &= ~np.tile(straight, 2)
    order = np.lexsort((np.arange(points.size), points))
    order = order[inside[order]]
    points, values, origin = points[order], values[order], origin[order]
    apart = np.concatenate([[True], np.diff(points) > 1e-12 * s[-1]])
    return Profile(points[apart], values[apart], origin[apart][:-1])


def over_time(law: Profile) -> Trajectory:
    """Return s(t) of a law, one coordinate, quadratic pieces."""
    c = np.stack([law.s[:-1], np.sqrt(law.x[:-1]), 0.5 * law.push], axis=1)
    return Trajectory(np.concatenate([[0.0], np.cumsum(law.times)]), c[:, :, None])


def averaged(law: Trajectory, window: float) -> Trajectory:
    """Return the moving average over `window` [s] of a law s(t) from rest to rest; it takes `window` longer."""
    both = np.sort(np.concatenate([law.breaks, law.breaks + window]))
    T = float(both[-1])
    t = both[np.concatenate([[True], np.diff(both) > 1e-12 * T])]
    t[-1] = T
    s, v, a = (_right(law, t[:-1], k) - _right(law, t[:-1] - window, k) for k in range(3))
    h = np.diff(t)
    rise = h * (s + h * (v / 2.0 + h * a / 6.0)) / window
    start = float(law.start.q[0])
    c = np.stack(
        [start + np.concatenate([[0.0], np.cumsum(rise)[:-1]]), s / window, v / (2.0 * window), a / (6.0 * window)],
        axis=1,
    )
    return Trajectory(t, c[:, :, None])


def _right(law: Trajectory, t: Array, order: int) -> Array:
    """s, ṡ or s̈ (N,) at t (N,), from the right at breaks; at rest outside."""
    k = np.clip(
        np.searchsorted(law.breaks, t * (1.0 + 1e-15) + 1e-12 * law.duration, side="right") - 1, 0, law.breaks.size - 2
    )
    x = np.clip(t - law.breaks[k], 0.0, np.diff(law.breaks)[k])
    c = law.coefficients[k, :, 0]
    value = (c[:, 0] + x * (c[:, 1] + x * c[:, 2]), c[:, 1] + 2.0 * x * c[:, 2], 2.0 * c[:, 2])[order]
    early, late = t < -1e-12 * law.duration, t >= law.duration * (1.0 - 1e-12)
    if order == 0:
        return np.where(early, law.start.q[0], np.where(late, law.end.q[0], value))
    return np.where(early | late, 0.0, value)


def widest(s: Array, values: Array, reach: float) -> Array:
    """Return the least of `values` (N,) within `reach` of each interval of s (N+1,): what an average may not exceed."""
    first = np.searchsorted(s[1:], s[:-1] - reach, side="right")
    last = np.searchsorted(s[:-1], s[1:] + reach, side="left")
    pairs = np.stack([first, last], axis=1).reshape(-1)
    return np.asarray(np.minimum.reduceat(np.append(values, np.inf), pairs)[::2])
