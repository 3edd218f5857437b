# SPDX-License-Identifier: Apache-2.0
"""A law that cannot be traced: called from Python once per tick, the rest of the loop stays compiled."""

from __future__ import annotations

import inspect
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.control.tick_function import locked, refuse_in_place
from armwright.errors import InputError, SimulationError
from armwright.graph import compile_function
from armwright.graph.loop import LoopOutcome, recorded_rows
from armwright.motion.trajectory import Reference
from armwright.simulation.diagnosis import diverged, not_a_torque
from armwright.simulation.event_location import stop_at_event
from armwright.simulation.sensors import tool_wrench

if TYPE_CHECKING:
    from armwright.graph.kernel import Kernel
    from armwright.simulation.running_loop import RunningLoop
    from armwright.types import Array, Traced


_FLOAT = np.dtype(np.float64)


class Caller:
    """Calls the law with just the parameters it names, and keeps its memory and the sensors' delay line."""

    def __init__(self, running: RunningLoop, x: Array) -> None:
        """Look the parameters up once; sensors start with the initial state x (size,)."""
        parts = running.parts
        self.running, self.law, self.n = running, parts.law, parts.n
        wanted = inspect.signature(self.law.function).parameters
        fixed: dict[str, Any] = {"arm": parts.model or running.robot, "dt": parts.period, **self.law.gains}
        self.wanted = tuple((name, k) for k, name in enumerate(("t", "q", "qd", "ref")) if name in wanted)
        self.wrist = _wrist(running) if "wrench" in wanted and parts.wrench is not None else None
        # the arguments of every call; those that change are replaced
        self.arguments = {**{name: fixed[name] for name in wanted if name in fixed}, **running.memory}
        self.sensed = parts.sensors is not None
        delay = 0 if parts.sensors is None else parts.sensors.delay
        self.line = [x[: 2 * self.n]] * (delay + 1)
        self.seen = self.line[0]

    def torque(self, t: float, x: Array, ref: Reference) -> Array:
        """Torque (n,) at one tick; raise `InputError` if the law returns anything else. `x` and `ref` are read-only."""
        n, arguments = self.n, self.arguments
        seen = self._sense(x) if self.sensed else x
        now = (t, seen[:n], seen[n : 2 * n], ref)
        for name, k in self.wanted:
            arguments[name] = now[k]
        if self.wrist is not None:
            arguments["wrench"] = self.wrist(t, x[:n], x[n : 2 * n])
        try:
            tau: Any = self.law.function(**arguments)
        except ValueError as error:
            refuse_in_place(error, f"law {self.law.name!r}")
            raise
        if isinstance(tau, tuple):
            tau, kept = tau
            arguments.update(kept)
        if not (isinstance(tau, np.ndarray) and tau.dtype is _FLOAT and tau.shape == (n,)):
            return self._as_torque(tau)
        return tau

    def check(self, t: float, tau: Array) -> None:
        """Raise `SimulationError` if the torque of time t is not finite."""
        if not is_finite(tau):
            raise SimulationError(not_a_torque(self.running, tau, t))

    def _as_torque(self, answer: object) -> Array:
        """Torque (n,) of whatever else the law returns; raise `InputError` if it is none."""
        try:
            tau = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"law {self.law.name!r} must return {self.n} torques, got {answer!r}") from error
        if tau.shape != (self.n,):
            raise InputError(
                f"law {self.law.name!r}: must return a torque per joint, shape ({self.n},), got {tau.shape}"
            )
        return tau

    def _sense(self, x: Array) -> Array:
        running, sensors, n = self.running, self.running.parts.sensors, self.n
        assert sensors is not None
        noise = np.zeros(2 * n) if running.noise is None else running.noise.row(running.noise_tick)
        fresh = running.tick % sensors.every == 0
        seen = np.concatenate(sensors.read(x[:n], x[n : 2 * n], noise)) if fresh else self.line[0]
        seen.flags.writeable = False
        self.line = [seen, *self.line[:-1]]
        self.seen = self.line[-1]
        return self.seen


def _wrist(running: RunningLoop) -> Kernel:
    """What a sensor at the wrist feels, as a kernel of t, q and qd."""
    parts = running.parts
    assert parts.wrench is not None
    function, tree = parts.wrench, parts.lanes.tree

    def felt(t: Traced, q: Traced, qd: Traced) -> Traced:
        return np.array(tool_wrench(function, tree, t, q, qd))

    return compile_function(felt, {"t": (), "q": (parts.n,), "qd": (parts.n,)}, name="tool_wrench")


