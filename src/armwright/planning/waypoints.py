# SPDX-License-Identifier: Apache-2.0
"""A path of cells made into a motion: cut corners, waypoints, inverse kinematics on one branch, splines, timing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import frozen_numbers, names_culprit
from armwright.errors import InputError
from armwright.kinematics.forward import fk
from armwright.kinematics.ik_classification import ik_class
from armwright.kinematics.ik_limits import fit_turns
from armwright.kinematics.ik_result import IKBatch, IKResult
from armwright.kinematics.inverse import ik
from armwright.motion.scaling import stretch, velocity_factor
from armwright.motion.splines import quintic_spline
from armwright.planning.grid.grid_map import GridMap
from armwright.planning.grid.line_of_sight import cut_corners

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.motion.trajectory import Trajectory
    from armwright.robot.model import Robot
    from armwright.types import Array

    Cell = tuple[int, ...]

MOST_STEP = 1.0  # [rad, m] between neighbours: branches of inverse kinematics lie farther apart, cells much closer
BISECTIONS = 12  # of the duration: 2⁻¹² of it is less than any limit is known to
SAME_ROW_DISTANCE = 1e-12  # [rad, m] rows that differ by less are one


@names_culprit
def path_points(
    where: GridMap,
    path: Sequence[ArrayLike],
    *,
    start: ArrayLike | None = None,
    cut: bool = True,
    spacing: float | None = None,
) -> Array:
    """Return tool positions (N, 3) [m] along a path of cells.

    Args:
        where: the map on which the path was planned.
        path: cells, numbered as the map counts.
        start: where the tool is (3,), put before the cell centres; leave out if it is the first centre.
        cut: cut corners; every leg then touches free cells only (see `cut_corners`). False keeps every cell centre.
        spacing: put further points on the legs so that neighbours are at most this far apart [m]; a joint motion
            between far waypoints leaves the straight line.

    >>> points = path_points(where, planner("dijkstra")(where, (2, 2), (9, 5)).path)
    """
    cells = [tuple(int(c) for c in np.asarray(cell)) for cell in path]
    if not cells:
        raise InputError("path: it is empty; plan again, or look at the plan's status")
    for cell in cells:
        where.grid.index(cell, "path")
    points = where.grid.centre(np.array(cells))
    places: list[tuple[float, ...]] = [tuple(c - where.grid.first for c in cell) for cell in cells]
    if start is not None:
        p = frozen_numbers(start, (3,), "start")
        points = np.vstack([p, points])
        places.insert(0, tuple((where.grid.coordinates(p) - where.grid.first).tolist()))
    if cut:
        points = points[cut_corners(where.blocked(), places)]
    return points if spacing is None else densified(points, spacing)


@names_culprit
def densified(points: ArrayLike, spacing: float) -> Array:
    """Return the polyline with points added so that neighbours are at most `spacing` apart; corners stay.

    >>> densified([[0.0, 0.0], [1.0, 0.0]], 0.5)[:, 0]
    array([0. , 0.5, 1. ])
    """
    P = np.asarray(points, dtype=np.float64)
    if not (np.isfinite(spacing) and spacing > 0.0):
        raise InputError(f"spacing: must be finite and > 0, got {spacing!r}")
    parts = [P[:1]]
    for a, b in pairwise(P):
        n = max(1, int(np.ceil(np.linalg.norm(b - a) / spacing - 1e-9)))
        parts.append(a + (b - a) * (np.arange(1, n + 1) / n)[:, None])
    return np.concatenate(parts)


def apart(path: Array, least: float) -> Array:
    """Return rows of a polyline (N, n), its ends among them, of which neighbours differ by `least` or more."""
    kept = [0]
    for k in range(1, len(path) - 1):
        if min(np.abs(path[k] - path[other]).max() for other in (kept[-1], -1)) >= least:
            kept.append(k)
    return path[[*kept, len(path) - 1]]


@names_culprit
def joint_waypoints(
    robot: Robot,
    points: ArrayLike,
    q_start: ArrayLike,
    *,
    R_tool: ArrayLike | None = None,
    most_step: float = MOST_STEP,
    first_step: float | None = None,
    names: Sequence[str] | None = None,
) -> Array:
    """Return joint rows (N, n) that bring the tool to points (N, 3) with one orientation, without a branch jump.

    Each row is the solution nearest to the row before (full turns included), the first to `q_start`.

    Args:
        robot: the arm.
        points: tool positions, base frame [m].
        q_start: where the arm is (n,).
        R_tool: tool orientation in the base frame (3, 3), kept throughout; that at `q_start` by default.
        most_step: largest change of a joint between neighbours [rad or m]; more counts as a jump.
        first_step: the same for the change from `q_start` to the first row; `most_step` by default.
        names: names of the points, for messages.

    Raises:
        InputError: names the waypoint that cannot be reached, or only by a jump.

    >>> Q = joint_waypoints(robot, points, q)
    """
    P = np.asarray(points, dtype=np.float64)
    if P.ndim != 2 or P.shape[1] != 3 or not P.size or not np.isfinite(P).all():
        raise InputError(f"points: expected finite positions of shape (N, 3), got {P.shape}")
    q = frozen_numbers(q_start, (robot.n,), "q_start")
    T = np.zeros((len(P), 4, 4))
    R = fk(robot, q)[:3, :3] if R_tool is None else frozen_numbers(R_tool, (3, 3), "R_tool")
    T[:, :3, :3], T[:, :3, 3], T[:, 3, 3] = R, P, 1.0

    def place(k: int) -> str:
        name = f"waypoint {k} of {len(P)}" if names is None else names[k]
        return f"{name} at {np.round(P[k], 4).tolist()} m"

    closed = ik_class(robot).name != "general"
    batch = ik(robot, T, seed=q) if closed else None  # numeric searches start from the row before, one by one
    solved = batch.ok if isinstance(batch, IKBatch) else None
    rows = []
    for k in range(len(P)):
        if isinstance(batch, IKBatch) and solved is not None and solved[k]:
            solutions = batch.solutions[k, : batch.count[k]]
        else:
            answer = batch[k] if isinstance(batch, IKBatch) else ik(robot, T[k], seed=q)
            assert isinstance(answer, IKResult)
            if not answer.ok:
                raise InputError(f"{place(k)} cannot be reached: {answer.message}")
            solutions = answer.solutions
        fitted = fit_turns(robot, solutions, np.broadcast_to(q, solutions.shape), True)
        usable = fitted.q[fitted.inside]
        step = np.abs(usable - q).max(axis=1)
        best = int(np.argmin(step))
        most = most_step if k or first_step is None else first_step
        if step[best] > most:
            raise InputError(
                f"{place(k)}: the nearest configuration is {step[best]:.3g} from the one before, more than {most}: "
                "it lies on another branch; go around, or allow a larger most_step"
            )
        q = usable[best]
        rows.append(q)
    return np.array(rows)


@names_culprit
def waypoint_motion(
    robot: Robot,
    Q: ArrayLike,
    *,
    qd0: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    duration: float | None = None,
    times: ArrayLike | None = None,
    scheme: str = "central",
) -> Trajectory:
    """Return a motion through joint rows (N, n).

    Args:
        robot: the arm.
        Q: waypoints; repeated neighbours are dropped.
        qd0: velocity that the arm already has (n,); taken over without a jump.
        velocity: joint limits, scalar or (n,); the robot's own by default.
        acceleration: joint limits; the robot's own by default.
        duration: total time [s] instead of the limits.
        times: when to be at each waypoint (N,) [s] instead of the limits, from 0 on; then none is dropped.
        scheme: "central" (quintic spline, central-difference velocities, jerk continuous) or "smooth" (C4 spline, may
            swing out more).

    >>> waypoint_motion(robot, [q, q + 0.2, q + 0.1]).duration
    """
    if scheme not in ("central", "smooth"):
        raise InputError(f"scheme must be 'central' or 'smooth', got {scheme!r}")
    rows = np.asarray(Q, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != robot.n:
        raise InputError(f"Q: expected shape (N, {robot.n}), got {rows.shape}")
    if times is not None:
        return quintic_spline(rows, times, velocities=scheme, qd0=qd0)
    rows = rows[np.concatenate([[True], np.abs(np.diff(rows, axis=0)).max(axis=1) > SAME_ROW_DISTANCE])]

    def build(T: float) -> Trajectory:
        return quintic_spline(rows, T, velocities=scheme, qd0=qd0)

    if duration is not None:
        return build(duration)
    kv = [joint.limits.velocity for joint in robot.joints] if velocity is None else velocity
    ka = [joint.limits.acceleration for joint in robot.joints] if acceleration is None else acceleration
    if not (np.isfinite(kv).any() or np.isfinite(ka).any()):
        raise InputError(f"robot {robot.name!r} has no velocity limits; give velocity, acceleration or duration")
    if qd0 is None or not np.asarray(qd0).any():
        motion = build(1.0)
        return stretch(motion, velocity_factor(motion, kv, ka))
    return _shortest_takeover(build, kv, ka)


def _shortest_takeover(build: Callable[[float], Trajectory], kv: ArrayLike, ka: ArrayLike) -> Trajectory:
    """Return the quickest motion within limits that starts at speed: stretching time would change that speed."""
    high = 0.1
    while velocity_factor(build(high), kv, ka) > 1.0:
        high *= 2.0
        if high > 1e5:
            raise InputError("qd0: the limits cannot be kept however slow the motion; the start is too fast for them")
    low = 0.5 * high
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if velocity_factor(build(middle), kv, ka) <= 1.0 else (middle, high)
    return build(high)


@names_culprit
def blocked_on_the_way(robot: Robot, motion: Trajectory, where: GridMap, *, samples: int = 2000) -> list[Cell]:
    """Return blocked cells that the tool enters during a motion (by forward kinematics at `samples` instants).

    The legs of a path are proved free; the joint spline between waypoints deviates from them, so it is checked.
    Cells outside the grid do not count.

    >>> blocked_on_the_way(robot, motion, where)
    """
    t = np.linspace(0.0, motion.duration, samples)
    cells = where.grid.cell(fk(robot, motion.evaluate(t).q)[:, :3, 3])
    cells = np.unique(cells[where.grid.inside(cells)], axis=0)
    mask = where.blocked()
    return [tuple(c) for c in cells.tolist() if mask[tuple(x - where.grid.first for x in c)]]
