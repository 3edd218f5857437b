# SPDX-License-Identifier: Apache-2.0
"""Where a plan asks too much, and what would work instead: the questions that a program's run answers on demand.

`events_of` finds where, when and why a motor cannot follow: runs of flagged cycles, each with what its torque was
wanted for. `what_works` finds how fast, with which load and with which motors the program runs as it was meant.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics.actuator_side import joint_side
from armwright.errors import InputError, ProgramError
from armwright.kinematics import fk
from armwright.programs.motors import Override, feasible_override, largest_payload, needed_motors, sensitivity
from armwright.programs.motors.motor_run import loaded_robot
from armwright.programs.motors.what_works import LOOKS_PER_ROUND, flagged_any, least_flagged, sensitivity_to_cycle
from armwright.programs.outcome.program_certainty import within_rated
from armwright.programs.outcome.program_execution import Demands, demand_of, sampled
from armwright.programs.outcome.program_run import MotorEvent, WhatWorks
from armwright.programs.program_plan import plan_program
from armwright.robot.tree import tree_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.programs.motors import Demand, MotorRun, Trip
    from armwright.programs.outcome.program_run import ProgramRun
    from armwright.types import Array

EVENT_GAP_CYCLES = 3  # cycles without a flag that still belong to one event: motors at their limit flicker


def events_of(outcome: ProgramRun) -> tuple[MotorEvent, ...]:
    """Return where the plan itself asks too much, and where the drive would stop, in order of time."""
    run = outcome.wished
    found = [] if outcome.trip is None else [_trip_event(outcome, outcome.trip)]
    for j in range(run.robot.n):
        for first, last in _stretches(run.saturated[:, j]):
            found.append(_torque_event(outcome, j, first, last))
        for first, last in _stretches(run.clipped[:, j]):
            found.append(_speed_event(outcome, j, first, last))
    return tuple(sorted(found, key=lambda event: (event.start, event.joint, event.cause)))


def _stretches(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and last index of every stretch of flags, gaps of at most `EVENT_GAP_CYCLES` included."""
    at = np.flatnonzero(flags)
    if not at.size:
        return []
    cuts = np.flatnonzero(np.diff(at) > EVENT_GAP_CYCLES + 1)
    return list(zip(at[np.r_[0, cuts + 1]].tolist(), at[np.r_[cuts, at.size - 1]].tolist(), strict=True))


def _torque_event(outcome: ProgramRun, j: int, first: int, last: int) -> MotorEvent:
    stretch, run = slice(first, last + 1), outcome.wished
    worst = first + int(np.argmax(run.torque_use[stretch, j]))
    return MotorEvent(
        cause="torque",
        asked=float(run.wanted[worst, j]),
        limit=float(run.limit[worst, j]),
        parts={name: float(value[j]) for name, value in torque_parts(run, worst).items()},
        cycles=int(run.saturated[stretch, j].sum()),
        **_common(outcome, j, first, last, worst),
    )


def _speed_event(outcome: ProgramRun, j: int, first: int, last: int) -> MotorEvent:
    stretch, run = slice(first, last + 1), outcome.wished
    use = run.speed_use[stretch, j]
    worst = first + int(np.argmax(use))
    asked = float(run.qd[worst, j])
    return MotorEvent(
        cause="speed",
        asked=asked,
        limit=abs(asked) / float(use.max()),
        parts={},
        cycles=int(run.clipped[stretch, j].sum()),
        **_common(outcome, j, first, last, worst),
    )


def _trip_event(outcome: ProgramRun, trip: Trip) -> MotorEvent:
    at = min(trip.cycle, outcome.demand.cycles - 1)
    common = {**_common(outcome, trip.joint, at, at, at), "start": trip.time, "end": trip.time, "worst": trip.time}
    return MotorEvent(cause="trip", asked=trip.value, limit=trip.limit, parts={}, cycles=1, **common)


def _common(outcome: ProgramRun, j: int, first: int, last: int, worst: int) -> dict[str, Any]:
    run = outcome.wished
    tool = np.eye(4) if run.demand.tool is None else run.demand.tool[worst]
    dt = run.demand.dt
    return {
        "joint": j,
        "move": int(run.demand.moves[worst]),
        "start": first * dt,
        "end": (last + 1) * dt,
        "worst": worst * dt,
        "place": (fk(outcome.robot, run.demand.q[worst + 1]) @ tool)[:3, 3],
    }


