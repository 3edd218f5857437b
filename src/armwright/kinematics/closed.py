"""From raw closed-form branches to an answer: refine, verify by forward kinematics, merge, fit into limits, order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.kinematics.branches import Branches
from armwright.kinematics.ik_result import IKBatch
from armwright.kinematics.joint_range import TURN, fit_turns
from armwright.kinematics.levenberg import minimise
from armwright.kinematics.numeric import ik_task, search, singular_at, solves
from armwright.kinematics.pose_error import pose_error
from armwright.kinematics.spherical_wrist import solve_spherical_wrist
from armwright.kinematics.ur_inverse import solve_ur

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.kinematics.ik_geometry import HomeAxes
    from armwright.robot.model import Robot

    Array = NDArray[np.float64]
    Mask = NDArray[np.bool_]

BRANCHES = 8
REFINE_ABOVE = 1e-10
REFINE_STEPS = 12
SAME = 1e-7


def _verified(
    robot: Robot, body: int | None, goal: Array, rows: Branches
) -> tuple[Branches, Array, Array, Mask]:
    """Check every branch by forward kinematics, polish what is off, drop what is not a solution."""
    task = ik_task(robot, body, False, False)
    q = rows.q - TURN * np.round(rows.q / TURN)
    error = pose_error(task.run(q)[0], goal[rows.target])
    position, rotation = error.position.copy(), error.rotation.copy()
    off = np.flatnonzero(np.maximum(position, rotation) > REFINE_ABOVE)
    if off.size:
        polished = minimise(task, goal[rows.target[off]], q[off], REFINE_STEPS)
        # a polish that wanders to another branch would be found twice: keep it near
        near = np.abs(polished.q - q[off]).max(axis=-1) < 0.1
        q[off[near]] = polished.q[near]
        position[off[near]], rotation[off[near]] = polished.position[near], polished.rotation[near]
    good = solves(position, rotation)
    kept = Branches(rows.target, q, rows.free).pick(good)
    singular = singular_at(robot, body, task, kept.q) if kept.target.size else np.zeros(0, dtype=bool)
    return kept, position[good], rotation[good], singular


def _unique(rows: Branches) -> Mask:
    """Which branches are not repetitions (mod 2π) of an earlier branch of the same target; rows sorted by target."""
    keep = np.ones(rows.target.size, dtype=bool)
    for lag in range(1, BRANCHES * 2):
        if lag >= rows.target.size:
            break
        same_target = rows.target[lag:] == rows.target[:-lag]
        difference = rows.q[lag:] - rows.q[:-lag]
        difference = np.abs(difference - TURN * np.round(difference / TURN)).max(axis=-1)
        keep[lag:] &= ~(same_target & (difference < SAME) & keep[:-lag])
    return keep


def solve_closed(
    robot: Robot, body: int | None, name: str, home: HomeAxes, goal: Array, seed: Array, *, limits: bool, restarts: int
) -> IKBatch:
    """Solve goals (B, 4, 4) in closed form; seed (B, 6). See `armwright.kinematics.inverse.ik` for the meaning."""
    count = goal.shape[0]
    M_inverse = np.eye(4)
    M_inverse[:3, :3], M_inverse[:3, 3] = home.M[:3, :3].T, -home.M[:3, :3].T @ home.M[:3, 3]
    raw = (solve_ur if name == "ur" else solve_spherical_wrist)(home, goal @ M_inverse, seed)
    raw = raw.pick(np.argsort(raw.target, kind="stable"))
    rows, position, rotation, singular = _verified(robot, body, goal, raw)
    new = _unique(rows)
    rows, position, rotation, singular = rows.pick(new), position[new], rotation[new], singular[new] | rows.free[new]
    fitted = fit_turns(robot, rows.q, seed[rows.target], limits)
    away = np.linalg.norm(fitted.q - seed[rows.target], axis=-1)
    order = np.lexsort((away, ~fitted.inside if limits else np.zeros_like(rows.target), rows.target))
    target = rows.target[order]
    found = np.bincount(target, minlength=count)
    slot = np.arange(target.size) - np.repeat(np.cumsum(found) - found, found)
    width = max(1, int(found.max(initial=0)))

    def table(values: NDArray[np.generic], fill: float | bool) -> NDArray[np.generic]:
        out = np.full((count, width, *values.shape[1:]), fill, dtype=values.dtype)
        out[target, slot] = values[order]
        return out

    solutions = np.asarray(table(fitted.q, 0.0), dtype=np.float64)
    inside = np.asarray(table(fitted.inside, False), dtype=bool)
    flags = np.asarray(table(singular, False), dtype=bool)
    errors = [np.asarray(table(values, 0.0), dtype=np.float64) for values in (position, rotation)]
    usable = (inside if limits else np.arange(width) < found[:, None])[:, 0]
    status = np.where(usable, np.where(flags[:, 0], "singular", "solved"), "out_of_limits").astype("<U13")
    status[found == 0] = "unreachable"
    closest, near_p, near_r = solutions[:, 0].copy(), errors[0][:, 0].copy(), errors[1][:, 0].copy()
    missed = np.flatnonzero(~usable)
    if missed.size:
        task = ik_task(robot, body, limits, False)
        start = np.where(found[missed, None] > 0, closest[missed], seed[missed])
        best = search(robot, task, goal[missed], start, restarts, limits)
        closest[missed], near_p[missed], near_r[missed] = best.q, best.position, best.rotation
    padding = np.arange(width) >= found[:, None]
    solutions = np.where(padding[..., None], closest[:, None], solutions)
    reason = np.full(count, "", dtype="<U96")
    reason[found == 0] = "the closed form has no real branch"
    return IKBatch(
        status=status, count=found.astype(np.int64), solutions=solutions, within_limits=inside, singular=flags,
        position_error=errors[0], rotation_error=errors[1], closest=closest, closest_position_error=near_p,
        closest_rotation_error=near_r, method=name, reason=reason,
    )  # fmt: skip
