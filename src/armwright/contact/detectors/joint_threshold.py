# SPDX-License-Identifier: Apache-2.0
"""One threshold per joint, with hysteresis: the alarm follows the joint that exceeds its own threshold the most.

An alarm begins at a level and ends at a lower one (`latched`), so that one contact gives one rising edge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.monitor import Monitor
from armwright.control.tick_function import gain as checked
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Outputs, Scalar, Traced

MEMORY = {"active": [0.0]}
THRESHOLD_RELEASE_SHARE = 0.7
"""Fraction of the threshold at which an alarm ends: a gap of three standard deviations for noise of a tenth of it."""


def latched(level: Traced, release: Scalar, active: Traced) -> dict[str, Traced]:
    """Return alarm, level and the new flag for a level in units of the threshold.

    The alarm is level − 1 when quiet and level − release when active: ≥ 0 in alarm, and through zero once at either
    end of an episode.
    """
    alarm = level - np.where(active[0] > 0.0, release, 1.0)
    return {"alarm": alarm, "level": level, "active": np.array([np.where(alarm >= 0.0, 1.0, 0.0)])}


def release_ratio(release: float) -> float:
    """Check and return the ratio at which an alarm ends."""
    if not 0.0 < release <= 1.0:
        raise InputError(f"detector: release must lie in (0, 1], a fraction of the threshold; got {release}")
    return float(release)


def worst(ratios: Traced) -> Traced:
    """Return the largest entry of (n,), on floats and symbols."""
    out = ratios[0]
    for value in ratios[1:]:
        out = np.maximum(out, value)
    return out


def _detect(tau_ext: Traced, thresholds: Traced, release: Traced, active: Traced) -> Outputs:
    return latched(worst(np.abs(tau_ext) / thresholds), release, active)


@names_culprit
def joint_detector(thresholds: ArrayLike, *, release: float = THRESHOLD_RELEASE_SHARE) -> Monitor:
    """Alarm while |tau_ext| of some joint exceeds that joint's threshold.

    Args:
        thresholds: [N m] > 0, scalar or (n,).
        release: fraction of the threshold at which the alarm ends.

    Outputs: ``level``, the largest |tau_ext|/threshold; ``alarm``.

    >>> monitors = [momentum_observer(50.0), joint_detector([20.0, 20.0, 15.0, 5.0, 5.0, 5.0])]
    """
    gains = {"thresholds": checked(thresholds, "thresholds", positive=True), "release": release_ratio(release)}
    return Monitor("joint thresholds", _detect, gains, MEMORY, ("alarm", "level"), joint_detector.__doc__ or "")
