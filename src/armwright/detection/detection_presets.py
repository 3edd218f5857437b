# SPDX-License-Identifier: Apache-2.0
"""Settings of detection studies for arms that people have; every number with its source, or said to be ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.detectors import TwoSpeed
from armwright.contact.monitor import Monitor
from armwright.contact.observers import (
    closed_loop_error_observer,
    momentum_kalman_observer,
    momentum_observer,
    ur5_current_map,
)
from armwright.detection.study_contacts import Contact, StudyPush, Wall
from armwright.detection.varied_arms import Spread
from armwright.errors import InputError
from armwright.simulation.sensors import JointSensors

if TYPE_CHECKING:
    from armwright.types import Array

INERTIA = np.array([2.0, 2.0, 1.0, 0.1, 0.1, 0.05])  # [kg m²] typical diagonal of a UR5's M, for the Kalman observer
CONTACTS: dict[str, tuple[Contact, float, float]] = {
    "wall": (Wall(1e5), 0.1, 0.15),
    "soft": (Wall(1e3), 0.3, 0.35),
    "ramp": (StudyPush(40.0, 2.0), 1.0, 0.35),
    "link": (StudyPush(60.0, 0.01, link=2), 0.3, 0.15),
}
"""Name → contact, horizon [s], travel of the tool in a move [m]: slow contacts need time."""


@dataclass(frozen=True, eq=False)
class Preset:
    """An arm as its controller sees it.

    Attributes:
        robot: catalogue name.
        rate: control ticks and samples per second. substeps: of the simulation in each.
        omega: (n,) bandwidth of the controller [rad/s].
        current_noise: standard deviation of a motor current [A], by the map of document 004; 0: torque as commanded.
        gain: of the momentum observer [1/s]. walk: of the Kalman observer, in units of the arm's inertia.
        sources: what the numbers rest on.
    """

    robot: str
    rate: float
    substeps: int
    omega: Array
    current_noise: float
    gain: float
    walk: float
    sensors: JointSensors
    sources: Mapping[str, str] = field(default_factory=dict)
    spread: Spread = field(default_factory=Spread)

    @property
    def torque_noise(self) -> Array:
        """Return the standard deviation (n,) of the torque [N m]."""
        return np.abs(self.current_noise * ur5_current_map().k)

    def observers(self) -> dict[str, Monitor]:
        """Return momentum, Kalman and closed-loop observer for this rate and controller."""
        return {
            "momentum": momentum_observer(self.gain),
            "kalman": momentum_kalman_observer(self.walk * INERTIA, 1e-3 * INERTIA, rate=self.rate),
            "closed-loop": closed_loop_error_observer(self.omega**2),
        }

    def detectors(self) -> dict[str, Any]:
        """Return absolute thresholds and the two-speed detector, both learned."""
        return {"absolute": lambda fit: fit.detector(), "two-speed": TwoSpeed()}


_SENSORS = JointSensors(position_resolution=1e-5, velocity_noise=1e-3)
_OURS = {
    "friction, masses": "ur5-kufieta-c (document 004's UR5), 20 % and 10 % off: our assumption",
    "sensors": "positions in steps of 1e-5 rad, velocities with 1e-3 rad/s of noise: our assumption",
}
_FAST, _SLOW = np.array([22.5, 22.5, 75.0, 75.0, 75.0, 75.0]), np.array([22.5, 22.5, 40.0, 40.0, 40.0, 40.0])
PRESETS = {
    "torque": Preset(
        "ur5-kufieta-c",
        1000.0,
        3,
        _FAST,
        0.0,
        100.0,
        300.0,
        _SENSORS,
        {"rate": "1 kHz, torque known as commanded: the setting of the documentation, no product", **_OURS},
    ),
    "ur5-cb3": Preset(
        "ur5-kufieta-c",
        125.0,
        24,
        _SLOW,
        0.15,
        40.0,
        100.0,
        _SENSORS,
        {
            "rate": "125 Hz: Universal Robots' RTDE guide, CB3",
            "current_noise": "0.15 A a sample: our assumption",
            "N m per A": "document 004, eq. 6.6",
            **_OURS,
        },
    ),
    "ur5-e-series": Preset(
        "ur5-kufieta-c",
        500.0,
        6,
        _FAST,
        0.05,
        60.0,
        200.0,
        _SENSORS,
        {
            "rate": "500 Hz: Universal Robots' RTDE guide, e-Series",
            "current_noise": "0.05 A a sample: our assumption",
            "N m per A": "document 004, eq. 6.6, of a CB3: our assumption",
            "arm": "the UR5 of document 004 in place of a UR5e: our assumption",
            **_OURS,
        },
    ),
}


def preset(name: str) -> Preset:
    """Return the preset of that name.

    Example:
        >>> preset("ur5-cb3").rate
    """
    if name not in PRESETS:
        raise InputError(f"detection: no preset {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name]
