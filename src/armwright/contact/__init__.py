# SPDX-License-Identifier: Apache-2.0
"""Touch: contact models, observers of external torque, detectors, isolation."""

from armwright.contact.ground_truth import ContactReport, clearance, contact_report
from armwright.contact.isolation.change import change_covariance, level_before
from armwright.contact.isolation.isolate import Isolation, isolate
from armwright.contact.isolation.motion import moved_towards
from armwright.contact.isolation.noise import torque_covariance
from armwright.contact.isolation.posterior import Patches, contact_patches
from armwright.contact.model import contact_wrench
from armwright.contact.monitor import Monitor, evaluate, with_gains
from armwright.contact.offline import run_monitors
from armwright.contact.wrench_estimate import WrenchEstimate, tool_wrench, wrench_observer

__all__ = [
    "ContactReport",
    "Isolation",
    "Monitor",
    "Patches",
    "WrenchEstimate",
    "change_covariance",
    "clearance",
    "contact_patches",
    "contact_report",
    "contact_wrench",
    "evaluate",
    "isolate",
    "level_before",
    "moved_towards",
    "run_monitors",
    "tool_wrench",
    "torque_covariance",
    "with_gains",
    "wrench_observer",
]


def __dir__() -> list[str]:
    return __all__
