# SPDX-License-Identifier: Apache-2.0
"""``armwright run program``: a robot program against what the motors can really do.

`print_or_json` shows a program as it was understood, for ``armwright show``.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armwright.choices import FORMATS, TRACKINGS
from armwright.cli import option_words
from armwright.cli.branch_table import BranchRows, branch_rows, check_branches
from armwright.cli.failures import CommandError, error_object, fail, guarded
from armwright.cli.move_cells import blend_cell, speed_cell, where_cell
from armwright.cli.old_spellings import say_renamed
from armwright.cli.option_groups import arm_command
from armwright.cli.option_words import (
    Film,
    Json,
    LanguageName,
    Open,
    ProgramFile,
    joints_option,
    names_of,
    out_option,
    payload_option,
    robot_option,
    world_option,
    wrench_option,
)
from armwright.cli.output import INTERRUPTED, NEGATIVE, WRONG, page_of, say, say_json, show_page, table
from armwright.cli.output import tell as remark
from armwright.cli.people_options import PeopleOptions
from armwright.cli.program_hints import reading_hint, say_all
from armwright.cli.program_reading import PARTIAL, GcodeOptions, say_note, say_nothing_moves
from armwright.cli.program_starts import start_joints, started
from armwright.cli.simulate_command import progress
from armwright.errors import ArmwrightError, NotSupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from armwright.cli.people_options import PeopleMet
    from armwright.programs import Program
    from armwright.programs.outcome import ProgramRun
    from armwright.programs.outcome.cycle_time import CycleTime
    from armwright.programs.outcome.report_part import ReportPart
    from armwright.robot.model import Robot


def show_program(file: ProgramFile, language: LanguageName = None, json: Json = False) -> None:
    """Show the moves of a robot program, under the old name of ``armwright show FILE``."""
    say_renamed("show-program", "show")
    print_or_json(file, language, json)


def print_or_json(file: Path, language: str | None, json: bool) -> None:
    """Show the moves of a robot program as they were understood, and what was assumed."""
    from armwright.programs import read_program

    program = read_program(file, language)
    if json:
        say_json(description(program))
    else:
        print_program(program)


def description(program: Program) -> dict[str, Any]:
    """Return the program for JSON, in SI units."""
    from armwright.programs.reading_figures import reading_figures

    return {
        "name": program.name,
        "language": program.language,
        "file": program.file,
        "robot": program.robot,
        "start_q": program.start_q,
        "moves": [{**_plain(move), "number": number} for number, move in enumerate(program.moves, 1)],
        "notes": [{"line": note.line, "message": note.message} for note in program.notes],
        "read": reading_figures(program),
    }


def _plain(value: Any) -> Any:
    """Turn frozen data into dictionaries; alternatives carry their class's name as ``type``."""
    if dataclasses.is_dataclass(value):
        named = {} if type(value).__name__ == "Move" else {"type": type(value).__name__}
        return named | {part.name: _plain(getattr(value, part.name)) for part in dataclasses.fields(value)}
    return value


def print_program(program: Program) -> None:
    """Print the table of moves and the notes."""
    robot = f" for {program.robot}" if program.robot else ""
    rows = [
        [
            str(number),
            str(move.line),
            move.kind,
            where_cell(move.target),
            speed_cell(move.speed),
            blend_cell(move.blend),
            move.orientation,
        ]
        for number, move in enumerate(program.moves, 1)
    ]
    title = f"{program.name or program.file} ({program.language}){robot}"
    table(title, ["#", "line", "move", "target [mm, °]", "speed", "at its end", "orientation"], rows, left=7)
    for note in program.notes:
        say_note(note)


SHOWN = 12  # events in the terminal; the report and --json have them all


