# SPDX-License-Identifier: Apache-2.0
"""The preferred solution of an arm with joints to spare: away from its limits, near a posture, or most dexterous.

From a solution the arm moves along the directions that leave the task alone (the null space of its Jacobian) down the
gradient of the preference, comes back to the task by the compiled iteration, and keeps what is better. The gradient is
exact: it comes from the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.kinematics.ik_levenberg import IkOutcome, IkTask, minimise
from armwright.kinematics.ik_limits import middle
from armwright.kinematics.ik_numeric import IkSearch, ik_task, singular_at
from armwright.kinematics.ik_result import EXACT, IKBatch
from armwright.kinematics.jacobians import frame_jacobian
from armwright.robot.kernels import kernel
from armwright.spatial.linear import ltdl

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array, Traced

NAMES = ("limits", "manipulability")
NULL_SPACE_STEPS, TASK_CORRECTIONS = 60, 8
"""Steps along the null space at most, and corrections to the task after each."""
LONGEST_STEP = 0.4
"""Longest step of a joint [rad, m]: one that the corrections surely bring back."""
LEAST_GRADIENT_SHARE = 1e-6
"""Share of the gradient in the null space below which nothing better is near."""
SHORTEST_STEP = 1e-7
"""Step [rad, m] below which no shorter one is tried."""


def cost_of(robot: Robot, body: int | None, prefer: str | ArrayLike) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the cost of configurations (N, n) and its gradient; "limits", "manipulability", or a posture (n,)."""
    if isinstance(prefer, str):
        if prefer == "manipulability":
            volume = kernel(robot, lost_volume, body=body)
            return volume, volume.derivative("q")
        if prefer != "limits":
            raise InputError(
                f"prefer: expected {', '.join(map(repr, NAMES))} or a posture ({robot.n},), got {prefer!r}"
            )
        span = robot.upper - robot.lower
        return _squares(
            middle(robot), np.where(np.isfinite(span) & (span > 0.0), 1.0 / np.where(span > 0.0, span, 1.0), 0.0)
        )
    posture = np.array(prefer, dtype=np.float64)
    if posture.shape != (robot.n,) or not np.isfinite(posture).all():
        raise InputError(f"prefer: a posture has {robot.n} finite numbers, got shape {posture.shape}")
    return _squares(posture, np.ones(robot.n))


def _squares(centre: Array, weight: Array) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """½ Σ (weight (q − centre))² and its gradient; in ranges, joints without limits have weight 0."""
    return (
        lambda q: 0.5 * ((weight * (q - centre)) ** 2).sum(axis=-1),
        lambda q: weight**2 * (q - centre),
    )


def lost_volume(arm: Robot, q: Traced, body: int | None) -> Traced:
    """−log √det(J Jᵀ) of the frame (003 eq. 6): falls where the ellipsoid of velocities grows."""
    J = frame_jacobian(arm, q, body)
    total: Any = 0.0
    for pivot in ltdl(J @ J.T).d:
        total = total - 0.5 * np.log(pivot)
    return total


def with_preference(
    robot: Robot, body: int | None, goal: Array, batch: IKBatch, asked: IkSearch, prefer: str | ArrayLike
) -> IKBatch:
    """Return a batch with its solutions inside the limits moved to where the preference is least nearby."""
    won = np.flatnonzero(batch.ok)
    task = ik_task(robot, body, asked.limits, asked.aim)
    moved = improve(robot, body, task, goal[won], batch.closest[won], prefer)
    solutions, closest, singular = batch.solutions.copy(), batch.closest.copy(), batch.singular.copy()
    solutions[won, 0] = closest[won] = moved.q
    position, rotation = batch.position_error.copy(), batch.rotation_error.copy()
    position[won, 0], rotation[won, 0] = moved.position, moved.rotation
    near = batch.closest_position_error.copy(), batch.closest_rotation_error.copy()
    near[0][won], near[1][won] = moved.position, moved.rotation
    if won.size:
        singular[won, 0] = singular_at(robot, body, task, moved.q, goal[won])
    status = batch.status.copy()
    status[won] = np.where(singular[won, 0], "singular", "solved")
    return replace(
        batch,
        status=status,
        solutions=solutions,
        singular=singular,
        position_error=position,
        rotation_error=rotation,
        closest=closest,
        closest_position_error=near[0],
        closest_rotation_error=near[1],
    )


def improve(robot: Robot, body: int | None, task: IkTask, goal: Array, q: Array, prefer: str | ArrayLike) -> IkOutcome:
    """Move solutions q (N, n) of goals (N, numbers) along the task's null space, down the gradient of the cost."""
    rows = task.aim.rows
    if robot.n <= rows:
        raise InputError(
            f"prefer: {robot.n} joints leave no freedom for a task of {rows} axes; ask for fewer axes (axes=…)"
        )
    cost, gradient = cost_of(robot, body, prefer)
    best = minimise(task, goal, q, TASK_CORRECTIONS)
    q = best.q
    now, step = np.asarray(cost(q)), np.full(len(q), LONGEST_STEP)
    live = np.arange(len(q))
    for _ in range(NULL_SPACE_STEPS):
        if not live.size:
            break
        steepest = np.asarray(gradient(q[live]))
        slope = -_spared(task, goal[live], q[live], steepest)
        outward = ((q[live] >= task.upper) & (slope > 0.0)) | ((q[live] <= task.lower) & (slope < 0.0))
        slope = np.where(outward, 0.0, slope)
        largest = np.abs(slope).max(axis=-1)
        moving = largest > LEAST_GRADIENT_SHARE * np.abs(steepest).max(axis=-1)
        live, slope, largest = live[moving], slope[moving], largest[moving]
        if not live.size:
            break
        trial = q[live] + slope * (step[live] / largest)[:, None]
        found = minimise(task, goal[live], trial, TASK_CORRECTIONS)
        ok = (found.position <= EXACT) & (found.rotation <= EXACT)
        value = np.where(ok, np.asarray(cost(found.q)), np.inf)
        better = value < now[live]
        won = live[better]
        now[won] = value[better]
        for old, new in zip(best, found, strict=True):
            old[won] = new[better]
        step[live] = np.where(better, np.minimum(2.0 * step[live], LONGEST_STEP), 0.25 * step[live])
        live = live[step[live] > SHORTEST_STEP]
    return best


def _spared(task: IkTask, goal: Array, q: Array, g: Array) -> Array:
    """Return the part of g (N, n) in the null space of the task's Jacobian at q (N, n)."""
    J = task.rows_at(q, goal)
    return np.asarray(g - (np.linalg.pinv(J) @ (J @ g[..., None]))[..., 0])
