# SPDX-License-Identifier: Apache-2.0
"""A simulation under way: run, stop at events, change the reference, go on.

The plan of one tick says its stages in order, the slots between them, what is recorded and what stops it. Functions of
the user are traced alone before the loop is, to see whether they keep state in Python. A run on its way to a file
writes every stretch of rows when it is done, and may forget it then.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from armwright.contact import monitor as monitors
from armwright.errors import ArmwrightError, InputError, SimulationError, TraceError, tell_user
from armwright.files import Uninterrupted
from armwright.graph.loop import CompiledLoop, recorded_rows
from armwright.graph.loop_plan import LoopPlan, Slots, Stage, stage, traced_stage
from armwright.graph.purity import StatefulError, is_trusted, traced_purely
from armwright.recording.formats.file_header import INTERRUPTED
from armwright.recording.signals import RecordedEvent
from armwright.recording.writer import RecordingWriter
from armwright.robot.model import Memo, make_once, memo_of
from armwright.simulation import diagnosis
from armwright.simulation import python_law as callback
from armwright.simulation.event_location import stop_at_event
from armwright.simulation.loop_programs import loop_program
from armwright.simulation.loop_stages import law_stage, monitor_stage, slot_name
from armwright.simulation.rows_to_recording import closing, recording_of, settings_of, signals_of
from armwright.simulation.running_loop import RunningLoop
from armwright.simulation.step_stages import outer, step_stages

if TYPE_CHECKING:
    from types import TracebackType

    from armwright.graph.tick_program import TickProgram
    from armwright.recording.batch import Recordings
    from armwright.recording.recording import Recording
    from armwright.robot.model import Robot
    from armwright.simulation.control_loop import Loop
    from armwright.simulation.lanes import Lanes
    from armwright.simulation.loop_programs import ProgramKind
    from armwright.types import Array


class RecordingStream:
    """Writes what a session records while it runs; whatever ends the run, the file opens up to the last stretch.

    Attributes:
        path: the file. forgetful: whether old rows leave the memory once they are written.
    """

    def __init__(self, running: RunningLoop, path: str | Path, settings: Mapping[str, Any], keep: float | None) -> None:
        """Create the file (.mcap, .parquet or .csv); `keep` seconds stay in memory, None keeps all."""
        if running.batch:
            raise InputError(
                f"save: {running.count} simulations do not fit into one file; save them one by one, "
                "runs[k].save(path), or run them singly"
            )
        if keep is not None and not (np.isfinite(keep) and keep >= 0.0):
            raise InputError(f"keep: expected seconds ≥ 0, or None to keep all, got {keep}")
        self.running, self.path, self.keep = running, Path(path), keep
        self._taken = running.log.count
        plan = running.loop.plan
        nothing = np.zeros((1, 0, len(plan.record_slots))), np.zeros((0, len(plan.shared_slots)))
        self._writer = RecordingWriter(
            path,
            signals_of(running, *nothing),
            robot=running.robot,
            settings=settings_of(running, settings),
            seed=running.seeds[0],
        )

    @property
    def forgetful(self) -> bool:
        """Whether old rows leave the memory once they are written."""
        return self.keep is not None

    @property
    def samples(self) -> int:
        """Samples that are safely in the file."""
        return self._writer.samples

    def take(self) -> None:
        """Write the rows that are new.

        Raises:
            SimulationError: the disk is full, or another failure; the message says how much the file holds.
        """
        log = self.running.log
        with Uninterrupted():  # what is in the file, and what is noted as being there, never differ
            if log.count == self._taken or not self._writer.open:
                return
            self._append(log.rows(self._taken), log.given(self._taken))
            self._taken = log.count
            if self.keep is not None:
                log.forget(log.count - 1 - int(self.keep / (self.running.parts.period * self.running.every)))

    def close(self, outcome: str) -> None:
        """Write what remains, the row of the present moment, the events and the outcome; safe to call twice."""
        with Uninterrupted():
            if not self._writer.open:
                return
            self.take()
            end = closing(self.running)
            if end is not None:
                self._append(*end)
            try:
                self._writer.close(
                    outcome,
                    [RecordedEvent(t, name) for t, name in sorted(self.running.happened + self.running.flagged)],
                    whole=not outcome.startswith(INTERRUPTED),
                )
            except ArmwrightError as error:
                raise SimulationError(str(error)) from error

    def _append(self, rows: Array, given: Array) -> None:
        signals = signals_of(self.running, rows, given)
        try:
            self._writer.append(given[:, 0], {name: signal.values for name, signal in signals.items()})
            self._writer.flush()
        except ArmwrightError as error:
            raise SimulationError(str(error)) from error


def _digest(part: Stage) -> str:
    return part.program.digest


def pure_law_stage(parts: Loop) -> Stage:
    """Return `law_stage`; raise `TraceError` if the law cannot be traced, `StatefulError` if that would freeze it."""
    return traced_purely([parts.law.function], lambda: law_stage(parts), _digest, f"law {parts.law.name!r}")


def require_pure_surroundings(parts: Loop) -> None:
    """Raise `StatefulError` if a monitor, an event, or a force from outside keeps state: Python cannot call these."""
    if parts.monitors:
        names = ", ".join(monitor.name for monitor in parts.monitors)
        functions = [monitor.function for monitor in parts.monitors]
        traced_purely(functions, lambda: monitor_stage(parts), _digest, f"monitors ({names}): one of them")
    for name, function in parts.stops.items():
        _require_pure(parts, function, f"event {name!r}", ())
    _require_pure(parts, parts.wrench, "simulate: wrench", (6,), (parts.lanes.tree.nb, 6))
    _require_pure(parts, parts.external, "simulate: external", (parts.n,))
    _require_pure(parts, parts.dry_friction, "simulate: dry_friction", (parts.n,))


def _require_pure(parts: Loop, function: Any, what: str, *shapes: tuple[int, ...]) -> None:
    """Trace a function of (arm, t, q, qd, tau, inputs) alone."""
    if is_trusted(function):
        return
    tree, n = parts.lanes.tree, parts.n

    def alone(s: dict[str, Any]) -> dict[str, Any]:
        inputs = {name: s[f"input_{name}"] for name in parts.inputs}
        signals = {"arm": tree, "t": s["t"][0], "q": s["q"], "qd": s["qd"], "tau": s["tau"], **inputs}
        return {"value": np.ravel(outer(function, signals, what, *shapes))}

    slots = {"t": (1,), "q": (n,), "qd": (n,), "tau": (n,)} | {
        f"input_{name}": shape for name, shape in parts.inputs.items()
    }
    traced_purely([function], lambda: traced_stage(alone, slots, "alone"), lambda made: made.digest, what)


def loop_plan(parts: Loop, law: Stage | None) -> LoopPlan:
    """Put the stages and slots together; without the law's stage, Python calls the law."""
    n, law_in_loop = parts.n, law is not None
    stages = [] if law is None else [law]
    stages += [monitor_stage(parts)] if parts.monitors else []
    stages += step_stages(parts)
    slots: dict[str, int] = {"x": parts.size, "tau": n, "t": 1, "past": 1, "h": 1, "ref": 3 * n}
    for part in stages:
        for signals, names in ((part.program.inputs, part.reads), (part.program.outputs, part.writes)):
            slots |= {names[s.name]: s.size for s in signals}
    adaptive = parts.method.adaptive

    def begin(s: Slots) -> Slots:
        none = 0.0 * s["t"]
        return {"past": none, "left": none + parts.period} if adaptive else {"past": none}

    reset = traced_stage(begin, {"t": (1,)}, "reset")
    shared = ["t", "ref", *(["ref_next"] if parts.continuous else [])]
    lanes = []
    if parts.sensors is not None and law_in_loop:
        lanes = ["noise"]
        shared += ["fresh"] if parts.sensors.every > 1 else []
    record = (
        ["t", "x", "tau"]
        + [k for k in slots if k.startswith("memory_")]
        + (["measured"] if "measured" in slots else [])
    )
    watched = [slot_name(name) for name in monitors.labels(parts.monitors).values()]
    record += watched
    alarms = tuple(name for name in watched if name.endswith("alarm")) if parts.stop_on_alarm else ()
    slots |= {"left": 1} if parts.method.adaptive else {}
    return LoopPlan(
        slots,
        (stage(reset, "before"), *stages),
        tuple(shared),
        tuple(lanes),
        tuple(record),
        ("event",) if parts.stops else (),
        ("x", "tau"),
        "left" if adaptive else None,
        alarms,
    )


