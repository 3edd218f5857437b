# SPDX-License-Identifier: Apache-2.0
"""What ``armwright run collision`` is asked to do: cells of a map for the tool, or configurations for the whole arm.

Maps come by name or by text (``--grid``); ends as cells (``4,9c``), configurations, or a position of the tool.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.choices import GRID_PLANNERS, JOINT_PLANNERS
from armwright.cli.failures import fail
from armwright.cli.old_spellings import say_renamed
from armwright.cli.option_words import CELL, configuration, joints_option, names_of, numbers

if TYPE_CHECKING:
    from armwright.exploration.exploration_result import Contact
    from armwright.exploration.explore_options import ArmTask, GridTask
    from armwright.planning.grid.grid_map import GridMap
    from armwright.robot.model import Robot
    from armwright.world.world import ToolTask, World

GRID_HELP = (
    "Map: patch (the world's own), volume (the same with eight layers above, start and goal in the lowest), "
    "or NxM[xK]@x,y,z/size in metres, cells from 1, the centre of cell 1,1[,1] at x,y,z."
)
LAYERS = 10  # of the volume; its outermost cells bound it, so that layers 2 to 9 can be used
LOWEST = 2  # layer of the volume that is the plane of the patch
_FORM = re.compile(r"(\d+(?:x\d+){1,2})@([^/]+)/(.+)")


def grid_of(text: str, known: ToolTask | None) -> GridMap:
    """Return the map that ``--grid`` names, or end with what would be valid; known: the task of the world's file."""
    from armwright.exploration.explore_options import map_of
    from armwright.planning import grid_map

    if text in ("patch", "volume"):
        if known is None:
            fail(f"--grid {text}: the world has no map of its own; give one such as 14x14x8@0.25,-0.2,-0.05/0.03")
        if text == "patch" or len(known.cells) == 3:
            return map_of(known)
        (x, y, z), size = known.origin, known.size
        return grid_map((*known.cells, LAYERS), (x, y, z - LOWEST * size), size, first=1, ring=known.ring)
    found = _FORM.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        shape = tuple(int(word) for word in found[1].split("x"))
        at = [float(word) for word in found[2].split(",")]
        size = float(found[3])
        if len(at) != 3:
            raise ValueError
    except ValueError:
        fail(f"--grid {text}: expected patch, volume, or such as 14x14x8@0.25,-0.2,-0.05/0.03")
    flat = len(shape) == 2  # its plane lies at z
    return grid_map(shape, [at[0] - size, at[1] - size, at[2] - (0.0 if flat else size)], size, first=1)


