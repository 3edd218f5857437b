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
        "Mateus Lopes Ricci and Matheus Melo Monteverde, two students, wrote this report in January 2021 for the "
        "course ROB315 on modelling and control of manipulators. Its twenty questions take a six-axis arm of the "
        "Interactive Robotics Laboratory of CEA List from the geometric table to a controller: poses, Jacobian, "
        "inverse kinematics, a straight line at 1 m/s with joints kept from their limits, inertia and gravity, a fast "
        "move, PD control with gravity compensation, all in MATLAB and Simulink, printed with the code. Most of it "
        "holds: kinematics, dynamics and the controlled run come out to the printed digits. This page recomputes "
        "every printed number, follows the printed code where the two differ, and names the mistakes behind the rest: "
        "a unit, two vectors exchanged, a mid-range, a Jacobian taken in the wrong place (twice), two searches that "
        "miss their extreme."
    ),
    remarks=(
        "Slips that the report puts right itself: the text of Q6 drops the minus signs of joints 3 and 6 (Code 1 has "
        "them, and the printed twists are theirs); q_0 of case i of Q8 is printed with seven numbers (Code 1, line "
        "164: six); the third member of Eq. 8 has lost −α (the second, and Code 7, have it); Eq. 18 is typeset with "
        "k_a under the root of 3 (Code 1, line 275, is right); K_p and K_d of Q20 are printed under the labels q_di "
        "and q_df.",
        "The flow chart of Q8 stops on ‖Jᵀ‖ > ε; the code, rightly, on ‖e‖ > ε.",
        "ε_x = 1 mm equals the spacing of the samples of Q9; it works because one update is always made.",
        "ε of Fig. 5.3 is norm(X_star - Xdk) of Code 1: the spectral norm of a 3 × 1271 matrix. It is no distance, and "
        "grows with the number of samples.",
        "μ2 = 10.1985 of Q14 comes from the same search as μ1, at q_max; the maximum is 10.198553, higher by 4 parts "
        "in a million, and nothing in the report turns on it.",
        "The minimal time of Q18 takes “into account only” the bound of the acceleration, as the report says. Ours: "
        "with gravity, friction and velocity terms joint 2 would need 502.2 of its 500 N m; 0.4114 s is feasible.",
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
        "The published PDF of the report (26 January 2021, in the same place): the curves of Q20, whose peaks we read "
        "from Figs. 7.6 and 7.7; q_0 of Q8 and lines 163 and 164 of Code 1, which our text has otherwise or not at "
        "all.",
    ),
)
