# SPDX-License-Identifier: Apache-2.0
"""`Controller`: state, motion under way and safety of a virtual UR, one tick of 2 ms at a time; sockets are elsewhere.

`ControllerState` and `after` are its one state and every transition; what is not listed is refused. `Solver` does work
that a tick cannot wait for, such as inverse kinematics (a pose out of reach takes some hundred milliseconds): in a
thread next to the clock, answered in a tick; the command that asked stays under way until then. `Registers` are the
inputs and outputs that clients share with the controller: registers, digital and analogue lines, and who owns what.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from armwright.errors import ArmwrightError, InputError, SimulationError
from armwright.lab.controller.motions import Hold, Motion, PathLostError, brake
from armwright.lab.controller.outbox import Outbox
from armwright.motion.trajectory import Reference

if TYPE_CHECKING:
    from armwright.lab.controller.controller_messages import ControllerMessage
    from armwright.lab.lab_plant import LabPlant
    from armwright.types import Array


class ControllerState(Enum):
    """States: what the arm is ready to do."""

    OFF = "power off"
    IDLE = "brakes on"
    READY = "running, no program"
    PLAYING = "program running"
    PAUSED = "program paused"
    STOPPED = "protective stop"
    FAULT = "fault"


class ControllerEvent(Enum):
    """Events that may change the state."""

    POWER_ON = "power on"
    POWER_OFF = "power off"
    RELEASE = "brake release"
    PLAY = "play"
    PAUSE = "pause"
    STOP = "stop"
    COLLISION = "protective stop"
    UNLOCK = "unlock protective stop"
    BREAK = "fault"
    RESTART = "restart safety"


S, E = ControllerState, ControllerEvent
EDGES: dict[tuple[ControllerState, ControllerEvent], ControllerState] = {
    (S.OFF, E.POWER_ON): S.IDLE,
    (S.IDLE, E.POWER_ON): S.IDLE,
    (S.OFF, E.RELEASE): S.READY,  # a controller powers up on the way
    (S.IDLE, E.RELEASE): S.READY,
    (S.READY, E.RELEASE): S.READY,
    (S.READY, E.POWER_ON): S.READY,
    (S.READY, E.PLAY): S.PLAYING,
    (S.PLAYING, E.PLAY): S.PLAYING,  # a new program replaces the old one
    (S.PAUSED, E.PLAY): S.PLAYING,
    (S.PLAYING, E.PAUSE): S.PAUSED,
    (S.PAUSED, E.PAUSE): S.PAUSED,
    (S.PLAYING, E.STOP): S.READY,
    (S.PAUSED, E.STOP): S.READY,
    (S.READY, E.STOP): S.READY,
    (S.READY, E.COLLISION): S.STOPPED,
    (S.PLAYING, E.COLLISION): S.STOPPED,
    (S.PAUSED, E.COLLISION): S.STOPPED,
    (S.STOPPED, E.UNLOCK): S.READY,
    (S.STOPPED, E.STOP): S.STOPPED,
    (S.FAULT, E.RESTART): S.OFF,
}
for _state in ControllerState:
    EDGES[_state, E.BREAK] = S.FAULT
    if _state is not S.FAULT:
        EDGES[_state, E.POWER_OFF] = S.OFF
del S, E

ROBOT_MODES = {ControllerState.OFF: 3, ControllerState.IDLE: 5, ControllerState.FAULT: 3}
"""RTDE robot_mode: 3 power off, 5 idle; every other state is 7, running."""
RUNTIME = {ControllerState.PLAYING: 2, ControllerState.PAUSED: 4}
"""RTDE runtime_state: 2 playing, 4 paused; every other state is 1, stopped."""
SAFETY_MODES = {ControllerState.STOPPED: 3, ControllerState.FAULT: 9}
"""RTDE safety_mode: 3 protective stop, 9 fault; every other state is 1, normal."""


def after(state: ControllerState, event: ControllerEvent) -> ControllerState | None:
    """Return the state that follows, or None if the event is refused."""
    return EDGES.get((state, event))


MOST_JOBS = 64


class Solver:
    """Runs jobs one after the other; its thread lives only while there are some."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: deque[tuple[Callable[[], Any], Callable[[Any], None]]] = deque()
        self._answers: deque[Callable[[], None]] = deque()
        self._thread: threading.Thread | None = None
        self._forgotten = 0

    @property
    def busy(self) -> bool:
        """Return whether an answer is still to come."""
        with self._lock:
            return bool(self._jobs or self._answers)

    def ask(self, job: Callable[[], Any], then: Callable[[Any], None]) -> None:
        """Run `job` in the thread; `deliver` passes its result, or the `ArmwrightError` that it raised, to `then`.

        Raises:
            InputError: too many are waiting.
        """
        with self._lock:
            if len(self._jobs) >= MOST_JOBS:
                raise InputError(f"{MOST_JOBS} poses are waiting for their inverse kinematics already")
            self._jobs.append((job, then))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="lab solver", daemon=True)
                self._thread.start()

    def deliver(self) -> None:
        """Give the answers that have come; called by the tick."""
        while self._answers:
            with self._lock:
                if not self._answers:  # dropped in the meantime
                    return
                answer = self._answers.popleft()
            answer()

    def forget(self) -> None:
        """Drop all answers: what is under way ends unheard."""
        with self._lock:
            self._jobs.clear()
            self._answers.clear()
            self._forgotten += 1

    def close(self) -> None:
        """Forget everything; wait for the thread."""
        self.forget()
        thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._thread = None
                    return
                job, then = self._jobs[0]
                age = self._forgotten
            try:
                result: Any = job()
            except ArmwrightError as error:
                result = error
            with self._lock:
                if age == self._forgotten:
                    self._jobs.popleft()
                    self._answers.append(lambda then=then, result=result: then(result))  # type: ignore[misc]


