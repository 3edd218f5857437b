# SPDX-License-Identifier: Apache-2.0
"""Moves of a program that an arm cannot make: targets out of reach, joints beyond their ranges, ways that end.

A program with such a move is not feasible on this arm, whatever its motors can do. The rest of it can still be judged:
the plan stops where the move would begin and begins anew, at rest, in the next target that can be reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from armwright.errors import ProgramError

if TYPE_CHECKING:
    from armwright.programs.program import Program

MOST_NAMED = 3  # impossible moves that a verdict names
MOVE_TEXT_LENGTH = 60  # characters of a move's text in a sentence


class MoveImpossibleError(ProgramError):
    """A move that an arm cannot make; `leg` is its place among the moves of one tool path, from 0."""

    leg = 0


class ImpossibleMove(NamedTuple):
    """A move left out of a plan: its number in the program (from 0), why the arm cannot make it, what would work."""

    move: int
    reason: str
    valid: str


def check_tool_known(program: Program, found: tuple[ImpossibleMove, ...]) -> None:
    """Refuse to judge G-code that no arm's own tool frame can follow while nobody says which tool it is written for.

    Other languages name their tools, or have gaps; G-code cannot, and at another tool its moves may well be possible.

    Raises:
        ProgramError: about the first move that cannot be made.
    """
    for one in found:
        move = program.moves[one.move]
        if program.language == "g-code" and move.T_flange_tool is None:
            tool = "the tool of the program, which G-code cannot name (--tool x,y,z; --tool 0,0,0 for none)"
            raise ProgramError(
                one.reason,
                file=program.file,
                line=move.line,
                word=move.text,
                valid="; or ".join(filter(None, (tool, one.valid))),
            )


def move_words(program: Program, number: int) -> str:
    """Name a move by number, line and text."""
    told = program.moves[number]
    text = " ".join(told.text.split())
    text = text if len(text) <= MOVE_TEXT_LENGTH else text[: MOVE_TEXT_LENGTH - 1] + "…"
    inside = ": ".join(filter(None, (f"line {told.line}" if told.line else "", text)))
    return f"move {number + 1}" + (f" ({inside})" if inside else "")


def impossible_words(program: Program, found: tuple[ImpossibleMove, ...]) -> str:
    """Return which moves an arm cannot make, and why, in sentences; empty if it can make them all."""
    if not found:
        return ""
    moves = sum(move.kind != "wait" for move in program.moves)
    said = []
    for one in found[:MOST_NAMED]:
        said.append(f"{move_words(program, one.move)}: {one.reason}")
    more = f"; and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    count = "a move" if len(found) == 1 else f"{len(found)} moves"
    return f"{count} of {moves} cannot be made: {'; '.join(said)}{more}"
