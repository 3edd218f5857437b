# SPDX-License-Identifier: Apache-2.0
"""Even ticks from uneven stamps, causally: a tick comes out as soon as a sample at or behind it has come in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.types import Array

LONGEST = 10.0
"""[s] A longer pause is not filled with ticks: the log has to be fed in two parts."""


class Evenly:
    """Linear interpolation between the two samples around each tick; pieces of any size give the same bits."""

    def __init__(self, rate: float) -> None:
        """Ticks at ``first stamp + k/rate``."""
        if not (np.isfinite(rate) and rate > 0.0):
            raise InputError(f"even ticks: rate must be > 0, got {rate}")
        self.rate = float(rate)
        self._last: tuple[Array, ...] | None = None
        self._first = 0.0
        self._next = 0

    def push(self, t: Array, *signals: Array) -> tuple[Array, ...]:
        """Take the next stamps (k,) and signals (k, n); return the ticks that are now known, (m,) and (m, n)."""
        stamps = np.asarray(t, dtype=np.float64)
        parts = [np.asarray(s, dtype=np.float64) for s in signals]
        if not len(stamps):
            return (np.zeros(0), *(np.zeros((0, s.shape[1])) for s in parts))
        if self._last is None:
            self._first = float(stamps[0])
        else:
            stamps = np.concatenate([self._last[0], stamps])
            parts = [np.concatenate([old, new]) for old, new in zip(self._last[1:], parts, strict=True)]
        steps = np.diff(stamps)
        if not (steps > 0.0).all():
            k = int(np.argmin(steps))
            raise InputError(f"even ticks: stamps must rise, but {stamps[k + 1]:g} s follows {stamps[k]:g} s")
        if (steps > LONGEST).any():
            raise InputError(f"even ticks: a pause of {steps.max():.1f} s; feel the parts before and behind it apart")
        self._last = (stamps[-1:], *(s[-1:] for s in parts))
        stop = int(np.floor((stamps[-1] - self._first) * self.rate + 1e-6)) + 1
        ticks = self._first + np.arange(self._next, stop) / self.rate
        self._next = max(self._next, stop)
        if len(stamps) == 1:
            return (ticks, *(np.repeat(s, len(ticks), axis=0) for s in parts))
        before = np.clip(np.searchsorted(stamps, ticks, side="left") - 1, 0, len(stamps) - 2)
        share = ((ticks - stamps[before]) / (stamps[before + 1] - stamps[before]))[:, None]
        return (ticks, *(s[before] + share * (s[before + 1] - s[before]) for s in parts))
