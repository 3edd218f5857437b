# SPDX-License-Identifier: Apache-2.0
"""Explore: worlds to choose or to draw, runs through them, and runs that differ in one thing beside one another."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from armwright.errors import InputError
from armwright.recording.replay.spec import world_spec
from armwright.studio.messages import Shape, listed, number, numbers, one_of, one_of_these, record, text
from armwright.studio.robot_view import configuration
from armwright.studio.shelf import Item
from armwright.studio.views import Q
from armwright.world.file import world_text
from armwright.world.shapes import Box, Cylinder, Sphere
from armwright.world.task import Task
from armwright.world.world import World, load_world, worlds

if TYPE_CHECKING:
    from armwright.studio.hub import Client
    from armwright.studio.state import Studio

OBSERVERS = ("closed-loop", "momentum", "kalman", "disturbance", "scaled-error")
MOST_RUNS, MOST_SHAPES = 8, 64
MOST_WORDS = 8
METRICS = ("contacts", "false_alarms", "arrival_s", "largest_force_n", "median_delay_s", "tool_path_m", "simulated_s")
PLACE = numbers(-100.0, 100.0, count=3)
SIZE = number(1e-3, 50.0)
DRAWN = record(
    {"kind": one_of("box", "cylinder", "sphere"), "name": text(60), "centre": PLACE},
    {"size": numbers(1e-3, 50.0, count=3), "radius": SIZE, "height": SIZE},
)
WORLD = {"name": text(60), "shapes": listed(DRAWN, MOST_SHAPES)}


def reactions_known() -> tuple[str, ...]:
    """What an arm may do when it touches something."""
    from armwright.exploration.options import REACTIONS

    return REACTIONS


def drawn_world(studio: Studio, name: str, shapes: list[dict[str, Any]], **ends: list[float]) -> World:
    """A world of drawn shapes, with a task if start and goal are given."""
    made: list[Any] = []
    for shape in shapes:
        rest = {key: value for key, value in shape.items() if key != "kind"}
        wanted = {"box": {"size"}, "cylinder": {"radius", "height"}, "sphere": {"radius"}}[shape["kind"]]
        if set(rest) != {"name", "centre"} | wanted:
            raise InputError(f"shapes: a {shape['kind']} has name, centre and {', '.join(sorted(wanted))}")
        kind: Any = {"box": Box, "cylinder": Cylinder, "sphere": Sphere}[shape["kind"]]
        made.append(kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in rest.items()}))
    task = None
    if ends.get("start") is not None and ends.get("goal") is not None:
        q = {end: tuple(configuration(studio.robot, ends[end]).tolist()) for end in ("start", "goal")}
        task = Task(studio.robot.name, q["start"], q["goal"])
    return World(tuple(made), name, task=task)


async def list_worlds(studio: Studio, client: Client) -> dict[str, Any]:
    """The worlds that come with the package."""
    found = []
    for name in worlds():
        world = load_world(name)
        made_for = [world.task.robot] if world.task else list(world.tool_task.robots) if world.tool_task else []
        task: dict[str, Any] | None = None
        if world.task is not None:
            task = {"start": world.task.start, "goal": world.task.goal}
        elif world.tool_task is not None:
            task = {"start": world.tool_task.near}
        found.append(
            {"name": name, "title": world.title, "robots": made_for, "shapes": world_spec(world), "task": task}
        )
    return {"worlds": found, "observers": list(OBSERVERS), "reactions": list(reactions_known())}


async def world_file(studio: Studio, client: Client, **drawn: Any) -> dict[str, Any]:
    """A drawn world as a world file."""
    return {"text": world_text(drawn_world(studio, **drawn)), "file": f"{drawn['name']}.toml"}


async def run(
    studio: Studio,
    client: Client,
    reactions: list[str],
    observers: list[str],
    duration: float,
    world: str | None = None,
    drawn: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Explore a world with every pair of reaction and observer; the job's result lists the runs."""
    if (world is None) == (drawn is None):
        raise InputError("explore: name a world, or send a drawn one")
    if world is not None and world not in worlds():
        raise InputError(f"explore: no world {world!r:.40}; valid: {', '.join(worlds())}")
    there = load_world(world) if world is not None else drawn_world(studio, **(drawn or {}))
    pairs = list(itertools.product(reactions, observers or [""]))
    if not 1 <= len(pairs) <= MOST_RUNS:
        raise InputError(f"explore: 1 to {MOST_RUNS} runs at a time, got {len(pairs)}")
    robot = studio.robot

    def work(progress: Callable[[float, str], None]) -> dict[str, Any]:
        from armwright.exploration.explore import explore
        from armwright.exploration.options import ArmTask, Budget, Sensing

        rows = []
        for k, (reaction, observer) in enumerate(pairs):
            words = f"{reaction}{f', {observer}' if observer else ''}"
            progress(k / len(pairs), f"{words}: compiles and learns what is normal …")

            def tell(share: float, contacts: int, k: int = k, words: str = words) -> None:
                progress((k + share) / len(pairs), f"{words}: {share * duration:.0f} s, {contacts} contacts")

            done = explore(
                robot,
                there,
                ArmTask() if drawn is not None else None,
                reaction=reaction,  # type: ignore[arg-type]  # one of REACTIONS
                sensing=Sensing(observer=observer) if observer else None,
                budget=Budget(duration=duration),
                progress=tell,
            )
            metrics = done.metrics()
            name = f"{there.name}: {words}"
            item = studio.shelf.add(Item("exploration", name, done, f"{done.outcome}, {len(done.contacts)} contacts"))
            row = {"number": item, "name": words, "outcome": done.outcome, "message": done.message}
            rows.append(row | {key: metrics.get(key) for key in METRICS})
        return {"world": there.name, "runs": rows}

    return {"job": studio.jobs.start(f"explore {there.name}", work)}


VIEWS: dict[str, tuple[Shape, Any]] = {
    "worlds": (Shape(), list_worlds),
    "world_file": (Shape(WORLD, {"start": Q, "goal": Q}), world_file),
}
ORDERS: dict[str, tuple[Shape, Any]] = {
    "explore": (
        Shape(
            {
                "reactions": listed(one_of_these(reactions_known), MOST_WORDS),
                "observers": listed(one_of(*OBSERVERS), MOST_WORDS),
                "duration": number(1.0, 600.0),
            },
            {"world": text(60), "drawn": record(WORLD, {"start": Q, "goal": Q})},
        ),
        run,
    ),
}
