# SPDX-License-Identifier: Apache-2.0
"""Times of monitors as numbers of ticks.

A monitor that waits counts ticks, and compares whole numbers: adding a period to a sum of periods is off by a rounding
error that decides the tick (0.002 s fifty times is 0.1 s in double precision, and fifty-one times in single).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from armwright.types import Scalar

SLACK = 1e-6  # of a tick: a time that is a whole number of periods but for rounding is that number


def ticks_until(seconds: Scalar, dt: Scalar) -> Scalar:
    """Return after how many ticks a time is over: k ticks are shorter than the time where k is below it."""
    return -np.floor(SLACK - seconds / dt)
