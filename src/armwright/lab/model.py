# SPDX-License-Identifier: Apache-2.0
"""The arm's mathematics as its controller tells them to a client: mass matrix, Coriolis torques, Jacobian, its rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from armwright.dynamics.crba import crba
from armwright.dynamics.newton_euler import rnea
from armwright.graph import compile_function
from armwright.kinematics.jacobian import point_jacobian
from armwright.kinematics.motion import point_jacobian_dot
from armwright.lab.body import carrying
from armwright.robot.tree import as_tree

if TYPE_CHECKING:
    from armwright.graph import Kernel
    from armwright.robot.model import Robot
    from armwright.types import Traced


class Model(NamedTuple):
    """`mass` (n, n) without rotors; `coriolis` (n,): C(q, q̇) q̇; Jacobian of the TCP (6, n), base axes, and its rate."""

    mass: Any
    coriolis: Any
    jacobian: Any
    jacobian_dot: Any


def model_kernel(robot: Robot) -> Kernel:
    """(q, qd, tcp, load) → `Model`; tcp (6,): pose at the flange; load (4,): see `armwright.lab.body.carrying`."""
    n = robot.n

    def model(q: Traced, qd: Traced, tcp: Traced, load: Traced) -> Model:
        tree = carrying(as_tree(robot), load)
        coriolis = rnea(tree, q, qd, 0.0 * qd, gravity=False, friction=False)
        J = point_jacobian(robot, q, tcp[:3])
        return Model(crba(tree, q, rotors=False), coriolis, J, point_jacobian_dot(robot, q, qd, tcp[:3]))

    shapes: dict[str, tuple[int, ...]] = {"q": (n,), "qd": (n,), "tcp": (6,), "load": (4,)}
    return compile_function(model, shapes, name="lab model", check_finite=False)
