# SPDX-License-Identifier: Apache-2.0
"""What would work: how fast, with which load, with which motors a planned program runs as it was meant."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError, ProgramError
from armwright.programs.motors import Override, feasible_override, largest_payload, needed_motors, sensitivity
from armwright.programs.motors.feasible import LOOKS, flagged_any, least_flagged, sensitivity_to_cycle
from armwright.programs.outcome.demand import Demands, demand_of, sampled
from armwright.programs.outcome.parts import WhatWorks
from armwright.programs.plan import plan_program

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.programs.motors import Demand
    from armwright.programs.outcome.result import ProgramRun
    from armwright.types import Array

PERIODS = (0.25, 0.5, 1.0, 2.0)  # of the cycle
MASSES = (0.0, 1.0, 2.0, 5.0)  # [kg] more
LEAST = 0.5  # of the time-optimal speed, below which it is not worth a figure
MOST = 1000.0  # [kg]


def override_of(outcome: ProgramRun) -> Override:
    """How fast the program, and each of its moves, can be run."""
    return feasible_override(outcome.robot, outcome.demand, outcome.basis, at=Demands(outcome.plan).at)


def what_works(outcome: ProgramRun) -> WhatWorks:
    """Ask all the questions."""
    robot, demand, basis = outcome.robot, outcome.demand, outcome.basis
    fastest, refused, clean = _fastest(outcome)
    own = _own_load(demand)
    com = _tool_point(demand) if own is None or demand.payload is None else demand.payload[own, 1:4]
    more = largest_payload(robot, demand, com, basis, most=MOST)
    return WhatWorks(
        override=outcome.override,
        fastest=fastest,
        fastest_refused=refused,
        fastest_clean=clean,
        motors=needed_motors(robot, demand, basis),
        torque=np.abs(outcome.wished.wanted).max(axis=0),
        more_payload=float("inf") if more >= MOST else more,
        payload_share=None if own is None else _payload_share(outcome),
        sensitivity=(
            *(sensitivity_to_cycle(robot, demand_of(sampled(outcome.plan, f * demand.dt)), basis) for f in PERIODS),
            *sensitivity(robot, demand, periods=(), payloads=MASSES, com=com, basis=basis),
        ),
    )


def _own_load(demand: Demand) -> int | None:
    """First cycle in which the program carries something."""
    if demand.payload is None or not demand.payload[:, 0].any():
        return None
    return int(np.argmax(demand.payload[:, 0] > 0.0))


def _tool_point(demand: Demand) -> Array:
    """Where a load would sit, tool frame of the arm (3,) [m]: at the tool point of the first move."""
    return np.zeros(3) if demand.tool is None else np.asarray(demand.tool[0, :3, 3])


def _payload_share(outcome: ProgramRun) -> float:
    demand = outcome.demand
    assert demand.payload is not None
    rows = demand.payload

    def flagged(shares: Array) -> NDArray[np.bool_]:
        centre = np.isin(np.arange(rows.shape[1]), (1, 2, 3))  # stays where it is; mass and inertia shrink
        lighter = [replace(demand, payload=np.where(centre, rows, share * rows)) for share in shares]
        return flagged_any(outcome.robot, lighter, outcome.basis)

    return least_flagged(flagged, np.linspace(0.0, 1.0, LOOKS + 2))


def _fastest(outcome: ProgramRun) -> tuple[float | None, str, float | None]:
    """Duration of the time-optimal program, or why there is none; and of one without a flagged cycle."""
    robot, plan = outcome.robot, outcome.plan
    if outcome.basis == "speeds":
        return None, "the sheet knows no torques", None
    try:
        fast = plan_program(robot, plan.program, plan.cycle, start_q=plan.q[0], law="fastest")
    except (ProgramError, InputError) as error:
        return None, str(error), None
    wish = Demands(fast)

    def flagged(overrides: Array) -> NDArray[np.bool_]:
        return flagged_any(robot, [wish.at(float(x)) for x in overrides], outcome.basis)

    share = least_flagged(flagged, np.linspace(LEAST, 1.0, 2 * LOOKS))
    return fast.duration, "", None if np.isnan(share) else wish.duration(share)
