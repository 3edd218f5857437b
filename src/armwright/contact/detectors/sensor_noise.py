# SPDX-License-Identifier: Apache-2.0
"""The effect of sensor noise alone on an observer, and a check for detectors that would fire on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.monitor import Monitor, as_chain
from armwright.contact.monitor_run import run_monitors
from armwright.dynamics import gravity_torque
from armwright.errors import InputError
from armwright.motion.trajectory import Reference

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array, Traced


def standstill(
    monitors: Monitor | Sequence[Monitor],
    robot: Robot,
    q: ArrayLike,
    *,
    rate: float = 1000.0,
    position_noise: ArrayLike = 0.0,
    velocity_noise: ArrayLike = 0.0,
    position_resolution: ArrayLike = 0.0,
    velocity_resolution: ArrayLike = 0.0,
    duration: float = 2.0,
    seed: int = 0,
) -> dict[str, Array]:
    """Return outputs of monitors, (T, …) each, for an arm that stands still at q (n,) while its sensors are noisy.

    Args:
        monitors: observer, or observer and detector.
        robot: the arm, taken for exactly known.
        q: configuration (n,).
        rate: control ticks per second.
        position_noise: standard deviation per sample, scalar or (n,).
        velocity_noise: standard deviation per sample, scalar or (n,).
        position_resolution: step of quantisation, 0 for none.
        velocity_resolution: step of quantisation, 0 for none.
        duration: [s].
        seed: seed of the noise.
    """
    configuration = np.asarray(q, dtype=np.float64)
    if configuration.shape != (robot.n,) or not np.isfinite(configuration).all():
        raise InputError(f"standstill: q must be ({robot.n},) finite numbers, got shape {configuration.shape}")
    ticks, rng = max(2, round(duration * rate)), np.random.default_rng(seed)
    still = np.zeros((ticks, robot.n))
    q_measured, qd_measured = (
        _rounded(base + np.asarray(noise) * rng.standard_normal(still.shape), np.asarray(step))
        for base, noise, step in (
            (configuration + still, position_noise, position_resolution),
            (still, velocity_noise, velocity_resolution),
        )
    )
    tau = still + gravity_torque(robot, configuration)
    ref = Reference(configuration + still, still, still)
    return run_monitors(monitors, robot, np.arange(ticks) / rate, q_measured, qd_measured, tau, ref)


def _rounded(x: Array, step: Traced) -> Array:
    wide = np.broadcast_to(np.asarray(step, dtype=np.float64), x.shape)
    return np.where(wide > 0.0, np.floor(x / np.where(wide > 0.0, wide, 1.0) + 0.5) * wide, x)


@names_culprit
def noise_floor(observer: Monitor | Sequence[Monitor], robot: Robot, q: ArrayLike, **sensors: Any) -> Array:
    """Return the standard deviation (n,) [N m] of ``tau_ext`` from sensor noise alone at q; options as `standstill`.

    >>> noise_floor(momentum_observer(50.0), robot, q, rate=1000.0, velocity_noise=0.001)  # [N m]
    """
    values = standstill(observer, robot, q, **sensors)["tau_ext"]
    return np.asarray(values[len(values) // 5 :].std(axis=0))


@names_culprit
def check_above_noise(
    observer: Monitor | Sequence[Monitor], detector: Monitor, robot: Robot, q: ArrayLike, **sensors: Any
) -> float:
    """Return the highest level that noise alone reaches (1 is the threshold) at the configurations q, (n,) or (m, n).

    Raises:
        InputError: the detector fires on an arm at rest: its thresholds lie below the noise floor.

    >>> check_above_noise(momentum_observer(50.0), joint_detector(5.0), robot, q, rate=1000.0, velocity_noise=0.001)
    """
    chain = as_chain([*((observer,) if isinstance(observer, Monitor) else observer), detector])
    highest = 0.0
    for configuration in np.atleast_2d(np.asarray(q, dtype=np.float64)):
        highest = max(highest, float(standstill(chain, robot, configuration, **sensors)["level"].max()))
    if highest >= 1.0:
        floor = noise_floor(observer, robot, configuration, **sensors)
        raise InputError(
            f"detector {detector.name!r}: thresholds lie below the noise floor: with the arm at rest and untouched, "
            f"sensor noise alone reaches {highest:.2f} times the threshold (tau_ext of {chain[0].name!r} has a "
            f"standard deviation of {np.array2string(floor, precision=3)} N m); raise the thresholds or lower the "
            "observer's gain"
        )
    return highest
