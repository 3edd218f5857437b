# SPDX-License-Identifier: Apache-2.0
"""Which closed form fits an arm: read from its joint axes at the home pose, whatever convention described it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.kinematics.forward import body_poses, homogeneous
from armwright.kinematics.frame_names import FrameLike, body_index, placement
from armwright.robot.kernels import as_robot

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array

IKName = Literal["ur", "spherical_wrist", "general"]
# Axes that miss each other by less count as meeting (a URDF may say 1.5708 for a right angle): the closed form then
# starts a Newton refinement, and the verification by forward kinematics stays at 1e-9.
GEOMETRY_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class HomeAxes:
    """Joint axes of a 6R chain at q = 0, base frame: w (6, 3) directions, r (6, 3) points, M (4, 4) the frame's pose.

    `meet` is the point where the wrist axes meet (4, 5, 6 or 5, 6), `size` the extent of the arm [m]; `kind` names how
    the first three axes stand ("parallel23", "meet12" or "parallel12"), "" for the UR family.
    """

    w: Array
    r: Array
    M: Array
    size: float
    meet: Array
    kind: str = ""


class IKClass(NamedTuple):
    """The inverse kinematics that `ik` uses for an arm, and the reason in words."""

    name: IKName
    reason: str


def _parallel(w: Array, i: int, j: int) -> bool:
    return float(np.linalg.norm(np.cross(w[i], w[j]))) < GEOMETRY_TOLERANCE


def _meeting(w: Array, r: Array, i: int, j: int, size: float) -> Array | None:
    """Point nearest to two lines that are not parallel, None if they pass each other at a distance."""
    if _parallel(w, i, j):
        return None
    n = np.cross(w[i], w[j])
    if abs((r[j] - r[i]) @ n) / np.linalg.norm(n) > GEOMETRY_TOLERANCE * size:
        return None
    s, t, _ = np.linalg.lstsq(np.stack([w[i], -w[j], n], axis=1), r[j] - r[i], rcond=None)[0]
    return np.asarray(0.5 * (r[i] + s * w[i] + r[j] + t * w[j]))


def _from_line(point: Array, w: Array, r: Array) -> float:
    return float(np.linalg.norm(np.cross(w, point - r)))


def analyse(robot: Robot, frame: FrameLike = None) -> tuple[IKClass, HomeAxes | None]:
    """Classify the chain from the base to a frame; the axes are returned where a closed form exists."""
    tree = robot.tree
    carrier, T = placement(tree, body_index(robot, frame))
    path = sorted(tree.ancestors(carrier))
    if len(path) != 6 or robot.n != 6:
        return IKClass("general", f"{len(path)} moving bodies, {robot.n} coordinates: a closed form needs 6"), None
    if not all(tree.revolute[i] for i in path):
        return IKClass("general", "closed forms need six revolute joints"), None
    if [tree.joint[i] for i in path] != list(range(6)) or any(tree.ratio[i] != 1.0 for i in path):
        return IKClass("general", "closed forms need joints 1 to 6 in order, without mimic joints"), None
    poses = body_poses(tree, np.zeros(6), path)
    w = np.array([poses[i][0][:, 2] for i in path])
    r = np.array([poses[i][1] for i in path])
    R_tip, p_tip = poses[path[-1]]
    M = homogeneous(R_tip @ T[:3, :3], p_tip + R_tip @ T[:3, 3])
    size = max(float(np.linalg.norm(r - r[0], axis=1).max()), 1e-6)
    return _match(w, r, M, size)


def _match(w: Array, r: Array, M: Array, size: float) -> tuple[IKClass, HomeAxes | None]:
    wrist = _meeting(w, r, 4, 5, size)
    if wrist is None:
        return IKClass("general", "axes 5 and 6 do not meet"), None
    near = GEOMETRY_TOLERANCE * size
    if _parallel(w, 1, 2) and _parallel(w, 2, 3) and not _parallel(w, 0, 1) and not _parallel(w, 3, 4):
        if _from_line(r[2], w[1], r[1]) < near or _from_line(r[3], w[2], r[2]) < near:
            return IKClass("general", "axes 2, 3, 4 are parallel but two of them coincide"), None
        return IKClass("ur", "axes 2, 3, 4 are parallel and axes 5, 6 meet"), HomeAxes(w, r, M, size, wrist)
    if _parallel(w, 3, 4) or _from_line(wrist, w[3], r[3]) > near:
        return IKClass("general", "axes 2, 3, 4 are not parallel and axes 4, 5, 6 do not meet in one point"), None
    if _from_line(wrist, w[2], r[2]) < near:
        return IKClass("general", "the wrist centre lies on axis 3"), None
    spherical = "axes 4, 5, 6 meet in one point"
    if _parallel(w, 1, 2) and not _parallel(w, 0, 1) and _from_line(r[2], w[1], r[1]) > near:
        found = IKClass("spherical_wrist", f"{spherical}, axes 2 and 3 are parallel")
        return found, HomeAxes(w, r, M, size, wrist, "parallel23")
    shoulder = _meeting(w, r, 0, 1, size)
    if shoulder is not None and _from_line(shoulder, w[2], r[2]) > near:
        points = r.copy()
        points[0] = points[1] = shoulder
        found = IKClass("spherical_wrist", f"{spherical}, axes 1 and 2 meet")
        return found, HomeAxes(w, points, M, size, wrist, "meet12")
    if _parallel(w, 0, 1) and not _parallel(w, 1, 2) and _from_line(r[1], w[0], r[0]) > near:
        found = IKClass("spherical_wrist", f"{spherical}, axes 1 and 2 are parallel")
        return found, HomeAxes(w, r, M, size, wrist, "parallel12")
    return IKClass("general", f"{spherical}, but axes 1, 2, 3 are in no position that has a closed form here"), None


@names_culprit
def ik_class(robot: Robot | Tree, frame: FrameLike = None) -> IKClass:
    """Say which inverse kinematics an arm gets: "ur", "spherical_wrist" (closed form, all branches) or "general".

    Detected from the geometry of the joint axes, not from a name or a table; the reason is given in words.

    >>> ik_class(robot)  # of a UR5: "ur", with the reason
    """
    return analyse(as_robot(robot, "ik_class"), frame)[0]
