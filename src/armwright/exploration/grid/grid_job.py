# SPDX-License-Identifier: Apache-2.0
"""`GridJob`: a run on a grid before anything moves, the run on any `Ride`, and its result.

Task → job (`grid_job` checks it) → ride (whoever has an arm) → run (`GridRun`) → result (`grid_result`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.exploration.exploration_result import Exploration, arrival_of, told_of_solids, with_errors
from armwright.exploration.grid.held_tool import HeldTool
from armwright.exploration.truth_told import told
from armwright.kinematics import fk
from armwright.planning import GRID_PLANNERS
from armwright.recording.signals import Signal

if TYPE_CHECKING:
    from armwright.exploration.explore_options import Budget, GridTask
    from armwright.exploration.grid.grid_rules import Rules
    from armwright.exploration.grid.grid_run import GridRun
    from armwright.exploration.truth_told import TellsTruth
    from armwright.planning.grid.path_plan import GridPlanner
    from armwright.robot.model import Robot
    from armwright.types import Array

POSED = 1e-3  # tolerance of a rotation's entries for the tool held as asked: 000 prints 4 digits


@dataclass(frozen=True, eq=False)
class GridJob:
    """Everything about a run on a grid that does not change on the way.

    Attributes:
        task: complete. tool: the arm that FK and IK see.
        planner: on the map. rules: decisions that another run may take otherwise. budget: when to give up.
        q0: configuration (n,) that it begins in.
    """

    task: GridTask
    tool: HeldTool
    planner: GridPlanner
    rules: Rules
    budget: Budget
    q0: Array

    def settings(self) -> dict[str, Any]:
        """Return what the settings of a run say about it."""
        task = self.task
        return {
            "planner": self.planner.name,
            **self.rules.settings(),
            "contact": task.contact,
            "seconds_per_cell": task.pace,
            "contact_budget": self.budget.contacts,
            "tolerance": self.budget.tolerance,
            "start": list(task.start or ()),
            "goal": list(task.goal or ()),
        }


def grid_job(arm: Robot, task: GridTask, planner: str | GridPlanner | None, rules: Rules, budget: Budget) -> GridJob:
    """Check a complete task, and find the configuration to begin in.

    Raises:
        InputError: start or goal are blocked, out of reach or the same; the rules do not fit.
    """
    if rules.reaction == "slide" and task.contact == "links":
        raise InputError(
            "explore: on a grid of tool cells only the tool can slide (contact='tool'); with the whole arm plan in "
            "joint space (planner='rrt-connect')"
        )
    tool = HeldTool(task.kinematics or arm, task.rotation)
    return GridJob(
        task, tool, find_grid_planner(planner, rules), rules, budget, _first_configuration(tool, task, rules)
    )


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


def grid_result(job: GridJob, run: GridRun, settings: dict[str, Any], truth: TellsTruth | None) -> Exploration:
    """Return the result of a run that has ended, with the truth where somebody tells it."""
    tool, task = job.tool, job.task
    recording = with_errors(run.ride.recording(run.outcome, **settings))
    axes, known = ("x", "y", "z"), None if truth is None else truth(recording)
    felt = recording["wrench_ext"][:, :3] if "wrench_ext" in recording else np.zeros((len(recording), 3))
    signals = {
        "tool": Signal(tool.place(recording["q"]), "m", axes),
        "tool_ref": Signal(tool.place(recording["q_ref"]), "m", axes),
        **({} if known is None else {"force": Signal(known.touch.force, "N", axes)}),
        "force_felt": Signal(felt, "N", axes),
    }
    recording = replace(recording.with_signals(**signals), robot=tool.robot)  # drawn is what FK and IK saw
    contacts, outcome, message = tuple(run.contacts), run.outcome, run.message
    if known is not None:
        contacts = told(contacts, run.spans, recording.time, known.touch)
        recording, outcome, message = told_of_solids(recording, outcome, message, known.flags)
    return Exploration(
        recording,
        tuple(run.maps),
        tuple(run.plans),
        contacts,
        tuple(task.start or ()),
        run.goal,
        run.goal_point,
        outcome == "reached",
        arrival_of(run, recording) if outcome == "reached" else float("nan"),
        outcome,
        message,
        None if known is None else known.world,
        settings,
    )
