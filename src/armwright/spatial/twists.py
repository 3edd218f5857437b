# SPDX-License-Identifier: Apache-2.0
"""Twists and wrenches, linear first: ``V = [v; w]``, ``F = [f; n]``. How they change frames, and their brackets.

Power is ``F @ V`` in any common frame. Everything works on floats and on symbols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import matrix_of
from armwright.spatial.rotations import skew

if TYPE_CHECKING:
    from armwright.types import Traced


def _blocks(upper_left: Traced, upper_right: Traced, lower_left: Traced, lower_right: Traced) -> Traced:
    top = np.concatenate([upper_left, upper_right], axis=1)
    return np.concatenate([top, np.concatenate([lower_left, lower_right], axis=1)], axis=0)


def adjoint(T: Traced) -> Traced:
    """Ad(T_a_b) (6, 6): twist in b to twist in a, [[R, p̂R], [0, R]] (002 §3.4)."""
    T = matrix_of(T)
    R, p = T[:3, :3], T[:3, 3]
    return _blocks(R, skew(p) @ R, np.zeros((3, 3)), R)


def adjoint_inverse(T: Traced) -> Traced:
    """Ad(T_a_b)⁻¹ = Ad(T_b_a) (6, 6): [[Rᵀ, −Rᵀp̂], [0, Rᵀ]] (002 §3.4)."""
    T = matrix_of(T)
    Rt, p = T[:3, :3].T, T[:3, 3]
    return _blocks(Rt, -(Rt @ skew(p)), np.zeros((3, 3)), Rt)


def coadjoint(T: Traced) -> Traced:
    """Ad(T_a_b)⁻ᵀ (6, 6): wrench in b to wrench in a, [[R, 0], [p̂R, R]]."""
    T = matrix_of(T)
    R, p = T[:3, :3], T[:3, 3]
    return _blocks(R, np.zeros((3, 3)), skew(p) @ R, R)


def transform_twist(T: Traced, twist: Traced) -> Traced:
    """Twist (6,) of one motion, from frame b to frame a of ``T = T_a_b``, without building the 6×6."""
    T = matrix_of(T)
    R, p = T[:3, :3], T[:3, 3]
    w = R @ twist[3:]
    return np.concatenate([R @ twist[:3] + np.cross(p, w), w])


def transform_wrench(T: Traced, wrench: Traced) -> Traced:
    """Wrench (6,) of one force system, from frame b to frame a of ``T = T_a_b``: moments move with the origin."""
    T = matrix_of(T)
    R, p = T[:3, :3], T[:3, 3]
    f = R @ wrench[:3]
    return np.concatenate([f, R @ wrench[3:] + np.cross(p, f)])


def motion_cross_matrix(V: Traced) -> Traced:
    """Matrix (6, 6) of `lie_bracket`: [[ŵ, v̂], [0, ŵ]]."""
    W = skew(V[3:])
    return _blocks(W, skew(V[:3]), np.zeros((3, 3)), W)


def force_cross_matrix(V: Traced) -> Traced:
    """Matrix (6, 6) of `force_cross`: −motion_cross_matrix(V)ᵀ = [[ŵ, 0], [v̂, ŵ]]."""
    W = skew(V[3:])
    return _blocks(W, np.zeros((3, 3)), skew(V[:3]), W)


def lie_bracket(V: Traced, U: Traced) -> Traced:
    """[V, U] = (w_V×v_U − w_U×v_V, w_V×w_U) (6,) (002 §3.6): rate of a twist U that is carried along by motion V."""
    return np.concatenate([np.cross(V[3:], U[:3]) + np.cross(V[:3], U[3:]), np.cross(V[3:], U[3:])])


motion_cross = lie_bracket


def force_cross(V: Traced, F: Traced) -> Traced:
    """Rate (6,) of a wrench F that is carried along by motion V: (w×f, v×f + w×n)."""
    return np.concatenate([np.cross(V[3:], F[:3]), np.cross(V[:3], F[:3]) + np.cross(V[3:], F[3:])])
