# SPDX-License-Identifier: Apache-2.0
"""What the studio has done by other processes: arms opened and compiled, worlds read and explored, programs, documents.

Every function takes a `Progress` and plain fields, and returns plain data: an arm comes as its sheet, a world as the
text of its file, and results go back as the rows and the replay page that are shown. What a task needs is imported by
the task: each begins in a fresh process. `check_size` is the limit of arms that the studio takes: beyond it the page,
which poses and simulates the arm while somebody looks, does not follow.
"""

from __future__ import annotations

import base64
import os
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import ArmwrightError, ArmwrightWarning, InputError, NotSupportedError
from armwright.robot.load import load as load_robot

if TYPE_CHECKING:
    from armwright.programs.outcome.program_run import ProgramRun
    from armwright.recording.replay.replay_stage import ReplayStage
    from armwright.robot.model import Robot
    from armwright.studies.run_study import Result
    from armwright.studio.work_process import Progress

MOST_STUDIO_JOINTS = 24  # joints: their simulation is compiled within 10 s on one core
MOST_STUDIO_BODIES = 64  # moving bodies, mimic joints included
MOST_STUDIO_FRAMES = 500  # links on fixed joints
MOST_STUDIO_SHAPES = 1000  # shapes of a world: drawn one by one
MOST_TABLE_ROWS = 200  # rows of a table on the page
METRICS = ("contacts", "false_alarms", "arrival_s", "largest_force_n", "median_delay_s", "tool_path_m", "simulated_s")


def check_size(robot: Robot) -> None:
    """Refuse an arm that is too large for the page.

    Raises:
        InputError: what is too much, and what works on it.
    """
    for count, most, what in (
        (robot.n, MOST_STUDIO_JOINTS, "joints"),
        (len(robot.bodies), MOST_STUDIO_BODIES, "moving bodies"),
        (len(robot.frames), MOST_STUDIO_FRAMES, "fixed links"),
    ):
        if count > most:
            raise InputError(
                f"robot {robot.name[:60]!r}: {count} {what}; the studio takes at most {most}. The command line has "
                "no such limit (armwright check, armwright export); aw.load(…, tip=…) cuts out one chain"
            )


def arm_of(sheet: str) -> Robot:
    """Return an arm of the studio's from its sheet; it was judged when it came in, and is taken as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArmwrightWarning)
        return load_robot(sheet, implausible="warn")


def loaded_with_words(file: Path, tip: str | None) -> tuple[Robot, list[str]]:
    """Read a description; return the arm and what its reader warns of, which the page says."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", ArmwrightWarning)
        robot = load_robot(file, tip=tip)
    return robot, list(dict.fromkeys(str(one.message) for one in heard))


def open_arm(progress: Progress, file: str, tip: str | None, folder: str, law: str, knows: bool) -> dict[str, Any]:
    """Read a robot description and do everything that the page will ask of the arm first; returns ``described``.

    Beside what `describe` says that has ``own``: links that may carry the tool, and what is not drawn; and the meshes
    that lie in the folder.
    """
    from armwright.studio.own_arm import drawn_meshes, links_of

    progress(0.1, "reads the description")
    whole, told = loaded_with_words(Path(file), None)
    robot, told = (whole, told) if tip is None else loaded_with_words(Path(file), tip)
    check_size(robot)
    made = _made_ready(progress, robot, law, knows)
    progress(0.9, "looks for its meshes")
    meshes, missing = drawn_meshes(robot, Path(file), Path(folder))
    made["described"]["spec"]["meshes"] = meshes
    notes = [*robot.notes.splitlines(), *told, *([missing] if missing else [])]
    made["described"]["own"] = {"links": links_of(whole), "notes": notes}
    return made


def make_ready(progress: Progress, sheet: str, law: str, knows: bool) -> dict[str, Any]:
    """Compile an arm, given as its sheet, for a law; returns ``described``."""
    return _made_ready(progress, arm_of(sheet), law, knows)


def _made_ready(progress: Progress, robot: Robot, law: str, knows: bool) -> dict[str, Any]:
    """Compile what the studio needs; compiled code is cached on disk, so that the studio finds it there."""
    from armwright.simulation.pulled_link import posture
    from armwright.studio.arm_view import describe, look
    from armwright.studio.pulled_arm import Choice, PulledArm
    from armwright.studio.touch_beliefs import warm_up

    progress(0.2, "judges the description")
    described = describe(robot)
    progress(0.4, f"compiles the simulation of {robot.n} joints")
    PulledArm(robot, Choice(law, knows), posture(robot))
    progress(0.8, "compiles the mathematics")
    look(robot, posture(robot))
    warm_up(robot)
    return {"described": described}


