# SPDX-License-Identifier: Apache-2.0
"""`Controller`: state, motion under way and safety of a virtual UR, one tick of 2 ms at a time; sockets are elsewhere.

`controller_states` has its one state and every transition; what is not listed is refused.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from armwright.errors import ArmwrightError, InputError, SimulationError
from armwright.lab.controller.controller_messages import CANNOT_FOLLOW, COLLISION_FELT, ErrorCodeMessage, words_of
from armwright.lab.controller.controller_states import (
    BRAKED,
    DURATIONS,
    HOLDING,
    STOPPED_FOR_SAFETY,
    WATCHED,
    CommandPlace,
    ControllerEvent,
    ControllerState,
    SafetyInputs,
    SafetyMode,
    after,
    awaited,
    safety_mode,
)
from armwright.lab.controller.input_watchdogs import InputWatchdogs
from armwright.lab.controller.motions import Hold, Motion, PathLostError, brake
from armwright.lab.controller.outbox import Outbox
from armwright.lab.controller.registers import Registers
from armwright.lab.controller.tick_solver import Solver
from armwright.motion.trajectory import Reference

if TYPE_CHECKING:
    from armwright.lab.controller.controller_messages import ControllerMessage
    from armwright.lab.lab_plant import LabPlant
    from armwright.types import Array


CONTROLLER_TICK = 0.002  # [s]
STOP_DECELERATION = 20.0  # of a protective stop [rad/s²]
PROGRAM_STOP_DECELERATION = 4.0  # of a program that is stopped [rad/s²]
SCALE_RATE = 4.0  # [1/s]: a motion is held within a quarter of a second
REDUCED_SHARE = 0.5  # of the joints' speed limits, in reduced mode
REDUCED_TOOL_SPEED = 0.75  # [m/s], in reduced mode
SPEED_MARGIN = 1.05  # over the joints' speed limits before the controller stops
JOINT_SPEED, JOINT_ACCELERATION = 1.05, 1.4  # of URScript's movej
TOOL_SPEED, TOOL_ACCELERATION = 0.25, 1.2  # of URScript's movel
NO_FORCE = 8.0  # [N] that an arm which moves freely may seem to feel
HEEDED = 0.5  # [s] that forces are remembered after a program has asked for contacts
CONTACT_FORCE = 30.0  # [N] that count as a contact; friction hides less
STEADY = 0.25  # [s] without motion
HISTORY = 1000  # steps of the controller whose joints are remembered


INPUT_EVENTS: dict[ControllerEvent, dict[str, bool]] = {
    ControllerEvent.EMERGENCY: {"emergency": True},
    ControllerEvent.EMERGENCY_OVER: {"emergency": False, "system": False},
    ControllerEvent.GUARD_OPEN: {"guard_open": True},
    ControllerEvent.GUARD_CLOSED: {"guard_open": False},
}
"""What an event leaves behind in `SafetyInputs`."""
HARD = frozenset(
    {ControllerEvent.COLLISION, ControllerEvent.BREAK, ControllerEvent.EMERGENCY, ControllerEvent.POWER_OFF}
)
"""Events at which the arm brakes as hard as it may."""
ENDS_PROGRAM = HARD | {ControllerEvent.STOP, ControllerEvent.END, ControllerEvent.RESTART}
AT_REST = frozenset({ControllerState.UNLOCKING, ControllerState.RELEASING})
"""States after which the arm holds where it really is."""


class ScriptProgram(Protocol):
    """A program that runs while the controller plays."""

    def tick(self) -> None:
        """Go on by one tick."""

    def close(self) -> None:
        """Take notice that the controller has dropped it."""


class ScriptTaker(Protocol):
    """What makes programs of texts."""

    @property
    def full(self) -> bool:
        """Return whether no further text should come for now."""

    def take(self, text: str) -> None:
        """Take a whole text; it runs as soon as it has been compiled."""

    def tick(self) -> None:
        """Go on by one tick."""

    def close(self) -> None:
        """End everything."""


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


def _against(force: Array, direction: Array) -> float:
    """Return how hard a force (3,) pushes against a direction (3,), or at all if that is zero [N]."""
    size = float(np.linalg.norm(direction))
    return -float(force @ direction) / size if size > 0.0 else float(np.linalg.norm(force))


class Controller:
    """A UR controller's behaviour.

    Attributes:
        plant: the arm. e_series, version, rate: as RTDE reports them. registers: shared with clients.
        state: see `ControllerState`. why: of the last protective stop. reference: of the last tick.
        lock: held by whoever looks at or changes anything; a tick takes it for some ten microseconds.
        scripts: makes programs of texts, if there is one.
        solver: for what a tick cannot wait for. execution_time: of the tick before this one [ms].
        outbox: what clients of the primary interface are to be told.
        messages: what the operator was told last; noted: how many that were so far.
        ignored: programs and commands that came in a state that does not take them.
        collisions: protective stops so far.
    """

    plant: LabPlant
    version: tuple[int, int, int, int]
    ticks: int
    reference: Reference
    execution_time: float
    state: ControllerState
    place: CommandPlace

    def __init__(self, plant: LabPlant, *, e_series: bool = False, software: str | None = None) -> None:
        self.plant, self.e_series = plant, e_series
        self.version = version_of(software, e_series)
        self.rate = 500.0 if e_series else 125.0
        self.ticks_per_publication = 1 if e_series else 4
        self.registers = Registers()
        self.lock = threading.RLock()
        self.state, self.why = ControllerState.READY, ""
        self._seen_state, self._since = self.state, 0
        self.inputs, self.place = SafetyInputs(), CommandPlace.REMOTE
        self.scale = 1.0
        self.reference = Reference(plant.live.q.copy(), np.zeros(6), np.zeros(6))
        self.motion: Motion = Hold(self.reference.q)
        self.moving = False
        self.program: ScriptProgram | None = None
        self.scripts: ScriptTaker | None = None
        self.solver = Solver()
        self._history, self._kept = np.tile(plant.live.q, (HISTORY, 1)), 0
        self._forces, self._heeded_until = np.zeros((HISTORY, 3)), 0
        self.ticks = self.publications = self.ignored = self.collisions = 0
        self.steady = self.execution_time = 0.0
        self.ft_offset = np.zeros(6)
        self.messages: deque[str] = deque(maxlen=100)
        self.noted = 0
        self.outbox = Outbox()
        self.watchdogs = InputWatchdogs()
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
        """Write the inputs that come from a client.

        Raises:
            InputError: a number is not finite; nothing of it is written.
        """
        for name, value in values.items():
            if not (all(map(isfinite, value)) if isinstance(value, tuple) else isfinite(value)):
                raise InputError(f"input packet refused: {name} is not finite; nothing of it was written")
        self.watchdogs.heard(values, self.time)
        self.registers.write(values)

    def say(self, record: ControllerMessage) -> None:
        """Tell the clients of the primary interface something, at the end of this tick; see `Outbox`."""
        self.outbox.put(record)
        words = words_of(record)
        if words:
            self.note(words)

    def note(self, words: str) -> None:
        """Tell the operator something, as the screen of a teach pendant would."""
        self.messages.append(words)
        self.noted += 1

    @property
    def time(self) -> float:
        """Return the controller time [s]."""
        return self.ticks * CONTROLLER_TICK

    def handle(self, event: ControllerEvent) -> bool:
        """Change the state; False if the event is refused in the present one.

        An input that lasts (an emergency stop pressed, a safeguard opened) is remembered also where it changes nothing.
        """
        self.inputs = self.inputs._replace(**INPUT_EVENTS.get(event, {}))
        follows = after(self.state, event)
        if follows is None:
            return False
        before, self.state = self.state, follows
        if event in ENDS_PROGRAM:
            self.drop_program()
            self.solver.forget()
            self.watchdogs.clear()
            if event in HARD:
                self._yield_to_the_world()
            self.halt(STOP_DECELERATION if event in HARD else PROGRAM_STOP_DECELERATION)
        elif follows in HOLDING and not self.motion.resumes:
            self.halt(PROGRAM_STOP_DECELERATION)  # what is steered from moment to moment is not taken up again
        if event is ControllerEvent.COLLISION:
            self.collisions += 1
            self.note(f"protective stop: {self.why}")
        if event is ControllerEvent.ELAPSED and follows is ControllerState.READY and before in AT_REST:
            self.settle()
        return True

    def drop_program(self) -> None:
        """Forget the program, and tell it so."""
        program, self.program = self.program, None
        if program is not None:
            program.close()

    def program_ended(self, program: ScriptProgram) -> None:
        """Take notice that a program has ended by itself."""
        if self.program is program:
            self.program = None
            self.handle(ControllerEvent.END)

    def press_emergency_stop(self, *, system: bool = False) -> None:
        """Press the robot's emergency stop, or that of the plant; the arm brakes and loses its power."""
        self.inputs = self.inputs._replace(system=system)
        self.handle(ControllerEvent.EMERGENCY)

    def reduce(self, reduced: bool) -> None:
        """Switch reduced mode on or off: see `REDUCED_SHARE`, `REDUCED_TOOL_SPEED`."""
        self.inputs = self.inputs._replace(reduced=reduced)

    @property
    def safety(self) -> SafetyMode:
        """Return what the safety system reports."""
        return safety_mode(self.state, self.inputs)

    def _yield_to_the_world(self) -> None:
        """Let the reference be where the arm is, and as fast; an arm in contact is not to be pushed on to its goal."""
        self.plant.live.memory["integral"][...] = 0.0
        self.reference = Reference(np.array(self.plant.live.q), np.array(self.plant.live.qd), np.zeros(6))

    def settle(self) -> None:
        """Hold where the arm really is."""
        self.plant.rest()
        q = np.array(self.plant.live.q)
        self.reference = Reference(q, np.zeros(6), np.zeros(6))
        self.motion, self.moving = Hold(q), False

    def protective_stop(self, why: str, code: int = CANNOT_FOLLOW, level: int = 3) -> None:
        """Stop for safety; clients are told the error's code and level."""
        self.why = why
        if self.handle(ControllerEvent.COLLISION):
            self.say(ErrorCodeMessage(code, 0, level, why))

    def halt(self, deceleration: float) -> None:
        """Brake the motion under way."""
        if self.moving or np.any(self.reference.qd):
            self.motion, self.moving = brake(self.reference, deceleration), True

    def begin(self, motion: Motion) -> None:
        """Start a motion in place of the present one."""
        if not self.moving:
            self.scale = self._wanted_scale()
        self.motion, self.moving = motion, True

    @property
    def instructed(self) -> bool:
        """Return whether the motion instruction under way is over for its program: the next one may come.

        The arm may still move: in a blend zone, or in the step that speedj and speedl keep after their time.
        """
        return not self.moving or self.motion.returned

    def tick(self) -> None:
        """Advance by one tick: state, answers, program, motion, safety, arm."""
        self._pass_time()
        self.solver.deliver()
        if self.scripts is not None:
            self.scripts.tick()
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
                self.note(f"fault: {error}")
                self.plant.live.reset(self.reference.q)
                self.handle(ControllerEvent.BREAK)
        if self.state in WATCHED and self.plant.alarm:
            level = float(self.plant.live.outputs["level"][0])
            self.protective_stop(f"collision, {level:.2f} of the threshold", COLLISION_FELT)
        self.ticks += 1
        if self.ticks % self.ticks_per_publication == 0:
            self._kept += 1
            self._history[self._kept % HISTORY] = self.plant.live.q
            heeded = self.ticks < self._heeded_until
            self._forces[self._kept % HISTORY] = self._felt() if heeded else 0.0
        still = not np.any(np.abs(self.plant.live.qd) > 1e-3) and not self.moving
        self.steady = self.steady + CONTROLLER_TICK if still else 0.0

    def _pass_time(self) -> None:
        """Leave a state whose time is over; obey inputs that last."""
        if self.state is not self._seen_state:
            self._seen_state, self._since = self.state, self.ticks
        lasts = DURATIONS.get(self.state)
        if lasts is not None and (self.ticks - self._since) * CONTROLLER_TICK >= lasts:
            self.handle(ControllerEvent.ELAPSED)
        late = self.watchdogs.overdue(self.time) if self.state is ControllerState.PLAYING else None
        if late is not None:
            self.note(f"watchdog: {late[0]} has not been heard; the program is told to {late[1]}")
            self.handle(ControllerEvent.PAUSE if late[1] == "pause" else ControllerEvent.END)
        event = awaited(self.state, self.inputs)
        if event is not None:
            self.handle(event)

    def _scaled(self) -> float:
        """Return how fast the motion under way goes on: by the slider, and 0 where it is held; it changes gradually."""
        goal = self._wanted_scale()
        change = goal - self.scale
        most = SCALE_RATE * CONTROLLER_TICK
        self.scale = goal if not self.moving or abs(change) <= most else self.scale + float(np.copysign(most, change))
        return self.scale

    def _wanted_scale(self) -> float:
        goal = 0.0 if self.state in HOLDING else self.registers.speed
        return min(goal, self._reduced()) if self.inputs.reduced else goal

    def _reduced(self) -> float:
        """Return the scale at which the motion under way would be as fast as reduced mode allows."""
        share = float(np.max(np.abs(self.reference.qd) / (REDUCED_SHARE * self.most_speed)))
        tool = float(np.linalg.norm(self.plant.now.target_speed[:3])) / REDUCED_TOOL_SPEED
        worst = max(share, tool)
        return self.scale / worst if worst > 0.0 else 1.0

    def _advance(self) -> None:
        before, scale = self.scale, self._scaled()
        if not self.moving:
            return
        if scale == 0.0 and self.state in HOLDING and self.motion.resumes:
            self.reference = Reference(self.reference.q, np.zeros(6), np.zeros(6))
            return
        try:
            at, ended = self.motion.step(scale)
        except PathLostError as lost:
            self.protective_stop(str(lost))
            return
        except ArmwrightError as error:  # the next move of a program cannot be made
            self.note(f"program ended: {error}")
            self.handle(ControllerEvent.END)
            return
        robot = self.plant.robot
        wrong = np.abs(at.qd) > SPEED_MARGIN * self.most_speed
        if self.state not in STOPPED_FOR_SAFETY and (wrong.any() or not np.isfinite(at.q).all()):
            self.protective_stop(f"joint {robot.joints[int(np.argmax(wrong))].name} would exceed its speed limit")
            return
        out = (at.q > robot.upper) | (at.q < robot.lower)
        if out.any():
            self.motion, self.moving = Hold(np.clip(at.q, robot.lower, robot.upper)), False
            self.protective_stop(f"joint {robot.joints[int(np.argmax(out))].name} would leave its range")
            return
        if scale != before:  # what a motion says of its acceleration is for an even scale
            at = at._replace(qdd=(at.qd - self.reference.qd) / CONTROLLER_TICK)
        self.reference = at
        if ended:
            held = np.array(self.plant.live.q) if self.state in STOPPED_FOR_SAFETY else at.q
            self.motion, self.moving = Hold(held), False
            self.reference = Reference(held, np.zeros(6), np.zeros(6))

    def touched(self, direction: Array) -> bool:
        """Return whether the observer feels the world push against a direction (3,); any direction, if it is zero."""
        return _against(self._felt(), direction) > CONTACT_FORCE

    def touched_steps(self, direction: Array) -> int:
        """Return how many of the controller's steps ago a contact against a direction (3,) began; 0 if there is none.

        It began when the push rose out of what is nothing (URScript's tool_contact). Who asks is expected to ask again.
        """
        self._heeded_until = self.ticks + round(HEEDED / CONTROLLER_TICK)
        if not self.touched(direction):
            return 0
        steps = 0
        while steps < HISTORY - 1 and _against(self._forces[(self._kept - steps) % HISTORY], direction) > NO_FORCE:
            steps += 1
        return max(1, steps)

    def _felt(self) -> Array:
        """Return the force (3,) that the observer feels at the TCP [N]."""
        return np.asarray(self.plant.look().force[:3] - self.ft_offset[:3])

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
