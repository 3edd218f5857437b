# SPDX-License-Identifier: Apache-2.0
"""`ProgramRun`: a program after its run, one object that answers every question about it when it is asked.

The answers are `MoveOutcome` (how long a move takes, what limits it, how fast it could be, how far the tool was off),
`MotorEvent` (where a motor could not follow) and `WhatWorks` (what would work).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from armwright.kinematics import fk
from armwright.programs.motors import summarise
from armwright.programs.program import Duration
from armwright.robot.inertia_needed import has_inertia

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from armwright.programs.impossible_moves import ImpossibleMove
    from armwright.programs.motors import Demand, MotorRun, MoveSummary, Override, Tracked, Trip
    from armwright.programs.motors.motor_limits import Basis
    from armwright.programs.motors.what_works import Needed, Sensitivity
    from armwright.programs.outcome.report_part import ReportPart
    from armwright.programs.outcome.way_results import WayClearance, WayMargins
    from armwright.programs.program import Program
    from armwright.programs.program_plan import ProgramPlan
    from armwright.recording import Recording
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world import World

Answer = Literal["feasible", "not feasible", "cannot be told"]


@dataclass(frozen=True, slots=True, eq=False)
class MotorEvent:
    """One motor that could not follow for a while.

    Attributes:
        joint: index of the joint that the motor mainly drives.
        cause: "torque" or "speed", which the plan itself asks too much of; or "trip": the drive would stop here.
        move: index of the move in the program.
        start, end: [s]. cycles: how many of them were flagged.
        asked, limit: what the program asks at the worst cycle, and what there is: torque of the motor [N m] or speed of
            the joint [rad/s, m/s]. Of a trip, the lag [rad, m] or the speed over its limit, and the bound of it.
        worst: time of that cycle [s]. place: (3,) wished tool position there, base frame [m].
        parts: for torques, what the worst cycle's torque was for [N m]: acceleration, gravity, motion (Coriolis and
            centrifugal forces), world (the wrench on the tool), friction; they sum up to what was asked.
    """

    joint: int
    cause: Literal["torque", "speed", "trip"]
    move: int
    start: float
    end: float
    cycles: int
    asked: float
    limit: float
    worst: float
    place: Array
    parts: dict[str, float]

    @property
    def use(self) -> float:
        """Return what was asked over what there was."""
        return abs(self.asked) / self.limit if self.limit else float("inf")

    @property
    def mostly(self) -> str:
        """Return what the larger part of a torque was for; empty for speeds."""
        sense = np.sign(self.asked)
        return max(self.parts, key=lambda name: sense * self.parts[name]) if self.parts else ""


@dataclass(frozen=True, slots=True, eq=False)
class MoveOutcome:
    """The outcome of one move.

    Attributes:
        number: 1 for the first move of the program. line, text, kind: as it was read.
        start, duration: as planned [s]. length: of the tool's path [m].
        summary: of what the arm does in its cycles; None for a wait, for a move that was left out or is shorter than a
            cycle, and after a trip.
        limiting: index of the joint whose motor the program, followed exactly, would use most; None without cycles.
        cause: "torque" or "speed", whichever would be used more.
        use: how much of it; above 1 the motor cannot follow.
        override: factor on the program's speed up to which this move is not flagged; None without cycles.
        flagged: cycles in which the plan asks too much torque plus those of too much speed, summed over the joints.
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
    flagged: int


@dataclass(frozen=True, slots=True, eq=False)
class WhatWorks:
    """Answers to what a program could do, and what it would take.

    Attributes:
        override: largest override of the program and of each move (by index); 1 is as it is run now.
        fastest: duration of the time-optimal motion on the same path, motors at their limits [s], waits included; None
            where there is none, and `fastest_refused` says why.
        fastest_clean: the same, slowed down evenly until no cycle is flagged [s]; None if half its speed is too much.
        motors: least torque and speed of every motor for the program as it is, as factors (n,) of the sheet's.
        torque: (n,) largest torque that the program as it is wants of every motor [N m] (of every joint where the
            motors are not known).
        more_payload: point mass [kg] that may be added, at the load's centre or, without one, at the tool point, within
            the arm's rated payload where that is known;
            NaN if the program is not feasible as it is, inf if it does not matter (`LARGEST_PAYLOAD` is reached).
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


def moves_of(outcome: ProgramRun) -> tuple[MoveOutcome, ...]:
    """Return one row per move, in the program's order."""
    here = set(np.unique(outcome.motors.demand.moves).tolist())
    planned_here = set(np.unique(outcome.demand.moves).tolist())
    rows = []
    for k, (move, planned) in enumerate(zip(outcome.program.moves, outcome.plan.moves, strict=True)):
        summary = summarise(outcome.motors, k) if k in here else None
        asked = k in planned_here
        wait = move.speed.seconds if move.kind == "wait" and isinstance(move.speed, Duration) else None
        limiting, cause, use = limit_of(outcome.wished, k) if asked else (None, "", 0.0)
        rows.append(
            MoveOutcome(
                number=k + 1,
                line=move.line,
                text=move.text,
                kind=move.kind,
                start=planned.start,
                duration=wait if wait is not None else planned.end - planned.start,
                length=planned.length,
                summary=summary,
                limiting=limiting,
                cause=cause,
                use=use,
                override=outcome.override.moves.get(k) if asked else None,
                flagged=int((outcome.wished.saturated | outcome.wished.clipped)[outcome.demand.moves == k].sum()),
            )
        )
    return tuple(rows)


