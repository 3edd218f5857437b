# SPDX-License-Identifier: Apache-2.0
"""One threshold per joint: the alarm is the joint that exceeds its own the most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.detectors.latch import MEMORY, RELEASE, latched, release_ratio
from armwright.contact.monitor import Monitor
from armwright.control.checks import gain as checked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Traced


def worst(ratios: Traced) -> Traced:
    """Largest entry of (n,), on floats and symbols."""
    out = ratios[0]
    for value in ratios[1:]:
        out = np.maximum(out, value)
    return out


def _detect(tau_ext: Traced, thresholds: Traced, release: Traced, active: Traced) -> Traced:
    return latched(worst(np.abs(tau_ext) / thresholds), release, active)


@names_culprit
def joint_detector(thresholds: ArrayLike, *, release: float = RELEASE) -> Monitor:
    """Alarm while |tau_ext| of some joint exceeds that joint's threshold.

    Args:
        thresholds: [N m] > 0, scalar or (n,).
        release: fraction of the threshold at which the alarm ends.

    Outputs: ``level``, the largest |tau_ext|/threshold; ``alarm``.
    """
    gains = {"thresholds": checked(thresholds, "thresholds", positive=True), "release": release_ratio(release)}
    return Monitor("joint thresholds", _detect, gains, MEMORY, ("alarm", "level"), joint_detector.__doc__ or "")
