# SPDX-License-Identifier: Apache-2.0
"""How finely the arms of a detection study are stepped: as the stiffest of them needs it, whatever the arm.

Two things are stiff. Viscous friction on a light link decays with λ, the largest eigenvalue of M⁻¹F_v: 4,700 1/s at
the last wrist of document 004's UR5, 0.65 N m s/rad on 1.4e-4 kg m². A wall of stiffness k swings with
ω = √(k/m), 1/m the largest eigenvalue of J M⁻¹Jᵀ.

Dry friction is stiffer than both: F_c/M is 4,700 rad/s² there. Evaluated in steps of h by an explicit method it only
acts above the speed h F_c/M, 1.6 rad/s at a third of a millisecond, and a joint that should stand runs off. No
affordable step mends that, so benches solve for dry friction ("semi-implicit"), and steps follow the other two.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from armwright.detection.varied_arms import Spread
from armwright.dynamics import mass_matrix
from armwright.errors import InputError
from armwright.kinematics.jacobians import frame_jacobian
from armwright.robot.configurations import random_configuration
from armwright.robot.kernels import kernel
from armwright.robot.tree import tree_of

if TYPE_CHECKING:
    from armwright.robot.model import Robot

DECAY = 0.7  # hλ of viscous friction: below 1, where the velocity first-order steps leave would overshoot
SWING_ANGLE = 0.25  # hω of a contact: 25 steps in a period
LEAST_RATE = 3000.0  # [1/s] steps that every arm gets: first-order steps of a third of a millisecond at most
MOST_STEPS = 200  # in a tick
CONFIGURATIONS = 64  # in which an arm is looked at


def study_substeps(robot: Robot, spread: Spread, rate: float, stiffness: float = 0.0) -> int:
    """Return the steps in a tick of 1/rate [s] that the stiffest arm of a study needs.

    Args:
        robot: the model.
        spread: how its arms differ from it: less mass, more friction.
        rate: ticks per second.
        stiffness: of what the tool meets [N/m].

    Raises:
        InputError: for an arm that no affordable step can follow, with the joint.

    Example:
        >>> study_substeps(aw.load("ur5-kufieta-c"), Spread(), 1000.0)
    """
    decay, joint, swing = _rates(robot)
    light = 1.0 - spread.mass
    decay *= (1.0 + spread.friction) * max(1.0, spread.drift[1]) / light
    swing *= float(np.sqrt(stiffness / light))
    steps = int(np.ceil(max(decay / DECAY, swing / SWING_ANGLE, LEAST_RATE) / rate))
    if steps <= MOST_STEPS:
        return steps
    name = repr(robot.joints[joint].name)
    trouble = f"friction of joint {name} decays within {1e6 / max(decay, 1e-9):.3g} µs"
    if swing / SWING_ANGLE > decay / DECAY:
        trouble = f"its tool swings with {swing:.3g} rad/s against {stiffness:g} N/m"
    raise InputError(
        f"detection study: {robot.name!r} is too stiff to simulate: {trouble}; its links are too light, or rotors are "
        "missing (rotors)"
    )


@lru_cache(maxsize=64)
def _rates(robot: Robot) -> tuple[float, int, float]:
    """Return the largest decay [1/s] of viscous friction, its joint, and √(1/m) of the tool's lightest direction."""
    q = random_configuration(robot, 1, CONFIGURATIONS)
    inverse = np.linalg.inv(np.asarray(mass_matrix(robot, q)))
    values, vectors = np.linalg.eig(inverse @ tree_of(robot).viscous)
    row, column = np.unravel_index(int(np.argmax(values.real)), values.shape)
    J = np.asarray(kernel(robot, frame_jacobian)(q))[:, :3]
    mobility = np.linalg.eigvalsh(J @ inverse @ J.transpose(0, 2, 1)).max()
    joint = int(np.argmax(np.abs(vectors[row, :, column])))
    return max(float(values.real.max()), 0.0), joint, float(np.sqrt(max(mobility, 0.0)))
