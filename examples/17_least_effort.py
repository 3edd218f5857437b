# SPDX-License-Identifier: Apache-2.0
"""The motion of least effort within limits, and its policy: what a quintic costs, what the optimum costs."""

import numpy as np

import armwright as aw
from armwright.control import computed_torque, optimal_feedback
from armwright.motion import optimal_motion, quintic

robot = aw.load("ur5").with_rotors(0.1)
a, b = np.array([0.0, -1.6, 1.4, 0.0, 0.5, 0.0]), np.array([0.8, -1.0, 1.0, -0.9, 1.0, 0.4])
loop = aw.Loop.of(robot, rate=50.0)  # one tick is a node: 20 ms


def effort(tau):
    """Mean square torque over all joints [N² m²]."""
    return float(np.mean(np.sum(np.square(tau), axis=1)))


usual = aw.simulate(robot, computed_torque(400.0, 40.0), quintic(a, b, 0.6))
for limits in ({}, {"torque_limit": [60, 60, 30, 5, 5, 5], "speed_limit": 2.0}):
    motion = optimal_motion(loop, a, b, 0.6, **limits)
    speed, torque = np.abs(motion.x[:, 6:]).max(), np.abs(motion.u).max(axis=0).round(1)
    print(f"{motion.iterations} iterations: effort {effort(motion.u):.0f}, the quintic {effort(usual['tau']):.0f}")
    print(f"  fastest joint {speed:.2f} rad/s, torques {torque}, {motion.excess:.0e} beyond the limits")
    assert effort(motion.u) < effort(usual["tau"])

# The policy brings an arm that starts 3° off to the goal; the torques alone do not.
run = aw.simulate(robot, optimal_feedback(motion), motion.trajectory, q0=a + 0.05)
print(f"policy at 1 kHz: {np.rad2deg(np.abs(run['q'][-1] - b).max()):.2f}° off at the end, begun 2.86° off")
assert np.abs(run["q"][-1] - b).max() < 0.01

# Derivatives of the step itself, for optimisers of your own.
x_next, A, B = loop.derivative("x", "u")(motion.x[0], motion.u[0])
print("A", A.shape, "B", B.shape)
