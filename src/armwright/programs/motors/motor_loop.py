# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 in a compiled loop: a program's cycles, or many variants of it in SIMD lanes.

`cycle_plan` traces the cycle and puts it into a loop, one for programs, lanes of variants and streams. `run_motors`
runs one demand, `run_variants` many side by side. `cycle_kernel` is a single cycle, to export.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError, SimulationError
from armwright.graph.kernel import Kernel, make_kernel
from armwright.graph.loop import CompiledLoop
from armwright.graph.loop_plan import LoopPlan, stage
from armwright.graph.traced_program import TracedProgram, trace
from armwright.programs.motors.drive_law import ALGORITHM_1, Trips
from armwright.programs.motors.drive_loop import ARRIVED, Tracked, Trip, cut
from armwright.programs.motors.motor_cycle import Algorithm, Cycle, MotorState, Rule, cycle, find_rule
from armwright.programs.motors.motor_demand import Demand, fits
from armwright.programs.motors.motor_limits import Basis, Drives, drives_of
from armwright.programs.motors.motor_run import MotorRun
from armwright.robot.loaded_tree import PAYLOAD_SIZE
from armwright.robot.model import robot_needed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array

OPTIONS = ("wrench", "payload", "friction", "torque")
"""Inputs of a cycle that are traced only if someone sets them."""


class CyclePlan(NamedTuple):
    """A robot's compiled cycle: its drives, the traced program, and the loop over it."""

    drives: Drives
    program: TracedProgram
    loop: LoopPlan


def cycle_plan(
    robot: Robot,
    dt: float,
    algorithm: Algorithm,
    basis: Basis = "motors",
    inputs: tuple[str, ...] = (),
    own: tuple[str, ...] = (),
    keep: tuple[str, ...] = Cycle._fields,
) -> CyclePlan:
    """Return the plan of one robot, traced once for equal settings.

    Args:
        robot: the arm.
        dt: length of a cycle [s].
        algorithm: how a cycle is computed.
        basis: what limits it.
        inputs: which of `OPTIONS` are set.
        own: inputs of the table that differ from lane to lane ("q_next", "wrench", "payload").
        keep: fields of `Cycle` that are recorded of every cycle.

    Example:
        >>> plan = cycle_plan(robot, 0.002, Algorithm())
    """
    key = ("motor cycle", dt, algorithm, basis, inputs, own, keep)
    return robot.memo(key, _made, dt, algorithm, basis, inputs, own, keep)


def _made(
    robot: Robot,
    dt: float,
    algorithm: Algorithm,
    basis: Basis,
    inputs: tuple[str, ...],
    own: tuple[str, ...],
    keep: tuple[str, ...],
) -> CyclePlan:
    drives, n = drives_of(robot, basis), robot.n
    program = _traced(robot, drives, dt, algorithm, inputs)
    table = ["q_next", *(name for name in ("wrench", "payload") if name in inputs)]
    slots = {signal.name: signal.size for signal in program.inputs}
    slots |= {f"out_{name}" if name not in MotorState._fields else name: n for name in Cycle._fields}
    writes = {name: f"out_{name}" for name in Cycle._fields if name not in MotorState._fields}
    loop = LoopPlan(
        slots,
        (stage(program, "before", writes=writes),),
        shared=tuple(name for name in table if name not in own),
        lanes=tuple(name for name in table if name in own),
        state=(*MotorState._fields, "out_wanted"),
        record=tuple(f"out_{name}" if name not in MotorState._fields else name for name in keep),
    )
    return CyclePlan(drives, program, loop)


def _traced(robot: Robot, drives: Drives, dt: float, algorithm: Algorithm, inputs: tuple[str, ...]) -> TracedProgram:
    n = robot.n
    sizes = {"wrench": 6, "payload": PAYLOAD_SIZE, "friction": 1, "torque": n}
    shapes = {**dict.fromkeys((*MotorState._fields, "q_next"), (n,)), **{name: (sizes[name],) for name in inputs}}

    def motor_cycle(**values: Any) -> Cycle:
        state = MotorState(*(values[name] for name in MotorState._fields))
        chosen = {name: values[name] for name in inputs}
        return cycle(robot, drives, algorithm, dt, state, values["q_next"], **chosen)

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in shapes]
    motor_cycle.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return trace(motor_cycle, shapes, name="motor_cycle")


