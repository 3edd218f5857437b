# SPDX-License-Identifier: Apache-2.0
"""Twists and wrenches, linear first: ``V = [v; w]``, ``F = [f; n]``; how they change frames, their brackets, screws.

Power is ``F @ V`` in any common frame. A screw is the axis, pitch and amount of a rigid motion; `screw` and `slide`
make a twist of it, `chasles` finds it from a twist. Everything works on floats and on symbols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.arguments import matrix_of
from armwright.spatial.rotations import skew

if TYPE_CHECKING:
    from armwright.types import Scalar, Traced


def _blocks(upper_left: Traced, upper_right: Traced, lower_left: Traced, lower_right: Traced) -> Traced:
    top = np.concatenate([upper_left, upper_right], axis=1)
    return np.concatenate([top, np.concatenate([lower_left, lower_right], axis=1)], axis=0)


def adjoint(T: Traced) -> Traced:
    """Ad(T_a_b) (6, 6): twist in b to twist in a, [[R, p̂R], [0, R]] (002 eq. 2.54).

    >>> adjoint(translation([0.0, 0.0, 1.0])) @ [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    array([0., 1., 0., 1., 0., 0.])
    """
    T = matrix_of(T)
    R, p = T[:3, :3], T[:3, 3]
    return _blocks(R, skew(p) @ R, np.zeros((3, 3)), R)


def adjoint_inverse(T: Traced) -> Traced:
    """Ad(T_a_b)⁻¹ = Ad(T_b_a) (6, 6): [[Rᵀ, −Rᵀp̂], [0, Rᵀ]] (002 eq. 2.55).

    >>> adjoint_inverse(T_base_tool) @ twist  # the twist in tool axes
    """
    T = matrix_of(T)
    Rt, p = T[:3, :3].T, T[:3, 3]
    return _blocks(Rt, -(Rt @ skew(p)), np.zeros((3, 3)), Rt)


def coadjoint(T: Traced) -> Traced:
    """Ad(T_a_b)⁻ᵀ (6, 6): wrench in b to wrench in a, [[R, 0], [p̂R, R]].

    >>> coadjoint(T_base_tool) @ wrench  # as transform_wrench(T_base_tool, wrench)
    """
    T = matrix_of(T)
    R, p = T[:3, :3], T[:3, 3]
    return _blocks(R, np.zeros((3, 3)), skew(p) @ R, R)


def transform_twist(T: Traced, twist: Traced) -> Traced:
    """Twist (6,) of one motion, from frame b to frame a of ``T = T_a_b``, without building the 6×6.

    >>> transform_twist(translation([0.0, 0.0, 1.0]), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    array([0., 1., 0., 1., 0., 0.])
    """
    T = matrix_of(T)
    R, p = T[:3, :3], T[:3, 3]
    w = R @ twist[3:]
    return np.concatenate([R @ twist[:3] + np.cross(p, w), w])


def transform_wrench(T: Traced, wrench: Traced) -> Traced:
    """Wrench (6,) of one force system, from frame b to frame a of ``T = T_a_b``: moments move with the origin.

    >>> transform_wrench(T_base_tool, [0.0, 0.0, -5.0, 0.0, 0.0, 0.0])  # a push at the tool, as the base feels it
    """
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
    """[V, U] = (w_V×v_U − w_U×v_V, w_V×w_U) (6,): rate of a twist U that is carried along by motion V.

    >>> lie_bracket(V, U)  # equals motion_cross_matrix(V) @ U
    """
    return np.concatenate([np.cross(V[3:], U[:3]) + np.cross(V[:3], U[3:]), np.cross(V[3:], U[3:])])


motion_cross = lie_bracket


def force_cross(V: Traced, F: Traced) -> Traced:
    """Rate (6,) of a wrench F that is carried along by motion V: (w×f, v×f + w×n).

    >>> force_cross(V, F)  # equals force_cross_matrix(V) @ F
    """
    return np.concatenate([np.cross(V[3:], F[:3]), np.cross(V[:3], F[:3]) + np.cross(V[3:], F[3:])])


class ScrewMotion(NamedTuple):
    """A screw motion: unit `axis` (3,), `point` (3,) of the axis nearest the origin, `pitch` [m/rad], `magnitude`.

    The magnitude is the angle [rad]; for a pure translation the pitch is infinite and the magnitude a length [m].
    """

    axis: Traced
    point: Traced
    pitch: Scalar
    magnitude: Scalar


def screw(point: Traced, direction: Traced, pitch: Scalar = 0.0) -> Traced:
    """Unit twist ξ = [−w×p + h·w; w] (6,) of a screw through `point` along the **unit** `direction` (002, section 2.8).

    Args:
        point: any point of the axis (3,) [m].
        direction: unit vector w (3,).
        pitch: advance per radian h [m/rad]; 0 is a revolute joint.

    >>> screw([0.5, 0.0, 0.0], [0.0, 0.0, 1.0])  # a revolute joint along z at x = 0.5 m: [0, -0.5, 0, 0, 0, 1]
    """
    w = np.asarray(direction)
    return np.concatenate([np.cross(point, w) + pitch * w, w])


def slide(direction: Traced) -> Traced:
    """Unit twist ξ = [v; 0] (6,) of a translation along the unit `direction` (3,): a prismatic joint.

    >>> slide([0.0, 0.0, 1.0])
    array([0., 0., 1., 0., 0., 0.])
    """
    return np.concatenate([np.asarray(direction), np.zeros(3)])


def chasles(twist: Traced) -> ScrewMotion:
    """Axis, point, pitch and magnitude of a twist [v; w] (6,); inverse of ``magnitude * screw(point, axis, pitch)``.

    Twists with |w| < 1e-12 count as pure translations: their axis is that of v, their point the origin. The zero twist
    has magnitude 0 and the axis (0, 0, 0).

    >>> chasles(2.0 * screw([0.5, 0.0, 0.0], [0.0, 0.0, 1.0])).point  # [0.5, 0, 0]
    """
    v, w = twist[:3], twist[3:]
    turning, sliding = w @ w, v @ v
    turns = turning > 1e-24
    length = np.where(turns, turning, np.where(sliding > 0.0, sliding, 1.0))
    root = np.sqrt(length)
    axis = np.array([np.where(turns, w[i], v[i]) / root for i in range(3)])
    across = np.cross(w, v)
    point = np.array([np.where(turns, across[i] / length, 0.0) for i in range(3)])
    pitch = np.where(turns, (w @ v) / length, np.inf)
    return ScrewMotion(axis, point, pitch, np.where(turns, root, np.where(sliding > 0.0, root, 0.0)))
