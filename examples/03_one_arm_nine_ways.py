# SPDX-License-Identifier: Apache-2.0
"""One arm, nine formulations: each written as its document has it, compiled, compared."""

import numpy as np

import armwright as aw

robot = aw.load("irb140")
q, qd, qdd = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 6))

reference = aw.inverse_dynamics(robot, q, qd, qdd)
print("tau =", reference.round(3))
for name, method in aw.METHODS.items():
    if method.inverse is not None:
        tau = aw.inverse_dynamics(robot, q, qd, qdd, method=name)
        print(f"  {name:14} differs by {np.abs(tau - reference).max():.1e} N m   ({method.document})")

# Inverse and forward dynamics undo each other, whichever formulations they use.
for name, method in aw.METHODS.items():
    if method.forward is not None:
        back = aw.forward_dynamics(robot, q, qd, reference, method=name)
        print(f"  {name:14} gives back q̈ to {np.abs(back - qdd).max():.1e}")

# What a formulation costs is counted on the code that runs.
for row in aw.dynamics.compare(robot, states=10, naive=False, batch=0):
    if row.forward is not None:
        print(f"  {row.method:14} {row.forward.compiled.mul:5} mul {row.forward.compiled.add:5} add")
