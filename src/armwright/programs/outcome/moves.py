# SPDX-License-Identifier: Apache-2.0
"""A program move by move: how long, what limits it, how fast it could be, how far the tool was off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.programs.motors import MoveSummary, summarise

if TYPE_CHECKING:
    from armwright.programs.motors import MotorRun
    from armwright.programs.outcome.run import ProgramRun


@dataclass(frozen=True, slots=True, eq=False)
class MoveOutcome:
    """What came of one move.

    Attributes:
        number: 1 for the first move of the program. line, text, kind: as it was read.
        start, duration: as planned [s]. length: of the tool's path [m].
        summary: of its cycles; None for a wait, or a move that was left out or is shorter than a cycle.
        limiting: index of the joint whose motor the program, followed exactly, would use most; None without cycles.
        cause: "torque" or "speed", whichever would be used more.
        use: how much of it; above 1 the motor cannot follow.
        override: how many times as fast the program could run before this move is flagged; None without cycles.
    """

    number: int
    line: int
    text: str
    kind: str
    start: float
    duration: float
    length: float
    summary: MoveSummary | None
    limiting: int | None
    cause: str
    use: float
    override: float | None

    @property
    def flagged(self) -> int:
        """Cycles at a torque limit and cycles in which a speed was cut, summed over the joints."""
        return 0 if self.summary is None else int(self.summary.saturated.sum() + self.summary.clipped.sum())


def moves_of(outcome: ProgramRun) -> tuple[MoveOutcome, ...]:
    """Return one row a move, in the program's order."""
    here = set(np.unique(outcome.motors.demand.moves).tolist())
    rows = []
    for k, (move, planned) in enumerate(zip(outcome.program.moves, outcome.plan.moves, strict=True)):
        summary = summarise(outcome.motors, k) if k in here else None
        limiting, cause, use = (None, "", 0.0) if summary is None else limit_of(outcome.wished, k)
        rows.append(
            MoveOutcome(
                number=k + 1,
                line=move.line,
                text=move.text,
                kind=move.kind,
                start=planned.start,
                duration=planned.end - planned.start,
                length=planned.length,
                summary=summary,
                limiting=limiting,
                cause=cause,
                use=use,
                override=outcome.override.moves.get(k) if summary is not None else None,
            )
        )
    return tuple(rows)


def limit_of(run: MotorRun, move: int | None = None) -> tuple[int, str, float]:
    """Index of the motor that a move (or the whole program) uses most, by torque or by speed, and how much of it."""
    rows = slice(None) if move is None else run.demand.moves == move
    torque, speed = run.torque_use[rows].max(axis=0), run.speed_use[rows].max(axis=0)
    k = int(np.argmax(np.maximum(torque, speed)))
    return k, "torque" if torque[k] >= speed[k] else "speed", float(max(torque[k], speed[k]))