@dataclass(frozen=True)
class CycleOptions:
    """How the controller runs a program."""

    override: Annotated[float, typer.Option(help="How many times as fast as planned.")] = 1.0
    cycle: Annotated[float, typer.Option(metavar="SECONDS", help="Length of a controller cycle.")] = 0.01
    timing: Annotated[str, typer.Option(help="words (of the program) or fastest (motors at their limits).")] = "words"
    tracking: Annotated[
        str,
        typer.Option(help=f"How drives follow what is too much for them: {names_of(TRACKINGS, TRACKINGS.help)}."),
    ] = "drive"
    rule: Annotated[str, typer.Option(help="Of algorithm-1, at a torque limit: full or partitioned (001).")] = "full"
    jerk: Annotated[
        float | None, typer.Option(metavar="M/S3", help="Bound on the third derivative of the travelled length.")
    ] = None
    measured: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LINE=SECONDS",
            help="How long a line took on the real controller (12=3.40, 12-20=8.1, all=31.5): an interval of the "
            "cycle time follows; repeat it.",
        ),
    ] = None
    basis: Annotated[
        str | None, typer.Option(help="motors, joints (efforts) or speeds; what the sheet has by default.")
    ] = None


@dataclass(frozen=True)
class Mounting:
    """What the arm carries and where it stands."""

    payload: Annotated[str | None, payload_option("Load of moves that name none.")] = None
    tool: Annotated[
        str | None, typer.Option(help="Tool of moves that name none: x,y,z in metres from the flange, or x,y,z,A,B,C.")
    ] = None
    start: Annotated[
        str | None, joints_option("--start", "Where the arm stands at first; home: tool in front, down.", "home")
    ] = None
    wrench: Annotated[list[str] | None, wrench_option("What the world does to the tool; may be repeated.")] = None
    world: Annotated[str | None, world_option("What the arm must not touch.")] = None
    floor: Annotated[
        str, typer.Option("--floor", metavar="Z", help="Height of the floor in the base, metres; or none.")
    ] = "0"


@dataclass(frozen=True)
class ProgramFiles:
    """The files to write."""

    csv: Annotated[Path | None, typer.Option(metavar="FILE.ext", help=f"The cycles: {names_of(FORMATS)}.")] = None
    out: Annotated[Path | None, out_option("FILE.html", "Report, one page.")] = None
    text: Annotated[bool, typer.Option("--text/--no-text", help="The program's text in the report.")] = True
    film: Film = False
    browse: Open = False


@guarded
@arm_command(robot=Annotated[str, robot_option()])
def program(
    *,
    file: ProgramFile,
    arm: Robot,
    reading: GcodeOptions,
    cycles: CycleOptions,
    mounting: Mounting,
    met: PeopleOptions,
    wanted: ProgramFiles,
    json: Json = False,
) -> None:
    """Check a robot program against what the motors can do: where, when and why they cannot follow, what would work.

    Exit code 0 if they can, 1 if they cannot, the arm collides or --people is exceeded, 3 if they can as far as the
    program could be read, or if the data of the arm cannot tell (its shapes are estimated).
    """
    from armwright.files import Uninterrupted
    from armwright.programs import read_program
    from armwright.programs.outcome import run_program
    from armwright.programs.outcome.cycle_time import MeasuredTime, cycle_time

    csv, out = wanted.csv, wanted.out
    _check_files(csv, out)
    check_branches(reading.branches)
    began = time.perf_counter()
    outcome: ProgramRun | None = None
    branches: BranchRows | None = None
    files: list[Path] = []
    ending, people, cycled = None, None, None
    hint: tuple[str, ...] = ()
    times = [option_words.measured_time(words) for words in cycles.measured or ()]
    try:
        with progress(f"{file.name} on {arm.name}", json) as bar:
            tell: Callable[[float], Any] = bar or (lambda _: None)
            options = run_options(arm, cycles, mounting)
            told = reading.said() | arm_told(arm, options)
            text = started(read_program(file, reading.language, **told), mounting.start, options["start_q"])
            hint = reading_hint(text, partial(read_program, file, reading.language), told, arm)
            if not json:
                say_all(hint)
            tell(0.05)
            if reading.branches == "all":
                run = partial(run_program, arm, cycle=cycles.cycle, **options)
                branches = branch_rows(file, reading.language, told, reading, run)
            if text.reading is not None and not any(move.kind != "wait" for move in text.moves):
                _nothing_moves(text, branches, json)
                raise typer.Exit(branches.code if branches is not None else reading.ending(text))
            try:
                outcome = run_program(arm, text, cycles.cycle, **options)
            except ArmwrightError as error:
                if branches is not None and len(branches.rows) > 1:
                    _only_branches(text, branches, error, json)
                raise
            people = met.met(outcome)
            if times:
                cycled = cycle_time(outcome.plan, [MeasuredTime(*one) for one in times])
            tell(0.2)
            if csv is not None:  # first what cannot be made again without the run
                with Uninterrupted():  # Ctrl-C waits until the file is whole
                    files.append(outcome.recording.save(csv))
            outcome.works  # noqa: B018 - made here, where there is a bar
            tell(0.5)
            if out is not None:
                also = _parts(outcome, people, cycled)
                files += _report(outcome, out, wanted, lambda done: tell(0.5 + 0.5 * done), also)
    except KeyboardInterrupt:
        if outcome is None:
            raise
        ending = CommandError("interrupted; the verdict stands", INTERRUPTED, kind="Interrupted", answered=json)
    _answer(outcome, files, time.perf_counter() - began, ending, json, branches, people, cycled, hint)
    if out is not None or wanted.browse:
        show_page(page_of([str(file) for file in files]), opened=wanted.browse, quiet=json)
    if ending is not None:
        raise ending
    if outcome.clearance.collides == "yes" or (people is not None and people.exceeded):
        raise typer.Exit(NEGATIVE)
    if branches is not None and branches.code:
        raise typer.Exit(branches.code)
    if outcome.answer != "feasible":
        raise typer.Exit(NEGATIVE if outcome.answer == "not feasible" else PARTIAL)
    if reading.ending(text):
        raise typer.Exit(reading.ending(text))
    if outcome.clearance.collides == "may":
        raise typer.Exit(PARTIAL)


