# SPDX-License-Identifier: Apache-2.0
"""What of an arm can be checked: its motors, the efforts of its joints, or its joint speeds alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np

from armwright.errors import InputError
from armwright.programs.motors.drives import Basis

if TYPE_CHECKING:
    from armwright.robot.model import Robot


def basis_of(robot: Robot, wanted: Basis | None = None) -> Basis:
    """Return what a program of `robot` is checked against, the most telling first; or `wanted`, if it is a basis.

    Raises:
        InputError: if the sheet has nothing; the message says what would do.
    """
    if wanted is not None:
        if wanted not in get_args(Basis):
            raise InputError(f"basis: expected one of {', '.join(get_args(Basis))}, got {wanted!r}")
        return wanted
    if robot.actuators.curve_torque.size or np.isfinite(robot.actuators.torque_limit).all():
        return "motors"
    if all(np.isfinite(joint.limits.effort) for joint in robot.joints):
        return "joints"
    if all(np.isfinite(joint.limits.velocity) for joint in robot.joints):
        return "speeds"
    raise InputError(
        f"robot {robot.name!r}: its sheet has neither motor torques (actuators.torque_limit) nor efforts nor speeds of "
        "all its joints (limits.effort, limits.velocity): there is nothing to check a program against"
    )
