# SPDX-License-Identifier: Apache-2.0
"""From cells to joint motion: inverse kinematics on one branch, splines, and their pace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.kinematics import fk, ik
from armwright.motion import Trajectory, piecewise_quintic, quintic_spline
from armwright.motion.reference import Reference
from armwright.planning.waypoints import path_points

if TYPE_CHECKING:
    from armwright.planning.grid.occupancy import GridMap
    from armwright.planning.grid.path_plan import PathPlan
    from armwright.robot.model import Robot
    from armwright.types import Array

LARGEST_STEP = 1.2  # [rad] between neighbouring waypoints; more is another branch
SHORTEST = 0.1  # [s] of a segment
SAMPLES_000 = 100  # of a segment's table
SAME = 1e-7  # [rad] waypoints nearer than this are one


@dataclass(frozen=True, eq=False)
class Hand:
    """The arm that FK and IK see, and how its tool is held: orientation R (3, 3)."""

    robot: Robot
    rotation: Array

    def place(self, q: Any) -> Array:
        """Tool positions (..., 3) at q (..., n)."""
        return np.asarray(fk(self.robot, q)[..., :3, 3])

    def postures(self, points: Any, near: Any, names: Sequence[str]) -> Array:
        """Return joint rows (m, n) with the tool at points (m, 3), each on the branch nearest to the row before.

        Raises:
            InputError: a point is out of reach, or only reached by jumping to another branch; it is named.
        """
        if not len(points):
            return np.zeros((0, self.robot.n))
        T = np.tile(np.eye(4), (len(points), 1, 1))
        T[:, :3, :3], T[:, :3, 3] = self.rotation, points
        found: Any = ik(self.robot, T, seed=near, limits=False)
        out, q = [], np.asarray(near, dtype=np.float64)
        for k, name in enumerate(names):
            if found.count[k] == 0:
                raise InputError(
                    f"explore: the {name} at {np.round(points[k], 4).tolist()} m cannot be reached: {found[k].message}"
                )
            turned = found.solutions[k, : found.count[k]] - q
            turned = np.mod(turned + np.pi, 2.0 * np.pi) - np.pi
            size = np.abs(turned).max(axis=1)
            best = int(np.argmin(size))
            if size[best] > LARGEST_STEP and k > 0:
                raise InputError(
                    f"explore: the {name} at {np.round(points[k], 4).tolist()} m is reached only by a jump of "
                    f"{size[best]:.2f} rad to another branch of the inverse kinematics; begin on another one (seed_q)"
                )
            q = q + turned[best]
            beyond = np.flatnonzero((q > self.robot.upper + 1e-9) | (q < self.robot.lower - 1e-9))
            if len(beyond):
                joint = self.robot.joints[beyond[0]].name
                raise InputError(
                    f"explore: the {name} at {np.round(points[k], 4).tolist()} m takes joint {joint} beyond its limit, "
                    f"to {q[beyond[0]]:.3f}; begin with another seed_q"
                )
            out.append(q)
        return np.array(out)


def published_motion(hand: Hand, grid: GridMap, plan: PathPlan, q: Any, qd: Any, pace: float) -> Trajectory:
    """Splines from the desired state (q, qd) through the centres of the path's cells (000 §3.10–3.12)."""
    cells = list(plan.path)
    if np.linalg.norm(grid.grid.centre(cells[0]) - hand.place(q)) < 1e-6:
        cells = cells[1:]  # the arm is there already: a waypoint twice has no spline
    points = np.array([grid.grid.centre(cell) for cell in cells]).reshape(-1, 3)
    rows = (
        np.concatenate([q[None], hand.postures(points, q, [f"cell {cell}" for cell in cells])])
        if cells
        else np.array([q, q + 1e-9])
    )
    seconds = float(np.floor(pace * len(rows) + 0.5)) or 1.0
    return piecewise_quintic(rows, seconds, qd0=qd)


def held_table(motion: Trajectory, tick: float) -> Trajectory:
    """Return a motion as 000 hands it on: a table of samples, each held until the next (000 §3.12).

    Position, velocity and acceleration are held each for itself, which no polynomial does; but a law that acts once a
    tick sees them at the ticks only. So every tick is the middle of a piece of its own, which has the held values
    there.

    Args:
        motion: splines, `SAMPLES_000` samples a piece.
        tick: control period [s].
    """
    step = motion.duration / (SAMPLES_000 * (len(motion.breaks) - 1))
    instants = tick * np.arange(int(np.ceil(motion.duration / tick)))
    q, qd, qdd = motion.evaluate(np.floor(instants / step + 1e-9) * step)
    breaks = np.concatenate([[0.0], instants[1:] - 0.5 * tick, [instants[-1] + 0.5 * tick]])
    x = (instants - breaks[:-1])[:, None]  # of the tick within its piece
    pieces = np.stack([q - qd * x + 0.5 * qdd * x * x, qd - qdd * x, 0.5 * qdd], axis=1)
    end = motion.evaluate(motion.duration).q
    rest = np.stack([end, 0.0 * end, 0.0 * end])[None]
    return Trajectory(np.append(breaks, breaks[-1] + tick), np.concatenate([pieces, rest]))


def path_rows(hand: Hand, grid: GridMap, plan: PathPlan, q: Any, *, cut: bool) -> Array:
    """Joint rows (m, n) after posture q along a planned path, corners cut (if `cut`) where legs stay in free cells."""
    size = float(np.min(np.asarray(grid.grid.cell_size)))
    points = path_points(grid, plan.path, start=hand.place(q), cut=cut, spacing=size)[1:]
    return hand.postures(points, q, [f"way to cell {plan.path[-1]}"] * len(points))


def timed_motion(hand: Hand, rows: Array, pace: float, size: float) -> tuple[Trajectory, Array]:
    """Return a spline from rest through rows (m, n), and the instants (m,) of the rows, some equal where rows coincide.

    Args:
        hand: the arm.
        rows: the first is where the reference is now.
        pace: seconds per cell.
        size: of a cell [m].
    """
    keep = np.concatenate([[True], np.abs(np.diff(rows, axis=0)).max(axis=1) > SAME])
    kept = rows[keep]
    if len(kept) == 1:
        kept = np.concatenate([kept, kept + 1e-9])
        return piecewise_quintic(kept, SHORTEST), np.zeros(len(rows))
    way = np.linalg.norm(np.diff(hand.place(kept), axis=0), axis=1)
    times = np.concatenate([[0.0], np.cumsum(np.maximum(way * (pace / size), SHORTEST))])
    return quintic_spline(kept, times, velocities="central"), times[np.cumsum(keep) - 1]


def glide(a: Reference, q1: Any, qd1: Any, seconds: float) -> Trajectory:
    """Return the cubic from the reference a (positions and velocities) to (q1, qd1) within `seconds`."""
    h = seconds
    d = (q1 - a.q) / h
    c2, c3 = (3.0 * d - 2.0 * a.qd - qd1) / h, (a.qd + qd1 - 2.0 * d) / (h * h)
    return Trajectory(np.array([0.0, h]), np.stack([a.q, a.qd, c2, c3])[None])
