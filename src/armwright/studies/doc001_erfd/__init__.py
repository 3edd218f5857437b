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
        "A way to compute forward dynamics with vectors in the base frame (mRNEA), operation counts that say "
        "it is the cheapest, and the part that is of lasting use: *Algorithm 1*, which in every controller "
        "cycle asks what the motors can give, and moves the arm as far as that goes. The arm is Lola 15, six "
        "axes with coupled gears; a second device is a four-axis trainer."
    ),
    remarks=(
        "Gravity is written m(v̇_z − g), which needs g = −9.81; p*_i is printed p_{i+1} − p_i in the dossier; the axis "
        "of joint i is called the third column of T_i, it is that of T_{i−1}.",
        "n_e is missing in (22) and (56), l_n × F_n in (11); the last columns of (29)–(31) are garbled.",
        "The load of the example is (100, 100, −150) N in the dossier and (100, 100, 150) N in the paper; Ix of link 2 "
        "is 1.157 and 1. We take the dossier's.",
        "I_a4 is printed as a second I_a3; the units of f_v are not printed.",
        "No curve of the document can be read back and no computing time is printed.",
        "Ours: axes that hold their place have no dry friction; the sign of a speed of 1e-15 rad/s is chance.",
    ),
    sources=(
        "The linear laws of Featherstone, Saha and Mohan–Saha, quoted from the wider literature, originals not "
        "consulted.",
        "The numbers of the four-axis trainer are our own (catalogue: sdt).",
    ),
)
