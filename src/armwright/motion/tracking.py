# SPDX-License-Identifier: Apache-2.0
"""Joints along a Cartesian path: one branch of inverse kinematics followed from s = 0, with exact derivatives by s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.kinematics import fk, ik, ik_class, jacobian, jacobian_dot
from armwright.kinematics.extent import SINGULAR_BELOW, full_rank, weights
from armwright.kinematics.joint_range import TURN, turning
from armwright.kinematics.levenberg import GOAL_TOLERANCE
from armwright.spatial import log_so3

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.kinematics.ik_result import IKBatch
    from armwright.motion.paths import CartesianPath
    from armwright.robot.model import Robot
    from armwright.types import Array

CLOSED_FORMS = ("ur", "spherical_wrist")
CONVERGED = GOAL_TOLERANCE
"""Error [m, rad] at which Newton's method has arrived: that of inverse kinematics."""
NEWTON_STEPS = 12
"""Steps in which it must: the digits double each time, so four suffice from a good start; more means a long step."""
SEEN = 1e-12
"""Singular values [-] are taken for at least this: far below `singular_below`, where the motion is refused."""


class Rates(NamedTuple):
    """Derivatives of the joints by s at N configurations.

    dq, ddq: (N, n) dq/ds and d²q/ds². ratio: (N,) smallest to largest singular value of the weighted Jacobian.
    mover: (N,) joint that leads the motion moving the tool least. sign: (N,) of det J, 0 where J is not square.
    """

    dq: Array
    ddq: Array
    ratio: Array
    mover: NDArray[np.int64]
    sign: Array


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What is asked of the arm: a path, all six components or position alone, joint limits respected or not."""

    robot: Robot
    path: CartesianPath
    position_only: bool
    limits: bool

    @property
    def rows(self) -> int:
        """Number of task components."""
        return 3 if self.position_only else 6

    @property
    def rank(self) -> int:
        """Rank that the task's Jacobian has in general."""
        return full_rank(self.robot, None, self.rows)

    @property
    def closed(self) -> bool:
        """Whether all branches come in closed form."""
        return not self.position_only and ik_class(self.robot).name in CLOSED_FORMS

    def rates(self, s: Array, q: Array) -> Rates:
        """Derivatives by s at s (N,), q (N, n).

        q' = A⁺x' and q'' = A⁺(x'' − J'q') + (1 − A⁺A) A'ᵀ A⁺ᵀ q' with A = W J: the second term is the exact derivative
        of the pseudo-inverse and vanishes unless the arm is redundant. J' is the derivative of J along q'.
        """
        robot, rows, rank = self.robot, self.rows, self.rank
        w = weights(robot)[:rows]
        point = self.path.at(s)
        A = jacobian(robot, q)[:, :rows] * w[:, None]
        U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
        pinv = np.einsum("nki,nk,njk->nij", Vt[:, :rank], 1.0 / np.maximum(sigma[:, :rank], SEEN), U[:, :, :rank])
        dq = np.einsum("nij,nj->ni", pinv, w * point.dX[:, :rows])
        dA = jacobian_dot(robot, q, dq)[:, :rows] * w[:, None]
        ddq = np.einsum("nij,nj->ni", pinv, w * point.ddX[:, :rows] - np.einsum("nij,nj->ni", dA, dq))
        if robot.n > rank:
            pull = np.einsum("nji,nj->ni", dA, np.einsum("nji,nj->ni", pinv, dq))
            ddq = ddq + pull - np.einsum("nij,njk,nk->ni", pinv, A, pull)
        ratio = sigma[:, rank - 1] / sigma[:, 0]
        sign = np.sign(np.linalg.det(A)) if A.shape[1] == A.shape[2] == rank else np.zeros(q.shape[0])
        return Rates(dq, ddq, ratio, np.argmax(np.abs(Vt[:, rank - 1]), axis=1), sign)

    def error(self, s: Array, q: Array) -> Array:
        """Pose error (N, rows) of configurations q (N, n) against the path at s (N,): what is missing, base axes."""
        goal, T = self.path.at(s).T, fk(self.robot, q)
        out = goal[:, :3, 3] - T[:, :3, 3]
        if self.position_only:
            return out
        R = goal[:, :3, :3] @ np.swapaxes(T[:, :3, :3], -1, -2)
        return np.concatenate([out, log_so3(np.moveaxis(R, 0, -1)).T], axis=1)

    def start(self, q0: Array | None) -> Array:
        """Configuration at s = 0 nearest to q0; raises with the solver's own message if there is none."""
        found = ik(self.robot, self.path.T_start, seed=q0, limits=self.limits, position_only=self.position_only)
        return np.asarray(found.q, dtype=np.float64)

    def track(self, s: Array, q_start: Array) -> tuple[Array, int]:
        """Follow the branch of `q_start` along s (N,) from s[0] = 0.

        Returns:
            q (N, n) and the number of leading rows that were reached (N if all were).
        """
        return self._track_closed(s, q_start) if self.closed else self._track_numeric(s, q_start)

    def _track_closed(self, s: Array, q_start: Array) -> tuple[Array, int]:
        """All branches at once in closed form, then the nearest to where the joints were heading."""
        # limits are judged by the caller on the branch that is followed, not by the choice of branch
        batch: IKBatch = ik(  # type: ignore[assignment]
            self.robot, self.path.at(s).T, method="closed", seed=q_start, limits=False, restarts=0
        )
        may_turn = turning(self.robot)
        q = np.empty((s.size, self.robot.n))
        q[0] = q_start
        for k in range(1, s.size):
            count = int(batch.count[k])
            if count == 0:
                return q, k
            ahead = q[k - 1] + (s[k] - s[k - 1]) * self.rates(s[k - 1 : k], q[k - 1 : k]).dq[0]
            options = batch.solutions[k, :count]
            options = options + np.where(may_turn, TURN * np.round((ahead - options) / TURN), 0.0)
            q[k] = options[np.argmin(np.linalg.norm(options - ahead, axis=1))]
        return q, s.size

    def _track_numeric(self, s: Array, q_start: Array) -> tuple[Array, int]:
        """Integrate q' = A⁺x' by one RK4 step a knot, then return to the path by Newton steps."""
        q = np.empty((s.size, self.robot.n))
        q[0] = q_start

        def slope(at: float, here: Array) -> Array:
            return np.asarray(self.rates(np.array([at]), here[None]).dq[0])

        for k in range(1, s.size):
            a, h, x = float(s[k - 1]), float(s[k] - s[k - 1]), q[k - 1]
            k1 = slope(a, x)
            k2 = slope(a + 0.5 * h, x + 0.5 * h * k1)
            k3 = slope(a + 0.5 * h, x + 0.5 * h * k2)
            k4 = slope(a + h, x + h * k3)
            new = self._correct(float(s[k]), x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))
            if new is None:
                return q, k
            q[k] = new
        return q, s.size

    def _correct(self, s: float, q: Array) -> Array | None:
        """Newton steps with the pseudo-inverse onto the path at s; None if they do not arrive."""
        w = weights(self.robot)[: self.rows]
        at = np.array([s])
        for _ in range(NEWTON_STEPS):
            e = w * self.error(at, q[None])[0]
            if not np.isfinite(e).all():
                return None
            if np.abs(e).max() < CONVERGED:
                return q
            A = jacobian(self.robot, q)[: self.rows] * w[:, None]
            U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
            r = self.rank
            q = q + Vt[:r].T @ ((U[:, :r].T @ e) / np.maximum(sigma[:r], SINGULAR_BELOW * sigma[0]))
        return None
