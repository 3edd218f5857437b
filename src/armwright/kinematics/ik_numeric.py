# SPDX-License-Identifier: Apache-2.0
"""Numeric inverse kinematics for any chain: Levenberg–Marquardt with limits and seeded restarts.

In a batch (`solve_numeric`) every target is first tried from its seed; those that fail are tried again from many random
starts at once. A target that stays unsolved is tried without limits, to tell "out of limits" from "unreachable". A
single target (`solve_one`, what a control loop calls) needs none of the batch's arrays: the seed is tried alone, then
the random starts of `search` as lanes side by side; what is still not solved is left to `solve_numeric`.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.graph.kernel import backend
from armwright.graph.loop import CompiledLoop
from armwright.kinematics.extent import SINGULAR_BELOW, characteristic_length, full_rank, lost_rank, reach
from armwright.kinematics.ik_goal import POSE, POSITION, Aim, measure, places
from armwright.kinematics.ik_levenberg import FIRST, IkOutcome, IkTask, iteration_plan, minimise
from armwright.kinematics.ik_limits import fit_turns, random_starts
from armwright.kinematics.ik_result import EXACT, IKBatch, IKResult
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from armwright.graph.loop_plan import LoopPlan
    from armwright.robot.model import Robot
    from armwright.types import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array, Traced

    Mask = NDArray[np.bool_]

STEPS_PER_START = 100
"""Steps of a start. Of random starts of UR5, IRB 140 and Panda that arrive at all, 98 % do so within 50."""
RESTARTS = 32
"""Random starts of a target. About half of them arrive: of 400 targets per arm, 16 starts leave two of IRB 140 and
none of UR5 and Panda unsolved, 32 leave none."""
EVIDENCE = 16
"""Starts from which on the best minimum is taken for the closest approach: a single one proves nothing."""
FIRST_ROUND = 4
"""Starts of the first round, which settles 93 % of the targets of IRB 140 and 99 % of the others; rounds then grow
threefold."""
STARTS_AT_ONCE = 4096
"""Starts that iterate together: long arrays for the kernel, some megabytes of Jacobians."""
RANDOM_SEED = 20120612
"""Seed of the random starts: any number, always the same, so that a call repeats itself."""


class IkFound(NamedTuple):
    """Best configuration per target (B, n), its errors (B,), whether it solves, whether it rests in a minimum (B,)."""

    q: Array
    position: Array
    rotation: Array
    solved: Mask
    flat: Mask


class IkSearch(NamedTuple):
    """What is asked: the aim, whether to keep to the joint limits, how many random starts."""

    aim: Aim = POSE
    limits: bool = True
    restarts: int = RESTARTS


def ik_task(robot: Robot, body: int | None, limits: bool, aim: Aim = POSE) -> IkTask:
    """Return bounds, weights and iteration of one arm, frame and aim; made once."""
    return robot.memo(("ik_task", body, limits, aim), _task, body, limits, aim)


def _task(robot: Robot, body: int | None, limits: bool, aim: Aim) -> IkTask:
    open_range = np.full(robot.n, np.inf)
    lower, upper = (robot.lower, robot.upper) if limits else (-open_range, open_range)
    at, length = (places(robot) if aim.elbow else None), characteristic_length(robot)

    def rows_at(arm: Robot, q: Traced, goal: Traced) -> Traced:
        return measure(arm, body, q, goal, aim, length, at).J

    rows = kernel(robot, rows_at, check_finite=False, shapes={"goal": aim.numbers})
    plan = iteration_plan(robot, body, aim, length, lower, upper)
    return IkTask(aim, lower, upper, length, plan, rows, {})


def goal_numbers(T: Array, elbow: float | None = None) -> Array:
    """Return poses (B, 4, 4) as the numbers that the iteration takes: rotation by rows, origin, angle of the elbow."""
    parts = [T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]]
    return np.concatenate(parts if elbow is None else [*parts, np.full((len(T), 1), elbow)], axis=1)


def solves(position: Array, rotation: Array) -> Mask:
    """Return whether errors meet the promise of 1e-9 m and 1e-9 rad."""
    return np.asarray((position <= EXACT) & (rotation <= EXACT))


def singular_at(robot: Robot, body: int | None, task: IkTask, q: Array, goal: Array) -> Mask:
    """Whether the task's Jacobian at solutions (N, n) of goals has lost rank, metres weighed by the arm's length."""
    return lost_rank(task.rows_at(q, goal), task_rank(robot, body, task))


def task_rank(robot: Robot, body: int | None, task: IkTask) -> int:
    """Return the rank that the task's Jacobian has in general."""
    axes = task.aim.axes
    return (
        full_rank(robot, body, len(axes)) + task.aim.elbow
        if axes in ((0, 1, 2), POSE.axes)
        else len(axes) + task.aim.elbow
    )


