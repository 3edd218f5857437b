# SPDX-License-Identifier: Apache-2.0
"""What an estimate of external joint torque is worth: its covariance from sensor noise and model errors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.dynamics.newton_euler import rnea
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array


def link_torques(robot: Robot, q: ArrayLike, qd: ArrayLike | None = None, qdd: ArrayLike | None = None) -> Array:
    """Return the joint torques (nb, n) that each link's own inertia and weight asks for; they add up to M q̈ + C q̇ + g.

    Linear in each link's mass at fixed centre of mass and radius of gyration, so a mass wrong by a share is a torque
    wrong by the same share of its row.
    """
    tree = robot.tree
    zero = np.zeros(robot.n)
    out = []
    for i in range(tree.nb):
        only = (np.arange(tree.nb) == i).astype(np.float64)
        alone = replace(tree, m=tree.m * only, h=tree.h * only[:, None], J=tree.J * only[:, None, None])
        out.append(
            rnea(
                alone,
                np.asarray(q, dtype=np.float64),
                zero if qd is None else np.asarray(qd, dtype=np.float64),
                zero if qdd is None else np.asarray(qdd, dtype=np.float64),
                friction=False,
                rotors=False,
            )
        )
    return np.array(out)


@names_culprit
def torque_covariance(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    *,
    sensor: ArrayLike,
    mass: float = 0.0,
    friction: float = 0.0,
    friction_torque: ArrayLike | None = None,
) -> Array:
    """Return the covariance (n, n) [(N m)²] of an estimated external torque at one state.

    Args:
        robot: the model.
        q: joint coordinates (n,).
        qd: joint velocities (n,); at rest if omitted.
        qdd: joint accelerations (n,); zero if omitted.
        sensor: standard deviation of the estimate's own noise, one number or (n,) [N m].
        mass: every link's mass is known within ± this share (independent, uniform).
        friction: every joint's friction is known within ± this share (independent, uniform).
        friction_torque: friction of the joints (n,) [N m]; that of the robot's sheet at qd if omitted.
    """
    for name, value in (("mass", mass), ("friction", friction)):
        if not (np.isfinite(value) and value >= 0.0):
            raise InputError(f"torque_covariance: {name} must be a share ≥ 0, got {value}")
    std = np.asarray(sensor, dtype=np.float64)
    if std.shape not in ((), (robot.n,)) or not np.isfinite(std).all() or (std <= 0.0).any():
        raise InputError(f"torque_covariance: sensor must be positive, one number or {robot.n}, got {std.tolist()}")
    total = np.diag(np.broadcast_to(std, (robot.n,)) ** 2)
    if mass > 0.0:
        Y = (mass / np.sqrt(3.0)) * link_torques(robot, q, qd, qdd)
        total = total + Y.T @ Y
    if friction > 0.0:
        if friction_torque is None:
            speed = np.zeros(robot.n) if qd is None else np.asarray(qd, dtype=np.float64)
            moving = np.abs(speed) > robot.tree.dead_zone
            lost = robot.tree.coulomb * np.sign(speed) * moving + robot.tree.viscous @ speed
        else:
            lost = np.asarray(friction_torque, dtype=np.float64)
            if lost.shape != (robot.n,):
                raise InputError(
                    f"torque_covariance: friction_torque must have {robot.n} entries, got shape {lost.shape}"
                )
        total = total + np.diag((friction / np.sqrt(3.0) * lost) ** 2)
    return np.asarray(total)
