# SPDX-License-Identifier: Apache-2.0
"""Settings of detection studies for arms that people have; every number with its source, or said to be ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
from armwright.detection.varied_arms import ROUGH, Spread
from armwright.dynamics import mass_matrix
from armwright.errors import InputError
from armwright.robot.configurations import random_configuration
from armwright.robot.measured import drives_of
from armwright.simulation.sensors import JointSensors

if TYPE_CHECKING:
    from armwright.robot.model import Robot
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
        rate: control ticks and samples per second.
        omega: (n,) bandwidth of the controller [rad/s].
        current_noise: standard deviation of a motor current [A], by the map of document 004; 0: torque as commanded.
        gain: of the momentum observer [1/s]. walk: of the Kalman observer, in units of the arm's inertia.
        sources: what the numbers rest on.
        spread: how arms differ from their model.
        constants: (n,) joint torque of a motor current [N m/A].
        inertia: (n,) typical diagonal of the mass matrix, for the Kalman observer [kg m²].
    """

    robot: str
    rate: float
    omega: Array
    current_noise: float
    gain: float
    walk: float
    sensors: JointSensors
    sources: Mapping[str, str] = field(default_factory=dict)
    spread: Spread = field(default_factory=Spread)
    constants: Array = field(default_factory=lambda: ur5_current_map().k)
    inertia: Array = field(default_factory=lambda: INERTIA)

    @property
    def torque_noise(self) -> Array:
        """Return the standard deviation (n,) of the torque [N m]."""
        return np.abs(self.current_noise * self.constants)

    def observers(self) -> dict[str, Monitor]:
        """Return momentum, Kalman and closed-loop observer for this rate and controller."""
        return {
            "momentum": momentum_observer(self.gain),
            "kalman": momentum_kalman_observer(self.walk * self.inertia, 1e-3 * self.inertia, rate=self.rate),
            "closed-loop": closed_loop_error_observer(self.omega**2),
        }

    def fitted(self, robot: Robot) -> tuple[Preset, dict[str, str]]:
        """Return the preset for another arm of any number of joints, and in words what it was fitted to.

        Joint k has the bandwidth of the preset's joint k, and those beyond the last have that of the last. Noise of the
        torque follows from the arm's own torque constants, the Kalman observer's noise from its own inertia.
        """
        last = len(self.omega) - 1
        drives = drives_of(robot)
        M = np.asarray(mass_matrix(robot, random_configuration(robot, 0, 64)))
        inertia = np.sort(np.diagonal(M, axis1=1, axis2=2), axis=0)[len(M) // 2]
        fitted = replace(
            self,
            robot=robot.name,
            omega=self.omega[np.minimum(np.arange(robot.n), last)],
            constants=drives.current.k,
            inertia=inertia,
        )
        words = {"controller": f"assumed: bandwidths of {self.robot}, {_listed(fitted.omega)} rad/s"}
        if self.current_noise > 0.0:
            words["torque noise"] = (
                f"assumed: {self.current_noise:g} A a sample, {_listed(fitted.torque_noise)} N m; {drives.source}"
            )
        return fitted, words

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
        _FAST,
        0.0,
        100.0,
        300.0,
        _SENSORS,
        {"rate": "1 kHz, torque known as commanded: the setting of the documentation, no product", **_OURS},
    ),
    "torque-rough": Preset(
        "ur5-kufieta-c",
        1000.0,
        _FAST,
        0.0,
        100.0,
        300.0,
        _SENSORS,
        {
            "rate": "1 kHz, as torque",
            "plant": "10 mm off in every centre of mass, 0.7 N m of gear ripple, 5 % of the transmitted torque as "
            "friction besides, 3 % off in every torque constant: our assumption, see PLANTS",
            **_OURS,
        },
        ROUGH,
    ),
    "ur5-cb3": Preset(
        "ur5-kufieta-c",
        125.0,
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


def _listed(values: Array) -> str:
    words = [f"{x:.3g}" for x in values]
    return words[0] if len(set(words)) == 1 else ", ".join(words)


def preset(name: str) -> Preset:
    """Return the preset of that name.

    Example:
        >>> preset("ur5-cb3").rate
    """
    if name not in PRESETS:
        raise InputError(f"detection: no preset {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name]
