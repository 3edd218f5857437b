# SPDX-License-Identifier: Apache-2.0
"""The controller itself: state, motion under way, safety; one tick of 2 ms at a time. Sockets are elsewhere."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from armwright.errors import ArmwrightError, InputError, SimulationError
from armwright.lab.controller.motions import Hold, Motion, PathLostError, brake
from armwright.lab.controller.registers import Registers
from armwright.lab.controller.solver import Solver
from armwright.lab.controller.state import Event, State, after
from armwright.motion.reference import Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from armwright.lab.plant import Plant
    from armwright.types import Array

TICK = 0.002  # [s]
STOP_DECELERATION = 20.0  # of a protective stop [rad/s²]
SPEED_MARGIN = 1.05  # over the joints' speed limits before the controller stops
JOINT_SPEED, JOINT_ACCELERATION = 1.05, 1.4  # of URScript's movej
TOOL_SPEED, TOOL_ACCELERATION = 0.25, 1.2  # of URScript's movel
TOUCH = 30.0  # [N] that count as a contact; friction hides less
BRAKED = (State.OFF, State.IDLE, State.FAULT)
STEADY = 0.25  # [s] without motion
HISTORY = 1000  # steps of the controller whose joints are remembered


class Program(Protocol):
    """What runs while the controller plays."""

    def tick(self) -> None:
        """Go on by one tick."""


def version_of(software: str | None, e_series: bool) -> tuple[int, int, int, int]:
    """The version that is reported: major, minor, bugfix, build; 3.15.8 for CB3 and 5.11.6 for e-Series by default.

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
        state: see `State`. why: of the last protective stop. reference: of the last tick.
        lock: held by whoever looks at or changes anything; a tick takes it for some ten microseconds.
        solver: for what a tick cannot wait for.
        ignored: moves that came while another was under way (004 §1.3). collisions: protective stops so far.
    """

    def __init__(self, plant: Plant, *, e_series: bool = False, software: str | None = None) -> None:
        self.plant, self.e_series = plant, e_series
        self.version = version_of(software, e_series)
        self.rate = 500.0 if e_series else 125.0
        self.ticks_per_publication = 1 if e_series else 4
        self.registers = Registers()
        self.lock = threading.RLock()
        self.state, self.why = State.READY, ""
        self.reference = Reference(plant.live.q.copy(), np.zeros(6), np.zeros(6))
        self.motion: Motion = Hold(self.reference.q)
        self.moving = False
        self.finished: Callable[[], None] | None = None
        self.program: Program | None = None
        self.solver = Solver()
        self._history, self._kept = np.tile(plant.live.q, (HISTORY, 1)), 0
        self.ticks = self.publications = self.ignored = self.collisions = 0
        self.steady = 0.0
        self.ft_offset = np.zeros(6)
        self.messages: deque[str] = deque(maxlen=100)
        limits = [joint.limits for joint in plant.robot.joints]
        self.most_speed = np.array([limit.velocity for limit in limits])
        self.most_acceleration = np.minimum(np.array([limit.acceleration for limit in limits]), 40.0)

    # what RTDE connections need
    def claim(self, names: tuple[str, ...], owner: object) -> bool:
        """See `Registers.claim`."""
        return self.registers.claim(names, owner)

    def release(self, owner: object) -> None:
        """A client has gone: its inputs are free. What it commanded goes on, as on a real controller."""
        self.registers.release(owner)

    def write_inputs(self, values: Mapping[str, Any]) -> None:
        """Inputs from a client."""
        self.registers.write(values)

    @property
    def time(self) -> float:
        """Controller time [s]."""
        return self.ticks * TICK

    def handle(self, event: Event) -> bool:
        """Change the state; False if the event is refused in the present one."""
        follows = after(self.state, event)
        if follows is None:
            return False
        before, self.state = self.state, follows
        if event in (Event.STOP, Event.POWER_OFF, Event.COLLISION, Event.BREAK, Event.PAUSE):
            if event is not Event.PAUSE:
                self.program = None
                self.solver.forget()
            hard = event in (Event.COLLISION, Event.BREAK)
            self.halt(STOP_DECELERATION if hard else 4.0)
        if event is Event.COLLISION and before is not State.STOPPED:
            self.collisions += 1
            self.messages.append(f"protective stop: {self.why}")
        if event in (Event.UNLOCK, Event.RELEASE):
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
        self.handle(Event.COLLISION)

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
        """Whether a move would be obeyed."""
        return self.state in (State.READY, State.PLAYING)

    def tick(self) -> None:
        """One tick: answers, program, motion, safety, arm."""
        self.solver.deliver()
        if self.program is not None and self.state is State.PLAYING:
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
                self.handle(Event.BREAK)
        if self.state in (State.READY, State.PLAYING, State.PAUSED) and self.plant.alarm:
            level = float(self.plant.live.outputs["level"][0])
            self.protective_stop(f"collision, {level:.2f} of the threshold")
        self.ticks += 1
        if self.ticks % self.ticks_per_publication == 0:
            self._kept += 1
            self._history[self._kept % HISTORY] = self.plant.live.q
        still = not np.any(np.abs(self.plant.live.qd) > 1e-3) and not self.moving
        self.steady = self.steady + TICK if still else 0.0

    def _advance(self) -> None:
        if not self.moving:
            return
        try:
            at, ended = self.motion.step(self.registers.speed)
        except PathLostError as lost:
            self.protective_stop(str(lost))
            return
        except ArmwrightError as error:  # the next move of a program cannot be
            self.messages.append(f"program ended: {error}")
            self.handle(Event.STOP)
            return
        robot = self.plant.robot
        wrong = np.abs(at.qd) > SPEED_MARGIN * self.most_speed
        if self.state is not State.STOPPED and (wrong.any() or not np.isfinite(at.q).all()):
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
        """Whether the observer feels the world push against a direction (3,); against any, if it is zero."""
        force = self.plant.look().force[:3] - self.ft_offset[:3]
        size = float(np.linalg.norm(direction))
        felt = -float(force @ direction) / size if size > 0.0 else float(np.linalg.norm(force))
        return felt > TOUCH

    def past(self, steps: int) -> Array:
        """Joints (6,) that the arm had so many of the controller's steps ago.

        Raises:
            InputError: before what is kept.
        """
        if not 0 <= steps < HISTORY:
            raise InputError(f"history: 0 to {HISTORY - 1} steps are kept, got {steps}")
        return np.array(self._history[(self._kept - steps) % HISTORY])

    def target_pose(self) -> Array:
        """TCP pose (6,) of the reference."""
        return self.plant.pose_of(self.reference.q)
