# SPDX-License-Identifier: Apache-2.0
"""Arms for the kinematics tests: families given by their tables, and comparison of their solutions."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from armwright.robot.load import load as read_catalogue
from armwright.robot.tables.dh import from_dh

H = 0.5 * np.pi
TURN = 2.0 * np.pi

# robots are frozen and keep their compiled kernels: one of each serves all tests
load = cache(read_catalogue)


@cache
def ur_family(d1, a2, a3, d4, d5, d6, name="ur", right=H):
    """Standard DH of the UR arms; `right` lets a description round its right angles."""
    table = [[0, d1, 0, right], [0, 0, a2, 0], [0, 0, a3, 0], [0, d4, 0, right], [0, d5, 0, -right], [0, d6, 0, 0]]
    return from_dh(table, name=name, limits=[(-TURN, TURN)] * 6)


UR3 = (0.1519, -0.24365, -0.21325, 0.11235, 0.08535, 0.0819)
UR5 = (0.089159, -0.425, -0.39225, 0.10915, 0.09465, 0.0823)
UR10 = (0.1273, -0.612, -0.5723, 0.163941, 0.1157, 0.0922)


@cache
def general_6r(seed):
    """Six revolute joints in general position: no closed form."""
    rng = np.random.default_rng(seed)
    columns = [np.zeros(6), rng.uniform(-0.3, 0.3, 6), rng.uniform(-0.4, 0.4, 6), rng.uniform(-np.pi, np.pi, 6)]
    return from_dh(np.stack(columns, axis=1), name=f"general{seed}")


class PoseErrors(NamedTuple):
    """e (N, 6) = [p_goal − p; log(R_goal Rᵀ)], and the norms of its halves (N,) [m], [rad]."""

    e: np.ndarray
    position: np.ndarray
    rotation: np.ndarray


def pose_errors(T, goal):
    """Compare poses (N, 4, 4) by SciPy, which knows nothing of the solver's own measure."""
    shift = goal[:, :3, 3] - T[:, :3, 3]
    turn = Rotation.from_matrix(goal[:, :3, :3] @ np.swapaxes(T[:, :3, :3], 1, 2)).as_rotvec()
    return PoseErrors(
        np.concatenate([shift, turn], axis=1), np.linalg.norm(shift, axis=1), np.linalg.norm(turn, axis=1)
    )


def apart(a, b):
    """Largest difference of joint angles mod 2π, over the last axis."""
    d = np.asarray(a) - np.asarray(b)
    return np.abs(d - TURN * np.round(d / TURN)).max(axis=-1)


def among(batch, q):
    """Whether configurations q (B, n) are among the solutions of each target (B,)."""
    used = np.arange(batch.solutions.shape[-2]) < batch.count[..., None]
    return ((apart(batch.solutions, q[:, None]) < 1e-6) & used).any(axis=-1)
