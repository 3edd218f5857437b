# SPDX-License-Identifier: Apache-2.0
"""What the report is about: its arm, configurations and settings, under the symbols it uses (003 §3)."""

from __future__ import annotations

from functools import cache

import numpy as np

from armwright.robot.load import load
from armwright.robot.model import Robot

PI = np.pi

q_i = np.array([-PI / 2, 0.0, -PI / 2, -PI / 2, -PI / 2, -PI / 2])
q_f = np.array([0.0, PI / 4, 0.0, PI / 2, PI / 2, 0.0])
qd_used = np.array([0.5, 1.0, -0.5, 0.5, 1.0, -0.5])
"""Joint velocities of Q6 as they were used; the text drops the two minus signs."""

X_di, X_df = np.array([-0.1, -0.7, 0.3]), np.array([0.64, -0.10, 1.14])
q_0i = np.array([-1.57, 0.0, -1.47, -1.47, -1.47, -1.47])
q_0f = np.array([0.0, 0.80, 0.0, 1.0, 2.0, 0.0])
k_max, eps_x = 100, 1e-3

V, T_e = 1.0, 1e-3

q_di, q_df = np.array([-1.0, 0.0, -1.0, -1.0, -1.0, -1.0]), np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
t_f = 0.5
K_p = np.array([5000.0, 8000.0, 5500.0, 800.0, 5500.0, 2500.0])
K_d = np.array([1000.0, 1000.0, 500.0, 100.0, 100.0, 500.0])


@cache
def arm() -> Robot:
    """The CEA List arm, from the catalogue."""
    return load("cea")
