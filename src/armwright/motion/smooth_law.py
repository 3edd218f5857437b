# SPDX-License-Identifier: Apache-2.0
"""Laws along a path as functions of time, and the same with bounded jerk: the moving average of a law.

A law with constant s̈ between its grid points is s(t), quadratic pieces. Its mean over the last w seconds,
s̃(t) = ∫ s dt / w, goes through the same places, is late by at most w, has |s̃″| no larger than |s̈| was within w,
and |s̃‴| ≤ (largest change of s̈ within w)/w.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.motion.trajectory import Trajectory

if TYPE_CHECKING:
    from armwright.motion.speed_profile import Profile
    from armwright.types import Array


def over_time(law: Profile) -> Trajectory:
    """Return s(t) of a law, one coordinate, quadratic pieces."""
    c = np.stack([law.s[:-1], np.sqrt(law.x[:-1]), 0.5 * law.push], axis=1)
    return Trajectory(np.concatenate([[0.0], np.cumsum(law.times)]), c[:, :, None])


def averaged(law: Trajectory, window: float) -> Trajectory:
    """Return the moving average over `window` [s] of a law s(t) from rest to rest; it takes so much longer."""
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
    """Least of `values` (N,) of intervals s (N+1,) within `reach` of each interval: what an average may not exceed."""
    first = np.searchsorted(s[1:], s[:-1] - reach, side="right")
    last = np.searchsorted(s[:-1], s[1:] + reach, side="left")
    pairs = np.stack([first, last], axis=1).reshape(-1)
    return np.asarray(np.minimum.reduceat(np.append(values, np.inf), pairs)[::2])
