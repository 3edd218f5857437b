# SPDX-License-Identifier: Apache-2.0
"""Even ticks from uneven stamps, causally: a tick comes out as soon as a sample at or behind it has come in.

What happened during a pause nobody knows: monitors begin anew behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.contact.stream import MonitorStream
from armwright.errors import InputError
from armwright.identify.prepare import GAP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.contact.monitor import Monitor
    from armwright.robot.model import Robot
    from armwright.types import Array


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
        self._last = (stamps[-1:], *(s[-1:] for s in parts))
        stop = int(np.floor((stamps[-1] - self._first) * self.rate)) + 2
        ticks = self._first + np.arange(self._next, stop) / self.rate
        ticks = ticks[ticks <= stamps[-1]]  # compared as numbers: no tick may depend on how many samples came at once
        self._next += len(ticks)
        if len(stamps) == 1:
            return (ticks, *(np.repeat(s, len(ticks), axis=0) for s in parts))
        before = np.clip(np.searchsorted(stamps, ticks, side="left") - 1, 0, len(stamps) - 2)
        share = ((ticks - stamps[before]) / (stamps[before + 1] - stamps[before]))[:, None]
        return (ticks, *(s[before] + share * (s[before + 1] - s[before]) for s in parts))


class Ticking:
    """Monitors behind uneven samples of motion and torque; begins anew after every pause longer than `GAP`."""

    def __init__(self, monitors: Monitor | Sequence[Monitor], robot: Robot, rate: float) -> None:
        """Compile the monitors for ticks at `rate` [Hz]."""
        self._monitors = MonitorStream(monitors, robot, 1.0 / rate)
        self._even = Evenly(rate)
        self._last: float | None = None

    def push(self, t: Array, q: Array, qd: Array, tau: Array) -> tuple[Array, Array, dict[str, Array]]:
        """Take the next samples, t (k,) and (k, n); return the ticks (m,), q there (m, n) and the outputs by name."""
        before = t[:1] if self._last is None else np.array([self._last])
        cuts = np.flatnonzero(np.diff(np.concatenate([before, t])) > GAP) if len(t) else np.zeros(0, dtype=int)
        parts = []
        for start, stop in zip([0, *cuts], [*cuts, len(t)], strict=True):
            if start in cuts:
                self._monitors.reset()
                self._even = Evenly(self._even.rate)
            rows = slice(int(start), int(stop))
            ticks, at, speed, torque = self._even.push(t[rows], q[rows], qd[rows], tau[rows])
            parts.append((ticks, at, self._monitors.push(ticks, at, speed, torque)))
        if len(t):
            self._last = float(t[-1])
        names = parts[0][2]
        out = {name: np.concatenate([part[2][name] for part in parts]) for name in names}
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), out
