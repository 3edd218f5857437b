# SPDX-License-Identifier: Apache-2.0
"""The arm as its motors feel it: u_a = H_a q̈ + u′_a (001 eq. 90–92, App. D), in a form that obeys virtual work.

Motor angles are q_a = K q. Gears carry τ = K^-T u; dry friction takes the fraction μ of the load that they carry, in
the sense that opposes the motion; viscous friction acts on the speed at the end of the cycle, q̇ + q̈Δt:

    σ = sign(K q̇) sign(τ),  S = 1 + diag(μ σ)
    H_a  = S K^-T H + (I_a + Δt F_v) K          u′_a = S K^-T u′ + F_v K q̇

Multiplied by Kᵀ S⁻¹ the system is symmetric positive definite,

    (H + Kᵀ S⁻¹ (I_a + Δt F_v) K) q̈ = Kᵀ S⁻¹ (u_a − u′_a)

and that is how it is solved. What 001 prints instead (D.3) stands in `armwright.studies.doc001_erfd.motors`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.dynamics.crba import crba
from armwright.dynamics.newton_euler import bias
from armwright.dynamics.terms import coulomb_sign
from armwright.robot.kernels import as_robot
from armwright.robot.tree import as_tree
from armwright.spatial.linear import ltdl_solve, solve_from_last

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.parts import Actuators
    from armwright.robot.tree import Tree
    from armwright.types import Scalar, Traced


STANDING_MOTOR_SPEED = 1e-7
"""Motor speed [rad/s] below which a motor stands: far above rounding, one turn in two years."""


class Motors(NamedTuple):
    """What the equations need of the motors: K (n, n), and per motor I_a, f_v, μ (n,), numbers or symbols."""

    gear: Traced
    rotor_inertia: Traced
    viscous: Traced
    load_friction: Traced

    @staticmethod
    def of(actuators: Actuators, friction: Scalar = 1.0) -> Motors:
        """Take them from a sheet's actuators; `friction` multiplies both kinds of friction."""
        return Motors(
            actuators.gear, actuators.rotor_inertia, friction * actuators.viscous, friction * actuators.load_friction
        )


class ActuatorSide(NamedTuple):
    """u_a = H q̈ + u on the motor side; `left` @ H = `A` is symmetric positive definite, if they are given."""

    H: Traced
    u: Traced
    left: Any = None
    A: Any = None

    def torque(self, qdd: Traced) -> Traced:
        """Motor torques u_a (n,) for joint accelerations q̈ (n,)."""
        return self.H @ qdd + self.u

    def accelerations(self, torque: Traced) -> Traced:
        """Joint accelerations q̈ (n,) for motor torques u_a (n,) (001 eq. 92)."""
        if self.A is None:
            return solve_from_last(self.H, torque - self.u)
        return ltdl_solve(self.A, self.left @ (torque - self.u))


Side = Callable[[Motors, Any, Any, Any, Any, float], ActuatorSide]
"""How H (n, n), u′, q̇, q̈ (n,) and Δt become an `ActuatorSide`; q̈ is the wish, which gives friction its sense."""


def consistent(motors: Motors, H: Traced, u: Traced, qd: Traced, qdd: Traced, dt: float) -> ActuatorSide:
    """Return the form of the module text. H (n, n), u = u′ (n,); qd (n,) now, qdd (n,) wished; dt [s]; sign(0) = 0."""
    K = np.asarray(motors.gear)
    K_iT = np.linalg.inv(K).T
    K_iT = np.where(np.abs(K_iT) < 1e-15 * np.abs(K_iT).max(initial=0.0), 0.0, K_iT)  # rounding: keep the zeros zero
    speed = K @ qd
    S = 1.0 + motors.load_friction * friction_sense(speed, K_iT @ (H @ qdd + u))
    inertia = motors.rotor_inertia + dt * motors.viscous
    H_a = S[:, None] * (K_iT @ H) + inertia[:, None] * K
    reflected = _symmetric(K, inertia / S)
    return ActuatorSide(H_a, S * (K_iT @ u) + motors.viscous * speed, K.T / S, H + reflected)


def friction_sense(speed: Traced, load: Traced) -> Traced:
    """σ (n,): 1 where a motor turns against its load, −1 where the load turns it, 0 at a standstill.

    What turns slower than `STANDING_MOTOR_SPEED` stands: an axis that holds its place has the speed of its rounding
    errors, whose sign would add or take friction by chance.
    """
    moving = np.where(np.abs(speed) > STANDING_MOTOR_SPEED, speed, 0.0)
    return np.sign(moving) * np.sign(load)


def _symmetric(K: Traced, weights: Traced) -> Traced:
    """Kᵀ diag(weights) K, both halves the same expression."""
    n = len(K)
    half = [
        [sum((K[m, i] * K[m, j]) * weights[m] for m in range(n) if K[m, i] and K[m, j]) for j in range(i + 1)]
        for i in range(n)
    ]
    return np.array([[half[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)])


def joint_side(
    arm: Robot | Tree, q: Traced, qd: Traced, wrench: Traced | None = None, *, dry: tuple[Traced, Traced] | None = None
) -> tuple[Traced, Traced]:
    """H (n, n) and u′ (n,) of the links alone, by composite bodies and Newton–Euler: no rotors, no motor friction.

    Args:
        arm: robot or tree.
        q: joint coordinates (n,).
        qd: joint velocities (n,).
        wrench: (6,) what the world exerts on the tool, tool origin, base axes.
        dry: friction in the joints themselves, (viscous (n,), coulomb (n,)); none if omitted.
    """
    H, u = crba(arm, q, rotors=False), bias(arm, q, qd, wrench, friction=False)
    if dry is not None:
        viscous, coulomb = dry
        u = u + viscous * qd + coulomb * coulomb_sign(as_tree(arm), qd)
    return H, u


class MotorTorques(NamedTuple):
    """H_a (n, n), u′_a (n,) and the motor torques u_a (n,) of one state."""

    H: Traced
    u: Traced
    torque: Traced


def actuator_side(
    robot: Robot | Tree,
    q: Traced,
    qd: Traced,
    qdd: Traced,
    dt: float,
    wrench: Traced | None = None,
    *,
    side: Side = consistent,
) -> MotorTorques:
    """Motor torques of one state (001 eq. 90–92); all arrays (n,), wrench (6,) on the tool in base axes.

    Args:
        robot: the arm, its motors and gears; friction of its joints counts as part of the load.
        q: joint coordinates.
        qd: velocities now.
        qdd: accelerations of the coming cycle.
        dt: length of the cycle [s]; viscous friction acts on the speed at its end.
        wrench: what the world does to the tool.
        side: how the joint side becomes the motor side.

    >>> actuator_side(aw.load("rl15"), q, qd, qdd, 0.01)  # H_a, u′_a, u_a
    """
    robot = as_robot(robot, "actuator_side")
    H, u = joint_side(robot, q, qd, wrench, dry=joint_friction(robot))
    made = side(Motors.of(robot.actuators), H, u, qd, qdd, dt)
    return MotorTorques(made.H, made.u, made.torque(qdd))


def joint_friction(robot: Robot) -> tuple[Any, Any] | None:
    """Viscous and Coulomb friction of the joints themselves (n,), None where the sheet has none."""
    viscous = np.array([joint.friction.viscous for joint in robot.joints])
    coulomb = np.array([joint.friction.coulomb for joint in robot.joints])
    return (viscous, coulomb) if viscous.any() or coulomb.any() else None
