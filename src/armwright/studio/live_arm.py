# SPDX-License-Identifier: Apache-2.0
"""`LiveArm`: the arm in real time, one thread that steps the plant, whoever watches.

Nobody who watches can slow it down. Orders come in through a queue and are done between two ticks; a frame goes out
every 16 ms as bytes, and whoever is not ready for it gets a later one (`armwright.studio.hub`). When it is told to
record, it hands rows to a `LiveRecording`.

Nothing that a page does ends the thread: an order may be cancelled by a page that leaves, and a defect in an order, a
tick or a frame is told to the pages while the thread goes on. Should it end nonetheless, orders fail at once.

A frame is float32, little endian: t [s], speed (0 paused), level and alarm of the detector, link that is held, n, 1 for
the truth that follows; then q (n), felt torque (n), true torque (n), true force (3), its point (3), target of the
spring (3).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.contact.isolation.torque_change import CHANGE_WINDOW, GAP_BEFORE_ALARM, level_before
from armwright.errors import ArmwrightError, InputError
from armwright.simulation.pulled_link import posture
from armwright.studio.live_doubt import LiveDoubt
from armwright.studio.pulled_arm import PULL_RATE, Choice, PulledArm, inside
from armwright.studio.touch_beliefs import Moment

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.studio.live_recording import LiveRecording
    from armwright.types import Array

LEVEL_TICKS = round(
    (CHANGE_WINDOW + GAP_BEFORE_ALARM) * PULL_RATE
)  # ticks until an alarm that tell what was felt before
SETTLED = 1.0  # [s] after a change of load or friction, in which what it makes the arm feel has settled
WAKE = 0.008  # [s] between two readings of the clock: four ticks
FRAME = 2  # readings of the clock between two frames
LARGEST_LAG = 0.1  # [s] of simulation that is made up for; what is later than that is dropped
GOAL_FILTER_RATE = 4.0  # [rad/s] of the filter that leads the reference to a goal
END_SECONDS = 1.0  # [s] that the thread has to end
SWAY_ANGLE, SWAY_RATE = 0.25, 0.8  # [rad], [rad/s] of the motion "sway"


def doubt_of(plant: PulledArm) -> LiveDoubt | None:
    """Return what watches for errors of a plant's model; None where its controller knows everything."""
    return None if plant.model is None else LiveDoubt(plant.model)


