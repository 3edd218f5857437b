# SPDX-License-Identifier: Apache-2.0
"""What 000 is about: its arm, the arm its dynamics describe, its settings and its map (Table 3.2, eq. 6.13, C.2.2).

`patch` is the empty map, `START_CELL` and `GOAL_CELL` are cells of it. `step_back`, `generated` and `held_table` are
how the report's generator steps back and hands its motion on.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.motion import Trajectory, piecewise_quintic
from armwright.planning.grid.grid import Grid
from armwright.planning.grid.grid_map import GridMap
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.types import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

q_0 = np.array([2.5511, -1.1193, 2.5706, 0.1196, 1.5708, -0.5905])
"""Start posture, hard-coded in the report's generator."""
R_t = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
omega = np.array([22.5, 22.5, 37.5, 60.0, 67.5, 75.0])
K_0, K_1 = omega**2, 2.0 * omega
f_min, beta = 12.0, 0.1

q_t = np.array([0.3, -0.7, 0.9, -0.4, 1.1, 0.2])
qd_t = np.array([0.5, -1.0, 0.8, 1.2, -0.7, 0.9])
qdd_t = np.array([1.0, 0.5, -1.5, 2.0, 0.7, -1.0])
"""A state without symmetries, for comparing formulas; not the report's."""


@cache
def arm() -> Robot:
    """Return the UR5 of the report's tables."""
    return load("ur5-ragazzon")


@cache
def reduced() -> Robot:
    """Return the arm of the report's printed equations: m3 = m5 = 0, r_23 = r_45 = 0. For dynamics only."""
    return load("ur5-ragazzon-published")


MISSING_LINKS = "links 3 and 5 have neither mass forces nor offsets in the framework's recursion"
"""The fault behind most items in error."""


def postures(count: int = 50) -> Array:
    """Return postures (count, 6) [rad] for comparing formulas, the same every time."""
    return np.random.default_rng(0).uniform(-np.pi, np.pi, (count, 6))


Cell = tuple[int, ...]
START_CELL, GOAL_CELL = (2, 11), (18, 7)
SEGMENT_SAMPLES = 100  # of a segment's table: m of C.2.2


def patch(*, ring: bool = True, radius: float = 0.0) -> GridMap:
    """Return the empty 20×20 map of 000 eq. 6.13: x = 0.0263 u + 0.1238, y = 0.0263 v − 0.2762, z = 0; cells from 1."""
    grid = Grid((20, 20), np.array([0.1238, -0.2762, 0.0]), None, 0.0263, 1)
    return GridMap(grid, ring=ring, radius=radius)


@names_culprit
def step_back(cell: ArrayLike, velocity: ArrayLike) -> Cell:
    """Step one cell back against the dominant axis of the velocity, then c_u ≥ 2 and no other clamp (000 C.2.2).

    Args:
        cell: (u, v), counted from 1.
        velocity: desired flange velocity; its x and y count. Equal sizes go to v; sign(0) = 0, as in Matlab.
    """
    u, v = (int(c) for c in np.asarray(cell))
    vx, vy = (float(x) for x in np.asarray(velocity, dtype=np.float64)[:2])
    if not np.isfinite([vx, vy]).all():
        raise InputError(f"velocity: must be finite, got {[vx, vy]}")
    if abs(vx) > abs(vy):
        u -= int(np.sign(vx))
    else:
        v -= int(np.sign(vy))
    return max(u, 2), v


def generated(rows: Array, qd0: Array | None = None, pace: float = 0.5) -> Trajectory:
    """Return the splines of the report's generator through rows (N, n): equal times, round(N · pace) s (000 C.2.2)."""
    return piecewise_quintic(rows, float(np.floor(pace * len(rows) + 0.5)) or 1.0, qd0=qd0)


def held_table(motion: Trajectory, tick: float) -> Trajectory:
    """Return a motion as 000 hands it on: a table of samples, each held until the next (000 C.2.2).

    Position, velocity and acceleration are held each for itself, which no polynomial does; but a law that acts once per
    tick sees them at the ticks only. So every tick is the middle of a piece of its own, which has the held values
    there.

    Args:
        motion: splines, `SEGMENT_SAMPLES` samples per piece.
        tick: control period [s].
    """
    step = motion.duration / (SEGMENT_SAMPLES * (len(motion.breaks) - 1))
    instants = tick * np.arange(int(np.ceil(motion.duration / tick)))
    q, qd, qdd = motion.evaluate(np.floor(instants / step + 1e-9) * step)
    breaks = np.concatenate([[0.0], instants[1:] - 0.5 * tick, [instants[-1] + 0.5 * tick]])
    x = (instants - breaks[:-1])[:, None]  # position of the tick within its piece
    pieces = np.stack([q - qd * x + 0.5 * qdd * x * x, qd - qdd * x, 0.5 * qdd], axis=1)
    end = motion.evaluate(motion.duration).q
    rest = np.stack([end, 0.0 * end, 0.0 * end])[None]
    return Trajectory(np.append(breaks, breaks[-1] + tick), np.concatenate([pieces, rest]))
