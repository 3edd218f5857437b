# SPDX-License-Identifier: Apache-2.0
"""`ProgramWatch`: a robot that is listened to, against the plan of the program that it runs.

What was planned comes from `run_program`: the place, and the use of every motor there. What is so comes from the wire:
targets, positions, currents. A controller plans by rules of its own; so lateness says by how much its time differs from
the plan's, and lag how far the arm is behind its own targets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.live.heard_motors import HeardMotors, most_used
from armwright.live.plan_follower import PlanFollower, PlanPlace
from armwright.recording.sample_order import FOLLOWS

if TYPE_CHECKING:
    from armwright.identify.identified import Identified
    from armwright.live.heard_rows import Columns
    from armwright.live.wire_ear import HeardSample
    from armwright.programs.outcome.program_run import ProgramRun
    from armwright.robot.model import Robot
    from armwright.types import Array

LEAST_MOVE = 0.05  # [s] of the plan: shorter moves are not told of
EDGE = 1e-6  # [s] before the beginning of a move that belongs to it
WATCHED: Columns = {
    "plan_time": (1, "s"),
    "late": (1, "s"),
    "deviation": (1, "rad"),
    "plan_q": (6, "rad"),
    "use": (6, "-"),
    "given": (6, "-"),
    "plan_use": (6, "-"),
}
"""Columns of a recording beside what is heard; NaN where nothing is known yet."""


class WatchedPlan(NamedTuple):
    """A plan: q (K + 1, n) at multiples of dt [s]; use (K, n) of motors; begins of moves (M + 1,) and the end [s]."""

    q: Array
    dt: float
    use: Array
    begins: Array
    lines: tuple[tuple[int, str], ...]


def watched_plan(run: ProgramRun) -> WatchedPlan:
    """Return what a planned program asks of the motors when it is followed exactly."""
    use = np.maximum(run.wished.torque_use, run.wished.speed_use)
    lines = tuple((move.line, move.text or move.kind) for move in run.program.moves)
    begins = np.array([*(planned.start for planned in run.plan.moves), run.demand.dt * run.demand.cycles])
    return WatchedPlan(run.demand.q, run.demand.dt, use, begins, lines)


class MoveDone(NamedTuple):
    """A move is over: number from 1, line and text; how long it took and was planned for [s]."""

    number: int
    line: int
    text: str
    took: float
    planned: float


class ProgramWatch:
    """Watches one robot.

    Attributes:
        robot: the arm. plan: what was planned. motors: what they do. lag: (n,) targets less positions [rad].
        largest: (n,) largest use since it was on the plan; planned: the same of the plan, in the cycles that were
            passed. farthest: largest deviation [rad] on the plan.
    """

    def __init__(self, robot: Robot, plan: WatchedPlan, period: float, identified: Identified | None = None) -> None:
        """Compile for samples that are `period` [s] apart."""
        if plan.q.shape[1] != robot.n or robot.n != 6:
            raise InputError(f"monitor: a UR has 6 joints; the arm has {robot.n}, the plan {plan.q.shape[1]}")
        self.plan, self.motors = plan, HeardMotors(robot, period, identified)
        self.robot, self._follower = robot, PlanFollower(plan.q, plan.dt)
        self.lag, self.largest, self.planned = np.zeros(robot.n), np.zeros(robot.n), np.zeros(robot.n)
        self.farthest = 0.0
        self._move, self._entered = -1, np.nan

    @property
    def place(self) -> PlanPlace:
        """Return where the robot is in the plan."""
        return self._follower.place

    @property
    def move(self) -> int:
        """Return the index of the move that the robot is in."""
        here = np.searchsorted(self.plan.begins, self.place.time + EDGE, side="right") - 1
        return min(int(here), len(self.plan.lines) - 1)

    @property
    def plan_use(self) -> Array:
        """Return the use that was planned here (n,)."""
        use: Array = self.plan.use[min(self.place.cycle, len(self.plan.use) - 1)]
        return use

    @property
    def nearest(self) -> int | None:
        """Return the joint that is nearest its limit now."""
        return most_used(self.motors.use)

    def take(self, sample: HeardSample) -> list[MoveDone]:
        """Take one sample; return the moves that are over with it."""
        status = self.motors.take(sample).status
        if status not in FOLLOWS or not (np.isfinite(sample.target_q).all() and np.isfinite(sample.q).all()):
            return []
        if status == "restart":
            self._follower.forget()
            self._move = -1
        self.lag = sample.target_q - sample.q
        place = self._follower.take(sample.stamp, sample.target_q)
        if place.state not in ("on", "over"):
            return []
        self.farthest = max(self.farthest, place.deviation)
        self.largest = np.fmax(self.largest, self.motors.use)
        self.planned = np.fmax(self.planned, self.plan_use)
        return self._moves(sample.stamp)

    def _moves(self, stamp: float) -> list[MoveDone]:
        """Return moves that have ended since the last sample."""
        begins, out = self.plan.begins, list[MoveDone]()
        here = len(self.plan.lines) if self.place.state == "over" else self.move
        if self._move < 0:
            early = here == len(self.plan.lines) or self.place.time - begins[here] > LEAST_MOVE
            self._move, self._entered = here, np.nan if early else stamp
        while self._move < here:
            planned, took = float(begins[self._move + 1] - begins[self._move]), stamp - self._entered
            if planned >= LEAST_MOVE and np.isfinite(took):
                out.append(MoveDone(self._move + 1, *self.plan.lines[self._move], float(took), planned))
            self._move, self._entered = self._move + 1, stamp
        return out

    def row(self) -> Array:
        """Return the columns `WATCHED`."""
        place = self.place
        here = [place.time, place.late, place.deviation]
        return np.concatenate([here, place.q, self.motors.use, self.motors.given, self.plan_use])
