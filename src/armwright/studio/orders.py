# SPDX-License-Identifier: Apache-2.0
"""What only the owner's pages may ask for: everything that changes what the others see.

Three groups: the live arm (`ORDERS`); worlds to choose or draw and runs through them, one setting varied at a time
(`EXPLORE_ORDERS`); and a program that was opened, run through what the motors can do at any override
(`PROGRAM_ORDERS`).
"""

from __future__ import annotations

import base64
import itertools
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.choices import OBSERVERS, REACTIONS
from armwright.errors import InputError
from armwright.programs.program_samples import SAMPLES, sample_bytes
from armwright.recording.replay.scene_spec import world_spec
from armwright.schema.checks import Check, by_kind, flag, listed, number, numbers, one_of, text, whole
from armwright.schema.checks import record as fields
from armwright.studio.arm_view import configuration
from armwright.studio.long_work import explore_world, run_a_program
from armwright.studio.opened_log import SAMPLES as RECORDINGS
from armwright.studio.opened_log import sample
from armwright.studio.pulled_arm import LAWS, MOST_PAYLOAD, Choice
from armwright.studio.shelf import PlacesReserved, ShelfItem
from armwright.studio.views import POINT, Q
from armwright.studio.work_threads import beside
from armwright.world.shapes import Box, Cylinder, Shape, Sphere
from armwright.world.world import JointTask, World
from armwright.world.world_catalogue import load_world, worlds
from armwright.world.world_file import world_text

if TYPE_CHECKING:
    from armwright.studio.hub import Client
    from armwright.studio.studio_state import Studio


async def choose_robot(studio: Studio, client: Client, name: str) -> None:
    """Another arm of the catalogue."""
    await studio.choose(await studio.load(name))


async def own(studio: Studio, client: Client, file: str | None = None, tip: str | None = None) -> None:
    """Another description of the archive that came, or another link for the tool; without one the file's own."""
    if studio.own is None:
        raise InputError("own: no file of an arm was opened")
    if file is not None and file not in studio.own.files:
        raise InputError(f"own: no file {file!r:.80}; there are {', '.join(studio.own.files)}")
    await studio.show_own(replace(studio.own, file=file or studio.own.file, tip=tip or None))


async def pull(
    studio: Studio, client: Client, body: int, point: tuple[float, ...], target: tuple[float, ...], stiffness: float
) -> None:
    """Take a link and pull; nobody waits for the answer, so that pointers are followed at once."""
    plant = studio.arm.plant
    if body >= len(plant.robot.bodies):
        raise InputError(f"pull: {plant.robot.name!r} has links 0 … {len(plant.robot.bodies) - 1}, got {body}")
    client.pulls = True
    studio.arm.order(lambda: studio.arm.plant.hold(body, np.array(point), np.array(target), stiffness))


async def release(studio: Studio, client: Client) -> None:
    """Let go."""
    client.pulls = False
    await studio.order(studio.arm.let_go)


async def goal(studio: Studio, client: Client, q: tuple[float, ...]) -> None:
    """Where the law is to take the arm."""
    await studio.order(lambda: studio.arm.go_to(np.array(q)))
    studio.tell_live()


async def motion(studio: Studio, client: Client, kind: str) -> None:
    """Hold, or sway about the goal."""
    await studio.order(lambda: studio.arm.move(kind))
    studio.tell_live()


async def speed(studio: Studio, client: Client, value: float) -> None:
    """Simulated over real time; 0 pauses."""
    await studio.order(lambda: studio.arm.pause(value))
    studio.tell_live()


async def step(studio: Studio, client: Client, ticks: int) -> None:
    """Go on by some ticks of 2 ms while paused."""
    if studio.arm.speed:
        raise InputError("step: pause first")
    await studio.order(lambda: studio.arm.step(ticks))


async def tune(studio: Studio, client: Client, frequency: float, damping: float) -> None:
    """Gains of the law."""
    studio.gains = {"frequency": frequency, "damping": damping}
    await studio.order(lambda: studio.arm.plant.tune(frequency, damping))
    studio.tell_live()


async def plant(studio: Studio, client: Client, friction: float | None = None, payload: float | None = None) -> None:
    """Friction and payload of the plant."""
    await studio.order(lambda: studio.arm.become(friction=friction, payload=payload))
    studio.tell_live()


