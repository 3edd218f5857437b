# SPDX-License-Identifier: Apache-2.0
"""Rows of text for tables, the same in the terminal and in the report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from armwright.programs.motors.override import FASTEST
from armwright.programs.outcome.tables import COMPONENTS, motor_rows, reaction_rows
from armwright.programs.outcome.words import FOR, place_words, tidy

if TYPE_CHECKING:
    from armwright.programs.outcome.parts import Event, MoveOutcome
    from armwright.programs.outcome.result import ProgramRun

MOVE_HEADS = (
    "#",
    "line",
    "move",
    "time [s]",
    "limit",
    "use [%]",
    "override",
    "off [mm]",
    "off [°]",
    "from path [mm]",
    "flags",
)
MOTOR_HEADS = (
    "joint",
    "peak [N·m]",
    "rms [N·m]",
    "limit [N·m]",
    "torque [%]",
    "speed [%]",
    "heat [%]",
    "work [J]",
    "returned [J]",
    "lag [mrad, mm]",
)
EVENT_HEADS = ("from [s]", "to [s]", "move", "joint", "asked", "has", "mostly for", "tool at [mm]")
REACTION_HEADS = ("body", "|f| [N]", "|n| [N·m]", *(f"{c} [{'N' if c[0] == 'f' else 'N·m'}]" for c in COMPONENTS))


def move_cells(outcome: ProgramRun, move: MoveOutcome, width: int = 34) -> list[str]:
    """One row of the table of moves."""
    text = " ".join(move.text.split()) or move.kind
    text = text if len(text) <= width else text[: width - 1] + "…"
    head = [str(move.number), str(move.line) if move.line else "–", text]
    if move.summary is None or move.limiting is None:
        return [*head, f"{move.duration:.3f}", *["–"] * 7]
    off, joint = move.summary, outcome.robot.joints[move.limiting].name
    return [
        *head,
        f"{move.duration:.3f}",
        f"{joint} {move.cause}",
        f"{100 * move.use:.1f}",
        override_cell(move.override),
        *(tidy(value) for value in (1e3 * off.position, math.degrees(off.angle), 1e3 * off.path)),
        str(move.flagged) if move.flagged else "–",
    ]


def plain(value: float) -> str:
    """A force or moment: three digits, no powers of ten."""
    return f"{value:.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def override_cell(value: float | None) -> str:
    """An override; the search ends at `FASTEST`."""
    return "–" if value is None else f"> {FASTEST:g}" if value >= FASTEST else f"{value:.3f}"


def motor_cells(outcome: ProgramRun) -> list[list[str]]:
    """One row a motor."""

    def number(value: float | None, scale: float = 1.0) -> str:
        return "–" if value is None or not np.isfinite(value) else tidy(scale * value, 4)

    return [
        [
            row["joint"],
            number(row["torque_peak_nm"]),
            number(row["torque_rms_nm"]),
            number(row["torque_limit_nm"]),
            number(row["torque_use"] if np.isfinite(row["torque_limit_nm"]) else None, 100.0),
            number(row["speed_use"], 100.0),
            number(row["heat"], 100.0),
            number(row["energy_j"]),
            number(row["regenerated_j"]),
            number(row["lag"], 1e3),
        ]
        for row in motor_rows(outcome)
    ]


def event_cells(outcome: ProgramRun, event: Event) -> list[str]:
    """One row of the table of events."""
    joint = outcome.robot.joints[event.joint]
    unit = "N·m" if event.cause == "torque" else "rad/s" if joint.kind == "revolute" else "m/s"
    why = FOR[event.mostly] if event.mostly else "speed"
    return [
        f"{event.start:.3f}",
        f"{event.end:.3f}",
        place_words(outcome, event.move),
        joint.name,
        f"{abs(event.asked):.4g} {unit}",
        f"{event.limit:.4g} {unit}",
        f"{why}{' (catching up)' if event.catching_up else ''}",
        ", ".join(f"{1e3 * x:.0f}" for x in event.place),
    ]


def reaction_cells(outcome: ProgramRun) -> list[list[str]]:
    """One row a body: largest force and moment, and the range of every component."""
    return [
        [
            row["body"],
            plain(row["force_n"]),
            plain(row["moment_nm"]),
            *(f"{plain(row[name][0])} … {plain(row[name][1])}" for name in COMPONENTS),
        ]
        for row in reaction_rows(outcome)
    ]
