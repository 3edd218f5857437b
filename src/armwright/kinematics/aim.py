# SPDX-License-Identifier: Apache-2.0
"""What inverse kinematics is asked for: which axes of the goal, with what weights, and the elbow of seven-axis arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.kinematics.elbow import Places, places, swivel
from armwright.kinematics.jacobian import pose_jacobian
from armwright.kinematics.pose_error import error_jacobian, pose_error
from armwright.spatial.vectors import dot

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Traced

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
    """Return the checked aim of what a user asked for."""
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


class Measured(NamedTuple):
    """Scaled error f (rows,), −df/dq (rows, n), and the norms of what is asked of position [m] and rotation [rad]."""

    f: Traced
    J: Traced
    position: Traced
    rotation: Traced


def measure(
    robot: Robot, body: int | None, q: Traced, goal: Traced, aim: Aim, length: float, at: Places | None = None
) -> Measured:
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
    return Measured(f, rows, position, rotation)


def _norm(parts: list[Any]) -> Traced:
    if not parts:
        return 0.0
    v = np.array(parts)
    return np.sqrt(dot(v, v))
