# SPDX-License-Identifier: Apache-2.0
"""Detectors of contact, one file each; outputs ``alarm`` (≥ 0 in alarm) and ``level`` (1 at the threshold)."""

from armwright.contact.detectors.adaptive import adaptive_detector
from armwright.contact.detectors.cusum import cusum_detector
from armwright.contact.detectors.friction_band import friction_band_detector
from armwright.contact.detectors.joints import joint_detector
from armwright.contact.detectors.learning import ThresholdFit, learn_from_recordings, learn_thresholds
from armwright.contact.detectors.noise import check_above_noise, noise_floor
from armwright.contact.detectors.norm import norm_detector
from armwright.contact.detectors.rehearsed import Rehearsed, rehearsed
from armwright.contact.detectors.two_speed import TwoSpeed, two_speed_detector
from armwright.contact.detectors.two_speed_learning import TwoSpeedFit, learn_two_speed

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
