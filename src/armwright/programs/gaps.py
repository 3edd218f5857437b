# SPDX-License-Identifier: Apache-2.0
"""Programs with moves that are not known: the plan stops before each of them and begins anew behind it.

Where the arm goes in between nobody can say, so it is led to the next known target by a slow joint move that is not
the program's; notes say so, and that move does not count as checked.
"""

from __future__ import annotations

from dataclasses import replace

from armwright.errors import ProgramError
from armwright.programs.program import Fraction, Joints, Move, Pose, Program, Stop
from armwright.programs.reading import Note

LEADING_SHARE = 0.1  # of the joints' rated speed and acceleration, for moves that are not the program's


def bridged(program: Program) -> Program:
    """Return a program whose gaps are closed by slow joint moves; a program without gaps is returned as it is.

    Raises:
        ProgramError: if no move is known.
    """
    reading = program.reading
    if not any(move.kind != "wait" for move in program.moves):
        routines = ", ".join(reading.routines) if reading is not None else ""
        raise ProgramError(
            "nothing to plan: no move of this program is known",
            file=program.file,
            valid=f"a routine that moves the arm{f', such as one of {routines}' if routines else ''}",
        )
    if reading is None or not reading.gaps:
        return program
    moves, notes = list(program.moves), list(program.notes)
    for after in sorted({gap.before for gap in reading.gaps}):
        first = next((k for k in range(after, len(moves)) if moves[k].kind != "wait"), None)
        if after > 0 and moves[after - 1].kind != "wait":
            moves[after - 1] = replace(moves[after - 1], blend=Stop())
        if first is None or first == 0:
            continue
        moves[first] = _led(moves[first])
        line = moves[first].line
        notes.append(
            Note(line, f"the way to line {line} is not known: the arm is led there slowly, and that is no move")
        )
    return replace(program, moves=tuple(moves), notes=tuple(notes))


def checked_moves(program: Program) -> int:
    """Return how many of the program's moves a plan checks: the known ones without those behind a gap."""
    reading = program.reading
    known = [k for k, move in enumerate(program.moves) if move.kind != "wait"]
    if reading is None:
        return len(known)
    behind = {next((k for k in known if k >= gap.before), None) for gap in reading.gaps}
    return len(known) - len(behind - {None, known[0] if known else None})


def _led(move: Move) -> Move:
    """Return a slow joint move to the same target."""
    share = Fraction(LEADING_SHARE)
    target = move.target
    if isinstance(target, Pose) and not target.oriented:
        return replace(move, kind="line", via=None, arc_angle=None, blend=Stop())
    assert isinstance(target, Pose | Joints)
    return Move(
        "joint",
        target,
        share,
        share,
        move.blend,
        T_base_frame=move.T_base_frame,
        T_flange_tool=move.T_flange_tool,
        payload=move.payload,
        line=move.line,
        text=move.text,
    )
