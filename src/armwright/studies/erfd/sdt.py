# SPDX-License-Identifier: Apache-2.0
"""The four-axis spatial disorientation trainer (001 §3.8): its recursion as printed, E_21 and E_22 short of link 4."""

from __future__ import annotations

from functools import cache

import numpy as np

from armwright.dynamics.crba import crba
from armwright.dynamics.mrnea import coefficients
from armwright.dynamics.terms import root_frames, root_masses
from armwright.robot.load import load
from armwright.robot.step import steps
from armwright.types import Array

POSTURE = np.array([0.4, -0.7, 0.9, 0.3])


@cache
def as_published_sdt() -> tuple[Array, Array]:
    """First two columns of H of the trainer's first joint: by (77)–(88) as printed, and right.

    The columns of n'_1a2 are p*_1 × E_21 and p*_1 × E_22; the print has E_21 = e_31 + e_21 and E_22 = e_32 + e_22.
    """
    robot = load("sdt")
    tree = robot.tree
    frames = root_frames(tree, steps(tree, POSTURE))
    made = coefficients(tree, frames, root_masses(tree, frames), np.zeros(4))
    right = np.asarray(crba(robot, POSTURE, rotors=False))[0, :2]
    lever = frames.p[1] - frames.p[0]
    missing = np.array([frames.z[0] @ np.cross(lever, made.e_k[3][k]) for k in (0, 1)])
    return right - missing, right