def cycle_kernel(
    robot: Robot, dt: float, algorithm: Algorithm | None = None, basis: Basis = "motors", inputs: tuple[str, ...] = ()
) -> Kernel:
    """Return one cycle as a kernel: state and wish in, `Cycle` out; ``.source("c")`` writes it for a controller.

    Inputs are q, qd, heat, wish, q_next (n,) and those of `OPTIONS` that are named; outputs are those of `Cycle`.

    Example:
        >>> cycle_kernel(robot, dt=0.002).source("c")
    """
    plan = cycle_plan(robot, dt, algorithm or Algorithm(), basis, inputs)
    outputs = tuple(
        signal._replace(name=f"{signal.name}_new") if signal.name in MotorState._fields else signal
        for signal in plan.program.outputs
    )
    program = plan.program
    named = TracedProgram(program.name, program.inputs, outputs, program.nodes, program.results, program.single)
    return make_kernel(named)


def start(q: ArrayLike) -> MotorState:
    """Return the state of an arm at rest at q (n,) with cold motors."""
    still = np.zeros_like(np.asarray(q, dtype=np.float64))
    return MotorState(np.asarray(q, dtype=np.float64), still, still, np.asarray(q, dtype=np.float64))


VARIANTS_AT_ONCE = (
    8  # variants in one run of the loop: one SIMD group or two, whose tables and record stay in the cache
)


@names_culprit
def run_motors(
    robot: Robot,
    demand: Demand,
    rule: str | Rule = "full",
    *,
    algorithm: Algorithm | None = None,
    basis: Basis = "motors",
    friction: float = 1.0,
    torque: ArrayLike = 1.0,
) -> MotorRun:
    """Run what is asked of an arm through what its motors can do (001, Algorithm 1).

    Args:
        robot: the arm.
        demand: wished positions, loads and moves, cycle by cycle.
        rule: "full", "partitioned", "unlimited" (without Algorithm 1), or a rule of the caller's.
        algorithm: the other choices of a cycle; its `rule` is replaced by `rule`.
        basis: "motors", or "joints" to check joint efforts where the motors are unknown.
        friction: factor of all motor friction.
        torque: factor of the torque limits, one or (n,).

    Example:
        >>> run_motors(robot, Demand(dt=0.002, q=q), rule="partitioned").feasible
    """
    factors = np.atleast_1d(np.asarray(torque, dtype=np.float64))
    if factors.shape == (1,):
        factors = np.repeat(factors, getattr(robot, "n", 1))
    return run_variants(
        robot, [demand], rule, algorithm=algorithm, basis=basis, friction=[friction], torque=factors[None]
    )[0]


@names_culprit
def run_variants(
    robot: Robot,
    demands: Demand | Sequence[Demand],
    rule: str | Rule = "full",
    *,
    algorithm: Algorithm | None = None,
    basis: Basis = "motors",
    friction: ArrayLike | None = None,
    torque: ArrayLike | None = None,
) -> list[MotorRun]:
    """Run variants of a program side by side, as many as the processor has lanes at a time.

    Args:
        robot: the arm.
        rule: as in `run_motors`.
        algorithm: as in `run_motors`.
        basis: as in `run_motors`.
        demands: one for all variants, or one each; shorter ones hold their last position until the longest has ended.
        friction: (B,) factors of motor friction; 1 if omitted.
        torque: (B,) or (B, n) factors of the torque limits; 1 if omitted.

    Returns:
        One run per variant, each with the cycles of its own demand.

    Example:
        >>> run_variants(robot, demand, torque=[1.0, 0.9, 0.8])
    """
    if wrong := robot_needed(robot):
        raise InputError(wrong)
    given = [demands] if isinstance(demands, Demand) else list(demands)
    if not given:
        raise InputError("demands: none given")
    factors = {"friction": _factors(friction, "friction", 1), "torque": _factors(torque, "torque", robot.n)}
    count = max([len(given), *(len(rows) for rows in factors.values() if rows is not None)])
    for what, rows in (("demands", given), *factors.items()):
        if rows is not None and len(rows) not in (1, count):
            raise InputError(f"{what}: {len(rows)} given for {count} variants; give one or {count}")
    given = [fits(demand, robot) for demand in given]
    if len({demand.dt for demand in given}) != 1:
        raise InputError("demands: all variants of one run must have the same dt")
    if factors["friction"] is not None:
        most = float(factors["friction"].max() * robot.actuators.load_friction.max(initial=0.0))
        if most >= 1.0:
            raise InputError(f"friction: {most:g} of the load would be lost in a gear, which locks it; it must be < 1")
    chosen = replace(algorithm or Algorithm(), rule=find_rule(rule))
    spread = {k: None if rows is None else np.broadcast_to(rows, (count, rows.shape[1])) for k, rows in factors.items()}
    out: list[MotorRun] = []
    for first in range(0, count, VARIANTS_AT_ONCE):
        part = slice(first, min(first + VARIANTS_AT_ONCE, count))
        demand = given if len(given) == 1 else given[part]
        some = {name: None if rows is None else rows[part] for name, rows in spread.items()}
        drives, record = _lanes(robot, demand, part.stop - part.start, chosen, basis, some, Cycle._fields)
        for lane, rows in enumerate(record):
            own = demand[lane if len(demand) > 1 else 0]
            out.append(_result(robot, drives, own, rows[: own.cycles], chosen))
    return out


