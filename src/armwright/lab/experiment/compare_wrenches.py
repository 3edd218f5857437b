# SPDX-License-Identifier: Apache-2.0
"""The wrench from motor currents compared with the force sensor (004, section 6.2).

Three estimates are ours, one is the controller's own. All are in base axes, at the flange's origin, what the world does
to the arm. Sensor and estimates are filtered alike, without delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.identify.external_torque import direct_residuals, residuals, tool_wrenches
from armwright.identify.filtered_log import low_pass
from armwright.kinematics import fk
from armwright.lab.experiment.run_data import (
    WEIGHING_CUTOFF as FASTEST,
)
from armwright.lab.experiment.run_data import (
    WEIGHING_RATE as RATE,
)
from armwright.lab.experiment.run_data import (
    longest_piece,
    specific_force,
)
from armwright.lab.flange_sensing import FT_AT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.identify.identified import Identified
    from armwright.lab.experiment.run_data import Data, Weight
    from armwright.types import Array

NONE, FRICTION, OBSERVER, CONTROLLER = "without friction", "with friction", "observer", "controller's own"
COMPONENTS = ("Fx", "Fy", "Fz", "nx", "ny", "nz")


@dataclass(frozen=True, eq=False)
class Compared:
    """One run: t (K,) [s], sensor (K, 6), estimates by name (K, 6), rows (K,) that are judged, condition (K,).

    The rows from the first motion to the last are judged, where the Jacobian is well conditioned.
    """

    run: str
    t: Array
    sensor: Array
    estimates: dict[str, Array]
    judged: NDArray[np.bool_]
    condition: Array
    singular: float

    def mean_error(self, name: str) -> Array:
        """Return the mean absolute error (6,)."""
        return np.asarray(np.abs(self.estimates[name] - self.sensor)[self.judged].mean(axis=0))

    def largest_error(self, name: str) -> Array:
        """Return the largest absolute error (6,)."""
        return np.asarray(np.abs(self.estimates[name] - self.sensor)[self.judged].max(axis=0))


def compare(data: Data, t_ft: Array, weight: Weight, model: Identified) -> Compared:
    """Compare the estimates of a run with its force sensor, whose times on the controller's clock are t_ft (K,)."""
    assert data.ft is not None
    piece = longest_piece(data, RATE, FASTEST)
    direct = {
        name: tool_wrenches(model, direct_residuals(model, data.log, friction=friction, rate=RATE, cutoff=FASTEST))
        for name, friction in ((NONE, False), (FRICTION, True))
    }
    watched = tool_wrenches(model, residuals(model, data.log))
    begin, end = max(piece.t[0], t_ft[0]), min(piece.t[-1], t_ft[-1])
    rows = np.flatnonzero((piece.t >= begin) & (piece.t <= end))
    t, smooth = piece.t[rows], low_pass(RATE, FASTEST)

    def even(times: Array, values: Array) -> Array:
        return np.stack([np.interp(t, times, column) for column in values.T], axis=1)

    T = np.asarray(fk(model.robot, piece.q[rows]))
    sensor = even(t_ft, data.ft.values) - weight.expected(specific_force(model.robot, piece, FT_AT)[rows])
    estimates = {name: even(found.t, found.wrench) for name, found in direct.items()}
    estimates[OBSERVER] = smooth.without_phase(even(watched.t, watched.wrench))
    estimates[CONTROLLER] = smooth.without_phase(even(data.log.t, data.force))
    times = data.log.t[data.moved]
    moved = (t >= times[0]) & (t <= times[-1]) if len(times) else np.zeros(len(t), dtype=bool)
    sound = np.interp(t, direct[FRICTION].t, direct[FRICTION].valid.astype(float)) > 0.999
    condition = np.interp(t, direct[FRICTION].t, direct[FRICTION].condition)
    singular = 1.0 - float(sound[moved].mean()) if moved.any() else 0.0
    return Compared(
        data.name, t, smooth.without_phase(_on_arm(sensor, T)), estimates, moved & sound, condition, singular
    )


def _on_arm(reading: Array, T: Array) -> Array:
    """Return the wrench (K, 6) moved from the sensor's axes and origin to base axes and the flange's origin."""
    R = T[:, :3, :3]
    f, n = np.einsum("tij,tj->ti", R, reading[:, :3]), np.einsum("tij,tj->ti", R, reading[:, 3:])
    return np.concatenate([f, n + np.cross(np.einsum("tij,j->ti", R, FT_AT), f)], axis=1)


@dataclass(frozen=True)
class Detected:
    """A detector on |F_z| judged by the sensor: pushes (peaks [N]), those missed, false alarms, minutes judged."""

    pushes: tuple[float, ...]
    missed: int
    false_alarms: int
    minutes: float


def detect(found: Compared, threshold: float, least: float, name: str = FRICTION) -> Detected:
    """Judge a detector |F_z| ≥ threshold on pushes whose peak is at least `least`; all in newtons.

    A push is a stretch in which the sensor shows more than half the threshold; an alarm outside of them is false.
    """
    true, seen = np.abs(found.sensor[:, 2]), np.abs(found.estimates[name][:, 2])
    strong = [s for s in _stretches((true > 0.5 * threshold) & found.judged) if true[s].max() >= least]
    alarms = _stretches((seen >= threshold) & found.judged)
    touched = true > 0.5 * threshold
    return Detected(
        tuple(float(true[s].max()) for s in strong),
        sum(not (seen[s] >= threshold).any() for s in strong),
        sum(not touched[s].any() for s in alarms),
        float(found.judged.sum()) / RATE / 60.0,
    )


def _stretches(on: NDArray[np.bool_]) -> list[slice]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(int)))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
