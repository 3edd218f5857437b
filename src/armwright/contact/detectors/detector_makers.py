# SPDX-License-Identifier: Apache-2.0
"""The detectors of `armwright.choices.DETECTORS`: from learned thresholds to a monitor.

One that needs nothing learned takes no argument.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.detectors.adaptive_threshold import adaptive_detector
from armwright.contact.detectors.cusum import cusum_detector
from armwright.contact.detectors.joint_threshold import joint_detector
from armwright.contact.detectors.norm_threshold import norm_detector

if TYPE_CHECKING:
    from armwright.contact.detectors.threshold_learning import ThresholdFit
    from armwright.contact.monitor import Monitor

FORCE = 12.0  # [N] that the norm of the force is compared with: six times what tracking errors alone are felt with
FLOOR = 0.2  # [N m] that a learned threshold is never below: a perfect model in simulation leaves no residual at all


def is_learned(make: Callable[..., Any]) -> bool:
    """Whether a detector of the table wants thresholds that were learned from contact-free motion."""
    return bool(inspect.signature(make).parameters)


def norm() -> Monitor:
    """The tool's force exceeds 12 N (000 §3.7)."""
    return norm_detector(FORCE, of="wrench_ext")


def adaptive(fit: ThresholdFit) -> Monitor:
    """Thresholds that follow speed, acceleration and gravity."""
    return adaptive_detector(np.maximum(fit.a, FLOOR), fit.b, fit.c, fit.d)


def joints(fit: ThresholdFit) -> Monitor:
    """One threshold per joint."""
    return joint_detector(np.maximum(fit.margin * fit.peak, FLOOR))


def cusum(fit: ThresholdFit) -> Monitor:
    """Cumulated excess over the thresholds."""
    return cusum_detector(np.maximum(fit.margin * fit.peak, FLOOR), drift=1.0, threshold=1.0)
