# SPDX-License-Identifier: Apache-2.0
"""000 — collision handling in an unknown environment without external sensors (UR5): the report, in its order."""

from __future__ import annotations

from armwright.studies.doc000_collision import (
    actual_place,
    cost_growth,
    drop,
    dynamics,
    error_dynamics,
    estimate,
    experiment,
    kinematics,
    planner,
    stolt,
    waypoint_table,
)
from armwright.studies.study import Study

STUDY = Study(
    "000",
    "Collision handling of a UR5 without external sensors",
    "M. R. P. Ragazzon: Robot Manipulator Collision Handling in Unknown Environment without using External Sensors, "
    "TTK4550 project report, NTNU, 2012",
    (
        *kinematics.ITEMS,
        *cost_growth.ITEMS,
        *dynamics.ITEMS,
        *drop.ITEMS,
        *error_dynamics.ITEMS,
        *estimate.ITEMS,
        *stolt.ITEMS,
        *planner.ITEMS,
        *waypoint_table.ITEMS,
        *kinematics.START,
        *experiment.ITEMS,
        *actual_place.ITEMS,
        *cost_growth.NEURONS,
    ),
    about=(
        "In 2012 Michael Remo Palmén Ragazzon, a student at NTNU, asked whether a robot arm without camera "
        "or force sensor can find its way among obstacles that nobody has described to it. For the Universal Robots "
        "UR5 of his department he derived the equations of motion, controlled the arm by inverse dynamics, estimated "
        "the force at its tool from the tracking error of that controller, and planned its way with a Hopfield neural "
        "network. In simulation (the arm itself was never run) it bumps into cylinders, marks the cell where it was "
        "stopped, steps back, plans anew, and arrives. This page recomputes what the report prints. The idea holds. "
        "The printed equations are those of an arm that lacks two of its six links, which explains its rest pose and "
        "its late detection, and a few formulas of the planner are wrong. The obstacles were only in figures that are "
        "lost: runs are shown on two stand-ins, with the printed dynamics and with those of the arm, and where the "
        "answer turns on something that the report does not say, every reading is computed."
    ),
    remarks=(
        "M and g are judged as the appendix prints them; m11, m22 and large parts of C q̇ are damaged there.",
        "One table lists −a2, −a3 (magnitudes), the next a = −0.425, −0.39243 (signed): not to be negated twice.",
        "The rotation printed as R from frame i−1 to i is its transpose; the code is right.",
        "The potential energy has a + and no word on the sign of g; with g pointing down it is −Σ m_i gᵀ r_ci.",
        "The norm of F̂ adds N and N m.",
        "Whether the trigger fires on the level or on the edge is not said; the edge gives one trigger a contact.",
        "(6.4) has + before its first sum and (6.5), derived from it, the − that is right: with + the sweeps raise L.",
        "(6.10) has < where its conclusion (6.11) needs ≥, which (6.6) and 1/β = min G'' say: 1/g' is 1/β at least.",
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
