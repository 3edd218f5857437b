# SPDX-License-Identifier: Apache-2.0
"""Lead an arm by the hand, let it press with a force: a UR5 feels through its motors and yields, or pushes back."""

import numpy as np

import armwright as aw
from armwright.contact.observers import momentum_observer
from armwright.control import admittance, inertia_gains
from armwright.simulation import with_storage, with_wrench

robot = aw.load("ur5").with_rotors(0.1)
start = np.array([0.0, -1.4, 1.8, -0.4, 1.57, 0.0])
kp, kd = inertia_gains(robot, start, 30.0)
HEAVY = [200.0] * 3 + [20.0] * 3  # N s/m, N m s/rad: 20 N lead the tool at 0.1 m/s


def hand(t):
    """Push along x for a second, then let go."""
    return np.array([20.0, 0.0, 0.0, 0.0, 0.0, 0.0]) * np.where(t < 1.0, 1.0, 0.0)


for feel, watch in (("error", []), ("observer", [momentum_observer(100.0)])):
    law = admittance(kp, kd, HEAVY, dead_zone=0.3, feel=feel)
    run = aw.simulate(robot, law, None, 2.0, q0=start, wrench=hand, monitors=watch)
    x = aw.fk(robot, run["q"])[:, 0, 3] - aw.fk(robot, start)[0, 3]
    print(f"felt by {feel}: {1e3 * x[1000]:.0f} mm while pushed, {1e3 * (x[-1] - x[1000]):+.1f} mm after it was let go")
    assert 0.05 < x[1000] < 0.12
    assert abs(x[-1] - x[1000]) < 0.01

# The energy in the law never exceeds what the hand has put in.
law = admittance(kp, kd, HEAVY)
run = with_wrench(aw.simulate(robot, law, None, 2.0, q0=start, wrench=hand), hand)
run = with_storage(run, law)
speed = np.einsum("tij,tj->ti", aw.jacobian(robot, run["q"]), run["qd"])
work = np.concatenate([[0.0], np.cumsum(np.sum(run["wrench"] * speed, axis=1))]) * 1e-3
print(f"the hand's work {work[-1]:.2f} J; the law held {run['storage'].max():.2f} J at most")
assert run["storage"].max() < work.max()

# Press sideways with 15 N against a wall that nobody described.
side = aw.fk(robot, start)[1, 3] - 0.03


def wall(arm, q):
    """A spring of 20 N/mm, 30 mm beside the tool."""
    return np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0]) * (2e4 * np.maximum(side - aw.fk(arm, q)[1, 3], 0.0))


law = admittance(kp, kd, [400.0] * 3 + [40.0] * 3, press=[0.0, -15.0, 0.0, 0.0, 0.0, 0.0], feel="observer")
run = aw.simulate(robot, law, None, 4.0, q0=start, wrench=wall, monitors=[momentum_observer(100.0)])
force = with_wrench(run, wall)["wrench"][:, 1]
print(
    f"touched after {run.time[np.argmax(force > 0.0)]:.2f} s, {force.max():.1f} N at most, {force[-1]:.2f} N in the end"
)
assert abs(force[-1] - 15.0) < 0.1
