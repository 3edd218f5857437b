# SPDX-License-Identifier: Apache-2.0
"""Speeds of a log that has none: the derivative of its positions, filtered without delay, filter stated."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from armwright.identify.current_log import LARGEST_STAMP_GAP

if TYPE_CHECKING:
    from armwright.types import Array

SPEED_CUTOFF = 25.0
"""[Hz] Three times what a fit keeps, so that the fit's own filter decides; less where the log is slow."""
SHARE_OF_RATE = 0.2
MEDIAN_ROWS = 5
FEWEST_ROWS = 12
"""Shorter pieces get plain differences."""


def cutoff_of(time: Array) -> float:
    """Return the cutoff of the filter for stamps (T,) [Hz]."""
    steps = np.diff(time)
    rate = 1.0 / float(np.median(steps[steps > 0.0]))
    return min(SPEED_CUTOFF, SHARE_OF_RATE * rate)


def rough_speeds(time: Array, q: Array) -> Array:
    """Return speeds (T, n) that a single wrong position does not spoil: differences of running medians."""
    from scipy.ndimage import median_filter

    smooth = median_filter(q, size=(min(MEDIAN_ROWS, len(q)), 1), mode="nearest")
    return np.asarray(np.gradient(smooth, time, axis=0)) if len(q) > 1 else np.zeros_like(q)


def made_speeds(time: Array, q: Array) -> Array:
    """Return q̇ (T, n) at rising stamps (T,): fourth-order Butterworth, forwards and backwards, then differentiated.

    A pause of more than `LARGEST_STAMP_GAP` is not bridged.
    """
    from armwright.identify.filtered_log import derivative, low_pass

    edges = [0, *(np.flatnonzero(np.diff(time) > LARGEST_STAMP_GAP) + 1).tolist(), len(time)]
    cutoff, out = cutoff_of(time), np.zeros_like(q)
    step = float(np.median(np.diff(time)))
    for start, stop in pairwise(edges):
        if stop - start < 2:
            continue
        part = slice(start, stop)
        if stop - start < FEWEST_ROWS:
            out[part] = np.gradient(q[part], time[part], axis=0)
            continue
        even = np.arange(time[start], time[stop - 1] + 0.5 * step, step)
        filtered = low_pass(1.0 / step, cutoff)
        values = np.stack([np.interp(even, time[part], column) for column in q[part].T], axis=1)
        speed = derivative(filtered.without_phase(values), step)
        out[part] = np.stack([np.interp(time[part], even, column) for column in speed.T], axis=1)
    return out
