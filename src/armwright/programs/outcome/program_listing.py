# SPDX-License-Identifier: Apache-2.0
"""The text of a program beside its replay: what came of every line, and when it is under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.programs.outcome.program_certainty import certainty_of
from armwright.programs.outcome.program_findings import folderless
from armwright.recording.replay.replay_stage import ListedLine, Listing

if TYPE_CHECKING:
    from collections.abc import Callable

    from armwright.programs.outcome.program_run import ProgramRun
    from armwright.programs.program import Program

MOST_LISTED_LINES = 5000  # of a text on a page: more are slow to lay out
LONGEST_LISTED_LINE = 400  # characters
RANK = ("idle", "kept", "gap", "open", "over")  # what a line is shown as if several of its moves differ: the last


def listing_of(outcome: ProgramRun) -> Listing | None:
    """Return the program's own text with its marks; None if it was not read from a text."""
    program = outcome.program
    if not program.text:
        return None
    lines = program.text.split("\n")
    marks: dict[int, str] = {}
    notes: dict[int, list[str]] = {}

    def mark(line: int, how: str, why: str) -> None:
        if not 0 < line <= len(lines):
            return
        if RANK.index(how) >= RANK.index(marks.get(line, "idle")):
            marks[line] = how
        if why not in notes.setdefault(line, []):
            notes[line].append(why)

    own = _own_moves(program, lines)
    _mark_unread(outcome, mark)
    first = next((k for k, move in enumerate(program.moves) if move.kind != "wait"), None)
    behind = set(outcome.plan.route.unchecked) - {first}
    impossible = {one.move: one.reason for one in outcome.impossible}
    end = float(outcome.motors.time[-1])
    steps: list[tuple[float, int]] = []
    gaps: list[tuple[float, int]] = []
    for k, planned in enumerate(outcome.plan.moves):
        line = program.moves[k].line if own[k] else 0
        if planned.start <= end:
            steps.append((float(planned.start), line if line <= MOST_LISTED_LINES else 0))
        if k in impossible:
            mark(line, "over", f"move {k + 1} cannot be made: {impossible[k]}")
        elif k in behind:
            mark(line, "gap", f"move {k + 1}: the way here is not known, and not checked")
        elif program.moves[k].kind != "wait":
            mark(line, *_judged(outcome, k))
    for gap in program.reading.gaps if program.reading is not None else ():
        if gap.before < len(outcome.plan.moves) and _is_own(program, gap.reason):
            at = float(outcome.plan.moves[gap.before].start)
            if at <= end and 0 < gap.line <= MOST_LISTED_LINES:
                gaps.append((at, gap.line))
    shown = [
        ListedLine(_short(text), marks.get(k, ""), folderless(program, "; ".join(notes.get(k, ()))))
        for k, text in enumerate(lines[:MOST_LISTED_LINES], 1)
    ]
    if len(lines) > MOST_LISTED_LINES:
        shown.append(ListedLine(f"… {len(lines) - MOST_LISTED_LINES} lines more"))
    elif shown and not shown[-1].text:
        shown.pop()  # what follows the last line break is no line
    order = sorted([*gaps, *steps], key=lambda step: step[0])  # a gap takes no time: the move behind it is lit
    return Listing(tuple(shown), tuple(order))


def _short(text: str) -> str:
    text = text.rstrip()
    return text if len(text) <= LONGEST_LISTED_LINE else text[: LONGEST_LISTED_LINE - 1] + "…"


def _own_moves(program: Program, lines: list[str]) -> list[bool]:
    """Return which moves stand in the program's own file: of several files, those whose words are there."""
    if program.reading is None or len(program.reading.files) < 2:
        return [True] * len(program.moves)
    there = [" ".join(line.split()) for line in lines]
    return [
        0 < move.line <= len(there) and " ".join(move.text.split()) == there[move.line - 1] for move in program.moves
    ]


def _is_own(program: Program, message: str) -> bool:
    """Return whether a message is about the program's own file: others are named first."""
    files = program.reading.files[1:] if program.reading is not None else ()
    return not any(message.startswith(f"{file}: ") for file in files)


def _mark_unread(outcome: ProgramRun, mark: Callable[[int, str, str], None]) -> None:
    program = outcome.program
    reading = program.reading
    if reading is None:
        return
    for first, last, needs in reading.not_run:
        for line in range(first, last + 1):
            mark(line, "idle", f"did not run{f'; needs {needs}' if needs else ''}")
    for gap in reading.gaps:
        if _is_own(program, gap.reason):
            mark(gap.line, "gap", f"not known: {gap.reason}")
    for note in (*reading.unread, *reading.set_aside):
        if _is_own(program, note.message):
            mark(note.line, "gap", note.message)


def _judged(outcome: ProgramRun, move: int) -> tuple[str, str]:
    """Return what the plan asks in a move: its mark, and the reason in words."""
    from armwright.programs.outcome.program_run import limit_of

    plan = outcome.wished
    here = plan.demand.moves == move
    stops = any(event.cause == "trip" and event.move == move for event in outcome.events)
    if not here.any():
        return "kept", f"move {move + 1}: shorter than a cycle"
    joint, cause, use = limit_of(plan, move)
    words = f"move {move + 1}: {outcome.robot.joints[joint].name} uses {100 * use:.3g} % of its {cause}"
    if stops:
        return "over", f"{words}; the drive would stop here"
    width = certainty_of(outcome.robot, outcome.basis).width
    torque = float(plan.torque_use[here].max())
    if plan.clipped[here].any() or torque * (1.0 - width) > 1.0:
        return "over", words
    if torque * (1.0 + width) > 1.0 or plan.saturated[here].any():
        return ("open", f"{words}, which the data cannot tell from 100 %") if width else ("over", words)
    return "kept", words
