# SPDX-License-Identifier: Apache-2.0
"""`explore_grid`: send the tool from cell to cell of a map; what it bumps into blocks cells.

`explore_grid` checks both ends, learns thresholds where the detector needs them (`learned_on_grid`: contact-free motion
over the same map), and hands the task to `GridRun`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.contact_flags import contact_flags
from armwright.errors import InputError
from armwright.exploration.exploration_result import Exploration, arrival_of, told_of_solids
from armwright.exploration.explore_options import Budget, ControlLoop, GridTask, Sensing, grid_task
from armwright.exploration.grid.grid_rules import Rules
from armwright.exploration.grid.grid_run import GridRun
from armwright.exploration.grid.held_tool import HeldTool, paced
from armwright.exploration.surroundings import Surroundings, find_world, surroundings_of
from armwright.exploration.touch_sensing import (
    REHEARSED_MOTIONS,
    arm_of,
    doubt_of,
    knowing,
    learned_from,
    needs_learning,
    said,
    self_knowledge,
    session_of,
    set_up,
)
from armwright.kinematics import fk
from armwright.planning import GRID_PLANNERS
from armwright.planning.waypoints import MOST_STEP
from armwright.recording.signals import Signal
from armwright.world.arm_capsules import tool_point

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from armwright.contact.detectors import ThresholdFit
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


POSED = 1e-3  # tolerance of a rotation's entries for the tool held as asked: 000 prints 4 digits


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
    if rules.reaction == "slide" and task.contact == "links":
        raise InputError(
            "explore: on a grid of tool cells only the tool can slide (contact='tool'); with the whole arm plan in "
            "joint space (planner='rrt-connect')"
        )
    chosen = find_grid_planner(planner, rules)
    around = surroundings_of(arm, task.kinematics or arm, there, task.contact, slots=loop.slots)
    tool = HeldTool(task.kinematics or arm, task.rotation)
    q0 = _first_configuration(tool, task, rules)
    listening = replace(sensing, observer="closed-loop" if sensing.observer is None else sensing.observer)
    listening = listening if rules.doubts else replace(listening, load="none")
    setup = set_up(arm, around, loop, listening, q0, held=rules.held, seed=seed)
    fit = None
    if needs_learning(sensing.detector, listening.observer):
        assert task.where is not None
        fit, known = learned_on_grid(setup, tool, task.where, task.pace)
        setup = knowing(setup, known)
    session, watch = session_of(setup, fit, task.kinematics)
    run = GridRun(task, tool, around, chosen, rules, session, budget, progress)
    run.doubt = doubt_of(setup, session) if rules.doubts else None
    run.drive()
    settings = said(setup, watch, around.world) | {
        "planner": chosen.name,
        **rules.settings(),
        "contact": task.contact,
        "seconds_per_cell": task.pace,
        "contact_budget": budget.contacts,
        "tolerance": budget.tolerance,
        "start": list(task.start or ()),
        "goal": list(task.goal or ()),
        **run.found_errors(),
    }
    return _result(run, around, task, settings)


def find_grid_planner(planner: str | GridPlanner | None, rules: Rules) -> GridPlanner:
    """Return a grid planner: by name, as it is, or that of the rules."""
    if planner is None:
        return rules.planner()
    if not isinstance(planner, str):
        return planner

    def refuse(valid: str) -> InputError:
        return InputError(f"planner must be one of {valid}, or a planner on grids; got {planner!r}")

    found: GridPlanner = GRID_PLANNERS.find(planner, refuse)()
    return found


def _first_configuration(tool: HeldTool, task: GridTask, rules: Rules) -> Array:
    """Check both ends and return the configuration (n,) to begin in."""
    assert task.where is not None
    g, start, goal = task.where.grid, tuple(task.start or ()), tuple(task.goal or ())
    if max(g.shape) < 2:
        raise InputError(f"explore: a grid of shape {g.shape} has one cell only; there is nowhere to go")
    blocked = task.where.blocked()
    for what, cell in (("start", start), ("goal", goal)):
        index = g.index(cell, f"explore: {what} cell")
        if blocked[index] and rules.free_ends:
            bound = task.where.ring and not np.asarray(task.where.felt)[index]
            known = "in the ring that bounds the map" if bound else "in a known obstacle"
            raise InputError(f"explore: the {what} cell {cell} is {known}; choose a free one")
    if start == goal:
        raise InputError(f"explore: start and goal are the same cell {start}")
    there = fk(tool.robot, task.near)
    in_cell = tuple(int(c) for c in g.cell(there[:3, 3])) == start
    posed = in_cell and np.abs(there[:3, :3] - tool.rotation).max() < POSED
    offset = float(np.abs(there[:3, 3] - g.centre(g.cell(there[:3, 3]))).max()) if posed else 0.0
    if posed and offset < 0.5 * float(np.min(np.asarray(g.cell_size))):
        q0 = np.asarray(task.near, dtype=np.float64)
    else:
        q0 = tool.configurations(g.centre(start)[None], task.near, [f"start cell {start}"])[0]
    tool.configurations(g.centre(goal)[None], q0, [f"goal cell {goal}"])
    return q0


def _result(run: GridRun, around: Surroundings, task: GridTask, settings: dict[str, Any]) -> Exploration:
    session, tool = run.session, run.held_tool
    session.outcome = run.outcome
    recording = session.recording(**settings)
    place, axes = tool.place(recording["q"]), ("x", "y", "z")
    felt = recording["wrench_ext"][:, :3] if "wrench_ext" in recording else np.zeros((len(recording), 3))
    recording = recording.with_signals(
        tool=Signal(place, "m", axes),
        tool_ref=Signal(tool.place(recording["q_ref"]), "m", axes),
        force=Signal(around.truth(recording["q"], recording["qd"]).force, "N", axes),
        force_felt=Signal(felt, "N", axes),
    )
    if tool.robot is not recording.robot and recording.robot is not None:
        recording = replace(recording, robot=tool.robot)  # what is drawn is what FK and IK saw
    touching = (tool_point(tool.robot),) if task.contact == "tool" else None
    flags = (
        ()
        if around.world is None
        else contact_flags(tool.robot, around.world, recording.time, recording["q"], touching)
    )
    recording, outcome, message = told_of_solids(recording, run.outcome, run.message, flags)
    return Exploration(
        recording,
        tuple(run.maps),
        tuple(run.plans),
        tuple(run.contacts),
        tuple(task.start or ()),
        run.goal,
        run.goal_point,
        outcome == "reached",
        arrival_of(run, recording) if outcome == "reached" else float("nan"),
        outcome,
        message,
        around.world,
        settings,
    )
