# SPDX-License-Identifier: Apache-2.0
"""Monitors by name: what stands behind `armwright.choices.OBSERVERS` and `armwright.choices.DETECTORS`.

A maker of an observer takes the options of a run and returns a monitor tuned for contacts. A maker of a detector takes
learned thresholds and returns a monitor; one that needs nothing learned takes no argument.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.detectors.adaptive_threshold import adaptive_detector
from armwright.contact.detectors.cusum import cusum_detector
from armwright.contact.detectors.joint_threshold import joint_detector
from armwright.contact.detectors.norm_threshold import norm_detector
from armwright.contact.observers.closed_loop_error import closed_loop_error_observer, scaled_error_observer
from armwright.contact.observers.disturbance import disturbance_observer
from armwright.contact.observers.momentum import momentum_observer
from armwright.contact.observers.momentum_kalman import momentum_kalman_observer
from armwright.dynamics import mass_matrix

if TYPE_CHECKING:
    from armwright.contact.detectors.threshold_learning import ThresholdFit
    from armwright.contact.monitor import Monitor
    from armwright.robot.model import Robot
    from armwright.types import Array

GAIN = 100.0  # [1/s] of the momentum and disturbance observers: a contact is felt within 10 ms, five ticks of 500 Hz
WALK = 300.0  # [N m/√s] that a contact's torque wanders by: contacts are then felt as soon as with `GAIN`, in 4 ms
SPEED_NOISE = 1e-3  # [rad/s] of the joints, as a UR5's sensors have it (`ur5_sensors`)
TORQUE_NOISE = 0.05  # [N m] of the joints within a tick: small against thresholds; nothing is measured here


@dataclass(frozen=True, eq=False)
class ObserverOptions:
    """What an observer may be tuned to.

    Attributes:
        robot: the controller's model.
        q: configuration (n,) at which constant gains are tuned.
        kp: K_0 of the controller (n,) [1/s²].
        rate: ticks per second.
    """

    robot: Robot
    q: Any
    kp: Any
    rate: float

    @property
    def inertia(self) -> Array:
        """Diagonal of the mass matrix at q, (n,)."""
        return np.diag(mass_matrix(self.robot, self.q))


def closed_loop(options: ObserverOptions) -> Monitor:
    """Tracking error times the mass matrix (000 eq. 5.8)."""
    return closed_loop_error_observer(options.kp)


def scaled_error(options: ObserverOptions) -> Monitor:
    """Tracking error times a constant, tuned at one configuration: the baseline of 000."""
    return scaled_error_observer(options.inertia * options.kp)


def momentum(options: ObserverOptions) -> Monitor:
    """Generalised momentum."""
    return momentum_observer(GAIN)


def disturbance(options: ObserverOptions) -> Monitor:
    """Differentiated speed."""
    return disturbance_observer(GAIN)


def kalman(options: ObserverOptions) -> Monitor:
    """Generalised momentum with a steady Kalman gain."""
    noise = SPEED_NOISE * options.inertia
    return momentum_kalman_observer(WALK, noise, torque_noise=TORQUE_NOISE, rate=options.rate)


FORCE = 12.0  # [N] that the norm of the force is compared with: six times what tracking errors alone are felt with
FLOOR = 0.2  # [N m] that a learned threshold is never below: a perfect model in simulation leaves no residual at all


def is_learned(make: Callable[..., Any]) -> bool:
    """Whether a detector of the table wants thresholds that were learned from contact-free motion."""
    return bool(inspect.signature(make).parameters)


def norm() -> Monitor:
    """The tool's force exceeds 12 N (000 eq. 5.9)."""
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
