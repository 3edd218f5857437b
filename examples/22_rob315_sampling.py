# SPDX-License-Identifier: Apache-2.0
"""ROB315, Q20: the report's gains, and how slowly a controller with these gains may be sampled."""

import numpy as np

import armwright as aw
from armwright.control import hold_limit, pd_gravity
from armwright.motion import quintic

robot = aw.load("cea")
kp = np.array([5000.0, 8000, 5500, 800, 5500, 2500])
kd = np.array([1000.0, 1000, 500, 100, 100, 500])
move = quintic([-1.0, 0, -1, -1, -1, -1], [0.0, 1, 0, 0, 0, 0], 0.5)

try:
    aw.simulate(robot, pd_gravity(kp, kd), move, rate=1000.0)
except aw.SimulationError as error:
    print(f"refused: {error}")

continuous = aw.simulate(robot, pd_gravity(kp, kd), move, continuous=True, integrator="rodas3")
print("continuous law: peak errors", np.round(1e3 * np.abs(continuous["error"]).max(axis=0), 1), "mrad")

kd[4:] = 60.0  # less damping of the wrist, whose inertia is small: now a millisecond will do
print(f"with less damping of the wrist the limit is {1e3 * hold_limit(robot, move.evaluate(0.5).q, kp, kd):.2f} ms")
held = aw.simulate(robot, pd_gravity(kp, kd), move, rate=1000.0)
print("held for 1 ms: peak errors", np.round(1e3 * np.abs(held["error"]).max(axis=0), 1), "mrad")
assert np.abs(held["error"]).max() < 0.05
