# SPDX-License-Identifier: Apache-2.0
"""How far thresholds have to be raised for a stated rate of false alarms, from less motion than one alarm would take.

The level of a detector (1 at the threshold) is cut into blocks, long beside the time in which it forgets; x is the
square of a block's largest level. Noise that is normal leaves the excesses of x over a high value u exponential, and
bounded errors of the model leave them shorter. With the k largest of the blocks beyond u, of mean excess θ, observed in
a time T, the rate at which x exceeds u + z is at most

    ν exp(−z/θ'),   ν = χ²_{1−α}(2k + 2)/2T,   θ' = 2kθ/χ²_α(2k)

with ν and θ' the exact upper limits of the rate of a Poisson process and of the mean of an exponential distribution,
each missed with the probability α = (1 − confidence)/2. The margin is the root of the u + z at which this falls to the
rate that was asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array

SHARE, FEWEST = 0.03, 10
"""Share of the blocks that make the tail, and how many at least."""
LIMIT = 2.1
"""Largest upper limit of the tail's mean, 2k/χ²_α(2k), over the mean: 10 blocks do at 95 %, 20 at 99.6 %. Where that is
more than half of the blocks, half of them have to do, but 10 at least: more would be no tail."""


def block_peaks(level: ArrayLike, length: int) -> Array:
    """Largest values (k,) of blocks of about `length` samples of levels (B, T); a shorter run is one block."""
    x = np.asarray(level, dtype=np.float64)
    count = max(1, x.shape[1] // max(1, length))
    edges = np.linspace(0, x.shape[1], count + 1).astype(int)[:-1]
    return np.asarray(np.maximum.reduceat(x, edges, axis=1).ravel())


def tail_margin(peaks: ArrayLike, hours: float, *, rate: float, confidence: float) -> float:
    """Factor on thresholds at which alarms without cause come at most `rate` times per hour.

    Args:
        peaks: largest level (k,) of every block; k ≥ 2.
        hours: of motion in all blocks together.
        rate: [1/h].
        confidence: with which the rate is not exceeded, if the tail is as described above.
    """
    from scipy.special import chdtri, gammaincinv  # imported here: a tenth of a second that few calls need

    x = np.sort(np.asarray(peaks, dtype=np.float64) ** 2)[::-1]
    if len(x) < 2 or hours <= 0.0 or rate <= 0.0 or not 0.5 <= confidence < 1.0:
        raise InputError(
            f"tail margin: need two blocks, hours > 0, rate > 0 and 0.5 ≤ confidence < 1; got {len(x)}, {hours}, "
            f"{rate} and {confidence}"
        )
    miss, k = 0.5 * (1.0 - confidence), FEWEST
    while k > LIMIT * gammaincinv(k, miss):
        k += 1
    k = min(max(k, round(SHARE * len(x))), max(FEWEST, len(x) // 2), len(x) - 1)
    often = 0.5 * float(chdtri(2 * k + 2, miss)) / hours
    excess = float(np.mean(x[:k] - x[k])) * k / float(gammaincinv(k, miss))  # χ²_α(2k) = 2 gammaincinv(k, α)
    return float(np.sqrt(x[k] + excess * max(np.log(often / rate), 0.0)))
