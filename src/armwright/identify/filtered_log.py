# SPDX-License-Identifier: Apache-2.0
"""From a log to even samples that can be differentiated: cut at gaps, resampled, filtered without delay.

`even_samples` makes them. `LowPass` is the filter, as second-order sections: without delay for fitting, causal with a
stated delay for streams (004 eq. 5.12).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.identify.current_log import LARGEST_STAMP_GAP, POSITION_JUMP, Log, departures, unit_doubts

if TYPE_CHECKING:
    from armwright.types import Array


@dataclass(frozen=True, eq=False)
class LowPass:
    """Butterworth low-pass, |H|² = 1/(1 + (f/cutoff)^2N), at a sampling rate; without sections, everything passes.

    Attributes:
        rate: samples per second [Hz].
        cutoff: half power of one pass [Hz].
        order: N of one pass.
        sections: (⌈N/2⌉, 6) second-order sections.
    """

    rate: float
    cutoff: float
    order: int
    sections: Array

    @property
    def margin(self) -> int:
        """Return the samples after which what lies beyond an edge is forgotten to about 1e-9."""
        if not len(self.sections):
            return 0
        radius = max(float(np.abs(np.roots(section[3:])).max()) for section in self.sections)
        return int(np.ceil(np.log(1e-9) / np.log(radius)))

    @property
    def delay(self) -> float:
        """Return the delay of slow signals in the causal form [s]: 1/(2π cutoff sin(π/2N))."""
        if not self.order:
            return 0.0
        return float(1.0 / (2.0 * np.pi * self.cutoff * np.sin(np.pi / (2 * self.order))))

    def without_phase(self, values: Array) -> Array:
        """Filter (T, …) forwards and backwards: no delay, twice the order."""
        from scipy.signal import sosfiltfilt

        if not len(self.sections):
            return np.array(values, dtype=np.float64)
        pad = min(self.margin, len(values) - 1)
        return np.asarray(sosfiltfilt(self.sections, values, axis=0, padlen=pad))

    def stream(self, columns: int) -> FilterStream:
        """Return the causal form, which keeps its state between calls."""
        return FilterStream(self.sections, columns)


class FilterStream:
    """A causal filter at work; any division of a signal into pieces gives the same numbers, bit for bit."""

    def __init__(self, sections: Array, columns: int) -> None:
        """Begin at rest; the first sample sets the level, so that a constant passes from the start."""
        self._sections = sections
        self._state: Array | None = None
        self._columns = columns

    def push(self, values: Array) -> Array:
        """Filter the next (k, columns) samples."""
        from scipy.signal import sosfilt, sosfilt_zi

        if not len(values):
            return np.zeros((0, self._columns))
        if self._state is None:
            self._state = sosfilt_zi(self._sections)[:, :, None] * values[0]
        out, self._state = sosfilt(self._sections, values, axis=0, zi=self._state)
        return np.asarray(out)


def low_pass(rate: float, cutoff: float | None, order: int = 4) -> LowPass:
    """Design a Butterworth low-pass as second-order sections (004 eq. 5.12; direct polynomials lose digits there).

    Without cutoff everything passes: for simulated logs without noise.
    """
    from scipy.signal import butter

    if cutoff is None and np.isfinite(rate) and rate > 0.0:
        return LowPass(float(rate), np.inf, 0, np.zeros((0, 6)))
    if cutoff is None:
        raise InputError(f"low-pass: rate must be > 0, got {rate}")
    if not (np.isfinite(rate) and 0.0 < cutoff < 0.5 * rate):
        raise InputError(f"low-pass: need 0 < cutoff < rate/2, got cutoff {cutoff} Hz at {rate} Hz")
    if order < 1:
        raise InputError(f"low-pass: order must be ≥ 1, got {order}")
    return LowPass(float(rate), float(cutoff), order, np.asarray(butter(order, cutoff, fs=rate, output="sos")))


_STENCIL = np.array([1.0 / 280, -4.0 / 105, 1.0 / 5, -4.0 / 5, 0.0, 4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280])


def derivative(values: Array, dt: float) -> Array:
    """Differentiate (T, n) samples that are dt apart, to order dt⁸ (dt² within four samples of the ends).

    Plain central differences lose 1.6 % of a 5 Hz motion at 100 Hz.
    """
    out = np.gradient(values, dt, axis=0, edge_order=2)
    if len(values) > 8:
        inner = sum(c * values[k : len(values) - 8 + k] for k, c in enumerate(_STENCIL))
        out[4:-4] = np.asarray(inner) / dt
    return np.asarray(out)


GAP = LARGEST_STAMP_GAP
"""[s] A longer pause between stamps is not bridged: the log is cut there."""
EDGE = 4
"""Samples at both ends of a piece whose acceleration is less accurate."""
SHORTEST_PIECE = 1.0
"""[s] Shorter pieces are left out: their edges are all that the filter sees."""


@dataclass(frozen=True, eq=False)
class Piece:
    """An unbroken part of a log on an even grid, K samples.

    Attributes:
        t: (K,) [s]. q, qd, qdd: (K, n), filtered without delay; qdd is the derivative of qd.
        current: (K, n) [A], resampled only: it is filtered together with the regressor.
        target_current, target_torque: (K, n) or None, resampled only.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    current: Array
    target_current: Array | None
    target_torque: Array | None


