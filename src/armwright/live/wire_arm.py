# SPDX-License-Identifier: Apache-2.0
"""`WireArm`: an arm on the wire, moved by one thread through one socket. Not a safety function.

Read → feel → limit → write, once a sample; whatever has come is felt, only the last is answered. `WireRide` is what a
run sees of it, `wire_script` what runs on the controller.

Its clocks. A motion has a clock s of its own, which advances with the device's stamps, more slowly where the motion is
too fast for the limits, where the controller's speed slider says so, and after a gap. While an arm follows a motion the
ride's clock goes with s, so that a run that waits for a motion of 3 s waits until the arm has done it. Otherwise it
goes with the stamps. Both are recorded.

A gap. Where the controller was not answered in time, the target stays, the arm comes to rest, what was felt is
forgotten, and the motion goes on from where it was. Gaps that come too often end the ride.
"""

from __future__ import annotations

import contextlib
import time as wall
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.exploration.ride import ArmMeasured, Look, RideMoment, TouchFelt, Why
from armwright.lab.net import LabError
from armwright.live.wire_end import PLAYING, name_the_end, stands_for
from armwright.live.wire_feeling import surely
from armwright.live.wire_rows import DRIVEN, REFLEX, RESTING, WireRows
from armwright.live.wire_script import LEAVE, LEFT, LOOKAHEAD, SILENT, STAND, ride_script
from armwright.motion.trajectory import Reference
from armwright.recording.sample_order import FOLLOWS, SampleOrder

if TYPE_CHECKING:
    from armwright.live.dead_man import DeadMan
    from armwright.live.wire_feeling import FeltNow, WireFeeling
    from armwright.live.wire_limits import TimedMotion, Watchman
    from armwright.live.wire_socket import WireSample, WireSocket
    from armwright.types import Array

GAP_SECONDS = 0.024  # between two answers to a moving arm: three periods of 125 Hz; more is a gap
MOST_GAPS, GAP_WINDOW = 3, 60.0  # gaps that are ridden out in so many seconds; one more ends the ride
LOST_SECONDS = 1.0  # without any sample after which the controller is lost
REST_SECONDS, REST_SPEED = 0.1, 2e-3  # [s], [rad/s]: so long and so slow is at rest
REST_PATIENCE = 3.0  # [s] for the arm to come to rest
RAMP_SECONDS = 0.4  # from rest to full speed after a gap
GIVE_WAY = 0.010  # [m] of the tool, back along the way that was driven
GIVE_WAY_SECONDS = 0.6  # most that giving way may take
TRAIL_SECONDS = 2.0  # of the way that is kept for it
HELD_SECONDS = 0.2  # without the dead-man after which the arm rests
HAND_SECONDS = 1.0  # for which it is held before anything begins
FIRST_REPEAT = 0.8  # [s] until a key that is held is repeated for the first time
HAND_PATIENCE = 60.0  # [s] for a person to hold it
START_PATIENCE = 15.0  # [s] for the first sample, and for the script to start
EXPLAIN_SECONDS = 0.3  # in which the safety mode may follow a program that has ended
MOST_BEAT = 1_000_000_000


