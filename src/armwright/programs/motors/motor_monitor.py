# SPDX-License-Identifier: Apache-2.0
"""`MotorMonitor`: Algorithm 1 next to a running controller, one cycle per sample.

It runs the machine code of the offline run. Samples come from a controller's messages, a recording or arrays
(`MotorSample`). Every sample has one of these outcomes, and each is counted; the words are those of `SampleOrder`,
and "late" and "malformed":

    start       the first one: the arm stands there
    cycle       the next one in time: one cycle
    late        the same, but older than `max_age` when it came; it counts in full
    lost        samples are missing before it: the cycles between are filled along a straight line, then its own
    restart     more than `max_gap` are missing, or the controller's clock was set back: the arm is taken to stand at
                the new place; heat is kept
    repeated    its time was seen already: nothing happens
    old         it is a little earlier than one that was seen (reordered): nothing happens
    not finite  NaN or infinite entries: nothing happens, and the next sample counts it as lost
    malformed   wrong shape or kind: nothing happens, as for "not finite"
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.graph.loop import Stepper
from armwright.programs.motors.motor_cycle import Algorithm, Cycle, MotorState, Rule, find_rule, period
from armwright.programs.motors.motor_loop import cycle_plan
from armwright.recording.sample_order import CLOCK_SET_BACK
from armwright.robot.loaded_tree import PAYLOAD_SIZE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.programs.motors.motor_demand import Demand
    from armwright.programs.motors.motor_limits import Basis
    from armwright.recording.recording import Recording
    from armwright.robot.model import Robot
    from armwright.types import Array


class MotorSample(NamedTuple):
    """One message of a stream.

    Attributes:
        t: time that it speaks of [s].
        q: wished position at t (n,) [rad or m].
        wrench: (6,) what the world does to the tool, if the monitor was made for it.
        payload: (10,), likewise.
        measured: where the arm was and how fast at t − Δt, (q, q̇), each (n,): the cycle then starts there instead of
            where the model is.
        arrived: when it came [s], same clock as t; gives its age.
    """

    t: float
    q: ArrayLike
    wrench: ArrayLike | None = None
    payload: ArrayLike | None = None
    measured: tuple[ArrayLike, ArrayLike] | None = None
    arrived: float | None = None


def samples_of_demand(demand: Demand, start: float = 0.0) -> Iterator[MotorSample]:
    """Yield the samples that a controller would send for a demand, on time.

    Example:
        >>> readings = list(MotorMonitor(robot, demand.dt).follow(samples_of_demand(demand)))
    """
    yield MotorSample(start, demand.q[0])
    for k in range(demand.cycles):
        wrench = None if demand.wrench is None else demand.wrench[k]
        payload = None if demand.payload is None else demand.payload[k]
        yield MotorSample(start + (k + 1) * demand.dt, demand.q[k + 1], wrench, payload)


def samples_of_recording(recording: Recording, signal: str = "q_ref") -> Iterator[MotorSample]:
    """Yield the samples of a recording: its times, and the wished positions of `signal` (T, n).

    Example:
        >>> readings = list(MotorMonitor(robot, 0.002).follow(samples_of_recording(recording, "q_ref")))
    """
    if signal not in recording.signals:
        raise InputError(f"recording: no signal {signal!r}; it has {', '.join(recording.signals)}")
    for t, q in zip(recording.time, recording[signal], strict=True):
        yield MotorSample(float(t), q)


def sample_of_message(
    message: Mapping[str, Any], *, t: str = "timestamp", q: str = "target_q", arrived: str | None = None
) -> MotorSample:
    """Return a sample from a controller's message by field names; the defaults are those of Universal Robots' RTDE."""
    missing = [name for name in (t, q) if name not in message]
    if missing:
        raise InputError(f"message: no field {', '.join(missing)}; it has {', '.join(message)}")
    came = message.get(arrived) if arrived else None
    return MotorSample(float(message[t]), np.asarray(message[q], dtype=np.float64), arrived=came)


def as_sample(value: MotorSample | Mapping[str, Any] | Sequence[Any]) -> MotorSample:
    """Take a sample, a message with RTDE's names, or a tuple (t, q, …)."""
    if isinstance(value, MotorSample):
        return value
    return sample_of_message(value) if isinstance(value, Mapping) else MotorSample(*value)


DONE = ("cycle", "late", "lost")
"""Outcomes in which the sample's own cycle was run."""


