# SPDX-License-Identifier: Apache-2.0
"""The same arm with other numbers: bodies, friction and rotors from a parameter vector, as a fit finds them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.robot.parts import Friction, frozen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot


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
