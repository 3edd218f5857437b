# SPDX-License-Identifier: Apache-2.0
"""Where a run in joint space begins and ends: configurations, or tool poses solved by inverse kinematics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import matrix_of
from armwright.errors import InputError
from armwright.kinematics import fk, ik

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

TURNS = 8  # orientations about the tool's axis that are tried for a position alone: every 45 degrees
TILTS = (0.0, 0.5, -0.5)  # [rad] of the tool that are tried, upright first


def configuration(robot: Robot, value: Any, what: str) -> Array:
    """Check a configuration (n,) [rad, m]."""
    q = _numbers(value, what)
    if q.shape != (robot.n,):
        raise InputError(
            f"explore: {what} must be a configuration of {robot.n} numbers for robot {robot.name!r}"
            + (", a tool pose (4, 4) or a tool position (3,)" if what == "goal" else "")
            + f", got shape {q.shape}"
        )
    beyond = np.flatnonzero((q > robot.upper + 1e-9) | (q < robot.lower - 1e-9))
    if len(beyond):
        j = int(beyond[0])
        raise InputError(
            f"explore: {what} takes joint {robot.joints[j].name} to {q[j]:.3f}, beyond its limits "
            f"{robot.lower[j]:.3f} … {robot.upper[j]:.3f}"
        )
    return q


def goal_configurations(robot: Robot, goal: Any, q0: Array) -> tuple[Array, Array]:
    """Return configurations (m, n) that will do, the nearest to q0 first, and the tool position (3,) to be at.

    Args:
        robot: the arm.
        goal: a configuration (n,), a tool pose (4, 4), or a tool position (3,), for which the orientation is free:
            that of the start first, then turned about the tool's axis and tilted.
        q0: where the arm begins (n,).
    """
    value = _numbers(matrix_of(goal), "goal")
    if value.shape == (4, 4):
        _check_pose(value)
        found, names = _solved(robot, value[None], q0), f"tool pose at {np.round(value[:3, 3], 4).tolist()} m"
        place = value[:3, 3]
    elif value.shape == (3,) and robot.n != 3:
        found, names = _solved(robot, _orientations(fk(robot, q0)[:3, :3], value), q0), f"tool position {value} m"
        place = value
    else:
        q = configuration(robot, value, "goal")
        return q[None], np.asarray(fk(robot, q)[:3, 3])
    if not len(found):
        raise InputError(f"explore: the goal, {names}, cannot be reached within the joint limits")
    return found, place


def _numbers(value: Any, what: str) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"explore: {what} must be numbers, got {value!r:.60}") from None
    if not np.isfinite(array).all():
        raise InputError(f"explore: {what} must be finite, got {array.tolist()}")
    return array


def _check_pose(T: Array) -> None:
    R = T[:3, :3]
    if np.abs(R.T @ R - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0.0 or np.abs(T[3] - [0, 0, 0, 1]).max() > 1e-9:
        raise InputError("explore: the goal pose must be a rigid motion: a rotation and a last row 0 0 0 1")


def _orientations(R: Array, place: Array) -> Array:
    out = []
    for tilt in TILTS:
        for k in range(TURNS):
            a = 2.0 * np.pi * k / TURNS
            turn = np.array([[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]])
            lean = np.array([[1.0, 0.0, 0.0], [0.0, np.cos(tilt), -np.sin(tilt)], [0.0, np.sin(tilt), np.cos(tilt)]])
            T = np.eye(4)
            T[:3, :3], T[:3, 3] = R @ turn @ lean, place
            out.append(T)
    return np.array(out)


def _solved(robot: Robot, poses: Array, q0: Array) -> Array:
    """Configurations (m, n) within limits for tool poses (k, 4, 4), full turns nearest to q0, the nearest first."""
    found: Any = ik(robot, poses, seed=q0, limits=False)
    rows = [found.solutions[k, : found.count[k]] for k in range(len(poses))]
    Q = np.concatenate(rows) if rows else np.zeros((0, robot.n))
    if not len(Q):
        return np.zeros((0, robot.n))
    revolute = np.array([joint.kind == "revolute" for joint in robot.joints])
    turned = np.mod(Q - q0 + np.pi, 2.0 * np.pi) - np.pi + q0
    for turns in (0.0, 2.0 * np.pi, -2.0 * np.pi):  # as near as the limits allow
        shifted = turned + turns
        fits = (shifted <= robot.upper) & (shifted >= robot.lower)
        worse = (turned > robot.upper) | (turned < robot.lower)
        turned = np.where(fits & worse, shifted, turned)
    Q = np.where(revolute, turned, Q)
    Q = Q[((robot.upper + 1e-9 >= Q) & (robot.lower - 1e-9 <= Q)).all(axis=1)]
    return Q[np.argsort(np.linalg.norm(Q - q0, axis=1), kind="stable")]
