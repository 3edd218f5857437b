# SPDX-License-Identifier: Apache-2.0
"""004 — sensorless force estimation on a UR5: models, closed loop, current and torque, forces."""

from __future__ import annotations

from armwright.studies.doc004_force import currents, forces, loop, models
from armwright.studies.study import Study

STUDY = Study(
    "004",
    "Force estimation on a UR5 from motor currents",
    "K. Kufieta: Force Estimation in Robotic Manipulators: Modeling, Simulation and Experiments, diploma thesis, NTNU, "
    "2014",
    (*models.ITEMS, *loop.ITEMS, *currents.ITEMS, *forces.ITEMS),
    about=(
        "A UR5 without torque sensors: inertia models from cylinders, a guessed controller, a current-torque "
        "map, and the force at the tool from currents, beside a wrist sensor. Trajectories and curves are "
        "lost; tables are judged by order and size."
    ),
    remarks=(
        "Table 5.3 does not exist; table C.2 is cited for cylinder sizes that stand in C.1; o_6 is the fourth column "
        "of T, not its row.",
        "The filters of 5.4 and 6.2 delay by 1.09 s and 2.23 s if they run forwards only; that is not said.",
        "Late packets are TCP at work (756 + 694 bytes are about one Ethernet segment), not a fault of the robot.",
        "Whether F acts on the robot or by it is never said; (3.4) makes it the wrench that the robot exerts.",
        "The second derivatives of Euler angles of 5.4 are no angular accelerations and cannot match an IMU.",
        "Fit and test use the same trajectory.",
        "The gains of C.1 to C.4 have damping ratios of 1.6 to 4.9 and a pole near −1 rad/s on every joint.",
        "Ours: on logs of a real UR10e gains, friction and inertia have to be estimated together; see the page on "
        "identification.",
    ),
    sources=("The thesis's text and tables; trajectories and curves are lost, so that tables are judged by order.",),
)
