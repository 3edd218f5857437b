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
LEAST_CURRENT = 0.004
"""[A] Smaller target currents have too few digits for a ratio."""
CLOSE = 0.02
"""Ratios this close to their median agree."""
MOST = 0.8
"""Share of the target current whose ratios must agree for a gain to count as seen."""


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
    """Result of `gains_from_targets`: values (n,) [N m/A] and which joints' were seen (n,), not assumed."""

    values: Array
    seen: tuple[bool, ...]


def gains_from_targets(logs: Sequence[Log], assumed: float | None = None) -> TargetGains:
    """Read the controller's own drive gains from its targets at standstill (slope of torque on current, no offset).

    Raises:
        InputError: no log has targets, the arm never stands still, or no joint's ratio is constant.
    """
    with_targets = [log for log in logs if log.target_current is not None and log.target_torque is not None]
    if not with_targets:
        raise InputError("gains from targets: no log has target currents and target torques; use Known or Free gains")
    current, torque = [], []
    for log in with_targets:
        still = _still(log)
        current.append(np.asarray(log.target_current)[still])
        torque.append(np.asarray(log.target_torque)[still])
    i, tau = np.concatenate(current), np.concatenate(torque)
    if len(i) < 10:
        raise InputError("gains from targets: the arm never stands still in these logs; use Known or Free gains")
    values, seen = np.zeros(i.shape[1]), []
    for j in range(i.shape[1]):
        values[j], agreed = _ratio(tau[:, j], i[:, j])
        seen.append(agreed)
    if not any(seen):
        raise InputError("gains from targets: target torque is not proportional to target current at standstill")
    known = np.flatnonzero(seen)
    for j in range(len(values)):
        if not seen[j]:
            values[j] = assumed if assumed is not None else values[known[np.argmin(np.abs(known - j))]]
    return TargetGains(values, tuple(seen))


def _still(log: Log) -> Array:
    """Mask of rows that stand still together with the rows around them."""
    moved = (np.abs(log.qd) >= STILL).any(axis=1).astype(float)
    return np.asarray(np.convolve(moved, np.ones(2 * AROUND + 1), mode="same") < 0.5)


def _ratio(tau: Array, i: Array) -> tuple[float, bool]:
    """Ratio of torque to current, the median weighted by current, and whether nearly all of it agrees."""
    use = np.abs(i) > LEAST_CURRENT
    if use.sum() < 10:
        return 0.0, False
    ratio, weight = tau[use] / i[use], np.abs(i[use])
    order = np.argsort(ratio)
    middle = ratio[order][np.searchsorted(np.cumsum(weight[order]), 0.5 * weight.sum())]
    close = np.abs(ratio / middle - 1.0) < CLOSE if middle > 0.0 else np.zeros(len(ratio), bool)
    if weight[close].sum() < MOST * weight.sum():
        return 0.0, False
    a, b = i[use][close], tau[use][close]
    return float(a @ b / (a @ a)), True
