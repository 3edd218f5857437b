# SPDX-License-Identifier: Apache-2.0
"""What ``armwright run collision`` asks for: cells of a map for the tool, or configurations for the whole arm.

Which arm: the words that every command about a robot takes, and what they load.

Words of the command line that mean numbers: configurations, references, gains, payloads.

Maps by name or by text for ``armwright run collision --grid``, and the cells of their ends.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from armwright.cli.failures import fail
from armwright.errors import InputError
from armwright.files import read_regular

if TYPE_CHECKING:
    from armwright.exploration.exploration_result import Contact
    from armwright.exploration.explore_options import ArmTask, GridTask
    from armwright.planning.grid.grid_map import GridMap
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.world import ToolTask, World

WHICH = "Catalogue name, or path of a URDF, MJCF, xacro or TOML sheet."
RobotName = Annotated[str, typer.Argument(metavar="ROBOT", help=WHICH)]
Implausible = Annotated[
    str,
    typer.Option(
        metavar="refuse|warn", help="Bodies that no matter can form: refuse the arm, or warn and take it as written."
    ),
]
Base = Annotated[
    str | None, typer.Option(metavar="LINK", help="URDF, MJCF: the link to stand on; the root by default.")
]
Tip = Annotated[
    str | None,
    typer.Option(
        metavar="LINK", help="URDF, MJCF: the link that carries the tool; joints beside the chain are locked."
    ),
]


def load_options(implausible: str, base: str | None, tip: str | None) -> dict[str, Any]:
    """Return how `load` is to read an arm, without what it would do anyway."""
    given = {"implausible": None if implausible == "refuse" else implausible, "base": base, "tip": tip}
    return {name: value for name, value in given.items() if value is not None}


def load_arm(robot: str, implausible: str, base: str | None, tip: str | None) -> Robot:
    """Load the arm that the options name."""
    from armwright.robot.load import load

    return load(robot, **load_options(implausible, base, tip))


FORMS = "'hold', a configuration '0,1,0,…', 'quintic:q0->q1:T', 'cubic:q0->q1:T', or a .toml or .json file of waypoints"
UNITS = {"deg": np.pi / 180.0, "rad": 1.0}
MAX_BYTES = 16 * 2**20  # of a file of waypoints


def configuration(text: str, robot: Robot, what: str) -> Array:
    """Read 'a,b,c' as joint values (n,): radians (metres), or degrees with the suffix ``deg``.

    The unit is written once, after the last number, for all of them, or after every number. Degrees are meant for
    revolute joints; prismatic ones are always in metres.
    """
    words = [word.strip() for word in text.split(",")]
    if len(words) != robot.n:
        raise InputError(f"{what} {text!r}: expected {robot.n} numbers separated by commas, got {len(words)}")
    units = [next((unit for unit in UNITS if word.endswith(unit)), "") for word in words]
    if any(units[:-1]) and not all(units):
        raise InputError(f"{what} {text!r}: write the unit after the last number, or after every one")
    turning = [joint.kind == "revolute" for joint in robot.joints]
    values = []
    for word, unit, turns in zip(words, units, turning, strict=True):
        scale = UNITS[unit or units[-1] or "rad"] if turns else 1.0
        values.append(scale * _number(word.removesuffix(unit), f"{what} {text!r}"))
    return np.array(values)


def _number(word: str, what: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise InputError(f"{what}: {word.strip()!r} is not a number") from None
    if not np.isfinite(value):
        raise InputError(f"{what}: {word.strip()!r} is not finite")
    return value


def reference(text: str, robot: Robot) -> Any:
    """Read a reference: None for 'hold', a configuration (n,), or a `Trajectory`."""
    from armwright.motion import cubic, quintic

    if text.strip() == "hold":
        return None
    kind, colon, rest = text.partition(":")
    makers = {"quintic": quintic, "cubic": cubic}
    if colon and kind in makers:
        ends, colon, length = rest.rpartition(":")
        start, arrow, goal = ends.partition("->")
        if not (colon and arrow):
            raise InputError(f"--reference {text!r}: expected '{kind}:q0->q1:T', with T in seconds")
        duration = _number(length.strip().removesuffix("s"), f"--reference {text!r}")
        return makers[kind](
            configuration(start, robot, "--reference"), configuration(goal, robot, "--reference"), duration
        )
    path = Path(text)
    if path.suffix.lower() in (".toml", ".json"):
        return waypoints(path, robot)
    if "," not in text and robot.n != 1:
        raise InputError(f"--reference {text!r}: expected {FORMS}")
    return configuration(text, robot, "--reference")


def waypoints(path: Path, robot: Robot) -> Any:
    """Read a file of waypoints as a quintic spline.

    Keys: ``waypoints`` (N rows of n), ``times`` (N instants from 0 [s], or one total duration), ``unit`` ("rad" by
    default, or "deg").
    """
    from armwright.motion import quintic_spline

    try:
        text = read_regular(path, MAX_BYTES).decode()
        table = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (UnicodeDecodeError, json.JSONDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path}: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not isinstance(table, dict) or not {"waypoints", "times"} <= set(table):
        raise InputError(f"{path}: expected the keys waypoints (rows of {robot.n}) and times (instants, or a duration)")
    strange = sorted(set(table) - {"waypoints", "times", "unit"})
    if strange:
        raise InputError(f"{path}: unknown key {', '.join(strange)}; valid: waypoints, times, unit")
    unit = table.get("unit", "rad")
    if unit not in UNITS:
        raise InputError(f"{path}: unit must be 'rad' or 'deg', got {unit!r}")
    scale = np.array([UNITS[unit] if joint.kind == "revolute" else 1.0 for joint in robot.joints])
    try:
        rows = np.array(table["waypoints"], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: waypoints: expected rows of {robot.n} numbers ({error})") from error
    if rows.ndim != 2 or rows.shape[1] != robot.n:
        raise InputError(f"{path}: waypoints: expected rows of {robot.n} numbers, got shape {rows.shape}")
    try:
        return quintic_spline(rows * scale, table["times"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def gains(words: Sequence[str]) -> dict[str, Any]:
    """Read 'name=value' words: a number, numbers separated by commas, true, false, or a word."""
    out: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name, value = name.strip(), value.strip()
        if not (equals and name.isidentifier() and value):
            raise InputError(f"--gain {word!r}: expected name=value, such as kp=100 or kp=50,50,20")
        if name in out:
            raise InputError(f"--gain {name}: given twice")
        if value in ("true", "false"):
            out[name] = value == "true"
        elif value.replace("_", "").replace("-", "").isalpha():
            out[name] = value
        else:
            values = [_number(part, f"--gain {word!r}") for part in value.split(",")]
            out[name] = values[0] if len(values) == 1 else np.array(values)
    return out


def tool(text: str) -> Array:
    """Read 'x,y,z' [m] or 'x,y,z,A,B,C' with angles Rz(A) Ry(B) Rx(C) [deg] as a pose (4, 4)."""
    from armwright.spatial import pose, rotation_from_euler

    values = [_number(word, f"--tool {text!r}") for word in text.split(",")]
    if len(values) not in (3, 6):
        raise InputError(f"--tool {text!r}: expected x,y,z in metres, or x,y,z,A,B,C with angles in degrees")
    angles = np.radians([*values[3:], 0.0, 0.0, 0.0][:3])
    return np.asarray(pose(rotation_from_euler(angles, "zyx"), np.array(values[:3])))


def payload(text: str, robot: Robot) -> Robot:
    """Load an arm with 'mass' [kg] at the tool origin, or 'mass@x,y,z' [m] in the tool frame."""
    mass, com = mass_and_place(text)
    return robot.with_payload(mass, com=com)


def mass_and_place(text: str) -> tuple[float, list[float]]:
    """Read 'mass' or 'mass@x,y,z' as a mass [kg] and its centre [m], the origin if omitted."""
    mass, at, place = text.partition("@")
    com = [_number(word, f"--payload {text!r}") for word in place.split(",")] if at else [0.0] * 3
    if len(com) != 3:
        raise InputError(f"--payload {text!r}: expected mass, or mass@x,y,z")
    return _number(mass, f"--payload {text!r}"), com


HELP = (
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
    return grid_map(shape, [a - size for a in at], size, first=1)


def cell_of(text: str | None, option: str, where: GridMap, usual: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return the cell that an option names; by default that of the world's task, in the lowest layer of a volume."""
    if text is None:
        return usual if usual is None or where.grid.dim == len(usual) else (*usual, LOWEST)
    try:
        cell = tuple(int(word) for word in text.split(","))
    except ValueError:
        fail(f"{option} {text}: expected whole numbers such as 2,11")
    if len(cell) != where.grid.dim:
        example = ",".join(str(c) for c in (*(usual or (2, 11)), LOWEST)[: where.grid.dim])
        fail(f"{option} {text}: a cell of this map has {where.grid.dim} numbers, such as {example}")
    return cell


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
    from armwright.exploration.exploration import planner_space
    from armwright.exploration.explore_options import made_for

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
    from armwright.exploration.explore_options import ArmTask, made_for

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
    from armwright.exploration.explore_options import GridTask

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