@dataclass(frozen=True, eq=False)
class Prepared:
    """A log that is ready for fitting.

    Attributes:
        name: of the log.
        pieces: unbroken parts, in order of time.
        filter: what smoothed the motion, and smooths regressor and current alike.
        left_out: sentences about parts that were cut off.
    """

    name: str
    pieces: tuple[Piece, ...]
    filter: LowPass
    left_out: tuple[str, ...]

    @property
    def n(self) -> int:
        """Return the number of joints."""
        return int(self.pieces[0].q.shape[1])

    @property
    def duration(self) -> float:
        """Return the duration of all pieces [s]."""
        return sum(float(piece.t[-1] - piece.t[0]) for piece in self.pieces)

    @property
    def kept(self) -> str:
        """Return which frequencies were kept, in words."""
        f = self.filter
        if not f.order:
            return f"everything up to {0.5 * f.rate:g} Hz: no filter, {f.rate:g} samples per second"
        half = f.cutoff * (np.sqrt(2.0) - 1.0) ** (0.5 / f.order)
        return (
            f"0 to {half:.2g} Hz (half power; {2 * f.order} poles without delay) of {0.5 * f.rate:g} Hz at "
            f"{f.rate:g} samples per second"
        )


@names_culprit
def even_samples(log: Log, *, rate: float = 100.0, cutoff: float | None = 8.0) -> Prepared:
    """Resample a log evenly and filter its motion without delay.

    Args:
        log: as read.
        rate: of the even samples [Hz].
        cutoff: of the low-pass, fourth order, forwards and backwards [Hz]; None filters nothing.

    Raises:
        InputError: units that cannot be radians, seconds and amperes, or no piece long enough.

    Example:
        >>> even_samples(log, rate=100.0, cutoff=5.0).pieces[0].qdd  # (K, n) [rad/s²]
    """
    if doubts := unit_doubts(log):
        raise InputError("; ".join(doubts))
    smooth = low_pass(rate, cutoff)
    pieces, left_out = [], []
    for rows in pieces_of(log):
        part = log.rows(rows)
        if len(part) < 8 or part.duration < SHORTEST_PIECE:
            left_out.append(
                f"{part.duration:.2f} s from t = {part.t[0]:.2f} s: a piece shorter than {SHORTEST_PIECE:g} s"
            )
            continue
        pieces.append(_even(part, rate, smooth))
    if not pieces:
        raise InputError(
            f"log {log.name!r}: {log.duration:.2f} s, "
            f"no unbroken piece of {SHORTEST_PIECE:g} s in it; a longer log is needed"
        )
    return Prepared(log.name, tuple(pieces), smooth, tuple(left_out))


def pieces_of(log: Log) -> list[slice]:
    """Return unbroken rows: no pause longer than `GAP`, no position that differs from what the speeds say."""
    broken = np.diff(log.t) > GAP
    broken |= departures(log.t, log.q, log.qd) > POSITION_JUMP
    edges = [0, *(np.flatnonzero(broken) + 1).tolist(), len(log)]
    return [slice(a, b) for a, b in pairwise(edges) if b - a >= 2]


def _even(part: Log, rate: float, smooth: LowPass) -> Piece:
    from scipy.interpolate import CubicHermiteSpline, CubicSpline

    count = int(np.floor((part.t[-1] - part.t[0]) * rate + 1e-9)) + 1
    t = part.t[0] + np.arange(count) / rate
    inside = np.minimum(t, part.t[-1])
    q = smooth.without_phase(CubicHermiteSpline(part.t, part.q, part.qd)(inside))
    qd = smooth.without_phase(CubicSpline(part.t, part.qd)(inside))
    qdd = derivative(qd, 1.0 / rate)

    def linear(values: Array | None) -> Array | None:
        return None if values is None else np.stack([np.interp(inside, part.t, column) for column in values.T], axis=1)

    signals = (t, q, qd, qdd, linear(part.current), linear(part.target_current), linear(part.target_torque))
    return Piece(*(None if x is None else x[EDGE : len(x) - EDGE] for x in signals))  # type: ignore[arg-type]
