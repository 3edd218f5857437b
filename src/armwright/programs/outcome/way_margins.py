# SPDX-License-Identifier: Apache-2.0
"""How near the tracked motion comes to what the arm itself cannot do: ends of joints, singular postures, its reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.kinematics import fk
from armwright.kinematics.extent import full_rank, weighed_jacobian
from armwright.kinematics.forward import fk_all
from armwright.programs.outcome.way_results import WayMargin, WayMargins

if TYPE_CHECKING:
    from armwright.programs.outcome.program_run import ProgramRun
    from armwright.robot.model import Robot
    from armwright.types import Array


def margins_of(outcome: ProgramRun) -> WayMargins:
    """Return the smallest margins along the tracked motion, at the ends of its cycles."""
    robot = outcome.robot
    q, time, move = outcome.way

    def row(what: str, k: int, value: float, share: float) -> WayMargin:
        return WayMargin(what, float(value), float(share), float(time[k]), int(move[k]))

    joints = []
    for j, joint in enumerate(robot.joints):
        low, high = joint.limits.lower, joint.limits.upper
        if np.isfinite([low, high]).all() and high > low:
            left = np.minimum(q[:, j] - low, high - q[:, j])
            k = int(np.argmin(left))
            joints.append(row(joint.name, k, left[k], left[k] / (high - low)))
    rank = full_rank(robot, None)
    singular = None
    if rank:
        kinds = np.array([one.kind in ("joint", "wait") for one in outcome.program.moves])[move]
        values = np.linalg.svd(weighed_jacobian(robot, None, q), compute_uv=False)
        told = values[:, rank - 1] if kinds.all() else np.where(kinds, np.inf, values[:, rank - 1])
        k = int(np.argmin(told))
        singular = row("singular", k, values[k, rank - 1], values[k, rank - 1] / values[k, 0])
    stretched, shoulder = _stretched(robot, q)
    left_over = None
    if stretched > 0.0:
        away = np.linalg.norm(fk(robot, q)[:, :3, 3] - shoulder, axis=1)
        k = int(np.argmax(away))
        left_over = row("reach", k, stretched - away[k], 1.0 - away[k] / stretched)
    return WayMargins(tuple(joints), singular, left_over)


def _stretched(robot: Robot, q: Array) -> tuple[float, Array]:
    """Return the length of all link vectors from the second joint to the tool put end to end, and that joint (N, 3).

    0 for arms with sliding joints, whose links have no length of their own.
    """
    chain = sorted(robot.tree.ancestors(robot.tip))
    if any(robot.joints[robot.bodies[i].joint].kind != "revolute" for i in chain):
        return 0.0, np.zeros((len(q), 3))
    T = fk_all(robot, q)
    places = [
        (T[:, i] @ np.linalg.inv(robot.bodies[i].T_joint_link))[:, :3, 3] for i in chain[min(1, len(chain) - 1) :]
    ]
    corners = np.array([*places, fk(robot, q)[:, :3, 3]])
    return float(np.linalg.norm(np.diff(corners[:, 0], axis=0), axis=-1).sum()), places[0]
