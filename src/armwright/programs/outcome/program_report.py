# SPDX-License-Identifier: Apache-2.0
"""The report of a program and its motors: one HTML page with replay, verdict, tables and pictures.

`program_stage` makes the replay: the arm along its path, coloured by what it asks of the motors, cycle by cycle.
`program_report` writes the page.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.html_text import html_table
from armwright.programs.outcome.program_findings import (
    WorstPlace,
    answer_words,
    assumptions,
    coverage,
    data_class,
    findings,
    folderless,
    headline,
    worst_of,
)
from armwright.programs.outcome.program_listing import listing_of
from armwright.programs.outcome.program_pictures import (
    drive_word,
    png,
    range_shares,
    tool_margin,
    views_of,
    with_program_tool,
)
from armwright.programs.outcome.program_tracking import TRACKING_HEADS, tracking_cells
from armwright.programs.outcome.program_words import (
    EVENT_HEADS,
    MOTOR_HEADS,
    MOVE_HEADS,
    REACTION_HEADS,
    event_cells,
    motor_cells,
    move_cells,
    override_cell,
    push_words,
    reaction_cells,
    tidy,
)
from armwright.programs.outcome.way_words import (
    MARGIN_HEADS,
    NEAR_HEADS,
    clearance_words,
    margin_cells,
    margin_words,
    near_cells,
)
from armwright.recording import Recording
from armwright.recording.pictures.html_page import Markup, Page, escaped, joined, list_of, markup, table
from armwright.recording.recording import versions
from armwright.recording.replay.replay_page import page_file
from armwright.recording.replay.replay_stage import MOST_EVENTS, Coloured, Curves, ReplayStage
from armwright.recording.signals import RecordedEvent, Signal

if TYPE_CHECKING:
    from armwright.programs.outcome.program_run import MoveOutcome, ProgramRun
    from armwright.programs.outcome.report_part import ReportPart
    from armwright.types import Array


def program_stage(outcome: ProgramRun, title: str = "", *, text: bool = True, margins: bool = False) -> ReplayStage:
    """Return what a page replays of a program: what the arm does, its motors, where they cannot follow; its text.

    With `margins` curves tell the distance from the ends of ranges and from singular postures, where no pictures do.
    """
    run, robot = outcome.motors, outcome.robot
    names = tuple(joint.name for joint in robot.joints)
    use = 100.0 * np.maximum(outcome.beside.torque_use, outcome.beside.speed_use)
    what = drive_word(outcome)
    slides = any(joint.kind == "prismatic" for joint in robot.joints)
    plots = [
        Curves(f"use of the {what}s, as asked", "%", names, _first(use)),
        Curves("tool from where it should be", "mm", ("distance",), _first(1e3 * run.deviation.position[:, None])),
        Curves("joint speeds", "rad/s, m/s" if slides else "rad/s", names, _first(run.qd)),
    ]
    if outcome.weighed:
        plots.append(Curves(f"{what} torques", "N·m", names, _first(run.torque)))
    if margins:
        plots += [
            Curves("place in the joints' ranges", "%", names, _first(100.0 * range_shares(outcome))),
            Curves("distance from singularities", "m, rad", ("smallest singular value",), _first(tool_margin(outcome))),
        ]
    largest = _first(use.max(axis=1))
    return ReplayStage(
        with_program_tool(outcome),
        np.concatenate([[0.0], run.time]),
        np.concatenate([run.demand.q[:1], run.q]),
        title,
        events=_events(outcome),
        plots=tuple(plot for plot in plots if np.isfinite(plot.values).any()),
        path=Coloured(f"use of the most used {what}", "%", np.minimum(largest, 100.0), 0.0, 100.0),
        listing=listing_of(outcome) if text else None,
    )


def _first(values: Array) -> Array:
    """Return values of cycles with one more for the start, before the first of them."""
    return np.concatenate([values[:1], values])


def _events(outcome: ProgramRun) -> tuple[RecordedEvent, ...]:
    """Return the begin of every move, and where a motor cannot follow; the latter first if there are too many."""
    names = [joint.name for joint in outcome.robot.joints]
    end = float(outcome.motors.time[-1])  # nothing is shown after a trip
    cannot = [
        RecordedEvent(
            min(e.start, end),
            "the drive would stop here" if e.cause == "trip" else f"{names[e.joint]}: {e.cause} beyond its limit",
        )
        for e in outcome.events
        if e.start <= end or e.cause == "trip"
    ]
    moves = [RecordedEvent(part.start, f"move {part.move + 1}") for part in outcome.plan.moves if part.start <= end]
    return tuple(sorted((cannot + moves)[:MOST_EVENTS], key=lambda event: event.time))


REPORT_FRAMES, REPORT_FRAME_RATE, REPORT_FRAME_SIZE = 120, 12.0, (640, 480)
MOST_REPORT_ROWS = 2000  # moves and events in a table
MOST_FIRST_LINES = 5  # of a list on the first screen; the rest is folded
LOOK = "program.css"  # of the report, besides that of all reports
SENSITIVITY_HEADS = ("changed", "largest torque [%]", "largest speed [%]", "flagged cycles")
RANKED_HEADS = ("use [%]", "at [s]", "times", *EVENT_HEADS[2:])
TITLES = {
    "path": ("The path", "The tool's path as asked, coloured by the use of the most used {}."),
    "speed": ("Tool speed", "Speed of the tool along its path, as asked and as achieved."),
    "torque-speed": (
        "Torque and speed",
        "What every {} is asked for and gives, over its speed, in the box of its limits.",
    ),
    "joint-range": ("Use of the joints' ranges", "Where every joint stands between its stops, as asked."),
    "singularity": (
        "Distance from singularities",
        "Smallest singular value of the Jacobian at the tool (metres and radians), as asked: 0 is a singularity.",
    ),
    "torques": (
        "Asked and done: torques and accelerations",
        "What the program asks and what the {}s do under the tracking law; dashed: limits (as 001, Fig. A6).",
    ),
    "motion": (
        "Asked and done: speeds and positions",
        "The same for the motion of the joints (as 001, Fig. A7).",
    ),
    "reactions": ("Reactions", "Force and moment through every joint, with the accelerations that happen."),
}


def program_report(
    outcome: ProgramRun,
    path: str | Path,
    *,
    animation: bool = False,
    text: bool = True,
    progress: Callable[[float], Any] | None = None,
    also: Sequence[ReportPart] = (),
) -> Path:
    """Write a self-contained page.

    Args:
        outcome: the run.
        path: of the page.
        animation: draw a film as well, which other programs can show.
        text: show the program's text beside the replay; without it only lines of moves that are spoken of are quoted.
        progress: called with the share that is done.
        also: further sections, behind what the arm does.
    """
    tell = progress or (lambda _: None)
    program = outcome.program
    name = program.name or Path(program.file).name or "program"
    head = f"{name} on {outcome.robot.name}"
    page = Page(head, page_file(LOOK))
    _first_screen(page, outcome)
    page.replay_here()
    for words in push_words(outcome):
        page.paragraph(words)
    decided, _ = answer_words(outcome)
    page.section("What would work").listed(words for words in outcome.advice if words not in decided)
    page.section("What the arm does").table(TRACKING_HEADS, tracking_cells(outcome)).listed(
        f"{one.law.name}: {one.law.says}." for one in outcome.tracked
    )
    for part in also:
        page.section(part.title).listed(folderless(program, words) for words in part.words)
        if part.rows:
            page.table(part.heads, part.rows)
    shown = float(outcome.motors.time[-1])
    rows = [_with_time(outcome, move, shown) for move in outcome.moves[:MOST_REPORT_ROWS]]
    _shortened(page.section("Moves").table(MOVE_HEADS, rows, "named"), len(outcome.moves), "moves")
    if outcome.events:
        _events_table(page.section("Events"), outcome)
    near = (
        page.section("What it comes near")
        .paragraph(clearance_words(outcome))
        .table(NEAR_HEADS, near_cells(outcome), "placed")
    )
    near.table(MARGIN_HEADS, margin_cells(outcome), "placed").listed(margin_words(outcome))
    page.section("Motors" if outcome.basis == "motors" else "Joints").table(MOTOR_HEADS, motor_cells(outcome))
    tell(0.05)
    views = views_of(outcome)
    for k, view in enumerate(views, 1):
        title, caption = TITLES[view]
        page.section(title).figure(png(outcome, view), caption.format(drive_word(outcome)))
        if view == "reactions":
            page.table(REACTION_HEADS, reaction_cells(outcome))
        tell(0.05 + (0.35 if animation else 0.9) * k / len(views))
    if animation:
        page.section("Film").figure(*_film(outcome, lambda share: tell(0.4 + 0.58 * share)), "gif")
    page.section("Sensitivity").table(SENSITIVITY_HEADS, _sensitivity(outcome)).paragraph(
        "The arm exactly on its way, whatever it takes. What grows much as the cycle shrinks is a corner of the path, "
        "not a load."
    )
    if outcome.plan.notes:
        notes = outcome.plan.notes[:MOST_REPORT_ROWS]
        said = (f"line {n.line}: {n.message}" if n.line else n.message for n in notes)
        page.section("Notes").listed(folderless(program, words) for words in said)
    page.made_with(versions(), **{**outcome.settings, "basis": outcome.basis})
    file = page.write(path, stage=program_stage(outcome, head, text=text))
    tell(1.0)
    return file


def _first_screen(page: Page, outcome: ProgramRun) -> None:
    """Add what decides: the answer, the three worst places, what was assumed, how far it was read."""
    clear = outcome.answer == "feasible" and outcome.basis != "speeds"
    whole = outcome.program.reading is None or outcome.program.reading.whole
    colour = "no" if outcome.answer == "not feasible" else "yes" if clear and whole else "open"
    template = '<p class="head">{}</p><p class="basis">{}</p><p class="verdict">{}</p><p class="basis">{}</p>'
    said = markup(template, headline(outcome), data_class(outcome), *answer_words(outcome))
    page.add(markup('<section class="answer {}">{}</section>', colour, said))
    worst, shown = worst_of(outcome), float(outcome.motors.time[-1])
    over = any(row.over for row in worst)
    title = "Worst places" if over else "Nearest to their limits"
    rows = joined(_worst(outcome, row, shown) for row in worst)
    left = markup('<h2>{}</h2><ol class="worst">{}</ol>', title, rows)
    assumed = [
        joined(
            (
                markup('<span class="place">line {}: </span>', said.line) if said.line else "",
                said.said,
                markup(" <code>{}</code>", said.option) if said.option else "",
            )
        )
        for said in assumptions(outcome)
    ]
    right = markup(
        "<h2>Assumed, and what changes it</h2>{}<h2>How far it was read</h2>{}",
        _opening_list(assumed or ["nothing"]),
        _opening_list(coverage(outcome)),
    )
    page.add(markup('<div class="facing"><section>{}</section><section>{}</section></div>', left, right))
    page.cards(_cards(outcome))


def _worst(outcome: ProgramRun, row: WorstPlace, shown: float) -> Markup:
    times = f" ({row.stretches} times in this move)" if row.stretches > 1 else ""
    template = '<li class="{}"><b>{}</b><span>{}{} {}</span></li>'
    kind = "over" if row.over else ""
    words = folderless(outcome.program, row.words)
    # a drive stops within a cycle, of which the beginning is shown
    at = min(row.time, shown) if row.stops else row.time
    return markup(template, kind, row.much, words, times, _seek(at, shown, "show"))


def _seek(time: float, shown: float, words: str) -> Markup:
    """Return a link to a time of the replay; plain words where the drive has stopped before."""
    if time > shown and words != "show":
        return escaped(words)
    if time > shown:
        return markup('<span class="place">(after the drive has stopped)</span>')
    return markup('<a class="time" href="#replay" data-seek="{}">{}</a>', f"{time:.4f}", words)


def _opening_list(lines: Sequence[object]) -> Markup:
    """Return a list whose first lines are seen, and the others opened by a click."""
    rest = lines[MOST_FIRST_LINES:]
    more = markup("<details><summary>{} more</summary>{}</details>", len(rest), list_of(rest)) if rest else ""
    return joined((list_of(lines[:MOST_FIRST_LINES]), more))


def _with_time(outcome: ProgramRun, move: MoveOutcome, shown: float) -> list[object]:
    number, *cells = move_cells(outcome, move, 60)
    return [_seek(move.start, shown, number), *cells]


def _events_table(page: Page, outcome: ProgramRun) -> None:
    """Add a row per move, joint and cause, the worst first, opened by a click."""
    found, shown = findings(outcome), float(outcome.motors.time[-1])
    rows: list[list[object]] = []
    for row in found[:MOST_REPORT_ROWS]:
        assert row.event is not None
        cells = event_cells(outcome, row.event)[2:]
        rows.append([f"{100 * row.use:.4g}", _seek(row.time, shown, f"{row.time:.3f}"), str(row.stretches), *cells])
    page.folded(f"{len(found)} rows, the worst first", table(RANKED_HEADS, rows, "ranked"))
    _shortened(page, len(found), "rows")


def _cards(outcome: ProgramRun) -> list[tuple[str, str]]:
    run, works, plan = outcome.motors, outcome.works, outcome.wished
    flagged = int((plan.saturated | plan.clipped).any(axis=1).sum())
    cards = [
        ("duration as planned", f"{outcome.plan.duration:.3f} s"),
        ("flagged cycles", f"{flagged} of {plan.demand.cycles}"),
        ("feasible override", override_cell(works.override.program)),
        ("time-optimal", "–" if works.fastest is None else f"{works.fastest:.3f} s"),
        ("from the path", f"{tidy(1e3 * run.deviation.path.max())} mm"),
    ]
    work = [
        (f"work of the {drive_word(outcome)}s", f"{run.energy.sum():.4g} J"),
        ("work that came back", f"{run.regenerated.sum():.4g} J"),
    ]
    return cards + work if outcome.weighed else cards


def _shortened(page: Page, count: int, what: str) -> None:
    """Say so where a table does not have all rows."""
    if count > MOST_REPORT_ROWS:
        page.paragraph(f"The first {MOST_REPORT_ROWS} of {count} {what}; --json has all of them.")


def _film(outcome: ProgramRun, tell: Callable[[float], Any]) -> tuple[bytes, str]:
    """Return the arm along its path, at most `REPORT_FRAMES` pictures, and the caption."""
    run = outcome.motors
    q = np.concatenate([run.demand.q[:1], run.q])
    time = np.concatenate([[0.0], run.time])
    recording = Recording(time, {"q": Signal(q, "rad")}, with_program_tool(outcome))
    speed = max(1.0, recording.duration * REPORT_FRAME_RATE / (REPORT_FRAMES - 1))
    with tempfile.TemporaryDirectory() as folder:
        film = recording.animate(
            Path(folder) / "film.gif",
            fps=REPORT_FRAME_RATE,
            size=REPORT_FRAME_SIZE,
            speed=speed,
            title=outcome.robot.name,
            progress=lambda done, of: tell(done / of),
        )
        data = film.read_bytes()
    return data, f"What the arm does, {speed:.2g} × real time."


def _sensitivity(outcome: ProgramRun) -> list[tuple[str, ...]]:
    return [
        (
            f"cycle {1e3 * row.value:.3g} ms" if row.what == "dt" else f"{row.value:+.3g} kg",
            f"{100 * row.torque.max():.1f}",
            f"{100 * row.speed.max():.1f}",
            str(row.flagged),
        )
        for row in outcome.works.sensitivity
    ]


def notebook_page(run: ProgramRun) -> str:
    """Return what notebooks show: the replay, the verdict, and a row per move."""
    from armwright.programs.outcome.program_run import limit_of
    from armwright.recording.replay.replay_page import notebook_frame

    names = [joint.name for joint in run.robot.joints]
    here, rows = set(np.unique(run.demand.moves).tolist()), []
    for k, (move, planned) in enumerate(zip(run.program.moves, run.plan.moves, strict=True)):
        joint, cause, use = limit_of(run.wished, k) if k in here else (None, "", 0.0)
        most = "–" if joint is None else f"{100.0 * use:.0f} % {cause}, {names[joint]}"
        rows.append((k + 1, move.line or "–", move.text, f"{planned.start:.2f}", most))
    heads = ("move", "line", "as written", "begins [s]", "most used")
    return notebook_frame(program_stage(run)) + html_table(run.verdict, heads, rows)
