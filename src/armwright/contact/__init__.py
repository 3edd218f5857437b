# SPDX-License-Identifier: Apache-2.0
"""Touch: contact models, observers of external torque, detectors, isolation."""

from armwright.contact.contact_model import contact_wrench
from armwright.contact.ground_truth import ContactReport, clearance, contact_report
from armwright.contact.isolation.contact_growth import grown_as_one
from armwright.contact.isolation.contact_patches import Patches, contact_patches
from armwright.contact.isolation.isolate import Isolation, isolate, moved_towards
from armwright.contact.isolation.torque_change import change_covariance, level_before, torque_covariance
from armwright.contact.monitor import Monitor, evaluate_monitor, with_gains
from armwright.contact.monitor_run import run_monitors
from armwright.contact.observed_law import with_observer
from armwright.contact.wrench_estimate import WrenchEstimate, tool_wrench, wrench_observer
from armwright.packages import former_names

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
    "evaluate_monitor",
    "grown_as_one",
    "isolate",
    "level_before",
    "moved_towards",
    "run_monitors",
    "tool_wrench",
    "torque_covariance",
    "with_gains",
    "with_observer",
    "wrench_observer",
]


def __dir__() -> list[str]:
    return __all__


__getattr__ = former_names(__name__, {"evaluate": "evaluate_monitor"})
