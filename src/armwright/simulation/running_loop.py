# SPDX-License-Identifier: Apache-2.0
"""A loop under way: its state, its clock, its reference and its rows. What looks at a simulation looks at this.

`armwright.simulation.session.Session` makes it run; events, diagnosis, recordings and files only need what is here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from armwright.control.tick_function import initial_memory
from armwright.errors import InputError
from armwright.graph.loop import Loop
from armwright.graph.noise import Source
from armwright.motion import Trajectory
from armwright.motion.reference import Reference
from armwright.motion.reference_table import fill_table
from armwright.simulation.log import Log
from armwright.simulation.single_step import StepCall, step_call
from armwright.simulation.step_stages import event_values

if TYPE_CHECKING:
    from armwright.graph.loop import LaneTable
    from armwright.graph.loop_plan import LoopPlan
    from armwright.robot.model import Robot
    from armwright.simulation.loop_stages import Ingredients
    from armwright.types import Array

MOST_STEPS = 100_000  # of an adaptive integrator in one tick


class RunningLoop:
    """The state of a loop, its clock, its reference and what it recorded.

    Attributes:
        robots: one per simulation, or one for all. robot: the first of them. parts: what the loop is made of.
        count: number of simulations. batch: whether they are recorded as one, be there only one.
        substeps: integrator steps per tick. step: of the integrator [s].
        every: ticks from one recorded row to the next. phase: ticks since the last recorded one. seeds: of the noise.
        loop: the compiled loop. called: whether Python calls the law at every tick.
        time: simulated time [s]. tick: ticks so far. log: what was recorded. outcome: why the last run stopped.
        following: when the present reference began [s], and the reference.
        happened: events and alarms, each with its time [s].
        consistent: whether state and clock belong together; an interrupt inside the compiled loop parts them.
    """

    def __init__(
        self,
        robots: Sequence[Robot],
        parts: Ingredients,
        plan: LoopPlan,
        *,
        count: int,
        substeps: int,
        every: int,
        seeds: Sequence[int],
        called: bool,
        batch: bool,
    ) -> None:
        """Compile the loop; the clock stands at zero."""
        self.robots, self.robot, self.parts, self.count = tuple(robots), robots[0], parts, count
        self.substeps, self.every, self.seeds = substeps, every, tuple(seeds)
        self.step = parts.period / substeps
        self.called, self.batch = called, batch
        noisy = parts.sensors is not None and parts.sensors.noisy
        self.noise = Source(self.seeds, 2 * parts.n) if noisy else None
        self.time = 0.0
        self.tick = 0
        self._origin = (0.0, 0)  # time and tick from which the clock counts
        self.phase = 0
        self.outcome = "ready"
        self.consistent = True
        self.happened: list[tuple[float, str]] = []
        self.following: tuple[float, Trajectory | Reference] = (0.0, Reference(*np.zeros((3, parts.n))))
        self.loop = Loop(plan, count)
        self.log = Log(count, len(plan.record_slots), len(plan.shared_slots))
        self._step: StepCall | None = None

    @property
    def most_substeps(self) -> int:
        """Integrator steps that a tick may take."""
        return MOST_STEPS if self.parts.method.adaptive else self.substeps

    def start(self, x: Array, gains: Mapping[str, Array], parameters: Array) -> None:
        """Set the initial state (size,) or (B, size), the varying gains and parameters."""
        loop, plan = self.loop, self.loop.plan
        loop.set("x", x)
        loop.set("h", [self.step])
        self.memory: dict[str, Array] = dict(initial_memory(self.parts.law, self.parts.n))
        for name, value in self.memory.items():
            if f"memory_{name}" in plan.slots:
                loop.set(f"memory_{name}", np.ravel(value))
        for name in self.parts.gains_vary:
            if f"gain_{name}" in plan.slots:
                loop.set(f"gain_{name}", gains[name].reshape(self.count, -1))
        if "parameters" in plan.slots:
            loop.set("parameters", parameters)
        if "line" in plan.slots:
            assert self.parts.sensors is not None
            n = self.parts.n
            loop.set("line", np.tile(np.atleast_2d(x)[:, : 2 * n], (1, self.parts.sensors.delay + 1)))
        for k, monitor in enumerate(self.parts.monitors):
            for name, value in initial_memory(monitor, self.parts.n).items():
                loop.set(f"monitor{k}_{name}", np.ravel(value))
        for name in loop.plan.alarms:
            loop.set(name, [-1.0])
        if self.parts.events:
            loop.set("event", event_values(self.parts, self.time, self.state[0]))

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
        """What each lane is given in the next ticks, its noise, as `Loop.run` takes it; None without sensors."""
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
