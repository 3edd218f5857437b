# SPDX-License-Identifier: Apache-2.0
"""000 — collision handling in an unknown environment without external sensors (UR5): the report, in its order."""

from __future__ import annotations

from armwright.studies.doc000_collision import (
    actual_place,
    drop,
    dynamics,
    estimate,
    experiment,
    kinematics,
    planner,
    stolt,
)
from armwright.studies.study import Study

STUDY = Study(
    "000",
    "Collision handling of a UR5 without external sensors",
    "M. R. P. Ragazzon: Robot Manipulator Collision Handling in Unknown Environment without using External Sensors, "
    "TTK4550 project report, NTNU, 2012",
    (
        *kinematics.ITEMS,
        *dynamics.ITEMS,
        *drop.ITEMS,
        *estimate.ITEMS,
        *stolt.ITEMS,
        *planner.ITEMS,
        *kinematics.START,
        *experiment.ITEMS,
        *actual_place.ITEMS,
    ),
    about=(
        "An arm without camera or force sensor drives towards a goal on a map that is empty at first. It "
        "estimates the force at its tool from the tracking error of its controller, marks the cell where it "
        "is stopped, steps back, plans anew with a Hopfield network, and arrives."
    ),
    remarks=(
        "M and g are judged as the appendix prints them; m11, m22 and large parts of C q̇ are damaged there.",
        "One table lists −a2, −a3 (magnitudes), the next a = −0.425, −0.39243 (signed): not to be negated twice.",
        "The rotation printed as R from frame i−1 to i is its transpose; the code is right.",
        "The potential energy has a + and no word on the sign of g; with g pointing down it is −Σ m_i gᵀ r_ci.",
        "The norm of F̂ adds N and N m.",
        "Whether the trigger fires on the level or on the edge is not said; the edge gives one trigger a contact.",
        "After backing off only u is clamped, and only from below; the ring can be indexed on the other sides.",
        "The table of 5000 rows holds 50 segments: the serpentine's 102 do not fit.",
        "Number, places and radii of the obstacles, and the four maps of the planner, were only in figures. The "
        "stand-ins keep what the text says of them.",
        "How the table of the desired motion is read between its rows is not said either. Held, it gives the printed "
        "error of 1e-3 rad; the figures of chapter 7 are of that setting, and those along the spline stand beside "
        "them. The hysteresis of the alarm (it ends at 0.7 f_min) is ours.",
        "Ours, from (5.5), not printed: the estimate lags a slow force by 2/ω_i.",
        "The value of g is not printed; with 9.81 m/s² the rest pose comes out as printed.",
    ),
    sources=("The manufacturer's DH table of today's UR5, for two notes on the pose of the flange.",),
)
