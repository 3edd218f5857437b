# SPDX-License-Identifier: Apache-2.0
"""A program move by move: how long, what limits it, how fast it could be, how far the tool was off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.programs.motors import summarise
from armwright.programs.outcome.parts import MoveOutcome
from armwright.programs.program import Duration

if TYPE_CHECKING:
    from armwright.programs.motors import MotorRun
    from armwright.programs.outcome.result import ProgramRun


def moves_of(outcome: ProgramRun) -> tuple[MoveOutcome, ...]:
    """Return one row a move, in the program's order."""
    here = set(np.unique(outcome.motors.demand.moves).tolist())
    rows = []
    for k, (move, planned) in enumerate(zip(outcome.program.moves, outcome.plan.moves, strict=True)):
        summary = summarise(outcome.motors, k) if k in here else None
        wait = move.speed.seconds if move.kind == "wait" and isinstance(move.speed, Duration) else None
        limiting, cause, use = (None, "", 0.0) if summary is None else limit_of(outcome.wished, k)
        rows.append(
            MoveOutcome(
                number=k + 1,
                line=move.line,
                text=move.text,
                kind=move.kind,
                start=planned.start,
                duration=wait if wait is not None else planned.end - planned.start,
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
