# SPDX-License-Identifier: Apache-2.0
"""Geometric Jacobians: joint rates to twists, for the tool, any link frame, and any point of any link.

Column of a revolute joint: [z × (o − p); z]; of a prismatic joint: [z; 0] (003 Q6; 004 eqs. 2.27–2.29, 2.38–2.40).
Mimic joints add up in the column of the coordinate they share, each with its ratio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.kinematics.forward import body_poses, homogeneous
from armwright.kinematics.frame_names import FrameLike, body_index, placement
from armwright.robot.inertia_needed import require_mass
from armwright.robot.kernels import as_robot, kernel
from armwright.robot.tree import Tree, as_tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array, Traced

Reference = Literal["base", "tool"]


def sum_columns(tree: Tree, path: list[int], linear: dict[int, Any], angular: dict[int, Any]) -> Traced:
    """Assemble the 6×n matrix whose column j sums ratio·[linear; angular] of the bodies on `path` moved by joint j."""
    columns: list[Any] = [np.zeros(6) for _ in range(tree.n)]
    for i in path:
        column = np.concatenate([linear[i], angular[i]])
        columns[tree.joint[i]] = columns[tree.joint[i]] + tree.ratio[i] * column
    return np.stack(columns, axis=1) if columns else np.zeros((6, 0))


def _geometric(tree: Tree, carrier: int, poses: dict[int, tuple[Any, Any]], o: Traced) -> Traced:
    """Jacobian, base axes, of the point o (base coordinates) moving with body `carrier`."""
    path = tree.ancestors(carrier)
    linear: dict[int, Any] = {}
    angular: dict[int, Any] = {}
    for i in path:
        z, p = poses[i][0][:, 2], poses[i][1]
        linear[i] = np.cross(z, o - p) if tree.revolute[i] else z
        angular[i] = z if tree.revolute[i] else np.zeros(3)
    return sum_columns(tree, path, linear, angular)


def turn_rows(R: Traced, J: Traced) -> Traced:
    """Express both halves of a 6×n Jacobian in the axes of R: blkdiag(Rᵀ, Rᵀ)·J."""
    return np.concatenate([R.T @ J[:3], R.T @ J[3:]], axis=0)


def pose_jacobian(arm: Robot | Tree, q: Traced, body: int | None = None) -> tuple[Traced, Traced]:
    """Return pose (4, 4) and geometric Jacobian (6, n), base axes, of a link frame or the tool (None), in one pass."""
    tree = as_tree(arm)
    carrier, T = placement(tree, body)
    poses = body_poses(tree, q, tree.ancestors(carrier))
    R_body, p_body = poses[carrier]
    o = p_body + R_body @ T[:3, 3]
    return homogeneous(R_body @ T[:3, :3], o), _geometric(tree, carrier, poses, o)


def frame_jacobian(arm: Robot | Tree, q: Traced, body: int | None = None, own_axes: bool = False) -> Traced:
    """Return the geometric Jacobian (6, n), linear rows first, of a link frame or the tool (None).

    Base axes, or the frame's own axes with `own_axes`; the reference point is the frame's origin in both.
    """
    T, J = pose_jacobian(arm, q, body)
    return turn_rows(T[:3, :3], J) if own_axes else J


def point_jacobian(
    arm: Robot | Tree, q: Traced, point: Traced, body: int | None = None, own_axes: bool = False
) -> Traced:
    """Return the Jacobian (6, n) of a point given in a link's (or the tool's) coordinates (004 eqs. 2.38–2.40)."""
    tree = as_tree(arm)
    carrier, T = placement(tree, body)
    poses = body_poses(tree, q, tree.ancestors(carrier))
    R_body, p_body = poses[carrier]
    R = R_body @ T[:3, :3]
    J = _geometric(tree, carrier, poses, p_body + R_body @ T[:3, 3] + R @ point)
    return turn_rows(R, J) if own_axes else J


def arm_com_jacobian(arm: Robot | Tree, q: Traced) -> Traced:
    """Return the Jacobian (3, n), base axes, of the centre of mass of all moving bodies together."""
    tree = as_tree(arm)
    poses = body_poses(tree, q)
    mass = [tree.m[i] for i in range(tree.nb)]
    moment = [tree.m[i] * poses[i][1] + poses[i][0] @ tree.h[i] for i in range(tree.nb)]
    for i in range(tree.nb - 1, -1, -1):
        p = tree.parent[i]
        if p >= 0:
            mass[p], moment[p] = mass[p] + mass[i], moment[p] + moment[i]
    total = sum(tree.m[i] for i in range(tree.nb))
    columns: list[Any] = [np.zeros(3) for _ in range(tree.n)]
    for i in range(tree.nb):
        z, p_joint = poses[i][0][:, 2], poses[i][1]
        share = np.cross(z, moment[i] - mass[i] * p_joint) if tree.revolute[i] else mass[i] * z
        columns[tree.joint[i]] = columns[tree.joint[i]] + (tree.ratio[i] / total) * share
    return np.stack(columns, axis=1)


def own_axes_of(reference: str) -> bool:
    """Translate the public word "base" or "tool" (the frame's own axes)."""
    if reference not in ("base", "tool"):
        raise InputError(f"reference must be 'base' or 'tool', got {reference!r}")
    return reference == "tool"


def jacobian(
    robot: Robot | Tree,
    q: ArrayLike,
    frame: FrameLike = None,
    *,
    point: ArrayLike | None = None,
    reference: Reference = "base",
) -> Array:
    """Return the geometric Jacobian J: [v; w] = J qd, compiled.

    Args:
        robot: the arm.
        q: joint coordinates (..., n).
        frame: None for the tool, a link's name, or a body index.
        point: the point whose velocity is meant, (..., 3) in that frame's coordinates [m]; its origin if omitted.
        reference: "base" for base axes, "tool" for the axes of the frame itself.

    Returns:
        (..., 6, n), linear rows first (003 Q6; 004 eqs. 2.27–2.29, 2.38–2.40).

    >>> twist = aw.jacobian(robot, q) @ qd  # [v; w] of the tool, base axes
    """
    options: dict[str, Any] = {"body": body_index(robot, frame), "own_axes": own_axes_of(reference)}
    if point is None:
        return cast("Array", kernel(robot, frame_jacobian, name="jacobian", **options)(q))
    return cast("Array", kernel(robot, point_jacobian, name="jacobian", **options)(q, point))


@names_culprit
def com_jacobian(robot: Robot | Tree, q: ArrayLike, link: FrameLike = None) -> Array:
    """Return the Jacobian (..., 3, n), base axes, of a centre of mass.

    Args:
        robot: the arm.
        q: joint coordinates (..., n).
        link: name or index of one link; None for the centre of mass of all moving bodies (004 eq. 5.6 per link).

    >>> com_jacobian(robot, q) @ qd  # velocity of the arm's centre of mass [m/s]
    """
    if link is None:
        require_mass(robot)
        return cast("Array", kernel(robot, arm_com_jacobian, name="com_jacobian", needs="bodies")(q))
    robot = as_robot(robot, "com_jacobian")
    body = body_index(robot, link)
    if body is None or body >= len(robot.bodies):
        raise InputError(f"link: the tool has no mass of its own; name a link of {robot.name!r}")
    return jacobian(robot, q, body, point=robot.bodies[body].com)[..., :3, :]
