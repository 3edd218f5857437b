# SPDX-License-Identifier: Apache-2.0
"""`align`: offset and drift between the clocks of two devices, from anything that both have measured.

Model: t_a = offset + (1 + drift)·t_b. Both signals are put on one grid. In windows along the record the lag of the
largest cross-correlation is found, to a fraction of a step by a parabola. A line through the lags gives offset and
drift, its scatter the intervals. Windows that lie far off the line on which most agree are left out. Where windows
are few and close together they cannot tell a drift; what is known of such clocks beforehand then counts more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.arguments import numbers
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.types import Array

OFFSET_CONFIDENCE = 0.95
LEAST_LIKENESS = 0.3  # correlation below which a window says nothing
WINDOW_OFFSET_SECONDS = 0.06  # [s] search range of a window's offset about that of the whole record
LARGEST_DRIFT = 0.01  # of one clock against another: no device is that bad
AGREEING_SECONDS = 0.005  # [s] by which a window's lag may differ from what most windows say
LAG_DEVIATION = 0.002  # [s] of a window's lag at best, against which an expected drift is weighed


class Alignment(NamedTuple):
    """t_a = offset + (1 + drift)·t_b.

    Attributes:
        offset: [s]. offset_interval: half width at 95 % [s]. drift: [-]. drift_interval: half width at 95 %.
        jitter: scatter of the windows' lags about the line [s]. windows: how many counted.
    """

    offset: float
    offset_interval: float
    drift: float
    drift_interval: float
    jitter: float
    windows: int

    def to_a(self, t_b: ArrayLike) -> Array:
        """Return times of clock b on clock a."""
        return self.offset + (1.0 + self.drift) * numbers(t_b, "align: t_b")


def _even(t: Array, x: Array, grid: Array) -> Array:
    return np.stack([np.interp(grid, t, column) for column in x.T], axis=1)


def _rough(a: Array, b: Array, most: int) -> tuple[int, float]:
    """Return the steps by which b (N, c) must be moved to lie on a, |lag| ≤ most, and the correlation there."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    size = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
    if size == 0.0:
        return 0, 0.0
    n = 1 << int(np.ceil(np.log2(len(a) + len(b))))
    spectrum = np.fft.rfft(a, n, axis=0) * np.conj(np.fft.rfft(b, n, axis=0))
    correlation = np.fft.irfft(spectrum.sum(axis=1), n)
    lags = np.concatenate([np.arange(most + 1), np.arange(-most, 0)])
    k = int(lags[int(np.argmax(correlation[lags]))])
    return k, float(correlation[k] / size)


def _fine(a: Array, b: Array, reach: int) -> tuple[float, float, float]:
    """Return lag within ±reach steps, correlation r there, weight; a (N + 2·reach, c) overlaps b (N, c) at every lag.

    Every lag is judged on the same number of samples, relative to the size of those: otherwise slow signals would
    seem to fit best where they overlap most. The weight is what white noise would leave of the lag,
    1/var ~ −r''/(1 − r²): a stretch in which little happens says little.
    """
    b = b - b.mean(axis=0)
    values = np.zeros(2 * reach + 1)
    for k in range(len(values)):
        part = a[k : k + len(b)]
        part = part - part.mean(axis=0)
        size = float(np.sqrt(np.sum(part * part) * np.sum(b * b)))
        values[k] = np.sum(part * b) / size if size > 0.0 else 0.0
    k = int(np.argmax(values))
    if not 0 < k < 2 * reach:
        return 0.0, 0.0, 0.0  # the best lies outside: this window says nothing
    y0, y1, y2 = values[k - 1 : k + 2]
    bend = y0 - 2.0 * y1 + y2
    if bend >= 0.0:
        return 0.0, 0.0, 0.0
    return k - reach + 0.5 * float((y0 - y2) / bend), float(y1), float(-bend / (1.0 - min(y1, 0.9999) ** 2))


