# SPDX-License-Identifier: Apache-2.0
"""From a program to what its motors make of it: plan, demand, Algorithm 1 (001), all in one call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.programs.fit import check_program
from armwright.programs.motors import Demand, find_rule, run_motors
from armwright.programs.outcome.basis import basis_of
from armwright.programs.outcome.demand import demand_of
from armwright.programs.outcome.result import ProgramRun
from armwright.programs.plan import plan_program
from armwright.programs.read import read_program

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.programs.motors import MotorRun
    from armwright.programs.motors.drives import Basis
    from armwright.programs.motors.rules import Rule
    from armwright.programs.plan import Law
    from armwright.programs.program import Payload, Program
    from armwright.robot.model import Robot

ARRIVED = 1e-9  # [rad or m]
SETTLING = 2.0  # [s] in which an arm that fell behind may still arrive


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
    law: Law = "words",
    share: float = 1.0,
    acceleration: ArrayLike | None = None,
    keep_acceleration: bool = False,
    jerk: float | None = None,
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
        law: "words" or "fastest"; this and the rest as in `plan_program`.
        share: of the motor torques that "fastest" may use.
        acceleration: rated joint accelerations instead of the sheet's.
        keep_acceleration: keep them on tool moves, too.
        jerk: bound on the third derivative of the travelled length [m/s³].

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
        law=law,
        share=share,
        acceleration=acceleration,
        keep_acceleration=keep_acceleration,
        jerk=jerk,
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
