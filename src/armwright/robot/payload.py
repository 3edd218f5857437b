# SPDX-License-Identifier: Apache-2.0
"""A rigid load on the tool: joined with the last body, exactly."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import number
from armwright.errors import InputError, NotSupportedError
from armwright.robot.parts import frozen
from armwright.spatial import sum_bodies

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot


def add_payload(robot: Robot, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike | None = None) -> Robot:
    """Return `robot` with a rigid load on its tip: the tip body gets the mass, centre and inertia of both together.

    Args:
        robot: the arm.
        mass: of the load [kg], ≥ 0.
        com: its centre of mass in the **tool** frame [m].
        inertia: 3×3 about that centre, tool axes [kg m²]; a point mass if omitted.
    """
    mass = number(mass, "payload: mass")
    if not (np.isfinite(mass) and mass >= 0.0):
        raise InputError(f"payload: mass must be finite and ≥ 0, got {mass}")
    if robot.tip < 0:
        raise NotSupportedError(f"payload: the tool of {robot.name!r} is on its fixed root link; no joint feels it")
    centre = frozen(com, (3,), "payload com")
    tensor = np.zeros((3, 3)) if inertia is None else frozen(inertia, (3, 3), "payload inertia")
    if np.abs(tensor - tensor.T).max() > 1e-12 * max(1.0, float(np.abs(tensor).max())):
        raise InputError("payload inertia: must be symmetric")
    T = robot.T_tip_tool
    R = T[:3, :3]
    body = robot.bodies[robot.tip]
    load = (float(mass), R @ centre + T[:3, 3], R @ tensor @ R.T)
    total = sum_bodies([(body.mass, body.com, body.inertia), load])
    both = np.asarray(total.inertia)
    loaded = replace(body, mass=float(total.mass), com=total.com, inertia=0.5 * (both + both.T))
    bodies = (*robot.bodies[: robot.tip], loaded, *robot.bodies[robot.tip + 1 :])
    return replace(robot, bodies=bodies)
