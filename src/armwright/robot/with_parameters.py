# SPDX-License-Identifier: Apache-2.0
"""The same arm with other numbers: rotors, friction, or all of them from a parameter vector, as a fit finds them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import numbers
from armwright.errors import InputError
from armwright.robot.parts import Friction, frozen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array


def set_parameters(robot: Robot, parameters: ArrayLike, torque_constant: ArrayLike | None = None) -> Robot:
    """Return `robot` with these parameters, in the order of `armwright.dynamics.parameters`.

    Args:
        robot: the arm.
        parameters: (10 nb + 4n,): for every body m, m·c, I about the link origin (xx, xy, yy, xz, yz, zz); viscous and
            Coulomb friction of every joint; rotor inertia and viscous friction of every motor.
        torque_constant: (n,) motor side [N m/A]; unchanged if omitted.
    """
    nb, n = len(robot.bodies), robot.n
    p = frozen(parameters, (10 * nb + 4 * n,), "parameters")
    bodies = []
    for i, body in enumerate(robot.bodies):
        m, h, (xx, xy, yy, xz, yz, zz) = p[10 * i], p[10 * i + 1 : 10 * i + 4], p[10 * i + 4 : 10 * i + 10]
        if m < 0.0 or (m == 0.0 and np.any(h != 0.0)):
            raise InputError(f"parameters: body {body.name!r} has mass {m:g} and first moment {h.tolist()}")
        c = h / m if m > 0.0 else np.zeros(3)
        about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        central = about - m * (float(c @ c) * np.eye(3) - np.outer(c, c))
        bodies.append(replace(body, mass=float(m), com=c, inertia=0.5 * (central + central.T)))
    viscous, coulomb, rotor, motor = p[10 * nb :].reshape(4, n)
    joints = [
        replace(joint, friction=Friction(v, c, joint.friction.dead_zone))
        for joint, v, c in zip(robot.joints, viscous, coulomb, strict=True)
    ]
    constant = robot.actuators.torque_constant if torque_constant is None else frozen(torque_constant, (n,), "constant")
    actuators = replace(robot.actuators, rotor_inertia=rotor, viscous=motor, torque_constant=constant)
    return replace(robot, bodies=tuple(bodies), joints=tuple(joints), actuators=actuators)


def set_rotors(robot: Robot, inertia: ArrayLike) -> Robot:
    """Return `robot` with rotors of this inertia, scalar or (n,) [kg m²], as it is felt at the joint.

    Descriptions often lack it. At the joint it is the rotor's own times the square of the gear ratio, about 0.1 for
    arms like the UR5 (what MuJoCo Menagerie gives the UR5e), more than the links beyond a wrist have.
    """
    reflected = _per_joint(robot, inertia, "rotors: inertia", "kg m²")
    gear = robot.actuators.gear
    if np.any(gear - np.diag(np.diag(gear))):
        raise InputError(f"rotors: the motors of {robot.name!r} are coupled; give their inertia in the sheet")
    return replace(robot, actuators=replace(robot.actuators, rotor_inertia=reflected / np.diag(gear) ** 2))


def set_friction(robot: Robot, viscous: ArrayLike, coulomb: ArrayLike, dead_zone: ArrayLike) -> Robot:
    """Return `robot` with friction in its joints in place of its own, each scalar or (n,).

    Args:
        robot: the arm.
        viscous: [N m s/rad].
        coulomb: dry friction [N m].
        dead_zone: speed up to which dry friction is left out [rad/s].
    """
    columns = (
        _per_joint(robot, viscous, "friction: viscous", "N m s/rad"),
        _per_joint(robot, coulomb, "friction: coulomb", "N m"),
        _per_joint(robot, dead_zone, "friction: dead_zone", "rad/s"),
    )
    joints = [
        replace(joint, friction=Friction(*map(float, values)))
        for joint, *values in zip(robot.joints, *columns, strict=True)
    ]
    return replace(robot, joints=tuple(joints))


def _per_joint(robot: Robot, value: ArrayLike, what: str, unit: str) -> Array:
    array = numbers(value, what)
    if array.shape not in ((), (robot.n,)):
        raise InputError(f"{what} must be one number or {robot.n} of them, got shape {array.shape}")
    if not np.isfinite(array).all() or (array < 0.0).any():
        raise InputError(f"{what} must be finite and ≥ 0 {unit}, got {array.tolist()}")
    return np.broadcast_to(array, (robot.n,))
