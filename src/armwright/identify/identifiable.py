# SPDX-License-Identifier: Apache-2.0
"""`Structure`: what can be identified of an arm: inertial and rotor parameters, and the combinations torques show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics.public import random_states
from armwright.dynamics.regressor import INERTIAL, BaseParameters, body_regressor, find_base, parameters
from armwright.errors import NotSupportedError
from armwright.identify.gear_friction import MOTOR_TERMS, TERMS
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array, Traced


def rigid_regressor(robot: Robot, q: Traced, qd: Traced, qdd: Traced) -> Traced:
    """Return Y (n, 10 nb + n): torque of the bodies, and of one rotor per joint on the joint side; q, qd, qdd (n,).

    A rotor that turns with several joints, g·q̈, loads all of them: gᵀ (g·q̈), g its row of `turning`.
    """
    g = turning(robot)
    own = np.eye(robot.n) * qdd if np.array_equal(g, np.eye(robot.n)) else g.T * (g @ qdd)
    return np.concatenate([body_regressor(robot, q, qd, qdd), own], axis=1)


def turning(robot: Robot) -> Array:
    """Return the rows g (n, n) of the gear matrix, each over the motor's ratio to its own joint."""
    gear = np.asarray(robot.actuators.gear)
    own = np.diag(gear)
    if (own == 0.0).any():
        raise NotSupportedError(
            f"identify: motor {1 + int(np.argmax(own == 0.0))} of {robot.name!r} does not turn with its own joint; "
            "order the rows of the gear matrix so that every motor does"
        )
    return np.asarray(gear / own[:, None])


@dataclass(frozen=True, eq=False)
class Structure:
    """The linear structure of one arm's torques.

    Attributes:
        robot: the arm.
        names: of all 10 nb + n rigid parameters (`rigid_regressor`).
        base: their identifiable combinations.
        loads: (rank, 10) effect on the base parameters of one unit of each payload parameter, on the tool's body.
        seen: for each joint, which base columns can be other than zero.
        motors: (k, n) rows g of the motors that turn with several joints (`turning`).
    """

    robot: Robot
    names: tuple[str, ...]
    base: BaseParameters
    loads: Array
    seen: tuple[Any, ...]
    motors: Array

    @property
    def width(self) -> int:
        """Return the columns of a joint's currents: base, friction, friction of coupled motors, the current."""
        return self.rank + len(TERMS) + len(MOTOR_TERMS) * len(self.motors) + 1

    @property
    def rank(self) -> int:
        """Return the number of base parameters."""
        return self.base.rank

    def columns(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the base columns (T, n, rank) along a motion, by the compiled batch kernel."""
        return np.asarray(self.full(q, qd, qdd)[..., self.base.independent])

    def full(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return all columns (T, n, 10 nb + n)."""
        return np.asarray(kernel(self.robot, rigid_regressor)(q, qd, qdd))

    def sheet(self) -> Array:
        """Return the rigid parameters (10 nb + n,) of the description, rotors on the joint side."""
        nb, n = len(self.robot.bodies), self.robot.n
        ratio = np.diag(self.robot.actuators.gear)
        return np.concatenate([parameters(self.robot)[: 10 * nb], ratio**2 * self.robot.actuators.rotor_inertia[:n]])


def structure(robot: Robot) -> Structure:
    """Find the structure of an arm, once for all equal arms."""
    return robot.memo("identify.structure", _found)


def _found(robot: Robot) -> Structure:
    if robot.tip < 0:
        raise NotSupportedError(f"identify: the tool of {robot.name!r} is on its fixed root link")
    names = [f"{body.name}.{label}" for body in robot.bodies for label in INERTIAL]
    names += [f"{joint.name}.rotor" for joint in robot.joints]
    states = random_states(robot, 4 * len(names))
    Y = np.asarray(kernel(robot, rigid_regressor)(*states))
    base = find_base(Y.reshape(-1, Y.shape[-1]), names)
    load = np.arange(10 * robot.tip, 10 * robot.tip + 10)
    kept = Y[..., base.independent]
    scale = np.abs(kept).max(axis=(0, 1))
    seen = tuple(np.flatnonzero(np.abs(kept[:, j]).max(axis=0) > 1e-12 * scale) for j in range(robot.n))
    g = turning(robot)
    return Structure(robot, tuple(names), base, base.regrouping[:, load], seen, g[np.count_nonzero(g, axis=1) > 1])
