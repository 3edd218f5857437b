# SPDX-License-Identifier: Apache-2.0
"""Hysteresis: an alarm begins at a level and ends at a lower one, so that one contact gives one rising edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.types import Traced

MEMORY = {"active": [0.0]}
RELEASE = 0.7
"""Fraction of the threshold at which an alarm ends: a gap of three standard deviations for noise of a tenth of it."""


def latched(level: Traced, release: Traced, active: Traced) -> dict[str, Traced]:
    """Return alarm, level and the new flag for a level in units of the threshold.

    The alarm is level − 1 when quiet and level − release when active: ≥ 0 in alarm, and through zero once at either
    end of an episode.
    """
    alarm = level - np.where(active[0] > 0.0, release, 1.0)
    return {"alarm": alarm, "level": level, "active": np.array([np.where(alarm >= 0.0, 1.0, 0.0)])}


def release_ratio(release: float) -> float:
    """Check the ratio at which an alarm ends."""
    if not 0.0 < release <= 1.0:
        raise InputError(f"detector: release must lie in (0, 1], a fraction of the threshold; got {release}")
    return float(release)
