# SPDX-License-Identifier: Apache-2.0
"""``armwright run collision``: an arm through a world that nobody told it about; a summary and a report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.choices import DETECTORS, OBSERVERS, REACTIONS
from armwright.cli.exploration_task import TaskOptions, cell_of, grid_of, place_json, task_of
from armwright.cli.failures import CommandError, error_object, fail, guarded
from armwright.cli.option_groups import ArmReading, grouped
from armwright.cli.option_words import (
    Film,
    Json,
    Open,
    Seed,
    duration_option,
    names_of,
    out_option,
    payload,
    payload_option,
    robot_option,
    world_option,
)
from armwright.cli.output import INTERRUPTED, NEGATIVE, page_of, safe, say, say_json, show_page
from armwright.cli.output import table as print_table
from armwright.cli.output import tell as remark
from armwright.cli.program_command import program
from armwright.cli.run_detection import detection
from armwright.cli.run_worlds import worlds
from armwright.cli.wire_driving import WireDriving
from armwright.cli.written_files import unfinished
from armwright.errors import NotSupportedError

if TYPE_CHECKING:
    from armwright.exploration.exploration_result import Exploration
    from armwright.robot.model import Robot

app = typer.Typer(
    name="run", help="Whole jobs from one command.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)
WRITES = "report.html and recording.npz"
WAYS = names_of(REACTIONS).replace("back off", "back-off")
OBSERVER_DEFAULTS = {"closed-loop": "default on maps", "momentum": "default in joint space"}


@app.callback()
def _jobs() -> None:
    """Whole jobs from one command."""


@dataclass(frozen=True)
class TouchOptions:
    """How the arm feels, and what it does then."""

    observer: Annotated[
        str | None,
        typer.Option(
            metavar="OBSERVER",
            help=names_of(OBSERVERS, OBSERVER_DEFAULTS, last=", ") + ".",
        ),
    ] = None
    detector: Annotated[
        str | None,
        typer.Option(metavar="DETECTOR", help=f"{names_of(DETECTORS)}; the observer's own by default."),
    ] = None
    sensors: Annotated[str | None, typer.Option(metavar="ur5", help="See the joints through a UR5's sensors.")] = None
    reaction: Annotated[str, typer.Option(help=f"To a contact: {WAYS}.")] = "back-off"
    load: Annotated[
        str,
        typer.Option(
            metavar="estimate|none",
            help="Before it blames the world, the arm tries whether an unknown load or friction explains an alarm; "
            "none: it believes its model.",
        ),
    ] = "estimate"
    payload: Annotated[str | None, payload_option("Load on the tool.")] = None
    law_ignores_payload: Annotated[
        bool, typer.Option("--law-ignores-payload", help="The arm's model does not know about the payload.")
    ] = False


@dataclass(frozen=True)
class PublishedOptions:
    """Document 000 as it was published."""

    published: Annotated[
        bool, typer.Option("--published", help="Document 000 as published: its reduced arm and its rules.")
    ] = False
    trigger: Annotated[str, typer.Option(help="With --published: an alarm fires at its edge, or level.")] = "edge"
    table: Annotated[str, typer.Option(help="With --published, follow the spline or hold its table.")] = "spline"


@dataclass(frozen=True)
class RunOptions(PublishedOptions):
    """When a run is given up, what is random in it, what it writes."""

    duration: Annotated[float, duration_option("After which the run is given up.")] = 120.0
    contacts: Annotated[int, typer.Option(metavar="NUMBER", help="After which the run is given up.")] = 200
    seed: Seed = 0
    film: Film = False
    out: Annotated[Path | None, out_option("FOLDER", f"For {WRITES}.")] = None
    browse: Open = False


@app.command()
@guarded
@grouped
def collision(
    *,
    world: Annotated[str, world_option("A or B (the layouts for document 000), or another world.")] = "A",
    robot: Annotated[str | None, robot_option("ur5 by default.")] = None,
    asked: TaskOptions,
    touch: TouchOptions,
    options: RunOptions,
    driving: WireDriving,
    reading: ArmReading,
    json: Json = False,
) -> None:
    """Send an arm through an unknown world: every bump becomes map. With --wire a real arm: not a safety function."""
    from armwright.detection.study_contacts import ur5_sensors
    from armwright.exploration.exploration import explore
    from armwright.exploration.explore_options import Budget, ControlLoop, Sensing
    from armwright.exploration.surroundings import find_world

    out = options.out
    if out is not None and out.exists() and not out.is_dir():
        fail(f"{out}: not a folder")
    if touch.sensors not in (None, "ur5"):
        fail(f"--sensors {touch.sensors}: choose from ur5")
    if not options.published and (options.trigger, options.table) != ("edge", "spline"):
        fail("--trigger and --table belong to document 000 as published: add --published")
    if driving.wire is not None:
        _on_the_wire(world, robot, asked, touch, options, driving, json)
        return
    driving.refuse("run collision")
    name = robot or ("ur5-ragazzon-published" if options.published else "ur5")
    arm, place = reading.load(name), find_world(world)
    how: dict[str, Any] = {"reaction": touch.reaction.replace("-", " "), "planner": asked.planner}
    if options.published:
        how |= _as_published(arm, asked, options, how["reaction"])
    else:
        how["task"] = task_of(arm, place, asked)
    how |= {
        "sensing": Sensing(
            touch.observer,
            touch.detector,
            ur5_sensors() if touch.sensors else None,
            load=touch.load,  # type: ignore[arg-type]  # it checks the word
        ),
        "budget": Budget(options.duration, options.contacts),
        "seed": options.seed,
    }
    plant = arm
    if touch.payload is not None:
        plant = arm.with_payload(*payload(touch.payload))
        how["loop"] = ControlLoop(model=arm if touch.law_ignores_payload else plant)
    began = time.perf_counter()
    try:
        with _bar(f"{name} in world {world}", json) as tell:
            run = explore(plant, place, progress=tell, **how)
    except Exception as error:
        recording = getattr(error, "recording", None)
        if out is not None and recording is not None and len(recording):
            out.mkdir(parents=True, exist_ok=True)
            remark(f"wrote {recording.save(unfinished(out / 'recording.npz'))}: what was recorded until the error")
        raise
    _tell_all(run, time.perf_counter() - began, options, json)


def _on_the_wire(
    world: str,
    robot: str | None,
    asked: TaskOptions,
    touch: TouchOptions,
    options: RunOptions,
    driving: WireDriving,
    json: bool,
) -> None:
    """Explore with an arm on the wire; of a world only map and task are taken."""
    from armwright.cli.collision_wire import explore_there, wire_job_of
    from armwright.exploration.explore_on import check_fits
    from armwright.exploration.explore_options import Budget
    from armwright.exploration.surroundings import find_world
    from armwright.live.wire_ride import WireRide

    if touch.observer is not None:
        check_fits(WireRide, observer=touch.observer)  # type: ignore[arg-type]  # it asks whether it presses
    refused = (
        ("--robot", robot),
        ("--observer", None if touch.observer == "momentum" else touch.observer),
        ("--detector", touch.detector),
        ("--sensors", touch.sensors),
        ("--law-ignores-payload", touch.law_ignores_payload),
        ("--published", options.published),
    )
    for word, given in refused:
        if given:
            fail(f"{word} does not go with --wire: the arm is that of --model, and feels by its motor currents")

    began = time.perf_counter()
    job = wire_job_of(
        asked,
        driving,
        find_world(world),
        options.out,
        reaction=touch.reaction.replace("-", " "),  # type: ignore[arg-type]  # it is checked there
        budget=Budget(options.duration, options.contacts),
        payload=touch.payload,
        seed=options.seed,
    )
    title = f"{job.identified.robot.name} at {job.address.host}"
    run = explore_there(job, driving, options.out, browse=options.browse, bar=lambda: _bar(title, json))
    if run is not None:
        _tell_all(run, time.perf_counter() - began, options, json)


def _tell_all(run: Exploration, took: float, options: RunOptions, json: bool) -> None:
    """Write and print what came of a run; end with the exit code that says so."""
    files = _write(run, options.out, options.film, json) if options.out is not None else []
    ending = None
    if run.outcome == "interrupted":
        ending = CommandError(f"interrupted {run.message}", INTERRUPTED, kind="Interrupted", answered=json)
    if json:
        contacts = [
            {
                "time_s": c.time,
                "began_s": c.began,
                "cell": list(c.cell),
                "felt_n": c.felt,
                "true_n": c.true,
                "link": c.link,
                "shape": c.shape,
                **place_json(c),
            }
            for c in run.contacts
        ]
        say_json(
            {
                **run.metrics(),
                "cells": [list(c) for c in run.cells],
                "contact_list": contacts,
                "settings": run.settings,
                "seconds": took,
                "files": files,
                "error": error_object(ending) if ending else None,
            }
        )
    else:
        print_summary(run, took)
        for file in files:
            say(f"wrote {file}")
    if files or options.browse:
        show_page(page_of(files), opened=options.browse, quiet=json)
    if ending is not None:
        raise ending
    if not run.reached and run.settings["reaction"] != "stop":
        raise typer.Exit(NEGATIVE)


def _as_published(arm: Robot, asked: TaskOptions, options: PublishedOptions, reaction: str) -> dict[str, Any]:
    """Return task and rules of document 000, with other cells or another map where they are asked for."""
    from armwright.studies.doc000_collision.rules import Published, task_of
    from armwright.world.world_catalogue import load_world

    if asked.planner is not None or asked.near is not None:
        fail("--planner and --near do not go with --published: the document has its own")
    task = task_of(arm)
    if asked.touching is not None:
        task = replace(task, contact=asked.touching)  # type: ignore[arg-type]  # it checks the word
    where = grid_of(asked.grid or "patch", load_world("layout-a").tool_task)
    start, goal = cell_of(asked.start, "--start", where, task.start), cell_of(asked.goal, "--goal", where, task.goal)
    task = replace(task, where=where, start=start, goal=goal)
    return {"task": task, "reaction": Published(options.trigger, options.table, reaction=reaction)}  # type: ignore[arg-type]


app.command()(worlds)
app.command()(detection)
app.command()(program)


@contextmanager
def _bar(title: str, quiet: bool) -> Iterator[Callable[[float, int], None] | None]:
    """Show progress and the number of contacts on a terminal's stderr."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("contacts {task.fields[contacts]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(escape(safe(title)), total=1.0, contacts=0)
        yield lambda fraction, contacts: bar.update(task, completed=fraction, contacts=contacts)


