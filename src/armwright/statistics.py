# SPDX-License-Identifier: Apache-2.0
"""The one statistics: shares, rates and quantiles, each with exact limits at a stated confidence.

Every command, report and page takes its figures from here, so that the same rows give the same answer everywhere.
Conventions:

- Intervals are central and exact: Clopper–Pearson for shares, Garwood for rates, order statistics for quantiles.
- Where nothing was seen (or everything), one end is certain, and the other end carries the whole confidence: 0 events
  in 1 h are "at most 3.00 per hour at 95 %", one-sided.
- +inf is an event that never came: it counts, later than every other. NaN is an item that was not judged: left out.

    >>> rate(0, 1.0).high  # events per hour, none seen in one hour
    2.9957322735539895
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


CONVENTION = (
    "exact central intervals at 95 %; one-sided where none or all were seen; what never came counts as later than all"
)
"""What commands and pages say of their figures."""


class Interval(NamedTuple):
    """A figure and its limits. An infinite limit: that few values leave this end open."""

    value: float
    low: float
    high: float


NOTHING = Interval(math.nan, math.nan, math.nan)


def share(hits: int, trials: int, confidence: float = 0.95) -> Interval:
    """Return hits/trials with the exact (Clopper–Pearson) interval; one-sided where all or none are hits.

    Nothing is known of no trials: (NaN, 0, 1).

    >>> share(3, 40).high
    0.20386474873289895
    """
    from scipy.special import betaincinv  # imported here: a quarter of a second that few calls need

    if not 0 <= hits <= trials:
        raise InputError(f"hits must be between 0 and trials, got {hits} of {trials}")
    if trials == 0:
        return Interval(math.nan, 0.0, 1.0)
    tail = (1.0 - confidence) / (2.0 if 0 < hits < trials else 1.0)
    low = float(betaincinv(hits, trials - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 1.0 - tail)) if hits < trials else 1.0
    return Interval(hits / trials, low, high)


def rate(events: int, exposure: float, confidence: float = 0.95) -> Interval:
    """Return events per unit of exposure with the exact (Garwood) interval; one-sided where none was seen."""
    from scipy.special import gammaincinv  # imported here: a quarter of a second that few calls need

    if events < 0 or not exposure > 0.0:
        raise InputError(f"events must be ≥ 0 and exposure > 0, got {events} in {exposure}")
    tail = (1.0 - confidence) / (2.0 if events else 1.0)
    low = float(gammaincinv(events, tail)) if events else 0.0
    return Interval(events / exposure, low / exposure, float(gammaincinv(events + 1, 1.0 - tail)) / exposure)


def quantile(values: ArrayLike, q: float, confidence: float = 0.95) -> Interval:
    """Return the q-quantile of values with its exact distribution-free interval.

    The number of n values below the true quantile is binomial (n, q), so that two of the ordered values enclose it with
    at least this confidence. Where n is too small for that, the limit is −inf or +inf. The quantile itself lies
    between neighbours as NumPy's; +inf (never happened) counts as the largest value, NaN (not judged) is left out.
    """
    x = np.sort(np.asarray(values, dtype=np.float64).ravel())
    x = x[: len(x) - int(np.isnan(x).sum())]  # sorting puts NaN last
    n = len(x)
    if n == 0:
        return NOTHING
    if not 0.0 <= q <= 1.0:
        raise InputError(f"q must be between 0 and 1, got {q}")
    at, part = divmod(q * (n - 1), 1.0)
    near, next_ = x[int(at)], x[min(int(at) + 1, n - 1)]
    if part == 0.0 or near == next_ or math.isinf(next_):
        value = near if part == 0.0 else next_
    else:  # from the nearer end, as NumPy does
        step = next_ - near
        value = near + part * step if part < 0.5 else next_ - (1.0 - part) * step
    below, above = _ranks(n, q, 0.5 * (1.0 - confidence))
    return Interval(
        float(value), float(x[below]) if below >= 0 else -math.inf, float(x[above]) if above < n else math.inf
    )


def _ranks(n: int, q: float, tail: float) -> tuple[int, int]:
    """Return positions (from 0) of two of n ordered values that enclose the q-quantile, each but for `tail`.

    Position −1 or n: none of the values does.
    """
    from scipy.special import bdtr  # imported here: a quarter of a second that few calls need

    reach = int(12.0 * math.sqrt(n * q * (1.0 - q))) + 12  # beyond it the binomial has nothing
    k = np.arange(max(0, int(n * q) - reach), min(n, int(n * q) + reach) + 1)
    at_most = np.asarray(bdtr(k, n, q)) if 0.0 < q < 1.0 else (k >= n * q).astype(float)
    # value number i (from 1) lies above the quantile where at most i − 1 values lie below it
    below = k[at_most <= tail]  # P(at most i − 1 below) ≤ tail: the i-th value is too high only that often
    above = k[1.0 - at_most <= tail]
    low = int(below[-1]) + 1 if len(below) else 0
    high = int(above[0]) + 1 if len(above) else n + 1
    return low - 1, high - 1
