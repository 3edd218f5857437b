# SPDX-License-Identifier: Apache-2.0
"""Intervals for counts and medians: exact Poisson, Wilson, bootstrap."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Estimate(NamedTuple):
    """A value and the ends of its confidence interval."""

    value: float
    lower: float
    upper: float


def poisson_rate(count: int, exposure: float, confidence: float = 0.95) -> Estimate:
    """Events per unit of exposure with the exact (Garwood) interval."""
    from scipy.special import gammaincinv  # imported here: a tenth of a second that few calls need

    if exposure <= 0.0 or count < 0:
        raise InputError(f"rate: need exposure > 0 and count ≥ 0, got {exposure} and {count}")
    tail = 0.5 * (1.0 - confidence)
    lower = float(gammaincinv(count, tail)) if count else 0.0
    return Estimate(count / exposure, lower / exposure, float(gammaincinv(count + 1, 1.0 - tail)) / exposure)


def proportion(count: int, total: int, confidence: float = 0.95) -> Estimate:
    """A share with Wilson's interval; (NaN, 0, 1) of nothing."""
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
    """Median with its bootstrap percentile interval; infinite values (events that never came) count; NaN of nothing."""
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
