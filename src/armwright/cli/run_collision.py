# SPDX-License-Identifier: Apache-2.0
"""``armwright run collision``: an arm through a world that nobody told it about; a summary and a report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.choices import DETECTORS, GRID_PLANNERS, JOINT_PLANNERS, OBSERVERS, REACTIONS
from armwright.cli.choice_words import names_of
from armwright.cli.failures import CommandError, error_object, fail, guarded
from armwright.cli.option_words import HELP, WHICH, Asked, Base, Implausible, Tip, load_arm, place_json, task_of
from armwright.cli.output import INTERRUPTED, NEGATIVE, Json, Open, page_of, safe, say, say_json, show_page
from armwright.cli.output import table as print_table
from armwright.cli.output import tell as remark
from armwright.cli.program_command import program
from armwright.cli.run_detection import detection
from armwright.cli.run_worlds import worlds
from armwright.errors import NotSupportedError

if TYPE_CHECKING:
    from armwright.exploration.exploration_result import Exploration
    from armwright.robot.model import Robot

app = typer.Typer(
    name="run", help="Whole jobs from one command.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)
WRITES = "report.html and recording.npz"
WAYS = names_of(REACTIONS).replace("back off", "back-off")


@app.callback()
def _jobs() -> None:
    """Whole jobs from one command."""


@app.command()
@guarded
def collision(
    world: Annotated[
        str, typer.Option(help="A or B (the layouts for document 000), another world's name, or a .toml file.")
    ] = "A",
    robot: Annotated[str | None, typer.Option(help=f"{WHICH} ur5 by default.")] = None,
    grid: Annotated[str | None, typer.Option(help=HELP)] = None,
    start: Annotated[
        str | None,
        typer.Option(help="Cell to begin in: u,v or u,v,w. For the whole arm: joint coordinates [rad, m]."),
    ] = None,
    goal: Annotated[
        str | None,
        typer.Option(help="Cell to reach: u,v or u,v,w. For the whole arm: joint coordinates, or a tool position [m]."),
    ] = None,
    near: Annotated[
        str | None,
        typer.Option(help="On maps: joint coordinates [rad, m] near which the arm starts, its tool held as there."),
    ] = None,
    observer: Annotated[
        str | None,
        typer.Option(
            help=names_of(
                OBSERVERS, {"closed-loop": "default on maps", "momentum": "default in joint space"}, last=", "
            )
            + "."
        ),
    ] = None,
    detector: Annotated[str | None, typer.Option(help=f"{names_of(DETECTORS)}; the observer's own by default.")] = None,
    planner: Annotated[
        str | None,
        typer.Option(
            help=f"On maps: {names_of(GRID_PLANNERS, {'hopfield': 'default'})}. In joint space, with the whole arm: "
            f"{names_of(JOINT_PLANNERS, {'rrt-connect': 'default in worlds made for it'})}."
        ),
    ] = None,
    reaction: Annotated[str, typer.Option(help=f"To a contact: {WAYS}.")] = "back-off",
    contact: Annotated[
        str | None, typer.Option(help="What touches: tool (a point) or links (the whole arm, always in joint space).")
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Document 000 as published: its reduced arm and its rules.")
    ] = False,
    trigger: Annotated[str, typer.Option(help="With --published: an alarm fires at its edge, or level.")] = "edge",
    table: Annotated[str, typer.Option(help="With --published, follow the spline or hold its table.")] = "spline",
    noise: Annotated[bool, typer.Option("--noise", help="See the joints through a UR5's sensors.")] = False,
    duration: Annotated[float, typer.Option(help="Seconds before the run is given up.")] = 120.0,
    budget: Annotated[int, typer.Option(help="Contacts before the run is given up.")] = 200,
    seed: Annotated[int, typer.Option(help="Of noise and learned thresholds.")] = 0,
    film: Annotated[bool, typer.Option("--film/--no-film", help="Add a film to the report (takes longest).")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help=f"Folder for {WRITES}.")] = None,
    browse: Open = False,
    implausible: Implausible = "refuse",
    base: Base = None,
    tip: Tip = None,
    json: Json = False,
) -> None:
    """Send an arm through an unknown world: every bump becomes map, and it arrives anyway."""
    from armwright.detection.study_contacts import ur5_sensors
    from armwright.exploration.exploration import explore
    from armwright.exploration.explore_options import Budget, Sensing
    from armwright.exploration.surroundings import find_world

    if out is not None and out.exists() and not out.is_dir():
        fail(f"{out}: not a folder")
    if not published and (trigger, table) != ("edge", "spline"):
        fail("--trigger and --table belong to document 000 as published: add --published")
    name = robot or ("ur5-ragazzon-published" if published else "ur5")
    arm = load_arm(name, implausible, base, tip)
    place, asked = find_world(world), Asked(planner, contact, grid, start, goal, near)
    how: dict[str, Any] = {"reaction": reaction.replace("-", " "), "planner": planner}
    if published:
        how |= _as_published(arm, asked, trigger, table, how["reaction"])
    else:
        how["task"] = task_of(arm, place, asked)
    options: dict[str, Any] = {
        "sensing": Sensing(observer, detector, ur5_sensors() if noise else None),
        "budget": Budget(duration, budget),
        "seed": seed,
        **how,
    }
    began = time.perf_counter()
    try:
        with _bar(f"{name} in world {world}", json) as tell:
            run = explore(arm, place, progress=tell, **options)
    except Exception as error:
        recording = getattr(error, "recording", None)
        if out is not None and recording is not None and len(recording):
            out.mkdir(parents=True, exist_ok=True)
            recording.save(out / "recording.npz")
            remark(f"wrote {out / 'recording.npz'}: what was recorded until the error")
        raise
    took = time.perf_counter() - began
    files = _write(run, out, film, json) if out is not None else []
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
    if files or browse:
        show_page(page_of(files), opened=browse, quiet=json)
    if ending is not None:
        raise ending
    if not run.reached and run.settings["reaction"] != "stop":
        raise typer.Exit(NEGATIVE)


def _as_published(arm: Robot, asked: Asked, trigger: str, table: str, reaction: str) -> dict[str, Any]:
    """Return task and rules of document 000, with other cells or another map where they are asked for."""
    from armwright.cli.option_words import cell_of, grid_of
    from armwright.studies.doc000_collision.rules import Published, task_of
    from armwright.world.world_catalogue import load_world

    if asked.planner is not None or asked.near is not None:
        fail("--planner and --near do not go with --published: the document has its own")
    task = task_of(arm)
    if asked.contact is not None:
        task = replace(task, contact=asked.contact)  # type: ignore[arg-type]  # it checks the word
    where = grid_of(asked.grid or "patch", load_world("layout-a").tool_task)
    start, goal = cell_of(asked.start, "--start", where, task.start), cell_of(asked.goal, "--goal", where, task.goal)
    task = replace(task, where=where, start=start, goal=goal)
    return {"task": task, "reaction": Published(trigger, table, reaction=reaction)}  # type: ignore[arg-type]


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
    if len(run.recording):
        files.append(run.recording.save(out / "recording.npz"))
    try:
        with progress("drawing the report", quiet) as tell:
            done = None if tell is None else lambda k, n: tell(k / n)
            files.append(run.report(out / "report.html", animation=film, progress=done))
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
                f"{np.linalg.norm(c.true):.1f}",
                f"{c.link} – {c.shape}" if c.link else "nothing",
            ]
        )
    robot, world, observer, planner, reaction = (
        run.settings[key] for key in ("robot", "world", "observer", "planner", "reaction")
    )
    title = f"{robot} in {world}: {observer} observer, {planner}, {reaction}"
    print_table(title, ["contact", "place", "alarm [s]", "delay [ms]", "felt [N]", "true [N]", "touched"], rows, left=2)
    m = run.metrics()
    say(sentence(run))
    say(
        f"{m['simulated_s']:.1f} s simulated in {took:.3g} s, compiling included · {m['cells_felt']} cells marked · "
        f"largest force {m['largest_force_n']:.1f} N · impulse {m['impulse_ns']:.3g} N s · "
        f"tool path {m['tool_path_m']:.2f} m · false alarms {m['false_alarms']}"
    )