def _best(task: IkTask, found: IkOutcome, seed: Array, groups: int) -> IkFound:
    """Of the starts of each target (groups × starts rows) take the solution nearest the seed, else the least error."""
    starts = found.q.shape[0] // groups
    q = found.q.reshape(groups, starts, -1)
    position, rotation = found.position.reshape(groups, starts), found.rotation.reshape(groups, starts)
    solved, flat = solves(position, rotation), found.flat.reshape(groups, starts)
    away = np.linalg.norm(q - seed[:, None], axis=-1)
    error = np.hypot(position / task.length, rotation)
    worst = np.where(solved, away / (1.0 + away), 2.0 + error)
    k = np.argmin(worst, axis=1)
    rows = np.arange(groups)
    return IkFound(q[rows, k], position[rows, k], rotation[rows, k], solved[rows, k], flat[rows, k])


def _restart(
    robot: Robot,
    task: IkTask,
    goal: Array,
    seed: Array,
    best: IkFound,
    count: int,
    limits: bool,
    rng: np.random.Generator,
) -> None:
    """Try the targets still open in `best` again from `count` random starts each, and write what is better into it."""
    open_targets = np.flatnonzero(~best.solved)
    block = max(1, STARTS_AT_ONCE // count)
    for low in range(0, open_targets.size, block):
        rows = open_targets[low : low + block]
        starts = random_starts(robot, rows.size * count, limits, rng, task.length).reshape(rows.size, count, -1)
        # the best so far stays among the candidates, so that restarts never make the closest approach worse
        starts = np.concatenate([best.q[rows][:, None], starts], axis=1)
        found = minimise(task, np.repeat(goal[rows], count + 1, axis=0), starts.reshape(-1, robot.n), STEPS_PER_START)
        for old, new in zip(best, _best(task, found, seed[rows], rows.size), strict=True):
            old[rows] = new


def search(robot: Robot, task: IkTask, goal: Array, seed: Array, restarts: int, limits: bool) -> IkFound:
    """Search a configuration for every goal (B, numbers), from seed (B, n) and then from `restarts` random starts."""
    best = _best(task, minimise(task, goal, seed, STEPS_PER_START), seed, goal.shape[0])
    rng = np.random.default_rng(RANDOM_SEED)
    left, size = restarts, FIRST_ROUND
    while left > 0 and not best.solved.all():
        size = min(size, left)
        _restart(robot, task, goal, seed, best, size, limits, rng)
        # most targets are solved in the first round; the stubborn ones get longer rounds
        left, size = left - size, 3 * size
    return best


def _beyond_reach(robot: Robot, body: int | None, goal: Array, aim: Aim) -> Mask:
    """Whether a tool target lies further from the first joint than all links put end to end."""
    tree = robot.tree
    path = tree.ancestors(tree.tip)
    if body is not None or not path or aim.axes[:3] != POSITION.axes:
        return np.zeros(goal.shape[0], dtype=bool)
    origin = tree.T_base_root[:3, :3] @ tree.p0[path[-1]] + tree.T_base_root[:3, 3]
    return np.asarray(np.linalg.norm(goal[:, 9:12] - origin, axis=-1) > reach(robot) * (1.0 + EXACT))


def solve_numeric(
    robot: Robot,
    body: int | None,
    goal: Array,
    seed: Array,
    asked: IkSearch,
) -> IKBatch:
    """Solve goals (B, numbers) numerically; seed (B, n). See `armwright.kinematics.inverse.ik` for the meaning."""
    aim, limits, restarts = asked
    count = seed.shape[0]
    inner = ik_task(robot, body, limits, aim)
    outer = ik_task(robot, body, False, aim)
    far = _beyond_reach(robot, body, goal, aim)
    closest = search(robot, inner, goal, seed, restarts, limits)
    fitted = fit_turns(robot, closest.q, seed, limits)
    solution, position, rotation = fitted.q.copy(), closest.position.copy(), closest.rotation.copy()
    solved = closest.solved
    resting = closest.flat & (restarts >= EVIDENCE)
    status = np.where(solved, "solved", np.where(resting | far, "unreachable", "not_converged")).astype("<U13")
    tried = f"the seed and {restarts} random starts; the best rests in a minimum"
    reason = np.where(solved, "", np.where(closest.flat, tried, "iteration limit reached")).astype("<U96")
    reason[far & ~solved] = "beyond the sum of the link lengths"
    inside = fitted.inside.copy()
    bounded = bool((np.isfinite(inner.lower) | np.isfinite(inner.upper)).any())
    open_targets = np.flatnonzero(~solved & ~far) if bounded else np.zeros(0, dtype=np.int64)
    has = solved.copy()
    if open_targets.size:
        beyond = search(robot, outer, goal[open_targets], closest.q[open_targets], restarts, False)
        turned = fit_turns(robot, beyond.q, seed[open_targets], True)
        rows = open_targets[beyond.solved]
        solution[rows], inside[rows] = turned.q[beyond.solved], turned.inside[beyond.solved]
        position[rows], rotation[rows] = beyond.position[beyond.solved], beyond.rotation[beyond.solved]
        has[rows] = True
        # a full turn may bring a solution found without limits back inside
        status[rows] = np.where(inside[rows], "solved", "out_of_limits")
        reason[rows] = np.where(inside[rows], "", reason[rows])
    near = np.where((has & np.isin(status, ("solved",)))[:, None], solution, closest.q)
    singular = np.zeros(count, dtype=bool)
    if has.any():
        singular[has] = singular_at(robot, body, outer, solution[has], goal[has])
    status[(status == "solved") & singular] = "singular"
    won = np.isin(status, ("solved", "singular"))
    return IKBatch(
        status=status,
        count=has.astype(np.int64),
        solutions=np.where(has[:, None], solution, near)[:, None],
        within_limits=(inside & has)[:, None],
        singular=singular[:, None],
        position_error=position[:, None].copy(),
        rotation_error=rotation[:, None].copy(),
        closest=near,
        closest_position_error=np.where(won, position, closest.position),
        closest_rotation_error=np.where(won, rotation, closest.rotation),
        method="numeric",
        reason=reason,
    )


YES, NO = np.ones(1, dtype=bool), np.zeros(1, dtype=bool)
for _flag in (YES, NO):
    _flag.flags.writeable = False


class Workspace:
    """The compiled iteration with the memory of some lanes, all for one goal; for one call at a time."""

    def __init__(self, plan: LoopPlan, lanes: int) -> None:
        loop = CompiledLoop(plan, lanes)
        for name, value in FIRST.items():
            loop.set(name, value)
        self.memory, self.first, self.lanes = loop.memory, loop.memory.copy(), lanes
        self.slots = {name: slice(at := plan.offset(name), at + size) for name, size in plan.slots.items()}
        status = (ctypes.c_int64 * 2)()
        places = [group.ctypes.data for group in loop.memory]
        unused = np.zeros(1)
        self._keep = (status, unused)
        table, address = unused.ctypes.data, ctypes.addressof(status)
        self._calls = [(place, table, table, table, 1, STEPS_PER_START + 1, 1, 0, address) for place in places]
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
        """Return a slot (lanes, size) after a run."""
        if self.lanes == 1:
            return self.memory[0, self.slots[name]].T
        size = self.slots[name].stop - self.slots[name].start
        return self.memory[:, self.slots[name]].transpose(0, 2, 1).reshape(-1, size)[: self.lanes]


def solve_one(robot: Robot, body: int | None, goal: Array, seed: Array, asked: IkSearch) -> IKResult | None:
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


def _attempt(task: IkTask, goal: Array, starts: Array, seed: Array) -> tuple[Array, Array | None, Array | None]:
    """Return the best end of these starts: q (n,), its errors (2,) or None if unsolved, and J if it may be singular."""
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
