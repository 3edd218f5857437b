# SPDX-License-Identifier: Apache-2.0
"""A plan as a demand on the motors: positions, loads and tools of every cycle."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.programs.fastest import flange_wrench
from armwright.programs.legs import tool_of
from armwright.programs.motors import Demand
from armwright.programs.motors.payload import point_mass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.programs.plan import Plan
    from armwright.programs.program import Payload
    from armwright.types import Array

AROUND = 3  # cycles before and behind a move: the first ones of a demand begin at rest


def demand_of(plan: Plan) -> Demand:
    """Return what a plan asks of the motors; see `Demands`."""
    return Demands(plan).all()


class Demands:
    """What a plan asks of the motors, as it is or at another override.

    A cycle belongs to the move under way at its end. Wrenches are those at its beginning, where its forces are taken.
    """

    def __init__(self, plan: Plan) -> None:
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
        return self._demand(self.plan.q, self.plan.move)

    def at(self, override: float, move: int | None = None) -> Demand:
        """Return the whole program at another override, or the cycles of one move and a few around it.

        It is what `plan_program` would plan with that override on top: everything runs faster, but for the waits.
        """
        plan, breaks = self.plan, self.plan.time.breaks
        low, high = 0, breaks.size - 1  # breaks between which to look: the program may be long, and the move short
        end = int(np.ceil(self.duration(override) / plan.cycle - 1e-9))
        if move is not None:
            margin = 2 * (AROUND + 1) * plan.cycle * max(1.0, override)
            low = max(low, int(np.searchsorted(breaks, plan.moves[move].start - margin)) - 1)
            high = min(high, int(np.searchsorted(breaks, plan.moves[move].end + margin)))
        here = slice(low, high + 1)
        faster = self.moved[here] / override + self.waited[here]
        first, last = 0, end
        if move is not None:
            ends = np.interp([plan.moves[move].start, plan.moves[move].end], breaks[here], faster) / plan.cycle
            first, last = max(0, int(ends[0]) - AROUND), min(end, int(ends[1]) + 1 + AROUND)
        t = np.interp(plan.cycle * np.arange(first, last + 1), faster, breaks[here])
        q, _, _, owner = plan.at(t)
        return self._demand(q, owner)

    def duration(self, override: float) -> float:
        """How long the program takes at another override [s]."""
        return float(self.moved[-1] / override + self.waited[-1])

    def _demand(self, q: Array, owner: NDArray[np.int64]) -> Demand:
        if len(q) < 2:
            q, owner = np.repeat(q, 2, axis=0), np.repeat(owner, 2)
        move, plan = owner[1:], self.plan
        return Demand(
            plan.cycle,
            q,
            wrench=flange_wrench(plan.robot, plan.program, q[:-1], move) if self.pushed else None,
            payload=None if self.loads is None else self.loads[move],
            move=move,
            tool=None if self.tools is None else self.tools[move],
        )


def payload_row(load: Payload | None) -> Array:
    """Return a load as the (10,) numbers of `programs.motors.payload`; the program's flange is the arm's tool frame."""
    if load is None:
        return np.zeros(10)
    row: Array = point_mass(load.mass, load.com)
    if load.inertia is not None:
        J = load.inertia
        row[4:] = J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]
    return row


def sampled(plan: Plan, cycle: float) -> Plan:
    """Return the same motion in cycles of another length [s]."""
    t = cycle * np.arange(int(np.ceil(plan.duration / cycle - 1e-9)) + 1, dtype=np.float64)
    q, qd, qdd, move = plan.at(t)
    return replace(plan, cycle=cycle, t=t, q=q, qd=qd, qdd=qdd, move=move)
