# SPDX-License-Identifier: Apache-2.0
"""What the force sensor shows without contact: its bias, and weight and inertia of the tool beyond it.

With s the specific force at the sensor, in its axes (s = Rᵀ(a − g)):

    f = f₀ − m s,     n = n₀ − m c × s,     linear in f₀, n₀, m and m c
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.identify.prepare import Piece, prepare
from armwright.kinematics import acceleration, fk
from armwright.lab.sensing import FT_AT
from armwright.spatial.rotations import skew

if TYPE_CHECKING:
    from armwright.lab.experiment.data import Data
    from armwright.robot.model import Robot
    from armwright.types import Array

RATE, FASTEST = 100.0, 8.0
LIGHTEST = 0.02  # [kg] below which no tool is hung on the description


@dataclass(frozen=True, eq=False)
class Weight:
    """Bias (6,) [N, N m], mass [kg] and centre (3,) from the sensor's origin, its axes [m]."""

    bias: Array
    mass: float
    centre: Array

    def expected(self, s: Array) -> Array:
        """Reading (K, 6) without contact at specific forces s (K, 3)."""
        force = -self.mass * s
        return np.asarray(self.bias + np.concatenate([force, np.cross(self.centre, force)], axis=1))

    def carried_by(self, robot: Robot) -> Robot:
        """The arm with this tool."""
        return robot.with_payload(self.mass, self.centre + FT_AT) if self.mass > LIGHTEST else robot


def longest_piece(data: Data, rate: float, cutoff: float) -> Piece:
    """The longest unbroken part of a run, evenly sampled and smooth."""
    return max(prepare(data.log, rate=rate, cutoff=cutoff).pieces, key=lambda piece: len(piece.t))


def specific_force(robot: Robot, piece: Piece, at: Array) -> Array:
    """Rᵀ(a − g) (K, 3) of a point at (3,) on the flange, flange axes."""
    T = np.eye(4)
    T[:3, 3] = at
    carrier = robot.with_tool(robot.T_tip_tool @ T)
    R = np.asarray(fk(carrier, piece.q))[:, :3, :3]
    a = np.asarray(acceleration(carrier, piece.q, piece.qd, piece.qdd))[:, :3]
    return np.asarray(np.einsum("tji,tj->ti", R, a - robot.gravity))


def weigh(data: Data, t: Array, robot: Robot) -> Weight:
    """Bias and tool from a run without contact; t (K,) are the sensor's times on the controller's clock.

    Raises:
        InputError: the sensor was not turned enough to tell weight from bias.
    """
    assert data.ft is not None
    piece = longest_piece(data, RATE, FASTEST)
    inside = (piece.t >= t[0]) & (piece.t <= t[-1])
    s = specific_force(robot, piece, FT_AT)[inside]
    reading = np.stack([np.interp(piece.t[inside], t, column) for column in data.ft.values.T], axis=1)
    K = len(s)
    A = np.zeros((K, 6, 10))
    A[:, :, :6] = np.eye(6)
    A[:, :3, 6] = -s
    A[:, 3:, 7:] = np.array([skew(v) for v in s])  # −(m c) × s = s × (m c)
    x, _, rank, _ = np.linalg.lstsq(A.reshape(-1, 10), reading.reshape(-1), rcond=1e-6)
    if rank < 10:
        raise InputError(f"{data.name}: the force sensor is not turned enough to tell the tool's weight from its bias")
    mass = float(x[6])
    return Weight(x[:6], mass, x[7:] / mass if abs(mass) > LIGHTEST else np.zeros(3))
