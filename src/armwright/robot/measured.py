# SPDX-License-Identifier: Apache-2.0
"""The arm behind the virtual controller: rotors, friction, currents, and the load it carries.

The UR5's sheet has neither rotors nor friction, because the manufacturer publishes none; studies rely on it as it is.
The lab adds them openly:

    friction   ν_c = ν_v of 004 eq. 6.2, dead zone 0.02 rad/s (6.4)
    currents   τ = k i + b with k and b of 004 eq. 6.6
    rotors     0.1 kg m² at every joint: **assumed**, the value that MuJoCo Menagerie's model of the UR5e carries
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

ASSUMED_ROTORS = 0.1
"""Reflected rotor inertia [kg m²]; see the module text."""
FRICTION_004 = np.array([7.2, 5.5, 5.7, 0.7, 0.7, 0.65])
"""Coulomb [N m] and viscous [N m s/rad] friction, equal numbers (004 eq. 6.2)."""
DEAD_ZONE_004 = 0.02
TORQUE_PER_AMPERE_004 = np.array([7.5, 6.8, 7.1, 2.8, 3.2, 3.4])
TORQUE_OFFSET_004 = np.array([-0.61, 16.0, 4.5, 0.84, 0.064, 0.099])


@dataclass(frozen=True, slots=True, eq=False)
class CurrentMap:
    """Motor current and joint torque: τ = k i + b (004 eq. 6.6); k [N m/A], b [N m], each (n,)."""

    k: Array
    b: Array

    def current(self, tau: Array) -> Array:
        """Currents (n,) [A] of joint torques tau (n,) [N m]."""
        return (tau - self.b) / self.k

    def torque(self, current: Array) -> Array:
        """Joint torques (n,) [N m] of currents (n,) [A]."""
        return self.k * current + self.b


def _is_ur5(robot: Robot) -> bool:
    """Whether 004's numbers are this arm's: the catalogue's UR5 in any of its variants, not a UR5e."""
    return robot.n == 6 and (robot.name == "ur5" or robot.name.startswith("ur5-"))


def current_map(robot: Robot) -> CurrentMap:
    """004's map for a UR5; for other arms their catalogued torque constants through the gear, else 10 N m/A."""
    if _is_ur5(robot):
        return CurrentMap(TORQUE_PER_AMPERE_004, TORQUE_OFFSET_004)
    constants = np.abs(np.diag(robot.actuators.gear)) * robot.actuators.torque_constant
    return CurrentMap(np.where(constants > 0.0, constants, 10.0), np.zeros(robot.n))


def lab_arm(robot: Robot) -> Robot:
    """The arm as it stands in the lab: rotors and friction where its description has none."""
    if not np.any(robot.actuators.rotor_inertia):
        robot = robot.with_rotors(ASSUMED_ROTORS)
    known = any(joint.friction.coulomb or joint.friction.viscous for joint in robot.joints)
    if not known and _is_ur5(robot):
        robot = robot.with_friction(FRICTION_004, FRICTION_004, DEAD_ZONE_004)
    return robot


def carrying(tree: Tree, load: Traced) -> Tree:
    """Return the tree with a point mass on its tip: load (4,) is mass [kg] and centre in the tip's **body** frame [m].

    Works on symbols, so that a controller may be told at run time what it carries.
    """
    i, m, c = tree.tip, load[0], load[1:]
    masses, moments, tensors = (np.array(part, dtype=object) for part in (tree.m, tree.h, tree.J))
    masses[i] = masses[i] + m
    moments[i] = moments[i] + m * c
    square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2]
    for j in range(3):
        for k in range(3):
            tensors[i, j, k] = tensors[i, j, k] + m * ((square if j == k else 0.0) - c[j] * c[k])
    return replace(tree, m=masses, h=moments, J=tensors)


def load_of(tree: Tree, mass: float, centre: ArrayLike) -> Array:
    """Return the load (4,) of `carrying` for a mass [kg] whose centre is given in the flange's frame [m]."""
    T = tree.T_tip_tool
    return np.array([mass, *(T[:3, :3] @ np.asarray(centre, dtype=np.float64) + T[:3, 3])])