def cell_of(text: str | None, option: str, where: GridMap, usual: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return the cell that an option names; by default that of the world's task, in the lowest layer of a volume."""
    if text is None:
        return usual if usual is None or where.grid.dim == len(usual) else (*usual, LOWEST)
    try:
        cell = tuple(int(word) for word in text.removesuffix("c").split(","))
    except ValueError:
        fail(f"{option} {text}: expected whole numbers such as 2,11c")
    if len(cell) != where.grid.dim:
        example = ",".join(str(c) for c in (*(usual or (2, 11)), LOWEST)[: where.grid.dim])
        fail(f"{option} {text}: a cell of this map has {where.grid.dim} numbers, such as {example}c")
    if not text.endswith("c"):
        say_renamed(f"{option} {text}", f"{option} {text}c for a cell")
    return cell


@dataclass(frozen=True)
class TaskOptions:
    """The words of the command line that say what is to be done."""

    planner: Annotated[
        str | None,
        typer.Option(
            metavar="PLANNER",
            help=f"On maps: {names_of(GRID_PLANNERS, {'hopfield': 'default'})}. In joint space, with the whole arm: "
            f"{names_of(JOINT_PLANNERS, {'rrt-connect': 'default in worlds made for it'})}.",
        ),
    ] = None
    touching: Annotated[
        str | None, typer.Option(help="What touches: tool (a point) or links (the whole arm, always in joint space).")
    ] = None
    grid: Annotated[str | None, typer.Option(help=GRID_HELP)] = None
    start: Annotated[
        str | None, joints_option("--start", "Cell to begin in, or for the whole arm joint coordinates.", CELL)
    ] = None
    goal: Annotated[
        str | None,
        joints_option(
            "--goal", "Cell to reach, or for the whole arm a tool position [m] or joint coordinates.", CELL, "X,Y,Z"
        ),
    ] = None
    near: Annotated[str | None, joints_option("--near", "On maps: where the arm starts, its tool held as there.")] = (
        None
    )


def task_of(arm: Robot, world: World, asked: TaskOptions) -> GridTask | ArmTask:
    """Return the task as `explore` takes it, or end with the options to give."""
    if _space(arm, world, asked) == "joint":
        return _arm_task(arm, world, asked)
    return _grid_task(arm, world, asked)


def _space(arm: Robot, world: World, asked: TaskOptions) -> str:
    """Return "joint" if the planner or the numbers say so, or if the world was made for a task of the whole arm."""
    from armwright.exploration.exploration import planner_space
    from armwright.exploration.explore_options import made_for

    if asked.planner is not None:
        return str(planner_space(asked.planner))
    if asked.grid is not None or asked.touching == "tool" or asked.near is not None:
        return "grid"
    given = asked.start or asked.goal
    if given is not None and given.endswith("c"):
        return "grid"
    for_tool = world.tool_task is not None and arm.name in world.tool_task.robots
    if given is not None and len(given.split(",")) == arm.n and not (for_tool and arm.n <= 3):
        return "joint"
    return "joint" if made_for(world, arm) and not (asked.touching or given) else "grid"


def _arm_task(arm: Robot, world: World, asked: TaskOptions) -> ArmTask:
    from armwright.exploration.explore_options import ArmTask, made_for

    if asked.grid is not None:
        fail(f"--grid {asked.grid}: a planner in joint space needs no map; leave it out, or plan on the map")
    if asked.touching == "tool":
        fail("--touching tool: a planner in joint space is for the whole arm; leave it out, or plan on the map")
    start, goal = _ends(arm, asked)
    if (start is None or goal is None) and not made_for(world, arm):
        fail(
            f"world {world.name!r} has no start and goal of its own for {arm.name!r}: give --start and --goal, "
            f"{arm.n} joint coordinates each [rad, m]; the goal may be a tool position x,y,z [m]"
        )
    return ArmTask(start, goal)


def _ends(arm: Robot, asked: TaskOptions) -> tuple[tuple[float, ...] | None, tuple[float, ...] | None]:
    """Return start (n,) and goal of the whole arm; three numbers are a tool position (3,) [m] of another arm."""
    for name in ("start", "goal"):
        text = getattr(asked, name)
        if text is not None and text.endswith("c"):
            fail(f"--{name} {text}: a planner in joint space knows no cells; give {arm.n} joint coordinates")
    start, goal = _coordinates(asked.start, arm, "--start"), asked.goal
    if goal is not None and goal.count(",") == 2 and arm.n != 3:
        return start, tuple(numbers(goal, f"--goal {goal!r}"))
    return start, _coordinates(goal, arm, "--goal")


def _coordinates(text: str | None, arm: Robot, option: str) -> tuple[float, ...] | None:
    """Return joint coordinates (n,) [rad, m], or None where none are given."""
    return None if text is None else tuple(configuration(text, arm, option).tolist())


def _grid_task(arm: Robot, world: World, asked: TaskOptions) -> GridTask:
    from armwright.exploration.explore_options import GridTask

    known = world.tool_task
    near = _coordinates(asked.near, arm, "--near")
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
    return GridTask(start, goal, where, near, contact=asked.touching or "tool")  # type: ignore[arg-type]  # checks it


def place_json(contact: Contact) -> dict[str, Any]:
    """Where the whole arm was touched as far as it knows, for JSON; nothing for contacts of the tool."""
    places = contact.places
    if places is None:
        return {}
    return {"place_m": places.points[:1], "sure": places.sure, "links": places.links, "q": contact.q}
