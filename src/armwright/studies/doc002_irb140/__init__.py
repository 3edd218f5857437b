# SPDX-License-Identifier: Apache-2.0
"""002 — Robot dynamics and control based on exponential matrices (ABB IRB 140), chapter by chapter."""

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
    "A. Fedorov: Robot dynamics and control based on exponential matrices (ABB IRB 140), diploma thesis, TU Liberec, "
    "2015",
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
        "Aleksandr Fedorov's diploma thesis (Technical University of Liberec, supervisor Václav Záda, 2015) models "
        "ABB's six-axis robot IRB 140 twice: by the recursion of Newton and Euler in Denavit–Hartenberg frames, and by "
        "products of matrix exponentials, one for the screw of each joint. Masses and inertias are guessed from the "
        "data sheet's drawings, every link a cylinder. Both models were derived in Maple and simulated in Simulink, "
        "under a constant torque and under PD control with gravity compensation. What came out: the controlled arm "
        "reaches its goal in about 3 s, and Newton–Euler is far cheaper, 16,080 operations against 39,001 and half an "
        "hour of computing against 18 hours. This page computes all of it again. It shows which errors of the printed "
        "listing make the inertia matrix of the second model impossible, keeps them apart from slips that the thesis "
        "puts right elsewhere and from damage of our text, tries what the thesis says about limits, friction and "
        "saturation, and adds the robust controller that its assignment asked for."
    ),
    remarks=(
        "Slips that the thesis puts right elsewhere. (2.3) has r_z sin φ for r_x sin φ in entries (2,3) and (3,2); "
        "(2.8) is right. The first form of (2.11), translation hωθ, is true of an axis through the origin only; the "
        "second, beside it, is right. (2.13) has a factor e^{ω̂θ} too much; the line above it, gp = q + e^{ω̂θ}(p − q) + "
        "hθω, is right. (2.58) writes M_l for M'_l; section 4.2 and A.3 have M'_l.",
        "(3.16)–(3.21) list three directions and three points for six joints: the distinct ones, which (3.28)–(3.33) "
        "use; (3.21) has a1 + e1 for a1 + e4, as in (3.15). (3.30) has e1(1 − cos θ3) for (e1 + e2)(1 − cos θ3); ξ_3 "
        "and the blocks of A.3 have e1 + e2.",
        "Section 2.2.2 says of S = [0 s3 s2; −s3 0 s1; −s2 −s1 0] that every skew symmetric matrix has this form, "
        "which is true. It is not the S(a) of S(a)p = a × p two lines below; that A.3 uses it for that is item A3.Ms.",
        "(6.3), (6.6), (6.9) and (6.12) list τ_init = 0; sections 5.3 and 6.1.2 have u_des act, and so do we.",
        "Table 6.1 has “min” for the simulated times 10 and 2.3 of the exponentials, section 6.2 seconds; about the "
        "real time of Newton–Euler in open loop the two contradict each other, 6 min and “only 6 seconds” (T6.1o).",
        "(2.44) has a_e × r for a_e + ω̇ × r; (2.46) is right. (2.41) lacks dots on ω_{i−1} and q_i; (4.26) has α_2 "
        "for α_4, (4.31) a_{c,4} for a_{c,6}, (4.39) τ_6 for τ_5.",
        "(4.2)–(4.6) mix indices; the rule is b_i = R_{i−1}^{i}ᵀ z_0. In (3.3) a row of the first factor "
        "reads 0 1 0 0 for 0 0 1 0.",
        "What A.3 lists is taken for what was computed, as chapter 4 says: an error there is an error, though the text "
        "may have it right (C without its ½).",
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
        "Our text of the thesis is a transcription of the printed pages: figures are not in it, and of the listing A.3 "
        "parts are lost or damaged (row 2 of a[2,1], M0[1], M0[2], M0[4], M0[6]). What only damage may explain is not "
        "judged.",
    ),
)
