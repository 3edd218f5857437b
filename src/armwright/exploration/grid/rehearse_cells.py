# SPDX-License-Identifier: Apache-2.0
"""Thresholds for a run on a grid: contact-free motion over the same map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.exploration.grid.tool_path import HeldTool, paced
from armwright.exploration.learning import MOTIONS, learned_from
from armwright.planning.waypoints import MOST_STEP

if TYPE_CHECKING:
    from armwright.contact.detectors import ThresholdFit
    from armwright.exploration.setup import Setup
    from armwright.planning.grid.occupancy import GridMap
    from armwright.robot.model import Robot
    from armwright.types import Array

POINTS = 40  # of a motion: at half a second per cell a minute at most, and an eighth of the UR5's 324 cells
STRIDE = 3  # cells between configurations at most: longer ways leave the map between them
TRIES = 10  # times the points that are looked for: inverse kinematics may find none at many of them


def learned_on_grid(setup: Setup, tool: HeldTool, grid: GridMap, pace: float) -> ThresholdFit:
    """Move the arm over the map without obstacles and learn what the observer says then; see `learn_thresholds`.

    Motions begin in random cells and lead to random cells, so that they cover the map as the runs will: thresholds that
    were learned in one corner of it are too tight in another, where the arm is stretched and its inertia larger.
    What was learned is kept with the robot: the same question a second time costs nothing.

    Args:
        setup: the loop; its surroundings are left out.
        tool: the arm that FK and IK see.
        grid: the map: the motions lead through its cells.
        pace: seconds per cell.
    """

    def learn(_: Robot) -> ThresholdFit:
        size = float(np.min(np.asarray(grid.grid.cell_size)))
        motions = []
        for k in range(MOTIONS):
            rows = _wander(tool, grid, setup.q0, np.random.default_rng([setup.learn_seed, 7, k]))
            motions.append(paced(tool, rows, pace, size)[0])
        return learned_from(motions, setup)

    loop, g = setup.quiet().key(), grid.grid
    if loop is None:
        return learn(setup.robot)
    arrays = (setup.q0, tool.rotation, g.origin, g.axes, g.cell_size, grid.blocked())
    bits = tuple(np.asarray(a).tobytes() for a in arrays)
    key = ("thresholds", loop, tool.robot, g.shape, g.first, pace, setup.substeps, setup.learn_seed, *bits)
    return setup.robot.memo(key, learn)


def _wander(tool: HeldTool, grid: GridMap, q0: Any, rng: np.random.Generator) -> Array:
    """Configurations (m, n) from a random cell to others, a few cells at a time; from q0 where IK finds none."""
    g = grid.grid
    free = np.argwhere(~grid.blocked()) + g.first
    rows, here, goal = [q0], g.cell(tool.place(q0)), free[rng.integers(len(free))]
    begun = False
    for _ in range(TRIES * POINTS):
        if len(rows) > POINTS:
            break
        near = free[np.abs(free - here).max(axis=1) <= STRIDE]
        cell = goal if not begun else near[int(np.argmin(np.linalg.norm(near - goal, axis=1)))]
        try:
            row = tool.configurations(g.centre(cell)[None], rows[-1], ["cell"])[0]
        except InputError:
            row = None
        if row is not None and (not begun or np.abs(row - rows[-1]).max() < MOST_STEP):
            rows = [*rows, row] if begun else [row]
            here, begun = cell, True
        if row is None or (here == goal).all():
            goal = free[rng.integers(len(free))]
    return np.array(rows)
