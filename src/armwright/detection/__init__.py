# SPDX-License-Identifier: Apache-2.0
"""Detection: how fast and how reliably contacts are noticed, from thousands of simulated runs with and without them."""

from armwright.detection.contact_study import detection_study
from armwright.detection.detection_presets import PRESETS, Preset, preset
from armwright.detection.detection_result import DetectionStudy, DetectorCurve, OperatingPoint
from armwright.detection.studied_arm import StudyArm, study_arm
from armwright.detection.study_contacts import StudyPush, Wall, resting, study_law, tool_moves, ur5_sensors
from armwright.detection.varied_arms import PLANTS, Spread

__all__ = [
    "PLANTS",
    "PRESETS",
    "DetectionStudy",
    "DetectorCurve",
    "OperatingPoint",
    "Preset",
    "Spread",
    "StudyArm",
    "StudyPush",
    "Wall",
    "detection_study",
    "preset",
    "resting",
    "study_arm",
    "study_law",
    "tool_moves",
    "ur5_sensors",
]
