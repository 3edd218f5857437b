# SPDX-License-Identifier: Apache-2.0
"""The elbow angle of seven-axis arms: where the elbow stands on its circle about the line from shoulder to wrist.

With the tool held, an arm with a spherical shoulder (joints 1 to 3) and a spherical wrist (5 to 7) can still turn its
elbow. The shoulder S and the wrist W are where three axes meet; the elbow E is the point of axis 4 nearest to axis 3.
The angle is 0 where the elbow stands highest, in the plane of the line S W and the base's z axis, and grows about the
direction from S to W (right hand).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import NotSupportedError
from armwright.kinematics.forward import body_poses
from armwright.robot.kernels import kernel
from armwright.robot.tree import as_tree
from armwright.spatial.vectors import cross, dot

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.graph.kernel import Kernel
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

MEET = 1e-9
"""Distance [m] within which axes meet."""
UPPER, FORE = 2, 3  # bodies moved by joints 3 and 4: the upper arm carries E, the forearm W


class Places(NamedTuple):
    """S in the base frame, E in the frame of the upper arm, W in that of the forearm, each (3,) [m]."""

    shoulder: Array
    elbow: Array
    wrist: Array


def _places(robot: Robot) -> Places:
    """Find shoulder, elbow and wrist from the axes at q = 0; `NotSupportedError` says what an arm lacks."""
    tree = robot.tree
    if not (tree.n == tree.nb == 7 and all(tree.revolute) and len(tree.ancestors(tree.tip)) == 7):
        raise NotSupportedError(f"elbow: {robot.name!r} is not a chain of seven revolute joints")
    poses = body_poses(tree, np.zeros(7))
    z, p = np.array([poses[i][0][:, 2] for i in range(7)]), np.array([poses[i][1] for i in range(7)])
    points = []
    for name, axes in (("shoulder", [0, 1, 2]), ("wrist", [4, 5, 6])):
        # Σ (1 − z zᵀ)(x − p) = 0: the point nearest to three lines
        P = np.eye(3) - z[axes][:, :, None] * z[axes][:, None, :]
        point = np.linalg.lstsq(P.sum(axis=0), np.einsum("kij,kj->i", P, p[axes]), rcond=None)[0]
        miss = float(np.linalg.norm(np.einsum("kij,kj->ki", P, point - p[axes]), axis=1).max())
        if miss > MEET:
            raise NotSupportedError(f"elbow: the axes of the {name} of {robot.name!r} miss each other by {miss:.3g} m")
        points.append(point)
    normal = np.cross(z[2], z[3])
    if np.linalg.norm(normal) < MEET:
        raise NotSupportedError(f"elbow: axes 3 and 4 of {robot.name!r} are parallel")
    along = np.linalg.solve(np.stack([z[2], -z[3], normal], axis=1), p[3] - p[2])[1]
    elbow = p[3] + along * z[3]
    (R2, p2), (R3, p3) = poses[UPPER], poses[FORE]
    return Places(points[0], R2.T @ (elbow - p2), R3.T @ (points[1] - p3))


def places(robot: Robot) -> Places:
    """Shoulder, elbow and wrist of an arm, found once."""
    return robot.memo("elbow_places", _places)


class Swivel(NamedTuple):
    """The angle [rad], and its derivative by the joints (7,)."""

    angle: Traced
    row: Traced


def swivel(arm: Robot | Tree, q: Traced, at: Places) -> Swivel:
    """Angle of the elbow at q (7,), on floats and on symbols."""
    tree = as_tree(arm)
    poses = body_poses(tree, q, range(4))
    E = poses[UPPER][1] + poses[UPPER][0] @ at.elbow
    W = poses[FORE][1] + poses[FORE][0] @ at.wrist
    line, e = W - at.shoulder, E - at.shoulder
    length = np.sqrt(dot(line, line))
    u = line / length
    r, up = e - u * dot(u, e), np.array([0.0, 0.0, 1.0]) - u * u[2]
    angle = np.arctan2(dot(u, cross(up, r)), dot(up, r))
    # E turns about u directly; W tilts u, by which both e and the z axis are projected otherwise
    by_elbow = cross(u, r) / dot(r, r)
    by_wrist = (cross(r, u) * (dot(e, u) / dot(r, r)) - cross(up, u) * (u[2] / dot(up, up))) / length
    row = []
    for i in range(4):
        z, p = poses[i][0][:, 2], poses[i][1]
        share = dot(by_wrist, cross(z, W - p))
        row.append(share + dot(by_elbow, cross(z, E - p)) if i <= UPPER else share)
    return Swivel(angle, np.array([*row, 0.0, 0.0, 0.0]))


def swivel_angle(arm: Robot | Tree, q: Traced, at: Places) -> Traced:
    """The angle alone."""
    return swivel(arm, q, at).angle


@names_culprit
def elbow_angle(robot: Robot, q: ArrayLike) -> Array:
    """Angle (...,) of the elbow in (−π, π] at q (..., 7) [rad]: 0 where it stands highest on its circle.

    For arms with a spherical shoulder and wrist (S-R-S: iiwa, and others). ``ik(…, elbow=…)`` asks for it.
    """
    return cast("Array", robot.memo("elbow_angle", _angle_kernel)(q))


def _angle_kernel(robot: Robot) -> Kernel:
    at = places(robot)

    def angle(arm: Tree, q: Traced) -> Traced:
        return swivel_angle(arm, q, at)

    return kernel(robot, angle, name="elbow_angle")
