# SPDX-License-Identifier: Apache-2.0
"""Observers, detectors and planners by name, with the numbers that suit a run."""

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
from armwright.contact.wrench_estimate import damped_wrench, wrench_observer
from armwright.dynamics import mass_matrix
from armwright.errors import InputError
from armwright.planning import GRID_PLANNERS

if TYPE_CHECKING:
    from armwright.planning.grid.path_plan import GridPlanner
    from armwright.robot.model import Robot

OMEGA_000 = (22.5, 22.5, 37.5, 60.0, 67.5, 75.0)  # natural frequencies of 000's controller [rad/s]
OBSERVERS = ("closed-loop", "scaled-error", "momentum", "kalman", "disturbance")
DETECTORS = ("norm", "joints", "adaptive", "cusum")
LEARNED = ("joints", "adaptive", "cusum")
FORCE_000 = 12.0  # [N]
GAIN = 100.0  # [1/s] of the momentum and disturbance observers
FLOOR = 0.2  # [N m] that a learned threshold is never below: a perfect model in simulation leaves no residual at all


def omega(n: int) -> Any:
    """Natural frequencies (n,) of 000's controller; arms with another number of joints get its slowest throughout."""
    return np.array(OMEGA_000) if n == len(OMEGA_000) else np.full(n, OMEGA_000[0])


def find_observer(
    observer: str | Monitor | Sequence[Monitor] | None, robot: Robot, q: Any, kp: Any, rate: float
) -> list[Monitor]:
    """Return the observer as a list of monitors whose last gives ``tau_ext``.

    Args:
        observer: a name of `OBSERVERS`, monitors, or None for the closed-loop error estimate of 000.
        robot: the controller's model.
        q: posture (n,) at which the scaled-error baseline is tuned.
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
        return [momentum_kalman_observer(300.0, 1e-3 * inertia, torque_noise=0.05, rate=rate)]
    raise InputError(f"observer must be one of {', '.join(OBSERVERS)}, or monitors; got {observer!r}")


def find_detector(detector: str | Monitor | None, watched: Sequence[Monitor], fit: ThresholdFit | None) -> Monitor:
    """Return a detector: by name, as it is, or by default 000's norm for its estimate, learned thresholds else."""
    if isinstance(detector, Monitor):
        return detector
    if detector is None:
        detector = "norm" if fit is None else "adaptive"
    if detector == "norm":
        return norm_detector(FORCE_000, of="wrench_ext")
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
    return {"wrench_ext": damped_wrench(kinematics, q, tau_ext, 0.02, 0.1, force_only=True)}


def find_planner(planner: str | GridPlanner | None, *, published: bool) -> GridPlanner:
    """Return a grid planner: by name, as it is, or the Hopfield network (000's own for a published run)."""
    if planner is None:
        planner = "hopfield-published" if published else "hopfield"
    if isinstance(planner, str):
        if planner not in GRID_PLANNERS:
            raise InputError(
                f"planner must be one of {', '.join(GRID_PLANNERS)}, or a planner on grids; got {planner!r}"
            )
        found: GridPlanner = GRID_PLANNERS[planner]()
        return found
    return planner