def limit_of(run: MotorRun, move: int | None = None) -> tuple[int, str, float]:
    """Return the motor that a move (or the whole program) uses most, by torque or by speed, and how much of it."""
    rows = slice(None) if move is None else run.demand.moves == move
    torque, speed = run.torque_use[rows].max(axis=0), run.speed_use[rows].max(axis=0)
    k = int(np.argmax(np.maximum(torque, speed)))
    return k, "torque" if torque[k] >= speed[k] else "speed", float(max(torque[k], speed[k]))


@dataclass(frozen=True, eq=False)
class ProgramRun:
    """A program, planned and followed.

    Attributes:
        plan: what the program asks for.
        settings: how it was run: tracking, cycle, override; and the rule of Algorithm 1.
        tracked: what the arm does under the chosen law; and under the other end of the range of laws, if it has one.
        world: shapes around the arm, base frame; None if nothing is known of them.
        floor: height of the floor in the base frame [m]; None for no floor.
        start_assumed: whether nobody said where the arm is at first: the plan then begins in the first target.
    """

    plan: ProgramPlan
    settings: dict[str, Any]
    tracked: tuple[Tracked, ...]
    world: World | None = None
    floor: float | None = 0.0
    start_assumed: bool = False

    def __repr__(self) -> str:
        """Return one line: arm, program, answer, length."""
        count, seconds = len(self.program.moves), self.plan.duration
        return f"ProgramRun({self.robot.name!r}, {self.program.name!r}: {self.answer}, {count} moves, {seconds:.2f} s)"

    def _repr_html_(self) -> str:
        """Return what notebooks show: the replay, the verdict, and a row per move."""
        from armwright.programs.outcome.program_report import notebook_page

        return notebook_page(self)

    @property
    def motors(self) -> MotorRun:
        """Return what the motors make of it, cycle by cycle, up to a trip; and until the arm arrives, if it is late."""
        return self.tracked[0].run

    @property
    def late(self) -> float:
        """Return how long after its end the arm arrives [s]; 0 if it follows, inf if not within two seconds."""
        return self.tracked[0].late

    @property
    def trip(self) -> Trip | None:
        """Return where the drive would stop; None if it does not."""
        return self.tracked[0].trip

    @property
    def robot(self) -> Robot:
        """Return the arm."""
        return self.plan.robot

    @property
    def program(self) -> Program:
        """Return the program as it was planned."""
        return self.plan.program

    @property
    def weighed(self) -> bool:
        """Return whether the sheet has masses; without them torques, work and reactions are not known."""
        return has_inertia(self.robot)

    @property
    def basis(self) -> Basis:
        """Return what was checked: "motors", "joints" (efforts of the joints), or "speeds" alone."""
        return self.motors.drives.basis

    @property
    def impossible(self) -> tuple[ImpossibleMove, ...]:
        """Return the moves that the arm cannot make; the plan leaves them out."""
        return self.plan.route.impossible

    @property
    def feasible(self) -> bool:
        """Return whether the plan itself, followed exactly, keeps every limit; no tracking law decides it."""
        return self.wished.feasible and not self.impossible

    @cached_property
    def answer(self) -> Answer:
        """Return "feasible", "not feasible", or "cannot be told" with the widths of the sheet's numbers."""
        from armwright.programs.outcome.program_certainty import answer_of

        return answer_of(self)

    @cached_property
    def verdict(self) -> str:
        """Return the answer for a person: one or two sentences."""
        from armwright.programs.outcome.program_words import verdict
        from armwright.programs.outcome.way_words import with_clearance

        return with_clearance(self, verdict(self))

    @cached_property
    def way(self) -> tuple[Array, Array, NDArray[np.int64]]:
        """Return joints (N, n), times (N,), moves (N,) of the tracked motion."""
        run = self.motors
        moves = np.concatenate([run.demand.moves[:1], run.demand.moves])
        q, time = np.concatenate([run.demand.q[:1], run.q]), np.concatenate([[0.0], run.time])
        return q, time, moves

    @cached_property
    def clearance(self) -> WayClearance:
        """Return what the arm comes near along its tracked motion: floor, own body, world."""
        from armwright.programs.outcome.way_clearance import clearance_of

        return clearance_of(self)

    @cached_property
    def margins(self) -> WayMargins:
        """Return how near the tracked motion comes to ends of joints, singular postures and the arm's reach."""
        from armwright.programs.outcome.way_margins import margins_of

        return margins_of(self)

    @cached_property
    def demand(self) -> Demand:
        """Return what the plan asks of the motors, without the cycles in which the arm catches up after its end."""
        from armwright.programs.outcome.program_execution import demand_of

        return demand_of(self.plan)

    @cached_property
    def wished(self) -> MotorRun:
        """Return the plan itself: the arm exactly on its way, whatever it takes (inverse dynamics)."""
        from armwright.programs.motors.what_works import exact

        return exact(self.robot, self.demand, self.basis)[0]

    @cached_property
    def beside(self) -> MotorRun:
        """Return the plan itself in the cycles of `motors`: shorter after a trip, longer where the arm is late."""
        from armwright.programs.motors.what_works import exact

        same = self.motors.demand.cycles == self.demand.cycles
        return self.wished if same else exact(self.robot, self.motors.demand, self.basis)[0]

    @cached_property
    def standing(self) -> Array:
        """Return (T, n) what holding the arm at rest takes of every torque limit, at the beginning of each cycle."""
        from armwright.programs.outcome.program_tracking import standing_use

        return standing_use(self)

    @cached_property
    def events(self) -> tuple[MotorEvent, ...]:
        """Return where, when and why a motor could not follow, in order of time."""
        from armwright.programs.outcome.program_events import events_of

        return events_of(self)

    @cached_property
    def override(self) -> Override:
        """Return how fast the program, and each move of it, can be run on the same path; 1 is as it is now."""
        from armwright.programs.outcome.program_events import override_of

        return override_of(self)

    @cached_property
    def moves(self) -> tuple[MoveOutcome, ...]:
        """Return one row per move of the program. Its overrides take some hundred short runs, made on first use."""
        from armwright.programs.outcome.program_run import moves_of

        return moves_of(self)

    @cached_property
    def works(self) -> WhatWorks:
        """Return what would work: override, shortest time, load, motors, and how much depends on Δt and load."""
        from armwright.programs.outcome.program_events import what_works

        return what_works(self)

    @cached_property
    def advice(self) -> tuple[str, ...]:
        """Return what would work, in sentences."""
        from armwright.programs.outcome.program_words import works_words

        return works_words(self)

    @cached_property
    def tool_positions(self) -> tuple[Array, Array]:
        """Return the wished and achieved tool position at the end of each cycle, (T, 3) each [m]."""
        tool = self.motors.demand.tool
        tool = np.eye(4) if tool is None else tool
        wished, got = (fk(self.robot, q) @ tool for q in (self.motors.demand.q[1:], self.motors.q))
        return wished[:, :3, 3], got[:, :3, 3]

    def figures(self) -> dict[str, Any]:
        """Return everything but the cycles as plain numbers and texts, for JSON; SI units, radians."""
        from armwright.programs.outcome.program_tables import figures
        from armwright.programs.outcome.way_words import way_figures

        return figures(self) | way_figures(self)

    @cached_property
    def recording(self) -> Recording:
        """Return the cycles as a recording, to be saved as .csv, .npz, .parquet or .mcap."""
        from armwright.programs.outcome.program_tables import as_recording

        return as_recording(self)

    def report(
        self,
        path: str | Path,
        *,
        animation: bool = False,
        text: bool = True,
        progress: Callable[[float], Any] | None = None,
        also: Sequence[ReportPart] = (),
    ) -> Path:
        """Write one HTML page with a replay, tables and pictures; needs matplotlib (`pip install armwright[plot]`).

        Without `text` it does not show the program's text beside the replay; sentences about moves quote their lines.
        `also` are sections of the caller's.
        """
        from armwright.programs.outcome.program_report import program_report

        return program_report(self, path, animation=animation, text=text, progress=progress, also=also)
