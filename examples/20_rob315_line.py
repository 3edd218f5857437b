# SPDX-License-Identifier: Apache-2.0
"""ROB315, Q9–Q11: follow a line at 1 m/s within the joint limits. Change ALPHA and GAIN and see what happens."""

import numpy as np

import armwright as aw
from armwright.kinematics.jacobians import pose_jacobian
from armwright.spatial import ltdl_solve

ALPHA = 2.0  # weight of the way to the middle of the ranges; 0 leaves joint 5 outside its limits
GAIN = 100.0  # 1/s, on the error of the tool; 0 lets it drift
STEP, SPEED = 1e-3, 1.0

robot = aw.load("cea")
middle, width = (robot.upper + robot.lower) / 2, robot.upper - robot.lower


def rates(arm, q, x, xd, alpha):
    """Joint velocities: follow the line, and in the null space go down the slope of H = Σ ((q − middle)/width)²."""
    T, J = pose_jacobian(arm, q)
    J = J[:3]
    aside = -alpha * 2.0 * (q - middle) / width**2
    return J.T @ ltdl_solve(J @ J.T, xd + GAIN * (x - T[:3, 3]) - J @ aside) + aside


velocity = aw.compile(rates, robot, shapes={"x": 3, "xd": 3, "alpha": ()})
start, end = np.array([-0.1, -0.7, 0.3]), np.array([0.64, -0.10, 1.14])
count = int(np.ceil(np.linalg.norm(end - start) / (SPEED * STEP)))
line = start + np.arange(count)[:, None] * SPEED * STEP * (end - start) / np.linalg.norm(end - start)

for alpha in (0.0, ALPHA):
    q = np.array([-0.5, 0, -0.5, -0.5, -0.5, -0.5]) * np.pi
    path = [q]
    for k in range(count - 1):
        q = q + STEP * velocity(q, line[k], (line[k + 1] - line[k]) / STEP, alpha)
        path.append(q)
    off = np.linalg.norm(line - aw.fk(robot, np.array(path))[:, :3, 3], axis=1).max()
    beyond = np.maximum(robot.lower - path, path - robot.upper).max(axis=0)
    fifth, others = 1e3 * max(beyond[4], 0.0), 1e3 * max(np.delete(beyond, 4).max(), 0.0)
    print(
        f"alpha = {alpha:g}: at most {1e3 * off:.3f} mm off the line; "
        f"joint 5 beyond its limits by {fifth:.1f} mrad, the others by {others:.1f}"
    )

assert off < 1e-4
assert beyond.max() < 1e-12
