# SPDX-License-Identifier: Apache-2.0
"""What a reader of a program's outcome wants first: the answer, the worst places, what was assumed, what did not run.

The same for report, studio and JSON. `folderless` takes the folder of the program's file out of a text: pages show the
names that their readers gave, never where a file lay for a moment.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from armwright.programs.gaps import checked_moves
from armwright.programs.outcome.program_certainty import certainty_of
from armwright.programs.outcome.program_tracking import tracking_words
from armwright.programs.outcome.program_words import event_words, place_words, verdict
from armwright.programs.outcome.way_words import clearance_words

if TYPE_CHECKING:
    from armwright.programs.impossible_moves import ImpossibleMove
    from armwright.programs.outcome.program_run import MotorEvent, ProgramRun
    from armwright.programs.program import Program
    from armwright.programs.reading import Note

MOST_WORST = 3
"""Places on the first screen; the table below has all of them."""
OPTION = re.compile(r"^(?P<said>.*); (?P<option>--.+) says otherwise$", re.DOTALL)
AT_FIRST = re.compile(r"\bat first\b|\bstart(s|ed|ing)?\b")  # of the note of `program_start.standing_at`


class WorstPlace(NamedTuple):
    """One place: how much is asked of what there is (1 is all of it), when [s], and in words.

    `event` is None where nothing is beyond a limit, and of a move that the arm cannot make (`use` inf); `stretches`
    counts the events of the same move, joint and cause.
    """

    use: float
    time: float
    line: int
    words: str
    event: MotorEvent | None = None
    stretches: int = 1

    @property
    def stops(self) -> bool:
        """Return whether the drive would stop here."""
        return self.event is not None and self.event.cause == "trip"

    @property
    def over(self) -> bool:
        """Return whether this asks more than there is."""
        return self.event is not None or math.isinf(self.use)

    @property
    def much(self) -> str:
        """Return how much is asked, in a word."""
        return "cannot" if math.isinf(self.use) else "stops" if self.stops else f"{100 * self.use:.3g} %"


class Assumption(NamedTuple):
    """What was assumed, at which line (0: none of its own), and the option that says otherwise ("" if none does)."""

    line: int
    said: str
    option: str


def folderless(program: Program, text: str) -> str:
    """Return a text in which files beside the program's own are named without their folder."""
    folders = {str(Path(file).parent) for file in (program.file, *_files(program)) if Path(file).parent.parts}
    for folder in sorted(folders, key=len, reverse=True):
        text = text.replace(f"{folder}/", "").replace(f"{folder}\\", "")
    return text


def _files(program: Program) -> tuple[str, ...]:
    return program.reading.files if program.reading is not None else ()


def headline(outcome: ProgramRun) -> str:
    """Return the answer in a few words, with how much of the program it is about."""
    answer, reading = outcome.answer, outcome.program.reading
    said = {"feasible": "Feasible", "not feasible": "Not feasible", "cannot be told": "Cannot be told with these data"}
    words = "Speeds kept, torques not decided" if answer == "feasible" and outcome.basis == "speeds" else said[answer]
    if outcome.impossible:
        words = f"Not feasible: {cannot_be_made(outcome)}"
    if outcome.clearance.collides == "yes":
        words = f"Collides; {words[:1].lower()}{words[1:]}"
    if reading is None or reading.whole:
        return words
    return f"{words} as far as read: {checked_moves(outcome.plan)} of {reading.reached} moves"


def cannot_be_made(outcome: ProgramRun) -> str:
    """Return how many moves the arm cannot make."""
    moves = sum(move.kind != "wait" for move in outcome.program.moves)
    return f"{len(outcome.impossible)} of {moves} moves cannot be made"


def data_class(outcome: ProgramRun) -> str:
    """Return what the answer rests on: the classes of the sheet's numbers, or what was checked."""
    words = certainty_of(outcome.robot, outcome.basis).words or outcome.motors.drives.says
    return words[:1].upper() + words[1:]


def answer_words(outcome: ProgramRun) -> tuple[str, str]:
    """Return the verdict without what `headline` and `data_class` say, and apart from it what the arm does."""
    tracking, says = tracking_words(outcome), outcome.motors.drives.says
    basis = says[:1].upper() + says[1:] + "."
    before, _, after = verdict(outcome).partition(tracking)
    decided = f"{before.strip()} {after.strip().removesuffix(basis).strip()}".strip()
    classes = certainty_of(outcome.robot, outcome.basis).words
    if classes:
        decided = decided.replace(f" ({classes})", "", 1)
    answer, colon, rest = decided.partition(": ")
    if colon and answer.endswith(" as far as read"):
        rest = rest.partition("; ")[2] or rest
    decided = (rest[:1].upper() + rest[1:] if rest.startswith("every ") else rest) or decided
    if outcome.clearance.collides in ("yes", "may"):
        decided = f"{clearance_words(outcome)} {decided}"
    return folderless(outcome.program, decided), folderless(outcome.program, tracking)


