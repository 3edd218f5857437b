# SPDX-License-Identifier: Apache-2.0
"""The figures of a run: peaks, errors, use of limits, change of energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from armwright.recording.recording import Recording
    from armwright.robot.model import Robot
    from armwright.types import Array

PEAKS = ("q", "qd", "qdd", "tau", "tau_command", "current", "wrench")


def effort_limits(robot: Robot) -> Array:
    """Return the largest joint torque or force of every joint (n,): the joint's own limit or, geared, its motor's."""
    own = np.array([joint.limits.effort for joint in robot.joints])
    gear = np.abs(np.diag(robot.actuators.gear))
    diagonal = bool((robot.actuators.gear == np.diag(np.diag(robot.actuators.gear))).all())
    return np.minimum(own, gear * robot.actuators.torque_limit) if diagonal and (gear > 0.0).all() else own


def limits_of(robot: Robot | None, name: str, width: int) -> tuple[Array, Array] | None:
    """Return lower and upper limit, (n,) each, of a joint quantity; None where there is none."""
    if robot is None or width != robot.n:
        return None
    if name in ("q", "q_ref"):
        bounds = (robot.lower, robot.upper)
    elif name in ("qd", "qd_ref"):
        upper = np.array([joint.limits.velocity for joint in robot.joints])
        bounds = (-upper, upper)
    elif name in ("qdd", "qdd_ref"):
        upper = np.array([joint.limits.acceleration for joint in robot.joints])
        bounds = (-upper, upper)
    elif name in ("tau", "tau_command"):
        upper = effort_limits(robot)
        bounds = (-upper, upper)
    else:
        return None
    return bounds if np.isfinite(np.stack(bounds)).any() else None


def summary(recording: Recording) -> dict[str, Any]:
    """Return the figures of a run as plain numbers, lists (one entry per component) and texts.

    Keys, as far as the signals exist: robot, outcome, samples, duration, rate, events; peak.<signal>; share.<signal>,
    the largest use of a limit (1 on it); error_rms, error_max, error_end; energy_start, energy_end, energy_drift
    (largest change of the total energy over the largest kinetic energy, so ~0 for a free arm); storage_rise (largest
    rise of the storage function between samples).
    """
    time = recording.time
    out: dict[str, Any] = {
        "robot": recording.robot.name if recording.robot else None,
        "outcome": recording.outcome,
        "samples": len(time),
        "duration": recording.duration,
    }
    if recording.duration > 0.0:
        out["rate"] = (len(time) - 1) / recording.duration
    if len(time):
        for name in (name for name in PEAKS if name in recording):
            values = recording.signals[name].flat()
            peak = np.abs(values).max(axis=0)
            out[f"peak.{name}"] = peak.tolist()
            bounds = limits_of(recording.robot, name, values.shape[1])
            if bounds is not None:
                out[f"share.{name}"] = _share(values, *bounds).tolist()
        if "error" in recording:
            error = recording.signals["error"].flat()
            out["error_rms"] = _rms(time, error).tolist()
            out["error_max"] = np.abs(error).max(axis=0).tolist()
            out["error_end"] = np.abs(error[-1]).tolist()
        out |= _energy(recording)
    out["events"] = len(recording.events)
    return out


def _share(values: Array, lower: Array, upper: Array) -> Array:
    """Largest use of the range by component: 1 on a limit, above 1 beyond it, 0 where there is no limit."""
    middle, half = np.zeros_like(lower), np.maximum(np.abs(lower), np.abs(upper))
    both = np.isfinite(lower) & np.isfinite(upper)
    middle[both], half[both] = 0.5 * (lower + upper)[both], 0.5 * (upper - lower)[both]
    usable = np.isfinite(half) & (half > 0.0)
    return np.where(usable, np.abs(values - middle).max(axis=0) / np.where(usable, half, 1.0), 0.0)


def _rms(time: Array, values: Array) -> Array:
    """Root of the mean square over time, (width,), samples weighted by the time they stand for."""
    if len(time) < 2 or time[-1] <= time[0]:
        return np.asarray(np.sqrt(np.mean(values**2, axis=0)))
    square = values**2
    area = 0.5 * (square[1:] + square[:-1]) * np.diff(time)[:, None]
    return np.asarray(np.sqrt(area.sum(axis=0) / (time[-1] - time[0])))


def _energy(recording: Recording) -> dict[str, float]:
    out: dict[str, float] = {}
    energy = None
    if "energy" in recording:
        energy = recording["energy"].reshape(len(recording))
    elif "kinetic" in recording and "potential" in recording:
        energy = (recording["kinetic"] + recording["potential"]).reshape(len(recording))
    if energy is not None:
        out |= {"energy_start": float(energy[0]), "energy_end": float(energy[-1])}
        scale = recording.signals["kinetic"].values if "kinetic" in recording.signals else energy
        largest = float(np.abs(scale).max())
        change = float(np.abs(energy - energy[0]).max())
        out["energy_drift"] = change / largest if largest > 0.0 else change
    if "storage" in recording and len(recording) > 1:
        out["storage_rise"] = float(np.maximum(np.diff(recording["storage"].reshape(len(recording))), 0.0).max())
    return out
