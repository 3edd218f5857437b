# SPDX-License-Identifier: Apache-2.0
"""Size and freedom of an arm: reach, the length that compares metres with radians, and the rank it has in general."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.kinematics.jacobians import frame_jacobian
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array

    Mask = NDArray[np.bool_]

SINGULAR_BELOW = 1e-6
"""Singular values below this fraction of the largest count as zero: joints would turn a million times as fast as
elsewhere for the same motion of the tool."""
RANK_CONFIGURATIONS = 16
"""Random configurations whose largest rank is the arm's: one would do, unless it is singular by chance."""


def reach(robot: Robot) -> float:
    """Upper bound on the distance from the first joint to the tool [m]: all link vectors put end to end.

    Prismatic joints count with their largest limit; the bound is infinite where such a joint has none.
    """
    tree = robot.tree
    total = float(np.linalg.norm(tree.T_tip_tool[:3, 3]))
    for i in tree.ancestors(tree.tip):
        if tree.parent[i] >= 0:
            total += float(np.linalg.norm(tree.p0[i]))
        if not tree.revolute[i]:
            limits = robot.joints[tree.joint[i]].limits
            ends = tree.ratio[i] * np.array([limits.lower, limits.upper]) + tree.offset[i]
            total += float(np.abs(ends).max())
    return total


def farthest(robot: Robot) -> float:
    """Upper bound on the distance from the origin of the base to the tool [m]; infinite as `reach` is."""
    tree = robot.tree
    foot = tree.T_base_root[:3, 3] + tree.T_base_root[:3, :3] @ tree.p0[tree.ancestors(tree.tip)[-1]]
    return robot.memo("reach", reach) + float(np.linalg.norm(foot))


def characteristic_length(robot: Robot) -> float:
    """Return a length that makes metres and radians comparable: half the reach, 1 m for an arm without extent."""
    size = robot.memo("reach", reach)
    return 0.5 * size if np.isfinite(size) and size > 0.0 else 1.0


def weights(robot: Robot) -> Array:
    """Return the factors (6,) that turn a twist or pose error [m, rad] into comparable numbers."""
    return np.array([1.0 / characteristic_length(robot)] * 3 + [1.0] * 3)


def full_rank(robot: Robot, body: int | None, rows: int = 6) -> int:
    """Return the rank that the first `rows` rows of a frame's Jacobian have in general, from fixed random samples."""
    return robot.memo(("full_rank", body, rows), _sampled_rank, body, rows)


def _sampled_rank(robot: Robot, body: int | None, rows: int) -> int:
    q = np.random.default_rng(0).uniform(-2.0, 2.0, (RANK_CONFIGURATIONS, robot.n))
    s = np.linalg.svd(weighed_jacobian(robot, body, q)[:, :rows], compute_uv=False)
    largest = s.max(axis=-1, keepdims=True, initial=0.0)
    return int(((s > SINGULAR_BELOW * largest) & (largest > 0.0)).sum(axis=-1).max(initial=0))


def weighed_jacobian(robot: Robot, body: int | None, q: Array) -> Array:
    """Return Jacobians (N, 6, n) of a frame at configurations (N, n), metres divided by the arm's length."""
    return np.asarray(
        kernel(robot, frame_jacobian, name="jacobian", body=body, own_axes=False)(q) * weights(robot)[:, None]
    )


def singular_pose(robot: Robot, body: int | None, q: Array) -> Mask:
    """Return whether the Jacobian of a frame at configurations (N, n) has lost rank."""
    return lost_rank(weighed_jacobian(robot, body, q), full_rank(robot, body))


def lost_rank(J: Array, rank: int) -> Mask:
    """Return whether weighted Jacobians J (N, m, n) have a smaller rank than `rank`."""
    m, n = J.shape[1:]
    suspect = np.ones(J.shape[0], dtype=bool)
    if m == n == rank:
        # |det| ≤ smallest · (‖J‖_F/√(n−1))^(n−1): most configurations are cleared without a decomposition
        size = np.linalg.norm(J, axis=(1, 2))
        suspect = np.abs(np.linalg.det(J)) <= SINGULAR_BELOW * size * (size / np.sqrt(max(n - 1, 1))) ** (n - 1)
    s = np.linalg.svd(J[suspect], compute_uv=False)
    if rank > 0:
        suspect[suspect] = s[:, rank - 1] <= SINGULAR_BELOW * s[:, 0]
    return suspect & (rank > 0)