def is_finite(x: Array) -> bool:
    """Whether all numbers are finite; a sum of Python's floats is fast, and overflows to infinity without a warning."""
    return isfinite(sum(x.tolist()))


class _RecordedRows:
    """Rows recorded in this stretch, straight into the session's log; whatever happens, they are handed over."""

    def __init__(self, running: RunningLoop, ticks: int) -> None:
        self.log = running.log
        block, given = self.log.tail(recorded_rows(ticks, running.every, running.phase))
        self.block, self.count = block[0], 0
        self.shared = running.given_table(ticks, given)

    def add_row(self, row: Array) -> None:
        """Record what the loop recorded of one tick."""
        self.block[self.count] = row
        self.count += 1

    def hand_over(self) -> None:
        """Keep what was recorded; the rest of this stretch is not run."""
        self.log.commit(self.count)
        self.count = 0


def run_ticks(running: RunningLoop, caller: Caller, ticks: int) -> str:
    """Run up to `ticks` ticks; return "end" or the name of an event. What was recorded is kept whatever happens."""
    parts, rows = running.parts, _RecordedRows(running, ticks)
    plain = not (parts.stops or parts.monitors or parts.method.adaptive)
    try:
        return (_fast if plain else _general)(running, caller, ticks, rows)
    finally:
        rows.hand_over()


def _fast(running: RunningLoop, caller: Caller, ticks: int, rows: _RecordedRows) -> str:
    """Fixed steps without events: the step alone, from Python."""
    step = running.single_step()
    x, h = running.state[0], np.array([running.step])
    n = running.parts.n
    x.setflags(write=False)
    times, q, qd, qdd = np.split(locked(rows.shared[:, : 1 + 3 * n]), (1, 1 + n, 1 + 2 * n), axis=1)
    pasts = [np.array([s * running.step]) for s in range(running.substeps)]
    tau = running.loop.get("tau")[0]
    kernel, index = step.kernel, step.index  # called without its wrapper: a microsecond counts here
    sensed, every, phase, done = running.parts.sensors is not None, running.every, running.phase, 0
    seconds, states, torques = np.split(rows.block, (1, 1 + len(x)), axis=1)
    try:
        for k, (t, now, *ref) in enumerate(zip(times[:, 0].tolist(), times, q, qd, qdd, strict=True)):
            command = caller.torque(t, x, Reference(*ref))
            after = x
            for past in pasts:
                after = kernel(after, h, past, now, command)[index]
            after.setflags(write=False)  # the law may look, not touch
            whole = is_finite(after)
            if not whole:
                caller.check(t, command)  # a law that returns NaN has not moved the arm
            tau = command
            if (phase + k) % every == 0:
                seconds[rows.count], states[rows.count], torques[rows.count] = now, x, tau
                rows.count += 1
            x = after
            if not whole:
                running.advance(done)
                done = 0
                rows.hand_over()
                diverged(running, [LoopOutcome(k, "not finite", 0)])
            done += 1
            if sensed:  # a slower sensor counts ticks
                running.advance(1)
                done = 0
    finally:
        running.advance(done)
        running.loop.set("x", x)
        running.loop.set("tau", tau)
    return "end"


def _general(running: RunningLoop, caller: Caller, ticks: int, rows: _RecordedRows) -> str:
    """Tick by tick through the compiled loop, which knows about events, monitors and adaptive steps."""
    loop, n = running.loop, running.parts.n
    for k in range(ticks):
        shared = rows.shared[k : k + 1]
        x, ref = locked(loop.get("x")[0]), locked(shared[0, 1 : 1 + 3 * n])
        tau = caller.torque(running.time, x, Reference(ref[:n], ref[n : 2 * n], ref[2 * n :]))
        caller.check(running.time, tau)
        loop.set("tau", tau)
        if "measured" in loop.plan.slots:
            loop.set("measured", caller.seen if caller.sensed else x[: 2 * n])
        record, outcomes = loop.run(1, substeps=running.most_substeps, shared=shared)
        if running.phase == 0:
            rows.add_row(record[0, 0])
        reason = outcomes[0].reason
        if reason == "event":
            return stop_at_event(running)
        if reason == "alarm":
            running.advance(outcomes[0].ticks)
            return running.stop_at_alarm()
        if reason != "end":
            rows.hand_over()
            diverged(running, outcomes)
        running.advance(1)
    return "end"
