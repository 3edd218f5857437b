# SPDX-License-Identifier: Apache-2.0
"""Refusals of dynamics for arms that lack inertia: the message says which link lacks what; kinematics need none.

A joint that moves no inertia makes the mass matrix singular: there is no forward dynamics. An arm without any inertia
(a description of its geometry alone) has no dynamics at all.

The pivots of the factorised mass matrix are the articulated inertias about the joint axes (D_i of the articulated-body
algorithm), so one sweep from the leaves to the root tells, at one configuration, which joint makes M singular.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.robot.link_frames import LinkFrames, mass_matrix
from armwright.robot.model import Robot
from armwright.robot.tree import Tree, robot_of

if TYPE_CHECKING:
    from armwright.types import Array

PIVOT_TOLERANCE = 1e-12  # a pivot this small against the inertia of the locked arm is rounding, not mass
NEGLIGIBLE_INERTIA = 1e-20  # kg m², kg: no part of an arm is this light, and 1/TINY would soon overflow


def has_inertia(robot: Robot) -> bool:
    """Return whether anything that moves has mass or inertia, rotors included; an arm without joints lacks nothing."""
    moving = any(body.mass != 0.0 or body.inertia.any() for body in robot.bodies)
    return moving or bool(robot.actuators.rotor_inertia.any()) or robot.n == 0


def lacking(robot: Robot) -> list[str]:
    """Return bodies without inertia of their own, each with what it lacks: ``wrist (mass, inertia)``."""
    found = []
    for body in robot.bodies:
        missing = [word for word, there in (("mass", body.mass != 0.0), ("inertia", body.inertia.any())) if not there]
        if missing:
            found.append(f"{body.name} ({', '.join(missing)})")
    return found


def require_inertia(robot: Robot, what: str, *, forward: bool = False) -> None:
    """Refuse dynamics of an arm that has no inertia; with `forward`, also of one that has too little of it.

    Args:
        robot: the arm.
        what: what is asked for, the beginning of the error.
        forward: accelerations are asked for: no joint may move without moving inertia.

    Raises:
        InputError: with the links that lack mass or inertia.
    """
    bare = lacking(robot)
    if not bare:
        return
    if not has_inertia(robot):
        trouble = f"robot {robot.name!r} was described without inertia, for kinematics alone"
    elif forward and (bad := singular_joint(robot)) is not None:
        index, place = bad
        trouble = f"joint {robot.joints[index].name!r} of {robot.name!r} moves no inertia {place}"
    else:
        return
    raise InputError(
        f"{what}: {trouble}; links that lack it: {', '.join(bare)}. Give them mass, centre of mass and inertia in the "
        "description, or a rotor"
    )


def require_mass(arm: Robot | Tree) -> None:
    """Refuse what speaks of a centre of mass where nothing that moves has mass."""
    robot = robot_of(arm) if isinstance(arm, Tree) else arm
    if robot is not None and not sum(body.mass for body in robot.bodies) > 0.0:
        raise InputError(f"robot {robot.name!r} has no mass, so it has no centre of mass")


def singular_joint(robot: Robot) -> tuple[int, str] | None:
    """Return a coordinate along which M is singular, and where: in general, or with all joints at 0; else None.

    Rotor inertia counts. Bodies that share a coordinate are first taken as free (if that M is positive definite, so is
    the one with fewer freedoms), then together.
    """
    general = np.random.default_rng(1).uniform(-2.5, 2.5, robot.n)
    K = robot.actuators.gear
    armature = K.T @ np.diag(robot.actuators.rotor_inertia) @ K
    shared = len(robot.bodies) != robot.n or np.count_nonzero(armature - np.diag(np.diag(armature)))
    for q, place in ((general, "everywhere"), (np.zeros(robot.n), "with all joints at 0")):
        arm = LinkFrames(robot, q)
        bad = _smallest_pivot(robot, arm, np.zeros(robot.n) if shared else np.diag(armature))
        if bad is not None and shared:
            bad = _null_direction(mass_matrix(robot, arm) + armature)
        if bad is not None:
            return bad, place
    return None


def _smallest_pivot(robot: Robot, arm: LinkFrames, armature: Array) -> int | None:
    free = [inertia.copy() for inertia in arm.I]
    locked = [inertia.copy() for inertia in arm.I]
    for i in range(len(robot.bodies) - 1, -1, -1):
        body, S, X = robot.bodies[i], arm.S[i], arm.X[i]
        U = free[i] @ S
        D = float(S @ U) + armature[body.joint]
        least = max(NEGLIGIBLE_INERTIA, PIVOT_TOLERANCE * float(S @ locked[i] @ S))
        if not least < D:
            return body.joint
        if body.parent >= 0:
            free[body.parent] += X.T @ (free[i] - np.outer(U, U) / D) @ X
            locked[body.parent] += X.T @ locked[i] @ X
    return None


def _null_direction(M: Array) -> int | None:
    diagonal = np.diag(M)
    if diagonal.min() <= NEGLIGIBLE_INERTIA:
        return int(np.argmin(diagonal))
    scale = 1.0 / np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(M * np.outer(scale, scale))
    return int(np.argmax(np.abs(vectors[:, 0]))) if values[0] <= PIVOT_TOLERANCE else None
