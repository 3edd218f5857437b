# SPDX-License-Identifier: Apache-2.0
"""From a log to even samples that can be differentiated: cut at gaps, resampled, filtered without delay."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.identify.filters import LowPass, derivative, low_pass
from armwright.identify.log import SLOWEST, Log, unit_doubts
from armwright.identify.sound import JUMP, departures

if TYPE_CHECKING:
    from armwright.types import Array

GAP = SLOWEST
"""[s] A longer pause between stamps is not bridged: the log is cut there."""
EDGE = 4
"""Samples at both ends of a piece whose acceleration is not known as well as the others'."""
SHORTEST = 1.0
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
        """Number of joints."""
        return int(self.pieces[0].q.shape[1])

    @property
    def duration(self) -> float:
        """Of all pieces [s]."""
        return sum(float(piece.t[-1] - piece.t[0]) for piece in self.pieces)

    @property
    def kept(self) -> str:
        """Which frequencies were kept, in words."""
        f = self.filter
        if not f.order:
            return f"everything up to {0.5 * f.rate:g} Hz: no filter, {f.rate:g} samples per second"
        half = f.cutoff * (np.sqrt(2.0) - 1.0) ** (0.5 / f.order)
        return (
            f"0 to {half:.2g} Hz (half power; {2 * f.order} poles without delay) of {0.5 * f.rate:g} Hz at "
            f"{f.rate:g} samples per second"
        )


@names_culprit
def prepare(log: Log, *, rate: float = 100.0, cutoff: float | None = 8.0) -> Prepared:
    """Resample a log evenly and filter its motion without delay.

    Args:
        log: as read.
        rate: of the even samples [Hz].
        cutoff: of the low-pass, fourth order, forwards and backwards [Hz]; None filters nothing.

    Raises:
        InputError: units that cannot be radians, seconds and amperes, or no piece long enough.
    """
    if doubts := unit_doubts(log):
        raise InputError("; ".join(doubts))
    smooth = low_pass(rate, cutoff)
    pieces, left_out = [], []
    for rows in pieces_of(log):
        part = log.rows(rows)
        if len(part) < 8 or part.duration < SHORTEST:
            left_out.append(f"{part.duration:.2f} s from t = {part.t[0]:.2f} s: a piece shorter than {SHORTEST:g} s")
            continue
        pieces.append(_even(part, rate, smooth))
    if not pieces:
        raise InputError(
            f"log {log.name!r}: {log.duration:.2f} s, no unbroken piece of {SHORTEST:g} s in it; a longer log is needed"
        )
    return Prepared(log.name, tuple(pieces), smooth, tuple(left_out))


def pieces_of(log: Log) -> list[slice]:
    """Unbroken rows: no pause longer than `GAP`, no position that leaves what the speeds say."""
    broken = np.diff(log.t) > GAP
    broken |= departures(log.t, log.q, log.qd) > JUMP
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

    def linear(values: Any) -> Any:
        return None if values is None else np.stack([np.interp(inside, part.t, column) for column in values.T], axis=1)

    signals = (t, q, qd, qdd, linear(part.current), linear(part.target_current), linear(part.target_torque))
    return Piece(*(None if x is None else x[EDGE : len(x) - EDGE] for x in signals))  # type: ignore[arg-type]