async def law(studio: Studio, client: Client, law: str, knows: bool) -> None:
    """Another law, or a controller that knows more or less."""
    await studio.choose_law(Choice(law, knows))


async def reset(studio: Studio, client: Client) -> None:
    """Back to the beginning."""
    await studio.order(studio.arm.reset)
    studio.tell_live()


async def record(studio: Studio, client: Client, on: bool) -> dict[str, Any]:
    """Begin or end a recording of the live arm; an ended one is put on the shelf. One that runs goes on."""
    return await studio.record(on)


async def remove(studio: Studio, client: Client, number: int) -> None:
    """Remove something from the shelf for good; a recording of the live arm from the disk as well."""
    item = await beside(studio.shelf.remove, number)
    studio.hub.tell({"event": "removed", "number": number, "kind": item.kind})


async def cancel(studio: Studio, client: Client, job: int) -> None:
    """End long work."""
    studio.jobs.cancel(job)


ORDERS: dict[str, tuple[Check[dict[str, Any]], Any]] = {
    "robot": (fields({"name": text(80)}), choose_robot),
    "own": (fields({}, {"file": text(400), "tip": text(200)}), own),
    "pull": (
        fields({"body": whole(0, 255), "point": POINT, "target": POINT, "stiffness": number(1.0, 20_000.0)}),
        pull,
    ),
    "release": (fields({}), release),
    "goal": (fields({"q": Q}), goal),
    "motion": (fields({"kind": one_of(("hold", "sway"))}), motion),
    "speed": (fields({"value": number(0.0, 1.0)}), speed),
    "step": (fields({"ticks": whole(1, 500)}), step),
    "tune": (fields({"frequency": number(0.5, 60.0), "damping": number(0.0, 3.0)}), tune),
    "plant": (fields({}, {"friction": number(0.0, 3.0), "payload": number(0.0, MOST_PAYLOAD)}), plant),
    "law": (fields({"law": one_of(LAWS), "knows": flag}), law),
    "reset": (fields({}), reset),
    "record": (fields({"on": flag}), record),
    "remove": (fields({"number": whole(1, 2**31)}), remove),
    "cancel": (fields({"job": whole(1, 2**31)}), cancel),
}


MOST_ORDERED_RUNS, MOST_SHAPES = 8, 64
MOST_WORDS = 8
PLACE = numbers(-100.0, 100.0, count=3)
SIZE = number(1e-3, 50.0)
PLACED = {"kind": text(), "name": text(60), "centre": PLACE}
DRAWN = by_kind(
    {
        "box": (fields(PLACED | {"size": numbers(1e-3, 50.0, count=3)}), Box),
        "cylinder": (fields(PLACED | {"radius": SIZE, "height": SIZE}), Cylinder),
        "sphere": (fields(PLACED | {"radius": SIZE}), Sphere),
    }
)
WORLD = {"name": text(60), "shapes": listed(DRAWN, MOST_SHAPES)}


def drawn_world(studio: Studio, name: str, shapes: tuple[Shape, ...], **ends: tuple[float, ...]) -> World:
    """A world of drawn shapes, with a task if start and goal are given."""
    task = None
    if ends.get("start") is not None and ends.get("goal") is not None:
        q = {end: tuple(configuration(studio.robot, ends[end]).tolist()) for end in ("start", "goal")}
        task = JointTask(studio.robot.name, q["start"], q["goal"])
    return World(shapes, name, task=task)


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
    return {"worlds": found, "observers": list(OBSERVERS.all_names()), "reactions": list(REACTIONS)}


async def world_file(studio: Studio, client: Client, **drawn: Any) -> dict[str, Any]:
    """A drawn world as a world file."""
    return {"text": world_text(drawn_world(studio, **drawn)), "file": f"{drawn['name']}.toml"}