def run_printed(
    robot: Robot,
    demand: Demand,
    rule: str | Rule = "full",
    *,
    basis: Basis = "motors",
    trips: Trips | None = None,
    catch_up: bool = False,
) -> Tracked:
    """Run Algorithm 1 as 001 prints it, with the planner's speed, up to the cycle in which a drive would stop.

    Example:
        >>> run_printed(robot, demand, basis="joints").trip  # None, or when the drive would stop
    """
    chosen = Algorithm(rule=find_rule(rule), catch_up=catch_up)
    drives, record = _lanes(robot, [fits(demand, robot)], 1, chosen, basis, {}, Cycle._fields, finite=False)
    bounds = trips or Trips()
    whole = _result(robot, drives, demand, record[0], chosen)
    lag, speed = np.abs(whole.lag), whole.speed_use
    with np.errstate(invalid="ignore"):
        fine = ((lag <= bounds.lag) & (speed <= bounds.speed)).all(axis=1)
    if fine.all():
        late = 0.0 if lag[-1].max() <= ARRIVED else float("inf")
        return Tracked(ALGORITHM_1, None, whole, lag.max(axis=0), speed.max(axis=0), None, late)
    first = int(np.argmin(fine))
    cycles = max(1, first)
    rows = record[0][:cycles].copy()
    if first == 0:  # a run has one cycle at least: here the arm stands where it was, nothing is told of the trip's own
        rows[:] = 0.0
        rows[:, : robot.n] = demand.q[0]
        rows[:, Cycle._fields.index("limit") * robot.n :][:, : robot.n] = drives.torque_at(np.zeros(robot.n))
    run = _result(robot, drives, cut(demand, cycles), rows, chosen)
    shares = np.nan_to_num(np.stack([lag[first] / bounds.lag, speed[first] / bounds.speed]), nan=np.inf)
    kind, joint = np.unravel_index(int(np.argmax(shares)), shares.shape)
    cause, bound = (("lag", bounds.lag), ("speed", bounds.speed))[int(kind)]
    trip = Trip(first * demand.dt, first, int(joint), cause, float(shares[kind, joint] * bound), bound)
    most = (np.abs(run.lag).max(axis=0), run.speed_use.max(axis=0))
    return Tracked(ALGORITHM_1, None, run, *most, trip, float("inf"))


def run_columns(
    robot: Robot, demands: Sequence[Demand], algorithm: Algorithm, basis: Basis, keep: tuple[str, ...]
) -> list[Any]:
    """Run demands as `run_variants` does and return only some columns of each, (T, len(keep)·n): for searches."""
    given = [fits(demand, robot) for demand in demands]
    out = []
    for first in range(0, len(given), VARIANTS_AT_ONCE):
        part = given[first : first + VARIANTS_AT_ONCE]
        record = _lanes(robot, part, len(part), algorithm, basis, {}, keep)[1]
        out += [rows[: demand.cycles] for rows, demand in zip(record, part, strict=True)]
    return out


