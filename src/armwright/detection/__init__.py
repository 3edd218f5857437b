# SPDX-License-Identifier: Apache-2.0
"""Detection: how fast and how reliably contacts are noticed, from thousands of simulated runs with and without them."""

from armwright.detection.contact_study import detection_study
from armwright.detection.detection_presets import PRESETS, Preset, preset
from armwright.detection.detection_result import DetectionStudy, DetectorCurve, OperatingPoint
from armwright.detection.study_contacts import StudyPush, Wall, study_law, tool_moves, ur5_sensors
from armwright.detection.varied_arms import Spread

__all__ = [
    "PRESETS",
    "DetectionStudy",
    "DetectorCurve",
    "OperatingPoint",
    "Preset",
    "Spread",
    "StudyPush",
    "Wall",
    "detection_study",
    "preset",
    "study_law",
    "tool_moves",
    "ur5_sensors",
]
