# SPDX-License-Identifier: Apache-2.0
"""Plans made into motions and checked once more: the tool through a map, the whole arm among obstacles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import frozen_numbers, names_culprit
from armwright.errors import InputError
from armwright.kinematics.forward import fk
from armwright.planning.grid.grid_map import GridMap
from armwright.planning.grid.path_plan import GridPlanner, PathPlan
from armwright.planning.waypoints import (
    apart,
    blocked_on_the_way,
    densified,
    joint_waypoints,
    path_points,
    waypoint_motion,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.motion.trajectory import Trajectory
    from armwright.planning.joint.whole_arm import WholeArm
    from armwright.robot.model import Robot
    from armwright.types import Array

REFINEMENTS = 6  # times that spacing is halved: 64 times as many points bring a spline onto the polyline
SAME_POSITION_DISTANCE = 1e-9  # [m]


@dataclass(frozen=True, slots=True, eq=False)
class MotionPlan:
    """A path through a map and the motion along it.

    Attributes:
        plan: what the grid planner answered.
        points: tool positions (N, 3) [m], the present one first; (0, 3) without a path.
        waypoints: joint rows (N, n), the present one first; (0, n) without a path.
        motion: the trajectory, or None if there is no path or nothing to move.
        touched: blocked cells that the tool enters on the way (other than the one it starts in), () if none.
        message: one sentence for a person.
    """

    plan: PathPlan
    points: Array
    waypoints: Array
    motion: Trajectory | None
    touched: tuple[tuple[int, ...], ...]
    message: str

    @property
    def ok(self) -> bool:
        """Whether there is a path and the tool keeps to free cells on it."""
        return self.plan.ok and not self.touched


@names_culprit
def plan_motion(
    robot: Robot,
    where: GridMap,
    planner: GridPlanner,
    q_start: ArrayLike,
    goal: ArrayLike,
    *,
    start: ArrayLike | None = None,
    R_tool: ArrayLike | None = None,
    cut: bool = True,
    **motion_options: Any,
) -> MotionPlan:
    """Plan from where the arm is to a cell and make the path a motion, its corners cut.

    Points on the legs are one cell apart. If the joint spline leaves the free cells between them, they are put closer.

    Args:
        robot: the arm.
        where: the map.
        planner: `Hopfield()`, `Dijkstra()`, …
        q_start: joint row (n,) where the motion begins.
        goal: cell.
        start: cell where the path begins, for example after a back-off; the tool's own by default.
        R_tool: orientation of the tool; that at `q_start` by default.
        cut: cut corners; False goes through every cell's centre.
        **motion_options: options of `waypoint_motion`: qd0, velocity, acceleration, duration, scheme.

    >>> plan_motion(robot, where, planner("hopfield"), q, goal).motion
    """
    q = frozen_numbers(q_start, (robot.n,), "q_start")
    here = fk(robot, q)[:3, 3]
    begin = tuple(where.grid.cell(here).tolist())
    plan = planner(where, begin if start is None else start, goal)
    if not plan.ok:
        return MotionPlan(plan, np.zeros((0, 3)), np.zeros((0, robot.n)), None, (), plan.message)
    spacing = float(np.min(where.grid.cell_size)) if cut else None
    first = spacing
    for _ in range(REFINEMENTS if cut else 1):
        points = path_points(where, plan.path, start=here, cut=cut, spacing=spacing)
        if np.abs(points[1:] - here).max(initial=0.0) < SAME_POSITION_DISTANCE:
            return MotionPlan(plan, points[:1], q[None], None, (), "already there")
        if np.abs(points[1] - here).max() < SAME_POSITION_DISTANCE and cut:
            points = np.delete(points, 1, axis=0)
        rows = np.vstack([q, joint_waypoints(robot, points[1:], q, R_tool=R_tool)])
        motion = waypoint_motion(robot, rows, **motion_options)
        touched = tuple(c for c in blocked_on_the_way(robot, motion, where) if c != begin)
        if not touched or spacing is None:
            break
        spacing /= 2.0
    text = f"{plan.message}; {len(rows)} waypoints, {motion.duration:.3g} s"
    if touched:
        text += f"; the tool touches blocked cells {', '.join(map(str, touched))}"
    elif spacing != first:
        text += f", points {spacing:.3g} m apart to keep to free cells"
    return MotionPlan(plan, points, rows, motion, touched, text)


@names_culprit
def free_motion(
    robot: Robot, arm: WholeArm, path: ArrayLike, *, samples: int = 1000, **motion_options: Any
) -> tuple[Trajectory, float]:
    """Return a motion along a collision-free joint polyline (N, n), and its smallest clearance [m].

    A spline rounds the corners of the polyline; if that makes the arm touch, points are added on the straight pieces
    until it does not.

    Args:
        robot: the arm.
        arm: arm among obstacles.
        path: the path of a `JointPlan`.
        samples: instants to look at.
        **motion_options: options of `waypoint_motion`: qd0, velocity, acceleration, duration, scheme.

    Raises:
        InputError: if the arm touches however close the points are.

    >>> motion, clearance = free_motion(robot, arm, plan.path)
    """
    Q = np.asarray(path, dtype=np.float64)
    if Q.ndim != 2 or len(Q) < 2 or Q.shape[1] != robot.n:
        raise InputError(f"path: expected at least two rows of shape (N, {robot.n}), got {Q.shape}")
    longest = max(float(np.linalg.norm(np.diff(Q, axis=0), axis=1).max()), 1e-9)
    least = 0.0

    def free(motion: Trajectory) -> bool:
        nonlocal least
        least = float(arm.clearance(motion.evaluate(np.linspace(0.0, motion.duration, samples)).q).min())
        return least > 0.0

    spacings = [longest / 2.0**k for k in range(REFINEMENTS + 1)]
    motion, found = drawn_to(Q, spacings, lambda rows: waypoint_motion(robot, rows, **motion_options), free)
    if found:
        return motion, least
    raise InputError(
        f"path: the arm comes {-least:.3g} m too close on the spline even with points {spacings[-1]:.3g} apart; "
        "plan with a larger margin"
    )


def drawn_to(
    path: Array,
    spacings: Sequence[float],
    make: Callable[[Array], Trajectory],
    free: Callable[[Trajectory], bool],
    *,
    close: float = 0.0,
) -> tuple[Trajectory, bool]:
    """Return a motion through more and more points of a polyline until it stays free, and whether it does.

    Args:
        path: polyline (N, n).
        spacings: distances between points to try in order; the last is kept if none will do.
        make: makes the motion through points (m, n).
        free: says whether a motion is free.
        close: share of a spacing; of corners closer than that one is kept: a spline through both would loop.
    """
    for spacing in spacings:
        motion = make(densified(apart(path, close * spacing), spacing))
        if free(motion):
            return motion, True
    return motion, False
