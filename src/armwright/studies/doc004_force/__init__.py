# SPDX-License-Identifier: Apache-2.0
"""004 — sensorless force estimation on a UR5: models, closed loop, acceleration, current and torque, forces."""

from __future__ import annotations

from armwright.studies.doc004_force import currents, equipment, forces, loop, models, tool_acceleration
from armwright.studies.doc004_force.random_routes import REACH, ROUTES, SEED, WORST_CONDITION
from armwright.studies.study import Study

STUDY = Study(
    "004",
    "Force estimation on a UR5 from motor currents",
    "K. Kufieta: Force Estimation in Robotic Manipulators: Modeling, Simulation and Experiments, diploma thesis, NTNU, "
    "2014",
    (*models.ITEMS, *equipment.ITEMS, *loop.ITEMS, *tool_acceleration.ITEMS, *currents.ITEMS, *forces.ITEMS),
    about=(
        "For her diploma thesis at NTNU, Norway, of January 2014, Katharina Kufieta built a test stand: a UR5, whose "
        "controller is closed, an ATI force/torque sensor and an Xsens inertial unit at its wrist, and the programs "
        "that record all three. She modelled the arm three ways from cylinders, guessed the controller, fitted torque "
        "to motor current, and estimated the force at the tool from the currents alone. Her best models come within "
        "about 1 N m of the controller's own torques, where an older one missed 26; with friction in the model the "
        "force is known to 6–9 N in the mean. This page recomputes what the thesis prints. Its trajectories and curves "
        "are lost: tables of measurements are judged by what the text says of them, on a path of ours and on sixty "
        "random ones."
    ),
    remarks=(
        "Table 4.3 lists 684 of the packet's 756 bytes: “only values relevant to this thesis are listed”.",
        "Table 5.3 does not exist; Table C.2 is cited for cylinder sizes that stand in C.1; o_6 is the fourth column "
        "of T, not its row.",
        "The tubes of links 2 and 3 are said to have the same height; Table C.3 has 307.2 and 294.7 mm.",
        "Section 5.4 calls all three new models better than the legacy one: on joint 5 model A is not (0.2387, 0.2001 "
        "N m), on joint 6 model C is not (0.0348, 0.0333 N m).",
        "Section 5.5 finds the acceleration along z less accurate than along y, Table 5.7 the reverse (0.1793, 0.1810 "
        "m/s²); section 7.1 names both as good.",
        "Section 7.1 leaves out what section 6.2 says: that of the estimates compared the robot's own is the best "
        "along z.",
        "Both signs of gravity (2.62, 5.11) are slips of the print: the tables could not have come out with them.",
        "The filters of sections 5.5 and 6.2 delay by 1.09 s and 2.23 s if they run forwards only; that is not said.",
        "Late packets are TCP at work (756 + 694 bytes are about one Ethernet segment), not a fault of the robot.",
        "Whether F acts on the robot or by it is never said; (3.4) makes it the wrench that the robot exerts.",
        "The estimate without friction (6.8) uses k and b that were fitted with friction.",
        "Fit and test use the same trajectory, as the thesis says (6.3.2).",
        "The gains of C.1 to C.4, the copied ones apart, have damping ratios of 1.6 to 4.9 and a pole near −1 rad/s on "
        "every joint.",
        "Ours: on logs of a real UR10e gains, friction and inertia have to be estimated together; see the page on "
        "identification.",
    ),
    sources=(
        "A transcription of the thesis: its text, formulas and tables. Figures are lost, and indices may be garbled.",
        "Ours: a path of seven moves of 3.2 s, trapezoids of speed, between the waypoint of Figure 4.5, the only one "
        "printed, and two others.",
        f"Ours: {ROUTES} random routes like it (seed {SEED}): the two other waypoints lie within {REACH:g} rad of the "
        f"printed one, and the condition number of J stays below {WORST_CONDITION:g}; shares with limits at 95 %.",
    ),
)
