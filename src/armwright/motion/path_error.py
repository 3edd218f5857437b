# SPDX-License-Identifier: Apache-2.0
"""The error that says why and where an arm cannot follow a path: reach, singularity, joint limit, change of branch."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from armwright.errors import InputError
from armwright.kinematics import ik, jacobian
from armwright.kinematics.extent import weights
from armwright.kinematics.ik_limits import SLACK
from armwright.motion.trajectory import extreme

if TYPE_CHECKING:
    from armwright.motion.tool_path import ToolPath
    from armwright.motion.trajectory import Trajectory
    from armwright.robot.model import Robot
    from armwright.types import Array


class PathError(InputError):
    """The arm cannot follow a tool path.

    Attributes:
        sigma: where on the path [m].
        joint: index of the joint to blame.
        reason: "reach", "singular", "limit", "jump", or "lag" (of `track_path`: too little gain for the step).
        what: the message without the place.
        q: (n,) the joints there, or shortly before.
    """

    def __init__(self, what: str, *, sigma: float, joint: int, reason: str, q: Array) -> None:
        """Compose ``path: at 12.3 mm what``."""
        self.what, self.sigma, self.joint, self.reason, self.q = what, sigma, joint, reason, q
        super().__init__(f"path: at {1e3 * sigma:.1f} mm {what}")


def joint_name(robot: Robot, j: int) -> str:
    """Return how messages name a joint, counted from 1."""
    return f"joint {j + 1} ({robot.joints[j].name!r})"


def _leader(robot: Robot, q: Array) -> int:
    """Return the joint that leads the motion that moves the tool least."""
    Vt = np.linalg.svd(jacobian(robot, q) * weights(robot)[:, None])[2]
    return int(np.argmax(np.abs(Vt[-1])))


def refuse_reach(robot: Robot, path: ToolPath, flange: Array, low: float, high: float, q: Array) -> NoReturn:
    """Raise where the path, in reach at `low` and not at `high`, leaves the workspace; found by bisection."""
    for _ in range(20 if high > low else 0):
        middle = 0.5 * (low + high)
        found: Any = ik(robot, path.at(middle).T @ flange, seed=q, limits=False, restarts=0)
        low, high = (middle, high) if len(found) else (low, middle)
    end: Any = ik(robot, path.at(path.length).T @ flange, seed=q, limits=False)
    missed = (
        ""
        if len(end)
        else (
            f"; the end of the path is out of reach by {1e3 * end.closest_position_error:.1f} mm and "
            f"{np.degrees(end.closest_rotation_error):.1f}°"
        )
    )
    j = _leader(robot, q)
    what = f"the tool is at the end of the reach of {robot.name!r}, {joint_name(robot, j)} is stretched out{missed}"
    raise PathError(what, sigma=low, joint=j, reason="reach", q=q)


def refuse_singular(robot: Robot, sigma: float, q: Array, ratio: float) -> NoReturn:
    """Raise for a singular configuration on the path."""
    j = _leader(robot, q)
    what = (
        f"{robot.name!r} is singular: the motion led by {joint_name(robot, j)} does not move the tool (conditioning "
        f"{ratio:.1g}) at q = {_degrees(robot, q)}"
    )
    raise PathError(what, sigma=sigma, joint=j, reason="singular", q=q)


def refuse_jump(robot: Robot, sigma: float, q: Array, after: Array) -> NoReturn:
    """Raise for a path that continues only on another branch."""
    j = int(np.argmax(np.abs(after - q)))
    what = (
        f"the branch of inverse kinematics ends: {joint_name(robot, j)} would have to jump by "
        f"{np.degrees(abs(after[j] - q[j])):.0f}° at q = {_degrees(robot, q)}"
    )
    raise PathError(what, sigma=sigma, joint=j, reason="jump", q=q)


def check_limits(robot: Robot, motion: Trajectory) -> None:
    """Raise at the first place where joints along a path leave their ranges."""
    if not (np.isfinite(robot.lower).any() or np.isfinite(robot.upper).any()):
        return
    hull = _control_points(motion)
    if ((hull >= robot.lower) & (hull <= robot.upper)).all():
        return  # a polynomial stays within its control points; nearly all pass here, without a search for roots
    upper, lower = extreme(motion.breaks, motion.coefficients)[0], -extreme(motion.breaks, -motion.coefficients)[0]
    if ((lower >= robot.lower - SLACK) & (upper <= robot.upper + SLACK)).all():
        return
    s = np.unique(np.concatenate([motion.breaks, np.linspace(0.0, motion.duration, 20 * motion.breaks.size)]))
    q = motion.evaluate(s).q
    outside = (q < robot.lower - SLACK) | (q > robot.upper + SLACK)
    k = int(np.argmax(outside.any(axis=1)))
    j = int(np.argmax(outside[k]))
    extremes = np.where(q[k] < robot.lower, lower, upper)
    what = (
        f"{joint_name(robot, j)} of {robot.name!r} leaves its range [{np.degrees(robot.lower[j]):.1f}°, "
        f"{np.degrees(robot.upper[j]):.1f}°]: the path goes to {np.degrees(extremes[j]):.1f}°"
    )
    raise PathError(what, sigma=float(s[k]), joint=j, reason="limit", q=q[k])


def _control_points(motion: Trajectory) -> Array:
    """Bernstein coefficients (m, degree+1, n) of the pieces."""
    d = motion.degree
    to = np.array([[comb(i, k) / comb(d, k) for k in range(d + 1)] for i in range(d + 1)])
    powers = np.diff(motion.breaks)[:, None] ** np.arange(d + 1)
    return np.asarray(np.einsum("ik,mk,mkn->min", to, powers, motion.coefficients))


def _degrees(robot: Robot, q: Array) -> str:
    scale = np.array([180.0 / np.pi if joint.kind == "revolute" else 1e3 for joint in robot.joints])
    return "(" + ", ".join(f"{value:.1f}" for value in q * scale) + ")°"
