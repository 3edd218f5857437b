# SPDX-License-Identifier: Apache-2.0
"""Detectors of contact, one file per detector; outputs ``alarm`` (≥ 0 in alarm) and ``level`` (1 at the threshold)."""

from armwright.contact.detectors.adaptive_threshold import adaptive_detector
from armwright.contact.detectors.cusum import cusum_detector
from armwright.contact.detectors.friction_band import friction_band_detector
from armwright.contact.detectors.joint_threshold import joint_detector
from armwright.contact.detectors.norm_threshold import norm_detector
from armwright.contact.detectors.sensor_noise import check_above_noise, noise_floor
from armwright.contact.detectors.threshold_learning import (
    Rehearsed,
    ThresholdFit,
    learn_from_recordings,
    learn_thresholds,
    rehearsed,
)
from armwright.contact.detectors.two_speed import TwoSpeed, TwoSpeedFit, learn_two_speed, two_speed_detector

__all__ = [
    "Rehearsed",
    "ThresholdFit",
    "TwoSpeed",
    "TwoSpeedFit",
    "adaptive_detector",
    "check_above_noise",
    "cusum_detector",
    "friction_band_detector",
    "joint_detector",
    "learn_from_recordings",
    "learn_thresholds",
    "learn_two_speed",
    "noise_floor",
    "norm_detector",
    "rehearsed",
    "two_speed_detector",
]