class WireArm:
    """The moving part of a ride.

    Attributes:
        n: joints. period: of samples [s]. reason: why it is over, for a person.
        gaps: answers that came too late. alarms: that rose.
        samples: taken so far. cpu: processor time of the steps [s].
    """

    def __init__(
        self,
        socket: WireSocket,
        feeling: WireFeeling,
        watchman: Watchman,
        rows: WireRows,
        *,
        held: DeadMan | None = None,
        most_gaps: int | None = None,
    ) -> None:
        """Take over a connected socket; `start` uploads the script.

        Args:
            socket: connected.
            feeling: what is felt.
            watchman: of the limits.
            rows: what is recorded.
            held: the dead-man that a person holds; None where none is needed.
            most_gaps: that are ridden out in a minute; `MOST_GAPS` by default.
        """
        self.n, self.period, self.reason = feeling.robot.n, socket.period, ""
        self._socket, self._feeling, self._watchman, self._rows, self._held = socket, feeling, watchman, rows, held
        self._sequence = SampleOrder(socket.period, max_gap=round(LOST_SECONDS / socket.period))
        self._most_gaps = MOST_GAPS if most_gaps is None else most_gaps
        self._gap_times = deque[float]()
        self._ended: Why | None = None
        self._clock, self._stamp, self._answered = 0.0, 0.0, 0.0
        self._motion: TimedMotion | None = None
        self._s, self._ramp, self._scale = 0.0, 1.0, 1.0
        self._offset, self._target = np.zeros(self.n), np.zeros(self.n)
        self._beat, self._epoch, self._order, self._driving = 0, 1, STAND, False
        self._last: WireSample | None = None
        self._q, self._qd, self._q_ref = np.zeros(self.n), np.zeros(self.n), np.zeros(self.n)
        self._was_alarmed, self._beyond, self._rose = False, False, False
        self._moment: RideMoment | None = None
        self._trail = deque[Any](maxlen=max(10, round(TRAIL_SECONDS / socket.period)))
        limits = watchman.limits
        self._reach = limits.joint_speed * LOOKAHEAD
        self._torque_cap = np.full(self.n, np.inf) if limits.torque is None else np.asarray(limits.torque)
        self._kind = DRIVEN
        self._held_at, self._slow_since = 0.0, 0.0
        self.gaps, self.alarms, self.samples, self.cpu = 0, 0, 0, 0.0

    # ------------------------------------------------------------------------------------------------ begin and end
    def start(self) -> None:
        """Upload the script and wait until it stands.

        Raises:
            LabError: it does not start.
        """
        until = wall.monotonic() + START_PATIENCE
        while self._last is None:
            self._take(0.5)
            if wall.monotonic() > until:
                raise LabError(f"{self._socket.host}: no samples within {START_PATIENCE:g} s")
        self._wait_for_hand()
        self._say(STAND)
        with self._socket.uploading(ride_script(self._watchman.limits.joint_speed)):
            self._wait_for_script()
        self._forget()
        self._trail.clear()
        self._held_at, self._driving = self._stamp, True

    def _wait_for_script(self) -> None:
        """Wait until the script runs.

        Raises:
            LabError: it does not, or the controller is lost meanwhile.
        """
        assert self._last is not None
        until = wall.monotonic() + START_PATIENCE
        while self._last.runtime != PLAYING or self._last.state in (0, LEFT):
            self._take(LOST_SECONDS)
            if self._ended is not None:
                raise LabError(f"{self._socket.host}: {self.reason}; the script had not started")
            self._say(STAND)
            if wall.monotonic() > until:
                raise LabError(
                    f"{self._socket.host}: the script does not start within {START_PATIENCE:g} s; is the arm in remote "
                    "control, and does the log of the controller name an error?"
                )

    def _wait_for_hand(self) -> None:
        """Wait until the dead-man has been held for a while.

        Raises:
            LabError: it was not, in a minute.
        """
        held, since, seen = self._held, np.inf, -np.inf
        until = wall.monotonic() + HAND_PATIENCE
        while held is not None and not (self._stamp - since >= HAND_SECONDS and self._stamp - seen < HELD_SECONDS):
            self._take(LOST_SECONDS)
            assert self._last is not None
            if held.held(self._last):
                since, seen = min(since, self._stamp), self._stamp
            elif self._stamp - seen > FIRST_REPEAT:
                since = np.inf
            if wall.monotonic() > until or self._ended is not None:
                raise LabError(self.reason or f"{held.name} was not held within {HAND_PATIENCE:g} s; nothing was moved")

    def close(self) -> None:
        """Bring the arm to rest, end the script, hang up; safe to call twice."""
        if self._ended is None and self._driving:
            with contextlib.suppress(LabError):
                self._rest()
                self._driving = False
                self._say(LEAVE)
                until = wall.monotonic() + LOST_SECONDS
                while self._last is not None and self._last.state != LEFT and wall.monotonic() < until:
                    self._take(0.1)
        self._driving = False
        self._socket.close()

    def _end(self, why: Why, reason: str) -> None:
        """Be over; the first reason counts."""
        if self._ended is None:
            self._ended, self.reason = why, reason

    # -------------------------------------------------------------------------------------------------- one sample
    @property
    def _still(self) -> bool:
        """Return whether the arm is asked to stand, and does."""
        over = self._motion is None or (self._s >= self._motion.length and self._ramp >= 1.0)
        return over and self._stamp - self._slow_since > REST_SECONDS

    @property
    def _braked(self) -> bool:
        """Return whether the script has braked for want of a heartbeat, and waits for another epoch."""
        return self._last is not None and self._last.state == SILENT and self._order == self._epoch

    def _step(self) -> None:
        """Wait for samples, feel them, answer the last."""
        moving = not self._still
        setting_out = moving and self._order == STAND  # the first target is where the script holds the arm
        self._epoch += setting_out
        self._guarded(lambda: self._take(LOST_SECONDS))
        if setting_out:  # what came while a run was thinking was nothing to be answered
            self._answered = self._stamp
        if self._ended is not None or self._rose:
            return
        if moving and (self._stamp - self._answered > GAP_SECONDS or self._braked):
            self._anew()
            return
        self._aim()
        if self._ended is None:
            self._guarded(lambda: self._say(self._epoch if moving else STAND))

    def _guarded(self, act: Callable[[], object]) -> None:
        """Do something with the wire; a controller that is gone ends the ride."""
        try:
            act()
        except LabError as error:
            self._end("lost", str(error))

    def _take(self, seconds: float) -> None:
        """Wait at most so long for samples and feel all that have come."""
        samples = self._socket.samples(seconds)
        begun = wall.thread_time()
        if not samples:
            if seconds >= LOST_SECONDS:
                self._end("lost", f"no sample for {seconds:g} s")
            return
        for sample in samples:
            self._feel(sample)
            if self._ended is not None:
                return
        self._last = last = samples[-1]
        gone = last.runtime != PLAYING or last.state == LEFT
        if stands_for(last) is not None or gone:
            if self._driving:
                self._explain(last)
        elif self._held is not None and self._driving:
            if self._held.held(last):
                self._held_at = last.stamp
            elif last.stamp - self._held_at > HELD_SECONDS:
                self._rest_then_end("stopped by a person", f"{self._held.name} was released")
        self.cpu += wall.thread_time() - begun

    def _explain(self, sample: WireSample) -> None:
        """Name the end: the safety mode may come a moment after the program has ended."""
        until = wall.monotonic() + EXPLAIN_SECONDS
        with contextlib.suppress(LabError):
            while stands_for(sample) is None and wall.monotonic() < until:
                for sample in self._socket.samples(0.1):
                    self._feel(sample)
        self._last = sample
        self._end(*name_the_end(sample))

    def _feel(self, sample: WireSample) -> None:
        """Take one sample: order, clocks, observers, alarm, record."""
        numbers, stamp = np.array(sample.numbers), sample.numbers[0]
        word = self._sequence.judge(stamp, finite=bool(np.isfinite(numbers).all()))
        if word == "restart":
            self._end("lost", "the controller's clock began anew, or samples of a second are missing")
        if word == "restart" or word not in FOLLOWS:
            return
        dt, self._stamp = (stamp - self._stamp if self.samples else 0.0), stamp
        self.samples += 1
        self._q, self._qd, self._q_ref = numbers[1:7], numbers[7:13], numbers[19:25]
        if not self._driving:
            self._target = self._q_ref
        if self._sequence.missing > 2:
            self._feeling.reset()
        felt = self._feeling.feel(self._q, self._qd, numbers[13:19])
        if np.abs(self._qd).max() > REST_SPEED:
            self._slow_since = stamp
        self._scale = min(1.0, max(0.0, sample.scaling * sample.fraction))
        self._advance(dt)
        on = bool(felt.alarm[0] >= 0.0)
        beyond = self._is_beyond(felt)
        rises = (on and not self._was_alarmed) or (beyond and not self._beyond)
        self._was_alarmed, self._beyond = on, beyond
        if self._kind == DRIVEN:
            self._trail.append(self._q_ref)
            if rises and not self._rose:
                self._rose, self._moment = True, self._now(felt)
                self.alarms += 1
        row = self._rows.row()
        row[0], row[1:20], row[20:26], row[26:32] = self._clock, numbers[:19], self._q_ref, self._target
        row[32:38], row[38:41], row[41] = felt.tau_ext, felt.force, felt.level[0]
        row[42], row[43], row[44], row[45:57] = on, self._kind, sample.safety_mode, sample.targets

    def _is_beyond(self, felt: FeltNow) -> bool:
        """Return whether more is felt than is waited for, less what stiction may hold of it by itself."""
        cap, size = self._watchman.limits.force, np.abs(felt.tau_ext)
        if (size > self._torque_cap).any() and (size - self._feeling.held(felt.band) > self._torque_cap).any():
            return True
        if not felt.force @ felt.force > cap * cap:
            return False
        force = surely(self._feeling, self._q, felt.tau_ext, felt.band)
        return bool(force @ force > cap * cap)

    def _now(self, felt: FeltNow) -> RideMoment:
        """Return this instant."""
        wrench = np.concatenate([felt.force, np.zeros(3)])
        touch = TouchFelt(felt.tau_ext.copy(), wrench, self._feeling.covariance(self._q, felt.resting))
        alarmed = self._was_alarmed or self._beyond
        return RideMoment(self._clock, ArmMeasured(self._q.copy(), self._qd.copy()), touch, self._asked(), alarmed)

    def _asked(self) -> Reference:
        """Return where the arm is asked to be now."""
        motion, zero = self._motion, np.zeros(self.n)
        if motion is None:
            return Reference(self._target.copy(), zero, zero.copy())
        rate = 0.0 if self._s >= motion.length else motion.rate(self._s) * self._ramp * self._scale
        return Reference(motion.q(self._s) + self._offset * (1.0 - self._ramp), rate * motion.qd(self._s), zero)

    def _advance(self, dt: float) -> None:
        """Let the clocks go on by one sample."""
        motion = self._motion
        if motion is None or self._kind != DRIVEN or self._order == STAND or self._rose:
            self._clock += dt
            return
        self._ramp = min(1.0, self._ramp + dt / RAMP_SECONDS)
        over = self._s >= motion.length
        ds = dt if over else dt * motion.rate(self._s) * self._ramp * self._scale
        self._s += 0.0 if over else ds
        self._clock += ds

    def _aim(self) -> None:
        """Set the target for the last sample."""
        motion = self._motion
        if motion is None:
            return
        rate = motion.rate(self._s) * self._ramp * self._scale
        target = motion.q(self._s + LOOKAHEAD * rate) + self._offset * (1.0 - self._ramp)
        if np.isfinite(target).all() and self._watchman.allows(target):
            self._target = target
        else:
            self._rest_then_end("protective stop", "a target outside the fence came up; it was not sent")

    def _say(self, order: int) -> None:
        """Answer: target, heartbeat, order."""
        begun = wall.thread_time()
        self._beat = (self._beat + 1) % MOST_BEAT
        self._order, self._answered = order, self._stamp
        self._socket.send(self._target.tolist(), self._beat, order)
        self.cpu += wall.thread_time() - begun

    # ----------------------------------------------------------------------------------------------- reflex, rest, gap
    def _forget(self) -> None:
        """Let the observers begin anew."""
        self._feeling.reset()
        self._was_alarmed = self._beyond = self._rose = False

    def _press(self, seconds: float) -> tuple[Look, ...]:
        """Brake and look for so long while the torques rise, up to the caps; giving way comes after it."""
        self._kind, self._motion, begun = REFLEX, None, self._stamp
        self._target, looks = self._q_ref.copy(), list[Look]()
        if self._order == STAND:
            self._epoch += 1
        while self._ended is None and not self._beyond and self._stamp - begun < seconds:
            self._guarded(lambda: self._say(self._epoch))
            self._guarded(lambda: self._take(LOST_SECONDS))
            looks.append(Look(self._clock, self._q.copy(), self._feeling.now.tau_ext.copy()))
        return tuple(looks)

    def _give_way(self) -> None:
        """Go back along the way that was driven, come to rest there, feel anew."""
        self._kind, self._motion = REFLEX, None
        trail = np.array(self._trail) if self._trail else self._q_ref[None]
        places = self._watchman.place(trail)
        far = np.flatnonzero(np.linalg.norm(places - places[-1], axis=1) >= GIVE_WAY)
        k = int(far[-1]) if len(far) else 0
        self._settle_at(trail[k], GIVE_WAY_SECONDS)
        if self._ended is None:
            self._trail = deque(trail[: k + 1], maxlen=self._trail.maxlen)
            self._forget()
            self._kind = DRIVEN
            self._guarded(lambda: self._say(STAND))

    def _settle_at(self, goal: Array, seconds: float) -> None:
        """Send a place to go to, within reach of the controller's reference, until the arm rests or time is over."""
        if self._order == STAND:
            self._epoch += 1
        begun = self._stamp
        while self._ended is None:
            self._target = np.clip(goal, self._q_ref - self._reach, self._q_ref + self._reach)
            self._guarded(lambda: self._say(self._epoch))
            self._guarded(lambda: self._take(LOST_SECONDS))
            if self._braked:
                self._epoch += 1
            if self._stamp - begun > seconds or self._stamp - max(self._slow_since, begun) > REST_SECONDS:
                break
        self._target = np.array(goal)

    def _rest(self) -> None:
        """Come to rest where the controller's reference is."""
        kind, self._kind, self._motion = self._kind, RESTING, None
        self._settle_at(self._q_ref.copy(), REST_PATIENCE)
        if self._ended is None:
            self._guarded(lambda: self._say(STAND))
        self._kind = kind

    def _rest_then_end(self, why: Why, reason: str) -> None:
        """Come to rest, let the script end, and be over."""
        self._held = None
        self._rest()
        self._guarded(lambda: self._say(LEAVE))
        self._end(why, reason)

    def _anew(self) -> None:
        """After a gap: rest, forget, set out anew from where the motion was; too many gaps end the ride."""
        self.gaps += 1
        self._gap_times.append(self._stamp)
        while self._stamp - self._gap_times[0] > GAP_WINDOW:
            self._gap_times.popleft()
        motion, s = self._motion, self._s
        if len(self._gap_times) > self._most_gaps:
            text = (
                f"{len(self._gap_times)} gaps within {GAP_WINDOW:g} s: this computer is too slow, or the line too bad"
            )
            self._rest_then_end("lost", text)
            return
        self._rest()
        if self._ended is not None or motion is None:
            return
        self._forget()
        ahead = min(s + LOOKAHEAD * motion.rate(s) * self._ramp * self._scale, motion.length)
        self._clock += max(0.0, ahead - s)
        self._motion, self._s, self._ramp = motion, max(s, ahead), 0.0
        self._offset = self._target - motion.q(self._s)
