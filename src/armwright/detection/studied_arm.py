# SPDX-License-Identifier: Apache-2.0
"""The arm of a detection study: friction and rotors from its sheet, from the user, or assumed, and what was assumed.

An arm without friction or rotors gives flattering figures: nothing hides a contact. So every arm gets both, from

    the user                 `friction`, `rotors`; "none" for none, "sheet" for what the description has
    its description          where it has any
    a measurement            at its drives, or at those of an arm with the same axes (`armwright.robot.measured`)
    an assumption            Coulomb friction of 4 % of what the motor can do, viscous friction as large at 1 rad/s;
                             rotors of 0.1 kg m², at most a tenth of the arm's largest inertia

and `StudyArm.basis` says which. What cannot be assumed is masses: an arm without them is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from armwright.dynamics import gravity_torque, mass_matrix
from armwright.errors import InputError
from armwright.robot.configurations import random_configuration
from armwright.robot.inertia_needed import has_inertia, require_inertia
from armwright.robot.measured import ASSUMED_ROTORS, drives_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.parts import Measured
    from armwright.types import Array

MOST_JOINTS = 12  # that a study compiles in reasonable time
COULOMB_SHARE = 0.04
"""Coulomb friction over the largest torque of a joint, where nobody measured it. The UR5 of document 004 has 0.023 to
0.048 (eq. 6.4 over the manual's torques), and viscous friction of the same size at 1 rad/s."""
ROTOR_SHARE = 0.1  # of the largest inertia that a joint moves: what an assumed rotor may have at most
EFFORT_ACCELERATION = 10.0  # [rad/s²], [m/s²]: that a motor gives its arm, where the description has no torque limit
EFFORT_RESERVE = 2.0  # torque of a motor over what it needs to hold and accelerate its arm; a UR5's shoulder has 2.5
SMALLEST_SIZE = 0.1  # of a joint against the strongest one, where no limit says it; 0.14 on a Panda, 0.19 on a UR5
CONFIGURATIONS = 64  # in which inertia and weight of an arm are looked at
WORDS = ("sheet", "none")


@dataclass(frozen=True, eq=False)
class StudyArm:
    """An arm that can be studied, and what its friction and rotors rest on, in words: ``friction``, ``rotors``."""

    robot: Robot
    basis: Mapping[str, str]


def study_arm(
    robot: Robot,
    friction: str | Mapping[str, ArrayLike] | None = None,
    rotors: str | ArrayLike | None = None,
    *,
    as_described: bool = False,
    name: str = "detection",
) -> StudyArm:
    """Return the arm with friction and rotors, and where they come from.

    Args:
        robot: as its description has it.
        friction: None, "sheet", "none", or a mapping with ``viscous`` [N m s/rad] and ``coulomb`` [N m], a number or
            one per joint each.
        rotors: None, "sheet", "none", or the rotor inertia as it is felt at the joint, a number or one per joint
            [kg m²].
        as_described: take what is not given from the description alone: the arm of a preset.
        name: the beginning of errors.

    Raises:
        InputError: for what cannot be simulated, by the name of what is missing.

    Example:
        >>> study_arm(aw.load("ur10e")).basis["friction"]
    """
    check_arm(robot, name)
    if rotors is None or isinstance(rotors, str):
        require_inertia(robot, name, forward=True)  # before a rotor is assumed: it would hide a link without mass
    if as_described:
        rotors, friction = "sheet" if rotors is None else rotors, "sheet" if friction is None else friction
    robot, turning = _with_rotors(robot, rotors, name)
    robot, rubbing = _with_friction(robot, friction, name)
    require_inertia(robot, name, forward=True)
    return StudyArm(robot, {"friction": rubbing, "rotors": turning})


def check_arm(robot: Robot, name: str = "detection") -> None:
    """Refuse an arm that is no serial chain of 1 to 12 joints, or that has no inertia."""
    if not 1 <= robot.n <= MOST_JOINTS:
        raise InputError(f"{name}: robot {robot.name!r} has {robot.n} joints; a study takes 1 to {MOST_JOINTS}")
    if not robot.is_chain:
        raise InputError(
            f"{name}: robot {robot.name!r} is no serial chain (it branches, or joints mimic others); cut one out of it "
            "with base and tip"
        )
    if not any(body.mass != 0.0 or body.inertia.any() for body in robot.bodies) or not has_inertia(robot):
        raise InputError(
            f"{name}: robot {robot.name!r} cannot be simulated: mass, centre of mass and inertia of every link are "
            f"missing ({', '.join(body.name for body in robot.bodies)}); it was described for kinematics alone"
        )


@lru_cache(maxsize=64)
def efforts(robot: Robot) -> tuple[float, ...]:
    """Return the largest torque of every motor (n,) [N m]: the limit of the description, or twice what its arm needs.

    Needed is, over random configurations, the largest |g(q)| + M_jj(q)·10 rad/s².
    """
    limits = np.array([joint.limits.effort for joint in robot.joints])
    q = random_configuration(robot, 0, CONFIGURATIONS)
    M = np.asarray(mass_matrix(robot, q))
    inertia = np.abs(np.diagonal(M, axis1=1, axis2=2)).max(axis=0)
    needs = EFFORT_RESERVE * (np.abs(gravity_torque(robot, q)).max(axis=0) + EFFORT_ACCELERATION * inertia)
    needs = np.maximum(needs, SMALLEST_SIZE * needs.max())
    return tuple(float(x) for x in np.where(np.isfinite(limits) & (limits > 0.0), limits, needs))


def joint_sizes(robot: Robot) -> Array:
    """Return what every motor can do (n,) over what the strongest can: 1 for a shoulder, 0.19 for a wrist of a UR5."""
    largest = np.array(efforts(robot))
    return np.asarray(largest / largest.max())


def _with_rotors(robot: Robot, given: object, name: str) -> tuple[Robot, str]:
    own = bool(robot.actuators.rotor_inertia.any())
    if given is None:
        if own:
            return robot, f"of the description of {robot.name}"
        drives = drives_of(robot)
        if "; assumed: " not in drives.source:
            return robot.with_rotors(drives.rotors), _told(robot, drives)
        inertia = np.diagonal(np.asarray(mass_matrix(robot, random_configuration(robot, 0, CONFIGURATIONS))), 0, 1, 2)
        size = min(ASSUMED_ROTORS, ROTOR_SHARE * float(inertia.max()))
        return robot.with_rotors(size), f"assumed: {size:.3g} kg m² at every joint, as the description has none"
    if isinstance(given, str):
        _check_word(given, "rotors", name)
        if given == "none":
            return robot.with_rotors(0.0), "none, as asked for"
        return robot, f"of the description of {robot.name}" if own else f"none, as {robot.name} is described"
    inertia = _numbers(given, robot, f"{name}: rotors", "kg m²")
    return robot.with_rotors(inertia), f"given: {_listed(inertia)} kg m²"


def _with_friction(robot: Robot, given: object, name: str) -> tuple[Robot, str]:
    own = _friction_words(robot)
    if given is None:
        if own:
            return robot, own
        drives = drives_of(robot)
        parts = drives.friction
        if any(part.coulomb or part.viscous for part in parts):
            columns = ([getattr(part, key) for part in parts] for key in ("viscous", "coulomb", "dead_zone"))
            return robot.with_friction(*columns), _told(robot, drives)
        level = COULOMB_SHARE * np.array(efforts(robot))
        limited = all(np.isfinite(joint.limits.effort) for joint in robot.joints)
        of = "the torque limit" if limited else "the torque that the motors are taken to have"
        words = f"assumed: Coulomb {_listed(level)} N m (4 % of {of}), viscous as large at 1 rad/s; none is described"
        return robot.with_friction(level, level), words
    if isinstance(given, str):
        _check_word(given, "friction", name)
        if given == "none":
            return robot.with_friction(0.0, 0.0), "none, as asked for: figures are flattering"
        return robot, own or f"none, as {robot.name} is described: figures are flattering"
    if not isinstance(given, Mapping) or not given or set(given) - {"viscous", "coulomb"}:
        raise InputError(f"{name}: friction must be 'sheet', 'none', or have viscous and coulomb, got {given!r:.80}")
    viscous, coulomb = (_numbers(given.get(k, 0.0), robot, f"{name}: friction {k}", "") for k in ("viscous", "coulomb"))
    return robot.with_friction(viscous, coulomb), f"given: viscous {_listed(viscous)}, Coulomb {_listed(coulomb)} N m"


def _friction_words(robot: Robot) -> str:
    """What the description says of friction; nothing where it has none."""
    motors = bool(robot.actuators.viscous.any())
    viscous = motors or any(joint.friction.viscous for joint in robot.joints)
    coulomb = any(joint.friction.coulomb for joint in robot.joints)
    if not viscous and not coulomb:
        return ""
    lacks = "" if viscous and coulomb else f", which has no {'Coulomb' if viscous else 'viscous'} friction"
    return f"of the description of {robot.name}{lacks}"


def _told(robot: Robot, drives: Measured) -> str:
    return f"of the drives, as the description of {robot.name} has them apart or of an arm alike: {drives.source}"


def _check_word(word: str, what: str, name: str) -> None:
    if word not in WORDS:
        raise InputError(f"{name}: {what} must be 'sheet', 'none' or numbers, got {word!r}")


def _numbers(given: object, robot: Robot, what: str, unit: str) -> Array:
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros((0, 0))
    if values.shape not in ((), (1,), (robot.n,)) or not np.isfinite(values).all() or (values < 0.0).any():
        ask = f"one number ≥ 0, or one for each of the {robot.n} joints{f' [{unit}]' if unit else ''}"
        raise InputError(f"{what}: expected {ask}, got {given!r:.80}")
    return np.broadcast_to(values, (robot.n,)).copy()


def _listed(values: Array | Sequence[float]) -> str:
    words = [f"{x:.3g}" for x in values]
    return words[0] if len(set(words)) == 1 else ", ".join(words)
