# SPDX-License-Identifier: Apache-2.0
"""`SampleOrder`: whether the next sample of a stream follows the last one, in the words of `MotorMonitor`.

Wires repeat stamps, reorder them, lose some, and a device that restarts begins its clock anew. Whoever listens says so
with the same words:

    start       the first one
    cycle       the next one in time
    lost        samples are missing before it, few enough to be filled in
    restart     more than `max_gap` are missing, or the device's clock was set back: what follows is another stream
    repeated    its time was seen already
    old         it is a little earlier than one that was seen (reordered)
    not finite  NaN or infinite numbers
"""

from __future__ import annotations

from collections import Counter
from math import isfinite
from typing import Literal

from armwright.errors import InputError

Standing = Literal["start", "cycle", "lost", "restart", "repeated", "old", "not finite"]
FOLLOWS: tuple[Standing, ...] = ("start", "cycle", "lost", "restart")
"""Words of samples that are to be used; the others are left out."""
CLOCK_SET_BACK = 1.0  # [s] by which a stamp is earlier than the last: no packet is reordered by so much


class SampleOrder:
    """Judges stamps as they come.

    Attributes:
        period: between samples [s]; None where they are uneven. max_gap: samples that may be missing.
        counts: how many had each word. missing: samples that were missing before the last one that is to be used.
    """

    def __init__(self, period: float | None, *, max_gap: int = 10, pause: float | None = None) -> None:
        """Begin before the first sample.

        Args:
            period: between samples [s]; None if they come at any times, so that none can be missed.
            max_gap: samples that may be missing.
            pause: of uneven samples, longer than which is another stream [s].
        """
        for name, value in (("period", period), ("pause", pause)):
            if value is not None and not (isfinite(value) and value > 0.0):
                raise InputError(f"sample order: {name} must be finite and > 0 s, got {value}")
        if (period is None) == (pause is None):
            raise InputError("sample order: give the period of even samples, or the longest pause of uneven ones")
        self.period, self.max_gap = period, int(max_gap)
        self.counts: Counter[str] = Counter()
        self.missing = 0
        self._pause = pause
        self._last: float | None = None

    def judge(self, stamp: float, *, finite: bool = True) -> Standing:
        """Return the word for a sample with this stamp [s]; finite: whether its numbers are."""
        word = self._word(stamp, finite)
        self.counts[word] += 1
        if word in FOLLOWS:
            self._last = stamp
        return word

    def _word(self, stamp: float, finite: bool) -> Standing:
        if not (finite and isfinite(stamp)):
            return "not finite"
        if self._last is None:
            self.missing = 0
            return "start"
        later = stamp - self._last
        if later <= -CLOCK_SET_BACK:
            self.missing = 0
            return "restart"
        if self.period is None:
            assert self._pause is not None
            if later <= 0.0:
                return "repeated" if later == 0.0 else "old"
            return "restart" if later > self._pause else "cycle"
        step = round(later / self.period)
        if step <= 0:
            return "repeated" if step == 0 else "old"
        if step - 1 > self.max_gap:
            self.missing = 0
            return "restart"
        self.missing = step - 1
        return "lost" if self.missing else "cycle"
