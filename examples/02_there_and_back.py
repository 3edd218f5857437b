# SPDX-License-Identifier: Apache-2.0
"""Kinematics there and back: pose, Jacobian, and every way the arm can reach the same pose."""

import numpy as np

import armwright as aw

robot = aw.load("ur5")
q = np.array([0.4, -1.1, 1.3, -0.6, 0.9, 0.2])

T = aw.fk(robot, q)
print("T_base_tool =\n", T.round(4))
J = aw.jacobian(robot, q)
print("tool twist at 1 rad/s in joint 1:", (J @ np.eye(6)[0]).round(4), "[m/s, rad/s]")

answer = aw.ik(robot, T)
print(f"{len(answer)} configurations reach this pose ({answer.method}):")
for solution in answer.solutions:
    error = np.abs(aw.fk(robot, solution) - T).max()
    print("  ", solution.round(3), f"pose error {error:.0e}")

# No silent best guess: a target out of reach says so, and how close the arm can come.
far = T.copy()
far[:3, 3] = [2.0, 0.0, 0.3]
missed = aw.ik(robot, far)
print(f"{missed.status}: {missed.message}")

# Every function takes leading batch axes.
many = np.random.default_rng(0).uniform(-3.0, 3.0, (1000, 6))
print("reach of 1000 random poses:", np.linalg.norm(aw.fk(robot, many)[:, :3, 3], axis=-1).max().round(3), "m")
