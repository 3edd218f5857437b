# SPDX-License-Identifier: Apache-2.0
"""What is said about a reading while it goes on: notes, assumptions, gaps, obstacles, and which lines ran.

Obstacles are collected, not raised one by one: all that stands in the way of a program is told at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from armwright.errors import InputError, ProgramError
from armwright.programs.interpreter.program_values import Value
from armwright.programs.interpreter.told_inputs import ToldInputs
from armwright.programs.languages.program_draft import Draft
from armwright.programs.program import Duration, Program
from armwright.programs.reading import BranchKey, Gap, Note, ProgramReading, ReadOptions, Undecided
from armwright.syntax.program_tree import Module, Routine, blocks_of, statements_in
from armwright.syntax.scanner import VALID, Token

NOT_DECLARED = "is not declared in the files that were read"
MOST_TOLD = 8  # obstacles in one message
MOST_DOUBTFUL = 4  # lines that were left out, in the same


class Obstacle(Exception):  # noqa: N818 - ends one statement; what stands in the way is in the list
    """A statement cannot be carried out."""


class Places:
    """The file under way, as drafts of programs know places: they fail where a word is."""

    def __init__(self, notes: ReadingNotes) -> None:
        """Belong to notes."""
        self.notes = notes

    @property
    def file(self) -> str:
        """Return the file under way."""
        return self.notes.module.file

    def count(self, work: int = 1) -> None:
        """Count nothing: the interpreter counts statements."""

    def text_of(self, line: int) -> str:
        """Return a line as it was written."""
        return self.notes.module.text_of(line)

    def fail(self, message: str, *, at: Token, valid: str = "") -> NoReturn:
        """Say that this cannot be done."""
        self.notes.obstacle(message, at, valid)

    def located(self, at: Token, make: Value, *args: Value, **parts: Value) -> Value:
        """Return ``make(…)``; an `InputError` in it is an obstacle at a place."""
        try:
            return make(*args, **parts)
        except InputError as error:
            self.notes.obstacle(str(error), at, VALID.get(make.__name__, "other values"))


class ReadingNotes:
    """Everything that is remembered about a reading; `module` is the file under way."""

    def __init__(self, module: Module, language: str) -> None:
        """Begin with the program's own file."""
        self.main = self.module = module
        self.draft = Draft(Places(self), language)  # type: ignore[arg-type]
        self.obstacles: dict[tuple[str, int, str], ProgramError] = {}
        self.gaps: list[Gap] = []
        self.unread: dict[tuple[str, int], Note] = {}
        self.set_aside: dict[tuple[str, int], Note] = {}
        self.odd: list[Note] = []  # words that mean nothing where they stand: slips of the pen, perhaps
        self.assumed: dict[str, Note] = {}
        self.needs: dict[tuple[str, int], str] = {}
        self.ran: dict[str, set[int]] = {}
        self.called: dict[tuple[str, str], Routine] = {}
        self.files: dict[str, None] = {module.file: None}
        self.undecided: dict[BranchKey, Undecided] = {}
        self.waited: set[str] = set()
        self.left_out: list[tuple[int, int, str]] = []  # stretches that did not run, of languages without routines

    def message(self, text: str) -> str:
        """Return a message that names its file if it is not the program's own."""
        return text if self.module is self.main else f"{self.module.file}: {text}"

    def note(self, line: int, text: str, *, once: bool = False) -> None:
        """Say what was left out or taken for granted."""
        self.draft.note(line, self.message(text), once=once)

    def assume(self, line: int, text: str, option: str = "") -> None:
        """Say what was assumed, once for each text, and the option that says otherwise."""
        said = self.message(text) + (f"; {option} says otherwise" if option else "")
        if said not in self.assumed:
            self.assumed[said] = Note(line, said)
            self.draft.note(line, said)

    def leave_out(self, line: int, text: str) -> None:
        """Say that words mean nothing where they stand; a refusal further on names them, too."""
        self.note(line, text)
        self.odd.append(Note(line, self.message(text)))

    def skip(self, at: Token, text: str) -> None:
        """Say that something was skipped that may move the arm."""
        place = (self.module.file, at.line)
        if place not in self.unread:
            said = self.message(text)
            self.unread[place] = Note(at.line, said)
            self.draft.note(at.line, said)

    def gap(self, at: Token, reason: str) -> None:
        """Remember a move that is not known."""
        said = self.message(reason + ("; --define or --more says it" if reason.endswith(NOT_DECLARED) else ""))
        self.gaps.append(Gap(at.line, self.module.text_of(at.line), said, len(self.draft.moves)))
        self.draft.note(at.line, f"this move is not known: {said}")

    def obstacle(self, message: str, at: Token, valid: str) -> NoReturn:
        """Remember what stands in the way of the program, and end this statement."""
        error = ProgramError(
            message, file=self.module.file, line=at.line, column=at.column, word=at.text[:40], valid=valid
        )
        self.obstacles.setdefault((self.module.file, at.line, message), error)
        raise Obstacle(message)

    def decide(
        self, options: ReadOptions, at: Token, part: int, depends: str, ways: tuple[str, ...], guess: int
    ) -> int:
        """Return which way an undecided test or choice goes: as the user chose, else as guessed."""
        key = (self.module.file, at.line, at.column, part)
        taken = options.choose.get(key, guess)
        self.undecided.setdefault(key, Undecided(key, depends, ways, taken))
        return taken

    def wait_of(self, options: ReadOptions, at: Token, names: tuple[str, ...], text: str) -> None:
        """Wait for inputs as long as the user says; no time, and a note, where that is not said."""
        told = {name.strip().lower(): seconds for name, seconds in options.waits.items()}
        named = [name.lower() for name in names if name.lower() in told]
        if not named:
            option = f"--wait {names[0]}=seconds" if names else ""
            self.assume(at.line, f"{text}: met at once; the time is a lower bound", option)
            return
        self.waited.update(named)
        seconds = max(told[name] for name in named)
        self.assume(at.line, f"{text}: met after {seconds:g} s, as told")
        self.draft.add(at, kind="wait", target=None, speed=self.draft.cursor.located(at, Duration, seconds))

    def check_told(self, options: ReadOptions, inputs: ToldInputs, unused: Mapping[str, str] | None = None) -> None:
        """Tell of waits, inputs and definitions (`unused`, by key) that no reached line has: slips of the pen."""
        for name in (unused or {}).values():
            self.note(0, f"--define {name}: nothing that was reached takes it")
        for name in inputs.unasked():
            self.note(0, f"--input {name}: nothing that was reached asks for it")
        for name in options.waits:
            if name.strip().lower() not in self.waited:
                self.note(0, f"--wait {name}: nothing that was reached waits for it")

    def ran_line(self, line: int) -> None:
        """Remember that a line was reached."""
        self.ran.setdefault(self.module.file, set()).add(line)

    def refuse_if_needed(self) -> None:
        """Raise the first obstacle, if there is one; the others are told in its message."""
        if not self.obstacles:
            return
        first, *others = self.obstacles.values()
        doubtful = [*self.set_aside.values(), *self.odd]  # may be why: a misspelt end of a loop, an arc's lost axis
        if not others and not doubtful:
            raise first
        more = []
        if others:
            told = "; ".join(f"line {e.line} at {e.word!r}: {_bare(e)}" for e in others[:MOST_TOLD])
            rest = f"; and {len(others) - MOST_TOLD} more" if len(others) > MOST_TOLD else ""
            more.append(f"{len(others)} more in the way: {told}{rest}")
        if doubtful:
            doubtful.sort(key=lambda note: (note.line > first.line, abs(note.line - first.line)))
            more.append("left out: " + "; ".join(f"line {n.line}: {n.message}" for n in doubtful[:MOST_DOUBTFUL]))
        raise ProgramError(
            f"{_bare(first)} [{'; '.join(more)}]",
            file=first.file,
            line=first.line,
            column=first.column,
            word=first.word,
            valid=first.valid,
        )

    # --- what did not run ---------------------------------------------------------------------------------------------

    def not_run(self) -> tuple[tuple[int, int, str], ...]:
        """Return the stretches of reached routines of the program's own file that did not run."""
        ran: set[int] = self.ran.get(self.main.file, set())
        found: list[tuple[int, int, str]] = []
        for routine in self.called.values():
            if routine.module is self.main:
                self._idle(routine.body, ran, found)
        moved = ran.union(move.line for move in self.draft.moves) if self.left_out else ran
        never = (s for s in self.left_out if not moved.intersection(range(s[0], s[1] + 1)))  # in no call, in no pass
        return tuple(sorted({*found, *never}))

    def _idle(self, block: Value, ran: set[int], found: list[tuple[int, int, str]]) -> None:
        first = last = 0
        for statement in block:
            line = statement.at.line
            if line in ran:
                if first:
                    found.append((first, last, self.needs.get((self.main.file, first), "")))
                first = 0
                for inner in blocks_of(statement):
                    self._idle(inner, ran, found)
                continue
            first = first or line
            last = max([line, *(inner.at.line for inner in statements_in((statement,)))])
        if first:
            found.append((first, last, self.needs.get((self.main.file, first), "")))

    # --- the end ------------------------------------------------------------------------------------------------------

    def finish(self, entry: str, modules: list[Module]) -> Program:
        """Return the program with how far it was read; raise if something stands in its way."""
        self.refuse_if_needed()
        self.module = self.main
        moves = self.draft.moves
        idle = tuple(
            Note(said.at.line, f"not understood, and not reached: {said.message}")
            for said in self.main.set_aside
            if (self.main.file, said.at.line) not in self.set_aside
        )
        not_run = self.not_run()
        for first, last, why in not_run:
            more, need = ("", "it needs") if first == last else (f"this and all down to line {last} ", "they need")
            self.note(first, f"{more}did not run" + (f"; {need} {why}" if why else ""))
        for note in idle:
            self.draft.note(note.line, note.message)
        for at, text in self.main.remarks:
            self.note(at.line, text)
        if len(self.files) > 1:
            self.note(0, f"files used: {', '.join(self.files)}")
        reading = ProgramReading(
            reached=sum(move.kind != "wait" for move in moves) + len(self.gaps),
            gaps=tuple(self.gaps),
            unread=tuple(self.unread.values()),
            set_aside=tuple(self.set_aside.values()),
            idle=idle,
            assumed=tuple(self.assumed.values()),
            not_run=not_run,
            files=tuple(self.files),
            entry=entry,
            undecided=tuple(self.undecided.values()),
            routines=tuple(routine.at.text for module in modules for routine in module.routines.values()),
        )
        return self.draft.finish(reading)


def _bare(error: ProgramError) -> str:
    """Return an error's message without its place and what would be valid."""
    text = str(error)
    if error.word:
        text = text.split(f"at {error.word!r}: ", 1)[-1]
    return text.split("; valid here: ", 1)[0]
