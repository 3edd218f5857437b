# SPDX-License-Identifier: Apache-2.0
"""The difference of two poses as six numbers, and its exact Jacobian; for many poses at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from armwright.types import Array


SERIES_BELOW = 1e-4
"""Angle [rad] below which 1/φ² − cot(φ/2)/2φ is its limit 1/12: off by φ²/720, 1e-11; the formula cancels more."""
NO_TURN = 1e-12
"""Sine below which angle and sine are equal to the last digit."""


class PoseError(NamedTuple):
    """Vector e (N, 6) = [p_goal − p; log(R_goal Rᵀ)], base axes, and the norms of its halves (N,) [m], [rad]."""

    e: Array
    position: Array
    rotation: Array


def rotation_vectors(R: Array) -> Array:
    """Return rotation vectors (N, 3) of rotations (N, 3, 3), accurate near 0 and near π."""
    v = 0.5 * np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=-1)
    sine = np.linalg.norm(v, axis=-1)
    cosine = 0.5 * (np.trace(R, axis1=1, axis2=2) - 1.0)
    angle = np.arctan2(sine, cosine)
    out = v * np.where(sine > NO_TURN, angle / np.maximum(sine, NO_TURN), 1.0)[:, None]
    far = cosine < -0.5
    if far.any():
        # near π the skew part vanishes; the axis is the largest column of n nᵀ = (sym R − c)/(1 − c)
        c = cosine[far]
        outer = (0.5 * (R[far] + np.swapaxes(R[far], 1, 2)) - c[:, None, None] * np.eye(3)) / (1.0 - c)[:, None, None]
        column = np.argmax(np.diagonal(outer, axis1=1, axis2=2), axis=1)
        axis = outer[np.arange(len(c)), :, column]
        axis = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
        flip = np.where((axis * v[far]).sum(axis=-1) < 0.0, -1.0, 1.0)
        out[far] = axis * (flip * angle[far])[:, None]
    return out


def pose_error(T: Array, goal: Array) -> PoseError:
    """Compare poses T (N, 4, 4) with their goals (N, 4, 4)."""
    shift = goal[:, :3, 3] - T[:, :3, 3]
    turn = rotation_vectors(goal[:, :3, :3] @ np.swapaxes(T[:, :3, :3], 1, 2))
    e = np.concatenate([shift, turn], axis=-1)
    return PoseError(e, np.linalg.norm(shift, axis=-1), np.linalg.norm(turn, axis=-1))


def error_jacobian(e: Array, J: Array) -> Array:
    """Return −de/dq (N, 6, n) from the geometric Jacobian J (N, 6, n): its angular rows times the inverse of
    the right Jacobian of SO(3) at the rotation error, 1 + ½ê + (1/φ² − cot(φ/2)/(2φ)) ê².
    """  # noqa: D205
    w = e[:, 3:]
    phi = np.linalg.norm(w, axis=-1)
    small = phi < SERIES_BELOW
    safe = np.where(small, 1.0, phi)
    k = np.where(small, 1.0 / 12.0, 1.0 / safe**2 - 0.5 / (safe * np.tan(0.5 * safe)))
    A = J[:, 3:]
    cross = np.cross(w[:, :, None], A, axis=1)
    twice = np.cross(w[:, :, None], cross, axis=1)
    return np.concatenate([J[:, :3], A + 0.5 * cross + k[:, None, None] * twice], axis=1)
