# SPDX-License-Identifier: Apache-2.0
"""Programs: one that was opened, run through what the motors of the arm can do, at any override."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.studio.messages import Shape, number, whole
from armwright.studio.shelf import Item

if TYPE_CHECKING:
    from armwright.studio.hub import Client
    from armwright.studio.state import Studio

MOST_CELLS = 200  # rows of a table on the page


async def program(
    studio: Studio, client: Client, source: int, override: float = 1.0, payload: float = 0.0
) -> dict[str, Any]:
    """Run a program that is on the shelf; the job's result has the verdict, the tables and the replay's number."""
    item, robot = studio.shelf.get(source, "program text"), studio.robot

    def work(progress: Callable[[float, str], None]) -> dict[str, Any]:
        from armwright.programs.outcome import rows, run_program
        from armwright.programs.program import Payload

        progress(0.05, "plans")
        load = Payload(payload, np.zeros(3)) if payload else None
        outcome = run_program(robot, item.value, override=override, payload=load)
        progress(0.4, "asks how fast it could be")
        fastest = outcome.override
        progress(0.7, "writes the tables")
        name = f"{item.name} on {robot.name} at {100 * override:g} %"
        kept = studio.shelf.add(Item("program", name, outcome, "feasible" if outcome.feasible else "not feasible"))
        return {
            "number": kept,
            "source": source,
            "override": override,
            "feasible": outcome.feasible,
            "basis": outcome.basis,
            "verdict": outcome.verdict,
            "duration": float(outcome.plan.duration),
            "fastest": float(fastest.program),
            "moves": {
                "heads": list(rows.MOVE_HEADS),
                "rows": [rows.move_cells(outcome, move, 40) for move in outcome.moves[:MOST_CELLS]],
                "marked": [move.use > 1.0 for move in outcome.moves[:MOST_CELLS]],
            },
            "motors": {"heads": list(rows.MOTOR_HEADS), "rows": rows.motor_cells(outcome)},
            "events": {
                "heads": list(rows.EVENT_HEADS),
                "rows": [rows.event_cells(outcome, event) for event in outcome.events[:MOST_CELLS]],
            },
        }

    return {"job": studio.jobs.start(f"program {item.name}", work)}


ORDERS: dict[str, tuple[Shape, Any]] = {
    "program": (
        Shape({"source": whole(1, 2**31)}, {"override": number(0.05, 5.0), "payload": number(0.0, 100.0)}),
        program,
    )
}
