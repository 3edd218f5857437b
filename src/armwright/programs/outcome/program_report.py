# SPDX-License-Identifier: Apache-2.0
"""The report of a program and its motors: one HTML page with replay, verdict, tables and pictures.

`program_stage` makes the replay: the arm along its path, coloured by what it asks of the motors, cycle by cycle.
`program_report` writes the page.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.programs.outcome.program_pictures import VIEWS, png, with_program_tool
from armwright.programs.outcome.program_tracking import TRACKING_HEADS, tracking_cells, tracking_words
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
from armwright.recording.pictures.html_page import Page
from armwright.recording.recording import versions
from armwright.recording.replay.replay_stage import MOST_EVENTS, Coloured, Curves, ReplayStage
from armwright.recording.signals import RecordedEvent, Signal

if TYPE_CHECKING:
    from armwright.programs.outcome.program_run import ProgramRun
    from armwright.types import Array


def program_stage(outcome: ProgramRun, title: str = "") -> ReplayStage:
    """Return what a page replays of a program: what the arm does, its motors, where they cannot follow."""
    run, robot = outcome.motors, outcome.robot
    names = tuple(joint.name for joint in robot.joints)
    use = 100.0 * np.maximum(outcome.beside.torque_use, outcome.beside.speed_use)
    what = "motor" if outcome.basis == "motors" else "joint"
    slides = any(joint.kind == "prismatic" for joint in robot.joints)
    plots = (
        Curves(f"use of the {what}s, as asked", "%", names, _first(use)),
        Curves("tool from where it should be", "mm", ("distance",), _first(1e3 * run.deviation.position[:, None])),
        Curves("joint speeds", "rad/s, m/s" if slides else "rad/s", names, _first(run.qd)),
        Curves(f"{what} torques", "N·m", names, _first(run.torque)),
    )
    largest = _first(use.max(axis=1))
    return ReplayStage(
        with_program_tool(outcome),
        np.concatenate([[0.0], run.time]),
        np.concatenate([run.demand.q[:1], run.q]),
        title,
        events=_events(outcome),
        plots=tuple(plot for plot in plots if np.isfinite(plot.values).any()),
        path=Coloured(f"use of the most used {what}", "%", np.minimum(largest, 100.0), 0.0, 100.0),
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
STYLE = (
    "p.verdict{border-left:.35rem solid var(--good);background:var(--panel);padding:.7rem 1rem;margin:.8rem 0}"
    "p.verdict.no{border-color:var(--bad)}p.verdict.open{border-color:var(--warn)}"
    "main{max-width:72rem}.named :is(th,td):nth-child(3){text-align:left}"
)
SENSITIVITY_HEADS = ("changed", "largest torque [%]", "largest speed [%]", "flagged cycles")
TITLES = {
    "path": ("The path", "The tool's path as asked, coloured by the use of the most used motor."),
    "speed": ("Tool speed", "Speed of the tool along its path, as asked and as achieved."),
    "torque-speed": (
        "Torque and speed",
        "What every motor is asked for and gives, over its speed, in the box of its limits.",
    ),
    "torques": (
        "Asked and done: torques and accelerations",
        "What the program asks and what the motors do under the tracking law; dashed: limits (as 001, Fig. A6).",
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
    progress: Callable[[float], Any] | None = None,
) -> Path:
    """Write a self-contained page.

    Args:
        outcome: the run.
        path: of the page.
        animation: draw a film as well, which other programs can show.
        progress: called with the share that is done.
    """
    tell = progress or (lambda _: None)
    name = outcome.program.name or outcome.program.file or "program"
    head = f"{name} on {outcome.robot.name}"
    clear = outcome.answer == "feasible" and outcome.basis != "speeds"
    colour = "no" if outcome.answer == "not feasible" else "yes" if clear else "open"
    page = Page(head, STYLE).lead(outcome.verdict, f"verdict {colour}").cards(_cards(outcome))
    for words in push_words(outcome):
        page.paragraph(words)
    page.section("What would work").listed(outcome.advice)
    page.section("What the arm does").table(TRACKING_HEADS, tracking_cells(outcome)).paragraph(tracking_words(outcome))
    rows = [move_cells(outcome, move, 60) for move in outcome.moves[:MOST_REPORT_ROWS]]
    _shortened(page.section("Moves").table(MOVE_HEADS, rows, "named"), len(outcome.moves), "moves")
    if outcome.events:
        rows = [event_cells(outcome, event) for event in outcome.events[:MOST_REPORT_ROWS]]
        _shortened(page.section("Events").table(EVENT_HEADS, rows, "named"), len(outcome.events), "events")
    near = page.section("What it comes near").paragraph(clearance_words(outcome)).table(NEAR_HEADS, near_cells(outcome))
    near.table(MARGIN_HEADS, margin_cells(outcome)).listed(margin_words(outcome))
    page.section("Motors" if outcome.basis == "motors" else "Joints").table(MOTOR_HEADS, motor_cells(outcome))
    tell(0.05)
    for k, view in enumerate(VIEWS, 1):
        title, caption = TITLES[view]
        page.section(title).figure(png(outcome, view), caption)
        if view == "reactions":
            page.table(REACTION_HEADS, reaction_cells(outcome))
        tell(0.05 + (0.35 if animation else 0.9) * k / len(VIEWS))
    if animation:
        page.section("Film").figure(*_film(outcome, lambda share: tell(0.4 + 0.58 * share)), "gif")
    page.section("Sensitivity").table(SENSITIVITY_HEADS, _sensitivity(outcome)).paragraph(
        "The arm exactly on its way, whatever it takes. What grows much as the cycle shrinks is a corner of the path, "
        "not a load."
    )
    if outcome.plan.notes:
        notes = outcome.plan.notes[:MOST_REPORT_ROWS]
        page.section("Notes").listed(f"line {n.line}: {n.message}" if n.line else n.message for n in notes)
    page.made_with(versions(), **{**outcome.settings, "basis": outcome.basis})
    file = page.write(path, stage=program_stage(outcome, head))
    tell(1.0)
    return file


def _cards(outcome: ProgramRun) -> list[tuple[str, str]]:
    run, works, plan = outcome.motors, outcome.works, outcome.wished
    flagged = int((plan.saturated | plan.clipped).any(axis=1).sum())
    return [
        ("duration as planned", f"{outcome.plan.duration:.3f} s"),
        ("flagged cycles", f"{flagged} of {plan.demand.cycles}"),
        ("feasible override", override_cell(works.override.program)),
        ("time-optimal", "–" if works.fastest is None else f"{works.fastest:.3f} s"),
        ("from the path", f"{tidy(1e3 * run.deviation.path.max())} mm"),
        ("work of the motors", f"{run.energy.sum():.4g} J"),
        ("work that came back", f"{run.regenerated.sum():.4g} J"),
    ]


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
