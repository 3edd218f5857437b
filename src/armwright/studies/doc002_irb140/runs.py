# SPDX-License-Identifier: Apache-2.0
"""The three closed-loop runs of 002 and what is read from them: settling, overshoot, speeds, torque, storage."""

from __future__ import annotations

from functools import cache

import numpy as np

from armwright.control import pd_gravity
from armwright.recording.recording import Recording
from armwright.simulation import simulate, with_storage
from armwright.studies.doc002_irb140.setting import RUNS, K_d, K_p, arm
from armwright.types import Array

RUN_RATE = 10_000.0  # samples per second: the peaks of joints 5 and 6 come within half a millisecond
SETTLED_BAND, STILL_JOINT_BAND = 0.02, 0.02
"""Settled: within 2 % of the joint's step, or 0.02 rad for a joint that should not move."""


@cache
def run(name: str) -> Recording:
    """Return a run of five seconds, the law acting continuously, as in the thesis's block diagram; stiff integrator."""
    law = pd_gravity(K_p, K_d)
    q_init, q_ref = RUNS[name]
    return with_storage(
        simulate(arm(), law, q_ref, 5.0, q0=q_init, continuous=True, integrator="rodas3-adaptive", rate=RUN_RATE), law
    )


def settling(name: str, band: float = SETTLED_BAND) -> Array:
    """Return the last time [s] at which each joint (6,) is outside its band."""
    return settled(name, run(name), band)


def settled(name: str, recording: Recording, band: float = SETTLED_BAND) -> Array:
    """Return the same of another recording from the same start to the same goal."""
    step = np.abs(RUNS[name].q_ref - RUNS[name].q_init)
    outside = np.abs(recording["error"]) > np.where(step > 0.0, band * step, band * STILL_JOINT_BAND / SETTLED_BAND)
    return np.array([recording.time[np.flatnonzero(column)[-1]] if column.any() else 0.0 for column in outside.T])


def overshoot(name: str) -> Array:
    """Return the overshoot of each joint (6,) as a share of its step; NaN for a joint that should not move."""
    q_init, q_ref = RUNS[name]
    step = q_ref - q_init
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = ((run(name)["q"] - q_ref) * np.sign(step)).max(axis=0) / np.abs(step)
    return np.where(step != 0.0, np.maximum(beyond, 0.0), np.nan)


def peak_speeds(name: str) -> Array:
    """Return the peak speeds (6,) [°/s]."""
    return np.asarray(np.degrees(np.abs(run(name)["qd"]).max(axis=0)))


def speed_limits() -> Array:
    """Return the data sheet speeds (6,) [°/s]."""
    return np.degrees([joint.limits.velocity for joint in arm().joints])


def at(name: str, t: float, signal: str = "q") -> Array:
    """Return a signal of a run at time t [s]."""
    return np.asarray(run(name)[signal][round(RUN_RATE * t)])


def errors_at(name: str) -> list[float]:
    """Return the largest error [rad] at 2.3, 3 and 5 s."""
    return [float(np.abs(at(name, t, "error")).max()) for t in (2.3, 3.0, 5.0)]


def feedback(name: str) -> Array:
    """Return −K_p q̃ − K_d q̇ (T, 6) [N m]: what the thesis plots, gravity being deleted from its plant."""
    recording = run(name)
    return np.asarray(K_p * recording["error"] - K_d * recording["qd"])


def storage_falls(name: str) -> bool:
    """Return whether V ≥ 0 and never rises."""
    V = run(name)["storage"]
    return bool((V >= 0.0).all() and np.diff(V).max() <= 0.0)


def dissipation_error(name: str) -> float:
    """Return the largest |ΔV + ∫ q̇ᵀK_d q̇| after the first 2 ms (modes of −22,700 1/s), relative to V(0)."""
    from scipy.integrate import cumulative_simpson  # half a second of import that few calls need

    recording = run(name)
    V, power = recording["storage"], np.einsum("ti,i,ti->t", recording["qd"], K_d, recording["qd"])
    first = round(0.002 * RUN_RATE)
    lost = cumulative_simpson(power[first:], x=recording.time[first:], initial=0.0)
    return float(np.abs(V[first] - V[first:] - lost).max() / V[0])


def within_range(name: str) -> bool:
    """Return whether start and goal lie within the joint ranges."""
    return all(bool((q >= arm().lower - 1e-9).all() and (q <= arm().upper + 1e-9).all()) for q in RUNS[name])
