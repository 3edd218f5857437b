# SPDX-License-Identifier: Apache-2.0
"""A check that an arm's two descriptions agree: its own link frames, and the canonical frames that are compiled.

The pose of the tool and the torque that accelerates the arm from rest are computed in both, by different formulas, at
a few states. They can only differ by rounding, unless a description is so badly scaled (a link frame far from its mass)
that rounding is what is left of it, or our own change of frames is wrong. Neither may be computed with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import DescriptionError
from armwright.robot.check import spread
from armwright.robot.link_frames import LinkFrames
from armwright.robot.step import steps
from armwright.robot.tree import Tree, tree_of
from armwright.spatial.rotations import skew

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

AGREE = 1e-10  # relative, as all formulations of an arm agree
CHECKED_STATES = 2  # spread over a turn of every joint


def require_agreement(robot: Robot, where: str) -> None:
    """Refuse an arm whose two descriptions differ by more than `AGREE`.

    Raises:
        DescriptionError: at `where` (file), with the quantity that differs.
    """
    for name, error in disagreement(robot).items():
        if not error <= AGREE:
            raise DescriptionError(
                f"{name} differs by {error:.1e} (relative) between two formulations of this arm: its numbers are so "
                "badly scaled that rounding decides; move frames, masses and axes nearer to each other",
                where=where,
                rule="formulations-agree",
            )


def disagreement(robot: Robot) -> dict[str, float]:
    """Return the largest relative difference of each quantity over a few states: tool pose, accelerating torque."""
    worst = {"the pose of the tool": 0.0, "the torque": 0.0}
    if robot.n == 0:
        return worst
    tree = tree_of(robot, regroup=True)
    # nothing may turn a joint of an arm with vertical axes: what is left there is rounding of weight times length
    longest = max(float(np.linalg.norm(body.T_parent_joint[:3, 3])) for body in robot.bodies)
    weight = sum(body.mass for body in robot.bodies) * float(np.linalg.norm(robot.gravity)) * longest
    for q, qdd in zip(
        *(2.0 * np.pi * spread(CHECKED_STATES, robot.n, first) - np.pi for first in (0, CHECKED_STATES)), strict=True
    ):
        arm = LinkFrames(robot, q)
        pairs = (
            (_tool_pose(tree, q), _document_tool_pose(robot, arm), 0.0),
            (_torque(tree, q, qdd), _document_torque(robot, arm, qdd) + tree.armature @ qdd, weight),
        )
        for name, (ours, theirs, scale) in zip(worst, pairs, strict=True):
            scale = max(scale, float(np.abs(theirs).max()), 1e-300)
            worst[name] = float(np.maximum(worst[name], np.abs(ours - theirs).max() / scale))  # NaN stays
    return worst


def _tool_pose(tree: Tree, q: Array) -> Array:
    """Pose (4, 4) of the tool in the base frame, by canonical frames."""
    T = np.eye(4)
    moved = steps(tree, q)
    for i in tree.ancestors(tree.tip):
        step = np.eye(4)
        step[:3, :3], step[:3, 3] = moved[i].R, moved[i].p
        T = step @ T
    return np.asarray(tree.T_base_root @ T @ tree.T_tip_tool)


def _document_tool_pose(robot: Robot, arm: LinkFrames) -> Array:
    """Pose (4, 4) of the tool in the base frame, by link frames."""
    T, i = robot.T_tip_tool, robot.tip
    while i >= 0:
        T = arm.T[i] @ T
        i = robot.bodies[i].parent
    return np.asarray(robot.T_base_root @ T)


def _torque(tree: Tree, q: Array, qdd: Array) -> Array:
    """Torque (n,) that gives the arm at rest these accelerations: vectors in canonical frames, about their origins."""
    moved = steps(tree, q)
    turns: list[Array] = []
    rises: list[Array] = []
    for i, step in enumerate(moved):
        up = tree.parent[i]
        turn, rise = (turns[up], rises[up]) if up >= 0 else (np.zeros(3), -tree.gravity)
        along = np.array([0.0, 0.0, tree.ratio[i] * qdd[tree.joint[i]]])
        turns.append(step.down(turn) + (along if step.revolute else 0.0))
        rises.append(step.down(rise + skew(turn) @ step.p) + (0.0 if step.revolute else along))
    forces = [tree.m[i] * rises[i] + skew(turns[i]) @ tree.h[i] for i in range(tree.nb)]
    moments = [tree.J[i] @ turns[i] + skew(tree.h[i]) @ rises[i] for i in range(tree.nb)]
    tau = np.array(tree.armature @ qdd)
    for i in range(tree.nb - 1, -1, -1):
        step, up = moved[i], tree.parent[i]
        tau[tree.joint[i]] += tree.ratio[i] * (moments[i] if step.revolute else forces[i])[2]
        if up >= 0:
            force = step.up(forces[i])
            forces[up] = forces[up] + force
            moments[up] = moments[up] + step.up(moments[i]) + skew(step.p) @ force
    return tau


def _document_torque(robot: Robot, arm: LinkFrames, qdd: Array) -> Array:
    """Return the same torque (n,) without rotors: spatial vectors in link frames."""
    rise = np.zeros(6)
    rise[:3] = -robot.T_base_root[:3, :3].T @ robot.gravity
    accelerations: list[Array] = []
    for i, body in enumerate(robot.bodies):
        before = accelerations[body.parent] if body.parent >= 0 else rise
        accelerations.append(arm.X[i] @ before + body.ratio * qdd[body.joint] * arm.S[i])
    forces = [inertia @ a for inertia, a in zip(arm.I, accelerations, strict=True)]
    tau = np.zeros(robot.n)
    for i in range(len(robot.bodies) - 1, -1, -1):
        body = robot.bodies[i]
        tau[body.joint] += body.ratio * float(arm.S[i] @ forces[i])
        if body.parent >= 0:
            forces[body.parent] = forces[body.parent] + arm.X[i].T @ forces[i]
    return tau
