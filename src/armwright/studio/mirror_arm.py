# SPDX-License-Identifier: Apache-2.0
"""`MirrorArm`: a robot on the wire, for the page; it is listened to, and never sent anything but the subscription.

One thread hears, feels and makes the frames. A frame goes out with the sample that it shows, 16 ms after the last one
at the earliest. A robot that is gone, silent or started anew is dialled again until the studio ends; meanwhile a few
frames a second tell how old the last sample is, so that the page shows it as what it was.

A frame is float32, little endian, as `armwright.studio.live_arm` has it, without truth: t [s] since the first sample,
the controller's speed scaling, level and alarm, -1, n, 0; then q, felt torque, its band, motor use by targets and by
currents (n each), force (3) and half the width of its interval (3), age of the sample [s], robot mode, safety mode,
runtime state, whether a force can be told. What nobody knows is NaN.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import ArmwrightError, InputError
from armwright.lab.net import LabError
from armwright.live.heard_motors import HeardMotors
from armwright.live.live_feeling import LiveEvent, LiveFeeling, TouchBegun
from armwright.live.sample_age import SampleAge
from armwright.live.wire_ear import HeardSample, WireEar

if TYPE_CHECKING:
    from armwright.identify.identified import Identified, PayloadEstimate
    from armwright.robot.model import Robot
    from armwright.studio.mirror_recording import MirrorRecording
    from armwright.types import Array

FRAME_SECONDS = 0.0155  # between two frames: two samples of 125 Hz, less what timers are late
STALE_FRAME_SECONDS = 0.25  # between two frames of a robot that says nothing
HEARING = 0.02  # [s] of one wait for samples: orders are done within it
SILENCE = 2.0  # [s] without a sample after which the robot is dialled again
REDIAL = 1.0  # [s] between two attempts
JOIN_SECONDS = 5.0  # that the thread has to end: a dialling may be under way
COUNTED_SECONDS = 1.0  # between two tellings of how many samples were odd
TOUCHES_KEPT = 8


class WireHost(NamedTuple):
    """A robot to be mirrored: where it is, and its identified model, without which nothing is felt."""

    host: str
    port: int
    identified: Identified | None = None
    payload: PayloadEstimate | Array | None = None


class MirrorArm:
    """A robot that is listened to. All methods may be called from any thread.

    Attributes:
        robot: the arm. wire: where it is. sent: bytes that it was sent, subscriptions all of them.
        said: why there is no connection; "" while there is one. connections: so far.
        touches: the last ones, as the page is told of them.
    """

    kind = "wire"

    def __init__(
        self,
        robot: Robot,
        wire: WireHost,
        publish: Callable[[bytes], None],
        changed: Callable[[str], None] = lambda trouble: None,
        touched: Callable[[dict[str, Any]], None] = lambda touch: None,
    ) -> None:
        """Compile the model and begin to listen.

        Args:
            robot: the arm.
            wire: where it is.
            publish: takes every frame, in the thread.
            changed: told, in the thread, when something has changed, and what went wrong, if anything.
            touched: told of every touch that begins or ends.
        """
        if robot.n != 6:
            raise InputError(f"studio --wire: a UR has 6 joints, {robot.name!r} has {robot.n}")
        self.robot, self.wire = robot, wire
        self._publish, self._changed, self._touched = publish, changed, touched
        self._feeling = None if wire.identified is None else LiveFeeling(wire.identified, payload=wire.payload)
        self._motors = HeardMotors(robot, 0.008, wire.identified)
        self._counts, self._told = Counter[str](), 0
        self._age = SampleAge()
        self._last: HeardSample | None = None
        self._made, self._began = -np.inf, np.nan
        self.said, self.sent, self.connections, self.version = "not connected yet", 0, 0, ""
        self.rate = 0.0
        self.touches: deque[dict[str, Any]] = deque(maxlen=TOUCHES_KEPT)
        self._orders: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._recording: MirrorRecording | None = None
        self._end, self._watched = threading.Event(), threading.Event()
        self._framed = self._counted = -np.inf
        self._thread = threading.Thread(target=self._run, name="studio mirror", daemon=True)
        self._thread.start()

    def watched(self, by_anybody: bool) -> None:
        """Make frames only while somebody watches; the robot is listened to all the time."""
        (self._watched.set if by_anybody else self._watched.clear)()

    def order(self, action: Callable[[], Any]) -> Future[Any]:
        """Do something between two samples; the future has its result."""
        future: Future[Any] = Future()
        self._orders.append((action, future))
        if self._end.is_set():
            self._refuse()
        return future

    def close(self) -> None:
        """Hang up, and end the thread and a recording that runs."""
        self._end.set()
        self._thread.join(JOIN_SECONDS)
        self._refuse()
        recording = self.stop_recording("the studio has ended")
        if recording is not None:
            wait([recording.done], JOIN_SECONDS)

    def state(self) -> dict[str, Any]:
        """Return what the page is told beside frames."""
        feeling = self._feeling
        return {
            "kind": self.kind,
            "address": f"{self.wire.host}:{self.wire.port}",
            "said": self.said,
            "version": self.version,
            "rate": self.rate,
            "connections": self.connections,
            "began": None if np.isnan(self._began) else self._began,
            "sent": self.sent,
            "felt": feeling is not None,
            "basis": self._motors.basis,
            "counts": dict(self._counts),
            "touches": list(self.touches),
            "recording": self.recording,
            "error": "",
            "doubt": "",
        }

    # -- orders, done by the thread ------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """Return what a recording is told of the wire."""
        return {"wire": f"{self.wire.host}:{self.wire.port}", "controller": self.version, "rate": self.rate}

    def record(self, recording: MirrorRecording) -> None:
        """Begin to hand over samples."""
        if self.recording:
            raise InputError("record: a recording runs already")
        self._recording = recording

    def stop_recording(self, reason: str) -> MirrorRecording | None:
        """End a recording and return it; it is closed a little later, see its `done`. None if none runs."""
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.end(reason)
        return recording

    @property
    def recording(self) -> bool:
        """Return whether samples are kept."""
        return self._recording is not None and not self._recording.broken

    # -- the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._end.is_set():
            why, ear = "", WireEar(self.wire.host, port=self.wire.port)
            try:
                self._listen(ear)
            except LabError as error:
                why = str(error)
            except Exception as error:  # noqa: BLE001 - a thread has no caller; the pages are told
                why = f"a defect of this program: {error!r:.200}"
            finally:
                ear.close()
            self._lost(why)
            until = time.monotonic() + REDIAL
            while not self._end.is_set() and time.monotonic() < until:
                self._go_on()
                self._end.wait(HEARING)

    def _listen(self, ear: WireEar) -> None:
        """Connect and take what comes until the robot is gone or silent."""
        try:
            ear.connect_robot()
        finally:
            self.sent += ear.sent
        self._begin(ear)
        heard = time.monotonic()
        while not self._end.is_set():
            samples = ear.heard(HEARING)
            now = time.monotonic()
            for sample in samples:
                self._take(sample)
            if samples:
                heard = now
                self._show(now, FRAME_SECONDS)
            elif now - heard > SILENCE:
                raise LabError(f"{ear.address}: no sample for {SILENCE:g} s")
            self._go_on()

    def _begin(self, ear: WireEar) -> None:
        """Be connected: another stream begins."""
        self._motors = HeardMotors(self.robot, ear.period, self.wire.identified)
        self._age, self._began = SampleAge(), np.nan
        self.connections += 1
        self.version, self.rate, self.said = ".".join(map(str, ear.version)), 1.0 / ear.period, ""
        self._changed("")

    def _lost(self, why: str) -> None:
        """Be without a robot; what was said before is said once."""
        if self._feeling is not None:
            for event in self._feeling.finish():
                self._tell(event)
        if why and why != self.said:
            self.said = why
            self._changed("")

    def _take(self, sample: HeardSample) -> None:
        """Feel and keep one sample."""
        word = self._motors.take(sample).status
        self._counts[word] += 1
        if self._feeling is not None:
            for event in self._feeling.take(sample):
                self._tell(event)
        if self._recording is not None:
            self._recording.add(sample, None if self._feeling is None else self._feeling.now)
            if self._recording.broken:
                self._recording = None
            elif self._recording.full:
                self.stop_recording("ten minutes are the longest")
        if not (np.isfinite(sample.q).all() and np.isfinite(sample.stamp)):
            return  # the arm is shown where it was last seen
        if word == "restart" or np.isnan(self._began):
            self._age, self._began = SampleAge(), sample.stamp  # another clock
        self._last, self._made = sample, self._age.made(sample.stamp, sample.arrived)

    def _tell(self, event: LiveEvent) -> None:
        """Tell pages and recording of a touch."""
        said = touch_of(event)
        if said["begun"] or not (self.touches and self.touches[-1]["begun"]):
            self.touches.append(said)
        else:
            self.touches[-1] = said
        if self._recording is not None:
            self._recording.happened("touch begun" if said["begun"] else "touch ended", said)
        self._touched(said)

    def _go_on(self) -> None:
        """Do what was ordered; show how old everything is if nothing came."""
        while self._orders:
            action, future = self._orders.popleft()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(action())
                except Exception as error:  # noqa: BLE001 - whoever gave the order is told
                    future.set_exception(error)
        now = time.monotonic()
        self._show(now, STALE_FRAME_SECONDS)
        odd = self._counts.total() - self._counts["cycle"]
        if odd != self._told and now > self._counted + COUNTED_SECONDS:
            self._told, self._counted = odd, now
            self._changed("")

    def _refuse(self) -> None:
        with suppress(IndexError):
            while True:
                _, future = self._orders.popleft()
                if future.set_running_or_notify_cancel():
                    future.set_exception(ArmwrightError("studio: it has ended; start it again"))

    def _show(self, now: float, seconds: float) -> None:
        """Send a frame if the last one is so old and somebody watches."""
        last = self._last
        if last is None or now - self._framed < seconds or not self._watched.is_set():
            return
        self._framed = now
        n, felt = self.robot.n, None if self._feeling is None else self._feeling.now
        tau = band = np.full(n, np.nan)
        force = half = np.full(3, np.nan)
        level, alarm, reliable = np.nan, -1.0, 0.0
        if felt is not None:
            level, alarm, reliable = felt.level, 1.0 if felt.alarm else -1.0, float(felt.reliable)
            tau, band, force, half = (felt.of(name) for name in ("tau_ext", "band", "wrench", "half"))
        head = [last.stamp - self._began, last.scaling, level, alarm, -1.0, n, 0.0]
        modes = [now - self._made, last.robot_mode, last.safety_mode, last.runtime, reliable]
        parts = (head, last.q, tau, band, self._motors.use, self._motors.given, force[:3], half[:3], modes)
        self._publish(np.concatenate(parts).astype("<f4").tobytes())


def touch_of(event: LiveEvent) -> dict[str, Any]:
    """Return a touch as plain data: begun, or ended with what it was."""
    if isinstance(event, TouchBegun):
        return {"begun": True, "time": event.time, "joint": event.joint, "level": event.level}
    contact = event.contact
    if contact is None:
        return {"begun": False, "time": event.time}
    wrench = contact.wrench
    return {
        "begun": False,
        "time": event.time,
        "lasted": contact.end - contact.start,
        "joint": contact.joint,
        "level": contact.level,
        "link": contact.link,
        "force": None if contact.force is None else contact.force.tolist(),
        "wrench": wrench.wrench[:3].tolist() if wrench is not None and wrench.valid else None,
        "said": contact.said,
    }
