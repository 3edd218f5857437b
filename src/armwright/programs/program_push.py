# SPDX-License-Identifier: Apache-2.0
"""`Push`: what the world does to the tool while a program, or some moves of it, runs (k_e of 001, eq. 1, 10 and 11).

A grinding force, a hose that pulls, a part that is pressed into its place: no language of robot programs has words for
it, so it is given beside the program. 001 counts f_e as what the tool does to the world; a `Push` is the opposite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from armwright.errors import InputError
from armwright.programs.program import WrenchFrame
from armwright.robot.parts import ByContent, frozen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.programs.program import Program
    from armwright.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class Push(ByContent):
    """What the world does to the tool, at the tool point, during some moves.

    Attributes:
        wrench: (6,) [f; n], force [N] and moment [N m] of the world **on** the tool.
        frame: axes of its numbers: "base", or "tool", which turns with the program's tool.
        first, last: moves during which it acts, 1 for the first of the program; None: from its beginning, to its end.
            During a wait the push of the move before it goes on.

    Example:
        >>> Push([0, 0, -80.0, 0, 0, 0], frame="tool", first=2, last=10)
    """

    wrench: Array
    frame: WrenchFrame = "base"
    first: int | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        """Freeze the wrench; refuse frames and moves without meaning."""
        object.__setattr__(self, "wrench", frozen(self.wrench, (6,), "wrench"))
        if self.frame not in get_args(WrenchFrame):
            raise InputError(f"wrench: its frame is one of {', '.join(get_args(WrenchFrame))}, got {self.frame!r}")
        for name in ("first", "last"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise InputError(f"wrench: {name} is the number of a move, 1 for the first, got {value!r}")
        if self.first is not None and self.last is not None and self.first > self.last:
            raise InputError(f"wrench: its first move, {self.first}, comes after its last, {self.last}")

    def moves(self, count: int) -> range:
        """Return the indices of its moves in a program of `count` moves; refuse moves that are not there."""
        first, last = self.first or 1, self.last or count
        if max(first, last) > count:
            raise InputError(f"wrench: move {max(first, last)} is not there, the program has {count} moves")
        return range(first - 1, last)


Pushes = Push | Sequence[Push]


def pushes_of(wrench: ArrayLike | Pushes | None) -> tuple[Push, ...]:
    """Return pushes as a tuple: of a wrench (6,) in base axes, of one push, or of several."""
    if wrench is None:
        return ()
    if isinstance(wrench, Push):
        return (wrench,)
    given: Any = wrench
    if isinstance(given, list | tuple) and given and any(isinstance(part, Push) for part in given):
        strange = [part for part in given if not isinstance(part, Push)]
        if strange:
            raise InputError(f"wrench: expected (6,) numbers or a sequence of Push, got a {type(strange[0]).__name__}")
        return tuple(given)
    return (Push(given),)


def pushed(program: Program, wrench: ArrayLike | Pushes | None) -> Program:
    """Return the program with pushes on the moves that do not say what the world does; no move is pushed twice."""
    moves, taken = list(program.moves), dict[int, Push]()
    for push in pushes_of(wrench):
        for k in push.moves(len(moves)):
            if k in taken:
                raise InputError(f"wrench: move {k + 1} is given two; add them up, or give each its own moves")
            taken[k] = push
            if moves[k].wrench is None:
                moves[k] = replace(moves[k], wrench=push.wrench, wrench_frame=push.frame)
    return replace(program, moves=tuple(moves)) if taken else program


def pushes_in(program: Program) -> tuple[Push, ...]:
    """Return what the world does in a program: one push per stretch of moves with the same wrench, zeros left out."""
    out: list[Push] = []
    for number, move in enumerate(program.moves, 1):
        if move.wrench is None or not move.wrench.any():
            continue
        last = out[-1] if out else None
        same = last is not None and last.last == number - 1 and last.frame == move.wrench_frame
        if last is not None and same and (last.wrench == move.wrench).all():
            out[-1] = replace(last, last=number)
        else:
            out.append(Push(move.wrench, move.wrench_frame, number, number))
    return tuple(out)
