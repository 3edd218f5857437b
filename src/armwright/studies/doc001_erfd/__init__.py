# SPDX-License-Identifier: Apache-2.0
"""001 — ERFD, efficient forward dynamics: tables, formulas and figures of the paper and its dossier, in their order."""

from __future__ import annotations

from armwright.studies.doc001_erfd import coefficients, counts, model, motors
from armwright.studies.study import Study

STUDY = Study(
    "001",
    "ERFD: forward dynamics and the motors of Lola 15",
    "V. Kvrgić, J. Vidaković: Efficient method for robot forward dynamics computation, Mechanism and Machine Theory "
    "145 (2020) 103680, and the technical dossier of which it is an appendix",
    (*counts.ITEMS, *model.ITEMS, *coefficients.ITEMS, *motors.ITEMS),
    about=(
        "Lola 15 is an industrial robot of six axes with coupled gears. In 2020 V. Kvrgić (Institute Mihajlo Pupin) "
        "and J. Vidaković (Lola Institute), both of Belgrade, described a part of its controller, the software ERFD, "
        "in a Serbian technical dossier and the paper in it. Two things are new there: mRNEA, a way to compute "
        "forward dynamics with vectors in the base frame, with operation counts that make it the cheapest; and "
        "*Algorithm 1*, which in every controller cycle asks what the motors can give and moves the arm as far as "
        "that goes. It was tried on a program of 13 moves, and mRNEA on a four-axis trainer for pilots. What came "
        "out: mRNEA gives the torques of ordinary recursion, and in some cycles the motors cannot follow the program. "
        "This page adds what can be recomputed: all 154 printed coefficient vectors, the counts of all methods by one "
        "rule, the motors' side, Algorithm 1 itself, and what of the figures depends on a planner that is not printed."
    ),
    remarks=(
        "Gravity is written m(v̇_z − g), which needs g = −9.81; p*_i is printed p_{i+1} − p_i in the dossier, and put "
        "right in the paper; the axis of joint i is called the third column of T_i, it is that of T_{i−1}.",
        "n_e is missing in (56), and in (22) unless n_{n+1} of (21) stands for it; l_n × F_n is missing in (11). The "
        "last column of (30) is n_{(n−1)(n−1)a2} for n_{(n−1)n a2}; those of (29) and (31) are right in the paper "
        "only.",
        "The load of the example is (100, 100, −150) N in the dossier and (100, 100, 150) N in the paper; Ix of link 2 "
        "is 1.157 and 1. We take the dossier's.",
        "The paper's text has X6 = c1 u0 and Y6 = s1 u0 in (A.2), u′_a3 with a second factor u_3 in (D.3), and loses a "
        "comma after k54 = k_ka5; the dossier has v0, no such factor, and the comma.",
        "I_a4 is printed as a second I_a3; the units of f_v are not printed.",
        "The gears k4 = 133.714, k5 = 219.429 and k6 = 53.333 follow from the stages of Appendix D; only the stages "
        "are printed.",
        "All targets of Fig. 8 but s6 and s9 lie in one plane, to 0.001 mm; the document does not say so.",
        "No curve of the document can be read back and no computing time is printed.",
        "Ours: axes that hold their place have no dry friction; the sign of a speed of 1e-15 rad/s is chance.",
    ),
    sources=(
        "The linear laws of Featherstone, Saha and Mohan–Saha, quoted from the wider literature, originals not "
        "consulted.",
        "The numbers of the four-axis trainer are our own (catalogue: sdt).",
    ),
)
