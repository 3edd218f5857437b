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
    from armwright.programs.plan import Plan
    from armwright.programs.program import Payload
    from armwright.types import Array


def demand_of(plan: Plan) -> Demand:
    """Return what a plan asks of the motors.

    A cycle belongs to the move under way at its end. Wrenches are those at its beginning, where its forces are taken.
    """
    q, move = plan.q, plan.move[1:]
    if len(q) < 2:
        q, move = np.repeat(q, 2, axis=0), plan.move
    moves = plan.program.moves
    loads: Any = [m.payload for m in moves]
    tools = np.array([tool_of(m) for m in moves])
    return Demand(
        plan.cycle,
        q,
        wrench=flange_wrench(plan.robot, plan.program, q[:-1], move),
        payload=np.array([payload_row(load) for load in loads])[move] if any(loads) else None,
        move=move,
        tool=None if (tools == np.eye(4)).all() else tools[move],
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
