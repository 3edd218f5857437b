# SPDX-License-Identifier: Apache-2.0
"""A program after its run: one object from which every question about it is answered, when it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.kinematics import fk

if TYPE_CHECKING:
    from collections.abc import Callable

    from armwright.programs.motors import Demand, MotorRun, Override
    from armwright.programs.motors.drives import Basis
    from armwright.programs.outcome.parts import Event, MoveOutcome, WhatWorks
    from armwright.programs.plan import Plan
    from armwright.programs.program import Program
    from armwright.recording import Recording
    from armwright.robot.model import Robot
    from armwright.types import Array


@dataclass(frozen=True, eq=False)
class ProgramRun:
    """A program, planned and run through Algorithm 1.

    Attributes:
        plan: what the program asks for.
        motors: what the motors make of it, cycle by cycle; where the arm falls behind, the cycles in which it catches
            up after the end are there, too.
        settings: how it was run: rule, cycle, override.
        late: how long after its end the arm arrives [s]; 0 if it follows, inf if it does not within two seconds.
    """

    plan: Plan
    motors: MotorRun
    settings: dict[str, Any]
    late: float

    @property
    def robot(self) -> Robot:
        """The arm."""
        return self.plan.robot

    @property
    def program(self) -> Program:
        """The program as it was planned."""
        return self.plan.program

    @property
    def basis(self) -> Basis:
        """What was checked: "motors", "joints" (efforts of the joints), or "speeds" alone."""
        return self.motors.drives.basis

    @property
    def feasible(self) -> bool:
        """Whether every cycle can be done as it was meant."""
        return self.motors.feasible

    @cached_property
    def verdict(self) -> str:
        """The answer, for a person: one or two sentences."""
        from armwright.programs.outcome.words import verdict

        return verdict(self)

    @cached_property
    def demand(self) -> Demand:
        """What the plan asks of the motors, without the cycles in which the arm catches up after its end."""
        from armwright.programs.outcome.demand import demand_of

        return demand_of(self.plan)

    @cached_property
    def wished(self) -> MotorRun:
        """The same cycles without Algorithm 1: the arm follows its wish, whatever it takes."""
        from armwright.programs.motors.feasible import exact

        return exact(self.robot, self.motors.demand, self.basis)[0]

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """Where, when and why a motor could not follow; in order of time."""
        from armwright.programs.outcome.events import events_of

        return events_of(self)

    @cached_property
    def override(self) -> Override:
        """How fast the program, and each move of it, can be run on the same path; 1 is as it is now."""
        from armwright.programs.outcome.works import override_of

        return override_of(self)

    @cached_property
    def moves(self) -> tuple[MoveOutcome, ...]:
        """One row a move of the program. The overrides in them take some hundred short runs, made on first use."""
        from armwright.programs.outcome.moves import moves_of

        return moves_of(self)

    @cached_property
    def works(self) -> WhatWorks:
        """What would work: override, shortest time, load, motors, and how much of it hangs on Δt and load."""
        from armwright.programs.outcome.works import what_works

        return what_works(self)

    @cached_property
    def advice(self) -> tuple[str, ...]:
        """What would work, in sentences."""
        from armwright.programs.outcome.words import works_words

        return works_words(self)

    @cached_property
    def tool_positions(self) -> tuple[Array, Array]:
        """Wished and achieved tool position at the end of each cycle, (T, 3) each [m]."""
        tool = self.motors.demand.tool
        tool = np.eye(4) if tool is None else tool
        wished, got = (fk(self.robot, q) @ tool for q in (self.motors.demand.q[1:], self.motors.q))
        return wished[:, :3, 3], got[:, :3, 3]

    def figures(self) -> dict[str, Any]:
        """Return everything but the cycles as plain numbers and texts, for JSON; SI units, radians."""
        from armwright.programs.outcome.tables import figures

        return figures(self)

    @cached_property
    def recording(self) -> Recording:
        """The cycles as a recording, to be saved as .csv, .npz, .parquet or .mcap."""
        from armwright.programs.outcome.tables import as_recording

        return as_recording(self)

    def report(
        self, path: str | Path, *, animation: bool = False, progress: Callable[[float], Any] | None = None
    ) -> Path:
        """Write one HTML page with a replay, tables and pictures; needs matplotlib (`pip install armwright[plot]`)."""
        from armwright.programs.outcome.report import program_report

        return program_report(self, path, animation=animation, progress=progress)
