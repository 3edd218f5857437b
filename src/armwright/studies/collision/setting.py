# SPDX-License-Identifier: Apache-2.0
"""What the report is about: its arm, the arm its dynamics describe, and its settings (000 §4)."""

from __future__ import annotations

from functools import cache

import numpy as np

from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.types import Array

q_0 = np.array([2.5511, -1.1193, 2.5706, 0.1196, 1.5708, -0.5905])
"""Start posture, hard-coded in the report's generator."""
R_t = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
omega = np.array([22.5, 22.5, 37.5, 60.0, 67.5, 75.0])
K_0, K_1 = omega**2, 2.0 * omega
f_min, beta = 12.0, 0.1

q_t = np.array([0.3, -0.7, 0.9, -0.4, 1.1, 0.2])
qd_t = np.array([0.5, -1.0, 0.8, 1.2, -0.7, 0.9])
qdd_t = np.array([1.0, 0.5, -1.5, 2.0, 0.7, -1.0])
"""A state without symmetries, for comparing formulas; not the report's."""


@cache
def arm() -> Robot:
    """The UR5 of the report's tables."""
    return load("ur5-ragazzon")


@cache
def reduced() -> Robot:
    """The arm of the report's printed equations: m3 = m5 = 0, r_23 = r_45 = 0. For dynamics only."""
    return load("ur5-ragazzon-published")


MISSING_LINKS = "links 3 and 5 have neither mass forces nor offsets in the framework's recursion"
"""The fault behind most items in error."""


def postures(count: int = 50) -> Array:
    """Postures (count, 6) [rad] for comparing formulas, the same every time."""
    return np.random.default_rng(0).uniform(-np.pi, np.pi, (count, 6))