async def run(
    studio: Studio,
    client: Client,
    reactions: tuple[str, ...],
    observers: tuple[str, ...],
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
    if not 1 <= len(pairs) <= MOST_ORDERED_RUNS:
        raise InputError(f"explore: 1 to {MOST_ORDERED_RUNS} runs at a time, got {len(pairs)}")
    given = {
        "sheet": studio.robot.to_sheet(),
        "world": world if world is not None else world_text(there),
        "drawn": drawn is not None,
        "pairs": pairs,
        "duration": duration,
    }
    places, group = PlacesReserved(studio.shelf, len(pairs)), secrets.token_hex(8)

    def finish(done: dict[str, Any]) -> dict[str, Any]:
        for run in done["runs"]:
            page, title, note = (run.pop(key) for key in ("page", "title", "note"))
            run["number"] = places.add(
                ShelfItem("exploration", title, page, note, {"world": done["world"], "group": group} | run)
            )
        return done

    try:
        return {"job": studio.jobs.start(f"explore {there.name}", explore_world, given, finish, places.give_back)}
    except BaseException:
        places.give_back()
        raise


VIEWS: dict[str, tuple[Check[dict[str, Any]], Any]] = {
    "worlds": (fields({}), list_worlds),
    "world_file": (fields(WORLD, {"start": Q, "goal": Q}), world_file),
}
EXPLORE_ORDERS: dict[str, tuple[Check[dict[str, Any]], Any]] = {
    "explore": (
        fields(
            {
                "reactions": listed(one_of(REACTIONS), MOST_WORDS),
                "observers": listed(one_of(OBSERVERS.all_names), MOST_WORDS),
                "duration": number(1.0, 600.0),
            },
            {"world": text(60), "drawn": fields(WORLD, {"start": Q, "goal": Q})},
        ),
        run,
    ),
}


async def program(
    studio: Studio, client: Client, source: int, override: float = 1.0, payload: float = 0.0
) -> dict[str, Any]:
    """Run a program that is on the shelf; the job's result has the verdict, the tables and the replay's number."""
    item = studio.shelf.get(source, "program text")
    content = base64.b64encode(item.value).decode()
    given: dict[str, Any] = {"sheet": studio.robot.to_sheet(), "file": item.name, "content": content}
    given |= {"override": override, "payload": payload}

    def finish(done: dict[str, Any]) -> dict[str, Any]:
        run = ShelfItem("program", done["title"], done["page"], done["note"], {"source": source})
        return {"number": studio.shelf.put_run(source, run), "source": source, **done["said"]}

    return {"job": studio.jobs.start(f"program {item.name}", run_a_program, given, finish)}


async def list_samples(studio: Studio, client: Client) -> dict[str, Any]:
    """The programs to begin with, those for the arm on the page first."""
    rows = [{"name": name, **sample._asdict()} for name, sample in SAMPLES.items()]
    return {"samples": sorted(rows, key=lambda row: row["robot"] != studio.robot.name)}


async def open_sample(studio: Studio, client: Client, name: str) -> dict[str, Any]:
    """Put a program to begin with on the shelf."""
    content = await beside(sample_bytes, name)
    return {"number": studio.shelf.add(ShelfItem("program text", name, content, SAMPLES[name].title))}


async def list_sample_recordings(studio: Studio, client: Client) -> dict[str, Any]:
    """The recordings to begin with: they are simulated with the arm on the page."""
    return {"samples": [{"name": name, **one._asdict()} for name, one in RECORDINGS.items()]}


async def open_sample_recording(studio: Studio, client: Client, name: str) -> dict[str, Any]:
    """Simulate a recording to begin with, and put it on the shelf."""
    robot = studio.robot
    recording = await beside(sample, robot, name)
    note = f"{recording.duration:.1f} s, {len(recording)} rows"
    return {"number": studio.shelf.add(ShelfItem("recording", f"{robot.name}: {name}", recording, note))}


VIEWS["samples"] = (fields({}), list_samples)
VIEWS["sample_recordings"] = (fields({}), list_sample_recordings)
PROGRAM_ORDERS: dict[str, tuple[Check[dict[str, Any]], Any]] = {
    "program": (
        fields({"source": whole(1, 2**31)}, {"override": number(0.05, 5.0), "payload": number(0.0, 100.0)}),
        program,
    ),
    "sample": (fields({"name": one_of(tuple(SAMPLES))}), open_sample),
    "sample_recording": (fields({"name": one_of(tuple(RECORDINGS))}), open_sample_recording),
}
