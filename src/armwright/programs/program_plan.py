# SPDX-License-Identifier: Apache-2.0
"""`plan_program`: from the moves of a program to joints at every cycle.

The planner is our own, defined in these files and in `motion`. It stands for no maker's controller and promises no
controller's cycle time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.motion.motion_inputs import joint_vector, positive
from armwright.programs.legs import tool_of
from armwright.programs.pace import eased, pace, ratings, scaled
from armwright.programs.program_push import pushed
from armwright.programs.program_reader import check_program
from armwright.programs.reading import Note
from armwright.programs.route import Route, route
from armwright.programs.timing import (
    check_bounded,
    clock,
    fastest_law,
    flange_wrench,
    joints_at,
    leap_times,
    stretched,
    when,
    words_law,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.motion.trajectory import Trajectory
    from armwright.programs.program import Move, Payload, Program
    from armwright.programs.program_push import Pushes
    from armwright.robot.model import Robot
    from armwright.types import Array

Law = Literal["words", "fastest"]
Impossible = Literal["refuse", "leave out"]


class MovePlan(NamedTuple):
    """A move in time: its number in the program, from `start` to `end` [s], `length` [m]; 0 if it was left out."""

    move: int
    start: float
    end: float
    length: float


class Timing(NamedTuple):
    """How a way gets its times: what `plan_program` was told, in its words."""

    law: Law = "words"
    acceleration: ArrayLike | None = None
    keep_acceleration: bool = False
    override: float = 1.0
    share: float = 1.0
    jerk: float | None = None


@dataclass(frozen=True, eq=False)
class ProgramPlan:
    """A program as motion of one arm, sampled every `cycle` seconds.

    Attributes:
        robot, program: what was planned.
        cycle: [s].
        t: (B,) instants [s], from 0 to the first at or after the end.
        q, qd, qdd: (B, n) joints and their exact derivatives there; at rest before and after.
        move: (B,) index of the move under way; a wait counts to the move before it.
        route: the way, joints by the travelled length ℓ.
        time: ℓ(t), one coordinate, waits included.
        duration: of the motion with its waits [s].
        notes: what the reader and the planner assumed or changed.
        start_q: (n,) where the arm was at first, if that was said; None: at the first target.
        timing: how the way got its times.
    """

    robot: Robot
    program: Program
    cycle: float
    t: Array
    q: Array
    qd: Array
    qdd: Array
    move: NDArray[np.int64]
    route: Route
    time: Trajectory
    duration: float
    notes: tuple[Note, ...]
    start_q: Array | None = None
    timing: Timing = Timing()  # noqa: RUF009 - frozen

    @cached_property
    def T_base_tool(self) -> Array:
        """Return the pose (B, 4, 4) of the tool of the move under way."""
        tools = np.array([tool_of(move) for move in self.program.moves])
        return np.asarray(fk(self.robot, self.q) @ tools[self.move])

    @cached_property
    def wrench(self) -> Array | None:
        """Return what the world does to the arm (B, 6), base axes, at the arm's own tool frame; or None."""
        return flange_wrench(self.robot, self.program, self.q, self.move)

    @property
    def parts(self) -> list[tuple[float, float]]:
        """Return from when to when [s] the plan is one motion: all of it, but for gaps that it leaps over."""
        return list(pairwise([0.0, *leap_times(self.route, self.time), self.duration]))

    @cached_property
    def moves(self) -> tuple[MovePlan, ...]:
        """Return when each move runs, in the program's order; waits included, moves left out with no length."""
        return _moves(self.program, self.route, self.time)

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array, NDArray[np.int64]]:
        """Return q, qd, qdd (..., n) and the move (...) under way at times t (...) [s]."""
        return joints_at(self.route, self.time, np.asarray(t, dtype=np.float64))


@names_culprit
def plan_program(
    robot: Robot,
    program: Program,
    cycle: float = 0.01,
    *,
    start_q: ArrayLike | None = None,
    law: Law = "words",
    acceleration: ArrayLike | None = None,
    keep_acceleration: bool = False,
    override: float = 1.0,
    share: float = 1.0,
    jerk: float | None = None,
    tool: ArrayLike | None = None,
    payload: Payload | None = None,
    wrench: ArrayLike | Pushes | None = None,
    impossible: Impossible = "refuse",
) -> ProgramPlan:
    """Plan the motion of a program.

    Args:
        robot: the arm; tool moves need one that can turn and place its tool freely.
        program: from a reader.
        cycle: sampling time Δt [s].
        start_q: (n,) where the arm is at first; default the program's own, or else at rest in its first target, whose
            posture `program_start` chooses: the way there is then no part of the plan.
        law: "words" (the program's speeds and accelerations, within the speeds that joints and motors have), or
            "fastest" (on the same way as fast as motors allow, whatever the words say; see `fastest_law`).
        acceleration: rated joint accelerations, scalar or (n,), instead of the sheet's.
        keep_acceleration: keep the joints' rated accelerations on tool moves, too, whose own words are of the tool.
        jerk: bound on the third derivative of the travelled length [m/s³]; None for none. Corners that are passed
            without rounding (a line into an arc) still change the acceleration across the path at once.
        share: of the motor torques that "fastest" may use.
        tool: (4, 4) T_flange_tool of moves that name none (G-code cannot).
        payload: what the arm carries in moves that do not say.
        wrench: (6,) what the world does to the tool in moves that do not say [f; n], base axes; or a `Push`, or
            several, for axes of the tool and for some of the moves.
        override: share of the planned speed at which everything runs, > 0; accelerations follow by its square, waits
            stay.
        impossible: what is done with moves that the arm cannot make: "refuse" the program, or "leave out" those moves
            and plan the others (`ProgramPlan.route.impossible` has them), if there are any.

    Raises:
        ProgramError: a move that cannot be made; names line, millimetre and joint, and the nearest thing that works.

    Example:
        >>> plan_program(robot, read_program("examples/programs/ur5_pick.script")).duration  # [s]
    """
    positive(cycle, "cycle")
    positive(override, "override", "-")
    if law not in ("words", "fastest"):
        raise InputError(f"law must be 'words' or 'fastest', got {law!r}")
    if impossible not in ("refuse", "leave out"):
        raise InputError(f"impossible must be 'refuse' or 'leave out', got {impossible!r}")
    program = pushed(_completed(program, tool, payload), wrench)
    check_program(program, robot)
    notes = [*program.notes]
    q = _start(robot, program, start_q, notes)
    way = route(robot, program, q, leave_out=impossible == "leave out")
    notes += way.notes
    timing = Timing(law, acceleration, keep_acceleration, override, share, jerk)
    time = _clocked(robot, program, way, cycle, timing, notes)
    t: Array = cycle * np.arange(int(np.ceil(time.duration / cycle - 1e-9)) + 1, dtype=np.float64)
    return ProgramPlan(
        robot, program, cycle, t, *joints_at(way, time, t), way, time, time.duration, tuple(notes), q, timing
    )