MOST_STRETCH_TICKS, LEAST_STRETCH_TICKS = (
    4096,
    256,
)  # of one stretch: its tables stay in the cache, and progress is shown
CALLED_TICKS = 512  # of one stretch, where Python is called at every tick
TABLE = 4_000_000  # numbers that the tables of one stretch of ticks may hold
NOISE_NUMBERS = 24_576  # numbers of noise that one group of lanes is given at once: they stay in the cache
Progress = Callable[[float], None]
_RECENT: deque[Memo] = deque(maxlen=8)  # loops of differing arms outlive the arms of one batch


class Session(RunningLoop):
    """A loop that can be run, stopped, followed and saved; see `RunningLoop` for what it holds.

    Attributes:
        stream: the file that rows are written to while they are recorded, if any.
    """

    def __init__(self, parts: Loop, *, count: int, every: int, seeds: Sequence[int]) -> None:
        """Compile the loop; a law that cannot be traced is called once per tick instead, which the user is told."""
        plan, called = _plan(parts, count)
        super().__init__(parts, plan, count=count, every=every, seeds=seeds, called=called)
        self._caller: callback.Caller | None = None
        self.stream: RecordingStream | None = None

    def believe(self, model: Lanes) -> None:
        """Go on with another model of the arm in law and monitors: the tree of `model` with its numbers.

        Monitors begin anew: what they remember belongs to the old model. The first call compiles the loop once more,
        with the model's numbers as inputs; later ones only set them.

        Args:
            model: the controller's model; one row of values for all simulations, or one each.

        Raises:
            InputError: the law is called from Python, which a model in the compiled loop does not reach.
        """
        if self.called:
            raise InputError(f"believe: law {self.parts.law.name!r} is called from Python; its model is its own")
        known = self.parts.believed
        if known is None or known.common() != model.common():
            parts = replace(self.parts, believed=model)
            old, loop = self.loop, CompiledLoop(_plan(parts, self.count)[0], self.count, strict=parts.strict)
            for slot, size in loop.plan.slots.items():
                if old.plan.slots.get(slot) == size:
                    loop.set(slot, old.get(slot))
            self.parts, self.loop, self._step = parts, loop, None
        else:
            self.parts = replace(self.parts, believed=model)
        if "model" in self.loop.plan.slots:
            self.loop.set("model", model.values)
        self.forget_watched()

    def recording(self, **settings: Any) -> Recording:
        """What was recorded so far by a single simulation; `settings` are noted in it."""
        if self.batch:
            raise InputError(f"recording: this session runs a batch of {self.count}; take its recordings()")
        return cast("Recording", recording_of(self, settings))

    def recordings(self, **settings: Any) -> Recordings:
        """What was recorded so far by a batch; `settings` are noted in it."""
        if not self.batch:
            raise InputError("recordings: this session runs a single simulation; take its recording()")
        return cast("Recordings", recording_of(self, settings))

    def save(self, path: str | Path, *, keep: float | None = None, **settings: Any) -> None:
        """Write to a file while it runs from now on (.mcap, .parquet, .csv); `close` ends it.

        Args:
            path: the file.
            keep: seconds that stay in memory, so that a long run needs no more than that; None keeps all.
            **settings: written into the file beside what the session knows.
        """
        if self.stream is not None:
            raise InputError(f"save: this session is being written to {self.stream.path} already")
        self.stream = RecordingStream(self, path, settings, keep)

    def close(self, outcome: str | None = None) -> None:
        """End the file that `save` began, with the outcome of the last run unless another is given."""
        if self.stream is not None:
            self.stream.close(self.outcome if outcome is None else outcome)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        most = CALLED_TICKS if self.called else MOST_STRETCH_TICKS
        stretch = min(most, max(LEAST_STRETCH_TICKS, TABLE // (self.count * columns)))
        if self.noise is not None:
            stretch = min(stretch, max(LEAST_STRETCH_TICKS, NOISE_NUMBERS // (self.loop.width * self.noise.width)))
        if progress is not None:
            stretch = min(stretch, max(LEAST_STRETCH_TICKS, total // 50))
        if self.stream is None or not self.stream.forgetful:
            self.log.reserve(recorded_rows(total, self.every, self.phase) + 1)  # one more for the closing row
        while remaining > 0:
            ticks = min(stretch, remaining)
            try:
                done = self._called_ticks(ticks) if self.called else self._compiled_ticks(ticks)
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

    def _called_ticks(self, ticks: int) -> str:
        if self._caller is None:
            self._caller = callback.Caller(self, self.state[0])
        return callback.run_ticks(self, self._caller, ticks)

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
            return stop_at_event(self)
        if done.reason == "alarm":
            return self.stop_at_alarm()
        if done.reason != "end":
            diagnosis.diverged(self, outcomes)
        return "end"

    def program(self, kind: ProgramKind = "controller", *, name: str | None = None) -> TickProgram:
        """The controller of this loop, or its whole tick, as one program that starts where the arm is now.

        Args:
            kind: "controller" (measured positions and velocities are inputs) or "tick" (with the arm).
            name: of the program; arm and kind if omitted.
        """
        return loop_program(self.parts, kind, self.state[0, : self.parts.n], name=name)

    def check_step(self) -> None:
        """Raise `SimulationError` if the step cannot be stable at the present state."""
        diagnosis.check_step(self)


def _plan(parts: Loop, count: int) -> tuple[LoopPlan, bool]:
    """Trace the loop, or take the one that an earlier simulation of an equal robot traced; and whether Python calls."""
    known = parts.key()
    key = None if known is None else ("loop", *known)

    def traced() -> LoopPlan:
        return loop_plan(parts, pure_law_stage(parts))

    kept = _known(parts.robot, parts.lanes)
    if key not in kept:
        require_pure_surroundings(parts)
    try:
        return (traced() if key is None else make_once(kept, key, traced)), False
    except TraceError as error:
        if parts.continuous or count > 1:
            raise
        frozen = isinstance(error, StatefulError)
        why = "" if frozen else f"law {parts.law.name!r} cannot be traced "
        tell_user(
            f"{why}{error if frozen else f'({error})'}; it is called from Python once per tick, "
            "which costs microseconds a tick instead of a fraction of one"
        )
        return loop_plan(parts, None), True


def _known(robot: Robot, lanes: Lanes) -> dict[Hashable, Any]:
    """Where loops are kept: with the robot, or for arms that differ with what they have in common."""
    if not lanes.places:
        return robot.known
    memo = memo_of(("lanes", *lanes.common()))
    _RECENT.append(memo)
    return memo.known
