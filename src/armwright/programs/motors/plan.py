# SPDX-License-Identifier: Apache-2.0
"""The cycle, traced and put into a compiled loop: one function for programs, lanes of variants and streams."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.graph.kernel import Kernel, make_kernel
from armwright.graph.loop_plan import LoopPlan, stage
from armwright.graph.program import Program, trace
from armwright.programs.motors.cycle import Algorithm, Cycle, State, cycle
from armwright.programs.motors.drives import Basis, Drives, drives_of
from armwright.programs.motors.payload import SIZE

if TYPE_CHECKING:
    from armwright.robot.model import Robot

OPTIONS = ("wrench", "payload", "friction", "torque")
"""Inputs of a cycle that are traced only if someone sets them."""


class CyclePlan(NamedTuple):
    """A robot's compiled cycle: its drives, the traced program, and the loop over it."""

    drives: Drives
    program: Program
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
        keep: what is recorded of every cycle, fields of `Cycle`.
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
    slots |= {f"out_{name}" if name not in State._fields else name: n for name in Cycle._fields}
    writes = {name: f"out_{name}" for name in Cycle._fields if name not in State._fields}
    loop = LoopPlan(
        slots,
        (stage(program, "before", writes=writes),),
        shared=tuple(name for name in table if name not in own),
        lanes=tuple(name for name in table if name in own),
        state=(*State._fields, "out_wanted"),
        record=tuple(f"out_{name}" if name not in State._fields else name for name in keep),
    )
    return CyclePlan(drives, program, loop)


def _traced(robot: Robot, drives: Drives, dt: float, algorithm: Algorithm, inputs: tuple[str, ...]) -> Program:
    n = robot.n
    sizes = {"wrench": 6, "payload": SIZE, "friction": 1, "torque": n}
    shapes = {**dict.fromkeys((*State._fields, "q_next"), (n,)), **{name: (sizes[name],) for name in inputs}}

    def motor_cycle(**values: Any) -> Cycle:
        state = State(*(values[name] for name in State._fields))
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
    """
    plan = cycle_plan(robot, dt, algorithm or Algorithm(), basis, inputs)
    outputs = tuple(
        signal._replace(name=f"{signal.name}_new") if signal.name in State._fields else signal
        for signal in plan.program.outputs
    )
    program = plan.program
    named = Program(program.name, program.inputs, outputs, program.nodes, program.results, program.single)
    return make_kernel(named)


def start(q: Any) -> State:
    """State of an arm at rest at q (n,) with cold motors."""
    still = np.zeros_like(np.asarray(q, dtype=np.float64))
    return State(np.asarray(q, dtype=np.float64), still, still, np.asarray(q, dtype=np.float64))
