# SPDX-License-Identifier: Apache-2.0
"""A simulation under way: run, stop at events, change the reference, go on."""

from __future__ import annotations

import contextlib
import warnings
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from armwright.errors import ArmwrightError, ArmwrightWarning, InputError, TraceError
from armwright.graph.loop import recorded_rows
from armwright.graph.purity import StatefulError
from armwright.robot.memo import Memo, make_once, memo_of
from armwright.simulation import callback, diagnosis
from armwright.simulation.event_location import stop_at_event
from armwright.simulation.loop_plan import loop_plan
from armwright.simulation.rows_to_recording import recording_of
from armwright.simulation.running_loop import RunningLoop
from armwright.simulation.stream import Stream
from armwright.simulation.user_functions import pure_law_stage, require_pure_surroundings

if TYPE_CHECKING:
    from types import TracebackType

    from armwright.graph.loop_plan import LoopPlan
    from armwright.recording.batch import Recordings
    from armwright.recording.recording import Recording
    from armwright.robot.model import Robot
    from armwright.simulation.lanes import Lanes
    from armwright.simulation.loop_stages import Ingredients

MOST_TICKS, LEAST_TICKS = 4096, 256  # of one stretch: its tables stay in the cache, and progress is shown
CALLED_TICKS = 512  # of one stretch, where Python is called at every tick
TABLE = 4_000_000  # numbers that the tables of one stretch of ticks may hold
NOISE = 24_576  # numbers of noise that one group of lanes is given at once: they stay in the cache
Progress = Callable[[float], None]
_RECENT: deque[Memo] = deque(maxlen=8)  # loops of differing arms outlive the arms of one batch


class Session(RunningLoop):
    """A loop that can be run, stopped, followed and saved; see `RunningLoop` for what it holds.

    Attributes:
        stream: the file that rows are written to while they are recorded, if any.
    """

    def __init__(
        self,
        robots: Sequence[Robot],
        parts: Ingredients,
        *,
        count: int,
        substeps: int,
        every: int,
        seeds: Sequence[int],
        batch: bool | None = None,
    ) -> None:
        """Compile the loop; a law that cannot be traced is called once per tick instead, which the user is told.

        Several simulations are a batch; `batch` says it of one as well.
        """
        plan, called = _plan(robots[0], parts, count)
        super().__init__(
            robots,
            parts,
            plan,
            count=count,
            substeps=substeps,
            every=every,
            seeds=seeds,
            called=called,
            batch=count > 1 if batch is None else batch,
        )
        self._caller: callback.Caller | None = None
        self.stream: Stream | None = None

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
        self.stream = Stream(self, path, settings, keep)

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
        most = CALLED_TICKS if self.called else MOST_TICKS
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

    def check_step(self) -> None:
        """Raise `SimulationError` if the step cannot be stable at the present state."""
        diagnosis.check_step(self)


def _plan(robot: Robot, parts: Ingredients, count: int) -> tuple[LoopPlan, bool]:
    """Trace the loop, or take the one that an earlier simulation of an equal robot traced; and whether Python calls."""
    known = parts.key()
    key = None if known is None else ("loop", *known)

    def traced() -> LoopPlan:
        return loop_plan(parts, pure_law_stage(parts))

    kept = _known(robot, parts.lanes)
    if key not in kept:
        require_pure_surroundings(parts)
    try:
        return (traced() if key is None else make_once(kept, key, traced)), False
    except TraceError as error:
        if parts.continuous or count > 1:
            raise
        frozen = isinstance(error, StatefulError)
        why = "" if frozen else f"law {parts.law.name!r} cannot be traced "
        warnings.warn(
            f"{why}{error if frozen else f'({error})'}; it is called from Python once per tick, "
            "which costs microseconds a tick instead of a fraction of one",
            ArmwrightWarning,
            stacklevel=5,
        )
        return loop_plan(parts, None), True


def _known(robot: Robot, lanes: Lanes) -> dict[Hashable, Any]:
    """Where loops are kept: with the robot, or for arms that differ with what they have in common."""
    if not lanes.places:
        return robot.known
    memo = memo_of(("lanes", *lanes.common()))
    _RECENT.append(memo)
    return memo.known
