# SPDX-License-Identifier: Apache-2.0
"""The one state of the controller: every state, every event, every transition, and how each state shows to clients.

`after` is the table of transitions; what is not listed is refused. Some states end by themselves (`DURATIONS`, with the
event `ELAPSED`), as a real controller takes its time to power up, to release brakes or to unlock. Inputs that last (an
emergency stop that is still pressed, a safeguard that stands open, reduced mode) are `SafetyInputs`; they are looked at
again whenever a state is reached in which they matter.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class ControllerState(Enum):
    """States: what the arm is ready to do."""

    BOOTING = "booting"
    OFF = "power off"
    POWERING = "powering on"
    STARTING = "powering on, brakes to be released"
    IDLE = "brakes on"
    RELEASING = "releasing brakes"
    READY = "running, no program"
    PLAYING = "program running"
    PAUSED = "program paused"
    STOPPING = "stopping the program"
    GUARDED = "safeguard stop, no program"
    HELD = "safeguard stop, program held"
    BARRED = "safeguard stop, program paused"
    RECOVERY = "recovery"
    STOPPED = "protective stop"
    UNLOCKING = "unlocking the protective stop"
    EMERGENCY = "emergency stop, arm brakes"
    LOCKED = "emergency stop, power off"
    UNPOWERING = "powering off"
    FAULT = "fault"


class ControllerEvent(Enum):
    """Events that may change the state."""

    POWER_ON = "power on"
    POWER_OFF = "power off"
    RELEASE = "brake release"
    PLAY = "play"
    PAUSE = "pause"
    STOP = "stop"
    END = "end of program"
    COLLISION = "protective stop"
    UNLOCK = "unlock protective stop"
    EMERGENCY = "emergency stop pressed"
    EMERGENCY_OVER = "emergency stop released"
    GUARD_OPEN = "safeguard opened"
    GUARD_CLOSED = "safeguard closed"
    BEYOND = "joints beyond safety limits"
    WITHIN = "joints within safety limits"
    BREAK = "fault"
    RESTART = "restart safety"
    ELAPSED = "the state's time is over"


S, E = ControllerState, ControllerEvent
DURATIONS: dict[ControllerState, float] = {
    S.BOOTING: 0.5,
    S.POWERING: 0.3,
    S.STARTING: 0.2,
    S.RELEASING: 0.2,
    S.STOPPING: 0.2,
    S.UNLOCKING: 0.2,
    S.UNPOWERING: 0.3,
    S.EMERGENCY: 0.5,
}
"""How long a state lasts that ends by itself [s]: longer than the 0.1 s between two state packages."""

BRAKED = frozenset({S.BOOTING, S.OFF, S.POWERING, S.STARTING, S.IDLE, S.RELEASING, S.LOCKED, S.FAULT})
"""States in which the brakes hold the arm."""
MOBILE = frozenset({S.READY, S.PLAYING})
"""States in which a move is obeyed."""
HOLDING = frozenset({S.PAUSED, S.HELD, S.BARRED})
"""States in which a program waits and the motion under way stands still, to go on later."""
WATCHED = frozenset({S.READY, S.PLAYING, S.PAUSED, S.STOPPING, S.GUARDED, S.HELD, S.BARRED, S.RECOVERY})
"""States in which a collision is a protective stop."""
STOPPED_FOR_SAFETY = frozenset({S.STOPPED, S.UNLOCKING, S.EMERGENCY, S.LOCKED})
WITH_PROGRAM = frozenset({S.PLAYING, S.STOPPING}) | HOLDING
"""States in which there is a program."""


def _edges() -> dict[tuple[ControllerState, ControllerEvent], ControllerState]:
    edges = {
        (S.BOOTING, E.ELAPSED): S.OFF,
        (S.OFF, E.POWER_ON): S.POWERING,
        (S.OFF, E.POWER_OFF): S.OFF,
        (S.OFF, E.RELEASE): S.STARTING,  # a controller powers up on the way
        (S.POWERING, E.ELAPSED): S.IDLE,
        (S.POWERING, E.RELEASE): S.STARTING,
        (S.STARTING, E.ELAPSED): S.RELEASING,
        (S.IDLE, E.RELEASE): S.RELEASING,
        (S.RELEASING, E.ELAPSED): S.READY,
        (S.READY, E.PLAY): S.PLAYING,
        (S.READY, E.STOP): S.READY,
        (S.READY, E.END): S.READY,
        (S.READY, E.GUARD_OPEN): S.GUARDED,
        (S.READY, E.BEYOND): S.RECOVERY,
        (S.PLAYING, E.PLAY): S.PLAYING,  # a new program replaces the old one
        (S.PLAYING, E.PAUSE): S.PAUSED,
        (S.PLAYING, E.STOP): S.STOPPING,
        (S.PLAYING, E.END): S.READY,
        (S.PLAYING, E.GUARD_OPEN): S.HELD,
        (S.PAUSED, E.PLAY): S.PLAYING,
        (S.PAUSED, E.PAUSE): S.PAUSED,
        (S.PAUSED, E.STOP): S.STOPPING,
        (S.PAUSED, E.END): S.READY,
        (S.PAUSED, E.GUARD_OPEN): S.BARRED,
        (S.STOPPING, E.PLAY): S.PLAYING,
        (S.STOPPING, E.STOP): S.STOPPING,
        (S.STOPPING, E.ELAPSED): S.READY,
        (S.STOPPING, E.GUARD_OPEN): S.GUARDED,
        (S.GUARDED, E.STOP): S.GUARDED,
        (S.GUARDED, E.GUARD_CLOSED): S.READY,
        (S.HELD, E.PAUSE): S.BARRED,
        (S.HELD, E.STOP): S.GUARDED,
        (S.HELD, E.END): S.GUARDED,
        (S.HELD, E.GUARD_CLOSED): S.PLAYING,
        (S.BARRED, E.PAUSE): S.BARRED,
        (S.BARRED, E.STOP): S.GUARDED,
        (S.BARRED, E.END): S.GUARDED,
        (S.BARRED, E.GUARD_CLOSED): S.PAUSED,
        (S.RECOVERY, E.STOP): S.RECOVERY,
        (S.RECOVERY, E.WITHIN): S.READY,
        (S.STOPPED, E.UNLOCK): S.UNLOCKING,
        (S.STOPPED, E.STOP): S.STOPPED,
        (S.UNLOCKING, E.UNLOCK): S.UNLOCKING,
        (S.UNLOCKING, E.STOP): S.UNLOCKING,
        (S.UNLOCKING, E.COLLISION): S.STOPPED,
        (S.UNLOCKING, E.ELAPSED): S.READY,
        (S.EMERGENCY, E.ELAPSED): S.LOCKED,
        (S.LOCKED, E.EMERGENCY_OVER): S.OFF,
        (S.UNPOWERING, E.POWER_OFF): S.UNPOWERING,
        (S.UNPOWERING, E.ELAPSED): S.OFF,
    }
    for state in ControllerState:
        edges[state, E.BREAK] = S.FAULT
        if state not in (S.EMERGENCY, S.LOCKED):
            edges[state, E.RESTART] = S.BOOTING
        if state in (S.BOOTING, S.OFF):
            edges[state, E.EMERGENCY] = S.LOCKED
        elif state not in (S.EMERGENCY, S.LOCKED, S.FAULT):
            edges[state, E.EMERGENCY] = S.EMERGENCY
            edges[state, E.POWER_OFF] = S.UNPOWERING
        if state in WATCHED:
            edges[state, E.COLLISION] = S.STOPPED
        if state in WATCHED | {S.STARTING, S.RELEASING}:  # it has power already, or gets it
            edges.setdefault((state, E.RELEASE), state)
        if state in WATCHED | {S.POWERING, S.STARTING, S.IDLE, S.RELEASING}:
            edges.setdefault((state, E.POWER_ON), state)
    return edges


EDGES = _edges()
"""(state, event) → the state that follows."""


def after(state: ControllerState, event: ControllerEvent) -> ControllerState | None:
    """Return the state that follows, or None if the event is refused."""
    return EDGES.get((state, event))


class RobotMode(Enum):
    """RTDE robot_mode, and the mode of the primary and secondary interfaces."""

    BOOTING = 2
    POWER_OFF = 3
    POWER_ON = 4
    IDLE = 5
    RUNNING = 7


ROBOT_MODES: dict[ControllerState, RobotMode] = {
    S.BOOTING: RobotMode.BOOTING,
    S.OFF: RobotMode.POWER_OFF,
    S.POWERING: RobotMode.POWER_ON,
    S.STARTING: RobotMode.POWER_ON,
    S.IDLE: RobotMode.IDLE,
    S.RELEASING: RobotMode.IDLE,
    S.LOCKED: RobotMode.POWER_OFF,
    S.FAULT: RobotMode.POWER_OFF,
}
"""Every other state is running, that of a protective stop too."""


class RuntimeState(Enum):
    """RTDE runtime_state."""

    STOPPING = 0
    STOPPED = 1
    PLAYING = 2
    PAUSED = 4


RUNTIME = {S.PLAYING: RuntimeState.PLAYING, S.STOPPING: RuntimeState.STOPPING} | dict.fromkeys(
    HOLDING, RuntimeState.PAUSED
)
"""Every other state has no program: stopped."""


class SafetyMode(Enum):
    """RTDE safety_mode; the dashboard says the names."""

    NORMAL = 1
    REDUCED = 2
    PROTECTIVE_STOP = 3
    RECOVERY = 4
    SAFEGUARD_STOP = 5
    SYSTEM_EMERGENCY_STOP = 6
    ROBOT_EMERGENCY_STOP = 7
    VIOLATION = 8
    FAULT = 9


SAFETY_MODES = {
    S.STOPPED: SafetyMode.PROTECTIVE_STOP,
    S.UNLOCKING: SafetyMode.PROTECTIVE_STOP,
    S.GUARDED: SafetyMode.SAFEGUARD_STOP,
    S.HELD: SafetyMode.SAFEGUARD_STOP,
    S.BARRED: SafetyMode.SAFEGUARD_STOP,
    S.RECOVERY: SafetyMode.RECOVERY,
    S.EMERGENCY: SafetyMode.ROBOT_EMERGENCY_STOP,
    S.LOCKED: SafetyMode.ROBOT_EMERGENCY_STOP,
    S.FAULT: SafetyMode.FAULT,
}
"""Every other state is normal, as far as the inputs allow; see `safety_mode`."""


class SafetyInputs(NamedTuple):
    """Inputs of the safety system that last.

    Attributes:
        emergency: an emergency stop is pressed. system: it is the plant's, not the robot's own.
        guard_open: the safeguard stands open. reduced: reduced mode is asked for.
    """

    emergency: bool = False
    system: bool = False
    guard_open: bool = False
    reduced: bool = False


def safety_mode(state: ControllerState, inputs: SafetyInputs) -> SafetyMode:
    """Return what the safety system reports."""
    mode = SAFETY_MODES.get(state, SafetyMode.NORMAL)
    if mode is SafetyMode.ROBOT_EMERGENCY_STOP and inputs.system:
        return SafetyMode.SYSTEM_EMERGENCY_STOP
    if mode is SafetyMode.NORMAL and inputs.guard_open:
        return SafetyMode.SAFEGUARD_STOP
    if mode is SafetyMode.NORMAL and inputs.reduced:
        return SafetyMode.REDUCED
    return mode


def awaited(state: ControllerState, inputs: SafetyInputs) -> ControllerEvent | None:
    """Return the event that an input which lasts brings about in a state that has just been reached, None for none."""
    if inputs.emergency and after(state, E.EMERGENCY) is not None:
        return E.EMERGENCY
    if not inputs.emergency and state is S.LOCKED:
        return E.EMERGENCY_OVER
    if inputs.guard_open and after(state, E.GUARD_OPEN) is not None:
        return E.GUARD_OPEN
    if not inputs.guard_open and after(state, E.GUARD_CLOSED) is not None:
        return E.GUARD_CLOSED
    return None


class CommandPlace(Enum):
    """From where the arm is commanded: the setting of a UR's panel.

    OPEN: remote control is not enabled; the network is obeyed, and "is in remote control" is false.
    """

    OPEN = "remote control not enabled"
    LOCAL = "local"
    REMOTE = "remote"
