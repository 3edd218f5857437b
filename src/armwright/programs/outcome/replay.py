# SPDX-License-Identifier: Apache-2.0
"""A program as a replay: the arm along its path, coloured by what it asks of the motors, cycle by cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.programs.outcome.pictures import with_program_tool
from armwright.recording.replay.stage import MOST_EVENTS, Coloured, Curves, Stage
from armwright.recording.signals import Event

if TYPE_CHECKING:
    from armwright.programs.outcome.result import ProgramRun
    from armwright.types import Array


def program_stage(outcome: ProgramRun, title: str = "") -> Stage:
    """Return what a page replays of a program: what the arm does, its motors, where they cannot follow."""
    run, robot = outcome.motors, outcome.robot
    names = tuple(joint.name for joint in robot.joints)
    use = 100.0 * np.maximum(outcome.wished.torque_use, outcome.wished.speed_use)
    what = "motor" if outcome.basis == "motors" else "joint"
    slides = any(joint.kind == "prismatic" for joint in robot.joints)
    plots = (
        Curves(f"use of the {what}s, as asked", "%", names, _first(use)),
        Curves("tool from where it should be", "mm", ("distance",), _first(1e3 * run.deviation.position[:, None])),
        Curves("joint speeds", "rad/s, m/s" if slides else "rad/s", names, _first(run.qd)),
        Curves(f"{what} torques", "N·m", names, _first(run.torque)),
    )
    largest = _first(use.max(axis=1))
    return Stage(
        with_program_tool(outcome),
        np.concatenate([[0.0], run.time]),
        np.concatenate([run.demand.q[:1], run.q]),
        title,
        events=_events(outcome),
        plots=tuple(plot for plot in plots if np.isfinite(plot.values).any()),
        path=Coloured(f"use of the most used {what}", "%", np.minimum(largest, 100.0), 0.0, 100.0),
    )


def _first(values: Array) -> Array:
    """Values of cycles with one more for the start, before the first of them."""
    return np.concatenate([values[:1], values])


def _events(outcome: ProgramRun) -> tuple[Event, ...]:
    """Begin of every move, and where a motor cannot follow; the latter first if there are too many."""
    names = [joint.name for joint in outcome.robot.joints]
    cannot = [Event(e.start, f"{names[e.joint]}: {e.cause} beyond its limit") for e in outcome.events]
    moves = [Event(part.start, f"move {part.move + 1}") for part in outcome.plan.moves]
    return tuple(sorted((cannot + moves)[:MOST_EVENTS], key=lambda event: event.time))
