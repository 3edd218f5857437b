# SPDX-License-Identifier: Apache-2.0
"""Even ticks out of uneven samples, and monitors fed with them.

A tick is interpolated between the two samples around it, as soon as the later one is there. Pieces of any size give the
same bits, and one sample at a time is quick: a row of numbers, no table.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.identify.filtered_log import GAP
from armwright.simulation.monitor_stream import MonitorStream

if TYPE_CHECKING:
    from armwright.contact.monitor import Monitor
    from armwright.robot.model import Robot
    from armwright.types import Array


class Evenly:
    """Linear interpolation between the two samples around each tick; pieces of any size give the same bits."""

    def __init__(self, rate: float) -> None:
        """Set the ticks to ``first stamp + k/rate``."""
        if not (np.isfinite(rate) and rate > 0.0):
            raise InputError(f"even ticks: rate must be > 0, got {rate}")
        self.rate = float(rate)
        self._last: tuple[Array, ...] = ()
        self._at = self._first = 0.0
        self._next = 0

    def push(self, t: Array, *signals: Array) -> tuple[Array, ...]:
        """Take the next stamps (k,) and signals (k, n); return the ticks that are now known, (m,) and (m, n)."""
        stamps = np.asarray(t, dtype=np.float64)
        parts = [np.asarray(s, dtype=np.float64) for s in signals]
        if not len(stamps):
            return (np.zeros(0), *(np.zeros((0, s.shape[1])) for s in parts))
        if not self._last:
            self._first = float(stamps[0])
        else:
            stamps = np.concatenate([[self._at], stamps])
            parts = [np.concatenate([old[None], new]) for old, new in zip(self._last, parts, strict=True)]
        steps = np.diff(stamps)
        if not (steps > 0.0).all():
            k = int(np.argmin(steps))
            raise InputError(f"even ticks: stamps must rise, but {stamps[k + 1]:g} s follows {stamps[k]:g} s")
        self._at, self._last = float(stamps[-1]), tuple(s[-1] for s in parts)
        stop = int(np.floor((stamps[-1] - self._first) * self.rate)) + 2
        ticks = self._first + np.arange(self._next, stop) / self.rate
        ticks = ticks[ticks <= stamps[-1]]  # compared as numbers: no tick may depend on how many samples came at once
        self._next += len(ticks)
        if len(stamps) == 1:
            return (ticks, *(np.repeat(s, len(ticks), axis=0) for s in parts))
        before = np.clip(np.searchsorted(stamps, ticks, side="left") - 1, 0, len(stamps) - 2)
        share = ((ticks - stamps[before]) / (stamps[before + 1] - stamps[before]))[:, None]
        return (ticks, *(s[before] + share * (s[before + 1] - s[before]) for s in parts))

    def one(self, t: float, row: Array) -> list[tuple[float, Array]]:
        """Take one sample, its stamp and its numbers (m,); return the ticks that are now known with theirs."""
        if not self._last:
            self._first, self._at, self._last, self._next = t, t, (row,), 1
            return [(t, row)]
        if not t > self._at:
            raise InputError(f"even ticks: stamps must rise, but {t:g} s follows {self._at:g} s")
        out, (before,), begin = [], self._last, self._at
        step, span = row - before, t - begin
        for k in range(self._next, floor((t - self._first) * self.rate) + 2):
            tick = self._first + k / self.rate
            if tick <= t:
                out.append((tick, before + ((tick - begin) / span) * step))
        self._next += len(out)
        self._at, self._last = t, (row,)
        return out


class Ticking:
    """Monitors fed with uneven samples of motion and torque; they restart after every pause longer than `GAP`.

    Stamps must rise, except where a clock was set back: the monitors restart there, too.
    """

    def __init__(self, monitors: Monitor | Sequence[Monitor], robot: Robot, rate: float) -> None:
        """Compile the monitors for ticks at `rate` [Hz]."""
        self.monitors = MonitorStream(monitors, robot, 1.0 / rate)
        if self.monitors.signals[:3] != ("q", "qd", "tau") or len(self.monitors.signals) != 3:
            raise InputError(f"even ticks: monitors must read q, qd and tau, got {', '.join(self.monitors.signals)}")
        self._rate, self._n = rate, robot.n
        self._even = Evenly(rate)
        self._last: float | None = None

    def restart(self) -> None:
        """Forget what was: what comes is another stream."""
        self.monitors.reset()
        self._even = Evenly(self._rate)

    def push(self, t: Array, q: Array, qd: Array, tau: Array) -> tuple[Array, Array, dict[str, Array]]:
        """Take the next samples, t (k,) and (k, n); return the ticks (m,), q there (m, n) and the outputs by name."""
        before = t[:1] if self._last is None else np.array([self._last])
        steps = np.diff(np.concatenate([before, t])) if len(t) else np.zeros(0)
        cuts = np.flatnonzero((steps > GAP) | (steps < 0.0))
        parts, rows = [], np.concatenate([q, qd, tau], axis=1)
        for start, stop in zip([0, *cuts], [*cuts, len(t)], strict=True):
            if start in cuts:
                self.restart()
            ticks, at = self._even.push(t[start:stop], rows[start:stop])
            parts.append((ticks, at[:, : self._n], self.monitors.ticks(np.concatenate([ticks[:, None], at], axis=1))))
        if len(t):
            self._last = float(t[-1])
        record = np.concatenate([p[2] for p in parts])
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), self.outputs(record)

    def one(self, t: float, row: Array) -> list[tuple[float, Array, Array]]:
        """Take one sample, its stamp and q, qd, tau in a row (3 n,); return tick, row and record of what is known."""
        if self._last is not None and not 0.0 < t - self._last <= GAP:
            self.restart()
        self._last = t
        out = []
        for tick, at in self._even.one(t, row):
            out.append((tick, at, self.monitors.tick(np.concatenate([[tick], at]))))
        return out

    def outputs(self, record: Array) -> dict[str, Array]:
        """Return the outputs by name of records (…, columns)."""
        return self.monitors.outputs(record)
