# SPDX-License-Identifier: Apache-2.0
"""``run program --branches all``: one row with a verdict for every branch that the program's text does not decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armwright.cli.failures import fail
from armwright.cli.output import NEGATIVE, say, table
from armwright.cli.program_reading import PARTIAL, ReadingOptions
from armwright.errors import ArmwrightError

if TYPE_CHECKING:
    from armwright.programs import Program, ProgramBranch
    from armwright.programs.outcome import ProgramRun

WAYS = ("one", "all")
HEADS = ["branch", "moves", "time [s]", "verdict"]


@dataclass(frozen=True)
class BranchRow:
    """A variant of a program: what was decided otherwise, its known moves, its time [s], its verdict, its exit code."""

    branch: str
    moves: int
    seconds: float | None
    verdict: str
    code: int


@dataclass(frozen=True)
class BranchRows:
    """The rows of all variants, and how many more branches there are."""

    rows: tuple[BranchRow, ...]
    left: int

    @property
    def code(self) -> int:
        """Return the exit code of them all: 1 if one is not feasible, 3 if one is not whole or refused, else 0."""
        codes = {row.code for row in self.rows}
        return NEGATIVE if NEGATIVE in codes else PARTIAL if codes != {0} or self.left else 0

    def figures(self) -> dict[str, Any]:
        """Return the rows for JSON."""
        return {"rows": [asdict(row) for row in self.rows], "left": self.left}

    def show(self) -> None:
        """Print the rows."""
        cells = [
            [row.branch, str(row.moves), "–" if row.seconds is None else f"{row.seconds:.3f}", row.verdict]
            for row in self.rows
        ]
        table("branches, one at a time", HEADS, cells, left=4)
        if self.left:
            say(f"{self.left} branches more were not run; --input decides some of them")


def check_branches(word: str) -> None:
    """Refuse what ``--branches`` does not know."""
    if word not in WAYS:
        fail(f"--branches {word}: expected {' or '.join(WAYS)}")


def branch_rows(
    file: Path,
    language: str | None,
    told: dict[str, Any],
    reading: ReadingOptions,
    run: Callable[[Program], ProgramRun],
) -> BranchRows:
    """Read and run every variant of a program."""
    from armwright.programs import read_branches

    found = read_branches(file, language, **told)
    return BranchRows(tuple(_row(variant, reading, run) for variant in found.variants), found.left)


def _row(variant: ProgramBranch, reading: ReadingOptions, run: Callable[[Program], ProgramRun]) -> BranchRow:
    program = variant.program
    if program is None:
        return BranchRow(variant.words, 0, None, f"refused: {variant.error}", PARTIAL)
    moves = sum(move.kind != "wait" for move in program.moves)
    if not moves:
        return BranchRow(variant.words, 0, None, "moves nowhere", reading.ending(program))
    try:
        outcome = run(program)
    except ArmwrightError as error:
        return BranchRow(variant.words, moves, None, f"refused: {error}", PARTIAL)
    code = NEGATIVE if outcome.answer == "not feasible" else PARTIAL if outcome.answer != "feasible" else 0
    return BranchRow(variant.words, moves, outcome.plan.duration, outcome.verdict, code or reading.ending(program))