def _lanes(
    robot: Robot,
    demands: list[Demand],
    count: int,
    algorithm: Algorithm,
    basis: Basis,
    factors: dict[str, Any],
    keep: tuple[str, ...],
    *,
    finite: bool = True,
) -> tuple[Drives, Any]:
    """Run up to `VARIANTS_AT_ONCE` lanes; the record is (count, cycles of the longest, len(keep)·n).

    Where an arm's state is no longer finite it is refused, or with `finite` False its later cycles are NaN.
    """
    if any(demand.leaps is not None for demand in demands):
        return _between_leaps(robot, demands, count, algorithm, basis, factors, keep, finite=finite)
    cycles = max(demand.cycles for demand in demands)
    longest = [demand if demand.cycles == cycles else demand.held(cycles - demand.cycles) for demand in demands]
    set_inputs = tuple(
        name for name in ("wrench", "payload") if any(getattr(demand, name) is not None for demand in demands)
    ) + tuple(name for name, rows in factors.items() if rows is not None and (rows != 1.0).any())
    tables = [_table(demand, set_inputs) for demand in longest]
    own = () if len(tables) == 1 else ("q_next", *(name for name in ("wrench", "payload") if name in set_inputs))
    plan = cycle_plan(robot, demands[0].dt, algorithm, basis, set_inputs, own, keep)
    loop = CompiledLoop(plan.loop, count)
    for name, rows in _starts(longest)._asdict().items():
        loop.set(name, rows)
    for name, rows in factors.items():
        if name in set_inputs:
            loop.set(name, rows)
    if own:
        record, outcomes = loop.run(cycles, lanes=np.stack(tables))
    else:
        record, outcomes = loop.run(cycles, shared=tables[0])
    if (broken := [outcome.ticks for outcome in outcomes if outcome.reason != "end"]) and finite:
        first, dt = min(broken), demands[0].dt
        raise SimulationError(f"motors: the arm's state is not finite from cycle {first} on ({first * dt:g} s)")
    return plan.drives, record


def _between_leaps(
    robot: Robot,
    demands: list[Demand],
    count: int,
    algorithm: Algorithm,
    basis: Basis,
    factors: dict[str, Any],
    keep: tuple[str, ...],
    *,
    finite: bool,
) -> tuple[Drives, Any]:
    """Run lanes as `_lanes` does, what lies between leaps as lanes of their own, each from rest with cold motors."""
    n, drives = robot.n, drives_of(robot, basis)
    record = np.zeros((count, max(demand.cycles for demand in demands), len(keep) * n))
    still = drives.torque_at(np.zeros(n))
    for lane in range(count):
        demand = demands[lane if len(demands) > 1 else 0]
        own = {name: None if rows is None else rows[lane : lane + 1] for name, rows in factors.items()}
        for k, name in enumerate(keep):  # in a leap the arm stands at its new place
            if name in ("q", "wish", "limit"):
                record[lane, : demand.cycles, k * n : (k + 1) * n] = still if name == "limit" else demand.q[1:]
        parts = demand.parts()
        for first in range(0, len(parts), VARIANTS_AT_ONCE):
            some = parts[first : first + VARIANTS_AT_ONCE]
            each = {k: None if v is None else np.repeat(v, len(some), axis=0) for k, v in own.items()}
            lanes = [part for _, part in some]
            rows = _lanes(robot, lanes, len(lanes), algorithm, basis, each, keep, finite=finite)[1]
            for (begins, part), found in zip(some, rows, strict=True):
                record[lane, begins : begins + part.cycles] = found[: part.cycles]
    return drives, record


def _table(demand: Demand, inputs: tuple[str, ...]) -> Array:
    """Return rows of q_next and the loads that are set (T, columns); a demand without a load has a load of zero."""
    columns: list[Any] = [demand.q[1:]]
    for name, size in (("wrench", 6), ("payload", 10)):
        if name in inputs:
            rows = getattr(demand, name)
            columns.append(np.zeros((demand.cycles, size)) if rows is None else rows)
    return np.concatenate(columns, axis=1)


def _starts(demands: list[Demand]) -> MotorState:
    return start(np.stack([demand.q[0] for demand in demands]))


def _result(robot: Robot, drives: Drives, demand: Demand, record: Any, algorithm: Algorithm) -> MotorRun:
    n = robot.n
    parts = {name: record[:, k * n : (k + 1) * n] for k, name in enumerate(Cycle._fields)}
    parts.pop("wish")  # the demand has it
    flags = {name: parts.pop(name) > 0.5 for name in ("saturated", "clipped")}
    return MotorRun(robot=robot, demand=demand, drives=drives, algorithm=algorithm, **parts, **flags)


def _factors(value: ArrayLike | None, what: str, size: int) -> Array | None:
    if value is None:
        return None
    rows = np.asarray(value, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.shape[1] not in (1, size) or not len(rows):
        raise InputError(f"{what}: expected (B,) or (B, {size}) factors, got shape {np.shape(value)}")
    if not (np.isfinite(rows) & (rows >= 0.0)).all():
        raise InputError(f"{what}: factors must be finite and ≥ 0")
    return np.broadcast_to(rows, (len(rows), size))
