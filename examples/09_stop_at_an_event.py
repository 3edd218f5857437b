# SPDX-License-Identifier: Apache-2.0
"""Stop at the instant something happens, change the plan, go on: a UR5 turns back where its tool sinks to 0.2 m."""

import numpy as np

import armwright as aw
from armwright.control import computed_torque
from armwright.motion import quintic

robot = aw.load("ur5")
high, low = np.array([0.0, -1.6, 1.4, -0.6, 0.5, 0.0]), np.array([0.6, -0.2, 1.2, -0.9, 0.9, 0.4])


def too_low(arm, q):
    """Rises through zero when the tool sinks through 0.2 m. Traced, so the loop stays compiled."""
    return 0.2 - aw.fk(arm, q)[2, 3]


loop = aw.Loop.of(robot, computed_torque(400.0, 40.0), events={"too low": too_low})
session = loop.session(reference=quintic(high, low, 1.5))
reason = session.run(3.0)
q, qd = session.state[0, :6], session.state[0, 6:]
height = aw.fk(robot, q)[2, 3]
print(f"stopped at t = {session.time:.6f} s because of {reason!r}: the tool is at {height:.9f} m, between two ticks")
assert reason == "too low"
assert abs(height - 0.2) < 1e-6

# Take over the velocity that the arm has, and bring it back up.
session.follow(quintic(q, high, 0.7, qd0=qd))
print("went on until:", session.run(2.0))

run = session.recording()
heights = aw.fk(robot, run["q"])[:, 2, 3]
print(f"lowest point {heights.min():.4f} m, then back at {heights[-1]:.4f} m (start {heights[0]:.4f} m)")
print("events:", *(f"{event.name} at {event.time:.4f} s" for event in run.events))
