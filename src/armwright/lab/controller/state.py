# SPDX-License-Identifier: Apache-2.0
"""The controller's one state and every way from one to another; what is not listed is refused."""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """What the arm is ready to do."""

    OFF = "power off"
    IDLE = "brakes on"
    READY = "running, no program"
    PLAYING = "program running"
    PAUSED = "program paused"
    STOPPED = "protective stop"
    FAULT = "fault"


class Event(Enum):
    """What may happen to it."""

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


S, E = State, Event
EDGES: dict[tuple[State, Event], State] = {
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
for _state in State:
    EDGES[_state, E.BREAK] = S.FAULT
    if _state is not S.FAULT:
        EDGES[_state, E.POWER_OFF] = S.OFF
del S, E

ROBOT_MODES = {State.OFF: 3, State.IDLE: 5, State.FAULT: 3}
"""RTDE robot_mode: 3 power off, 5 idle; every other state is 7, running."""
RUNTIME = {State.PLAYING: 2, State.PAUSED: 4}
"""RTDE runtime_state: 2 playing, 4 paused; every other state is 1, stopped."""
SAFETY_MODES = {State.STOPPED: 3, State.FAULT: 9}
"""RTDE safety_mode: 3 protective stop, 9 fault; every other state is 1, normal."""


def after(state: State, event: Event) -> State | None:
    """The state that follows, or None if the event is refused."""
    return EDGES.get((state, event))
