# SPDX-License-Identifier: Apache-2.0
"""Every control law once, and a state to call it in."""

from __future__ import annotations

import numpy as np

from armwright import control
from armwright.motion.trajectory import Reference
from armwright.robot.load import load

UR5, CEA = load("ur5"), load("cea")
Q, QD = np.array([0.3, -1.1, 1.2, 0.4, 0.9, -0.5]), np.array([0.5, -0.4, 0.7, 0.3, -0.6, 0.8])
REF = Reference(Q + 0.1, 0.2 * QD, 0.3 * QD)
SIX = [5.0, 6.0, 7.0, 8.0, 9.0, 10.0]

EVERY = [
    lambda: control.zero(),
    lambda: control.constant(SIX),
    lambda: control.damping(),
    lambda: control.pd(SIX, 2.0),
    lambda: control.pid(50.0, SIX, 2.0, limit=4.0),
    lambda: control.pid(50.0, SIX, 2.0, limit=4.0, anti_windup="back-calculation", gravity=True),
    lambda: control.pd_gravity(SIX, 2.0),
    lambda: control.pd_gravity(SIX, 2.0, at="reference"),
    lambda: control.computed_torque(SIX, 2.0),
    lambda: control.task_space(SIX, 2.0),
    lambda: control.task_space(SIX, 2.0, orientation="zyz"),
    lambda: control.feedforward(SIX, 2.0),
    lambda: control.impedance(SIX, 2.0, joint_damping=0.1),
    lambda: control.impedance(SIX, 2.0, inertia=SIX),
    lambda: control.admittance(50.0, 2.0, SIX, dead_zone=0.1, press=SIX),
    lambda: control.admittance(50.0, 2.0, SIX, feel="sensor"),
    lambda: control.lyapunov_redesign(SIX, 2.0, 3.0, 0.01, growth=0.5),
    lambda: control.sliding_mode(2.0, SIX, 3.0, 0.1),
    lambda: control.adaptive(
        CEA, 2.0, SIX, control.adaptation_rates(CEA, form="base", friction="adapt"), form="base", friction="adapt"
    ),
]