def write_code(progress: Progress, sheet: str, to: str, what: str) -> dict[str, Any]:
    """Write an arm's equations as source code; returns ``text``."""
    from armwright.dynamics.equations import equations

    progress(0.1, f"writes {what}")
    return {"text": equations(arm_of(sheet), what).source(to)}


def open_world(progress: Progress, file: str) -> dict[str, Any]:
    """Read a world file; returns its name, its shapes for the page, and start and goal if it has a joint task."""
    from armwright.recording.replay.scene_spec import world_spec
    from armwright.world.world_file import read_world

    progress(0.1, "reads the world")
    world = read_world(Path(file))
    if len(world.shapes) > MOST_STUDIO_SHAPES:
        raise InputError(
            f"{Path(file).name}: {len(world.shapes)} shapes; the studio takes at most {MOST_STUDIO_SHAPES}. "
            "The command line has no such limit (armwright run collision)"
        )
    ends = None if world.task is None else {"start": list(world.task.start), "goal": list(world.task.goal)}
    return {"name": world.name, "shapes": world_spec(world), "task": ends}


def _replay_page(title: str, stage: ReplayStage) -> str:
    from armwright.recording.replay.replay_page import html_page, replay_parts

    return html_page(title, (), replay_parts(stage))


def explore_world(
    progress: Progress, sheet: str, world: str, drawn: bool, pairs: list[tuple[str, str]], duration: float
) -> dict[str, Any]:
    """Explore a world with pairs of reaction and observer, one after the other.

    Args:
        progress: hears of it.
        sheet: the arm.
        world: the name of one that comes with the package; the text of a world file if it was `drawn`.
        drawn: whether it was; then the whole arm explores.
        pairs: reaction and observer of every run; "" for the observer that suits the task.
        duration: of each run at most [s].

    Returns:
        ``world`` and ``runs``, each with its name, outcome, metrics and the replay ``page`` ("" where it has none).
    """
    from armwright.exploration.exploration import explore
    from armwright.exploration.explore_options import ArmTask, Budget, Sensing
    from armwright.exploration.pictures.exploration_report import exploration_stage
    from armwright.world.world_catalogue import load_world
    from armwright.world.world_file import world_from_text

    robot = arm_of(sheet)
    there = world_from_text(world) if drawn else load_world(world)
    runs = []
    for k, (reaction, observer) in enumerate(pairs):
        words = f"{reaction}{f', {observer}' if observer else ''}"
        progress(k / len(pairs), f"{words}: compiles and learns what is normal …")

        def tell(share: float, contacts: int, k: int = k, words: str = words) -> None:
            progress((k + share) / len(pairs), f"{words}: {share * duration:.0f} s, {contacts} contacts")

        done = explore(
            robot,
            there,
            ArmTask() if drawn else None,
            reaction=reaction,  # type: ignore[arg-type]  # one of REACTIONS
            sensing=Sensing(observer=observer) if observer else None,
            budget=Budget(duration=duration),
            progress=tell,
        )
        title = f"{there.name}: {words}"
        stage, metrics = exploration_stage(done, title), done.metrics()
        run = {"name": words, "title": title, "outcome": done.outcome, "message": done.message}
        run |= {"note": f"{done.outcome}, {len(done.contacts)} contacts", "page": ""}
        if stage is not None:
            run["page"] = _replay_page(title, stage)
        runs.append(run | {key: metrics.get(key) for key in METRICS})
    return {"world": there.name, "runs": runs}


