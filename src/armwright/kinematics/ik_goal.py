# SPDX-License-Identifier: Apache-2.0
"""What inverse kinematics is asked for: which axes of the goal, with what weights, and the elbow of seven-axis arms.

`measure` compares a frame with its goal: `pose_error` is the difference of two poses as six numbers, `error_jacobian`
its exact Jacobian, `swivel` the elbow angle, all on floats and on symbols. `Aim` says which of these rows count.
With the tool held, an arm with a spherical shoulder (joints 1 to 3) and a spherical wrist (5 to 7) can still turn its
elbow on a circle about the line from shoulder to wrist. The shoulder S and the wrist W are where three axes meet; the
elbow E is the point of axis 4 nearest to axis 3. The angle is 0 where the elbow stands highest, in the plane of the
line S W and the base's z axis, and grows about the direction from S to W (right hand).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError, NotSupportedError
from armwright.kinematics.forward import body_poses
from armwright.kinematics.jacobians import pose_jacobian
from armwright.robot.kernels import as_robot, kernel
from armwright.robot.tree import as_tree
from armwright.spatial.linear import cross, dot
from armwright.spatial.rotations import log_so3, turn_coefficients

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.graph.kernel import Kernel
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Scalar, Traced

SERIES_BELOW = 1e-8
"""Square of the angle [rad²] below which 1/φ² − cot(φ/2)/2φ is its limit 1/12: off by φ²/720, 1e-11; the formula
cancels more."""


def pose_error(T: Traced, goal: Traced) -> Traced:
    """Return e (6,) = [p_goal − p; log(R_goal Rᵀ)], base axes [m, rad], of poses T and goal (4, 4)."""
    return np.concatenate([goal[:3, 3] - T[:3, 3], log_so3(goal[:3, :3] @ T[:3, :3].T)])


def error_jacobian(e: Traced, J: Traced) -> Traced:
    """Return −de/dq (6, n) from the geometric Jacobian J (6, n): its angular rows times the inverse of the right
    Jacobian of SO(3) at the rotation error, 1 + ½ê + (1/φ² − cot(φ/2)/(2φ)) ê².
    """  # noqa: D205
    w = e[3:]
    squared = dot(w, w)
    small = squared < SERIES_BELOW
    safe = np.where(small, 1.0, squared)
    turn = turn_coefficients(safe)  # a = sin φ/φ, b = (1 − cos φ)/φ²; cot(φ/2)/φ = a/(b φ²)
    k: Any = np.where(small, 1.0 / 12.0, (1.0 - 0.5 * turn.a / turn.b) / safe)
    columns = []
    for j in range(J.shape[1]):
        once = cross(w, J[3:, j])
        columns.append(np.concatenate([J[:3, j], J[3:, j] + 0.5 * once + k * cross(w, once)]))
    return np.stack(columns, axis=1)


MEET = 1e-9
"""Distance [m] within which axes meet."""
UPPER_ARM_BODY, FOREARM_BODY = 2, 3  # bodies moved by joints 3 and 4: the upper arm carries E, the forearm W


class ElbowPlaces(NamedTuple):
    """S in the base frame, E in the frame of the upper arm, W in that of the forearm, each (3,) [m]."""

    shoulder: Array
    elbow: Array
    wrist: Array


def _places(robot: Robot) -> ElbowPlaces:
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
    (R2, p2), (R3, p3) = poses[UPPER_ARM_BODY], poses[FOREARM_BODY]
    return ElbowPlaces(points[0], R2.T @ (elbow - p2), R3.T @ (points[1] - p3))


def places(robot: Robot) -> ElbowPlaces:
    """Return shoulder, elbow and wrist of an arm; found once."""
    return robot.memo("elbow_places", _places)


class Swivel(NamedTuple):
    """The angle [rad], and its derivative by the joints (7,)."""

    angle: Traced
    row: Traced


def swivel(arm: Robot | Tree, q: Traced, at: ElbowPlaces) -> Swivel:
    """Return the angle of the elbow at q (7,) and its derivative, on floats and on symbols."""
    tree = as_tree(arm)
    poses = body_poses(tree, q, range(4))
    E = poses[UPPER_ARM_BODY][1] + poses[UPPER_ARM_BODY][0] @ at.elbow
    W = poses[FOREARM_BODY][1] + poses[FOREARM_BODY][0] @ at.wrist
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
        row.append(share + dot(by_elbow, cross(z, E - p)) if i <= UPPER_ARM_BODY else share)
    return Swivel(angle, np.array([*row, 0.0, 0.0, 0.0]))


def swivel_angle(arm: Robot | Tree, q: Traced, at: ElbowPlaces) -> Traced:
    """Return the angle of the elbow [rad] without its derivative."""
    return swivel(arm, q, at).angle


@names_culprit
def elbow_angle(robot: Robot | Tree, q: ArrayLike) -> Array:
    """Return the angle (...,) of the elbow in (−π, π] at q (..., 7) [rad]: 0 where it stands highest on its circle.

    For arms with a spherical shoulder and wrist (S-R-S: iiwa, and others). ``ik(…, elbow=…)`` asks for it.

    >>> elbow_angle(aw.load("iiwa7"), np.full(7, 0.3))
    """
    return cast("Array", as_robot(robot, "elbow_angle").memo("elbow_angle", _angle_kernel)(q))


def _angle_kernel(robot: Robot) -> Kernel:
    at = places(robot)

    def angle(arm: Tree, q: Traced) -> Traced:
        return swivel_angle(arm, q, at)

    return kernel(robot, angle, name="elbow_angle")


AXES = ("x", "y", "z", "rx", "ry", "rz")


class Aim(NamedTuple):
    """Rows of the task: indices of the goal's axes (x, y, z, rx, ry, rz), their weights, and whether the elbow counts.

    The axes are those of the goal: without rz the frame may turn about the goal's own z axis.
    """

    axes: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    weights: tuple[float, ...] = (1.0,) * 6
    elbow: bool = False

    @property
    def rows(self) -> int:
        """Number of error rows."""
        return len(self.axes) + self.elbow

    @property
    def whole(self) -> bool:
        """Whether the whole pose is asked for, and nothing else: what closed forms solve."""
        return len(self.axes) == 6 and not self.elbow

    @property
    def numbers(self) -> int:
        """Numbers that describe a goal: rotation (9,) by rows, origin (3,), angle of the elbow."""
        return 12 + self.elbow


POSE, POSITION = Aim(), Aim((0, 1, 2))


def aim_of(axes: Sequence[str] | None, weights: ArrayLike | None, position_only: bool, elbow: bool) -> Aim:
    """Check what a user asked for and return it as an `Aim`."""
    if axes is None and weights is None and not elbow:
        return POSITION if position_only else POSE
    if axes is not None and position_only:
        raise InputError("axes: give the axes or position_only=True, not both")
    wanted = tuple(axes) if axes is not None else AXES[:3] if position_only else AXES
    if isinstance(axes, str) or not wanted or len(set(wanted)) < len(wanted) or not set(wanted) <= set(AXES):
        raise InputError(f"axes: expected some of {', '.join(AXES)}, each once, as a list of texts, got {axes!r}")
    try:
        factor = np.ones(6) if weights is None else np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"weights: expected six numbers, got {weights!r:.60}") from None
    if factor.shape != (6,) or not np.isfinite(factor).all() or (factor <= 0.0).any():
        raise InputError(f"weights: expected six finite numbers > 0 for {', '.join(AXES)}, got {factor.tolist()}")
    return Aim(tuple(sorted(AXES.index(name) for name in wanted)), tuple(factor.tolist()), elbow)


class AimError(NamedTuple):
    """Scaled error f (rows,), −df/dq (rows, n), and the norms of what is asked of position [m] and rotation [rad]."""

    f: Traced
    J: Traced
    position: Scalar
    rotation: Scalar


def measure(
    robot: Robot, body: int | None, q: Traced, goal: Traced, aim: Aim, length: float, at: ElbowPlaces | None = None
) -> AimError:
    """Compare the frame at q (n,) with a goal (12,) or, with the elbow, (13,); `length` weighs metres against radians.

    `at` are shoulder, elbow and wrist, found for the robot if not given.
    """
    T, J = pose_jacobian(robot, q, body)
    target = np.array([[goal[3 * i], goal[3 * i + 1], goal[3 * i + 2], goal[9 + i]] for i in range(3)])
    e = pose_error(T, target)
    J = J if max(aim.axes) < 3 else error_jacobian(e, J)
    if aim.axes not in (POSE.axes, POSITION.axes) or len(set(aim.weights)) > 1:  # else the axes do not matter
        R = target[:, :3].T
        e, J = np.concatenate([R @ e[:3], R @ e[3:]]), np.concatenate([R @ J[:3], R @ J[3:]])
    scale = np.array([1.0 / length] * 3 + [1.0] * 3) * aim.weights
    chosen = list(aim.axes)
    f, rows = e[chosen] * scale[chosen], J[chosen] * scale[chosen, None]
    position = _norm([e[k] for k in chosen if k < 3])
    rotation = _norm([e[k] for k in chosen if k >= 3])
    if aim.elbow:
        angle, row = swivel(robot, q, places(robot) if at is None else at)
        miss = np.arctan2(np.sin(goal[12] - angle), np.cos(goal[12] - angle))
        f, rows = np.concatenate([f, [miss]]), np.concatenate([rows, row[None]])
        rotation = np.maximum(rotation, np.abs(miss))
    return AimError(f, rows, position, rotation)


def _norm(parts: list[Any]) -> Scalar:
    if not parts:
        return 0.0
    v = np.array(parts)
    return np.sqrt(dot(v, v))