def align(
    t_a: ArrayLike,
    x_a: ArrayLike,
    t_b: ArrayLike,
    x_b: ArrayLike,
    *,
    window: float = 5.0,
    most_offset: float = 5.0,
    expected: tuple[float, float] | None = None,
) -> Alignment:
    """Find offset and drift between two clocks from one quantity that both devices measured.

    Args:
        t_a: times of device a, its own clock, increasing (m,) [s].
        x_a: its signal (m,), or several (m, c).
        t_b: times of device b (k,) [s].
        x_b: its signal, of any scale (k,), or as many, (k, c): vectors in the same axes tell more than their sizes.
        window: length of the stretches that are compared [s]; a tap needs to lie in some of them.
        most_offset: largest |offset| that is looked for, after the beginnings of the records have been aligned [s].
        expected: the drift as it is known beforehand, and its deviation; nothing by default.

    Returns:
        An `Alignment`.

    Raises:
        InputError: records that are too short, or that have nothing in common.

    Example:
        >>> align(t_robot, force_felt, t_sensor, force_read).offset  # [s]
    """
    ta, xa, tb, xb = (numbers(v, "align") for v in (t_a, x_a, t_b, x_b))
    xa, xb = (x[:, None] if x.ndim == 1 else x for x in (xa, xb))
    for t, x, which in ((ta, xa, "a"), (tb, xb, "b")):
        if t.ndim != 1 or x.ndim != 2 or len(t) != len(x) or len(t) < 20 or (np.diff(t) <= 0.0).any():
            raise InputError(f"align: device {which} needs 20 increasing times and as many values, got {t.shape}")
    if xa.shape[1] != xb.shape[1]:
        raise InputError(f"align: device a has {xa.shape[1]} signals, device b {xb.shape[1]}; as many are needed")
    start = ta[0] - tb[0]
    step = float(min(np.median(np.diff(ta)), np.median(np.diff(tb))))
    whole = min(ta[-1] - ta[0], tb[-1] - tb[0])
    grid = np.arange(0.0, whole, step)
    a, b = _even(ta - ta[0], xa, grid), _even(tb - tb[0], xb, grid)
    rough, likeness = _rough(a, b, min(len(grid) - 2, int(most_offset / step)))
    if likeness < LEAST_LIKENESS:
        raise InputError(f"align: the two signals have nothing in common (correlation {likeness:.2f})")
    shift = rough * step
    length = min(window, whole / 2.0)
    reach = max(4, int(WINDOW_OFFSET_SECONDS / step))
    margin, count = reach * step, int(length / step)
    middles, lags, weights = [], [], []
    for begin in np.arange(max(0.0, margin - shift), whole - max(0.0, shift + margin) - length + 1e-9, length / 2.0):
        inside = begin + step * np.arange(-reach, count + reach)
        piece_a, piece_b = _even(ta - ta[0], xa, inside + shift), _even(tb - tb[0], xb, inside[reach:-reach])
        lag, alike, weight = _fine(piece_a, piece_b, reach)
        if alike > LEAST_LIKENESS:
            middles.append(begin + 0.5 * length + tb[0])
            lags.append(start + shift + lag * step)
            weights.append(weight)
    if len(lags) < 3:
        raise InputError(f"align: only {len(lags)} stretches of {length:.3g} s show both signals; 3 are needed")
    times, found, certain = np.array(middles), np.array(lags), np.array(weights)
    use = _agreeing(times, found)
    if use.sum() < 3:
        raise InputError(f"align: of {len(found)} stretches of {length:.3g} s no three agree on a lag")
    return _line(times[use], found[use], certain[use], expected)


def _agreeing(t: Array, lag: Array) -> NDArray[np.bool_]:
    """Return which lags (m,) at times t lie on one line: the one, through two of them, that is nearest to all.

    What lies far off it counts no more than what lies off it at all.
    """
    i, j = np.triu_indices(len(t), 1)
    slope = (lag[j] - lag[i]) / (t[j] - t[i])
    possible = np.abs(slope) <= LARGEST_DRIFT
    if not possible.any():
        return np.zeros(len(t), dtype=bool)
    apart = np.abs(lag[None] - lag[i, None] - slope[:, None] * (t[None] - t[i, None]))[possible]
    best = apart[int(np.argmin(np.minimum(apart, AGREEING_SECONDS).sum(axis=1)))]
    return np.asarray(best <= max(AGREEING_SECONDS, 3.0 * 1.4826 * float(np.median(best))))


def _line(t: Array, lag: Array, weight: Array, expected: tuple[float, float] | None = None) -> Alignment:
    """Return the weighted line through lags at times t of clock b: lag = offset + drift·t; `expected` as of `align`."""
    weight = weight / weight.mean()
    X = np.stack([np.ones_like(t), t - t.mean()], axis=1)
    A = X.T @ (weight[:, None] * X)
    b = X.T @ (weight * lag)
    c = np.linalg.solve(A, b)
    free = len(t) - 2
    variance = float(weight @ (lag - X @ c) ** 2) / free
    if expected is not None:
        variance = max(variance, LAG_DEVIATION**2)
        known = variance / expected[1] ** 2
        A, b = A + np.diag([0.0, known]), b + np.array([0.0, known * expected[0]])
        c = np.linalg.solve(A, b)
    rest = lag - X @ c
    covariance = variance * np.linalg.inv(A)
    from scipy.special import stdtrit  # imported here: a tenth of a second that few calls need

    factor = float(stdtrit(free, 0.5 + OFFSET_CONFIDENCE / 2.0))
    origin = np.array([1.0, -t.mean()])
    return Alignment(
        float(c[0] - c[1] * t.mean()),
        factor * float(np.sqrt(origin @ covariance @ origin)),
        float(c[1]),
        factor * float(np.sqrt(covariance[1, 1])),
        float(np.sqrt(np.mean(rest**2))),
        len(t),
    )
