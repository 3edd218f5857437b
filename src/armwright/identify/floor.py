# SPDX-License-Identifier: Apache-2.0
"""What no model can beat: the difference of the currents of two runs of one path, over √2: noise, drift and ripple."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.identify.accumulate import MOVING
from armwright.identify.log import Log
from armwright.identify.prepare import prepare

if TYPE_CHECKING:
    from armwright.types import Array

SAME = 0.01
"""Positions [rad] and tenths of speeds [rad/s] this close are the same point of a path."""
SHARE = 0.5
"""of the shorter run that must be the same."""
COARSE = 5
"""Samples between lags that are tried first."""


def repeat_floor(log: Log, other: Log | None = None, *, least: int = 200) -> Array | None:
    """Difference of currents between two runs of one path, over √2 and rms(i), joint by joint (n,).

    Args:
        log: in which the path is run.
        other: in which it is run again, with the same payload; by default the same log, later.
        least: fewest samples that must be the same.

    Returns:
        NaN for joints that rest; None if no path is repeated.
    """
    first, second = (prepare(x) for x in (log, other if other is not None else log))
    a, b = (max(p.pieces, key=lambda piece: len(piece.t)) for p in (first, second))
    if a.q.shape[1] != b.q.shape[1]:
        return None
    low = least if other is None else -(len(a.t) - least)
    lags = range(low, len(b.t) - least, COARSE)
    if not len(lags):
        return None
    best = min(lags, key=lambda lag: _apart(a.q, b.q, lag))
    near = [lag for lag in range(best - COARSE, best + COARSE + 1) if lag >= low]
    lag = min(near, key=lambda k: _apart(a.q, b.q, k))
    if _apart(a.q, b.q, lag) > SAME:
        return None
    ra, rb = _overlap(len(a.t), len(b.t), lag)
    same = (np.abs(a.q[ra] - b.q[rb]).max(axis=1) < SAME)[:, None] & (np.abs(a.qd[ra] - b.qd[rb]) < 10.0 * SAME)
    same &= (np.abs(a.qd[ra]) > MOVING) & (np.abs(b.qd[rb]) > MOVING)
    if same.any(axis=1).sum() < least:
        return None
    one, two = first.filter.without_phase(a.current)[ra], second.filter.without_phase(b.current)[rb]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(np.sum((one - two) ** 2 * same, axis=0) / 2.0 / np.sum(one**2 * same, axis=0)))


def _overlap(na: int, nb: int, lag: int) -> tuple[slice, slice]:
    """Rows of both runs that belong together: sample k of the first to sample k + lag of the second."""
    start, stop = max(0, -lag), min(na, nb - lag)
    return slice(start, stop), slice(start + lag, stop + lag)


def _apart(a: Array, b: Array, lag: int) -> float:
    """Distance of two runs at a lag [rad]: what the better `SHARE` of their common samples stays within."""
    ra, rb = _overlap(len(a), len(b), lag)
    return float(np.quantile(np.abs(a[ra] - b[rb]).max(axis=1), SHARE))
