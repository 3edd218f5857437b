# SPDX-License-Identifier: Apache-2.0
"""What chapter 5 of 004 found in a run, as plain data for ``report.json`` and ``--json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.lab.experiment.model_torques import gains_verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.identify.controller_gains import PdGains
    from armwright.lab.experiment.model_torques import ModelTorques
    from armwright.lab.experiment.motion_check import MotionCheck


def torque_facts(found: ModelTorques) -> dict[str, Any]:
    """Return mean errors and mean torques of every model [N m], and the distance from the targets [rad], [rad/s]."""
    return {
        "mean_error": {name: found.mean_error(name).tolist() for name in found.torques},
        "mean": {
            "controller": found.controller.mean(axis=0).tolist(),
            **{name: torque.mean(axis=0).tolist() for name, torque in found.torques.items()},
        },
        "q_error": found.q_error.tolist(),
        "qd_error": found.qd_error.tolist(),
    }


def gains_facts(gains: Sequence[PdGains | str]) -> dict[str, Any]:
    """Return the verdict of all joints, and of each its gains [1/s², 1/s], where fits from several starts ended."""
    return {"verdict": gains_verdict(gains), "joints": [_joint(found) for found in gains]}


def _joint(found: PdGains | str) -> dict[str, Any]:
    if isinstance(found, str):
        return {"verdict": found}
    known = found.k0.value is not None and found.k1.value is not None  # one of a pair alone says nothing
    parts = {"k0": found.k0, "k1": found.k1} if known else {}
    return {
        "verdict": found.verdict,
        **{name: {"value": gain.value, "deviation": gain.deviation} for name, gain in parts.items()},
        "ends": [{"start": list(a), "end": list(b), "cost": cost} for a, b, cost in found.ends],
    }


def motion_facts(found: MotionCheck) -> dict[str, Any]:
    """Return mean errors behind both filters [m/s²], [rad/s²], the mounting's tilt [rad], when angles fail [s]."""
    return {
        "mean_error": found.thesis.mae.tolist(),
        "mean_error_without_tilt": found.thesis.mae_without_tilt.tolist(),
        "mean_error_8_hz": found.wide.mae.tolist(),
        "angular_mean_error": found.angular_error.tolist(),
        "tilt": np.asarray(found.wide.tilt).tolist(),
        "euler_angles_fail": np.asarray(found.thesis.degenerate).tolist(),
    }