class Registers:
    """48 integers and 48 doubles each way, and the lines of the control box.

    Attributes:
        ints, doubles: what clients wrote. out_ints, out_doubles: what the controller answers.
        digital: output bits (8 standard, 8 configurable, 2 tool). analogue: two outputs, fractions of full scale.
        speed: of the slider, (0, 1]. outside: wrench (6,) of an external sensor.
    """

    def __init__(self) -> None:
        self.ints, self.out_ints = [0] * 48, [0] * 48
        self.doubles, self.out_doubles = [0.0] * 48, [0.0] * 48
        self.bits, self.digital, self.analogue, self.speed = [0, 0], 0, [0.0, 0.0], 1.0
        self.outside = (0.0,) * 6
        self._owners: dict[str, object] = {}

    def claim(self, names: tuple[str, ...], owner: object) -> bool:
        """Take inputs for one owner; False if another has one of them. Masked lines may be shared."""
        own = [n for n in names if "_register" in n or n == "external_force_torque"]
        if any(self._owners.get(name, owner) is not owner for name in own):
            return False
        self._owners.update(dict.fromkeys(own, owner))
        return True

    def release(self, owner: object) -> None:
        """Give all inputs of an owner back."""
        self._owners = {name: who for name, who in self._owners.items() if who is not owner}

    def write(self, values: Mapping[str, Any]) -> None:
        """Write inputs; what is not finite is ignored."""
        for name, value in values.items():
            if name.startswith("input_int_register_"):
                self.ints[int(name[19:])] = value
            elif name.startswith("input_double_register_"):
                if np.isfinite(value):
                    self.doubles[int(name[22:])] = value
            elif name.startswith("input_bit_registers"):
                self.bits[name.endswith("63")] = value
        self._lines(values)

    def _lines(self, values: Mapping[str, Any]) -> None:
        for kind, shift, width in (("standard", 0, 255), ("configurable", 8, 255), ("tool", 16, 3)):
            mask = values.get(f"{kind}_digital_output_mask", 0) & width
            value = values.get(f"{kind}_digital_output", 0) & mask
            self.digital = self.digital & ~(mask << shift) | value << shift
        for k in (0, 1):
            level = values.get(f"standard_analog_output_{k}")
            if level is not None and values.get("standard_analog_output_mask", 3) >> k & 1 and np.isfinite(level):
                self.analogue[k] = float(np.clip(level, 0.0, 1.0))
        if values.get("speed_slider_mask", 0) & 1 and np.isfinite(values.get("speed_slider_fraction", 1.0)):
            self.speed = float(np.clip(values["speed_slider_fraction"], 0.01, 1.0))
        outside = values.get("external_force_torque")
        if outside is not None and np.isfinite(outside).all():
            self.outside = tuple(outside)


CONTROLLER_TICK = 0.002  # [s]
STOP_DECELERATION = 20.0  # of a protective stop [rad/s²]
SPEED_MARGIN = 1.05  # over the joints' speed limits before the controller stops
JOINT_SPEED, JOINT_ACCELERATION = 1.05, 1.4  # of URScript's movej
TOOL_SPEED, TOOL_ACCELERATION = 0.25, 1.2  # of URScript's movel
CONTACT_FORCE = 30.0  # [N] that count as a contact; friction hides less
BRAKED = (ControllerState.OFF, ControllerState.IDLE, ControllerState.FAULT)
STEADY = 0.25  # [s] without motion
HISTORY = 1000  # steps of the controller whose joints are remembered


