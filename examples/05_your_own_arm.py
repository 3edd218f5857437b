# SPDX-License-Identifier: Apache-2.0
"""Your own arm: from a DH table to URDF, MuJoCo and LaTeX."""

import numpy as np

import armwright as aw

quarter = np.pi / 2
robot = aw.Robot.from_dh(
    #  theta    d     a     alpha
    [[0.0, 0.40, 0.00, quarter], [quarter, 0.0, 0.35, 0.0], [0.0, 0.10, 0.0, 0.0]],
    kinds=["revolute", "revolute", "prismatic"],
    name="crane",
    masses=[8.0, 5.0, 2.0],
    coms=[[0.0, -0.2, 0.0], [-0.17, 0.0, 0.0], [0.0, 0.0, -0.05]],
    inertias=[np.diag([0.12, 0.02, 0.12]), np.diag([0.01, 0.06, 0.06]), np.diag([0.005, 0.005, 0.002])],
    limits=[(-3.0, 3.0), (-1.5, 1.5), (0.0, 0.4)],
)
q = np.array([0.3, 0.4, 0.2])
print("tool at", aw.fk(robot, q)[:3, 3].round(3))
print("M =\n", aw.mass_matrix(robot, q).round(4))

# Descriptions are interchangeable: the arm read back is the same arm.
copy = aw.Robot.from_urdf(robot.to_urdf())
state = np.random.default_rng(0).uniform(-0.3, 0.3, (3, 3))
difference = aw.inverse_dynamics(copy, *state) - aw.inverse_dynamics(robot, *state)
print(f"URDF round trip: {np.abs(difference).max():.0e} N m")
print("MJCF:", len(robot.to_mjcf().splitlines()), "lines; modified DH:\n", robot.to_mdh().table.round(3))

# Nonsense is refused with the reason.
try:
    aw.Robot.from_dh([[0.0, 0.1, 0.0, 0.0]], masses=[1.0], coms=[[0.0, 0.0, float("nan")]])
except aw.ArmwrightError as error:
    print("refused:", error)
