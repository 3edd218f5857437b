# SPDX-License-Identifier: Apache-2.0
"""`explore_grid`: send the tool from cell to cell of a map; what it bumps into blocks cells.

`explore_grid` makes the job (`grid_job`), learns thresholds where the detector needs them (`learned_on_grid`:
contact-free motion over the same map), and lets `GridRun` do the job on a simulated ride.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.exploration.explore_options import Budget, ControlLoop, GridTask, Sensing, grid_task
from armwright.exploration.grid.grid_job import grid_job, grid_result
from armwright.exploration.grid.grid_rules import Rules
from armwright.exploration.grid.grid_run import GridRun
from armwright.exploration.grid.held_tool import HeldTool, paced
from armwright.exploration.surroundings import find_world, surroundings_of
from armwright.exploration.touch_sensing import (
    REHEARSED_MOTIONS,
    arm_of,
    doubt_of,
    knowing,
    learned_from,
    needs_learning,
    ride_of,
    said,
    self_knowledge,
    set_up,
)
from armwright.exploration.truth_told import truth_of
from armwright.planning.waypoints import MOST_STEP

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from armwright.contact.detectors import ThresholdFit
    from armwright.exploration.exploration_result import Exploration
    from armwright.exploration.exploration_run import Progress
    from armwright.exploration.explore_options import Reaction
    from armwright.exploration.model_doubt import SelfKnowledge
    from armwright.exploration.touch_sensing import Setup
    from armwright.planning.grid.grid_map import GridMap
    from armwright.planning.grid.path_plan import GridPlanner
    from armwright.robot.model import Robot
    from armwright.types import Array, Traced
    from armwright.world.world import World

REHEARSED_CELLS = 40  # of a motion: at half a second per cell a minute at most, and an eighth of the UR5's 324 cells
STRIDE = 3  # cells between configurations at most: longer ways leave the map between them
TRIES_PER_POINT = 10  # attempts per point: inverse kinematics may find none at many of them


def learned_on_grid(
    setup: Setup, tool: HeldTool, grid: GridMap, pace: float
) -> tuple[ThresholdFit, SelfKnowledge | None]:
    """Move the arm over the map without obstacles; learn what the observer says then, and what the model lacks.

    Motions begin in random cells and lead to random cells, so that they cover the map as the runs will: thresholds that
    were learned in one corner of it are too tight in another, where the arm is stretched and its inertia larger.
    What was learned is kept with the robot: the same question a second time costs nothing.

    Args:
        setup: the loop; its surroundings are left out.
        tool: the arm that FK and IK see.
        grid: the map: the motions lead through its cells.
        pace: seconds per cell.
    """

    def learn(_: Robot) -> tuple[ThresholdFit, SelfKnowledge | None]:
        size = float(np.min(np.asarray(grid.grid.cell_size)))
        motions = []
        for k in range(REHEARSED_MOTIONS):
            rows = _wander(tool, grid, setup.q0, np.random.default_rng([setup.learn_seed, 7, k]))
            motions.append(paced(tool, rows, pace, size)[0])
        known = self_knowledge(setup, motions[0])
        return learned_from(motions, knowing(setup, known)), known

    loop, g = setup.quiet().key(), grid.grid
    if loop is None:
        return learn(setup.robot)
    arrays = (setup.q0, tool.rotation, g.origin, g.axes, g.cell_size, grid.blocked())
    bits = tuple(np.asarray(a).tobytes() for a in arrays)
    key = (
        "thresholds",
        setup.sensing.load,
        loop,
        tool.robot,
        g.shape,
        g.first,
        pace,
        setup.loop.substeps,
        setup.learn_seed,
        *bits,
    )
    return setup.robot.memo(key, learn)


def _wander(tool: HeldTool, grid: GridMap, q0: Array, rng: np.random.Generator) -> Array:
    """Return configurations (m, n) from a random cell to others, a few cells at a time; q0 where IK finds none."""
    g = grid.grid
    free = np.argwhere(~grid.blocked()) + g.first
    rows, here, goal = [q0], g.cell(tool.place(q0)), free[rng.integers(len(free))]
    begun = False
    for _ in range(TRIES_PER_POINT * REHEARSED_CELLS):
        if len(rows) > REHEARSED_CELLS:
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


def explore_grid(
    robot: Robot | str,
    world: World | str | Path | Callable[[Traced], Traced],
    task: GridTask | None = None,
    *,
    planner: str | GridPlanner | None = None,
    reaction: Reaction | Rules = "back off",
    sensing: Sensing | None = None,
    budget: Budget | None = None,
    loop: ControlLoop | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Exploration:
    """Send the tool of an arm from one cell of a map to another; see `explore`.

    Example:
        >>> explore_grid("ur5", "A", GridTask(pace=0.5)).outcome
        'reached'
    """
    sensing, budget, loop = sensing or Sensing(), budget or Budget(), loop or ControlLoop()
    rules = reaction if isinstance(reaction, Rules) else Rules(reaction)
    arm, there = arm_of(robot), find_world(world)
    task = grid_task(task or GridTask(), arm, there)
    around = surroundings_of(arm, task.kinematics or arm, there, task.contact, slots=loop.slots)
    job = grid_job(arm, task, planner, rules, budget)
    listening = replace(sensing, observer="closed-loop" if sensing.observer is None else sensing.observer)
    listening = listening if rules.doubts else replace(listening, load="none")
    setup = set_up(arm, around, loop, listening, job.q0, held=rules.held, seed=seed)
    fit = None
    if needs_learning(sensing.detector, listening.observer):
        assert task.where is not None
        fit, known = learned_on_grid(setup, job.tool, task.where, task.pace)
        setup = knowing(setup, known)
    ride, watch = ride_of(setup, fit, task.kinematics)
    run = GridRun(job, ride, progress)
    run.doubt = doubt_of(setup, ride) if rules.doubts else None
    run.drive()
    settings = said(setup, watch, around.world) | job.settings() | run.found_errors()
    return grid_result(job, run, settings, truth_of(around, job.tool.robot, task.contact))