def torque_parts(run: MotorRun, cycle: int) -> dict[str, Array]:
    """Split the motor torques (n,) that a cycle wanted into what they were for [N m]; the parts sum up to `wanted`."""
    demand, drives, dt = run.demand, run.drives, run.demand.dt
    q, qd = (rows[cycle] for rows in run.starts)
    asked = (demand.q[cycle + 1] - q) / dt
    qdd = (drives.within_speeds(asked) if run.algorithm.clip else asked) - qd
    qdd = np.asarray(qdd / dt, dtype=np.float64)
    robot = run.robot if demand.payload is None else loaded_robot(run.robot, demand.payload[cycle])
    tree = tree_of(robot, regroup=True)
    wrench = None if demand.wrench is None else demand.wrench[cycle]
    still = np.zeros_like(qd)
    H, gravity = joint_side(tree, q, still)
    moving = joint_side(tree, q, qd)[1]
    loaded = moving if wrench is None else joint_side(tree, q, qd, wrench)[1]
    if drives.reflected is not None:
        H = H + drives.reflected
    K = drives.actuators.gear
    to_motor = np.linalg.inv(K).T
    parts = {
        "acceleration": to_motor @ (H @ qdd) + drives.actuators.rotor_inertia * (K @ qdd),
        "gravity": to_motor @ gravity,
        "motion": to_motor @ (moving - gravity),
        "world": to_motor @ (loaded - moving),
    }
    parts["friction"] = run.wanted[cycle] - sum(parts.values())
    return {name: np.asarray(value, dtype=np.float64) for name, value in parts.items()}


PERIODS = (0.25, 0.5, 1.0, 2.0)  # times the cycle
MASSES = (0.0, 1.0, 2.0, 5.0)  # [kg] added
LEAST_SPEED_SHARE = 0.5  # share of the time-optimal speed below which no figure is given
LARGEST_PAYLOAD = 1000.0  # [kg]


def override_of(outcome: ProgramRun) -> Override:
    """Return how fast the program, and each of its moves, can be run."""
    return feasible_override(outcome.robot, outcome.demand, outcome.basis, at=Demands(outcome.plan).at)


def what_works(outcome: ProgramRun) -> WhatWorks:
    """Return how fast, with which load and with which motors the program would work."""
    robot, demand, basis = outcome.robot, outcome.demand, outcome.basis
    fastest, refused, clean = _fastest(outcome)
    own = _own_load(demand)
    com = _tool_point(demand) if own is None or demand.payload is None else demand.payload[own, 1:4]
    more = largest_payload(robot, demand, com, basis, most=LARGEST_PAYLOAD)
    more = float("inf") if more >= LARGEST_PAYLOAD else more
    carried = 0.0 if demand.payload is None else float(demand.payload[:, 0].max())
    return WhatWorks(
        override=outcome.override,
        fastest=fastest,
        fastest_refused=refused,
        fastest_clean=clean,
        motors=needed_motors(robot, demand, basis),
        torque=np.abs(outcome.wished.wanted).max(axis=0),
        more_payload=within_rated(robot, carried, more),
        payload_share=None if own is None else _payload_share(outcome),
        sensitivity=(
            *(sensitivity_to_cycle(robot, demand_of(sampled(outcome.plan, f * demand.dt)), basis) for f in PERIODS),
            *sensitivity(robot, demand, periods=(), payloads=MASSES, com=com, basis=basis),
        ),
    )


def _own_load(demand: Demand) -> int | None:
    """Return the first cycle in which the program carries something."""
    if demand.payload is None or not demand.payload[:, 0].any():
        return None
    return int(np.argmax(demand.payload[:, 0] > 0.0))


def _tool_point(demand: Demand) -> Array:
    """Return where a load would sit, tool frame of the arm (3,) [m]: at the tool point of the first move."""
    return np.zeros(3) if demand.tool is None else np.asarray(demand.tool[0, :3, 3])


def _payload_share(outcome: ProgramRun) -> float:
    demand = outcome.demand
    assert demand.payload is not None
    rows = demand.payload

    def flagged(shares: Array) -> NDArray[np.bool_]:
        centre = np.isin(np.arange(rows.shape[1]), (1, 2, 3))  # stays where it is; mass and inertia shrink
        lighter = [replace(demand, payload=np.where(centre, rows, share * rows)) for share in shares]
        return flagged_any(outcome.robot, lighter, outcome.basis)

    return least_flagged(flagged, np.linspace(0.0, 1.0, LOOKS_PER_ROUND + 2))


def _fastest(outcome: ProgramRun) -> tuple[float | None, str, float | None]:
    """Return the time-optimal duration, or why there is none; and the duration without a flagged cycle."""
    robot, plan = outcome.robot, outcome.plan
    if outcome.basis == "speeds":
        return None, "the sheet knows no torques", None
    try:
        how: Any = {"law": "fastest", "impossible": "leave out"}
        fast = plan_program(robot, plan.program, plan.cycle, start_q=plan.start_q, **how)
    except (ProgramError, InputError) as error:
        return None, str(error), None
    wish = Demands(fast)

    def flagged(overrides: Array) -> NDArray[np.bool_]:
        return flagged_any(robot, [wish.at(float(x)) for x in overrides], outcome.basis)

    share = least_flagged(flagged, np.linspace(LEAST_SPEED_SHARE, 1.0, 2 * LOOKS_PER_ROUND))
    return fast.duration, "", None if np.isnan(share) else wish.duration(share)
