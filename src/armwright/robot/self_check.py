"""Whether an arm's two descriptions say the same: its own link frames, and the canonical frames that are compiled.

Pose of the tool, mass matrix and gravity torque are computed in both, by different formulas, at a few postures. They
can only differ by rounding, unless a description is so badly scaled (a link frame far from its mass) that rounding is
what is left of it, or our own change of frames is wrong. Neither may be computed with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import DescriptionError
from armwright.robot.check import mass_and_gravity, spread
from armwright.robot.link_frames import LinkFrames, mass_matrix
from armwright.robot.step import steps
from armwright.robot.tree import Tree, tree_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot

    Array = NDArray[np.float64]

AGREE = 1e-10  # relative, as all formulations of an arm agree
POSTURES = 2  # postures spread over a turn of every joint


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
    """Largest relative difference of each quantity over a few postures: tool pose, mass matrix, gravity torque."""
    worst = {"the pose of the tool": 0.0, "the mass matrix": 0.0, "the gravity torque": 0.0}
    if robot.n == 0:
        return worst
    tree = tree_of(robot, regroup=True)
    # gravity turns no joint of an arm with vertical axes: what is left there is rounding of weight times length
    longest = max(float(np.linalg.norm(body.T_parent_joint[:3, 3])) for body in robot.bodies)
    weight = sum(body.mass for body in robot.bodies) * float(np.linalg.norm(robot.gravity)) * longest
    for q in 2.0 * np.pi * spread(POSTURES, robot.n, 0) - np.pi:
        arm = LinkFrames(robot, q)
        M, g = mass_and_gravity(tree, q)
        pairs = (
            (_tool_pose(tree, q), _document_tool_pose(robot, arm), 0.0),
            (M, mass_matrix(robot, arm) + tree.armature, 0.0),
            (g, _gravity_torque(robot, arm), weight),
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


def _gravity_torque(robot: Robot, arm: LinkFrames) -> Array:
    """Torque (n,) that holds the arm, by accelerating its base upwards (recursive Newton–Euler at rest)."""
    rise = np.zeros(6)
    rise[:3] = -robot.T_base_root[:3, :3].T @ robot.gravity
    accelerations: list[Array] = []
    for i, body in enumerate(robot.bodies):
        accelerations.append(arm.X[i] @ (accelerations[body.parent] if body.parent >= 0 else rise))
    forces = [inertia @ a for inertia, a in zip(arm.I, accelerations, strict=True)]
    g = np.zeros(robot.n)
    for i in range(len(robot.bodies) - 1, -1, -1):
        body = robot.bodies[i]
        g[body.joint] += body.ratio * float(arm.S[i] @ forces[i])
        if body.parent >= 0:
            forces[body.parent] = forces[body.parent] + arm.X[i].T @ forces[i]
    return g
