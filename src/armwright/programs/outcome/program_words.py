# SPDX-License-Identifier: Apache-2.0
"""The outcome of a program in words: sentences for an engineer, and rows of tables for terminal and report."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.programs.gaps import checked_moves
from armwright.programs.impossible_moves import impossible_words, move_words
from armwright.programs.motors.what_works import FASTEST_FACTOR
from armwright.programs.outcome.program_certainty import (
    more_payload_words,
    open_words,
    overload_words,
    plan_answer,
    with_class,
    worst_move,
)
from armwright.programs.outcome.program_run import limit_of
from armwright.programs.outcome.program_tables import COMPONENTS, motor_rows, reaction_rows, wrench_rows
from armwright.programs.outcome.program_tracking import tracking_words, trip_words

if TYPE_CHECKING:
    from armwright.programs.outcome.program_run import MotorEvent, MoveOutcome, ProgramRun

FOR = {
    "acceleration": "acceleration",
    "gravity": "gravity",
    "motion": "centrifugal and Coriolis forces",
    "world": "the load on the tool",
    "friction": "friction",
}
LIMITS = {"motors": "motor", "joints": "joint", "speeds": "joint"}
WHOSE = {"motors": "the motor of ", "joints": "", "speeds": ""}


def tidy(value: float, digits: int = 3) -> str:
    """Return a number with some digits; a remainder of rounding becomes 0."""
    return "0" if abs(value) < 1e-9 else f"{value:.{digits}g}"


def verdict(outcome: ProgramRun) -> str:
    """Return the three answers: whether the plan keeps the limits, what the arm makes of it, which override works.

    The override of a feasible program takes some hundred runs; it stands in its advice.
    """
    name = outcome.program.name or Path(outcome.program.file).name or "the program"
    count, seconds = len(outcome.program.moves), outcome.plan.duration
    what = f"{name} ({count} move{'s' if count != 1 else ''}, {seconds:.3f} s) on {outcome.robot.name}"
    if outcome.impossible:
        what = f"{what}, without what cannot be made,"
    answer = plan_answer(outcome)
    if answer != "not feasible":
        told = (
            _kept(outcome, what)
            if answer == "feasible"
            else open_words(outcome, what, place_words(outcome, worst_move(outcome)))
        )
        said = _as_far_as_read(outcome, with_class(outcome, told))
        said = f"{_cannot(outcome)}{said}"
        return " ".join(filter(None, (said, overload_words(outcome), tracking_words(outcome), _basis(outcome))))
    plan = outcome.wished
    first = next(event for event in outcome.events if event.cause != "trip")
    flagged = (plan.saturated | plan.clipped).any(axis=1)
    joints = sorted({event.joint for event in outcome.events if event.cause != "trip"})
    names = ", ".join(outcome.robot.joints[j].name for j in joints)
    drives = f"the motor{'s' if len(joints) > 1 else ''} of {names}" if outcome.basis == "motors" else names
    still = standing_words(outcome)
    rest = (overload_words(outcome), tracking_words(outcome), _override_words(outcome), _basis(outcome))
    return _cannot(outcome) + with_class(
        outcome,
        f"Not feasible: {f'{still} ' if still else ''}{what} asks more than {drives} can do, in "
        f"{int(flagged.sum())} of {flagged.size} cycles. First {event_words(outcome, first)}. "
        + " ".join(filter(None, rest)),
    )


def _cannot(outcome: ProgramRun) -> str:
    """Return that there are moves which the arm cannot make, before what is said of the others."""
    said = impossible_words(outcome.program, outcome.impossible)
    return f"Not feasible on {outcome.robot.name}: {said}. The rest of it: " if said else ""


def standing_words(outcome: ProgramRun) -> str:
    """Return where holding the arm at rest is already too much; empty if it is nowhere."""
    most = outcome.standing.max(axis=0)
    j = int(np.argmax(most))
    if not most[j] > 1.0:
        return ""
    cycle = int(np.argmax(outcome.standing[:, j]))
    where = place_words(outcome, int(outcome.demand.moves[cycle]))
    return (
        f"The arm cannot be held: at rest {WHOSE[outcome.basis]}{outcome.robot.joints[j].name} needs "
        f"{100 * most[j]:.3g} % of its torque in {where}."
    )


def _as_far_as_read(outcome: ProgramRun, kept: str) -> str:
    """Return the verdict with how much of the program it is about, if that is not all of it."""
    reading = outcome.program.reading
    if reading is None or reading.whole:
        return kept
    rest = reading.words.partition(", ")[2]
    head = f"as far as read: {checked_moves(outcome.plan)} of {reading.reached} moves{f', {rest}' if rest else ''}"
    first, _, words = kept.partition(": ")
    return f"{first} {head}; {words}"


def _kept(outcome: ProgramRun, what: str) -> str:
    plan = outcome.wished
    k, cause, use = limit_of(plan)
    uses = np.maximum(plan.torque_use, plan.speed_use)[:, k]
    where = place_words(outcome, int(plan.demand.moves[int(np.argmax(uses))]))
    joint = outcome.robot.joints[k].name
    if outcome.basis == "speeds":
        return (
            f"Speeds kept, torques not decided: {what} keeps every joint speed (the most used is {joint}'s, at "
            f"{100 * use:.3g} % in {where})."
        )
    drive = LIMITS[outcome.basis]
    most = f"the most used is {joint}'s, at {100 * use:.3g} % of its {cause} in {where}"
    return f"Feasible: every {drive} can follow {what}; {most}."


def _basis(outcome: ProgramRun) -> str:
    says = outcome.motors.drives.says
    return says[:1].upper() + says[1:] + "."


def push_words(outcome: ProgramRun) -> tuple[str, ...]:
    """Return what the world does to the tool, one sentence per stretch of moves; nothing where it does nothing."""
    said = []
    for row in wrench_rows(outcome):
        first, last = row["moves"]
        force, moment = (", ".join(tidy(x, 4) for x in row[name]) for name in ("force_n", "moment_nm"))
        turns = f" and ({moment}) N·m" if row["moment_nm"].any() else ""
        where = f"move {first}" if first == last else f"moves {first}–{last}"
        k = int(np.argmax(row["use"]))
        drive, joint = LIMITS[outcome.basis], outcome.robot.joints[k].name
        torque, use = tidy(row["torque_nm"][k]), f"{100 * row['use'][k]:.3g} %"
        share = f"; holding it takes up to {torque} N·m of {joint}'s {drive}, {use}" if row["use"][k] else ""
        said.append(f"The world pushes the tool with ({force}) N{turns} in {where}, {row['frame']} axes{share}.")
    return tuple(said)


def place_words(outcome: ProgramRun, move: int) -> str:
    """Name a move by number, line and text."""
    return move_words(outcome.program, move)


def event_words(outcome: ProgramRun, event: MotorEvent) -> str:
    """Return when and where a motor could not follow, and what for."""
    joint = outcome.robot.joints[event.joint]
    where = f"at {event.start:.3f} s in {place_words(outcome, event.move)}"
    if event.cause == "trip":
        return f"in {place_words(outcome, event.move)} {trip_words(outcome, outcome.tracked[0])}"
    if event.cause == "speed":
        unit = "rad/s" if joint.kind == "revolute" else "m/s"
        said = f"{joint.name} is asked for {abs(event.asked):.4g} {unit} and may do {event.limit:.4g}"
        return f"{where}: {said}"
    said = f"{WHOSE[outcome.basis]}{joint.name} is asked for {abs(event.asked):.4g} N·m and has {event.limit:.4g}"
    return f"{where}: {said}, mostly for {FOR[event.mostly]}"


def works_words(outcome: ProgramRun) -> tuple[str, ...]:
    """Return what would work, one sentence per line."""
    works, drive = outcome.works, LIMITS[outcome.basis]
    names = [joint.name for joint in outcome.robot.joints]
    said = [_override_words(outcome)]
    if works.fastest is not None:
        clean = "" if works.fastest_clean is None else f"; {works.fastest_clean:.3f} s without a single flagged cycle"
        said.append(
            f"At its {drive}s' limits the same path would take {works.fastest:.3f} s (time-optimal, instead of "
            f"{outcome.plan.duration:.3f} s{clean})."
        )
    else:
        said.append(f"There is no time-optimal motion on this path: {works.fastest_refused}.")
    weak = [
        f"{names[j]} {factor:.3g} × its {what}"
        for what, factors in (("torque", works.motors.torque), ("speed", works.motors.speed))
        for j, factor in enumerate(factors)
        if factor > 1.0
    ]
    if weak:
        said.append(f"As it is, the program needs {drive}s with at least: {', '.join(weak)}.")
    share = works.payload_share
    if share is not None and not outcome.feasible:
        said.append(
            "Not even without its load would it be feasible at this speed."
            if math.isnan(share)
            else f"With {100 * share:.3g} % of its load it would be feasible at this speed."
        )
    if outcome.basis == "speeds":
        needed = ", ".join(f"{name} {tidy(t, 4)}" for name, t in zip(names, works.torque, strict=True))
        said.append(
            f"The program needs joint torques of at least (N·m, friction of unknown gears not counted): {needed}."
            if outcome.weighed
            else "What torques the program needs is not known: the sheet has no masses and inertias."
        )
    elif more := more_payload_words(outcome):
        said.append(more)
    corner = _corner(outcome)
    return (*said, corner) if corner else tuple(said)


def _override_words(outcome: ProgramRun) -> str:
    found = outcome.override
    if found.program <= 0.0:
        return "At no speed is the program feasible: standing still alone asks too much somewhere on its path."
    if found.limited_by is None:
        return f"The program could run {found.program:.3g} times as fast and more."
    move, j = found.limited_by
    joint = outcome.robot.joints[j].name
    verb = "can" if found.program >= 1.0 else "must not"
    faster = "run at up to" if found.program >= 1.0 else "run faster than"
    now = outcome.settings["override"]
    total = "" if now == 1.0 else f" (override {now * found.program:.4g})"
    return (
        f"The program {verb} {faster} {100 * found.program:.4g} % of its present speed{total}; beyond, {joint} is the "
        f"first to be at its limit, in {place_words(outcome, move)}."
    )


def _corner(outcome: ProgramRun) -> str:
    """Return a hint where the torque depends on Δt: what grows as the cycle shrinks is a corner of the path."""
    rows = sorted((row for row in outcome.works.sensitivity if row.what == "dt"), key=lambda row: row.value)
    if len(rows) < 2 or outcome.basis == "speeds":
        return ""
    short, now = rows[0], min(rows, key=lambda row: abs(row.value - outcome.demand.dt))
    if short.torque.max() < 1.5 * max(now.torque.max(), 1e-12):
        return ""
    return (
        f"With a cycle of {1e3 * short.value:.3g} ms instead of {1e3 * now.value:.3g} ms the largest torque grows from "
        f"{100 * now.torque.max():.3g} % to {100 * short.torque.max():.3g} %: that is a corner of the path, not a "
        "load; a blend there would help."
    )


MOVE_HEADS = (
    "#",
    "line",
    "move",
    "time [s]",
    "limit",
    "use [%]",
    "override",
    "off [mm]",
    "off [°]",
    "from path [mm]",
    "flags",
)
MOTOR_HEADS = (
    "joint",
    "peak [N·m]",
    "rms [N·m]",
    "limit [N·m]",
    "torque [%]",
    "speed [%]",
    "heat [%]",
    "work [J]",
    "returned [J]",
    "lag [mrad, mm]",
)
EVENT_HEADS = ("from [s]", "to [s]", "move", "joint", "asked", "has", "mostly for", "tool at [mm]")
REACTION_HEADS = ("body", "|f| [N]", "|n| [N·m]", *(f"{c} [{'N' if c[0] == 'f' else 'N·m'}]" for c in COMPONENTS))


def move_cells(outcome: ProgramRun, move: MoveOutcome, width: int = 34) -> list[str]:
    """Return one row of the table of moves."""
    text = " ".join(move.text.split()) or move.kind
    text = text if len(text) <= width else text[: width - 1] + "…"
    head = [str(move.number), str(move.line) if move.line else "–", text]
    if move.limiting is None:
        return [*head, f"{move.duration:.3f}", *["–"] * 7]
    joint = outcome.robot.joints[move.limiting].name
    off = (
        ["–"] * 3  # after a trip
        if move.summary is None
        else [
            tidy(value)
            for value in (1e3 * move.summary.position, math.degrees(move.summary.angle), 1e3 * move.summary.path)
        ]
    )
    return [
        *head,
        f"{move.duration:.3f}",
        f"{joint} {move.cause}",
        f"{100 * move.use:.1f}",
        override_cell(move.override),
        *off,
        str(move.flagged) if move.flagged else "–",
    ]


def plain(value: float) -> str:
    """Return a force or moment: three digits, no powers of ten."""
    return f"{value:.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def override_cell(value: float | None) -> str:
    """Return an override as text; the search ends at `FASTEST_FACTOR`."""
    return "–" if value is None else f"> {FASTEST_FACTOR:g}" if value >= FASTEST_FACTOR else f"{value:.3f}"


def motor_cells(outcome: ProgramRun) -> list[list[str]]:
    """Return one row per motor."""

    def number(value: float | None, scale: float = 1.0) -> str:
        return "–" if value is None or not np.isfinite(value) else tidy(scale * value, 4)

    return [
        [
            row["joint"],
            number(row["torque_peak_nm"]),
            number(row["torque_rms_nm"]),
            number(row["torque_limit_nm"]),
            number(row["torque_use"] if np.isfinite(row["torque_limit_nm"]) else None, 100.0),
            number(row["speed_use"], 100.0),
            number(row["heat"], 100.0),
            number(row["energy_j"]),
            number(row["regenerated_j"]),
            number(row["lag"], 1e3),
        ]
        for row in motor_rows(outcome)
    ]


def event_cells(outcome: ProgramRun, event: MotorEvent) -> list[str]:
    """Return one row of the table of events."""
    joint = outcome.robot.joints[event.joint]
    unit = "N·m" if event.cause == "torque" else "rad/s" if joint.kind == "revolute" else "m/s"
    why = FOR[event.mostly] if event.mostly else "speed"
    if event.cause == "trip":
        assert outcome.trip is not None
        why = "the drive would stop here"
        unit = (
            "× its speed" if outcome.trip.cause == "speed" else "rad behind" if joint.kind == "revolute" else "m behind"
        )
    return [
        f"{event.start:.3f}",
        f"{event.end:.3f}",
        place_words(outcome, event.move),
        joint.name,
        f"{abs(event.asked):.4g} {unit}",
        f"{event.limit:.4g} {unit}",
        why,
        ", ".join(f"{1e3 * x:.0f}" for x in event.place),
    ]


def reaction_cells(outcome: ProgramRun) -> list[list[str]]:
    """Return one row per body: largest force and moment, and the range of every component."""
    return [
        [
            row["body"],
            plain(row["force_n"]),
            plain(row["moment_nm"]),
            *(f"{plain(row[name][0])} … {plain(row[name][1])}" for name in COMPONENTS),
        ]
        for row in reaction_rows(outcome)
    ]
