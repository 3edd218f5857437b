# SPDX-License-Identifier: Apache-2.0
"""What is to be done where nobody says: from the world's file, or asked for in a sentence that names what to give."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.exploration.options import ArmTask, GridTask
from armwright.kinematics import fk
from armwright.planning.grid.occupancy import GridMap, grid_map
from armwright.world.world import World

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.world.task import ToolTask


def map_of(task: ToolTask) -> GridMap:
    """Return the empty map that a world's file describes."""
    return grid_map(task.cells, task.origin, task.size, first=1, ring=task.ring)


def grid_task(task: GridTask, arm: Robot, world: Any) -> GridTask:
    """Return the task with map, cells, configuration and orientation.

    Raises:
        InputError: neither the task nor the world's file says; named is what to give.
    """
    known = world.tool_task if isinstance(world, World) else None
    own_map = task.where is not None
    where = task.where if own_map else map_of(known) if known is not None else None
    if where is None:
        raise InputError(_lacks(world, "no map of its own", arm, "a map (where), start, goal and near"))
    for_arm = known is not None and arm.name in known.robots
    if task.near is None and not for_arm:
        made = f"a configuration to start near for {' and '.join(known.robots)} only" if known else "none to start near"
        raise InputError(
            _lacks(world, made, arm, f"near, {arm.n} joint coordinates of {arm.name!r} with the tool near the start")
        )
    near = known.near if known is not None and task.near is None else task.near
    q = np.asarray(near, dtype=np.float64)
    if q.shape != (arm.n,) or not np.isfinite(q).all():
        raise InputError(f"explore: near must hold {arm.n} finite numbers for robot {arm.name!r}, got shape {q.shape}")
    there = fk(task.kinematics or arm, q)
    start, goal = task.start, task.goal
    if known is not None and not own_map:
        goal = known.goal if goal is None else goal
        if start is None and task.near is None:  # another configuration begins where it has the tool
            start = known.start
    if start is None:
        start = tuple(int(c) for c in where.grid.cell(there[:3, 3]))
    if goal is None:
        raise InputError("explore: say which goal cell; the map (where) is one of your own")
    rotation = task.rotation
    if rotation is None:
        rotation = known.rotation if known is not None and for_arm and known.rotation else there[:3, :3]
    return replace(task, start=start, goal=goal, where=where, near=q, rotation=np.asarray(rotation, dtype=np.float64))


def arm_task(task: ArmTask, arm: Robot, world: World) -> ArmTask:
    """Return the task with start and goal.

    Raises:
        InputError: neither the task nor the world's file says.
    """
    if task.start is not None and task.goal is not None:
        return task
    known = world.task
    if known is None or known.robot != arm.name:
        made = "no start and goal of its own" if known is None else f"start and goal for {known.robot!r} only"
        raise InputError(_lacks(world, made, arm, f"start and goal, configurations of {arm.n} numbers"))
    return replace(
        task,
        start=known.start if task.start is None else task.start,
        goal=known.goal if task.goal is None else task.goal,
    )


def made_for(world: Any, arm: Robot) -> bool:
    """Whether a world has a task for the whole of this arm."""
    return isinstance(world, World) and world.task is not None and world.task.robot == arm.name


def _lacks(world: Any, what: str, arm: Robot, give: str) -> str:
    name = f"world {world.name!r}" if isinstance(world, World) else "a force function"
    return f"explore: {name} has {what}, and the robot is {arm.name!r}; give {give}"
