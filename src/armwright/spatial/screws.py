# SPDX-License-Identifier: Apache-2.0
"""Screws: the axis, pitch and amount of a rigid motion, and the twist they make (Chasles). For floats and symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from armwright.types import Traced


class ScrewMotion(NamedTuple):
    """A screw motion: unit `axis` (3,), `point` (3,) of the axis nearest the origin, `pitch` [m/rad], `magnitude`.

    The magnitude is the angle [rad]; for a pure translation the pitch is infinite and the magnitude a length [m].
    """

    axis: Any
    point: Any
    pitch: Any
    magnitude: Any


def screw(point: Traced, direction: Traced, pitch: Traced = 0.0) -> Traced:
    """Unit twist ξ = [−w×p + h·w; w] (6,) of a screw through `point` along the **unit** `direction` (002 §3.3).

    Args:
        point: any point of the axis (3,) [m].
        direction: unit vector w (3,).
        pitch: advance per radian h [m/rad]; 0 is a revolute joint.
    """
    w = np.asarray(direction)
    return np.concatenate([np.cross(point, w) + pitch * w, w])


def slide(direction: Traced) -> Traced:
    """Unit twist ξ = [v; 0] (6,) of a translation along the unit `direction` (3,): a prismatic joint."""
    return np.concatenate([np.asarray(direction), np.zeros(3)])


def chasles(twist: Traced) -> ScrewMotion:
    """Axis, point, pitch and magnitude of a twist [v; w] (6,); inverse of ``magnitude * screw(point, axis, pitch)``.

    Twists with |w| < 1e-12 count as pure translations: their axis is that of v, their point the origin. The zero twist
    has magnitude 0 and the axis (0, 0, 0).
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