def run_options(arm: Robot, cycles: CycleOptions, mounting: Mounting) -> dict[str, Any]:
    """Return what `run_program` is told beyond arm, program and cycle."""
    from armwright.programs import Payload, Push

    load, tool, start = mounting.payload, mounting.tool, mounting.start
    return {
        "override": cycles.override,
        "payload": None if load is None else Payload(*option_words.payload(load)),  # type: ignore[arg-type]
        "tool": None if tool is None else option_words.tool(tool),
        "wrench": [Push(*option_words.wrench(words)) for words in mounting.wrench or ()] or None,  # type: ignore[arg-type]
        "start_q": None if start is None else start_joints(start, arm),
        "tracking": cycles.tracking,
        "rule": cycles.rule,
        "jerk": cycles.jerk,
        "basis": cycles.basis,
        "law": cycles.timing,
        **_around(mounting),
    }


def arm_told(arm: Robot, options: dict[str, Any]) -> dict[str, Any]:
    """Return what `read_program` is told about the arm: nothing with a --tool, of which the program does not know."""
    return {} if options["tool"] is not None else {"robot": arm, "start_q": options["start_q"]}


def _around(mounting: Mounting) -> dict[str, Any]:
    """Return what stands around the arm, for `run_program`."""
    from armwright.world import load_world

    text = mounting.floor.strip().lower()
    height = None if text == "none" else float(option_words.numbers(text, f"--floor {text!r}")[0])
    return {"world": None if mounting.world is None else load_world(mounting.world), "floor": height}


def _check_files(csv: Path | None, out: Path | None) -> None:
    """Find out before the run whether its results can be kept."""
    from armwright.recording.formats import module_for

    if csv is not None:
        module_for(csv)
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        fail(f"--out {out}: expected a name that ends in .html")
    for path in (csv, out):
        if path is not None and not path.parent.is_dir():
            fail(f"{path}: no such folder")
        if path is not None and path.is_dir():
            fail(f"{path}: is a folder")


def _parts(outcome: ProgramRun, people: PeopleMet | None, cycled: CycleTime | None) -> list[ReportPart]:
    """Return the sections of a report that were asked for by options."""
    from armwright.programs.outcome.report_part import ReportPart

    parts = [] if people is None else [people.part(outcome)]
    return parts if cycled is None else [*parts, ReportPart("Cycle time on the controller", tuple(cycled.words))]


