# SPDX-License-Identifier: Apache-2.0
"""The fastest speed along a path under a bound on the speed and one on the acceleration, interval by interval: exact.

With x = ṡ² both bounds are straight: x ≤ cap, |dx/ds| ≤ 2 push. The fastest x(s) is the lower envelope of lines of that
slope through all caps, so it is piecewise linear; the points where it bends inside an interval become grid points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

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
    rise = 2.0 * h * np.minimum(push, 1e9)  # free of a bound in effect, and still a number
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
