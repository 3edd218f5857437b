"""000 — collision handling in an unknown environment without external sensors (UR5): the report, in its order."""

from __future__ import annotations

from armwright.studies.collision import drop, dynamics, estimate, experiment, kinematics, planner
from armwright.studies.item import Study

STUDY = Study(
    "000",
    "Collision handling of a UR5 without external sensors",
    "M. R. P. Ragazzon: Robot Manipulator Collision Handling in Unknown Environment without using External Sensors, "
    "TTK4550 project report, NTNU, 2012",
    (*kinematics.ITEMS, *dynamics.ITEMS, *drop.ITEMS, *estimate.ITEMS, *planner.ITEMS, *experiment.ITEMS),
)
