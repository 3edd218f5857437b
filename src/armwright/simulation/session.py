# SPDX-License-Identifier: Apache-2.0
"""A simulation under way: run, stop at events, change the reference, go on."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.monitor import initial_memory as monitor_memory
from armwright.control.law import initial_memory
from armwright.errors import ArmwrightError, ArmwrightWarning, InputError, TraceError
from armwright.graph.loop import Loop, LoopPlan, Outcome, recorded_rows
from armwright.graph.noise import Source
from armwright.graph.purity import StatefulError
from armwright.motion import Trajectory
from armwright.motion.reference import Reference
from armwright.motion.reference_table import fill_table
from armwright.simulation import callback
from armwright.simulation import diagnosis as trouble
from armwright.simulation.event_location import event_values, first_crossing
from armwright.simulation.log import Log
from armwright.simulation.loop_stages import Ingredients, loop_plan
from armwright.simulation.single_step import StepCall, step_call
from armwright.simulation.user_functions import pure_law_stage, require_pure_surroundings

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.simulation.stream import Stream

MOST_TICKS, LEAST_TICKS = 4096, 256  # of one stretch: its tables stay in the cache, and progress is shown
CALLED_TICKS = 512  # of one stretch, where Python is called at every tick
TABLE = 4_000_000  # numbers that the tables of one stretch of ticks may hold
NOISE = 24_576  # numbers of noise that one group of lanes is given at once: they stay in the cache
MOST_STEPS = 100_000  # of an adaptive integrator in one tick
Progress = Callable[[float], None]


class Session:
    """The state of a loop, its clock, its reference and what it recorded.

    Attributes:
        time: simulated time [s]. log: what was recorded. outcome: why the last run stopped.
        following: when the present reference began [s], and the reference.
        stream: the file that rows are written to while they are recorded, if any.
    """

    def __init__(
        self, robots: list[Robot], parts: Ingredients, *, count: int, substeps: int, every: int, seeds: Sequence[int]
    ) -> None:
        """Compile the loop; a law that cannot be traced is called once a tick instead, which the user is told."""
        self.robots, self.robot, self.parts, self.count = tuple(robots), robots[0], parts, count
        self.substeps, self.every, self.seeds = substeps, every, tuple(seeds)
        self.step = parts.period / substeps
        noisy = parts.sensors is not None and parts.sensors.noisy
        self.noise = Source(self.seeds, 2 * parts.n) if noisy else None
        self.time = 0.0
        self.tick = 0
        self._origin = (0.0, 0)  # time and tick from which the clock counts
        self.phase = 0
        self.outcome = "ready"
        self.callback = False
        self.consistent = True
        self.caller: Any = None
        self.happened: list[tuple[float, str]] = []
        self.following: tuple[float, Trajectory | Reference] = (0.0, Reference(*np.zeros((3, parts.n))))
        known = parts.key()
        key = None if known is None else ("loop", *known)
        if key not in self.robot.known:
            require_pure_surroundings(parts)
        try:
            plan = self._plan(key)
        except TraceError as error:
            if parts.continuous or count > 1:
                raise
            self.callback = True
            frozen = isinstance(error, StatefulError)
            why = "" if frozen else f"law {parts.law.name!r} cannot be traced "
            warnings.warn(
                f"{why}{error if frozen else f'({error})'}; it is called from Python once a tick, "
                "which costs microseconds a tick instead of a fraction of one",
                ArmwrightWarning,
                stacklevel=4,
            )
            plan = loop_plan(parts, None)
        self.loop = Loop(plan, count)
        self.log = Log(count, len(plan.record_slots), len(plan.shared_slots))
        self.stream: Stream | None = None
        self._step: StepCall | None = None

    @property
    def most_substeps(self) -> int:
        """Integrator steps that a tick may take."""
        return MOST_STEPS if self.parts.method.adaptive else self.substeps

    def _plan(self, key: tuple[Any, ...] | None) -> LoopPlan:
        """Trace the loop, or take the one that an earlier simulation of an equal robot traced."""

        def traced(_: Robot) -> LoopPlan:
            return loop_plan(self.parts, pure_law_stage(self.parts))

        return traced(self.robot) if key is None else self.robot.memo(key, traced)

    def start(self, x: Any, gains: Mapping[str, Any], parameters: Any) -> None:
        """Set the initial state (size,) or (B, size), the varying gains and parameters."""
        loop, plan = self.loop, self.loop.plan
        loop.set("x", x)
        loop.set("h", [self.step])
        self.memory: dict[str, Any] = dict(initial_memory(self.parts.law, self.parts.n))
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
            for name, value in monitor_memory(monitor, self.parts.n).items():
                loop.set(f"monitor{k}_{name}", np.ravel(value))
        for name in loop.plan.alarms:
            loop.set(name, [-1.0])
        if self.parts.events:
            loop.set("event", event_values(self, self.time, self.state[0]))

    @property
    def state(self) -> Any:
        """Present state x, (B, size)."""
        return self.loop.get("x")

    def follow(self, reference: Trajectory | Reference) -> None:
        """Follow another reference from now on; its time starts at the present moment."""
        n = reference.n if isinstance(reference, Trajectory) else np.shape(reference.q)[-1]
        if n != self.parts.n:
            raise InputError(f"follow: the reference has {n} joints, the robot {self.parts.n}")
        self.following = (self.time, reference)

    def reference_at(self, t: Any) -> Reference:
        """The reference at simulated times t (m,)."""
        start, reference = self.following
        if isinstance(reference, Trajectory):
            return reference.evaluate(np.asarray(t) - start)
        return Reference(*(np.broadcast_to(part, (*np.shape(t), self.parts.n)) for part in reference))

    def _refer(self, t: Any, out: Any) -> None:
        """Write the reference at simulated times t (m,) into rows out (m, 3n)."""
        start, reference = self.following
        if isinstance(reference, Trajectory) and fill_table(reference.breaks, reference.coefficients, t - start, out):
            return
        np.concatenate(self.reference_at(t), axis=1, out=out)

    def recording(self, **settings: Any) -> Any:
        """What was recorded so far, as a `Recording` (or `Recordings` for a batch)."""
        from armwright.simulation.rows_to_recording import recording_of

        return recording_of(self, settings)

    def save(self, path: str | Path, *, keep: float | None = None, **settings: Any) -> None:
        """Write to a file while it runs from now on (.mcap, .parquet, .csv); `close` ends it.

        Args:
            path: the file.
            keep: seconds that stay in memory, so that a long run needs no more than that; None keeps all.
            **settings: written into the file beside what the session knows.
        """
        from armwright.simulation.stream import Stream

        if self.stream is not None:
            raise InputError(f"save: this session is being written to {self.stream.path} already")
        self.stream = Stream(self, path, settings, keep)

    def close(self, outcome: str | None = None) -> None:
        """End the file that `save` began, with the outcome of the last run unless another is given."""
        if self.stream is not None:
            self.stream.close(self.outcome if outcome is None else outcome)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        """Close the file; after an exception its outcome names it, and a second failure does not hide the first."""
        if kind is None or self.outcome == "diverged":
            self.close()
            return
        with contextlib.suppress(ArmwrightError):
            self.close(f"interrupted by {kind.__name__}" + (f": {error}" if str(error) else ""))

    def run(self, duration: float, progress: Progress | None = None) -> str:
        """Run for `duration` seconds or until an event; return "end" or the event's name."""
        if not (np.isfinite(duration) and duration >= 0.5 * self.parts.period):
            raise InputError(
                f"run: duration must be finite and at least one tick ({self.parts.period:.4g} s), got {duration} s"
            )
        remaining = max(1, round(duration / self.parts.period))
        total = remaining
        columns = len(self.loop.plan.lane_slots) + len(self.loop.plan.record_slots)
        most = CALLED_TICKS if self.callback else MOST_TICKS
        stretch = min(most, max(LEAST_TICKS, TABLE // (self.count * columns)))
        if self.noise is not None:
            stretch = min(stretch, max(LEAST_TICKS, NOISE // (self.loop.width * self.noise.width)))
        if progress is not None:
            stretch = min(stretch, max(LEAST_TICKS, total // 50))
        if self.stream is None or not self.stream.forgetful:
            self.log.reserve(recorded_rows(total, self.every, self.phase) + 1)  # one more for the closing row
        while remaining > 0:
            ticks = min(stretch, remaining)
            try:
                done = callback.run_ticks(self, ticks) if self.callback else self._compiled_ticks(ticks)
            finally:
                if self.stream is not None:
                    self.stream.take()
            remaining -= ticks
            if progress is not None:
                progress(1.0 - remaining / total)
            if done != "end":
                self.outcome = done
                return done
        self.outcome = "end"
        return "end"

    def closing_row(self) -> Any:
        """The state at the end (B, 1, columns), with the torque that the law would command there; nothing moves.

        Where sensors or monitors would have to look once more, or Python would have to be called, torque and memory
        are the last ones.
        """
        loop, names = self.loop, self.loop.plan.record
        if self.callback or self.parts.sensors is not None or self.parts.monitors:
            values = [np.full((self.count, 1), self.time), *(loop.get(name) for name in names[1:])]
            return np.concatenate(values, axis=1)[:, None]
        keep = loop._memory.copy()
        row, _ = loop.run(1, substeps=0, shared=self.shared_table(1))
        loop._memory[...] = keep
        return row

    def times(self, ticks: int) -> Any:
        """Times of the next ticks (ticks,), counted from the last event so that rounding does not add up [s]."""
        time, tick = self._origin
        return time + (self.tick - tick + np.arange(ticks)) * self.parts.period

    def shared_table(self, ticks: int, out: Any = None) -> Any:
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

    def lane_table(self, ticks: int) -> Any:
        """What each lane is given in the next ticks, its noise, as `Loop.run` takes it; None without sensors."""
        if not self.loop.plan.lanes:
            return None
        if self.noise is None:
            return np.zeros((self.count, ticks, 2 * self.parts.n))
        return self.noise.filler(self.noise_tick, ticks, self.loop.width)

    def _compiled_ticks(self, ticks: int) -> str:
        rows, given = self.log.tail(recorded_rows(ticks, self.every, self.phase))
        shared, lanes = self.given_table(ticks, given), self.lane_table(ticks)
        self.consistent = False  # an interrupt in between leaves the state ahead of the clock
        _, outcomes = self.loop.run(
            ticks, substeps=self.most_substeps, shared=shared, lanes=lanes, every=self.every, phase=self.phase, out=rows
        )
        done = min(outcomes, key=lambda outcome: outcome.ticks)
        if done.ticks < ticks and self.count == 1:
            # the tick in which it stopped has been recorded too; an alarm lets its tick end
            self.log.commit(recorded_rows(done.ticks + (done.reason != "alarm"), self.every, self.phase))
        else:
            self.log.commit(len(given))
        self.advance(ticks if done.reason == "end" else done.ticks)
        self.consistent = True
        if done.reason == "event":
            return self.stop_at_event()
        if done.reason == "alarm":
            return self.stop_at_alarm()
        if done.reason != "end":
            self.diverged(outcomes)
        return "end"

    def given_table(self, ticks: int, given: Any) -> Any:
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

    def stop_at_alarm(self) -> str:
        """Note an alarm of a monitor at the end of its tick."""
        self.happened.append((self.time, "alarm"))
        return "alarm"

    def stop_at_event(self) -> str:
        """Go back from the end of the last step to the first event within it, and stop there."""
        found = first_crossing(self)
        self.time += float(self.loop.get("past_before")[0, 0]) + found.after
        self._origin = (self.time, self.tick)
        self.loop.set("x", found.x)
        values = event_values(self, self.time, found.x)
        values[found.which] = max(values[found.which], 0.0)
        self.loop.set("event", values)
        name = list(self.parts.events)[found.which]
        self.happened.append((self.time, name))
        return name

    def single_step(self) -> StepCall:
        """The inside stage as a kernel of its own; compiled when it is first asked for."""
        if self._step is None:
            self._step = step_call(self.robot, self.parts)
        return self._step

    def check_step(self) -> None:
        """Raise `SimulationError` if the step cannot be stable at the present state (see `trouble`)."""
        trouble.check_step(self)

    def diverged(self, outcomes: list[Outcome]) -> None:
        """Raise `SimulationError` with the moment, the joint and the likely cause."""
        trouble.diverged(self, outcomes)
