# SPDX-License-Identifier: Apache-2.0
"""Goals, speeds and limits of motion instructions; what cannot be obeyed is refused with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.lab.controller.motions import JointLimits

if TYPE_CHECKING:
    from armwright.lab.controller.controller import Controller
    from armwright.types import Array

LARGEST_POSITION = 3.0  # [m]: positions beyond are refused without a search
FARTHEST_POSITION = (
    10_000.0  # [m, rad] of what counts as a pose at all; PolyScope goes on until something happens by 1000 m
)
MOST_ANGLE = 4.0 * np.pi
REACHED_POSE_ERROR = 1e-6  # error of a pose that counts as reached [m, rad]


def six(numbers: Sequence[float], what: str, most: float) -> Array:
    """Return six finite numbers within ±most."""
    values = np.array(numbers, dtype=np.float64)
    if values.shape != (6,) or not np.isfinite(values).all() or np.abs(values).max() > most:
        raise InputError(f"{what}: six numbers within ±{most:g} needed")
    return values


def pose_goal(goal: Sequence[float]) -> Array:
    """Return a TCP pose that may be within reach."""
    pose = six(goal, "pose", max(LARGEST_POSITION, MOST_ANGLE))
    if np.abs(pose[:3]).max() > LARGEST_POSITION:
        raise InputError(f"pose: no arm reaches {np.round(pose[:3], 3).tolist()}")
    return pose


def tool_goal(goal: Sequence[float]) -> Array:
    """Return a TCP pose at the end of a way of the tool, within reach or not: the arm goes as far as it can."""
    return six(goal, "pose", FARTHEST_POSITION)


def joint_goal(c: Controller, goal: Sequence[float]) -> Array:
    """Return joints within their range."""
    q = six(goal, "joints", MOST_ANGLE)
    robot = c.plant.robot
    if (q > robot.upper).any() or (q < robot.lower).any():
        raise InputError(f"joints {np.round(q, 3).tolist()} leave their range")
    return q


def reached(found: Array | None, pose: Array) -> Array:
    """Return the configuration that was found.

    Raises:
        InputError: there is none.
    """
    if found is None:
        raise InputError(f"no configuration reaches {np.round(pose, 4).tolist()}")
    return found


def rates(c: Controller, v: float, a: float, tool: bool) -> tuple[float, float]:
    """Return speed and acceleration within (0, limit]; those of joints are those of the fastest joint."""
    most_v, most_a = (3.0, 150.0) if tool else (float(c.most_speed.max()), float(c.most_acceleration.max()))
    if not (np.isfinite(v) and np.isfinite(a) and v > 0.0 and a > 0.0):
        raise InputError(f"speed and acceleration must be > 0, got {v} and {a}")
    return min(v, most_v), min(a, most_a)


def joint_limits(c: Controller) -> JointLimits:
    """Return what the joints may do."""
    return JointLimits(c.most_speed, c.most_acceleration)
