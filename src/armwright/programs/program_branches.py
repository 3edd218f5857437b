# SPDX-License-Identifier: Apache-2.0
"""All branches of a program that its text does not decide: each is taken once, one at a time.

The first variant is the program as `read_program` reads it. Then every test or choice that depends on something
unknown is decided otherwise, all others staying as they were; branches that show only within such a variant are
decided otherwise in it. So n tests make n + 1 variants, not 2ⁿ. Loops make their one pass in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from armwright.arguments import names_culprit
from armwright.errors import ArmwrightError
from armwright.programs.program import Program
from armwright.programs.program_reader import read_program
from armwright.programs.reading import BranchKey, Undecided

MOST_BRANCHES = 16  # variants of one program, the first included


@dataclass(frozen=True)
class ProgramBranch:
    """One variant: what was decided otherwise (nothing in the first), and the program, or why it is refused."""

    chosen: tuple[Undecided, ...]
    program: Program | None
    error: ArmwrightError | None = None

    @property
    def words(self) -> str:
        """What was decided otherwise: ``line 12: true (di1)``."""
        return "; ".join(one.words for one in self.chosen) or "as read by default"


@dataclass(frozen=True)
class ProgramBranches:
    """The variants of a program, and how many more there would be beyond `MOST_BRANCHES`."""

    variants: tuple[ProgramBranch, ...]
    left: int


@names_culprit
def read_branches(source: str | Path, language: str | None = None, **told: Any) -> ProgramBranches:
    """Read a program once for every branch that its text does not decide, at most 16 times.

    Args:
        source: as for `read_program`.
        language: as for `read_program`.
        told: further arguments of `read_program`.

    Returns:
        The variants, the default one first. One that is refused has an `error`; if the default one is, that is raised.

    Example:
        >>> [variant.words for variant in read_branches(text, "rapid").variants]
    """
    first = read_program(source, language, **told)
    variants = [ProgramBranch((), first)]
    seen: set[BranchKey] = set()
    waiting = _further(first, (), seen)
    while waiting and len(variants) < MOST_BRANCHES:
        chosen = waiting.pop(0)
        choose: Mapping[BranchKey, int] = {one.key: one.taken for one in chosen}
        try:
            program = read_program(source, language, **{**told, "choose": {**told.get("choose", {}), **choose}})
        except ArmwrightError as error:
            variants.append(ProgramBranch(chosen, None, error))
            continue
        variants.append(ProgramBranch(chosen, program))
        waiting += _further(program, chosen, seen)
    return ProgramBranches(tuple(variants), len(waiting))


def _further(program: Program, chosen: tuple[Undecided, ...], seen: set[BranchKey]) -> list[tuple[Undecided, ...]]:
    """Return what else can be decided otherwise in a variant, each branch once in all variants."""
    found: list[tuple[Undecided, ...]] = []
    for one in program.reading.undecided if program.reading is not None else ():
        if one.key not in seen:
            seen.add(one.key)
            found += [(*chosen, replace(one, taken=way)) for way in range(len(one.ways)) if way != one.taken]
    return found
