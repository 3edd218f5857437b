# SPDX-License-Identifier: Apache-2.0
"""Joints along a tool path of an arm without closed-form inverse kinematics: step by step from the posture before.

Each step integrates q′ = D (A D)⁺x′ (A = W J, weighted) over one interval of the path by RK4 and returns to the path
by Newton steps. An arm with joints to spare takes the least motion of its joints, in which joints count the more the
nearer they are to the ends of their ranges (D, the weighted least norm of Chan and Dubey); so its posture depends on
where it came from. With six joints D has no effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.kinematics import fk, jacobian, jacobian_dot
from armwright.kinematics.extent import SINGULAR_BELOW, weights
from armwright.kinematics.ik_levenberg import GOAL_TOLERANCE
from armwright.kinematics.ik_limits import middle
from armwright.motion.cartesian_path import PathPoint
from armwright.spatial import log_so3

if TYPE_CHECKING:
    from armwright.motion.tool_path import ToolPath
    from armwright.robot.model import Robot
    from armwright.types import Array

NEWTON_STEPS = 12  # in which a step must arrive: the digits double each time, so four suffice from a good start
LONGEST_CORRECTION = 0.5  # [rad or m] of a Newton step: beyond, the path is lost rather than followed
ROOM_AT_THE_END = 0.02  # D of a joint at the end of its range; 1 in its middle


class Slopes(NamedTuple):
    """dq/dσ and d²q/dσ² (N, n), conditioning (N,), sign of det J (N,), 0 where J is not square."""

    dq: Array
    ddq: Array
    ratio: Array
    sign: Array


def spared_slopes(robot: Robot, q: Array, point: PathPoint, offset: Array) -> Slopes:
    """Derivatives of joints q (N, n), n ≥ 6, by the path parameter; `offset` (3,): tool point in the arm's tool frame.

    With B = A D, y = B⁺x′ and q′ = D y: y′ = B⁺(x″ − B′y) + (1 − B⁺B) B′ᵀB⁺ᵀy, the exact derivative of the
    pseudo-inverse, and q″ = D′y + D y′. The second term of y′ vanishes unless the arm has joints to spare.
    """
    w = weights(robot)
    A = jacobian(robot, q, point=offset) * w[:, None]
    bare = np.linalg.svd(A, compute_uv=False)
    ratio = bare[:, -1] / bare[:, 0]
    D, bend = _room(robot, q)
    B = A * D[:, None, :]
    U, sigma, Vt = np.linalg.svd(B, full_matrices=False)
    pinv = np.einsum("nki,nk,njk->nij", Vt, 1.0 / np.maximum(sigma, SINGULAR_BELOW * sigma[:, :1]), U)
    y = np.einsum("nij,nj->ni", pinv, w * point.dX)
    dq = D * y
    dD = bend * dq
    dA = jacobian_dot(robot, q, dq, point=offset) * w[:, None]
    dB = dA * D[:, None, :] + A * dD[:, None, :]
    dy = np.einsum("nij,nj->ni", pinv, w * point.ddX - np.einsum("nij,nj->ni", dB, y))
    sign = np.zeros(len(q))
    if robot.n > 6:
        pull = np.einsum("nji,nj->ni", dB, np.einsum("nji,nj->ni", pinv, y))
        dy = dy + pull - np.einsum("nij,njk,nk->ni", pinv, B, pull)
    else:
        sign = np.sign(np.linalg.det(A))
    return Slopes(dq, dD * y + D * dy, ratio, sign)


def _room(robot: Robot, q: Array) -> tuple[Array, Array]:
    """Return D (…, n) of joints q (…, n), and its derivative by q: 1 in the middle of a range, least at its ends."""
    if robot.n == 6:  # nothing to spare
        return np.ones_like(q), np.zeros_like(q)
    bounded = np.isfinite(robot.lower) & np.isfinite(robot.upper) & (robot.upper > robot.lower)
    half = np.where(bounded, 0.5 * (robot.upper - robot.lower), 1.0)
    u = np.where(bounded, (q - middle(robot)) / half, 0.0)
    inside = np.abs(u) < 1.0
    D = np.where(inside, 1.0 - (1.0 - ROOM_AT_THE_END) * u**2, ROOM_AT_THE_END)
    return D, np.where(inside, -2.0 * (1.0 - ROOM_AT_THE_END) * u / half, 0.0)


def continued(robot: Robot, path: ToolPath, s: Array, T_flange_tool: Array, q_start: Array) -> tuple[Array, int]:
    """Follow a path through its parameters s (N,) from the posture q_start (n,), which is at or near s[0].

    Returns:
        q (reached, n) and how many leading places were reached.
    """
    offset = T_flange_tool[:3, 3]
    here = arrived(robot, path.at(s[0]).T, T_flange_tool, q_start)
    if here is None:
        return np.zeros((0, robot.n)), 0
    out = [here]
    at = np.stack([s[:-1], 0.5 * (s[:-1] + s[1:])], axis=1)
    first, half, last = path.at(at[:, 0]), path.at(at[:, 1]), path.at(s[1:], before=True)

    def slope(points: PathPoint, k: int, q: Array) -> Array:
        one = PathPoint(*(part[k : k + 1] for part in points))
        w = weights(robot)
        A = jacobian(robot, q, point=offset) * w[:, None]
        D, _ = _room(robot, q)
        return np.asarray(D * _solve(A * D, w * one.dX[0]))

    for k, h in enumerate(np.diff(s)):
        q = out[-1]
        k1 = slope(first, k, q)
        k2 = slope(half, k, q + 0.5 * h * k1)
        k3 = slope(half, k, q + 0.5 * h * k2)
        k4 = slope(last, k, q + h * k3)
        new = arrived(robot, last.T[k], T_flange_tool, q + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))
        if new is None:
            break
        out.append(new)
    return np.array(out), len(out)


def arrived(robot: Robot, T: Array, T_flange_tool: Array, q: Array) -> Array | None:
    """Return joints (n,) near q (n,) that bring the tool to T (4, 4), by damped Newton steps; None if they do not."""
    w, offset = weights(robot), T_flange_tool[:3, 3]
    for _ in range(NEWTON_STEPS):
        now = fk(robot, q) @ T_flange_tool
        e = w * np.concatenate([T[:3, 3] - now[:3, 3], log_so3(T[:3, :3] @ now[:3, :3].T)])
        if not np.isfinite(e).all():
            return None
        if np.abs(e).max() < GOAL_TOLERANCE:
            return q
        step = _solve(jacobian(robot, q, point=offset) * w[:, None], e)
        q = q + step * min(1.0, LONGEST_CORRECTION / max(float(np.abs(step).max()), 1e-300))
    return None


def _solve(A: Array, x: Array) -> Array:
    """Return the shortest solution of A y = x, small singular values damped."""
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    return np.asarray(Vt.T @ ((U.T @ x) / np.maximum(sigma, SINGULAR_BELOW * sigma[0])))
