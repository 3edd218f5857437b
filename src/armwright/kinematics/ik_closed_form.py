# SPDX-License-Identifier: Apache-2.0
"""The answer from raw closed-form branches: refine, verify by forward kinematics, merge, fit into limits, order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.kinematics.extent import RANK_CONFIGURATIONS, SINGULAR_BELOW, singular_pose, weighed_jacobian
from armwright.kinematics.forward import frame_pose
from armwright.kinematics.ik_branches import Branches
from armwright.kinematics.ik_levenberg import minimise
from armwright.kinematics.ik_limits import TURN, fit_turns
from armwright.kinematics.ik_numeric import IkFound, goal_numbers, ik_task, search, solves
from armwright.kinematics.ik_result import EXACT, IKBatch
from armwright.kinematics.ik_spherical_wrist import spherical_wrist_branches
from armwright.kinematics.ik_ur import ur_branches
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.kinematics.ik_classification import HomeAxes
    from armwright.robot.model import Robot
    from armwright.types import Array

    Mask = NDArray[np.bool_]

REFINE_ABOVE = 0.1 * EXACT
"""Error [m, rad] above which a closed-form solution is polished: a tenth of what is promised."""
REFINE_STEPS = 12
"""Steps of a polish, which starts within 1e-5 and doubles its digits; only double roots need more."""
MOST_BRANCHES = 16
"""Rows of one target that are compared: twice the eight branches that such arms have."""
SAME_SOLUTION_DISTANCE = 1e-6
"""Difference [rad] below which two solutions are one: where branches meet, an error of 1e-12 separates them by 1e-6."""
WANDER = 0.1
"""[rad] that a polish may move: branches are farther apart unless the arm is nearly singular, errors are smaller."""
USABLE_GAUGE = 1e-6
"""Distance from the double roots [-] below which even the best posture does not determine the constant."""
# where axes 2, 3, 4, 6 of a UR arm are parallel, joint 6 is free as long as joints 2, 3, 4 reach: tried around the seed
TRIALS = np.array([sign * k * np.pi / 24.0 for k in range(1, 25) for sign in (1.0, -1.0)])


class IkRows(NamedTuple):
    """Verified solutions, sorted by target: (N,) target index, (N, n) q, (N,) errors [m], [rad], singular, inside."""

    target: NDArray[np.int64]
    q: Array
    position: Array
    rotation: Array
    singular: Mask
    inside: Mask

    def pick(self, rows: Mask | NDArray[np.int64]) -> IkRows:
        """Keep some rows, in the order given."""
        t, q, p, r, s, i = self
        return IkRows(t[rows], q[rows], p[rows], r[rows], s[rows], i[rows])


def _branches(robot: Robot, body: int | None, name: str, home: HomeAxes, goal: Array, seed: Array) -> Branches:
    """Run the compiled closed form on goals (B, 4, 4) with seeds (B, 6)."""
    function = ur_branches if name == "ur" else spherical_wrist_branches
    run = kernel(robot, function, regroup=False, check_finite=False, shapes={"seed": 6}, home=home, body=body)
    found = Branches(*run(goal, seed))
    stuck = (found.free > 0.5) & (found.ok < 0.5)
    rows = np.flatnonzero(stuck.any(axis=1)) if name == "ur" else np.zeros(0, dtype=np.int64)
    if rows.size:
        seeds = np.repeat(seed[rows, None], TRIALS.size, axis=1)
        seeds[..., 5] += TRIALS
        tried = Branches(*run(goal[rows, None], seeds))
        first = np.argmax(tried.ok > 0.5, axis=1)[:, None]
        fill = stuck[rows]
        for old, new in zip(found, tried, strict=True):
            chosen = np.take_along_axis(new, first.reshape(first.shape + (1,) * (new.ndim - 3)), axis=1)[:, 0]
            old[rows] = np.where(fill.reshape(fill.shape + (1,) * (new.ndim - 3)), chosen, old[rows])
    return found


def _gauge_factor(robot: Robot, body: int | None, name: str, home: HomeAxes) -> float:
    """Return |det J|/gauge with weighted metres: a constant of the arm, from the best of a few fixed configurations."""
    seed = np.random.default_rng(0).uniform(-2.0, 2.0, (RANK_CONFIGURATIONS, robot.n))
    goal = kernel(robot, frame_pose, body=body)(seed)
    found = _branches(robot, body, name, home, goal, seed)
    gauge = np.where((found.ok > 0.5) & np.isfinite(found.gauge), found.gauge, 0.0)
    best = np.unravel_index(int(np.argmax(gauge)), gauge.shape)
    if gauge[best] < USABLE_GAUGE:
        return 0.0
    J = weighed_jacobian(robot, body, found.q[best][None])[0]
    return float(np.abs(np.linalg.det(J)) / gauge[best])


def _verified(
    robot: Robot, body: int | None, name: str, home: HomeAxes, goal: Array, seed: Array, limits: bool
) -> IkRows:
    """Take every branch that forward kinematics confirms, polish what is off, merge repetitions."""
    found = _branches(robot, body, name, home, goal, seed)
    target, slot = np.nonzero(found.ok > 0.5)
    q, position, rotation, gauge = (np.array(v[target, slot]) for v in (found.q, *found[3:]))
    free = found.free[target, slot] > 0.5
    off = np.flatnonzero(~(np.maximum(position, rotation) <= REFINE_ABOVE))
    if off.size:
        polished = minimise(ik_task(robot, body, False), goal_numbers(goal[target[off]]), q[off], REFINE_STEPS)
        # a polish that wanders to another branch would be found twice: keep it near
        near = np.abs(polished.q - q[off]).max(axis=-1) < WANDER
        q[off[near]] = polished.q[near]
        position[off[near]], rotation[off[near]] = polished.position[near], polished.rotation[near]
    fitted = fit_turns(robot, q, seed[target], limits)
    # σ_min ≥ |det|/(‖J‖/√5)⁵, and the weighted ‖J‖² is at most 30: only the others need a decomposition
    factor = robot.memo(("ik_gauge", body), _gauge_factor, body, name, home)
    suspect = factor * gauge < SINGULAR_BELOW * 2.0 * 30.0**3 / 5.0**2.5
    suspect &= ~free
    if suspect.any():
        suspect[suspect] = singular_pose(robot, body, q[suspect])
    rows = IkRows(target, fitted.q, position, rotation, free | suspect, fitted.inside).pick(solves(position, rotation))
    # two branches can only coincide where det J vanishes
    return rows.pick(_new(rows.target, rows.q)) if rows.singular.any() else rows


def _new(target: NDArray[np.int64], q: Array) -> Mask:
    """Return which rows, sorted by target, do not repeat (mod 2π) an earlier row of the same target."""
    keep = np.ones(target.size, dtype=bool)
    for lag in range(1, min(MOST_BRANCHES, target.size)):
        difference = q[lag:] - q[:-lag]
        same = np.abs(difference - TURN * np.round(difference / TURN)).max(axis=-1) < SAME_SOLUTION_DISTANCE
        keep[lag:] &= ~(same & (target[lag:] == target[:-lag]) & keep[:-lag])
    return keep


def _with(
    robot: Robot, body: int | None, rows: IkRows, extra: IkFound, target: NDArray[np.int64], seed: Array
) -> IkRows:
    """Add solutions that the search found where the closed form had none to offer (free joints, inexact geometry)."""
    won = extra.solved
    if not won.any():
        return rows
    fitted = fit_turns(robot, extra.q[won], seed[target[won]], True)
    singular = singular_pose(robot, body, fitted.q)
    more = IkRows(target[won], fitted.q, extra.position[won], extra.rotation[won], singular, fitted.inside)
    joined: list[Any] = [np.concatenate(pair) for pair in zip(rows, more, strict=True)]
    return IkRows(*joined)


def solve_closed(
    robot: Robot, body: int | None, name: str, home: HomeAxes, goal: Array, seed: Array, *, limits: bool, restarts: int
) -> IKBatch:
    """Solve goals (B, 4, 4) in closed form; seed (B, 6). See `armwright.kinematics.inverse.ik` for the meaning."""
    count = goal.shape[0]
    rows = _verified(robot, body, name, home, goal, seed, limits)
    unsolved = np.ones(count, dtype=bool)
    unsolved[rows.target[rows.inside] if limits else rows.target] = False
    missed = np.flatnonzero(unsolved)
    best: IkFound | None = None
    if missed.size:
        start = seed[missed].copy()
        first = np.unique(rows.target, return_index=True)
        outside = np.isin(missed, first[0])
        start[outside] = rows.q[first[1][np.searchsorted(first[0], missed[outside])]]
        best = search(robot, ik_task(robot, body, limits), goal_numbers(goal[missed]), start, restarts, limits)
        rows = _with(robot, body, rows, best, missed, seed)
    return _arrange(rows, count, seed, limits, name, missed, best)


def _arrange(
    rows: IkRows, count: int, seed: Array, limits: bool, name: str, missed: NDArray[np.int64], best: IkFound | None
) -> IKBatch:
    """Order the solutions of each target (inside limits first, nearest to the seed first) and state the outcome."""
    away = np.linalg.norm(rows.q - seed[rows.target], axis=-1)
    rows = rows.pick(np.lexsort((away, ~rows.inside & limits, rows.target)))
    found = np.bincount(rows.target, minlength=count)
    slot = np.arange(rows.target.size) - np.repeat(np.cumsum(found) - found, found)
    width = max(1, int(found.max(initial=0)))

    def table(values: NDArray[Any]) -> NDArray[Any]:
        out = np.zeros((count, width, *values.shape[1:]), dtype=values.dtype)
        out[rows.target, slot] = values
        return out

    solutions, position, rotation, singular, inside = map(table, rows[1:])
    usable = (found > 0) & (inside[:, 0] | (not limits))
    status = np.where(usable, np.where(singular[:, 0], "singular", "solved"), "out_of_limits").astype("<U13")
    status[found == 0] = "unreachable"
    closest, near_p, near_r = solutions[:, 0].copy(), position[:, 0].copy(), rotation[:, 0].copy()
    if best is not None:
        still = ~usable[missed]
        closest[missed[still]] = best.q[still]
        near_p[missed[still]], near_r[missed[still]] = best.position[still], best.rotation[still]
    padding = np.arange(width) >= found[:, None]
    solutions = np.where(padding[..., None], closest[:, None], solutions)
    reason = np.where(found == 0, "the closed form has no real branch", "").astype("<U96")
    return IKBatch(
        status=status,
        count=found.astype(np.int64),
        solutions=solutions,
        within_limits=inside,
        singular=singular,
        position_error=position,
        rotation_error=rotation,
        closest=closest,
        closest_position_error=near_p,
        closest_rotation_error=near_r,
        method=name,
        reason=reason,
    )