def _report(
    outcome: ProgramRun, out: Path, wanted: ProgramFiles, tell: Callable[[float], Any], also: Sequence[ReportPart]
) -> list[Path]:
    try:
        return [outcome.report(out, animation=wanted.film, text=wanted.text, progress=tell, also=also)]
    except NotSupportedError as error:
        remark(f"armwright: no report: {error}")  # stdout may be for JSON
        return []


def _nothing_moves(text: Program, branches: BranchRows | None, json: bool) -> None:
    """Say what a file has that moves nowhere by default, and what its other branches do."""
    if json:
        say_json({**description(text), "branches": None if branches is None else branches.figures()})
        return
    say_nothing_moves(text)
    if branches is not None:
        branches.show()


def _only_branches(text: Program, branches: BranchRows, error: ArmwrightError, json: bool) -> None:
    """Say what the branches do where the program as read by default is refused."""
    if json:
        say_json({**description(text), "branches": branches.figures(), "error": error_object(error)})
        raise CommandError(str(error), WRONG, kind=type(error).__name__, answered=True) from error
    branches.show()


def _answer(
    outcome: ProgramRun,
    files: list[Path],
    took: float,
    ending: CommandError | None,
    json: bool,
    branches: BranchRows | None,
    people: PeopleMet | None,
    cycled: CycleTime | None,
    hint: tuple[str, ...],
) -> None:
    """Print what was found; of an interrupted run the verdict, which is known."""
    from armwright.programs.reading_figures import reading_figures

    wrote = [str(file) for file in files]
    if json:
        found = (
            outcome.figures()
            if ending is None
            else {"feasible": outcome.answer == "feasible", "verdict": outcome.verdict}
        )
        say_json(
            {
                **found,
                "read": {**reading_figures(outcome.program), "hint": list(hint)},
                "branches": None if branches is None else branches.figures(),
                "people": None if people is None else people.figures(outcome),
                "cycle_time": None if cycled is None else cycled.figures(),
                "seconds": took,
                "files": wrote,
                "error": error_object(ending) if ending else None,
            }
        )
        return
    if ending is None:
        print_tables(outcome)
        if branches is not None:
            branches.show()
    else:
        say(outcome.verdict)
    for words in () if people is None else people.words(outcome):
        say(words)
    for words in () if cycled is None else cycled.words:
        say(words)
    for file in wrote:
        say(f"wrote {file}")
    say(f"{outcome.plan.duration:.3f} s of program in {took:.3g} s, compiling included")


def print_tables(outcome: ProgramRun) -> None:
    """Print the verdict, one row a move, events, one row a motor, and what would work."""
    from armwright.programs.outcome.program_tracking import TRACKING_HEADS, tracking_cells
    from armwright.programs.outcome.program_words import (
        MOTOR_HEADS,
        MOVE_HEADS,
        event_words,
        motor_cells,
        move_cells,
        push_words,
    )
    from armwright.programs.outcome.way_words import NEAR_HEADS, contact_words, margin_words, near_cells

    say(outcome.verdict)
    for words in push_words(outcome):
        say(words)
    for words in margin_words(outcome):
        say(words)
    say()
    title = f"{outcome.program.name or outcome.program.file} on {outcome.robot.name}"
    table(title, MOVE_HEADS, [move_cells(outcome, move) for move in outcome.moves], left=3)
    for event in outcome.events[:SHOWN]:
        say(event_words(outcome, event))
    if len(outcome.events) > SHOWN:
        say(f"… and {len(outcome.events) - SHOWN} events more (--json and the report have all of them)")
    for contact in outcome.clearance.contacts[:SHOWN]:
        say(contact_words(outcome, contact))
    table("what it comes near", NEAR_HEADS, near_cells(outcome), left=2)
    what = "motors" if outcome.basis == "motors" else "joints"
    table(what, MOTOR_HEADS, motor_cells(outcome))
    table("what the arm does", TRACKING_HEADS, tracking_cells(outcome))
    for words in outcome.advice:
        say(words)
    for note in outcome.plan.notes:
        say_note(note)
