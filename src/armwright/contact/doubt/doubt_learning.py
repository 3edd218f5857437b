# SPDX-License-Identifier: Apache-2.0
"""What a doubting arm learns from rehearsal: the errors that its columns do not span, and its thresholds.

The rehearsal must contain what a run does: reversals, brakes, rests, and arms with loads and missing friction at once.
The filter is run twice over it. The first time with assumed errors; what its last estimate leaves, of joints that move,
tells

    white² + offset² = ⟨e(t)²⟩,   offset² e^(−LAG/FORGET) = ⟨e(t) e(t + LAG)⟩

per joint. The second time with these, and what the tests and both channels of the quick detector say then makes the
thresholds (`tail_margin`): `SLOW_SHARE` of the stated false alarms for all tests together, the rest for the channels.
Only what came after the filter was ready counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.detectors.threshold_learning import (
    DEFAULT_CONFIDENCE,
    DEFAULT_FALSE_ALARMS,
    EVIDENCE_SECONDS,
    Runs,
    block_peaks,
    runs_of,
    tail_margin,
)
from armwright.contact.detectors.two_speed import TwoSpeed, channel_runs
from armwright.contact.doubt.doubt_filter import WINDOWS, Unspanned
from armwright.contact.doubt.doubting_detector import DEVIATIONS, IMPACTS, doubting_detector
from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.contact.monitor import Monitor
    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.types import Array

READY = 6.0
"""Time [s] of motion after which a filter is taken to know its arm: loads were known after 3.4 to 6.5 s."""
LAG = 0.2
"""Time [s] over which what is left still correlates only if it is an offset."""
MOVING = 0.05
"""Largest `DoubtFilter.still` of a joint that counts as moving."""
LEAST_SHARE = 0.1
"""Least share of what is left that counts as offset, and as white: neither is ever nothing."""
SLOW_SHARE = 0.75
"""Share of the stated false alarms that the tests may cause: a hard contact passes thresholds of any size soon."""
LEVEL_MARGIN = 1.15
"""Factor on the limits of the levels. What they see lasts as long as the motion that brings it out, and all arms on
that motion have it: blocks of one motion are less evidence than as many of different ones."""
FORGET = 1.0
"""Time in which offsets are taken to be forgotten [s]."""


@dataclass(frozen=True, eq=False)
class DoubtFit:
    """What was learned.

    Attributes:
        unspanned: errors that the columns do not span.
        limits: (`TESTS`,) of D, the thresholds of the tests.
        quick, slowly: (5, n) coefficients of the channels' thresholds, see `two_speed`.
        gain: of the observer [1/s]. rate: false alarms per hour that this was learned for. hours: of motion.
    """

    unspanned: Unspanned
    limits: Array
    quick: Array
    slowly: Array
    gain: float
    rate: float
    hours: float

    def detector(self) -> Monitor:
        """Return the quick channel."""
        return doubting_detector(self.quick, self.slowly)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers."""
        u = self.unspanned
        out: dict[str, Any] = {name: getattr(u, name).tolist() for name in ("offset", "time", "white")}
        out |= {name: getattr(self, name).tolist() for name in ("limits", "quick", "slowly")}
        return out | {name: getattr(self, name) for name in ("gain", "rate", "hours")}

    @staticmethod
    def from_dict(said: Mapping[str, Any]) -> DoubtFit:
        """Return what `to_dict` told."""
        numbers = ("gain", "rate", "hours")
        arrays: dict[str, Any] = {k: np.array(v, dtype=np.float64) for k, v in said.items() if k not in numbers}
        unspanned = Unspanned(*(arrays.pop(name) for name in ("offset", "time", "white")))
        arrays |= {name: float(said[name]) for name in numbers}
        return DoubtFit(unspanned, **arrays)


def learned_unspanned(left: Sequence[Array], still: Sequence[Array], sample: float) -> Unspanned:
    """Return the errors that the columns do not span, from what was left of runs without contact.

    Args:
        left: (B, S, n) each, what the last estimate of a run leaves [N m], means over samples.
        still: the same, as in `DoubtFilter`.
        sample: time between samples [s].

    Raises:
        InputError: where a joint never moved.
    """
    lag = max(1, round(LAG / sample))
    both, none = [], []
    for e, s in zip(left, still, strict=True):
        if e.ndim != 3 or e.shape != s.shape or e.shape[1] <= lag:
            raise InputError(f"learn doubt: left and still must be (B, S > {lag}, n), got {e.shape} and {s.shape}")
        moves = s < MOVING
        pair = moves[:, lag:] & moves[:, :-lag]
        none.append([(e**2 * moves).sum(axis=(0, 1)), moves.sum(axis=(0, 1))])
        both.append([(e[:, lag:] * e[:, :-lag] * pair).sum(axis=(0, 1)), pair.sum(axis=(0, 1))])
    (square, count), (product, pairs) = np.sum(none, axis=0), np.sum(both, axis=0)
    if (count < 1).any():
        raise InputError(f"learn doubt: joint {int(np.argmin(count)) + 1} never moved after the filter was ready")
    total = square / count
    slow = product / np.maximum(pairs, 1) * np.exp(LAG / FORGET)
    offset = np.clip(slow, LEAST_SHARE * total, (1.0 - LEAST_SHARE) * total)
    return Unspanned(np.sqrt(offset), np.full(len(total), FORGET), np.sqrt(total - offset))


def window_limits(
    excess: Sequence[Array],
    sample: float,
    *,
    rate: float = DEFAULT_FALSE_ALARMS,
    confidence: float = DEFAULT_CONFIDENCE,
) -> Array:
    """Return the limits (`TESTS`,) of D at which all tests together alarm at most `rate` times per hour.

    Args:
        excess: D² (B, S, `TESTS`) each, of runs without contact after the filter was ready.
        sample: time between samples [s].
        rate: [1/h].
        confidence: probability that the rate is not exceeded, as far as tails are exponential.
    """
    length = round(EVIDENCE_SECONDS / sample)
    levels = [np.sqrt(np.maximum(x, 0.0)) for x in excess]
    hours = sum(x.shape[0] * x.shape[1] for x in levels) * sample / 3600.0
    peaks = [np.concatenate([block_peaks(x[..., k], length) for x in levels]) for k in range(levels[0].shape[2])]
    # what tests say is alike: they share one factor on their own usual peaks
    usual = np.array([np.sqrt(np.mean(np.sort(p)[-max(1, len(p) // 20) :] ** 2)) for p in peaks])
    most = np.max([p / u for p, u in zip(peaks, usual, strict=True)], axis=0)
    limits = usual * max(1.0, tail_margin(most, hours, rate=rate, confidence=confidence))
    limits[: len(WINDOWS)] *= LEVEL_MARGIN
    return np.asarray(limits)


def doubted_runs(
    tau_ext: Array, unsure: Array, ref: Reference, dt: float, robot: Robot, first: int, kind: TwoSpeed = IMPACTS
) -> tuple[Runs, Runs]:
    """Return both channels of runs (B, T, n) from tick `first` on, less what the detector forgives anyway.

    Args:
        tau_ext: with the known errors taken out, without jumps of the estimate (`Watched.felt`).
        unsure: (B, T, n) one deviation of the doubt, at every tick.
        ref: of T ticks.
        dt: [s].
        robot: the model.
        first: tick at which the filter was ready.
        kind: of the channels.
    """
    out = []
    for runs in channel_runs(tau_ext, ref, dt, robot, kind):
        size = np.maximum(runs.size - DEVIATIONS * unsure, 0.0)
        out.append(runs_of(size[:, first:], runs.features[:, :, first:]))
    return out[0], out[1]
