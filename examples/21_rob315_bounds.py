# SPDX-License-Identifier: Apache-2.0
"""ROB315, Q14 and Q16: bounds of inertia and gravity. Sampling guesses them, interval arithmetic proves them."""

import numpy as np

import armwright as aw
from armwright.dynamics.bounds import certified_bounds

robot = aw.load("cea")
lower, upper = robot.lower.copy(), robot.upper.copy()  # change them: a smaller workspace has better bounds

q = np.random.default_rng(0).uniform(lower, upper, (20_000, robot.n))
eigenvalues = np.linalg.eigvalsh(aw.mass_matrix(robot, q))
sampled = {
    "smallest inertia": eigenvalues[:, 0].min(),
    "largest inertia": eigenvalues[:, -1].max(),
    "gravity": np.abs(aw.gravity_torque(robot, q)).sum(axis=1).max(),
}
for what, guess in sampled.items():
    found = certified_bounds(robot, lower, upper, what, tolerance=1e-4)
    print(f"{what}: 20,000 samples reach {guess:.6f}; {found}")
    assert found.proved <= guess if what == "smallest inertia" else found.proved >= guess
