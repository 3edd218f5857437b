# SPDX-License-Identifier: Apache-2.0
"""A plan followed by drives: `drive_law.drive_step` in a compiled loop, laws and gains side by side in SIMD lanes.

The plan is looked at where it is, every step (1 ms), not between samples. What is kept are the controller's cycles:
a `MotorRun`, as of Algorithm 1, so that every table and picture takes either.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.graph.loop import CompiledLoop
from armwright.graph.loop_plan import LoopPlan, stage
from armwright.graph.traced_program import trace
from armwright.programs.motors.drive_law import (
    AXES,
    DRIVE,
    STEP_SECONDS,
    DriveSettings,
    DriveState,
    DriveStep,
    TrackingGains,
    TrackingLaw,
    Trips,
    drive_step,
    shared,
)
from armwright.programs.motors.motor_cycle import Algorithm, full
from armwright.programs.motors.motor_demand import Demand, fits
from armwright.programs.motors.motor_limits import Basis, Drives, drives_of
from armwright.programs.motors.motor_run import MotorRun, stitched
from armwright.robot.loaded_tree import PAYLOAD_SIZE

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

    Motion = Callable[[Array], tuple[Array, Array, Array]]

ONE = ("steps", "off", *DriveSettings._fields)  # slots of one number
KEPT = ("q", "qd", "heat", "q0", "qd0", "qdd", "torque", "wanted", "limit", "saturated", "clipped")
STEPS_AT_ONCE = 20_000  # of a table of the plan: some megabytes
ARRIVED = 1e-3  # [rad or m] from its end at which an arm has arrived
ARRIVAL_SECONDS = 2.0  # [s] in which an arm that fell behind may still arrive


class Trip(NamedTuple):
    """The drive would stop here.

    Attributes:
        time: [s]. cycle: index of the controller's cycle. joint: the one that is worst off.
        cause: "lag" or "speed". value, limit: |lag| [rad or m], or the speed over its limit; and the bound of it.
    """

    time: float
    cycle: int
    joint: int
    cause: str
    value: float
    limit: float


@dataclass(frozen=True, eq=False)
class Tracked:
    """A plan followed under one law, up to its end or to a trip.

    Attributes:
        law: which. gains: None for Algorithm 1, which has none.
        run: cycle by cycle; of a run that tripped, the whole cycles before (at least the one of the trip).
        lag: (n,) largest |lag| of any step [rad or m]. speed: (n,) largest speed over its limit.
        trip: where the drive would stop; None if it does not.
        late: how long after the plan's end the arm is within `ARRIVED` of it [s]; inf if it does not arrive.
    """

    law: TrackingLaw
    gains: TrackingGains | None
    run: MotorRun
    lag: Array
    speed: Array
    trip: Trip | None
    late: float


def steps_of(cycle: float) -> int:
    """Return how many steps of at most `STEP_SECONDS` a controller's cycle [s] has."""
    return max(1, int(np.ceil(cycle / STEP_SECONDS - 1e-9)))


def drive_plan(robot: Robot, h: float, basis: Basis, inputs: tuple[str, ...]) -> tuple[Drives, LoopPlan]:
    """Return the loop of one robot, traced once for equal settings."""
    found: tuple[Drives, LoopPlan] = robot.memo(("drive step", h, basis, inputs), _made, h, basis, inputs)
    return found


def _made(robot: Robot, h: float, basis: Basis, inputs: tuple[str, ...]) -> tuple[Drives, LoopPlan]:
    drives, n = drives_of(robot, basis), robot.n
    table = {"q_r": n, "qd_r": n, "qdd_r": n} | {k: {"wrench": 6, "payload": PAYLOAD_SIZE}[k] for k in inputs}
    names = (*DriveState._fields, *DriveSettings._fields)
    sizes = {name: 1 if name in ONE else n for name in names} | table

    def step(**values: Any) -> DriveStep:
        state = DriveState(*(values[name] for name in DriveState._fields))
        settings = DriveSettings(*(values[name] for name in DriveSettings._fields))
        plan = (values["q_r"], values["qd_r"], values["qdd_r"])
        return drive_step(robot, drives, h, state, settings, plan, **{name: values[name] for name in inputs})

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in sizes]
    step.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    program = trace(step, {name: (size,) for name, size in sizes.items()}, name="drive_step")
    slots = sizes | {name: n for name in DriveStep._fields if name not in DriveState._fields}
    loop = LoopPlan(slots, (stage(program, "before"),), shared=tuple(table), state=("q", "qd", "wanted"), record=KEPT)
    return drives, loop


