# SPDX-License-Identifier: Apache-2.0
"""Drive gains, torque at the joint per ampere of motor current: three ways to know them.

With friction and inertia both unknown, currents alone show only ratios: a gain twice as large with everything else
twice as large explains them equally. A gain must be known, or read from the controller's own targets, or made visible
by a load of known mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.identify.log import Log
    from armwright.types import Array

STILL = 1e-4
"""[rad/s] All joints slower, for a while: the controller's target holds gravity only."""
AROUND = 10
"""Rows before and after that must be still, too: targets move before the arm does."""
FINEST = 1e-9
"""[A] Last digit of currents that were not rounded."""
SURE = 0.01
"""Standard error of a slope, relative, up to which a gain counts as seen."""
ASSUMED = 0.05
"""Standard deviation, relative, of a gain that is not seen: drives of one arm are alike to about ±10 %."""


@dataclass(frozen=True)
class Known:
    """Gains from a data sheet or an earlier fit, one per joint [N m/A]. Logs of joint torques have gains of 1."""

    values: tuple[float, ...]

    def __init__(self, values: ArrayLike) -> None:
        """Check that they are positive numbers."""
        gains = np.ravel(np.asarray(values, dtype=np.float64))
        if not (np.isfinite(gains) & (gains > 0.0)).all() or not len(gains):
            raise InputError(f"gains: must be finite and > 0, got {gains.tolist()}")
        object.__setattr__(self, "values", tuple(float(x) for x in gains))


@dataclass(frozen=True)
class FromTargets:
    """Gains from the controller: its target torque over its target current while the arm stands still.

    Attributes:
        assumed: gain of joints whose target torque is never seen (a vertical or unloaded axis); by default that of the
            nearest joint that is seen, which usually has the same drive.
    """

    assumed: float | None = None


@dataclass(frozen=True)
class Free:
    """Gains estimated together with everything else; at least one log must carry a load of known mass."""


Gains = Known | FromTargets | Free


@dataclass(frozen=True, eq=False)
class TargetGains:
    """Result of `gains_from_targets`: values (n,) and deviations (n,) [N m/A], and which were seen, not assumed."""

    values: Array
    deviation: Array
    seen: tuple[bool, ...]


def gains_from_targets(logs: Sequence[Log], assumed: float | None = None) -> TargetGains:
    """Read the controller's own drive gains from its targets at standstill (slope of torque on current, no offset).

    Raises:
        InputError: no log has targets, the arm never stands still, or no joint's ratio is constant.
    """
    with_targets = [log for log in logs if log.target_current is not None and log.target_torque is not None]
    if not with_targets:
        raise InputError("gains from targets: no log has target currents and target torques; use Known or Free gains")
    slopes = [_Slope() for _ in range(with_targets[0].n)]
    rows = 0
    for log in with_targets:
        still = _still(log)
        rows += int(still.sum())
        for j, slope in enumerate(slopes):
            slope.add(np.asarray(log.target_torque)[:, j], np.asarray(log.target_current)[:, j], still)
    if rows < 10:
        raise InputError("gains from targets: the arm never stands still in these logs; use Known or Free gains")
    found = np.array([slope.result() for slope in slopes])
    values, deviation = found[:, 0], found[:, 1]
    seen = (values > 0.0) & (deviation < SURE * values)
    if not seen.any():
        raise InputError(
            "gains from targets: at standstill no joint's target torque is proportional to its target current to "
            f"{100.0 * SURE:g} %; use Known or Free gains"
        )
    known = np.flatnonzero(seen)
    for j in np.flatnonzero(~seen).tolist():
        values[j] = assumed if assumed is not None else values[known[np.argmin(np.abs(known - j))]]
        deviation[j] = ASSUMED * values[j]
    return TargetGains(values, deviation, tuple(bool(x) for x in seen))


def _still(log: Log) -> Array:
    """Mask of rows that stand still together with the rows around them."""
    moved = (np.abs(log.qd) >= STILL).any(axis=1).astype(float)
    return np.asarray(np.convolve(moved, np.ones(2 * AROUND + 1), mode="same") < 0.5)


class _Slope:
    """Slope of torque on current through the origin, over the still rows of all logs, with its standard error.

    Targets are written with few digits, and an arm that stands still repeats them: rows with the same current share one
    rounding error, however many they are. A log with finer digits weighs more.
    """

    def __init__(self) -> None:
        self.groups: list[tuple[float, float, float, float]] = []  # weight, i, mean τ, rounding error of i

    def add(self, torque: Array, current: Array, still: Array) -> None:
        digit = _digit(current)
        values, which, counts = np.unique(current[still], return_inverse=True, return_counts=True)
        torques = np.bincount(which, torque[still], len(values)) / counts
        for value, tau, count in zip(values, torques, counts, strict=True):
            self.groups.append((count / digit**2, value, tau, digit / np.sqrt(12.0)))

    def result(self) -> tuple[float, float]:
        """Slope and standard error; (0, ∞) where no current flows."""
        w, i, tau, error = np.array(self.groups).reshape(-1, 4).T
        level = float(np.sum(w * i**2))
        if level <= 0.0:
            return 0.0, np.inf
        slope = float(np.sum(w * i * tau)) / level
        off = (tau - slope * i) ** 2 + (slope * error) ** 2
        return slope, float(np.sqrt(np.sum((w * i) ** 2 * off))) / level


def _digit(values: Array) -> float:
    """Smallest step between the numbers of a column: their last digit."""
    steps = np.diff(np.unique(values))
    return float(steps[steps > FINEST].min(initial=1.0)) if (steps > FINEST).any() else FINEST
