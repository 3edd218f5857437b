# SPDX-License-Identifier: Apache-2.0
"""Norm threshold (000 eq. 5.9): ‖F̂‖ > f_min or ‖tau_ext‖ > tau_min, with hysteresis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.detectors.joint_threshold import MEMORY, THRESHOLD_RELEASE_SHARE, latched, release_ratio
from armwright.contact.monitor import Monitor
from armwright.control.tick_function import choice
from armwright.control.tick_function import gain as checked

if TYPE_CHECKING:
    from armwright.types import Outputs, Traced


def _detect(x: Traced, threshold: Traced, release: Traced, active: Traced) -> Outputs:
    total: Any = 0.0
    for value in x:
        total = total + value * value
    return latched(np.sqrt(total) / threshold, release, active)


def _of_torque(tau_ext: Traced, threshold: Traced, release: Traced, active: Traced) -> Outputs:
    return _detect(tau_ext, threshold, release, active)


def _of_wrench(wrench_ext: Traced, threshold: Traced, release: Traced, active: Traced) -> Outputs:
    return _detect(wrench_ext, threshold, release, active)


@names_culprit
def norm_detector(threshold: float, *, of: str = "tau_ext", release: float = THRESHOLD_RELEASE_SHARE) -> Monitor:
    """Alarm while the Euclidean norm of an estimate exceeds a threshold (000 eq. 5.9: f_min = 12 N on F̂).

    000 does not say how its trigger fires; a level test fires at every sample in contact. The rising edge of this
    alarm fires once per episode, which ends when the norm falls below release·threshold.

    Args:
        threshold: [N m] for tau_ext, [N] for wrench_ext; > 0.
        of: "tau_ext" or "wrench_ext" (needs `armwright.contact.wrench_estimate.wrench_observer` before it).
        release: fraction of the threshold at which the alarm ends.

    Outputs: ``level``, the norm over the threshold; ``alarm``.

    >>> monitors = [momentum_observer(50.0), wrench_observer(), norm_detector(12.0, of="wrench_ext")]
    """
    of = choice(of, "of", ("tau_ext", "wrench_ext"))
    gains = {
        "threshold": checked(threshold, "threshold", size=1, positive=True).reshape(()),
        "release": release_ratio(release),
    }
    return Monitor(
        "norm",
        _of_torque if of == "tau_ext" else _of_wrench,
        gains,
        MEMORY,
        ("alarm", "level"),
        norm_detector.__doc__ or "",
    )
