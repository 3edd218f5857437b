# SPDX-License-Identifier: Apache-2.0
"""ROB315, Q14 and Q16: bounds of inertia and gravity. Sampling guesses them, interval arithmetic proves them."""

import numpy as np

import armwright as aw

robot = aw.load("cea")
lower, upper = robot.lower.copy(), robot.upper.copy()  # change them: a smaller workspace has better bounds

inertia = aw.dynamics.mass_matrix_bounds(robot, lower, upper)  # of the eigenvalues of M(q) [kg m²]
gravity = aw.dynamics.gravity_bound(robot, lower, upper)  # of ‖g(q)‖₁ [N m]

q = np.random.default_rng(0).uniform(lower, upper, (20_000, robot.n))
eigenvalues = np.linalg.eigvalsh(aw.mass_matrix(robot, q))
torque = np.abs(aw.gravity_torque(robot, q)).sum(axis=1)
print(f"20,000 samples reach {eigenvalues[:, 0].min():.6f}; {inertia.smallest}")
print(f"20,000 samples reach {eigenvalues[:, -1].max():.6f}; {inertia.largest}")
print(f"20,000 samples reach {torque.max():.6f}; {gravity}")
assert inertia.smallest.proved <= eigenvalues.min()
assert eigenvalues.max() <= inertia.largest.proved
assert torque.max() <= gravity.proved
