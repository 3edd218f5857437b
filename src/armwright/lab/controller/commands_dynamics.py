# SPDX-License-Identifier: Apache-2.0
"""Commands of ur_rtde's script, group 3: servoC, the past, torques and the arm's mathematics.

ur_rtde 1.6.5 sends joints, velocities and TCP with 67 to 71, but its script asks the controller without them: the
answers are of the present state, here as there. Matrices are told by columns: registers 0 to 23, then 36 to 47.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from armwright.lab.controller import moves
from armwright.lab.controller.freely import DirectTorque
from armwright.lab.controller.tool_servo import ToolServo

if TYPE_CHECKING:
    from armwright.lab.controller.desk import Desk
    from armwright.types import Array

LOWER, UPPER = 24, 36  # numbers in the lower range of registers, first register of the rest


def _servo_circular(d: Desk) -> None:
    """Servoc: TCP pose d0–5, speed d6, acceleration d7; a blend radius d8 has no use, the way turns smoothly anyway."""
    pose, (v, a) = moves.pose_goal(d.numbers(0)), d.numbers(6, 2)
    motion = d.c.motion
    if not (d.c.moving and isinstance(motion, ToolServo)):
        motion = ToolServo(d.c.reference, d.c.target_pose(), d.c.plant.towards)
        d.c.begin(motion)
    motion.aim(pose, *moves.rates(d.c, v, a, tool=True))
    d.done()


def _history(d: Desk) -> None:
    """Joints i1 steps ago."""
    d.give(d.c.past(d.integer(1)))


def _direct_torque(d: Desk) -> None:
    """Torques d0–5 beyond gravity, parts of viscous d6–11 and dry friction d12–17 that are carried for the client."""
    torque = moves.six(d.numbers(0), "torque", 1000.0)
    viscous, coulomb = (moves.six(d.numbers(k), "friction scale", 1.0) for k in (6, 12))
    motion = d.c.motion
    if not (d.c.moving and isinstance(motion, DirectTorque)):
        motion = DirectTorque(d.c)
        d.c.begin(motion)
    motion.aim(torque, viscous, coulomb)


def _give_matrix(d: Desk, matrix: Array) -> None:
    columns = matrix.T.ravel()
    d.give(columns[:LOWER])
    d.give(columns[LOWER:], UPPER)


def _mass(d: Desk) -> None:
    _give_matrix(d, d.c.plant.model().mass)


def _coriolis(d: Desk) -> None:
    d.give(d.c.plant.model().coriolis)


def _target_accelerations(d: Desk) -> None:
    d.give(d.c.reference.qdd)


def _jacobian(d: Desk) -> None:
    _give_matrix(d, d.c.plant.model().jacobian)


def _jacobian_rate(d: Desk) -> None:
    _give_matrix(d, d.c.plant.model().jacobian_dot)


GROUP_3: dict[int, Callable[[Desk], None]] = {
    12: _servo_circular,
    27: _history,
    66: _direct_torque,
    67: _mass,
    68: _coriolis,
    69: _target_accelerations,
    70: _jacobian,
    71: _jacobian_rate,
}
