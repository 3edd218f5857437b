# SPDX-License-Identifier: Apache-2.0
"""The arm as it stands in a laboratory: rotors, friction, currents, and the load it carries.

A sheet has what the manufacturer publishes, and studies rely on that. What somebody measured at the drives stands in
its section ``[measured]`` (for the UR5: friction and currents of 004 eq. 6.2, 6.4 and 6.6; rotors assumed) and is
applied here, openly:

    the arm's own table        `Robot.measured`
    the table of an arm alike  a catalogue arm whose joint axes lie alike: a UR5 that was read from a URDF
    nothing measured           assumed: rotors of 0.1 kg m², no friction, 10 N m/A; the user is told

An arm's name decides nothing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import tell_user
from armwright.robot.parts import CurrentMap, Friction, Measured
from armwright.robot.sheet.sheet_read import catalogue_names, catalogue_text, robot_from_text
from armwright.robot.tables.serial_chain import displacement

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced

ASSUMED_ROTORS = 0.1
"""Reflected rotor inertia [kg m²] of arms without any: the value that MuJoCo Menagerie's model of the UR5e carries."""
ASSUMED_TORQUE_CONSTANT = 10.0
"""[N m/A] at the joint, where neither a measurement nor the description says it."""
ALIKE_ANGLE, ALIKE_LENGTH = 0.01, 0.005
"""[rad], [m] by which the joint axes of one type of arm differ: calibration, and rounded tables."""


BENT = 0.7
"""[rad], [m] Every coordinate, where axes are compared: no two axes of an arm are parallel there by accident."""


@cache
def catalogue_drives(name: str) -> Measured:
    """Return the measured drives of a catalogue arm, e.g. "ur5"; its sheet has a section ``[measured]``."""
    measured = robot_from_text(*catalogue_text(name)).measured
    assert measured is not None, f"{name} has no section [measured]"
    return measured


@cache
def _measured_arms() -> tuple[Robot, ...]:
    """Catalogue arms whose own sheets have a section ``[measured]``."""
    texts = [catalogue_text(name) for name in catalogue_names()]
    return tuple(robot_from_text(*text) for text in texts if "\n[measured]" in text[0])


def same_axes(one: Robot, other: Robot) -> bool:
    """Whether two chains have the same joint axes, wherever they stand and however their links are drawn.

    Compared are, in a bent configuration, the products of every two screws that no rigid motion changes: cosines
    wᵢ·wⱼ and mutual moments wᵢ·vⱼ + wⱼ·vᵢ. At q = 0 too many axes are parallel, which hides the distances along them.
    """
    kinds = [[joint.kind for joint in arm.joints] for arm in (one, other)]
    if kinds[0] != kinds[1] or not (one.is_chain and other.is_chain):
        return False
    (cosines, moments), (cosines_other, moments_other) = _products(one), _products(other)
    return bool(
        np.abs(cosines - cosines_other).max(initial=0.0) < ALIKE_ANGLE
        and np.abs(moments - moments_other).max(initial=0.0) < ALIKE_LENGTH
    )


def _products(robot: Robot) -> tuple[Array, Array]:
    """Cosines and mutual moments (n, n) of the joint screws, every coordinate at BENT; a sliding joint has w = 0."""
    v, w = np.zeros((2, robot.n, 3))
    T = np.eye(4)
    for i, (body, joint) in enumerate(zip(robot.bodies, robot.joints, strict=True)):
        T = T @ body.T_parent_joint
        axis = T[:3, :3] @ body.axis
        if joint.kind == "prismatic":
            v[i] = axis
        else:
            v[i], w[i] = np.cross(T[:3, 3], axis), axis
        T = T @ displacement(joint.kind, body.axis, BENT + body.offset) @ body.T_joint_link
    moments = v @ w.T
    return w @ w.T, moments + moments.T


def measured_drives(robot: Robot) -> Measured | None:
    """Return the measured drives of an arm or of one alike, None if nobody measured any; `source` says which."""
    if robot.measured is not None:
        return robot.measured
    for arm in _measured_arms():
        if arm.measured is not None and same_axes(robot, arm):
            return replace(
                arm.measured, source=f"measured on an arm with the same axes, {arm.name}: {arm.measured.source}"
            )
    return None


def drives_of(robot: Robot) -> Measured:
    """Return the measured drives of an arm, or those assumed for it; `source` says which."""
    if (found := measured_drives(robot)) is not None:
        return found
    actuators = robot.actuators
    constants = np.abs(np.diag(actuators.gear)) * actuators.torque_constant
    current = CurrentMap(np.where(constants > 0.0, constants, ASSUMED_TORQUE_CONSTANT), np.zeros(robot.n))
    rotors = np.diag(actuators.gear) ** 2 * actuators.rotor_inertia
    friction = tuple(joint.friction for joint in robot.joints)
    assumed = []
    if not rotors.any():
        rotors = np.full(robot.n, ASSUMED_ROTORS)
        assumed.append(f"rotors of {ASSUMED_ROTORS:g} kg m² at every joint")
    if not _has_friction(friction):
        assumed.append("no friction")
    if not (constants > 0.0).all():
        assumed.append(f"{ASSUMED_TORQUE_CONSTANT:g} N m/A")
    source = f"nothing measured at the drives of {robot.name!r}"
    return Measured(friction, current, rotors, f"{source}; assumed: {', '.join(assumed)}" if assumed else source)


def current_map(robot: Robot) -> CurrentMap:
    """Return the measured torque of motor currents; else catalogued constants through the gear, else 10 N m/A."""
    return drives_of(robot).current


def as_measured(robot: Robot) -> Robot:
    """Return the arm as it stands in the laboratory: measured rotors and friction where its description has none.

    What has to be assumed, because nobody measured it, is told to the user: a warning, and `drives_of(robot).source`.
    """
    drives = drives_of(robot)
    if "; assumed: " in drives.source:
        tell_user(drives.source)
    return with_drives(robot, drives)


def with_drives(robot: Robot, drives: Measured) -> Robot:
    """Return the arm with these rotors and this friction where its own description has none."""
    if not np.any(robot.actuators.rotor_inertia):
        robot = robot.with_rotors(drives.rotors)
    if not _has_friction(tuple(joint.friction for joint in robot.joints)) and _has_friction(drives.friction):
        columns = ([getattr(part, key) for part in drives.friction] for key in ("viscous", "coulomb", "dead_zone"))
        robot = robot.with_friction(*columns)
    return robot


def _has_friction(friction: tuple[Friction, ...]) -> bool:
    return any(part.coulomb or part.viscous for part in friction)


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