def move_times(plan: ProgramPlan, *, speed: float = 1.0, ramps: float = 1.0) -> Array:
    """Return how long each move (moves,) [s] takes, the waits before it included; the last one's end with it.

    `speed` and `ramps` are a controller's shares of the written and rated speeds and accelerations.
    """
    if plan.timing.law == "fastest":
        raise InputError("times of other controllers follow from a program's words; the law 'fastest' has none")
    time = _clocked(plan.robot, plan.program, plan.route, plan.cycle, plan.timing, [], speed=speed, ramps=ramps)
    moves = _moves(plan.program, plan.route, time)
    ends = np.array([move.end for move in moves])
    return np.asarray(np.diff(ends, prepend=0.0) + (np.arange(ends.size) == ends.size - 1) * (time.duration - ends[-1]))


def _clocked(
    robot: Robot,
    program: Program,
    way: Route,
    cycle: float,
    timing: Timing,
    notes: list[Note],
    *,
    speed: float = 1.0,
    ramps: float = 1.0,
) -> Trajectory:
    """Return ℓ(t); `speed` and `ramps` are factors on all bounds of speeds and accelerations."""
    law, acceleration, keep_acceleration, override, share, jerk = timing
    limits, window = None, None
    if law == "fastest":
        if jerk is not None:
            raise InputError("jerk: only the law 'words' can bound it; motors at their limits switch at once")
        timed = fastest_law(robot, program, way, share=share)
    else:
        limits = pace(robot, program, way, ratings(robot, acceleration, notes), keep_acceleration=keep_acceleration)
        check_bounded(robot, program, way, limits)
        if (speed, ramps) != (1.0, 1.0):
            limits = scaled(limits, speed, ramps)
        if jerk is not None:
            limits, window = eased(way, limits, positive(jerk, "jerk", "m/s^3"))
        timed = stretched(program, way, words_law(way, limits))
    return clock(way, timed, window=window, pace=limits, override=override, cycle=cycle)


def _completed(program: Program, tool: ArrayLike | None, payload: Payload | None) -> Program:
    """Return the same program with what its moves leave open filled in; `Move` checks the values."""
    given = {"T_flange_tool": tool, "payload": payload}
    given = {name: value for name, value in given.items() if value is not None}
    if not given:
        return program

    def filled(move: Move) -> Move:
        missing: dict[str, Any] = {name: value for name, value in given.items() if getattr(move, name) is None}
        return replace(move, **missing) if missing else move

    return replace(program, moves=tuple(map(filled, program.moves)))


def _start(robot: Robot, program: Program, start_q: ArrayLike | None, notes: list[Note]) -> Array | None:
    """Return the joints (n,) before the first move, if somebody says them."""
    plain = [re.sub(r"[^a-z0-9]", "", name.lower()) for name in (program.robot or "", robot.name)]
    if plain[0] and plain[0] not in plain[1] and plain[1] not in plain[0]:
        notes.append(Note(0, f"the program was written for {program.robot!r} and is planned for {robot.name!r}"))
    if start_q is not None:
        return joint_vector(start_q, "start_q", robot.n)
    if program.start_q is not None:
        if program.start_q.size != robot.n:
            raise InputError(
                f"program {program.name!r} starts with {program.start_q.size} joints, {robot.name!r} has {robot.n}: it "
                "was written for another arm"
            )
        return np.array(program.start_q)
    return None


def _moves(program: Program, route: Route, time: Trajectory) -> tuple[MovePlan, ...]:
    t, owner, h = when(route, time), route.owner, np.diff(route.curve.breaks)
    rest = t + route.waits  # when the arm leaves a break
    rest[route.leaps] = leap_times(route, time)
    out, now = [], 0.0
    cuts = np.searchsorted(owner, np.arange(len(program.moves) + 1)).tolist()  # owners come in order
    for k, (first, last) in enumerate(pairwise(cuts)):
        begin = now
        if last > first:
            begin, now = float(rest[first]), float(t[last])
        out.append(MovePlan(k, begin, now, float(h[first:last].sum())))
    return tuple(out)
