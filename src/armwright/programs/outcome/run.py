# SPDX-License-Identifier: Apache-2.0
"""From a program to what its motors make of it: plan, demand, Algorithm 1 (001), all in one call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.programs.fit import check_program
from armwright.programs.motors import Demand, Override, find_rule, run_motors
from armwright.programs.motors.feasible import exact
from armwright.programs.outcome.basis import basis_of
from armwright.programs.outcome.demand import demand_of
from armwright.programs.outcome.events import Event, events_of
from armwright.programs.outcome.moves import MoveOutcome, moves_of
from armwright.programs.outcome.words import verdict, works_words
from armwright.programs.outcome.works import WhatWorks, override_of, what_works
from armwright.programs.plan import plan_program
from armwright.programs.read import read_program

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from armwright.programs.motors import MotorRun
    from armwright.programs.motors.drives import Basis
    from armwright.programs.motors.rules import Rule
    from armwright.programs.plan import Plan
    from armwright.programs.program import Payload, Program
    from armwright.recording import Recording
    from armwright.robot.model import Robot
    from armwright.types import Array

ARRIVED = 1e-9  # [rad or m]
SETTLING = 2.0  # [s] in which an arm that fell behind may still arrive


@dataclass(frozen=True, eq=False)
class ProgramRun:
    """A program, planned and run through Algorithm 1.

    Attributes:
        plan: what the program asks for.
        motors: what the motors make of it, cycle by cycle; where the arm falls behind, the cycles in which it catches
            up after the end are there, too.
        settings: how it was run: rule, cycle, override.
        late: how long after its end the arm arrives [s]; 0 if it follows, inf if it does not within `SETTLING`.
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
        return verdict(self)

    @cached_property
    def demand(self) -> Demand:
        """What the plan asks of the motors, without the cycles in which the arm catches up after its end."""
        return demand_of(self.plan)

    @cached_property
    def wished(self) -> MotorRun:
        """The same cycles without Algorithm 1: the arm follows its wish, whatever it takes."""
        return exact(self.robot, self.motors.demand, self.basis)[0]

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """Where, when and why a motor could not follow; in order of time."""
        return events_of(self)

    @cached_property
    def override(self) -> Override:
        """How fast the program, and each move of it, can be run on the same path; 1 is as it is now."""
        return override_of(self)

    @cached_property
    def moves(self) -> tuple[MoveOutcome, ...]:
        """One row a move of the program. The overrides in them take about a thousand runs, made on first use."""
        return moves_of(self)

    @cached_property
    def works(self) -> WhatWorks:
        """What would work: override, shortest time, load, motors, and how much of it hangs on Δt and load."""
        return what_works(self)

    @cached_property
    def advice(self) -> tuple[str, ...]:
        """What would work, in sentences."""
        return works_words(self)

    @cached_property
    def tool_positions(self) -> tuple[Array, Array]:
        """Wished and achieved tool position at the end of each cycle, (T, 3) each [m]."""
        from armwright.kinematics import fk

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
        self, path: str | Path, *, animation: bool = True, progress: Callable[[float], Any] | None = None
    ) -> Path:
        """Write one HTML page with tables, pictures and a film; needs matplotlib (`pip install armwright[plot]`)."""
        from armwright.programs.outcome.report import program_report

        return program_report(self, path, animation=animation, progress=progress)


@names_culprit
def run_program(
    robot: Robot,
    program: Program | str | Path,
    cycle: float = 0.01,
    *,
    rule: str | Rule = "full",
    basis: Basis | None = None,
    override: float = 1.0,
    payload: Payload | None = None,
    tool: ArrayLike | None = None,
    wrench: ArrayLike | None = None,
    start_q: ArrayLike | None = None,
    **planning: Any,
) -> ProgramRun:
    """Plan a program and run it cycle by cycle through what the motors can do (001, Algorithm 1).

    Args:
        robot: the arm.
        program: a `Program`, or a file or text that `read_program` reads.
        cycle: length of a controller cycle Δt [s].
        rule: what happens at a torque limit: "full" or "partitioned" (see `programs.motors`).
        basis: "motors", "joints" (efforts) or "speeds"; default the first for which the sheet has the data.
        override: how many times as fast as planned everything runs, but for the waits.
        payload: what the arm carries in moves that do not say.
        tool: (4, 4) T_flange_tool of moves that name none.
        wrench: (6,) of the world on the tool in moves that do not say [N, N m], base axes.
        start_q: (n,) where the arm stands at first.
        planning: more options of `plan_program` (law, share, acceleration, keep_acceleration, jerk).

    Raises:
        ProgramError: text that cannot be read, or a move that cannot be made; with file, line and what would work.
        InputError: a sheet without anything to check against, or an option without meaning.
    """
    find_rule(rule)
    if isinstance(program, str | Path):
        program = read_program(program)
    chosen = basis_of(robot, basis)
    check_program(program, robot)
    plan = plan_program(
        robot,
        program,
        cycle,
        start_q=start_q,
        override=override,
        tool=tool,
        payload=payload,
        wrench=wrench,
        **planning,
    )
    demand = demand_of(plan)
    settings = {"rule": rule if isinstance(rule, str) else rule.__name__, "cycle": cycle, "override": override}

    def done(wish: Demand) -> MotorRun:
        return run_motors(robot, wish, rule, basis=chosen)

    run = done(demand)
    if not np.abs(run.lag[-1]).max() > ARRIVED:
        return ProgramRun(plan, run, settings, 0.0)
    hold = int(np.ceil(SETTLING / cycle))
    behind = np.abs(done(demand.held(hold)).lag[demand.cycles :]).max(axis=1) > ARRIVED
    more = hold if behind[-1] else int(np.flatnonzero(behind)[-1]) + 2 if behind.any() else 1
    late = float("inf") if behind[-1] else more * cycle
    return ProgramRun(plan, done(demand.held(more)), settings, late)
