# SPDX-License-Identifier: Apache-2.0
"""Joint motion compared with an accelerometer on the tool (004 section 5.5): a check of kinematics and mounting.

An accelerometer shows specific force f = Rᵀ(a − g), so a = R f + g; the thesis prints a = R f − g, by which a sensor at
rest falls upwards at 19.6 m/s². A mounting tilt of 4° looks like 0.68 m/s². Second derivatives of Euler angles are not
angular accelerations, and where sin θ is small they explode: such instants are named, not compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.identify.filtered_log import low_pass
from armwright.kinematics import acceleration, fk

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array

CUTOFF = 4.7 / (2.0 * np.pi)
"""[Hz] of the thesis's filter, order 8."""
DEGENERATE = 0.15
"""|sin θ| below which ZYZ angles are too close to their singularity."""


@dataclass(frozen=True, eq=False)
class ImuCheck:
    """Agreement of measured and expected acceleration of the sensor's point.

    Attributes:
        t: (T,) [s]. measured, expected: (T, 3) base axes [m/s²], filtered alike, without delay.
        mae: (3,) mean absolute difference.
        tilt: rotation (3,) [rad], sensor axes, that brings measured onto expected specific force: the mounting's error.
        mae_without_tilt: (3,) after it is taken out.
        delay: [s] that the filter would have had causally.
        degenerate: (k, 2) times from, to [s] in which ZYZ Euler angles are of no use.
    """

    t: Array
    measured: Array
    expected: Array
    mae: Array
    tilt: Array
    mae_without_tilt: Array
    delay: float
    degenerate: Array


@names_culprit
def check_accelerometer(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    specific_force: ArrayLike,
    *,
    T_tool_sensor: ArrayLike | None = None,
    cutoff: float = CUTOFF,
    order: int = 8,
) -> ImuCheck:
    """Compare an accelerometer with the joints' motion.

    Args:
        robot: the arm.
        t: (T,) [s], evenly spaced.
        q: (T, n).
        qd: (T, n).
        qdd: (T, n).
        specific_force: (T, 3) reading, sensor axes [m/s²].
        T_tool_sensor: pose of the sensor on the tool; its lever arm counts.
        cutoff: of the Butterworth low-pass on both [Hz].
        order: of it, in one direction.

    Example:
        >>> check_accelerometer(robot, t, q, qd, qdd, specific_force, T_tool_sensor=T).mae  # (3,) [m/s²]
    """
    time, f = np.asarray(t, dtype=np.float64), np.asarray(specific_force, dtype=np.float64)
    if time.ndim != 1 or len(time) < 20 or f.shape != (len(time), 3) or np.shape(q) != (len(time), robot.n):
        raise InputError(f"accelerometer: need t (T,), q (T, {robot.n}) and reading (T, 3), T ≥ 20; got {f.shape}")
    steps = np.diff(time)
    if steps.min() <= 0.0 or np.ptp(steps) > 1e-3 * float(steps.mean()):
        raise InputError("accelerometer: t must rise by equal steps; resample first")
    T = np.eye(4) if T_tool_sensor is None else np.asarray(T_tool_sensor, dtype=np.float64)
    carrier = robot.with_tool(robot.T_tip_tool @ T)
    R = np.asarray(fk(carrier, q))[:, :3, :3]
    a = np.asarray(acceleration(carrier, q, qd, qdd))[:, :3]
    smooth = low_pass(1.0 / float(steps.mean()), cutoff, order)
    expected = smooth.without_phase(a)

    def read(force: Array) -> Array:
        return smooth.without_phase(np.einsum("tij,tj->ti", R, force) + robot.gravity)

    turn = _turn(f, np.einsum("tji,tj->ti", R, a - robot.gravity))
    measured, turned = read(f), read(f @ turn.T)
    sine = np.hypot(R[:, 0, 2], R[:, 1, 2])
    edges = np.flatnonzero(np.diff(np.concatenate([[False], sine < DEGENERATE, [False]]).astype(int)))
    spans = np.stack([time[edges[::2]], time[edges[1::2] - 1]], axis=1)
    return ImuCheck(
        time,
        measured,
        expected,
        np.abs(measured - expected).mean(axis=0),
        _vector(turn),
        np.abs(turned - expected).mean(axis=0),
        smooth.delay,
        spans,
    )


def _turn(found: Array, wanted: Array) -> Array:
    """Return the rotation that takes `found` (T, 3) closest to `wanted` (T, 3) (Kabsch)."""
    U, _, Vt = np.linalg.svd(wanted.T @ found)
    flip = np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))])
    return np.asarray(U @ flip @ Vt)


def _vector(R: Array) -> Array:
    from armwright.spatial import log_so3

    return np.asarray(log_so3(R), dtype=np.float64)
