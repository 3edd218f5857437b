# SPDX-License-Identifier: Apache-2.0
"""`run_program`: from a program to what its motors make of it, in one call: plan, demand, a law that follows it.

`basis_of` decides what can be checked: the motors, the efforts of the joints, or joint speeds alone. `Demands` turns a
plan into positions, loads and tools of every cycle. `run_program` puts them together.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from armwright.arguments import names_culprit
from armwright.choices import TRACKINGS
from armwright.errors import InputError
from armwright.programs.gaps import check_known
from armwright.programs.impossible_moves import check_tool_known
from armwright.programs.legs import tool_of
from armwright.programs.motors import Demand, find_rule, follow, run_printed
from armwright.programs.motors.drive_law import AXES, DRIVE
from armwright.programs.motors.motor_cycle import point_mass
from armwright.programs.motors.motor_limits import Basis
from armwright.programs.outcome.program_certainty import torques_usable
from armwright.programs.outcome.program_run import ProgramRun
from armwright.programs.program_plan import plan_program
from armwright.programs.program_reader import check_program, read_program
from armwright.programs.timing import flange_wrench

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.programs.motors.motor_cycle import Rule
    from armwright.programs.program import Payload, Program
    from armwright.programs.program_plan import Law, ProgramPlan
    from armwright.programs.program_push import Pushes
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world import World


def basis_of(robot: Robot, wanted: Basis | None = None) -> Basis:
    """Return what a program of `robot` is checked against, the most telling first; or `wanted`, if it is a basis.

    Raises:
        InputError: if the sheet has nothing; the message says what would do.
    """
    if wanted is not None:
        if wanted not in get_args(Basis):
            raise InputError(f"basis: expected one of {', '.join(get_args(Basis))}, got {wanted!r}")
        return wanted
    torques = torques_usable(robot)
    if torques and (robot.actuators.curve_torque.size or np.isfinite(robot.actuators.torque_limit).all()):
        return "motors"
    if torques and all(np.isfinite(joint.limits.effort) for joint in robot.joints):
        return "joints"
    if all(np.isfinite(joint.limits.velocity) for joint in robot.joints):
        return "speeds"
    raise InputError(
        f"robot {robot.name!r}: its sheet has neither motor torques (actuators.torque_limit) nor efforts nor speeds of "
        "all its joints (limits.effort, limits.velocity): there is nothing to check a program against"
    )


MARGIN_CYCLES = 3  # cycles before and after a move: the first ones of a demand begin at rest


def demand_of(plan: ProgramPlan) -> Demand:
    """Return what a plan asks of the motors; see `Demands`."""
    return Demands(plan).all()


class Demands:
    """Demand of a plan on the motors, as it is or at another override.

    A cycle belongs to the move under way at its end. Wrenches are those at its beginning, where its forces are taken.
    """

    def __init__(self, plan: ProgramPlan) -> None:
        """Collect tools and loads of the moves."""
        moves = plan.program.moves
        self.plan = plan
        moving = np.abs(plan.time.coefficients[:, 1:]).any(axis=(1, 2))
        parts = np.diff(plan.time.breaks)
        self.moved, self.waited = (
            np.concatenate([[0.0], np.cumsum(np.where(which, parts, 0.0))]) for which in (moving, ~moving)
        )
        tools = np.array([tool_of(move) for move in moves])
        self.tools = None if (tools == np.eye(4)).all() else tools
        loads: Any = [move.payload for move in moves]
        self.loads = (
            np.array([payload_row(load) for load in loads]) if any(load is not None for load in loads) else None
        )
        self.pushed = any(move.wrench is not None and move.wrench.any() for move in moves)

    def all(self) -> Demand:
        """Return the whole program as it was planned."""
        return self._demand(self.plan.q, self.plan.move, self._leaps(self.plan.t))

    def at(self, override: float, move: int | None = None) -> Demand:
        """Return the whole program at another override, or the cycles of one move and a few around it.

        It is what `plan_program` would plan with that override: everything but the waits runs faster.
        """
        if len(self.plan.parts) > 1:
            return self._at_by_parts(override, move)
        plan, breaks = self.plan, self.plan.time.breaks
        low, high = 0, breaks.size - 1  # breaks between which to look: the program may be long, and the move short
        end = int(np.ceil(self.duration(override) / plan.cycle - 1e-9))
        if move is not None:
            margin = 2 * (MARGIN_CYCLES + 1) * plan.cycle * max(1.0, override)
            low = max(low, int(np.searchsorted(breaks, plan.moves[move].start - margin)) - 1)
            high = min(high, int(np.searchsorted(breaks, plan.moves[move].end + margin)))
        here = slice(low, high + 1)
        faster = self.moved[here] / override + self.waited[here]
        first, last = 0, end
        if move is not None:
            ends = np.interp([plan.moves[move].start, plan.moves[move].end], breaks[here], faster) / plan.cycle
            first, last = max(0, int(ends[0]) - MARGIN_CYCLES), min(end, int(ends[1]) + 1 + MARGIN_CYCLES)
        t = np.interp(plan.cycle * np.arange(first, last + 1), faster, breaks[here])
        q, _, _, owner = plan.at(t)
        return self._demand(q, owner)

    def duration(self, override: float) -> float:
        """Return how long the program takes at another override [s]."""
        return float(self.moved[-1] / override + self.waited[-1])

    def _at_by_parts(self, override: float, move: int | None) -> Demand:
        """Return the same of a plan with gaps: every part from its own first cycle, so that none is half a leap."""
        plan, breaks = self.plan, self.plan.time.breaks
        parts = plan.parts
        if move is not None:
            here = float(np.mean(plan.moves[move][1:3]))
            parts = [next(part for part in parts if part[0] <= here <= part[1])]
        faster = self.moved / override + self.waited
        q, owner, leaps = [], [], []
        for part in parts:
            first, last = np.interp(part, breaks, faster)
            whole = int(np.ceil((last - first) / plan.cycle - 1e-9)) + (part[1] == plan.duration)
            t = np.interp(first + plan.cycle * np.arange(whole), faster, breaks)
            # a stop has two postures where the arm is set down: this part's own
            rows = plan.at(np.clip(t, part[0], part[1] if part[1] == plan.duration else np.nextafter(part[1], 0.0)))
            q.append(rows[0])
            owner.append(rows[3])
            leaps.append(np.arange(len(t)) == 0)
        return self._demand(*(np.concatenate(column) for column in (q, owner, leaps)))

    def _leaps(self, t: Array) -> NDArray[np.bool_] | None:
        """Return which of the instants t (B,) [s] are the first behind a gap."""
        begins = np.array([first for first, _ in self.plan.parts[1:]])
        if not begins.size:
            return None
        out = np.zeros(t.size, dtype=bool)
        out[np.minimum(np.searchsorted(t, begins - 1e-9), t.size - 1)] = True
        return out

    def _demand(self, q: Array, owner: NDArray[np.int64], leaps: NDArray[np.bool_] | None = None) -> Demand:
        if len(q) < 2:
            q, owner, leaps = np.repeat(q, 2, axis=0), np.repeat(owner, 2), None
        move, plan = owner[1:], self.plan
        return Demand(
            plan.cycle,
            q,
            wrench=flange_wrench(plan.robot, plan.program, q[:-1], move) if self.pushed else None,
            payload=None if self.loads is None else self.loads[move],
            move=move,
            tool=None if self.tools is None else self.tools[move],
            leaps=None if leaps is None else leaps[1:],
        )


def payload_row(load: Payload | None) -> Array:
    """Return a load as the ten numbers of `motor_cycle`; the program's flange is the arm's tool frame."""
    if load is None:
        return np.zeros(10)
    row: Array = point_mass(load.mass, load.com)
    if load.inertia is not None:
        J = load.inertia
        row[4:] = J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]
    return row


def sampled(plan: ProgramPlan, cycle: float) -> ProgramPlan:
    """Return the same motion in cycles of another length [s]."""
    t = cycle * np.arange(int(np.ceil(plan.duration / cycle - 1e-9)) + 1, dtype=np.float64)
    q, qd, qdd, move = plan.at(t)
    return replace(plan, cycle=cycle, t=t, q=q, qd=qd, qdd=qdd, move=move)


@names_culprit
def run_program(
    robot: Robot,
    program: Program | str | Path,
    cycle: float = 0.01,
    *,
    tracking: str = "drive",
    rule: str | Rule = "full",
    basis: Basis | None = None,
    override: float = 1.0,
    payload: Payload | None = None,
    tool: ArrayLike | None = None,
    wrench: ArrayLike | Pushes | None = None,
    start_q: ArrayLike | None = None,
    law: Law = "words",
    share: float = 1.0,
    acceleration: ArrayLike | None = None,
    keep_acceleration: bool = False,
    jerk: float | None = None,
    world: World | None = None,
    floor: float | None = 0.0,
) -> ProgramRun:
    """Plan a program, judge the plan by what motors and joints can do, and follow it with what they have.

    A program with moves that the arm cannot make is not feasible; the others are judged all the same
    (`ProgramRun.impossible`).

    Three answers: the plan itself decides whether it is feasible (`wished`); a bounded tracking law says what the arm
    does (`tracked`); and the largest override that keeps the limits (`override`).

    Args:
        robot: the arm.
        program: a `Program`, or a file or text that `read_program` reads.
        cycle: length of a controller cycle Δt [s].
        tracking: how the drives follow a plan that asks more than they have, a name of `choices.TRACKINGS`: "drive",
            "axes" or "algorithm-1" (001, as printed). It never decides whether the program is feasible.
        rule: of "algorithm-1" only: what happens at a torque limit, "full" or "partitioned" (see `programs.motors`).
        basis: "motors", "joints" (efforts) or "speeds"; default the first for which the sheet has the data.
        override: factor on the planned speed of everything but the waits.
        payload: what the arm carries in moves that do not say.
        tool: (4, 4) T_flange_tool of moves that name none.
        wrench: (6,) [f; n] of the world on the tool in moves that do not say [N, N m], base axes; or a `Push`, or
            several of them, for axes that turn with the tool and for some of the moves (001: −k_e).
        start_q: (n,) where the arm stands at first.
        law: "words" or "fastest"; this and the rest as in `plan_program`.
        share: of the motor torques that "fastest" may use.
        acceleration: rated joint accelerations instead of the sheet's.
        keep_acceleration: keep them on tool moves, too.
        jerk: bound on the third derivative of the travelled length [m/s³].
        world: shapes around the arm that it must not touch, base frame.
        floor: height of the floor in the base frame [m]; None for no floor.

    Raises:
        ProgramError: text that cannot be read, no move that can be made, or one of G-code that cannot while its tool is
            not given; with file, line and what would work.
        InputError: a sheet without anything to check against, or an option without meaning.

    Example:
        >>> run_program(aw.load("ur5"), "examples/programs/ur5_pick.script").verdict
    """
    find_rule(rule)
    tracker = TRACKINGS.find(tracking, lambda names: InputError(f"tracking: expected {names}, got {tracking!r}"))
    if rule != "full" and not tracker.printed:
        raise InputError(f"rule: {rule!r} is a rule of Algorithm 1; give tracking='algorithm-1' with it")
    if isinstance(program, str | Path):
        program = read_program(program, robot=robot if tool is None else None, start_q=start_q)
    check_known(program)
    chosen = basis_of(robot, basis)
    check_program(program, robot)
    plan = plan_program(
        robot,
        program,
        cycle,
        start_q=start_q,
        override=override,
        tool=tool,
        payload=payload,
        wrench=wrench,
        law=law,
        share=share,
        acceleration=acceleration,
        keep_acceleration=keep_acceleration,
        jerk=jerk,
        impossible="leave out",
    )
    check_tool_known(plan.program, plan.route.impossible)
    demand = demand_of(plan)
    if tracker.printed:
        tracked = [run_printed(robot, demand, rule, basis=chosen)]
    else:
        both = (tracker, AXES if tracker is DRIVE else DRIVE)
        tracked = follow(robot, demand, lambda t: plan.at(t)[:3], both, basis=chosen)
    settings = {"tracking": tracking, "cycle": cycle, "override": override}
    if tracker.printed:
        settings["rule"] = rule if isinstance(rule, str) else rule.__name__
    return ProgramRun(plan, settings, tuple(tracked), world, floor, start_q is None and program.start_q is None)
