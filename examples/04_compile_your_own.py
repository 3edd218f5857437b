# SPDX-License-Identifier: Apache-2.0
"""The one idea: write NumPy for one configuration; get batches, derivatives, counts and source code from it."""

import numpy as np

import armwright as aw

robot = aw.load("ur5")


def computed_torque(arm, q, qd, q_ref, qd_ref, qdd_ref, *, stiffness=100.0, damping=20.0):
    """Inverse dynamics of the wanted acceleration plus error feedback."""
    wanted = qdd_ref + damping * (qd_ref - qd) + stiffness * (q_ref - q)
    return aw.inverse_dynamics(arm, q, qd, wanted)


law = aw.compile(computed_torque, robot, shapes={"q_ref": 6, "qd_ref": 6, "qdd_ref": 6})
print(law)

q, qd, q_ref, qd_ref, qdd_ref = np.random.default_rng(0).uniform(-1.0, 1.0, (5, 6))
tau = law(q, qd, q_ref, qd_ref, qdd_ref)
print("compiled:", tau.round(3))
print("called:  ", computed_torque(robot, q, qd, q_ref, qd_ref, qdd_ref).round(3))  # the same source, on numbers

# The same kernel on a batch; what is not batched broadcasts.
batch = np.random.default_rng(1).uniform(-1.0, 1.0, (10_000, 6))
print("batch:", law(batch, qd, q_ref, qd_ref, qdd_ref).shape)

# Exact derivatives, not differences.
gain = law.derivative("q")(q, qd, q_ref, qd_ref, qdd_ref)
h = 1e-6 * np.eye(6)[2]
difference = (law(q + h, qd, q_ref, qd_ref, qdd_ref) - law(q - h, qd, q_ref, qd_ref, qdd_ref)) / 2e-6
print(f"d tau / d q3 differs from a difference quotient by {np.abs(gain[:, 2] - difference).max():.0e}")

# And the code, for a controller that has no Python.
print(law.counts)
print("\n".join(law.source("c").splitlines()[:12]))
