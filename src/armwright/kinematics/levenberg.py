# SPDX-License-Identifier: Apache-2.0
"""Levenberg–Marquardt on pose errors, all starts of all targets iterating together.

One compiled kernel gives pose and Jacobian of the whole batch; the steps are batched 6×6 (or smaller) solves. Joint
limits are kept by projection with an active set: a coordinate at its bound whose descent points outwards is held.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.kinematics.ik_result import EXACT
from armwright.kinematics.pose_error import error_jacobian, pose_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Array

    Mask = NDArray[np.bool_]

PoseAndJacobian = Callable[[Any], tuple[Any, Any]]
GOAL_TOLERANCE = 0.01 * EXACT
"""Error [m, rad] at which a start has arrived: the last step of Newton's method then lies well inside the promise."""
FLAT = 1e-9
"""Projected gradient over error [-] that counts as a minimum: what 1e-9 rad of joint motion would change."""
FIRST_DAMPING = 1e-2
"""Damping of the first step [-]: the square of singular values of 0.1, for Jacobians that are weighed to be about 1."""
LEAST_DAMPING = 1e-15
"""Below which it has no effect beside such Jacobians in double precision [-]."""
LARGEST_DAMPING = 1e12
"""At which a step is shorter than 1e-12 rad, so that none helps [-]."""


class Outcome(NamedTuple):
    """Where the iteration ended: q (N, n), errors (N,) [m], [rad]; `flat` where it rests in a local minimum."""

    q: Array
    position: Array
    rotation: Array
    flat: Mask


class Task(NamedTuple):
    """What is minimised: the kernel, the bounds (n,), the number of error rows (3 or 6), the length [m] per radian."""

    run: PoseAndJacobian
    lower: Array
    upper: Array
    rows: int
    length: float

    def measure(self, q: Array, goal: Array) -> tuple[Array, Array, Array, Array]:
        """Return scaled error f (N, rows), its Jacobian (N, rows, n) and both error norms (N,)."""
        T, J = self.run(q)
        error = pose_error(T, goal)
        weight = np.array([1.0 / self.length] * 3 + [1.0] * 3)[: self.rows]
        J_e = J[:, :3] if self.rows == 3 else error_jacobian(error.e, J)
        rotation = np.zeros_like(error.rotation) if self.rows == 3 else error.rotation
        return error.e[:, : self.rows] * weight, J_e * weight[:, None], error.position, rotation


def _step(J: Array, f: Array, damping: Array) -> Array:
    """Solve (JᵀJ + damping) dq = Jᵀf in whichever of the two equivalent forms is smaller."""
    m, n = J.shape[1:]
    Jt = np.swapaxes(J, 1, 2)
    if m <= n:
        y = np.linalg.solve(J @ Jt + damping[:, None, None] * np.eye(m), f[..., None])
        return np.asarray((Jt @ y)[..., 0])
    return np.asarray(np.linalg.solve(Jt @ J + damping[:, None, None] * np.eye(n), Jt @ f[..., None])[..., 0])


def minimise(task: Task, goal: Array, start: Array, iterations: int) -> Outcome:
    """Minimise the pose error from `start` (N, n) towards `goal` (N, 4, 4); every start ends on its own.

    A start ends when its error is below `GOAL_TOLERANCE`, when the projected gradient vanishes (a local minimum, where
    no joint motion inside the limits helps), or after `iterations` steps.
    """
    q = np.clip(start, task.lower, task.upper)
    f, J, position, rotation = task.measure(q, goal)
    count = q.shape[0]
    damping, grow = np.full(count, FIRST_DAMPING), np.full(count, 2.0)
    flat = np.zeros(count, dtype=bool)
    live = np.arange(count)
    for _ in range(iterations):
        live = live[(np.maximum(position[live], rotation[live]) > GOAL_TOLERANCE) & ~flat[live]]
        if live.size == 0:
            break
        g = np.einsum("nij,ni->nj", J[live], f[live])
        held = ((q[live] <= task.lower) & (g < 0.0)) | ((q[live] >= task.upper) & (g > 0.0))
        g = np.where(held, 0.0, g)
        norm = np.linalg.norm(f[live], axis=-1)
        still = np.abs(g).max(axis=-1, initial=0.0) <= FLAT * norm
        flat[live[still]] = True
        live, g, held = live[~still], g[~still], held[~still]
        if live.size == 0:
            break
        dq = _step(np.where(held[:, None, :], 0.0, J[live]), f[live], damping[live])
        trial = np.clip(q[live] + dq, task.lower, task.upper)
        dq = trial - q[live]
        f_new, J_new, position_new, rotation_new = task.measure(trial, goal[live])
        gained = 0.5 * ((f[live] ** 2).sum(axis=-1) - (f_new**2).sum(axis=-1))
        model = f[live] - np.einsum("nij,nj->ni", J[live], dq)
        promised = 0.5 * ((f[live] ** 2).sum(axis=-1) - (model**2).sum(axis=-1))
        better = gained > 0.0
        ratio = np.where(promised > 0.0, gained / np.where(promised > 0.0, promised, 1.0), 1.0)
        won = live[better]
        q[won], f[won], J[won] = trial[better], f_new[better], J_new[better]
        position[won], rotation[won] = position_new[better], rotation_new[better]
        shrink = np.maximum(0.1, 1.0 - (2.0 * np.minimum(ratio, 1.0) - 1.0) ** 3)
        damping[live] = np.where(better, np.maximum(damping[live] * shrink, LEAST_DAMPING), damping[live] * grow[live])
        grow[live] = np.where(better, 2.0, 2.0 * grow[live])
        flat[live] |= ~better & (damping[live] > LARGEST_DAMPING)
    return Outcome(q, position, rotation, flat)