class ScriptProgram(Protocol):
    """A program that runs while the controller plays."""

    def tick(self) -> None:
        """Go on by one tick."""


def version_of(software: str | None, e_series: bool) -> tuple[int, int, int, int]:
    """Return the reported version: major, minor, bugfix, build; by default 3.15.8 for CB3 and 5.11.6 for e-Series.

    Raises:
        InputError: no version, or one of the other series.
    """
    if software is None:
        return (5, 11, 6, 0) if e_series else (3, 15, 8, 106339)
    parts = software.split(".")
    major = "5" if e_series else "3"
    if (
        not 2 <= len(parts) <= 4
        or parts[0] != major
        or not all(p.isascii() and p.isdigit() and len(p) < 8 for p in parts)
    ):
        raise InputError(f"software {software!r}: numbers such as {major}.12.3 needed for this series")
    numbers = [*map(int, parts), 0, 0][:4]
    return numbers[0], numbers[1], numbers[2], numbers[3]


class Controller:
    """A UR controller's behaviour.

    Attributes:
        plant: the arm. e_series, version, rate: as RTDE reports them. registers: shared with clients.
        state: see `ControllerState`. why: of the last protective stop. reference: of the last tick.
        lock: held by whoever looks at or changes anything; a tick takes it for some ten microseconds.
        solver: for what a tick cannot wait for.
        outbox: what clients of the primary interface are to be told.
        ignored: moves that came while another was under way (004, section 4.4.1). collisions: protective stops so far.
    """

    def __init__(self, plant: LabPlant, *, e_series: bool = False, software: str | None = None) -> None:
        self.plant, self.e_series = plant, e_series
        self.version = version_of(software, e_series)
        self.rate = 500.0 if e_series else 125.0
        self.ticks_per_publication = 1 if e_series else 4
        self.registers = Registers()
        self.lock = threading.RLock()
        self.state, self.why = ControllerState.READY, ""
        self.reference = Reference(plant.live.q.copy(), np.zeros(6), np.zeros(6))
        self.motion: Motion = Hold(self.reference.q)
        self.moving = False
        self.finished: Callable[[], None] | None = None
        self.program: ScriptProgram | None = None
        self.solver = Solver()
        self._history, self._kept = np.tile(plant.live.q, (HISTORY, 1)), 0
        self.ticks = self.publications = self.ignored = self.collisions = 0
        self.steady = 0.0
        self.ft_offset = np.zeros(6)
        self.messages: deque[str] = deque(maxlen=100)
        self.outbox = Outbox()
        limits = [joint.limits for joint in plant.robot.joints]
        self.most_speed = np.array([limit.velocity for limit in limits])
        self.most_acceleration = np.minimum(np.array([limit.acceleration for limit in limits]), 40.0)

    # for RTDE connections
    def claim(self, names: tuple[str, ...], owner: object) -> bool:
        """See `Registers.claim`."""
        return self.registers.claim(names, owner)

    def release(self, owner: object) -> None:
        """Free the inputs of a client that has gone. What it commanded goes on, as on a real controller."""
        self.registers.release(owner)

    def write_inputs(self, values: Mapping[str, Any]) -> None:
        """Write the inputs that come from a client."""
        self.registers.write(values)

    def say(self, record: ControllerMessage) -> None:
        """Tell the clients of the primary interface something, at the end of this tick; see `Outbox`."""
        self.outbox.put(record)

    @property
    def time(self) -> float:
        """Return the controller time [s]."""
        return self.ticks * CONTROLLER_TICK

    def handle(self, event: ControllerEvent) -> bool:
        """Change the state; False if the event is refused in the present one."""
        follows = after(self.state, event)
        if follows is None:
            return False
        before, self.state = self.state, follows
        if event in (
            ControllerEvent.STOP,
            ControllerEvent.POWER_OFF,
            ControllerEvent.COLLISION,
            ControllerEvent.BREAK,
            ControllerEvent.PAUSE,
        ):
            if event is not ControllerEvent.PAUSE:
                self.program = None
                self.solver.forget()
            hard = event in (ControllerEvent.COLLISION, ControllerEvent.BREAK)
            self.halt(STOP_DECELERATION if hard else 4.0)
        if event is ControllerEvent.COLLISION and before is not ControllerState.STOPPED:
            self.collisions += 1
            self.messages.append(f"protective stop: {self.why}")
        if event in (ControllerEvent.UNLOCK, ControllerEvent.RELEASE):
            self.settle()
        return True

    def settle(self) -> None:
        """Hold where the arm really is."""
        self.plant.rest()
        q = np.array(self.plant.live.q)
        self.reference = Reference(q, np.zeros(6), np.zeros(6))
        self.motion, self.moving, self.finished = Hold(q), False, None

    def protective_stop(self, why: str) -> None:
        """Stop for safety."""
        self.why = why
        self.handle(ControllerEvent.COLLISION)

    def halt(self, deceleration: float) -> None:
        """Brake the motion under way; whoever waits for it is not told that it has ended."""
        self.finished = None
        if self.moving or np.any(self.reference.qd):
            self.motion, self.moving = brake(self.reference, deceleration), True

    def begin(self, motion: Motion, finished: Callable[[], None] | None = None) -> None:
        """Start a motion in place of the present one."""
        self.motion, self.moving, self.finished = motion, True, finished

    @property
    def may_move(self) -> bool:
        """Return whether a move would be obeyed."""
        return self.state in (ControllerState.READY, ControllerState.PLAYING)

    def tick(self) -> None:
        """Advance by one tick: answers, program, motion, safety, arm."""
        self.solver.deliver()
        if self.program is not None and self.state is ControllerState.PLAYING:
            self.program.tick()
        self._advance()
        if self.state in BRAKED:
            self.plant.brake()
            self.settle()
        else:
            try:
                self.plant.step(*self.reference)
            except SimulationError as error:
                self.messages.append(f"fault: {error}")
                self.plant.live.reset(self.reference.q)
                self.handle(ControllerEvent.BREAK)
        if self.state in (ControllerState.READY, ControllerState.PLAYING, ControllerState.PAUSED) and self.plant.alarm:
            level = float(self.plant.live.outputs["level"][0])
            self.protective_stop(f"collision, {level:.2f} of the threshold")
        self.ticks += 1
        if self.ticks % self.ticks_per_publication == 0:
            self._kept += 1
            self._history[self._kept % HISTORY] = self.plant.live.q
        still = not np.any(np.abs(self.plant.live.qd) > 1e-3) and not self.moving
        self.steady = self.steady + CONTROLLER_TICK if still else 0.0

    def _advance(self) -> None:
        if not self.moving:
            return
        try:
            at, ended = self.motion.step(self.registers.speed)
        except PathLostError as lost:
            self.protective_stop(str(lost))
            return
        except ArmwrightError as error:  # the next move of a program cannot be made
            self.messages.append(f"program ended: {error}")
            self.handle(ControllerEvent.STOP)
            return
        robot = self.plant.robot
        wrong = np.abs(at.qd) > SPEED_MARGIN * self.most_speed
        if self.state is not ControllerState.STOPPED and (wrong.any() or not np.isfinite(at.q).all()):
            self.protective_stop(f"joint {robot.joints[int(np.argmax(wrong))].name} would exceed its speed limit")
            return
        out = (at.q > robot.upper) | (at.q < robot.lower)
        if out.any():
            self.motion, self.moving = Hold(np.clip(at.q, robot.lower, robot.upper)), False
            self.protective_stop(f"joint {robot.joints[int(np.argmax(out))].name} would leave its range")
            return
        self.reference = at
        if ended:
            self.motion, self.moving = Hold(at.q), False
            self.reference = Reference(at.q, np.zeros(6), np.zeros(6))
            told, self.finished = self.finished, None
            if told is not None:
                told()

    def touched(self, direction: Array) -> bool:
        """Return whether the observer feels the world push against a direction (3,); any direction, if it is zero."""
        force = self.plant.look().force[:3] - self.ft_offset[:3]
        size = float(np.linalg.norm(direction))
        felt = -float(force @ direction) / size if size > 0.0 else float(np.linalg.norm(force))
        return felt > CONTACT_FORCE

    def past(self, steps: int) -> Array:
        """Return the joints (6,) that the arm had `steps` of the controller's steps ago.

        Raises:
            InputError: that is longer ago than is kept.
        """
        if not 0 <= steps < HISTORY:
            raise InputError(f"history: 0 to {HISTORY - 1} steps are kept, got {steps}")
        return np.array(self._history[(self._kept - steps) % HISTORY])

    def target_pose(self) -> Array:
        """Return the TCP pose (6,) of the reference."""
        return self.plant.pose_of(self.reference.q)