@names_culprit
def follow(
    robot: Robot,
    demand: Demand,
    motion: Motion,
    laws: Sequence[TrackingLaw] = (DRIVE, AXES),
    *,
    basis: Basis = "motors",
    gains: Sequence[TrackingGains] = (TrackingGains(),),
    trips: Trips | None = None,
) -> list[Tracked]:
    """Follow a plan, once for every law and every pair of gains, all of them side by side.

    Args:
        robot: the arm.
        demand: the plan in the controller's cycles, with its loads.
        motion: the plan itself: q, q̇, q̈ (B, n) at times (B,) [s], at rest after its end.
        laws: of `choices.TRACKINGS`, but for Algorithm 1 (see `motor_loop`).
        basis: what limits the arm.
        gains: to be tried with every law.
        trips: when the drive switches off.

    Example:
        >>> drive, axes = follow(robot, demand, lambda t: plan.at(t)[:3], basis="joints")
    """
    fits(demand, robot)
    if demand.leaps is not None:
        return _by_parts(robot, demand, motion, laws, basis=basis, gains=gains, trips=trips)
    bounds = trips or Trips()
    lanes = [(law, pair) for law in laws for pair in gains]
    inputs = tuple(name for name in ("wrench", "payload") if getattr(demand, name) is not None)
    every = steps_of(demand.dt)
    h = demand.dt / every
    drives, plan = drive_plan(robot, h, basis, inputs)
    loop = CompiledLoop(plan, len(lanes))
    loop.set("q", demand.q[0])
    for name, column in (
        ("k_p", [pair.position for _, pair in lanes]),
        ("k_v", [pair.speed for _, pair in lanes]),
        ("clip", [float(law.clips) for law, _ in lanes]),
        ("most_lag", [bounds.lag] * len(lanes)),
        ("most_speed", [bounds.speed] * len(lanes)),
    ):
        loop.set(name, np.array(column)[:, None])

    def through(wish: Demand, first: int) -> Array:
        """Run the cycles from `first` on; the record is (lanes, cycles, columns)."""
        parts, size = [], max(1, STEPS_AT_ONCE // every)
        for begin in range(first, wish.cycles, size):
            end = min(begin + size, wish.cycles)
            rows = [*motion(h * np.arange(begin * every, end * every, dtype=np.float64))]
            rows += [np.repeat(getattr(wish, name)[begin:end], every, axis=0) for name in inputs]
            table = np.concatenate(rows, axis=1)
            parts.append(loop.run(len(table), shared=table, every=every, phase=1)[0])
        return np.concatenate(parts, axis=1)

    record = through(demand, 0)
    held = demand
    behind = np.abs(demand.q[-1] - loop.get("q")).max(axis=1) > ARRIVED
    if (behind & (loop.get("off")[:, 0] < 0.5)).any():
        held = demand.held(int(np.ceil(ARRIVAL_SECONDS / demand.dt)))
        record = np.concatenate([record, through(held, demand.cycles)], axis=1)
    ends = {name: loop.get(name) for name in ("lag", "speed", "steps", "off", "trip_lag", "trip_speed")}
    return [
        _tracked(robot, drives, (demand, held), record[k], {name: x[k] for name, x in ends.items()}, lanes[k], bounds)
        for k in range(len(lanes))
    ]


def _by_parts(
    robot: Robot, demand: Demand, motion: Motion, laws: Sequence[TrackingLaw], **options: Any
) -> list[Tracked]:
    """Follow what lies between leaps, each part from rest; nothing is told of a law behind its first trip."""
    parts = demand.parts()
    followed = []
    for first, part in parts:
        moved = partial(_shifted, motion, first * demand.dt, (first + part.cycles) * demand.dt)
        followed.append(follow(robot, part, moved, laws, **options))
    return [_one_of(demand, [first for first, _ in parts], list(lane)) for lane in zip(*followed, strict=True)]


def _shifted(motion: Motion, first: float, last: float, t: Array) -> tuple[Array, Array, Array]:
    """Return a motion whose time counts from `first` [s], and which stands still from `last` [s] on."""
    return motion(np.minimum(t + first, last))


def _one_of(demand: Demand, firsts: list[int], parts: list[Tracked]) -> Tracked:
    """Return the parts of one law, which begin with the cycles `firsts`, as one; up to its first trip."""
    tripped = next((k for k, part in enumerate(parts) if part.trip is not None), None)
    used = parts if tripped is None else parts[: tripped + 1]
    last, begins = used[-1], firsts[len(used) - 1]
    cycles = begins + last.run.demand.cycles
    trip = last.trip
    if trip is not None:
        trip = trip._replace(time=trip.time + begins * demand.dt, cycle=trip.cycle + begins)
    whole = cut(demand, cycles) if cycles <= demand.cycles else demand.held(cycles - demand.cycles)
    rows = [(first, part.run) for first, part in zip(firsts, used, strict=False)]
    return Tracked(
        last.law,
        last.gains,
        stitched(whole, rows),
        np.max([part.lag for part in used], axis=0),
        np.max([part.speed for part in used], axis=0),
        trip,
        max(part.late for part in used),
    )


def _tracked(
    robot: Robot,
    drives: Drives,
    demands: tuple[Demand, Demand],
    record: Any,
    ends: dict[str, Array],
    lane: tuple[TrackingLaw, TrackingGains],
    bounds: Trips,
) -> Tracked:
    (demand, held), (law, gains), n = demands, lane, robot.n
    every = steps_of(demand.dt)
    trip, late, cycles = None, 0.0, demand.cycles
    if ends["off"][0] > 0.5:
        steps = round(float(ends["steps"][0]))
        trip = _trip(ends, steps, demand.dt, bounds)
        cycles = max(1, min(steps // every, held.cycles))
        late = float("inf")
    elif held.cycles > demand.cycles:
        behind = np.abs(held.q[1:] - record[:, :n]).max(axis=1)[demand.cycles - 1 :] > ARRIVED
        more = int(np.flatnonzero(behind)[-1]) + 1 if behind.any() else 0
        late = float("inf") if behind[-1] else more * demand.dt
        cycles += min(more, held.cycles - demand.cycles)
    own = cut(held, cycles)
    parts = {name: record[:cycles, k * n : (k + 1) * n] for k, name in enumerate(KEPT)}
    before = (parts.pop("q0"), parts.pop("qd0"))
    flags = {name: parts.pop(name) > 0.5 for name in ("saturated", "clipped")}
    algorithm = Algorithm(rule=full if law.clips else shared)
    run = MotorRun(robot=robot, demand=own, drives=drives, algorithm=algorithm, **parts, **flags, before=before)
    return Tracked(law, gains, run, ends["lag"], ends["speed"], trip, late)


def _trip(ends: dict[str, Array], steps: int, dt: float, bounds: Trips) -> Trip:
    lag, speed = ends["trip_lag"] / bounds.lag, ends["trip_speed"] / bounds.speed
    cause = "lag" if lag.max() >= speed.max() else "speed"
    shares, bound = (lag, bounds.lag) if cause == "lag" else (speed, bounds.speed)
    joint, every = int(np.argmax(shares)), steps_of(dt)
    return Trip(steps * dt / every, steps // every, joint, cause, float(shares[joint] * bound), bound)


def cut(demand: Demand, cycles: int) -> Demand:
    """Return the first cycles of a demand."""
    if cycles >= demand.cycles:
        return demand
    rows: dict[str, Any] = {name: getattr(demand, name) for name in ("wrench", "payload", "move", "tool", "leaps")}
    kept: dict[str, Any] = {name: None if value is None else value[:cycles] for name, value in rows.items()}
    return replace(demand, q=demand.q[: cycles + 1], **kept)
