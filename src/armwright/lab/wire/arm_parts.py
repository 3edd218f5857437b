# SPDX-License-Identifier: Apache-2.0
"""What a state package tells of the arm itself: its kinematics (part 5) and its configuration (part 6).

Both are the numbers of the arm that is served, written as a standard Denavit–Hartenberg table. An arm that cannot be
written so has NaN there; an arm of another maker has no robot type.
"""

from __future__ import annotations

import re
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import NotSupportedError
from armwright.lab.wire.secondary import state_part
from armwright.robot.tables.dh import to_dh

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

ROBOT_TYPES = {"UR5": 1, "UR10": 2, "UR3": 3, "UR16": 4, "UR18": 5, "UR20": 7, "UR30": 8, "UR15": 9}
"""Model → number of the type in part 6; an e-Series arm has that of its model, the version tells the series."""
NO_TYPE = -128  # what the manufacturer's client library takes for an undefined type
UNCALIBRATED = 0  # status of the kinematics: nominal, no corrections of single joints
EQUIVALENT_RADIUS = 0.1  # [m] by which a rotation of the tool counts as a way: a URScript default


def robot_model(robot: Robot) -> str:
    """Return the model as a dashboard says it: UR5 for ``ur5``, ``ur5e`` and their variants, else the arm's name."""
    found = re.match(r"ur(\d{1,2})(?!\d)", robot.name.lower())
    model = f"UR{found[1]}" if found else ""
    return model if model in ROBOT_TYPES else robot.name


def is_e_series(robot: Robot) -> bool:
    """Return whether an arm has a control box of the e-Series: UR3e … UR16e, and the later UR15, UR20 and UR30."""
    name = robot.name.lower()
    return re.match(r"ur\d{1,2}e(?![a-z])", name) is not None or robot_model(robot) in ("UR15", "UR20", "UR30")


def dh_columns(robot: Robot) -> Array:
    """Return theta, d, a, alpha (4, 6) [rad, m]; NaN for an arm that has no such table."""
    try:
        return np.asarray(to_dh(robot).table).T
    except NotSupportedError:
        return np.full((4, robot.n), np.nan)


def kinematics_part(robot: Robot) -> bytes:
    """Return part 5: a checksum for each joint, θ, a, d, α, status."""
    theta, d, a, alpha = dh_columns(robot)
    sums = [zlib.crc32(struct.pack(">4d", *row)) for row in zip(theta, d, a, alpha, strict=True)]
    return state_part(5, "6I24dI", *sums, *theta, *a, *d, *alpha, UNCALIBRATED)


def configuration_part(
    robot: Robot,
    version: tuple[int, int, int, int],
    most_acceleration: Array,
    defaults: tuple[float, float, float, float],
) -> bytes:
    """Return part 6: limits, defaults, DH table, types.

    Args:
        robot: the arm that is served.
        version: of the software; its first number stands for the boards of the control box.
        most_acceleration: of the joints (6,) [rad/s²].
        defaults: speed and acceleration of joints [rad/s, rad/s²] and of the tool [m/s, m/s²].
    """
    theta, d, a, alpha = dh_columns(robot)
    limits = [(joint.limits.lower, joint.limits.upper) for joint in robot.joints]
    speeds = zip((joint.limits.velocity for joint in robot.joints), most_acceleration, strict=True)
    pairs = [number for pair in (*limits, *speeds) for number in pair]
    kind = ROBOT_TYPES.get(robot_model(robot), NO_TYPE)
    numbers = (*pairs, *defaults, EQUIVALENT_RADIUS, *a, *d, *alpha, *theta)
    return state_part(6, "53d4i", *numbers, version[0], version[0], kind, 0)
