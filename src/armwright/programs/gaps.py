# SPDX-License-Identifier: Apache-2.0
"""Programs with moves that are not known: what of them a plan checks.

A plan stops before each of these moves and begins anew behind it (`program_start`); where the arm goes in between
nobody can say, so it is in no time, event or picture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.errors import ProgramError

if TYPE_CHECKING:
    from armwright.programs.program import Program
    from armwright.programs.program_plan import ProgramPlan


def check_known(program: Program) -> None:
    """Refuse a program of which no move is known.

    Raises:
        ProgramError: with the routines that the program has.
    """
    if any(move.kind != "wait" for move in program.moves):
        return
    routines = ", ".join(program.reading.routines) if program.reading is not None else ""
    raise ProgramError(
        "nothing to plan: no move of this program is known",
        file=program.file,
        valid=f"a routine that moves the arm{f', such as one of {routines}' if routines else ''}",
    )


def checked_moves(plan: ProgramPlan) -> int:
    """Return how many moves of its program a plan checks: the known ones that the arm can make.

    Those that begin behind a gap are not checked.

    The way to the first target counts as known where no gap lies before it: what is not known there is the start.
    """
    known = [k for k, move in enumerate(plan.program.moves) if move.kind != "wait"]
    left_out = {one.move for one in plan.route.impossible}
    return len(known) - len((set(plan.route.unchecked) - set(known[:1])) | left_out)
