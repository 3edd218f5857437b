"""003 — ROB315, modelling and control of manipulators: the twenty questions of the lab report, in its order."""

from __future__ import annotations

from armwright.studies.item import Study
from armwright.studies.rob315 import avoidance, control, geometry, inertia, inverse, limits, line, motion, velocity

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
    remarks=(
        "K_p and K_d are printed under the labels q_di and q_df.",
        "The flow chart of Q8 stops on ‖Jᵀ‖ > ε; the code, rightly, on ‖e‖ > ε.",
        "ε_x = 1 mm equals the spacing of the samples of Q9; it works because one update is always made.",
        "The axis of the torque plot of Q20 is labelled rad. The simulation stops at t_f, so settling is not shown.",
    ),
)
