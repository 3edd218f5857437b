# SPDX-License-Identifier: Apache-2.0
"""`explore`: send an arm through surroundings that nobody told it about. Go, bump, mark, plan around, arrive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.exploration.arm.explore_arm import explore_arm
from armwright.exploration.explore_options import ArmTask, Budget, ControlLoop, GridTask, Reaction, Sensing, made_for
from armwright.exploration.grid.explore_grid import explore_grid
from armwright.exploration.surroundings import find_world
from armwright.exploration.touch_sensing import arm_of
from armwright.planning import GRID_PLANNERS, JOINT_PLANNERS

if TYPE_CHECKING:
    from armwright.exploration.exploration_result import Exploration
    from armwright.exploration.exploration_run import Progress
    from armwright.exploration.grid.grid_rules import Rules
    from armwright.planning.grid.path_plan import GridPlanner
    from armwright.planning.joint.joint_plan import JointPlanner
    from armwright.robot.model import Robot
    from armwright.types import Traced
    from armwright.world.world import World


@names_culprit
def explore(
    robot: Robot | str,
    world: World | str | Path | Callable[[Any], Any],
    task: GridTask | ArmTask | None = None,
    *,
    planner: str | GridPlanner | JointPlanner | None = None,
    reaction: Reaction | Rules = "back off",
    sensing: Sensing | None = None,
    budget: Budget | None = None,
    loop: ControlLoop | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Exploration:
    """Send an arm through surroundings that nobody told it about.

    On a grid (`GridTask`) its tool goes from cell to cell of a map. In joint space (`ArmTask`) the whole arm goes from
    configuration to configuration: what any link touches is located as far as the joint torques tell, and the path
    keeps the whole arm clear of it. Task, or else planner, or else the world's file say which.

    Args:
        robot: the plant, and the controller's model unless `loop` has another; a catalogue name or a `Robot`.
        world: shapes: a `World`, the name of one, a .toml file; or the contact force on the tool as a traced function
            of its position (3,) → (3,) [N], base axes.
        task: what is to be done; what it leaves out comes from the world's file.
        planner: on the grid: "hopfield" (default), "dijkstra", "astar", … or a planner whose `space` is "grid". In
            joint space: "rrt-connect" (default), "ompl", or a planner whose `space` is "joint".
        reaction: to a contact: "back off" (along the way that was driven, to the first free place, then plan again),
            "retract" (along the felt force first), "slide" (along the surface under force control), "stop"; or other
            `Rules` of a run on a grid.
        sensing: how a contact is felt: observer, detector, sensors.
        budget: when the run is given up, and what counts as arrived.
        loop: controller, its model, motors, friction, rate.
        seed: of noise and planners and, unless `sensing` has another, of the motions that thresholds are learned from.
        progress: called with (fraction of the duration, contacts so far).

    Returns:
        An `Exploration` with a named outcome; an `ArmExploration` for a run in joint space.

    Raises:
        InputError: before anything is run: a start or goal outside the grid, blocked or out of reach, shapes at the
            robot's base, thresholds below the noise floor, nothing that says what to do, …

    Example:
        >>> explore("ur5", "A").outcome
        'reached'
    """
    arm, there = arm_of(robot), find_world(world)
    options: dict[str, Any] = {
        "reaction": reaction,
        "sensing": sensing,
        "budget": budget,
        "loop": loop,
        "seed": seed,
        "progress": progress,
    }
    if space_of(arm, there, task, planner) == "joint":
        return explore_arm(arm, there, cast("ArmTask | None", task), planner=cast("Any", planner), **options)
    return explore_grid(arm, there, cast("GridTask | None", task), planner=cast("Any", planner), **options)


def space_of(
    arm: Robot, world: World | Callable[[Traced], Traced], task: GridTask | ArmTask | None, planner: object
) -> str:
    """Return "grid" or "joint": what task or planner say, or else what the world was made for.

    Raises:
        InputError: task and planner disagree, or the planner does not say.
    """
    asked = {GridTask: "grid", ArmTask: "joint"}.get(type(task))
    if task is not None and asked is None:
        raise InputError(f"explore: task must be a GridTask or an ArmTask, got {type(task).__name__}")
    plans = planner_space(planner)
    if asked is not None and plans is not None and asked != plans:
        kinds = {"grid": "the tool on a grid (GridTask)", "joint": "the whole arm (ArmTask)"}
        raise InputError(f"explore: the planner is for {kinds[plans]}, the task for {kinds[asked]}; choose one of them")
    return asked or plans or ("joint" if made_for(world, arm) else "grid")


def planner_space(planner: object) -> str | None:
    """Return the space that a planner, by name or as an object, declares; None for no planner."""
    if planner is None:
        return None
    if isinstance(planner, str):
        for where, table in (("grid", GRID_PLANNERS), ("joint", JOINT_PLANNERS)):
            if table.knows(planner):
                return where
        names = f"{GRID_PLANNERS.listed()}, {JOINT_PLANNERS.listed()}"
        raise InputError(f"planner must be one of {names}, or a planner; got {planner!r}")
    space = getattr(planner, "space", None)
    if space not in ("grid", "joint"):
        raise InputError(
            f"planner {type(planner).__name__} must declare where it plans: an attribute space, 'grid' or 'joint'; "
            f"got {space!r}"
        )
    return str(space)
