# SPDX-License-Identifier: Apache-2.0
"""Exploration with the whole arm: start and goal are configurations, the way is planned in joint space."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.exploration.arm.arm_job import ArmJob
from armwright.exploration.arm.arm_result import ArmExploration, exploration_of
from armwright.exploration.arm.arm_run import ArmRun
from armwright.exploration.arm.goals import configuration, goal_configurations
from armwright.exploration.arm.rehearse_arm import Search, learned_in_joints, rehearsed
from armwright.exploration.arm.touch_map import empty_map, ends_at
from armwright.exploration.options import REACTIONS, ArmTask, Budget, ControlLoop, Sensing
from armwright.exploration.sensing import needs_learning
from armwright.exploration.setup import arm_of, said, session_of, set_up
from armwright.exploration.surroundings import find_world, surroundings_of
from armwright.exploration.tasks import arm_task
from armwright.planning import JOINT_PLANNERS, OMPLConnect, RRTConnect
from armwright.planning.grid.occupancy import GridMap, grid_map
from armwright.planning.obstacles import contact_capsules
from armwright.world.world import World

if TYPE_CHECKING:
    from armwright.exploration.options import Reaction
    from armwright.exploration.run import Progress
    from armwright.planning.joint.plan import JointPlanner
    from armwright.robot.model import Robot
    from armwright.types import Array

AROUND = 2.0  # [rad] about start and goal that is searched: a third of a turn, enough to go around a pillar
CELL = 0.05  # [m] of the grid that the maps are drawn on: about the radius of a UR5's links
ACROSS = 30.0  # such cells to the end of the arm's reach at most, so that a long arm's grid stays below 63³
QUIET = 0.05  # [N m] that an estimate of torque is never more certain than: a perfect model leaves no residual
ITERATIONS = 2500  # of the planner where it has to be patient, half of its default: there are six cautions to try
QUICK, QUICK_SECONDS = 300, 2.0  # iterations, or seconds, where a way may be closed by places of doubt only
SAMPLES = 512  # configurations that tell how far the arm reaches, for drawing only
SAME = 1e-6  # [rad, m] within which start and goal are one


def explore_arm(
    robot: Robot | str,
    world: Any,
    task: ArmTask | None = None,
    *,
    planner: str | JointPlanner | None = None,
    reaction: Reaction = "back off",
    sensing: Sensing | None = None,
    budget: Budget | None = None,
    loop: ControlLoop | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> ArmExploration:
    """Send the whole arm from a configuration to another; see `explore`."""
    sensing, budget, loop = sensing or Sensing(), budget or Budget(), loop or ControlLoop()
    arm, there = arm_of(robot), find_world(world)
    if reaction not in REACTIONS:
        raise InputError(f"explore: reaction of the whole arm must be one of {', '.join(REACTIONS)}; got {reaction!r}")
    if not isinstance(there, World):
        raise InputError("explore: planning in joint space needs a World with shapes, not a force function")
    task, believed = arm_task(task or ArmTask(), arm, there), loop.model or arm
    q0 = configuration(believed, task.start, "start")
    goals, place = goal_configurations(believed, task.goal, q0)
    if np.abs(goals[0] - q0).max() < SAME:
        raise InputError("explore: start and goal are the same configuration")
    listening = replace(sensing, observer="momentum" if sensing.observer is None else sensing.observer)
    setup = set_up(arm, surroundings_of(arm, arm, there, "links"), loop, listening, q0, held=False, seed=seed)
    lower, upper = _bounds(believed, np.vstack([q0, goals]))
    search = Search(believed, contact_capsules(believed), lower, upper, task.speed)
    noise = rehearsed(setup, search, QUIET)
    fit = learned_in_joints(setup, search) if needs_learning(sensing.detector, listening.observer) else None
    session, watch = session_of(setup, fit)
    patient = find_joint_planner(planner, seed)
    job = ArmJob(
        arm,
        believed,
        there,
        goals,
        place,
        patient,
        quick_planner(patient),
        lower,
        upper,
        task.speed,
        task.margin,
        noise,
    )
    run = ArmRun(job, session, empty_map(believed, q0, goals), reach_grid(believed), reaction, budget, progress)
    run.drive()
    settings = said(setup, watch, there) | {
        "planner": getattr(patient, "name", type(patient).__name__),
        "reaction": reaction,
        "contact": "links",
        "speed": task.speed,
        "margin": task.margin,
        "contact_budget": budget.contacts,
        "tolerance": budget.tolerance,
        "q_start": q0.tolist(),
        "q_goal": goals[0].tolist(),
        "planning_s": run.planning,
        "torque_std": np.sqrt(np.diag(noise.soon)).tolist(),
    }
    return exploration_of(run, q0, settings)


def _bounds(robot: Robot, ends: Array) -> tuple[Array, Array]:
    """Bounds of the search, about start and goals (m, n)."""
    return np.maximum(ends.min(axis=0) - AROUND, robot.lower), np.minimum(ends.max(axis=0) + AROUND, robot.upper)


def find_joint_planner(planner: str | JointPlanner | None, seed: int) -> JointPlanner:
    """Return a planner in joint space: by name, with the run's seed, or as it is."""
    if planner is not None and not isinstance(planner, str):
        return planner
    kind = JOINT_PLANNERS["rrt-connect" if planner is None else planner]
    made: JointPlanner = kind(seed=seed, **({"iterations": ITERATIONS} if kind is RRTConnect else {}))
    return made


def quick_planner(planner: JointPlanner) -> JointPlanner:
    """Return the planner with less patience, for ways that may be closed by places of doubt only."""
    if isinstance(planner, RRTConnect):
        return replace(planner, iterations=min(planner.iterations, QUICK))
    if isinstance(planner, OMPLConnect):
        return replace(planner, seconds=min(planner.seconds, QUICK_SECONDS))
    return planner


def reach_grid(robot: Robot) -> GridMap:
    """Return an empty grid over all that the arm can reach, for drawing: what planners see is exact, see `TouchMap`."""
    root, links = robot.T_base_root[:3, 3], contact_capsules(robot)
    low, high = (np.clip(bound, -np.pi, np.pi) for bound in (robot.lower, robot.upper))
    Q = np.random.default_rng(0).uniform(low, high, (SAMPLES, robot.n))
    reach = float(np.linalg.norm(ends_at(robot, links, Q) - root, axis=-1).max()) + float(links.radius.max())
    cell = max(CELL, reach / ACROSS)
    count = 2 * int(np.ceil(reach / cell)) + 1
    return grid_map((count, count, count), root - 0.5 * (count - 1) * cell, cell)
