# SPDX-License-Identifier: Apache-2.0
"""003 — ROB315, modelling and control of manipulators: the twenty questions of the lab report, in its order."""

from __future__ import annotations

from armwright.studies.doc003_rob315 import (
    avoidance,
    control,
    geometry,
    inertia,
    inverse,
    limits,
    line,
    motion,
    velocity,
)
from armwright.studies.study import Study

STUDY = Study(
    "003",
    "ROB315: kinematics, dynamics and control of the CEA List arm",
    "M. Lopes Ricci, M. Melo Monteverde: ROB315 Modelling and control of manipulators, TP1 and TP2, lab report",
    (
        *geometry.ITEMS,
        *velocity.ITEMS,
        *inverse.ITEMS,
        *line.ITEMS,
        *avoidance.ITEMS,
        *inertia.ITEMS,
        *limits.ITEMS,
        *motion.ITEMS,
        *control.ITEMS,
    ),
    about=(
        "A laboratory report on the CEA List arm, six revolute joints: geometry, velocities, inverse "
        "geometry, dynamics, a minimal-time move and a PD controller with gravity compensation, in twenty "
        "questions."
    ),
    remarks=(
        "K_p and K_d are printed under the labels q_di and q_df.",
        "The flow chart of Q8 stops on ‖Jᵀ‖ > ε; the code, rightly, on ‖e‖ > ε.",
        "ε_x = 1 mm equals the spacing of the samples of Q9; it works because one update is always made.",
        "The axis of the torque plot of Q20 is labelled rad. The simulation stops at t_f, so settling is not shown.",
        "Ours, no claim of the report: the law of Q20 acts continuously in its simulation; held for 1 ms, the period "
        "of its trajectory, the loop diverges (fastest pole near −8700 1/s).",
        "Ours: the generator of Q19 does not hold the end; after t_f, where the report's run is over, the polynomial "
        "runs away.",
        "Ours: the routine for axis and angle in the authors' public code, which the report does not print, returns no "
        "rotation wherever sin φ < 0.001, so also for half turns.",
    ),
    sources=(
        "The authors' public code, github.com/MatRicci1/Manipulator_Robot: centres of mass and gravity vector "
        "(illegible in the text of Code 1), the searches of Q14 and Q16 with their grids and norm, axis and angle of "
        "Q4, solver and stop time of Q20.",
        "The published PDF of the report: the curves of Q20, whose peaks we read from Figs. 7.6 and 7.7.",
    ),
)
