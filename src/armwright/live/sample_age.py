# SPDX-License-Identifier: Apache-2.0
"""`SampleAge`: how old a sample is, told by the device's stamps and this machine's clock.

The two clocks differ by an offset that nobody tells. The quickest sample of the last seconds is taken to have come at
once; every other is older than it seems by what it came later. So a batch that was held up is old when it comes, and an
age is too small by the quickest way of a sample, a fraction of a millisecond on a cable.
"""

from __future__ import annotations

from math import inf, isfinite

WINDOW = 5.0  # [s] of a half of the samples that tell the offset: clocks that drift by 1e-4 are off by a millisecond


class SampleAge:
    """Dates the samples of one device."""

    def __init__(self) -> None:
        """Begin before the first sample."""
        self._now, self._before, self._since = inf, inf, -inf

    def made(self, stamp: float, arrived: float) -> float:
        """Return when a sample was made, on the clock of its arrival [s]; of a broken stamp: when it came."""
        late = arrived - stamp
        if not isfinite(late):
            return arrived
        if arrived - self._since > WINDOW:
            self._before, self._now, self._since = self._now, inf, arrived
        self._now = min(self._now, late)
        return stamp + min(self._now, self._before)
