# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics: where the links and the tool are.

The pure functions take one configuration, floats or symbols; `fk` and `fk_all` run them compiled, with batch axes, and
are part of what is traced where they are called with symbols.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from armwright.kinematics.frame_names import FrameLike, body_index, placement
from armwright.robot.kernels import kernel
from armwright.robot.step import steps
from armwright.robot.tree import Tree, as_tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array, Traced


def homogeneous(R: Traced, p: Traced) -> Traced:
    """Return the 4×4 pose with rotation R (3, 3) and origin p (3,)."""
    rows = [[R[i, 0], R[i, 1], R[i, 2], p[i]] for i in range(3)]
    return np.array([*rows, [0.0, 0.0, 0.0, 1.0]])


def body_poses(tree: Tree, q: Traced, bodies: Iterable[int] | None = None) -> dict[int, tuple[Any, Any]]:
    """Return rotation and origin, in the base frame, of the root (key -1) and of `bodies` (with parents; default all).

    T_base_body = T_base_parent · [R0 | p0] · motion(q), the product of 003 eq. 1 and 004 eq. 2.18.
    """
    poses: dict[int, tuple[Any, Any]] = {-1: (tree.T_base_root[:3, :3], tree.T_base_root[:3, 3])}
    moves = steps(tree, q)
    for i in range(tree.nb) if bodies is None else sorted(bodies):
        R_parent, p_parent = poses[tree.parent[i]]
        step = moves[i]
        R = R_parent @ step.R0
        if step.revolute:
            x, y, z = R[:, 0], R[:, 1], R[:, 2]
            R = np.stack([x * step.c + y * step.s, y * step.c - x * step.s, z], axis=1)
        poses[i] = (R, p_parent + R_parent @ step.p)
    return poses


def frame_pose(arm: Robot | Tree, q: Traced, body: int | None = None) -> Traced:
    """Return the pose (4, 4), in the base frame, of a body's link frame, or of the tool (None)."""
    tree = as_tree(arm)
    carrier, T = placement(tree, body)
    R, p = body_poses(tree, q, tree.ancestors(carrier))[carrier]
    return homogeneous(R @ T[:3, :3], p + R @ T[:3, 3])


def tool_pose(arm: Robot | Tree, q: Traced) -> Traced:
    """Return T_base_tool (4, 4) at one configuration q (n,)."""
    return frame_pose(arm, q, None)


def link_poses(arm: Robot | Tree, q: Traced) -> Traced:
    """Return the link frames of all bodies in the base frame, (nb, 4, 4), at one configuration q (n,)."""
    tree = as_tree(arm)
    poses = body_poses(tree, q)
    out = []
    for i in range(tree.nb):
        R, p = poses[i]
        T = tree.T_body_link[i]
        out.append(homogeneous(R @ T[:3, :3], p + R @ T[:3, 3]))
    return np.stack(out) if out else np.zeros((0, 4, 4))


def fk(robot: Robot | Tree, q: ArrayLike, frame: FrameLike = None) -> Array:
    """Return the pose of the tool or of a link, compiled.

    Args:
        robot: the arm.
        q: joint coordinates (..., n) [rad or m].
        frame: None for the tool, a link's name, or a body index.

    Returns:
        T_base_frame, shape (..., 4, 4) (003 eq. 1; 004 eq. 2.18).

    >>> T = aw.fk(robot, q)  # T_base_tool at q
    """
    return cast("Array", kernel(robot, frame_pose, name="fk", body=body_index(robot, frame))(q))


def fk_all(robot: Robot | Tree, q: ArrayLike) -> Array:
    """Return the link frames of all bodies, T_base_link, shape (..., nb, 4, 4), for q of shape (..., n).

    >>> elbow = aw.fk_all(robot, q)[2, :3, 3]  # origin of the third link [m]
    """
    return cast("Array", kernel(robot, link_poses, name="fk_all")(q))
