# SPDX-License-Identifier: Apache-2.0
"""Numeric inverse kinematics of a single target, without the arrays of a batch: what a control loop calls.

The seed is tried alone; if it does not arrive, the random starts of `numeric.search` are, as lanes side by side. What
still is not solved is left to `solve_numeric`, which tells "out of limits" from "unreachable".
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from armwright.graph.kernel import backend
from armwright.graph.loop import Loop
from armwright.kinematics.extent import SINGULAR_BELOW, lost_rank
from armwright.kinematics.ik_result import EXACT, IKResult
from armwright.kinematics.joint_range import fit_turns, random_starts
from armwright.kinematics.levenberg import FIRST, Task
from armwright.kinematics.numeric import FIRST_ROUND, ITERATIONS, RANDOM_SEED, Search, ik_task, task_rank

if TYPE_CHECKING:
    from armwright.graph.loop_plan import LoopPlan
    from armwright.robot.model import Robot
    from armwright.types import Array

YES, NO = np.ones(1, dtype=bool), np.zeros(1, dtype=bool)
for _flag in (YES, NO):
    _flag.flags.writeable = False


class Workspace:
    """The compiled iteration with the memory of some lanes, all for one goal; for one call at a time."""

    def __init__(self, plan: LoopPlan, lanes: int) -> None:
        loop = Loop(plan, lanes)
        for name, value in FIRST.items():
            loop.set(name, value)
        self.memory, self.first, self.lanes = loop.memory, loop.memory.copy(), lanes
        self.slots = {name: slice(at := plan.offset(name), at + size) for name, size in plan.slots.items()}
        status = (ctypes.c_int64 * 2)()
        places = [group.ctypes.data for group in loop.memory]
        unused = np.zeros(1)
        self._keep = (status, unused)
        table, address = unused.ctypes.data, ctypes.addressof(status)
        self._calls = [(place, table, table, table, 1, ITERATIONS + 1, 1, 0, address) for place in places]
        self._function = loop.function

    def run(self, goal: Array, starts: Array) -> None:
        """Iterate from starts (lanes, n), which are inside the bounds, towards goal (numbers,)."""
        memory, slots = self.memory, self.slots
        memory[...] = self.first
        memory[:, slots["goal"]] = goal[:, None]
        groups, _, width = memory.shape
        if groups * width > self.lanes:
            starts = np.concatenate([starts, np.repeat(starts[-1:], groups * width - self.lanes, axis=0)])
        memory[:, slots["q"]] = memory[:, slots["trial"]] = starts.reshape(groups, width, -1).transpose(0, 2, 1)
        for call in self._calls:
            self._function(*call)

    def get(self, name: str) -> Array:
        """A slot (lanes, size) after a run."""
        if self.lanes == 1:
            return self.memory[0, self.slots[name]].T
        size = self.slots[name].stop - self.slots[name].start
        return self.memory[:, self.slots[name]].transpose(0, 2, 1).reshape(-1, size)[: self.lanes]


def solve_one(robot: Robot, body: int | None, goal: Array, seed: Array, asked: Search) -> IKResult | None:
    """Solve one goal (numbers,) from seed (n,); None where there is more to say than a solution inside the limits."""
    if backend() != "llvm":
        return None
    aim, limits, restarts = asked
    task = ik_task(robot, body, limits, aim)
    q, errors, J = _attempt(task, goal, np.minimum(np.maximum(seed, task.lower), task.upper)[None], seed)
    tried, size = 0, FIRST_ROUND
    while errors is None and tried < restarts:
        size = min(size, restarts - tried)
        starts = robot.memo(("ik_starts", limits, restarts), _starts, limits, restarts, task.length)
        q, errors, J = _attempt(task, goal, np.concatenate([q[None], starts[tried : tried + size]]), seed)
        tried, size = tried + size, 3 * size
    if errors is None:
        return None
    inside = YES
    if np.abs(q - seed).max() > np.pi:
        fitted = fit_turns(robot, q[None], seed[None], limits)
        q, inside = fitted.q[0], fitted.inside
        if limits and not inside.all():
            return None
    singular = NO if J is None else lost_rank(J[None], task_rank(robot, body, task))
    status = "singular" if singular[0] else "solved"
    said = "solved: 1 solution(s), 1 inside the limits"
    if singular[0]:
        said = "singular: 1 solution(s), the preferred one is a singular configuration"
    return IKResult(
        status=status,  # type: ignore[arg-type]
        solutions=q[None],
        within_limits=inside,
        singular=singular,
        position_error=errors[:1],
        rotation_error=errors[1:],
        closest=q,
        closest_position_error=float(errors[0]),
        closest_rotation_error=float(errors[1]),
        method="numeric",
        message=said,
    )


def _starts(robot: Robot, limits: bool, count: int, length: float) -> Array:
    return random_starts(robot, count, limits, np.random.default_rng(RANDOM_SEED), length)


def _attempt(task: Task, goal: Array, starts: Array, seed: Array) -> tuple[Array, Array | None, Array | None]:
    """Best end of these starts: q (n,), its errors (2,) or None if it does not solve, and J if it may be singular."""
    lanes, n = starts.shape
    spare = task.spare.setdefault(lanes, [])
    work = spare.pop() if spare else Workspace(task.plan, lanes)
    try:
        work.run(goal, starts)
        k = 0
        q, position, rotation = work.get("q"), work.get("position")[:, 0], work.get("rotation")[:, 0]
        solved = (position <= EXACT) & (rotation <= EXACT)
        if lanes > 1:
            away = np.linalg.norm(q - seed, axis=1)
            k = int(np.argmin(np.where(solved, away / (1.0 + away), 2.0 + np.hypot(position / task.length, rotation))))
        m = task.aim.rows
        det, trace = work.get("volume")[k].tolist()
        # σ_min² ≥ det/(trace/(m − 1))^(m − 1): most configurations are cleared without a decomposition
        clear = m <= n and det * (m - 1) ** (m - 1) > SINGULAR_BELOW**2 * trace**m
        J = None if clear else work.get("J")[k].reshape(m, n).copy()
        return q[k].copy(), np.array([position[k], rotation[k]]) if solved[k] else None, J
    finally:
        spare.append(work)
