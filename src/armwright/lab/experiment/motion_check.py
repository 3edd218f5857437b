# SPDX-License-Identifier: Apache-2.0
"""Section 5.5 of 004 on a recorded run: what the inertial unit measured against what the joints' motion says.

The acceleration of the unit's own place is compared, its lever arm (5.9) included, which 004 leaves out. Both sides go
through 004's filter (5.12), order 8, 4.7 rad/s, here without delay; and, because that filter leaves little of a move of
2 s, through one of 8 Hz. 004 compares second derivatives of Euler angles with the unit's turning; here it is the
angular acceleration itself, the unit's being the derivative of its rate of turn. Where Euler angles fail is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.identify.filtered_log import derivative, low_pass
from armwright.identify.imu_check import CUTOFF, ImuCheck, check_accelerometer
from armwright.kinematics import acceleration, fk
from armwright.lab.experiment.run_data import COMPARED_FREQUENCY, COMPARED_RATE, longest_piece
from armwright.lab.flange_sensing import IMU_AT

if TYPE_CHECKING:
    from armwright.lab.experiment.run_data import Data
    from armwright.robot.model import Robot
    from armwright.types import Array

WIDE_CUTOFF, WIDE_ORDER = 8.0, 4
"""[Hz] of the second filter, and its order: what wrenches are compared behind, too."""
MOST_HOLE = 0.05  # [s] between samples of the unit that may be drawn over: 8 Hz sees little of it, 0.75 Hz nothing
LEAST_CHECKED_SECONDS = 5.0  # [s] of a run: a filter of 0.75 Hz needs some of it for its edges


@dataclass(frozen=True, eq=False)
class MotionCheck:
    """One run.

    Attributes:
        thesis: linear acceleration behind 004's filter. wide: behind the wider one.
        angular_measured, angular_expected: (K, 3) base axes [rad/s²], behind 004's filter, at `thesis.t`.
    """

    run: str
    thesis: ImuCheck
    wide: ImuCheck
    angular_measured: Array
    angular_expected: Array

    @property
    def angular_error(self) -> Array:
        """Return the mean absolute difference (3,) [rad/s²]."""
        return np.asarray(np.abs(self.angular_measured - self.angular_expected).mean(axis=0))


def check_motion(data: Data, t_imu: Array, robot: Robot) -> MotionCheck:
    """Compare the inertial unit of a run with the joints; t_imu (K,) are its times on the controller's clock.

    Where records of the unit were lost for longer than `MOST_HOLE`, it is the longest part of the run without a hole.

    Raises:
        InputError: robot and unit were recorded together for too short a time.
    """
    assert data.imu is not None
    assert data.turning is not None
    piece = longest_piece(data, COMPARED_RATE, COMPARED_FREQUENCY)
    use = _longest_together(piece.t, t_imu)
    t, q, qd, qdd = piece.t[use], piece.q[use], piece.qd[use], piece.qdd[use]
    if len(t) < LEAST_CHECKED_SECONDS * COMPARED_RATE:
        raise InputError(f"{data.name}: robot and inertial unit have {len(t) / COMPARED_RATE:.1f} s in common")

    def even(values: Array) -> Array:
        return np.stack([np.interp(t, t_imu, column) for column in values.T], axis=1)

    T = np.eye(4)
    T[:3, 3] = IMU_AT
    force, turning = even(data.imu.values), even(data.turning)
    thesis = check_accelerometer(robot, t, q, qd, qdd, force, T_tool_sensor=T)
    wide = check_accelerometer(robot, t, q, qd, qdd, force, T_tool_sensor=T, cutoff=WIDE_CUTOFF, order=WIDE_ORDER)
    R = np.asarray(fk(robot, q))[:, :3, :3]
    smooth = low_pass(COMPARED_RATE, CUTOFF, 8)
    measured = smooth.without_phase(derivative(np.einsum("tij,tj->ti", R, turning), 1.0 / COMPARED_RATE))
    expected = smooth.without_phase(np.asarray(acceleration(robot, q, qd, qdd))[:, 3:])
    return MotionCheck(data.name, thesis, wide, measured, expected)


def _longest_together(t: Array, t_imu: Array) -> slice:
    """Return the rows of t (T,) that are the longest stretch between holes of t_imu (K,)."""
    holes = np.diff(t_imu) > MOST_HOLE
    begins, ends = t_imu[np.r_[True, holes]], t_imu[np.r_[holes, True]]
    first, last = np.searchsorted(t, begins, "left"), np.searchsorted(t, ends, "right")
    k = int(np.argmax(last - first))
    return slice(int(first[k]), int(last[k]))
