# SPDX-License-Identifier: Apache-2.0
"""A loop under way: its state, its clock, its reference and its rows. What looks at a simulation looks at this.

`armwright.simulation.session.Session` makes it run; events, diagnosis, recordings and files only need what is here.
Rows stand in blocks that the compiled loop writes into and a recording looks into, without copies; with them stands
what all lanes were given at that tick: time and references. One integrator step is also a kernel of its own, for laws
that Python calls and for finding an event within a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.control.tick_function import initial_memory
from armwright.errors import InputError
from armwright.graph.kernel import make_kernel
from armwright.graph.loop import CompiledLoop
from armwright.graph.normals import NormalSource
from armwright.motion import Trajectory
from armwright.motion.trajectory import Reference, fill_table
from armwright.recording.writer import empty
from armwright.simulation.loop_stages import gain_slot
from armwright.simulation.step_stages import event_values, step_program

if TYPE_CHECKING:
    from armwright.graph.kernel import Kernel
    from armwright.graph.loop import LaneTable
    from armwright.graph.loop_plan import LoopPlan
    from armwright.graph.traced_program import TracedProgram
    from armwright.robot.model import Robot
    from armwright.simulation.control_loop import Loop
    from armwright.types import Array


class StepCall:
    """The step kernel with its inputs in a fixed order, returning the next state only.

    Attributes:
        kernel: x, h, past, t, tau → outputs (for a held torque). index: of x among the outputs.
    """

    def __init__(self, kernel: Kernel, program: TracedProgram) -> None:
        """Look up the order of inputs and outputs."""
        self.kernel, self.single = kernel, kernel.program.single
        self.order = [s.name for s in program.inputs]
        self.index = [s.name for s in program.outputs].index("x")

    def by_name(self, slots: Mapping[str, Array]) -> Array:
        """Call with a dictionary of slots."""
        result = self.kernel(*(slots[name] for name in self.order))
        state: Array = result if self.single else result[self.index]
        return state


def step_call(robot: Robot, parts: Loop) -> StepCall:
    """Compile the step, or take the one that an earlier simulation of this robot compiled."""
    known = parts.step_key()

    def make(_: Robot) -> StepCall:
        program = step_program(parts)
        return StepCall(make_kernel(program, check_finite=False), program)

    return make(robot) if known is None else robot.memo(("step", *known), make)


GROWTH = 4096  # rows of a new block at most, if fewer are asked for: many short runs share one


@dataclass(eq=False)
class _Block:
    rows: Array  # (B, capacity, columns)
    given: Array  # (capacity, given)
    count: int = 0

    @property
    def room(self) -> int:
        return int(self.rows.shape[1]) - self.count


class RowLog:
    """Rows of a run, oldest first.

    Attributes:
        first: number of the oldest row that is still kept.
    """

    def __init__(self, lanes: int, columns: int, given: int) -> None:
        """Begin empty: `columns` numbers a row of each lane, `given` numbers a row for all lanes."""
        self._shape = (lanes, columns, given)
        self._blocks: list[_Block] = []
        self.first = 0

    @property
    def count(self) -> int:
        """Number of rows recorded so far, those that were forgotten included."""
        return self.first + sum(block.count for block in self._blocks)

    def reserve(self, rows: int) -> None:
        """Make room for so many more rows in one piece; the system gives the memory when it is written to."""
        lanes, columns, given = self._shape
        if not self._blocks or self._blocks[-1].room < rows:
            size = max(rows, min(self.count, GROWTH))
            self._blocks.append(_Block(empty((lanes, size, columns)), empty((size, given))))

    def tail(self, rows: int) -> tuple[Array, Array]:
        """Room for the next rows, (B, rows, columns) and (rows, given), to be filled and then kept by `commit`."""
        self.reserve(rows)
        block = self._blocks[-1]
        end = slice(block.count, block.count + rows)
        return block.rows[:, end], block.given[end]

    def commit(self, rows: int) -> None:
        """Keep the first rows of the tail."""
        self._blocks[-1].count += rows

    def seal(self) -> None:
        """Write no more into the last block: somebody looks into it and at the row after its last."""
        if self._blocks:
            block = self._blocks[-1]
            block.rows, block.given = block.rows[:, : block.count], block.given[: block.count]

    def rows(self, since: int = 0) -> Array:
        """Rows (B, T, columns) from number `since` on; a view where they lie in one block."""
        return self._pick("rows", since, 1)

    def given(self, since: int = 0) -> Array:
        """What all lanes were given, (T, given), from row number `since` on; a view where it lies in one block."""
        return self._pick("given", since, 0)

    def forget(self, before: int) -> None:
        """Drop whole blocks of rows with numbers below `before`."""
        while self._blocks and self.first + self._blocks[0].count <= before and self._blocks[0].count:
            self.first += self._blocks.pop(0).count

    def _pick(self, part: str, since: int, axis: int) -> Array:
        pieces, start = [], self.first
        for block in self._blocks:
            skip = max(since - start, 0)
            if skip < block.count:
                values: Array = getattr(block, part)
                pieces.append(values[:, skip : block.count] if axis else values[skip : block.count])
            start += block.count
        if len(pieces) == 1:
            return pieces[0]
        lanes, columns, given = self._shape
        empty = np.zeros((lanes, 0, columns)) if axis else np.zeros((0, given))
        return np.concatenate(pieces, axis=axis) if pieces else empty


MOST_STEPS = 100_000  # of an adaptive integrator in one tick


class RunningLoop:
    """The state of a loop, its clock, its reference and what it recorded.

    Attributes:
        parts: the `Loop` that it was made from. robots: one per simulation, or one for all. robot: the first of them.
        count: number of simulations. batch: whether they are recorded as one, be there only one.
        substeps: integrator steps per tick. step: of the integrator [s].
        every: ticks from one recorded row to the next. phase: ticks since the last recorded one. seeds: of the noise.
        loop: the compiled loop. called: whether Python calls the law at every tick.
        time: simulated time [s]. tick: ticks so far. log: what was recorded. outcome: why the last run stopped.
        following: when the present reference began [s], and the reference.
        happened: events and alarms, each with its time [s]. flagged: what surfaces did not hold back, likewise.
        advises: whether a refusal tries what would run.
        consistent: whether state and clock belong together; an interrupt inside the compiled loop parts them.
    """

    def __init__(
        self, parts: Loop, plan: LoopPlan, *, count: int, every: int, seeds: Sequence[int], called: bool
    ) -> None:
        """Compile the loop; the clock stands at zero."""
        self.parts, self.robots, self.robot, self.count = parts, parts.robots, parts.robot, count
        self.substeps, self.every, self.seeds = parts.substeps, every, tuple(seeds)
        self.step = parts.period / parts.substeps
        self.called, self.batch = called, parts.batch
        noisy = parts.sensors is not None and parts.sensors.noisy
        self.noise = NormalSource(self.seeds, 2 * parts.n) if noisy else None
        self.time = 0.0
        self.tick = 0
        self._origin = (0.0, 0)  # time and tick from which the clock counts
        self.phase = 0
        self.outcome = "ready"
        self.consistent = True
        self.advises = True
        self.happened: list[tuple[float, str]] = []
        self.flagged: list[tuple[float, str]] = []
        self.following: tuple[float, Trajectory | Reference] = (0.0, Reference(*np.zeros((3, parts.n))))
        self.loop = CompiledLoop(plan, count, strict=parts.strict)
        self.log = RowLog(count, len(plan.record_slots), len(plan.shared_slots))
        self._step: StepCall | None = None

    @property
    def most_substeps(self) -> int:
        """Integrator steps that a tick may take."""
        return MOST_STEPS if self.parts.method.adaptive else self.substeps

    def start(self, x: Array) -> None:
        """Set the initial state (size,) or (B, size), the law's varying gains and the plants' differing numbers."""
        loop, plan = self.loop, self.loop.plan
        loop.set("x", x)
        loop.set("h", [self.step])
        self.memory: dict[str, Array] = dict(initial_memory(self.parts.law, self.parts.n))
        for name, value in self.memory.items():
            if f"memory_{name}" in plan.slots:
                loop.set(f"memory_{name}", np.ravel(value))
        for name in self.parts.gains_vary:
            if f"gain_{name}" in plan.slots:
                loop.set(f"gain_{name}", self.parts.law.gains[name].reshape(self.count, -1))
        for k, monitor in enumerate(self.parts.monitors):
            for name in monitor.vary:
                loop.set(gain_slot(k, name), np.ravel(monitor.gains[name]))
        if "parameters" in plan.slots:
            loop.set("parameters", self.parts.lanes.values)
        if "line" in plan.slots:
            assert self.parts.sensors is not None
            n = self.parts.n
            loop.set("line", np.tile(np.atleast_2d(x)[:, : 2 * n], (1, self.parts.sensors.delay + 1)))
        if self.parts.believed is not None and "model" in plan.slots:
            loop.set("model", self.parts.believed.values)
        self.forget_watched()
        if self.parts.stops:
            loop.set("event", event_values(self.parts, self.time, self.state[0]))

    def forget_watched(self) -> None:
        """Let every monitor begin anew; no alarm is on."""
        for k, monitor in enumerate(self.parts.monitors):
            for name, value in initial_memory(monitor, self.parts.n).items():
                self.loop.set(f"monitor{k}_{name}", np.ravel(value))
        for name in self.loop.plan.alarms:
            self.loop.set(name, [-1.0])

    @property
    def state(self) -> Array:
        """Present state x, (B, size)."""
        return self.loop.get("x")

    def follow(self, reference: Trajectory | Reference) -> None:
        """Follow another reference from now on; its time starts at the present moment."""
        n = reference.n if isinstance(reference, Trajectory) else np.shape(reference.q)[-1]
        if n != self.parts.n:
            raise InputError(f"follow: the reference has {n} joints, the robot {self.parts.n}")
        self.following = (self.time, reference)

    def reference_at(self, t: Array) -> Reference:
        """The reference at simulated times t (m,)."""
        start, reference = self.following
        if isinstance(reference, Trajectory):
            return reference.evaluate(np.asarray(t) - start)
        return Reference(*(np.broadcast_to(part, (*np.shape(t), self.parts.n)) for part in reference))

    def _refer(self, t: Array, out: Array) -> None:
        """Write the reference at simulated times t (m,) into rows out (m, 3n)."""
        start, reference = self.following
        if isinstance(reference, Trajectory) and fill_table(reference.breaks, reference.coefficients, t - start, out):
            return
        np.concatenate(self.reference_at(t), axis=1, out=out)

    def closing_row(self) -> Array:
        """The state at the end (B, 1, columns), with the torque that the law would command there; nothing moves.

        Where sensors or monitors would have to look once more, or Python would have to be called, torque and memory
        are the last ones.
        """
        loop, names = self.loop, self.loop.plan.record
        if self.called or self.parts.sensors is not None or self.parts.monitors:
            values = [np.full((self.count, 1), self.time), *(loop.get(name) for name in names[1:])]
            return np.concatenate(values, axis=1)[:, None]
        with loop.trial():
            row, _ = loop.run(1, substeps=0, shared=self.shared_table(1))
        return row

    def times(self, ticks: int) -> Array:
        """Times of the next ticks (ticks,), counted from the last event so that rounding does not add up [s]."""
        time, tick = self._origin
        return time + (self.tick - tick + np.arange(ticks, dtype=np.float64)) * self.parts.period

    def shared_table(self, ticks: int, out: Array | None = None) -> Array:
        """What all lanes are given in the next ticks (ticks, columns): time, references, which measurements are new."""
        plan, n = self.loop.plan, self.parts.n
        t = self.times(ticks + 1)
        table = np.empty((ticks, len(plan.shared_slots))) if out is None else out
        table[:, 0] = t[:-1]
        self._refer(t[:-1], table[:, 1 : 1 + 3 * n])
        if "ref_next" in plan.shared:
            self._refer(t[1:], table[:, 1 + 3 * n : 1 + 6 * n])
        if "fresh" in plan.shared:  # the last column
            assert self.parts.sensors is not None
            table[:, -1] = (np.arange(ticks) + self.tick) % self.parts.sensors.every == 0
        return table

    @property
    def noise_tick(self) -> int:
        """Number of the next noise: the tick's, and one more for every stop, as a tick cut short has had its own."""
        return self.tick + len(self.happened)

    def lane_table(self, ticks: int) -> LaneTable | None:
        """What each lane is given in the next ticks, its noise, for `CompiledLoop.run`; None without sensors."""
        if not self.loop.plan.lanes:
            return None
        if self.noise is None:
            return np.zeros((self.count, ticks, 2 * self.parts.n))
        return self.noise.filler(self.noise_tick, ticks, self.loop.width)

    def given_table(self, ticks: int, given: Array) -> Array:
        """The shared table, and its rows of recorded ticks in `given` (rows, columns)."""
        if self.every == 1:
            return self.shared_table(ticks, given)
        table = self.shared_table(ticks)
        given[...] = table[-self.phase % self.every :: self.every]
        return table

    def advance(self, ticks: int) -> None:
        """Move the clock on."""
        self.tick += ticks
        self.phase = (self.phase + ticks) % self.every
        time, tick = self._origin
        self.time = time + (self.tick - tick) * self.parts.period

    def stop_within_tick(self, what: str, time: float, x: Array, events: Array) -> None:
        """Set clock and state to an event inside the present tick; the clock counts from there on."""
        self.time, self._origin = time, (time, self.tick)
        self.loop.set("x", x)
        self.loop.set("event", events)
        self.happened.append((time, what))

    def stop_at_alarm(self) -> str:
        """Note an alarm of a monitor at the end of its tick."""
        self.happened.append((self.time, "alarm"))
        return "alarm"

    def single_step(self) -> StepCall:
        """The inside stage as a kernel of its own; compiled when it is first asked for."""
        if self._step is None:
            self._step = step_call(self.robot, self.parts)
        return self._step
