# SPDX-License-Identifier: Apache-2.0
"""Observers and detectors by name, with the numbers that suit a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.detectors import (
    ThresholdFit,
    adaptive_detector,
    cusum_detector,
    joint_detector,
    norm_detector,
)
from armwright.contact.monitor import Monitor
from armwright.contact.observers import (
    closed_loop_error_observer,
    disturbance_observer,
    momentum_kalman_observer,
    momentum_observer,
    scaled_error_observer,
)
from armwright.contact.wrench_estimate import LENGTH, damped_wrench, wrench_observer
from armwright.dynamics import mass_matrix
from armwright.errors import InputError

if TYPE_CHECKING:
    from armwright.robot.model import Robot

OMEGA = (22.5, 22.5, 37.5, 60.0, 67.5, 75.0)
"""Natural frequencies of the controller [rad/s], base to tool: those of 000, tuned there for a UR5. They rise as
the inertia beyond the joint falls; at 500 Hz the fastest is sampled 42 times a period."""
OBSERVERS = ("closed-loop", "scaled-error", "momentum", "kalman", "disturbance")
DETECTORS = ("norm", "joints", "adaptive", "cusum")
LEARNED = ("joints", "adaptive", "cusum")
FORCE = 12.0  # [N] that the norm of the force is compared with: six times what tracking errors alone are felt with
GAIN = 100.0  # [1/s] of the momentum and disturbance observers: a contact is felt within 10 ms, five ticks of 500 Hz
FLOOR = 0.2  # [N m] that a learned threshold is never below: a perfect model in simulation leaves no residual at all
WALK = 300.0  # [N m/√s] that a contact's torque wanders by: contacts are then felt as soon as with `GAIN`, in 4 ms
SPEED_NOISE = 1e-3  # [rad/s] of the joints, as a UR5's sensors have it (`ur5_sensors`)
TORQUE_NOISE = 0.05  # [N m] of the joints within a tick: small against `FLOOR`; nothing is measured here
DAMPING = 0.02  # [m] of the tool's force near singular configurations, the default of `wrench_observer`


def omega(n: int) -> Any:
    """Natural frequencies (n,) of the controller; arms with another number of joints get the slowest throughout."""
    return np.array(OMEGA) if n == len(OMEGA) else np.full(n, OMEGA[0])


def find_observer(
    observer: str | Monitor | Sequence[Monitor] | None, robot: Robot, q: Any, kp: Any, rate: float
) -> list[Monitor]:
    """Return the observer as a list of monitors whose last gives ``tau_ext``.

    Args:
        observer: a name of `OBSERVERS`, monitors, or None for the closed-loop error estimate.
        robot: the controller's model.
        q: configuration (n,) at which the scaled-error baseline is tuned.
        kp: K_0 of the controller (n,).
        rate: ticks per second.
    """
    if observer is None or observer == "closed-loop":
        return [closed_loop_error_observer(kp)]
    if isinstance(observer, Monitor):
        return [observer]
    if not isinstance(observer, str):
        return list(observer)
    inertia = np.diag(mass_matrix(robot, q))
    if observer == "scaled-error":
        return [scaled_error_observer(inertia * kp)]
    if observer == "momentum":
        return [momentum_observer(GAIN)]
    if observer == "disturbance":
        return [disturbance_observer(GAIN)]
    if observer == "kalman":
        return [momentum_kalman_observer(WALK, SPEED_NOISE * inertia, torque_noise=TORQUE_NOISE, rate=rate)]
    raise InputError(f"observer must be one of {', '.join(OBSERVERS)}, or monitors; got {observer!r}")


def find_detector(detector: str | Monitor | None, fit: ThresholdFit | None) -> Monitor:
    """Return a detector: by name, as it is, or by default learned thresholds, the norm where nothing was learned."""
    if isinstance(detector, Monitor):
        return detector
    if detector is None:
        detector = "norm" if fit is None else "adaptive"
    if detector == "norm":
        return norm_detector(FORCE, of="wrench_ext")
    if detector not in DETECTORS:
        raise InputError(f"detector must be one of {', '.join(DETECTORS)}, or a monitor; got {detector!r}")
    assert fit is not None, "learned before"
    if detector == "adaptive":
        return adaptive_detector(np.maximum(fit.a, FLOOR), fit.b, fit.c, fit.d)
    if detector == "joints":
        return joint_detector(np.maximum(fit.margin * fit.peak, FLOOR))
    return cusum_detector(np.maximum(fit.margin * fit.peak, FLOOR), drift=1.0, threshold=1.0)


def needs_learning(detector: Any, observer: Any) -> bool:
    """Whether thresholds have to be learned from contact-free motion first."""
    if detector is None:
        return not (observer is None or observer == "closed-loop")
    return isinstance(detector, str) and detector in LEARNED


def tool_estimate(kinematics: Robot | None) -> Monitor:
    """Tool force (3,) from ``tau_ext``; by the Jacobian of `kinematics` where that is not the controller's model."""
    if kinematics is None:
        return wrench_observer()
    return replace(wrench_observer(), function=partial(_force_estimate, kinematics))


def _force_estimate(kinematics: Robot, q: Any, tau_ext: Any) -> Any:
    return {"wrench_ext": damped_wrench(kinematics, q, tau_ext, DAMPING, LENGTH, force_only=True)}
