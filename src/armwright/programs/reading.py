# SPDX-License-Identifier: Apache-2.0
"""How far a program was read: gaps, what was skipped, what was assumed; and how a user says what the text does not.

A `Gap` is a move that was reached but whose target, frame, tool or speed is not known. A program is read *whole* if
it has none, no reached line was set aside and no routine that may move the arm was skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

MOST_STATEMENTS = 200_000  # carried out, loops included
MOST_MOVES = 100_000


@dataclass(frozen=True, slots=True)
class Note:
    """A note of a reader: what it assumed or left out, and at which line."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Gap:
    """A move that is not known: where it was written, why, and before which of the program's moves it lies (from 0)."""

    line: int
    text: str
    reason: str
    before: int


BranchKey = tuple[str, int, int, int]
"""File, line, column and number of a test in its statement."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """A test or choice that depends on what is not known.

    Attributes:
        key: where it stands.
        depends: names of what it depends on.
        ways: what could be taken, in words.
        taken: which of them was.
    """

    key: BranchKey
    depends: str
    ways: tuple[str, ...]
    taken: int

    @property
    def words(self) -> str:
        """Where it is and what was taken: ``line 12: true (di1)``."""
        return f"line {self.key[1]}: {self.ways[self.taken]} ({self.depends})"


@dataclass(frozen=True, slots=True)
class ProgramReading:
    """How far a program was read.

    Attributes:
        reached: moves that were reached, gaps included, waits not.
        gaps: those that are not known.
        unread: calls and instructions that were skipped although they may move the arm.
        set_aside: lines that were reached and not understood; they are no moves.
        idle: lines that were not understood and not reached.
        assumed: what was assumed, with the option that says otherwise.
        not_run: first line, last line and on what it depends, of what was reached but did not run.
        files: that were used, the program's own first.
        entry: routine that was run.
        routines: that the files have.
        undecided: tests and choices that depend on what is not known, each once.
    """

    reached: int = 0
    gaps: tuple[Gap, ...] = ()
    unread: tuple[Note, ...] = ()
    set_aside: tuple[Note, ...] = ()
    idle: tuple[Note, ...] = ()
    assumed: tuple[Note, ...] = ()
    not_run: tuple[tuple[int, int, str], ...] = ()
    files: tuple[str, ...] = ()
    entry: str = ""
    routines: tuple[str, ...] = ()
    undecided: tuple[Undecided, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether every move is known that the program makes."""
        return not (self.gaps or self.unread or self.set_aside)

    @property
    def known(self) -> int:
        """Moves that are known."""
        return self.reached - len(self.gaps)

    @property
    def words(self) -> str:
        """How far it was read, in words: ``41 of 44 moves, 2 calls skipped``."""
        parts = [f"{self.known} of {self.reached} moves"]
        if self.unread:
            parts.append(f"{len(self.unread)} skipped that may move the arm")
        if self.set_aside:
            parts.append(f"{len(self.set_aside)} not understood")
        return ", ".join(parts)


@dataclass(frozen=True)
class ReadOptions:
    """What a user says about a program that its text does not.

    Attributes:
        inputs: values of inputs by name; a list is used up one reading after the other.
        waits: how long waiting for an input takes [s], by its name; no time where it is not said.
        choose: which way tests and choices go that depend on what is not known; see `Undecided`.
        define: values of names that no file declares, as texts of the language or as numbers.
        config: the controller's own data (``$config.dat``), or a folder of them.
        assume_frames: take tools and bases that no file says for the flange and the arm's base.
        passes: how often loops without an end are run.
        entry: routine to run.
        lock_external: take external axes for standing still.
        more: further files of the program.
        neighbours: files that are looked at when a name is missing, besides those in the program's folder.
        texts: files that are no files of their own (members of an archive): text, and whether it was cp1252.
        statements, moves: after how many reading ends with an error.
        moves_told: the user said how many, so that loops of a short text may make them, too.
        dialect: of G-code.
        part: (4, 4) G-code's G54 in the arm's base.
        tool_axis, spin: direction (3,) of the tool's z axis in the part, and its turn about it [rad], for G-code.
        machine_home: (3,) [m] where G28 leads, in the machine's axes.
        machine_frame: (4, 4) the machine's axes in the arm's base, for G53.
        robot: the arm; what a program asks of where it stands is worked out with it.
        start_q: (n,) where its joints stand at first.
    """

    inputs: Mapping[str, Any] = field(default_factory=dict)
    waits: Mapping[str, float] = field(default_factory=dict)
    choose: Mapping[BranchKey, int] = field(default_factory=dict)
    define: Mapping[str, Any] = field(default_factory=dict)
    config: Path | None = None
    assume_frames: bool = False
    passes: int = 1
    entry: str | None = None
    lock_external: bool = False
    more: tuple[Path, ...] = ()
    neighbours: tuple[Path, ...] = ()
    texts: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    statements: int = MOST_STATEMENTS
    moves: int = MOST_MOVES
    moves_told: bool = False
    dialect: str | None = None
    part: Array | None = None
    tool_axis: tuple[float, ...] | None = None
    spin: float = 0.0
    machine_home: tuple[float, ...] | None = None
    machine_frame: Array | None = None
    robot: Robot | None = None
    start_q: Array | None = None