class Reading:
    """Knowledge of the monitor after a sample.

    Attributes:
        status: one of the outcomes in the module docstring. cycle: number of the last cycle that was run, from 1.
        lost: cycles that were filled in before it. age: arrival minus time [s], NaN where the sample has no arrival.
    """

    __slots__ = ("_n", "_row", "age", "cycle", "lost", "status")

    def __init__(self, status: str, cycle: int, lost: int, age: float, row: Array, n: int) -> None:
        """Hold a row of the record."""
        self.status, self.cycle, self.lost, self.age = status, cycle, lost, age
        self._row, self._n = row, n

    def _part(self, name: str) -> Array:
        k = Cycle._fields.index(name)
        return self._row[k * self._n : (k + 1) * self._n]

    @property
    def q(self) -> Array:
        """Return the position (n,) at the end of the cycle."""
        return self._part("q")

    @property
    def qd(self) -> Array:
        """Return the speed (n,) at the end of the cycle."""
        return self._part("qd")

    @property
    def qdd(self) -> Array:
        """Return the acceleration (n,) during the cycle."""
        return self._part("qdd")

    @property
    def heat(self) -> Array:
        """Return the thermal state (n,): 1 is where the continuous torque leads in the long run; 0 where unknown."""
        return self._part("heat")

    @property
    def torque(self) -> Array:
        """Return the motor torque (n,) applied [N m]."""
        return self._part("torque")

    @property
    def wanted(self) -> Array:
        """Return the motor torque (n,) that the wish would take [N m]."""
        return self._part("wanted")

    @property
    def limit(self) -> Array:
        """Return the motor torque (n,) at hand [N m]."""
        return self._part("limit")

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """Return which motors are at their torque limit (n,)."""
        return np.asarray(self._part("saturated") > 0.5)

    @property
    def clipped(self) -> NDArray[np.bool_]:
        """Return which wished speeds were cut (n,)."""
        return np.asarray(self._part("clipped") > 0.5)

    @property
    def flagged(self) -> bool:
        """Return whether any motor could not follow."""
        return bool(self.saturated.any() or self.clipped.any())

    @property
    def use(self) -> Array:
        """Return the use of every motor (n,): |wanted torque| over the torque at hand; NaN where both are 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.abs(self.wanted) / self.limit)

    @property
    def margin(self) -> float:
        """Return the torque left in the most used motor, as a fraction; negative beyond its limit."""
        use = self.use
        return float(1.0 - np.max(use, initial=0.0, where=~np.isnan(use)))


class MotorMonitor:
    """Algorithm 1, fed sample by sample. Call it with the parts of a `MotorSample`, or let it `follow` a stream.

    Attributes:
        counts: how many samples had each outcome. lost: cycles that were filled in, in all.
    """

    def __init__(
        self,
        robot: Robot,
        dt: float,
        rule: str | Rule = "full",
        *,
        algorithm: Algorithm | None = None,
        basis: Basis = "motors",
        inputs: tuple[str, ...] = (),
        max_age: float = np.inf,
        max_gap: int = 10,
    ) -> None:
        """Compile the cycle, or load it.

        Args:
            robot: the arm.
            rule: what happens at a torque limit, as in `run_motors`.
            algorithm: the other choices of a cycle.
            basis: what is checked, "motors" or "joints".
            dt: length of a cycle, and the time between samples [s].
            inputs: which loads the samples carry: "wrench", "payload".
            max_age: age from which a sample is late [s].
            max_gap: cycles that may be filled in; beyond, the monitor restarts.
        """
        strange = [name for name in inputs if name not in ("wrench", "payload")]
        if strange:
            raise InputError(f"inputs: {', '.join(strange)} is no load of a sample; there are 'wrench' and 'payload'")
        if isinstance(max_gap, bool) or not isinstance(max_gap, int | np.integer) or max_gap < 0:
            raise InputError(f"max_gap: must be a whole number ≥ 0, got {max_gap!r}")
        chosen = replace(algorithm or Algorithm(), rule=find_rule(rule))
        self.dt = period(dt)
        self.robot, self.max_age, self.max_gap = robot, max_age, int(max_gap)
        ordered = tuple(name for name in ("wrench", "payload") if name in inputs)
        plan = cycle_plan(robot, self.dt, chosen, basis, ordered)
        self.drives = plan.drives
        self._stepper = Stepper(plan.loop)
        self._step, self._n = self._stepper.step, robot.n
        shared, n = self._stepper.shared, robot.n
        self._q = shared[:n]
        self._wrench = shared[n : n + 6] if "wrench" in inputs else None
        self._payload = shared[shared.size - PAYLOAD_SIZE :] if "payload" in inputs else None
        self._state = self._stepper.memory[: len(MotorState._fields) * n]  # the first slots, in the record's order
        self.counts: Counter[str] = Counter()
        self.lost = 0
        self._origin = nan
        self._cycle = -1
        self._record = self._stepper.record
        self._row = self._record.copy()

    def __call__(
        self,
        t: float,
        q: ArrayLike,
        wrench: ArrayLike | None = None,
        payload: ArrayLike | None = None,
        measured: tuple[ArrayLike, ArrayLike] | None = None,
        arrived: float | None = None,
    ) -> Reading:
        """Take one sample; see `MotorSample` for its parts and the module docstring for the outcome."""
        age = nan if arrived is None else arrived - t
        if self._cycle < 0:
            return self._told(self._begin(t, q), 0, age)
        # a stream on time goes straight through; everything else is handled below
        place = (t - self._origin) / self.dt
        if not isfinite(place):
            return self._told("not finite", 0, age)
        gap = round(place) - self._cycle
        if gap != 1:
            if gap <= 0:
                if gap * self.dt <= -CLOCK_SET_BACK:
                    return self._told(self._begin(t, q), 0, age)
                return self._told("repeated" if gap == 0 else "old", 0, age)
            return self._told(*self._bridge(gap, t, q, wrench, payload, measured), age)
        status = self._run(q, wrench, payload, measured)
        if status == "cycle":
            self._cycle += 1
            if age > self.max_age:
                status = "late"
        self.counts[status] += 1
        return Reading(status, self._cycle, 0, age, self._row, self._n)

    def follow(self, stream: Iterable[Any]) -> Iterator[Reading]:
        """Yield a reading for every sample of a stream (samples, tuples, or messages with RTDE's names)."""
        for value in stream:
            yield self(*as_sample(value))

    def _told(self, status: str, lost: int, age: float) -> Reading:
        self.counts[status] += 1
        self.lost += lost
        return Reading(status, max(self._cycle, 0), lost, age, self._row, self._n)

    def _begin(self, t: float, q: ArrayLike) -> str:
        """Stand still at q at time t."""
        start = self._position(q)
        if start is None:
            return "malformed"
        if not (isfinite(t) and np.isfinite(start).all()):
            return "not finite"
        n, restarted = self._n, self._cycle >= 0
        self._row = self._row.copy()
        for name, value in (("q", start), ("qd", 0.0), ("wish", start)):
            k = MotorState._fields.index(name)
            self._row[k * n : (k + 1) * n] = value
        self._origin, self._cycle = t, 0
        self._restore()
        return "restart" if restarted else "start"

    def _restore(self) -> None:
        """Put the state back to what the last reading says."""
        self._state[:] = self._row[: self._state.size]

    def _position(self, q: ArrayLike) -> Array | None:
        try:
            array = np.array(q, dtype=np.float64)
        except (TypeError, ValueError):
            return None
        return array if array.shape == (self._n,) else None

    def _run(
        self,
        q: ArrayLike,
        wrench: ArrayLike | None,
        payload: ArrayLike | None,
        measured: tuple[ArrayLike, ArrayLike] | None,
    ) -> str:
        """Run one cycle; what cannot be run leaves everything as it was."""
        try:
            self._q[:] = q
            if self._wrench is not None:
                self._wrench[:] = 0.0 if wrench is None else wrench
            if self._payload is not None:
                self._payload[:] = 0.0 if payload is None else payload
            if measured is not None:
                self._stepper.slot("q")[:], self._stepper.slot("qd")[:] = measured
        except (TypeError, ValueError):
            self._restore()
            return "malformed"
        if not self._step():
            self._restore()
            return "not finite"
        self._row = self._record.copy()
        return "cycle"

    def _bridge(
        self,
        gap: int,
        t: float,
        q: ArrayLike,
        wrench: ArrayLike | None,
        payload: ArrayLike | None,
        measured: tuple[ArrayLike, ArrayLike] | None,
    ) -> tuple[str, int]:
        """Fill `gap` − 1 missing cycles on a straight line to q, then run its own; or restart."""
        if gap - 1 > self.max_gap:
            return self._begin(t, q), 0
        goal = self._position(q)
        if goal is None or not np.isfinite(goal).all():
            return "malformed" if goal is None else "not finite", 0
        row, last = self._row, self._stepper.slot("wish").copy()
        for k in range(1, gap + 1):
            status = self._run(last + (goal - last) * (k / gap), wrench, payload, measured if k == gap else None)
            if status != "cycle":
                self._row = row
                self._restore()
                return status, 0
        self._cycle += gap
        return "lost", gap - 1


def monitor_stream(monitor: MotorMonitor, stream: Iterable[Any]) -> list[Reading]:
    """Return the readings of a whole stream, for a recording that is examined afterwards."""
    return list(monitor.follow(stream))


__all__ = ["DONE", "MotorMonitor", "MotorSample", "Reading", "monitor_stream"]
