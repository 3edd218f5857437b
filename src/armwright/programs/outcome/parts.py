# SPDX-License-Identifier: Apache-2.0
"""The parts of an answer about a program: a move, an event, what would work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from armwright.programs.motors import MoveSummary, Override
    from armwright.programs.motors.feasible import Needed, Sensitivity
    from armwright.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """One motor that could not follow for a while.

    Attributes:
        joint: index of the joint that the motor drives before all others.
        cause: "torque" or "speed".
        move: index of the move in the program.
        start, end: [s]. cycles: how many of them were flagged.
        asked, limit: what the program asks at the worst cycle, and what there is: torque of the motor [N m] or speed of
            the joint [rad/s, m/s].
        worst: time of that cycle [s]. place: (3,) wished tool position there, base frame [m].
        catching_up: the program itself asks no more than there is; the arm only makes up for what it missed before, and
            `asked` is what that would take at once.
        parts: for torques, what the worst cycle's torque was for [N m]: acceleration, gravity, motion (Coriolis and
            centrifugal forces), world (the wrench on the tool), friction; they sum up to what was asked.
    """

    joint: int
    cause: Literal["torque", "speed"]
    move: int
    start: float
    end: float
    cycles: int
    asked: float
    limit: float
    worst: float
    place: Array
    catching_up: bool
    parts: dict[str, float]

    @property
    def use(self) -> float:
        """What was asked over what there was."""
        return abs(self.asked) / self.limit if self.limit else float("inf")

    @property
    def mostly(self) -> str:
        """What the larger part of a torque was for; empty for speeds."""
        sense = np.sign(self.asked)
        return max(self.parts, key=lambda name: sense * self.parts[name]) if self.parts else ""


@dataclass(frozen=True, slots=True, eq=False)
class MoveOutcome:
    """What came of one move.

    Attributes:
        number: 1 for the first move of the program. line, text, kind: as it was read.
        start, duration: as planned [s]. length: of the tool's path [m].
        summary: of its cycles; None for a wait, or a move that was left out or is shorter than a cycle.
        limiting: index of the joint whose motor the program, followed exactly, would use most; None without cycles.
        cause: "torque" or "speed", whichever would be used more.
        use: how much of it; above 1 the motor cannot follow.
        override: how many times as fast the program could run before this move is flagged; None without cycles.
    """

    number: int
    line: int
    text: str
    kind: str
    start: float
    duration: float
    length: float
    summary: MoveSummary | None
    limiting: int | None
    cause: str
    use: float
    override: float | None

    @property
    def flagged(self) -> int:
        """Cycles at a torque limit and cycles in which a speed was cut, summed over the joints."""
        return 0 if self.summary is None else int(self.summary.saturated.sum() + self.summary.clipped.sum())


@dataclass(frozen=True, slots=True, eq=False)
class WhatWorks:
    """What a program could do, and what it would take.

    Attributes:
        override: largest override of the program and of each move (by index); 1 is as it is run now.
        fastest: duration of the time-optimal motion on the same path, motors at their limits [s], waits included; None
            where there is none, and `fastest_refused` says why.
        fastest_clean: the same, slowed down evenly until no cycle is flagged [s]; None if half its speed is too much.
        motors: least torque and speed of every motor for the program as it is, as factors (n,) of the sheet's.
        torque: (n,) largest torque that the program as it is wants of every motor [N m] (of every joint where the
            motors are not known).
        more_payload: point mass [kg] that may be added, at the load's centre or, without one, at the tool point;
            NaN if the program is not feasible as it is, inf if it does not matter (`MOST` is reached).
        payload_share: of the program's own loads that would be feasible, 1 if it is as it is, NaN if not even without
            load; None if nothing is carried.
        sensitivity: use of the motors at other cycle times and with other loads.
    """

    override: Override
    fastest: float | None
    fastest_refused: str
    fastest_clean: float | None
    motors: Needed
    torque: Array
    more_payload: float
    payload_share: float | None
    sensitivity: tuple[Sensitivity, ...]