def findings(outcome: ProgramRun) -> tuple[WorstPlace, ...]:
    """Return one row per move, joint and cause, the worst of them; a drive that would stop first, then by severity."""
    groups: dict[tuple[int, int, str], list[MotorEvent]] = {}
    for event in outcome.events:
        groups.setdefault((event.move, event.joint, event.cause), []).append(event)
    rows = []
    for events in groups.values():
        worst = max(events, key=lambda event: event.use)
        line = outcome.program.moves[worst.move].line
        rows.append(WorstPlace(worst.use, worst.start, line, event_words(outcome, worst), worst, len(events)))
    return tuple(sorted(rows, key=lambda row: (not row.stops, -row.use, row.time)))


def worst_of(outcome: ProgramRun) -> tuple[WorstPlace, ...]:
    """Return the three worst places; of a plan that keeps its limits, the moves that come nearest to them.

    What the arm cannot make comes first.
    """
    found = tuple(_cannot(outcome, one) for one in outcome.impossible[:MOST_WORST]) + findings(outcome)
    if found:
        return found[:MOST_WORST]
    rows = []
    for move in outcome.moves:
        if move.limiting is None:
            continue
        joint = outcome.robot.joints[move.limiting].name
        where = place_words(outcome, move.number - 1)
        who = f"the motor of {joint}" if outcome.basis == "motors" else joint
        words = f"{where}: {who} uses {100 * move.use:.3g} % of its {move.cause}"
        rows.append(WorstPlace(move.use, move.start, move.line, words))
    return tuple(sorted(rows, key=lambda row: -row.use)[:MOST_WORST])


def _cannot(outcome: ProgramRun, one: ImpossibleMove) -> WorstPlace:
    words = f"{place_words(outcome, one.move)} cannot be made: {one.reason}"
    planned = outcome.plan.moves[one.move]
    return WorstPlace(math.inf, float(planned.start), outcome.program.moves[one.move].line, words)


def assumptions(outcome: ProgramRun) -> tuple[Assumption, ...]:
    """Return what was assumed by reader and planner; what an option changes first, each with that option."""
    program, plan = outcome.program, outcome.plan
    read = program.notes if program.reading is None else program.reading.assumed
    planned = [note for note in plan.notes if note not in program.notes]
    found = [_assumption(program, note) for note in (*read, *planned)]
    moves = [move for move in program.moves if move.kind != "wait"]
    if all(move.T_flange_tool is None for move in moves):
        found.append(Assumption(0, "no move names a tool: its point is the flange", "--tool"))
    if all(move.payload is None for move in moves):
        found.append(Assumption(0, "no move names a load: nothing is carried", "--payload"))
    return tuple(sorted(dict.fromkeys(found), key=lambda row: not row.option))


def _assumption(program: Program, note: Note) -> Assumption:
    told = OPTION.match(note.message)
    said = told["said"] if told else note.message
    option = told["option"] if told else "--start" if AT_FIRST.search(said) else ""
    said = said.replace(f" ({option} says where it begins)", "")
    return Assumption(note.line, folderless(program, said), option)


def coverage(outcome: ProgramRun) -> tuple[str, ...]:
    """Return how far the program was read, then what was not run, skipped or not known, in sentences."""
    program, reading = outcome.program, outcome.program.reading
    if reading is None:
        count = sum(move.kind != "wait" for move in program.moves)
        read = f"All {count} moves of the program were read."
        return (read, f"{cannot_be_made(outcome)}.") if outcome.impossible else (read,)
    whole = f"All {reading.reached} moves that the program reaches are known."
    checked = checked_moves(outcome.plan)
    some = f"{reading.known} of {reading.reached} moves are known"
    unknown = reading.known - checked - len(outcome.impossible)
    some += f", {checked} are checked: to the others the way is not known." if unknown > 0 else "."
    said = [whole if not reading.gaps else some]
    if outcome.impossible:
        said.append(f"{cannot_be_made(outcome)}; {checked} are checked.")
    for gap in reading.gaps:
        said.append(f"{_line(gap.line)}: a move that is not known ({gap.reason}).")
    said += [f"{_line(note.line)}: {note.message}." for note in (*reading.unread, *reading.set_aside)]
    for first, last, needs in reading.not_run:
        lines = f"Line {first}" if first == last else f"Lines {first}–{last}"
        need = f"; {'it needs' if first == last else 'they need'} {needs}" if needs else ""
        said.append(f"{lines} did not run{need}.")
    return tuple(folderless(program, words) for words in dict.fromkeys(said))


def _line(line: int) -> str:
    return f"Line {line}" if line else "The program"