def run_a_program(
    progress: Progress, sheet: str, file: str, content: str, override: float, payload: float
) -> dict[str, Any]:
    """Run a robot program.

    Args:
        progress: hears of it.
        sheet: the arm.
        file: name of the program's file.
        content: what stands in it, in base64.
        override: factor on the speeds.
        payload: at the tool [kg].

    Returns:
        ``said``: verdict and tables for the page; ``title`` and ``note`` of the run, and its replay ``page``.
    """
    from armwright.programs.outcome import run_program
    from armwright.programs.outcome.program_report import program_stage
    from armwright.programs.program import Payload
    from armwright.programs.program_reader import read_program

    progress(0.05, "plans")
    robot = arm_of(sheet)
    load = Payload(payload, np.zeros(3)) if payload else None
    with TemporaryDirectory(prefix="armwright-studio-") as folder:
        place = Path(folder) / file
        place.write_bytes(base64.b64decode(content))
        try:
            outcome = run_program(robot, read_program(place, robot=robot), override=override, payload=load)
        except ArmwrightError as error:  # the user's name of the file, not ours
            raise InputError(str(error).replace(f"{folder}{os.sep}", "")) from None
    progress(0.4, "asks how fast it could be")
    fastest = outcome.override
    progress(0.7, "writes the tables")
    title = f"{file} on {robot.name} at {100 * override:g} %"
    said = {"override": override, "fastest": float(fastest.program), **_program_said(outcome)}
    page = _replay_page(title, program_stage(outcome, title, margins=True))
    return {"said": said, "title": title, "note": outcome.answer, "page": page}


def _program_said(outcome: ProgramRun) -> dict[str, Any]:
    """Return what the page says of a program's run: what decides first, then tables."""
    from armwright.programs.outcome import program_findings as found
    from armwright.programs.outcome import program_words as rows
    from armwright.programs.outcome.way_words import clearance_words, margin_words

    decided, tracked = found.answer_words(outcome)
    reading = outcome.program.reading
    ranked = found.findings(outcome)
    return {
        "feasible": outcome.answer == "feasible",
        "answer": outcome.answer,
        "whole": reading is None or reading.whole,
        "headline": found.headline(outcome),
        "rests_on": found.data_class(outcome),
        "basis": outcome.basis,
        "verdict": decided,
        "tracking": tracked,
        "duration": float(outcome.plan.duration),
        "over": any(row.over for row in found.worst_of(outcome)),
        "worst": [
            {
                "use": row.much,
                "time": float(row.time),
                "line": row.line,
                "words": found.folderless(outcome.program, row.words),
            }
            for row in found.worst_of(outcome)
        ],
        "assumed": [row._asdict() for row in found.assumptions(outcome)[:MOST_TABLE_ROWS]],
        "near": [
            found.folderless(outcome.program, words) for words in (clearance_words(outcome), *margin_words(outcome))
        ],
        "torque_speed": _torque_speed(outcome),
        "coverage": list(found.coverage(outcome)[:MOST_TABLE_ROWS]),
        "moves": {
            "heads": list(rows.MOVE_HEADS),
            "rows": [rows.move_cells(outcome, move, 40) for move in outcome.moves[:MOST_TABLE_ROWS]],
            "marked": [bool(move.use > 1.0) for move in outcome.moves[:MOST_TABLE_ROWS]],
            "times": [float(move.start) for move in outcome.moves[:MOST_TABLE_ROWS]],
        },
        "motors": {"heads": list(rows.MOTOR_HEADS), "rows": rows.motor_cells(outcome)},
        "events": {
            "heads": list(rows.EVENT_HEADS),
            "rows": [rows.event_cells(outcome, row.event) for row in ranked[:MOST_TABLE_ROWS] if row.event is not None],
            "times": [float(row.time) for row in ranked[:MOST_TABLE_ROWS]],
        },
    }


def _torque_speed(outcome: ProgramRun) -> str:
    """Return a picture of torque over speed in the box of the limits, as PNG in base64; empty where there is none."""
    from armwright.programs.outcome.program_pictures import png, views_of

    if "torque-speed" not in views_of(outcome):
        return ""
    try:
        return base64.b64encode(png(outcome, "torque-speed")).decode()
    except NotSupportedError:  # matplotlib is not installed
        return ""


def run_document(progress: Progress, document: str) -> dict[str, Any]:
    """Run a document; returns ``counts`` of its verdicts and the ``page`` of its report."""
    from armwright.studies.run_study import run_study
    from armwright.studies.study import load_study
    from armwright.studies.study_page import write_page

    study = load_study(document)
    done = 0

    def tell(result: Result) -> None:
        nonlocal done
        done += 1
        progress(0.9 * done / len(study.items), f"{result.item.id}: {result.verdict.kind}")

    outcome = run_study(study, tell=tell)
    progress(0.92, "draws figures")
    with TemporaryDirectory(prefix="armwright-studio-") as folder:
        page = write_page(outcome, Path(folder) / "report.html").read_text(encoding="utf-8")
    return {"page": page, "counts": outcome.counts()}
