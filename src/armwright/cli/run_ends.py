# SPDX-License-Identifier: Apache-2.0
"""What ``armwright run collision`` asks for: cells of a map for the tool, or configurations for the whole arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from armwright.cli.failures import fail
from armwright.cli.run_grid import cell_of, grid_of

if TYPE_CHECKING:
    from armwright.exploration.options import ArmTask, GridTask
    from armwright.exploration.result import Contact
    from armwright.robot.model import Robot
    from armwright.world.world import World


@dataclass(frozen=True)
class Asked:
    """The words of the command line that say what is to be done."""

    planner: str | None = None
    contact: str | None = None
    grid: str | None = None
    start: str | None = None
    goal: str | None = None
    near: str | None = None


def task_of(arm: Robot, world: World, asked: Asked) -> GridTask | ArmTask:
    """Return the task as `explore` takes it, or end with the options to give."""
    if _space(arm, world, asked) == "joint":
        return _arm_task(arm, world, asked)
    return _grid_task(arm, world, asked)


def _space(arm: Robot, world: World, asked: Asked) -> str:
    """Return "joint" if the planner or the numbers say so, or if the world was made for a task of the whole arm."""
    from armwright.exploration.explore import planner_space
    from armwright.exploration.tasks import made_for

    if asked.planner is not None:
        return str(planner_space(asked.planner))
    if asked.grid is not None or asked.contact == "tool" or asked.near is not None:
        return "grid"
    given = asked.start or asked.goal
    for_tool = world.tool_task is not None and arm.name in world.tool_task.robots
    if given is not None and len(given.split(",")) == arm.n and not (for_tool and arm.n <= 3):
        return "joint"
    return "joint" if made_for(world, arm) and not (asked.contact or given) else "grid"


def _arm_task(arm: Robot, world: World, asked: Asked) -> ArmTask:
    from armwright.exploration.options import ArmTask
    from armwright.exploration.tasks import made_for

    if asked.grid is not None:
        fail(f"--grid {asked.grid}: a planner in joint space needs no map; leave it out, or plan on the map")
    if asked.contact == "tool":
        fail("--contact tool: a planner in joint space is for the whole arm; leave it out, or plan on the map")
    start, goal = (joint_numbers(getattr(asked, name), f"--{name}") for name in ("start", "goal"))
    if (start is None or goal is None) and not made_for(world, arm):
        fail(
            f"world {world.name!r} has no start and goal of its own for {arm.name!r}: give --start and --goal, "
            f"{arm.n} joint coordinates each [rad, m]; the goal may be a tool position x,y,z [m]"
        )
    return ArmTask(start, goal)


def _grid_task(arm: Robot, world: World, asked: Asked) -> GridTask:
    from armwright.exploration.options import GridTask

    known = world.tool_task
    near = joint_numbers(asked.near, "--near")
    if near is None and (known is None or arm.name not in known.robots):
        if asked.start is not None or asked.goal is not None:
            given = f"--start {asked.start}" if asked.start is not None else f"--goal {asked.goal}"
            fail(
                f"{given} is a cell of a map: also give --near, {arm.n} joint coordinates of {arm.name!r} with "
                "the tool in the cell to begin in" + (", and --grid" if known is None and asked.grid is None else "")
            )
        robots = [world.task.robot] if world.task is not None else []
        robots += known.robots if known is not None else []
        made = f"tasks for {' and '.join(robots)}, none for {arm.name!r}" if robots else "no task of its own"
        fail(
            f"world {world.name!r} has {made}: give --start and --goal, {arm.n} joint "
            "coordinates each [rad, m], for the whole arm; or, for its tool on a map, --near, "
            f"{arm.n} joint coordinates with the tool in the cell to begin in"
            + (", --grid and --goal" if known is None else "")
        )
    where = grid_of(asked.grid or "patch", known)
    usual = known if asked.grid in (None, "patch", "volume") else None
    start = cell_of(asked.start, "--start", where, usual.start if usual is not None and near is None else None)
    goal = cell_of(asked.goal, "--goal", where, usual.goal if usual is not None else None)
    if goal is None:
        fail("--goal: say which cell, for this --grid is one of your own")
    return GridTask(start, goal, where, near, contact=asked.contact or "tool")  # type: ignore[arg-type]  # checks it


def joint_numbers(text: str | None, option: str) -> tuple[float, ...] | None:
    """Return the numbers that an option names, or end with what would be valid."""
    if text is None:
        return None
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError:
        fail(
            f"{option} {text}: expected joint coordinates [rad, m] such as 0.5,-1.2,1.6,0,1.57,0"
            + (", or a position [m] x,y,z" if option == "--goal" else "")
        )


def place_json(contact: Contact) -> dict[str, Any]:
    """Where the whole arm was touched as far as it knows, for JSON; nothing for contacts of the tool."""
    places = contact.places
    if places is None:
        return {}
    return {"place_m": places.points[:1], "sure": places.sure, "links": places.links, "q": contact.q}
