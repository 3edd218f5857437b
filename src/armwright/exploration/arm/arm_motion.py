# SPDX-License-Identifier: Apache-2.0
"""From a joint path to a motion: a spline through its waypoints, at the pace of the fastest part of the arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.exploration.arm.touch_map import ends_at
from armwright.motion import time_scaled, velocity_factor
from armwright.planning.motions import drawn_to
from armwright.planning.waypoints import waypoint_motion

if TYPE_CHECKING:
    from armwright.motion import Trajectory
    from armwright.planning.joint.capsules import LinkCapsules
    from armwright.planning.joint.known_arm import KnownArm
    from armwright.robot.model import Robot
    from armwright.types import Array

SPACING = (0.3, 0.15, 0.08, 0.04)  # [rad] between waypoints: the planners' longest edge, then halves of it
CLOSE = 0.1  # of that spacing: waypoints no farther apart count as one, a spline through both would loop
RAMP = 0.25  # [s] from rest to the full pace: at 0.25 m/s an acceleration of 1 m/s²
SAME = 1e-6  # [rad] waypoints nearer than this are one: below what joint sensors resolve
LOOKS = 0.01  # [m] of motion between looks at the spline, less than the ball about a felt place
FEWEST = 20  # looks at a spline, however short
TURNS = 0.1  # [m/rad] of a joint that moves no link's end, such as the last one: it gets a pace, too


def arm_motion(
    robot: Robot, links: LinkCapsules, path: Array, speed: float, known: KnownArm | None = None
) -> Trajectory:
    """Return a motion from rest to rest along a joint path (N, n).

    Args:
        robot: the arm, whose limits on joint speed and acceleration hold.
        links: its capsules; none of their ends moves faster than about `speed`.
        path: straight pieces; the spline is drawn to them by more waypoints until it stays free. Of waypoints that
            nearly coincide, one is kept.
        speed: [m/s].
        known: what must not be touched; None: not looked at.
    """
    kv = np.array([joint.limits.velocity for joint in robot.joints])
    ka = np.array([joint.limits.acceleration for joint in robot.joints])
    keep = np.concatenate([[True], np.abs(np.diff(path, axis=0)).max(axis=1) > SAME])
    path = path[keep] if keep.sum() > 1 else np.vstack([path[:1], path[:1] + SAME])

    def make(rows: Array) -> Trajectory:
        motion = waypoint_motion(robot, rows, times=_times(robot, links, rows, speed))
        factor = velocity_factor(motion, kv, ka)
        return motion if factor <= 1.0 else time_scaled(motion, factor)

    def free(motion: Trajectory) -> bool:
        if known is None:
            return True
        looks = max(FEWEST, int(motion.duration * speed / LOOKS))
        return bool((known.clearance(motion.evaluate(np.linspace(0.0, motion.duration, looks)).q) > 0.0).all())

    return drawn_to(path, SPACING, make, free, close=CLOSE)[0]


def _times(robot: Robot, links: LinkCapsules, rows: Array, speed: float) -> Array:
    """When to be at rows (N,) [s], the pace rising and falling evenly at the ends."""
    ends = ends_at(robot, links, rows).reshape(len(rows), -1, 3)
    turned = np.abs(np.diff(rows, axis=0)).max(axis=1)
    way = np.maximum(np.linalg.norm(np.diff(ends, axis=0), axis=-1).max(axis=1), TURNS * turned)
    s = np.concatenate([[0.0], np.cumsum(way)])
    total = float(s[-1])
    ramp = min(0.5 * speed * RAMP, 0.5 * total)  # way of a ramp
    top = speed * np.sqrt(ramp / (0.5 * speed * RAMP))
    rate = top * top / (2.0 * ramp)
    begin, end = np.sqrt(2.0 * s / rate), np.sqrt(2.0 * np.maximum(total - s, 0.0) / rate)
    duration = 2.0 * top / rate + (total - 2.0 * ramp) / top
    return np.asarray(
        np.where(s <= ramp, begin, np.where(s >= total - ramp, duration - end, top / rate + (s - ramp) / top))
    )