def _write(run: Exploration, out: Path, film: bool, quiet: bool) -> list[str]:
    """Write recording, film and page; the recording first, it is what cannot be made again."""
    from armwright.cli.simulate_command import progress

    out.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    recording, page = out / "recording.npz", out / "report.html"
    if run.outcome == "interrupted":
        recording, page = unfinished(recording), unfinished(page)
    if len(run.recording):
        files.append(run.recording.save(recording))
    try:
        with progress("drawing the report", quiet) as tell:
            done = None if tell is None else lambda k, n: tell(k / n)
            files.append(run.report(page, animation=film, progress=done))
    except NotSupportedError as error:
        remark(f"armwright: no report: {error}")  # stdout may be for JSON
    return [str(file) for file in files]


def print_summary(run: Exploration, took: float) -> None:
    """Print one row a contact and the figures of the run."""
    import numpy as np

    from armwright.exploration.pictures.exploration_report import place_of, sentence

    rows = []
    for k, c in enumerate(run.contacts):
        delay = f"{1e3 * c.delay:.0f}" if np.isfinite(c.delay) else "–"
        rows.append(
            [
                str(k + 1),
                place_of(c),
                f"{c.time:.3f}",
                delay,
                f"{np.linalg.norm(c.felt):.1f}",
                f"{np.linalg.norm(c.true):.1f}" if np.isfinite(c.true).all() else "–",
                c.touched,
            ]
        )
    robot, world, observer, planner, reaction = (
        run.settings[key] for key in ("robot", "world", "observer", "planner", "reaction")
    )
    title = f"{robot} in {world}: {observer} observer, {planner}, {reaction}"
    print_table(title, ["contact", "place", "alarm [s]", "delay [ms]", "felt [N]", "true [N]", "touched"], rows, left=2)
    m = run.metrics()
    say(sentence(run))
    if not run.truth_known:
        say(
            f"{m['simulated_s']:.1f} s by the arm's clock · {m['cells_felt']} cells marked · largest felt force "
            f"{m['largest_felt_n']:.1f} N, a lower bound · tool path {m['tool_path_m']:.2f} m"
        )
        return
    say(
        f"{m['simulated_s']:.1f} s simulated in {took:.3g} s, compiling included · {m['cells_felt']} cells marked · "
        f"largest force {m['largest_force_n']:.1f} N · impulse {m['impulse_ns']:.3g} N s · "
        f"tool path {m['tool_path_m']:.2f} m · false alarms {m['false_alarms']}"
    )
