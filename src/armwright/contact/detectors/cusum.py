# SPDX-License-Identifier: Apache-2.0
"""CUSUM, one pair of sums per joint (Page 1954): small steady excesses add up to an alarm.

    g⁺ ← max(0, g⁺ + x − drift)    g⁻ ← max(0, g⁻ − x − drift)    x = tau_ext/scale    alarm: some g ≥ threshold

With x of unit variance and independent samples, drift ½ and threshold 5 give an alarm every 465 samples without cause
and after 10.4 samples for a shift of one. Errors of the model are not independent samples but offsets that last: the
drift must exceed them (in scales), or they add up to an alarm of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.detectors.joint_threshold import THRESHOLD_RELEASE_SHARE, latched, release_ratio, worst
from armwright.contact.monitor import Monitor
from armwright.control.tick_function import gain as checked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Outputs, Scalar, Traced

CEILING = 20.0
"""Bound of the sums, in thresholds: an alarm outlasts its cause by at most 20·threshold/drift samples, here 200."""


def _detect(
    tau_ext: Traced,
    scale: Traced,
    drift: Scalar,
    threshold: Traced,
    release: Scalar,
    up: Traced,
    down: Traced,
    active: Traced,
) -> Outputs:
    x = tau_ext / scale
    up = np.minimum(np.maximum(up + x - drift, 0.0), CEILING * threshold)
    down = np.minimum(np.maximum(down - x - drift, 0.0), CEILING * threshold)
    return latched(worst(np.maximum(up, down)) / threshold, release, active) | {"up": up, "down": down}


@names_culprit
def cusum_detector(
    scale: ArrayLike, *, drift: float = 0.5, threshold: float = 5.0, release: float = THRESHOLD_RELEASE_SHARE
) -> Monitor:
    """Alarm while the cumulated excess of some joint's |tau_ext|/scale over `drift` exceeds `threshold`.

    Args:
        scale: [N m] > 0, scalar or (n,): spread of tau_ext without contact.
        drift: excess per sample that is forgiven, in scales; ≥ 0.
        threshold: sum at which the alarm begins, in scales × samples; > 0.
        release: fraction of the threshold at which the alarm ends.

    Outputs: ``level``, the largest sum over the threshold; ``alarm``.

    >>> monitors = [momentum_observer(50.0), cusum_detector(scale=2.0)]
    """
    gains = {
        "scale": checked(scale, "scale", positive=True),
        "drift": checked(drift, "drift", size=1).reshape(()),
        "threshold": checked(threshold, "threshold", size=1, positive=True).reshape(()),
        "release": release_ratio(release),
    }
    memory = {"up": 0.0, "down": 0.0, "active": [0.0]}
    return Monitor("CUSUM", _detect, gains, memory, ("alarm", "level"), cusum_detector.__doc__ or "")
