# SPDX-License-Identifier: Apache-2.0
"""Confidence intervals of counts, shares, rates, medians and quantiles: exact where possible, else by bootstrap.

Counts per exposure have Poisson limits (Garwood), shares Wilson's or the exact binomial (Clopper–Pearson) limits,
medians and quantiles bootstrap percentiles.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betaincinv, gammaincinv

from armwright.errors import InputError
from armwright.types import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Estimate(NamedTuple):
    """A value and the ends of its confidence interval."""

    value: float
    lower: float
    upper: float


def poisson_rate(count: int, exposure: float, confidence: float = 0.95) -> Estimate:
    """Return events per unit of exposure with the exact (Garwood) interval.

    >>> poisson_rate(3, 10.0).value
    0.3
    """
    from scipy.special import gammaincinv  # imported here: a tenth of a second that few calls need

    if exposure <= 0.0 or count < 0:
        raise InputError(f"rate: need exposure > 0 and count ≥ 0, got {exposure} and {count}")
    tail = 0.5 * (1.0 - confidence)
    lower = float(gammaincinv(count, tail)) if count else 0.0
    return Estimate(count / exposure, lower / exposure, float(gammaincinv(count + 1, 1.0 - tail)) / exposure)


def proportion(count: int, total: int, confidence: float = 0.95) -> Estimate:
    """Return count/total with Wilson's interval; (NaN, 0, 1) if `total` is 0."""
    from scipy.special import ndtri  # imported here: a tenth of a second that few calls need

    if total == 0:
        return Estimate(float("nan"), 0.0, 1.0)
    z = float(ndtri(0.5 + 0.5 * confidence))
    p, share = count / total, z * z / total
    centre = (p + 0.5 * share) / (1.0 + share)
    half = z * float(np.sqrt(p * (1.0 - p) / total + 0.25 * share / total)) / (1.0 + share)
    # at the ends the formula gives 0 and 1 up to rounding
    return Estimate(p, centre - half if count else 0.0, centre + half if count < total else 1.0)


def median(values: ArrayLike, confidence: float = 0.95, *, resamples: int = 500, seed: int = 0) -> Estimate:
    """Return the median with its bootstrap interval; infinite values (events that never came) count; NaN if empty."""
    x = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if x.size == 0:
        return Estimate(float("nan"), float("nan"), float("nan"))
    # the median of a resample of sorted data is an order statistic: its rank is Beta distributed (smooth bootstrap)
    half = 0.5 * (x.size + 1)
    place = np.random.default_rng(seed).beta(half, half, size=resamples)
    medians = np.sort(x[np.minimum((place * x.size).astype(int), x.size - 1)])
    tail = 0.5 * (1.0 - confidence)
    middle = x[x.size // 2] if x.size % 2 else 0.5 * (x[x.size // 2 - 1] + x[x.size // 2])
    return Estimate(float(middle), float(medians[int(tail * resamples)]), float(medians[-1 - int(tail * resamples)]))


class Interval(NamedTuple):
    """A value and its confidence limits."""

    value: float
    low: float
    high: float


def share(hits: int, trials: int, confidence: float = 0.95) -> Interval:
    """Return hits/trials with the exact (Clopper–Pearson) interval; (NaN, 0, 1) without trials.

    >>> share(9, 10).value
    0.9
    """
    if not 0 <= hits <= trials:
        raise InputError(f"hits must be between 0 and trials, got {hits} of {trials}")
    if trials == 0:
        return Interval(math.nan, 0.0, 1.0)
    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(hits, trials - hits + 1, tail)) if hits else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 1.0 - tail)) if hits < trials else 1.0
    return Interval(hits / trials, low, high)


def rate(events: int, exposure: float, confidence: float = 0.95) -> Interval:
    """Return events per unit of exposure with the exact Poisson interval; its upper end is above 0 for 0 events too."""
    if events < 0 or not exposure > 0.0:
        raise InputError(f"events must be ≥ 0 and exposure > 0, got {events} in {exposure}")
    tail = (1.0 - confidence) / 2.0 if events else 1.0 - confidence
    low = float(gammaincinv(events, tail)) if events else 0.0
    return Interval(events / exposure, low / exposure, float(gammaincinv(events + 1, 1.0 - tail)) / exposure)


def quantile(values: Array, q: float, *, samples: int = 2000, seed: int = 0, confidence: float = 0.95) -> Interval:
    """Return the q-quantile of `values` with a bootstrap interval; NaNs (nothing happened) are left out."""
    kept = np.asarray(values, dtype=np.float64)
    kept = kept[np.isfinite(kept)]
    if len(kept) == 0:
        return Interval(math.nan, math.nan, math.nan)
    ordered, n = np.sort(kept), len(kept)
    below, part = divmod(q * (n - 1), 1.0)  # the quantile lies between two neighbours in order, as in NumPy
    k = int(below) + 1
    # Drawing n of n values again, the k-th smallest draw is value number n·U₍ₖ₎, and U₍ₖ₎ of n uniform numbers is beta
    # distributed; the next one lies a beta-distributed share of the rest above. So no resample has to be drawn.
    rng = np.random.default_rng(seed)
    first = rng.beta(k, n - k + 1, samples)
    after = first + (1.0 - first) * (rng.beta(1, n - k, samples) if k < n else 0.0)
    low, high = (ordered[np.minimum((n * u).astype(np.int64), n - 1)] for u in (first, after))
    picks = low + part * (high - low)
    tail = (1.0 - confidence) / 2.0
    return Interval(float(np.quantile(kept, q)), *(float(v) for v in np.quantile(picks, [tail, 1.0 - tail])))
