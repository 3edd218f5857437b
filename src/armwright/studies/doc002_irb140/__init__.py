# SPDX-License-Identifier: Apache-2.0
"""002 — Robot dynamics and control with exponential matrices (ABB IRB 140), chapter by chapter."""

from __future__ import annotations

from armwright.studies.doc002_irb140 import (
    assumptions,
    closed_loop,
    cost,
    dynamics,
    kinematics,
    listing,
    open_loop,
    parameters,
    robust,
    theory,
)
from armwright.studies.study import Study

STUDY = Study(
    "002",
    "IRB 140: dynamics and control with exponential matrices",
    "A. Fedorov: Robot dynamics and control with exponential matrices (ABB IRB 140), diploma thesis, TU Liberec, 2015",
    (
        *theory.ITEMS,
        *kinematics.ITEMS,
        *parameters.ITEMS,
        *listing.ITEMS,
        *dynamics.ITEMS,
        *open_loop.ITEMS,
        *closed_loop.ITEMS,
        *assumptions.ITEMS,
        *cost.ITEMS,
        *robust.ITEMS,
    ),
    about=(
        "Kinematics and dynamics of ABB's IRB 140 twice, by Newton–Euler with Denavit–Hartenberg frames and "
        "by products of exponentials; parameters from cylinders; open-loop runs; PD control with gravity "
        "compensation; and a comparison of cost."
    ),
    remarks=(
        "(2.44) has a_e × r for a_e + ω̇ × r; (2.46) is right. (2.41) lacks dots on ω_{i−1} and q_i; (4.26) has α_2 "
        "for α_4, (4.31) a_{c,4} for a_{c,6}, (4.39) τ_6 for τ_5.",
        "(4.2)–(4.6) mix indices; the rule is b_i = R_{i−1}^{i}ᵀ z_0. In (3.3) a row of the first factor "
        "reads 0 1 0 0 for 0 0 1 0.",
        "e2 means 0 in the DH part and 0.360 m in the screw part.",
        "The friction equation has a stray + q̇. “Asymptotic tracking” is claimed, regulation is proved.",
        "Four open-loop simulations are announced, two shown; an energy study is announced, none given.",
        "Gravity is deleted from the plant instead of added to u, so the torque plots lack g(q).",
        "Ours, no claim of the thesis, which leaves out speeds and ranges on purpose: the closed-loop runs exceed "
        "the data sheet's speeds (joints 4 and 6 in all, joints 1 to 3 in some), and CL2 begins, CL3 ends at q2 = "
        "180°, outside the range of axis 2.",
    ),
    sources=(
        "ABB's data sheet of the IRB 140, for the speed of axis 6 (450 °/s) and the signed ranges, which are lost in "
        "our text of Attachment A1; the thesis prints the other speeds.",
    ),
)
