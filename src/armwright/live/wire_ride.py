# SPDX-License-Identifier: Apache-2.0
"""`WireRide`: an arm on the wire as a run drives it. Not a safety function.

See `exploration.ride` for what a run may ask, `wire_arm` for how the arm is moved.

Thinking. Between two calls nobody answers the controller. An arm that stands is therefore ordered to stand
(`wire_script.STAND`): the script holds it without a heartbeat. An arm that moves is not: where a run thinks for longer
than `wire_script.SILENCE_SECONDS` in the middle of a motion, the script brakes, and the ride sets out anew.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.exploration.arm.felt_places import LISTEN
from armwright.exploration.ride import ArmMeasured, Look, Passed, Reflex, RideMoment, TouchFelt, Why
from armwright.lab.lab_clock import without_collections
from armwright.lab.net import LabError
from armwright.live.wire_arm import WireArm
from armwright.live.wire_limits import TimedMotion
from armwright.live.wire_priority import in_real_time
from armwright.live.wire_rows import DRIVEN, PLACES
from armwright.live.wire_script import STAND
from armwright.motion import quintic
from armwright.motion.trajectory import Reference, Trajectory

if TYPE_CHECKING:
    from armwright.recording.recording import Recording
    from armwright.types import Array

DOUBTED_SECONDS = 0.15  # before an alarm in which the arm may have touched already
START_JUMP = 5e-3  # [rad] between a motion's begin and where the arm is asked to be: a servo's rest
SHORTEST_GLIDE = 0.3  # [s]


class WireRide(WireArm):
    """A ride on the wire; see `exploration.ride.Ride` for its attributes and members."""

    reflex: Reflex = "give way"
    lag = DOUBTED_SECONDS
    goes_on = False
    presses = False
    noticed_force = 60.0  # [N] until a rehearsal has shown what free motion feels
    _looks: tuple[Look, ...] = ()  # while the last reflex listened
    _told_from = float("-inf")
    _hurried: contextlib.ExitStack | None = None

    @property
    def time(self) -> float:
        """See `Ride`."""
        return self._moment.time if self._moment is not None else self._clock

    @property
    def stamp(self) -> float:
        """The device's time of the newest sample [s]; it goes on evenly, however slowly a motion is followed."""
        return self._stamp

    def measured(self) -> ArmMeasured:
        """See `Ride`."""
        return ArmMeasured(self._q.copy(), self._qd.copy())

    def felt(self) -> TouchFelt:
        """See `Ride`."""
        return self._now(self._feeling.now).felt

    @property
    def alarmed(self) -> bool:
        """See `Ride`."""
        return self._was_alarmed

    def moment(self) -> RideMoment:
        """See `Ride`."""
        return self._moment if self._moment is not None else self._now(self._feeling.now)

    def reference(self) -> Reference:
        """See `Ride`."""
        return self._asked()

    def passed(self, since: float) -> Passed:
        """See `Ride`."""
        rows = self._rows.since(since)
        rows = rows[(rows[:, PLACES["kind"].start] == DRIVEN) & (rows[:, 0] <= self.time)]
        return Passed(rows[:, 0], rows[:, PLACES["q"]], rows[:, PLACES["qd"]], rows[:, PLACES["q_ref"]])

    def torques(self, seconds: float) -> Array:
        """See `Ride`."""
        rows = self._rows.since(self.time - seconds)
        return np.array(rows[rows[:, 0] <= self.time][:, PLACES["tau_ext"]])

    def gives_way(self, q: Array, tau: Array) -> Array | None:
        """See `Ride`: nothing is known of the stiffness of a position servo."""
        return None

    def recording(self, outcome: str, **settings: Any) -> Recording:
        """See `Ride`."""
        return self._rows.recording(outcome, settings, self._told_from)

    def begin(self) -> float:
        """Let `recording` tell from now on only, as of a run that begins after a rehearsal; return the instant [s]."""
        self._told_from = self._clock
        return self._clock

    def follow(self, motion: Trajectory | Reference) -> float:
        """See `Ride`."""
        if self._ended is not None:
            return self._clock
        self._guarded(lambda: self._take(0.0))
        if not self._rose:  # an alarm that came while nobody looked is the next run's
            self._moment = None
        here = self._asked()
        if isinstance(motion, Reference):
            motion = self._glide(here, np.asarray(motion.q, dtype=np.float64))
        begin = motion.evaluate(0.0)
        jump = float(np.abs(begin.q - here.q).max())
        if not jump <= START_JUMP:
            raise InputError(f"wire: the motion begins {jump:.4f} rad away from where the arm is asked to be")
        self._motion, self._s = TimedMotion(motion, self._watchman), 0.0
        self._offset = here.q - begin.q
        self._ramp = 0.0 if self._offset.any() else 1.0
        return self._clock

    def _glide(self, here: Reference, q: Array) -> Trajectory:
        """Return a motion from the reference to rest at q, within the limits."""
        limits, place = self._watchman.limits, self._watchman.place
        way = float(np.abs(q - here.q).max()) / limits.joint_speed
        tool = float(np.linalg.norm(place(q) - place(here.q))) / limits.tool_speed
        return quintic(here.q, q, max(SHORTEST_GLIDE, 2.0 * max(way, tool)), qd0=here.qd)

    def run(self, seconds: float) -> Why:
        """See `Ride`."""
        if self._ended is not None:
            return self._ended
        until = self._clock + max(seconds, self.period)
        if not self._rose:
            self._moment = None
        self._hurry()
        try:
            return self._run(until)
        except KeyboardInterrupt:
            with contextlib.suppress(LabError):
                self._rest()
            raise
        finally:
            if self._still or self._ended is not None:  # a run that looks up in the middle of a motion is waited for
                self._calm_down()

    def _hurry(self) -> None:
        """Go first among the processes of this computer, for as long as the arm moves."""
        if self._hurried is None:
            self._hurried = contextlib.ExitStack()
            self._hurried.enter_context(in_real_time())
            self._hurried.enter_context(without_collections())

    def _calm_down(self) -> None:
        """Be like others again."""
        hurried, self._hurried = self._hurried, None
        if hurried is not None:
            hurried.close()

    def close(self) -> None:
        """Bring the arm to rest, end the script, hang up; safe to call twice."""
        try:
            super().close()
        finally:
            self._calm_down()

    def _run(self, until: float) -> Why:
        """Go on until an instant of the ride's clock, an alarm, or the end."""
        while self._ended is None:
            self._step()
            if self._rose and self._ended is None:
                self._looks = self._press(LISTEN) if self.reflex == "listen" else ()
                self._give_way()
                return self._ended or "alarm"
            if self._clock >= until - 0.5 * self.period:
                break
        if self._ended is None and self._still and self._order != STAND:
            self._guarded(lambda: self._say(STAND))
        return self._ended or "end"

    def practise(self) -> None:
        """Give way as after an alarm, though nothing was felt, and feel anew; for rehearsals."""
        self._hurry()
        if self._ended is None:
            self._give_way()
        self._calm_down()

    def listen(self, brake: float, seconds: float, every: float) -> tuple[Look, ...]:
        """See `Ride`: the reflex has listened already, or gave way; without an alarm it brakes and looks now."""
        moment = self.moment()
        first = Look(moment.time, moment.measured.q, moment.felt.tau_ext)
        if self._moment is not None or self._ended is not None:
            return (first, *self._looks)
        looks = self._press(seconds)
        self._kind = DRIVEN
        if self._ended is None:
            self._rest()
        return (first, *looks)
