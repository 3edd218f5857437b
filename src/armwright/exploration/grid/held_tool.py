# SPDX-License-Identifier: Apache-2.0
"""From cells to joint motion: the tool held in one orientation on one branch of inverse kinematics, at a given pace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.motion import piecewise_quintic
from armwright.planning.waypoints import joint_waypoints, path_points, waypoint_motion

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.motion import Trajectory
    from armwright.planning.grid.grid_map import GridMap
    from armwright.planning.grid.path_plan import PathPlan
    from armwright.robot.model import Robot
    from armwright.types import Array

SHORTEST_SEGMENT = 0.1  # [s] of a segment, fifty ticks of 500 Hz: less is a jerk where two waypoints nearly coincide
SAME_JOINTS_DISTANCE = 1e-7  # [rad] waypoints nearer than this are one: a hundredth of what a UR5's sensors resolve


@dataclass(frozen=True, eq=False)
class HeldTool:
    """The arm that FK and IK see, and how its tool is held: orientation R (3, 3)."""

    robot: Robot
    rotation: Array

    def place(self, q: ArrayLike) -> Array:
        """Return tool positions (..., 3) at q (..., n)."""
        return np.asarray(fk(self.robot, q)[..., :3, 3])

    def configurations(self, points: Array, near: Array, names: Sequence[str]) -> Array:
        """Return joint rows (m, n) with the tool at points (m, 3), each on the branch nearest to the previous row.

        Raises:
            InputError: a point is out of reach, or only reached by jumping to another branch; it is named.
        """
        if not len(points):
            return np.zeros((0, self.robot.n))
        try:
            return joint_waypoints(
                self.robot, points, near, R_tool=self.rotation, first_step=np.inf, names=[f"the {n}" for n in names]
            )
        except InputError as error:
            raise InputError(f"explore: {error}") from None


def path_rows(tool: HeldTool, grid: GridMap, plan: PathPlan, q: Array, *, cut: bool) -> Array:
    """Return joint rows (m, n) after q along a planned path; corners are cut (if `cut`) where legs stay free."""
    size = float(np.min(np.asarray(grid.grid.cell_size)))
    points = path_points(grid, plan.path, start=tool.place(q), cut=cut, spacing=size)[1:]
    return tool.configurations(points, q, [f"way to cell {plan.path[-1]}"] * len(points))


def paced(tool: HeldTool, rows: Array, pace: float, size: float) -> tuple[Trajectory, Array]:
    """Return a spline from rest through rows (m, n), and the instants (m,) of the rows, some equal where rows coincide.

    Args:
        tool: sets the pace.
        rows: the first is where the reference is now.
        pace: seconds per cell.
        size: of a cell [m].
    """
    keep = np.concatenate([[True], np.abs(np.diff(rows, axis=0)).max(axis=1) > SAME_JOINTS_DISTANCE])
    kept = rows[keep]
    if len(kept) == 1:
        return piecewise_quintic(np.concatenate([kept, kept + 1e-9]), SHORTEST_SEGMENT), np.zeros(len(rows))
    way = np.linalg.norm(np.diff(tool.place(kept), axis=0), axis=1)
    times = np.concatenate([[0.0], np.cumsum(np.maximum(way * (pace / size), SHORTEST_SEGMENT))])
    return waypoint_motion(tool.robot, kept, times=times), times[np.cumsum(keep) - 1]
