# SPDX-License-Identifier: Apache-2.0
"""ROB315, Q9–Q11: follow a line at 1 m/s within the joint limits. Change ALPHA and GAIN and see what happens."""

import numpy as np

import armwright as aw
from armwright.kinematics import joint_rates
from armwright.motion import track_path

ALPHA = 2.0  # weight of the way to the middle of the ranges; 0 leaves joint 5 outside its limits
GAIN = 100.0  # 1/s, on the error of the tool; 0 leaves what the integrator leaves
STEP, SPEED = 1e-3, 1.0

robot = aw.load("cea")
middle, width = (robot.upper + robot.lower) / 2, robot.upper - robot.lower  # 003's Eq. 9 has half the width as middle
q_i = np.array([-0.5, 0, -0.5, -0.5, -0.5, -0.5]) * np.pi
start, end = np.array([-0.1, -0.7, 0.3]), np.array([0.64, -0.10, 1.14])
velocity = SPEED * (end - start) / np.linalg.norm(end - start)
line = start + STEP * np.arange(int(np.linalg.norm(end - start) / (SPEED * STEP)) + 1)[:, None] * velocity


def away_from_the_middle(q):
    """H of 003's Eq. 9: what the joints to spare make small."""
    return (((q - middle) / width) ** 2).sum()


def report(what, q):
    """Say how far off the line and beyond the limits a joint path is, and return both."""
    off = np.linalg.norm(line - aw.fk(robot, q)[:, :3, 3], axis=1).max()
    beyond = max(0.0, np.maximum(robot.lower - q, q - robot.upper).max())
    print(f"{what}: at most {1e3 * off:.4f} mm off the line, {1e3 * beyond:.1f} mrad beyond the limits")
    return off, beyond


# Q9 and Q10: the line alone; one joint leaves its range
alone = track_path(robot, line, STEP, q_i, gain=GAIN, integrator="euler")
report("line alone", alone.q)

# Q11: with the joints to spare
spare = {"prefer": away_from_the_middle, "weight": ALPHA}
kept = track_path(robot, line, STEP, q_i, gain=GAIN, integrator="euler", **spare)
off, beyond = report(f"alpha = {ALPHA:g}, feedback, Euler", kept.q)
open_loop = track_path(robot, line, STEP, q_i, gain=0.0, integrator="heun", **spare)
still, _ = report(f"alpha = {ALPHA:g}, no feedback, trapezes", open_loop.q)

# what 003's Code 7 does: J and the slope of H along the path of Q9, and the velocities integrated to another path
rates = joint_rates(robot, alone.q, line, velocity, gain=0.0, **spare)
elsewhere = q_i + np.concatenate([np.zeros((1, 6)), np.cumsum(0.5 * STEP * (rates[1:] + rates[:-1]), axis=0)])
lost, _ = report(f"alpha = {ALPHA:g}, no feedback, J of another path", elsewhere)

assert off < 1e-4
assert beyond < 1e-12
assert still < 1e-5 < 0.1 < lost  # the place of J matters, not the feedback
