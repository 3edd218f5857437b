# SPDX-License-Identifier: Apache-2.0
"""Joint limits in inverse kinematics: default seeds, full turns, and what counts as inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.kinematics.ik_result import EXACT
from armwright.robot.configurations import sampling_range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array

    Mask = NDArray[np.bool_]

TURN = 2.0 * np.pi
SLACK = EXACT
"""How far beyond its limit a joint still counts as inside [rad, m]: the accuracy of a solution."""


class Fitted(NamedTuple):
    """Configurations (N, n) with full turns chosen, and whether each lies inside the limits (N,)."""

    q: Array
    inside: Mask


def middle(robot: Robot) -> Array:
    """Return the middle of each joint's range (n,); 0, or the bound nearest to it, where the range is open."""
    lower, upper = robot.lower, robot.upper
    bounded = np.isfinite(lower) & np.isfinite(upper)
    centre = 0.5 * (np.where(bounded, lower, 0.0) + np.where(bounded, upper, 0.0))
    return np.where(bounded, centre, np.clip(0.0, lower, upper))


def turning(robot: Robot) -> Mask:
    """Return which coordinates (n,) may be changed by full turns without moving the arm."""
    return robot.memo("turning", _turning)


def _turning(robot: Robot) -> Mask:
    tree = robot.tree
    free = np.ones(robot.n, dtype=bool)
    for i in range(tree.nb):
        if not tree.revolute[i] or tree.ratio[i] != round(float(tree.ratio[i])):
            free[tree.joint[i]] = False
    return free


def fit_turns(robot: Robot, q: Array, anchor: Array, limits: bool) -> Fitted:
    """Add full turns to revolute coordinates: nearest to `anchor` (N, n), inside the limits where that is possible."""
    lower, upper = robot.lower, robot.upper
    turns = np.round((anchor - q) / TURN)
    if limits:
        with np.errstate(invalid="ignore"):
            least, most = np.ceil((lower - SLACK - q) / TURN), np.floor((upper + SLACK - q) / TURN)
        turns = np.where(least <= most, np.clip(turns, least, most), turns)
    q = q + TURN * np.where(turning(robot), turns, 0.0)
    return Fitted(q, np.asarray(((q >= lower - SLACK) & (q <= upper + SLACK)).all(axis=-1)))


def random_starts(robot: Robot, count: int, limits: bool, rng: np.random.Generator, length: float) -> Array:
    """Draw `count` configurations (count, n), uniform in the limits; a full turn, or ±length, where there are none."""
    prismatic = np.array([joint.kind == "prismatic" for joint in robot.joints], dtype=bool)
    span = np.where(prismatic, length, np.pi)
    lower, upper = -span, span
    if limits:
        low, high = lower, upper = sampling_range(robot, length)
        # several turns of one joint are the same starts again
        wide = ~prismatic & (upper - lower > TURN)
        lower, upper = np.where(wide, np.maximum(lower, -np.pi), lower), np.where(wide, np.minimum(upper, np.pi), upper)
        empty = lower > upper
        lower, upper = np.where(empty, low, lower), np.where(empty, high, upper)
    return rng.uniform(lower, upper, size=(count, robot.n))