class LiveArm:
    """A running plant. All methods but `close` may be called from any thread.

    Attributes:
        plant: the present one. speed: simulated over real time, 0 when paused. goal: where the law takes the arm (n,).
        motion: "hold" or "sway". late: how often time was dropped. ticks: since the beginning.
        error: why the arm stands still, until it is reset or replaced; "" while it can go on.
    """

    kind = "simulated"

    def __init__(
        self,
        robot: Robot,
        publish: Callable[[bytes], None],
        choice: Choice | None = None,
        changed: Callable[[str], None] = lambda trouble: None,
    ) -> None:
        """Compile the plant and start the thread.

        Args:
            robot: the arm.
            publish: takes every frame, in the thread.
            choice: law and what the controller knows.
            changed: told, in the thread, when something has changed without an order, and what went wrong, if anything.
        """
        self._publish, self._changed, self._told = publish, changed, ""
        self.plant = PulledArm(robot, choice or Choice(), posture(robot))
        self.speed, self.motion = 1.0, "hold"
        self.goal: Array = np.array(self.plant.live.q)
        self._felt: deque[Array] = deque(maxlen=LEVEL_TICKS)
        self._before, self._settles = np.full(robot.n, np.nan), -np.inf
        self._doubt = doubt_of(self.plant)
        self._begin()
        self.late, self.ticks = 0, 0
        self.error = ""
        self._orders: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._recording: LiveRecording | None = None
        self._end, self._watched, self._ended = threading.Event(), threading.Event(), threading.Event()
        self._due, self._owed, self._looks = time.monotonic(), 0.0, 0
        self._thread = threading.Thread(target=self._run, name="studio simulation", daemon=True)
        self._thread.start()

    def _begin(self) -> None:
        self._ref, self._ref_speed = np.array(self.plant.live.q), np.zeros(self.plant.robot.n)
        self._frame, self._middle = 0, self.goal.copy()
        self.forget()

    def become(self, *, friction: float | None = None, payload: float | None = None) -> None:
        """Give the arm another friction or load; what it felt before is no level for what it feels then."""
        self.plant.become(friction=friction, payload=payload)
        if self._doubt is not None:
            self._doubt.reopen()
        self.forget()

    def forget(self) -> None:
        """Forget what was felt before: the arm has become another, with another load or friction."""
        self._felt.clear()
        self._before, self._settles = np.full(self.plant.robot.n, np.nan), self.plant.live.time + SETTLED

    def _listen(self) -> None:
        """Keep what is felt without an alarm, or, alarm or not, when a change of the arm has settled."""
        live = self.plant.live
        self._felt.append(np.array(live.outputs["tau_ext"]))
        new = live.time >= self._settles and not np.isfinite(self._before).all()
        if len(self._felt) == LEVEL_TICKS and (new or live.outputs["alarm"][0] < 0.0):
            level = level_before(np.array(self._felt), 1.0 / PULL_RATE)
            self._before = self._before if level is None else level

    def state(self) -> dict[str, Any]:
        """Return the settings of the running arm."""
        plant = self.plant
        return {
            "kind": self.kind,
            "law": plant.choice.law,
            "knows": plant.choice.knows,
            "friction": plant.friction,
            "payload": plant.payload,
            "speed": self.speed,
            "motion": self.motion,
            "recording": self.recording,
            "goal": self.goal.tolist(),
            "thresholds": plant.thresholds.tolist(),
            "friction_source": plant.friction_source,
            "error": self.error,
            "doubt": self.doubt,
        }

    def watched(self, by_anybody: bool) -> None:
        """Run only while somebody watches: an open tab elsewhere costs nothing."""
        (self._watched.set if by_anybody else self._watched.clear)()

    def order(self, action: Callable[[], Any]) -> Future[Any]:
        """Do something between two ticks; the future has its result."""
        future: Future[Any] = Future()
        self._orders.append((action, future))
        if self._ended.is_set():
            self._refuse()
        return future

    def close(self) -> None:
        """End the thread and a recording that runs."""
        self._end.set()
        self._watched.set()
        self._thread.join(END_SECONDS)
        recording = self.stop_recording("the studio has ended")
        if recording is not None:
            wait([recording.done], END_SECONDS)  # what was given to the system survives in any case

    # -- orders, done by the thread ------------------------------------------------------------------------------

    def replace(self, plant: PulledArm) -> None:
        """Continue with another plant, which was compiled elsewhere; a recording ends here, whole."""
        before = self.plant
        same = before.robot == plant.robot
        self.stop_recording(f"the {'controller' if same else 'arm'} was changed")
        self.plant = plant
        if before.robot.name == plant.robot.name and before.robot.n == plant.robot.n:
            plant.live.reset(np.array(before.live.q))
            plant.become(friction=before.friction, payload=before.payload)
        self.goal = np.array(plant.live.q)
        self._doubt = doubt_of(plant)
        self.error = self._told = ""
        self._begin()

    def go_to(self, q: Array) -> None:
        """Lead the reference to q (n,), within the limits."""
        if len(q) != self.plant.robot.n:
            raise InputError(f"goal: the arm has {self.plant.robot.n} joints, got {len(q)} numbers")
        self.goal = inside(self.plant.robot, q)
        self._middle = self.goal.copy()

    def let_go(self) -> None:
        """Stop pulling."""
        self.plant.let_go()

    def move(self, motion: str) -> None:
        """Hold, or sway about the last goal."""
        self.motion = motion
        self.go_to(self._middle)

    def reset(self) -> None:
        """Put the arm back to where it began, at rest."""
        self.plant.let_go()
        self.plant.live.reset(posture(self.plant.robot))
        self.goal = np.array(self.plant.live.q)
        self._doubt = doubt_of(self.plant)
        self.error = self._told = ""
        self._begin()

    def pause(self, speed: float) -> None:
        """Set simulated over real time; 0 stands still."""
        self.speed = speed

    def step(self, ticks: int) -> None:
        """Advance by some ticks while paused."""
        for _ in range(ticks):
            self._tick()
        self._send()

    def record(self, recording: LiveRecording) -> None:
        """Begin to hand over rows."""
        if self.recording:
            raise InputError("record: a recording runs already")
        if recording.plant is not self.plant:
            raise InputError("record: the arm was changed meanwhile; record again")
        self._recording = recording

    def stop_recording(self, reason: str) -> LiveRecording | None:
        """End a recording and return it; it is closed a little later, see its `done`. None if none runs."""
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.end(reason)
        return recording

    @property
    def recording(self) -> bool:
        """Return whether rows are kept."""
        return self._recording is not None and not self._recording.broken

    def moment(self) -> Moment:
        """Return a copy of the present."""
        p, live = self.plant, self.plant.live
        truth = p.truth()
        return Moment(
            live.time,
            np.array(live.q),
            np.array(live.qd),
            np.array(live.outputs["tau_ext"]),
            np.array(truth.torque),
            p.dry,
            np.array(truth.point),
            np.array(truth.force),
            p.body,
            bool(live.outputs["alarm"][0] >= 0.0),
            self._before.copy(),
            self.doubt,
        )

    @property
    def doubt(self) -> str:
        """What is wrong with the controller's model, in words."""
        return "" if self._doubt is None else self._doubt.said()

    # -- the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._end.is_set():
                try:
                    self._go_on()
                except Exception as error:  # noqa: BLE001 - a thread has no caller; the pages are told
                    self._stand_still(f"a defect of this program: {error!r:.200}")
                    time.sleep(WAKE)
        finally:
            self._ended.set()
            self._refuse()

    def _go_on(self) -> None:
        """Do what was ordered, and simulate what has passed since the last time."""
        self._work()
        if not self._watched.is_set() and not self._orders:
            self._watched.wait(0.05)
            self._due = time.monotonic()
            return
        now = time.monotonic()
        if now < self._due + WAKE:
            time.sleep(self._due + WAKE - now)
            now = time.monotonic()
        passed, self._due = now - self._due, now
        if passed > LARGEST_LAG:
            self.late += 1
            passed = LARGEST_LAG
        self._owed += passed * self.speed
        while self._owed > 0.5 / PULL_RATE and not self.error:
            self._owed -= 1.0 / PULL_RATE
            self._tick()
        self._owed = min(self._owed, 1.0 / PULL_RATE)
        self._looks += 1
        if self._looks % FRAME == 0 and self._watched.is_set():
            try:
                self._send()
            except Exception as error:  # noqa: BLE001 - a frame that nobody gets is no reason to stop the arm
                self._tell(f"the arm could not be shown: {error!r:.200}")

    def _work(self) -> None:
        while self._orders:
            action, future = self._orders.popleft()
            if not future.set_running_or_notify_cancel():  # whoever gave it has left; from here on nobody can cancel it
                continue
            try:
                result = action()
            except BaseException as error:  # whoever gave the order is told
                future.set_exception(error)
                if not isinstance(error, Exception):
                    raise
            else:
                future.set_result(result)

    def _refuse(self) -> None:
        """Let all orders fail that wait for a thread which has ended."""
        with suppress(IndexError):
            while True:
                _, future = self._orders.popleft()
                if future.set_running_or_notify_cancel():
                    future.set_exception(ArmwrightError("studio: the simulation has ended; start the studio again"))

    def _stand_still(self, error: str) -> None:
        self.error = error
        self._tell(error)

    def _tell(self, trouble: str) -> None:
        """Let the pages know, once for each trouble."""
        if trouble != self._told:
            self._told = trouble
            with suppress(Exception):
                self._changed(trouble)

    def _tick(self) -> None:
        """Lead the reference on and step."""
        dt = 1.0 / PULL_RATE
        if self.motion == "sway":
            phase = SWAY_RATE * self.plant.live.time + np.arange(self.plant.robot.n)
            self.goal = inside(self.plant.robot, self._middle + SWAY_ANGLE * np.sin(phase))
        pull = GOAL_FILTER_RATE * GOAL_FILTER_RATE * (self.goal - self._ref) - 2.0 * GOAL_FILTER_RATE * self._ref_speed
        self._ref_speed = self._ref_speed + dt * pull
        self._ref = self._ref + dt * self._ref_speed
        live = self.plant.live
        q, qd = np.array(live.q), np.array(live.qd)
        try:
            live.step(self._ref, self._ref_speed, pull)
        except ArmwrightError as error:
            self._stand_still(str(error))
            return
        if self._doubt is not None:
            self._doubt.add(q, qd, np.array(live.tau))
        self.ticks += 1
        self._listen()
        if self._recording is not None:
            self._recording.add(self.plant)
            if self._recording.broken:
                self._recording = None
            elif self._recording.full:
                self.stop_recording("ten minutes are the longest")

    def _send(self) -> None:
        p, live = self.plant, self.plant.live
        truth = p.truth()
        head = [live.time, self.speed, live.outputs["level"][0], live.outputs["alarm"][0], p.body, p.robot.n, 1.0]
        parts = (head, live.q, live.outputs["tau_ext"], truth.torque, truth.force, truth.point, live.inputs["target"])
        self._publish(np.concatenate(parts).astype("<f4").tobytes())
