# SPDX-License-Identifier: Apache-2.0
"""A hundred arms at once: what does an unknown load do to a controller that trusts its model?"""

import time

import numpy as np

import armwright as aw
from armwright.control import computed_torque, pd_gravity
from armwright.motion import quintic

robot = aw.load("ur5")
rng = np.random.default_rng(0)
loads = rng.uniform(0.0, 1.0, 100)
# Robots that differ in numbers only share one compiled loop; the numbers that differ become its inputs.
arms = [robot.with_payload(mass, com=(0.0, 0.0, 0.05)) for mass in loads]
path = quintic([0.0, -1.6, 1.4, -0.6, 0.5, 0.0], [0.8, -1.1, 0.9, -0.9, 0.9, 0.4], 1.5)
laws = {
    "computed torque": computed_torque(900.0, 60.0),
    "PD + gravity": pd_gravity([2000, 2000, 1000, 50, 50, 5], [150, 150, 70, 2, 2, 0.1]),
}
for name, law in laws.items():
    runs = aw.simulate(arms, law, path, 2.0, model=robot, every=10)
    start = time.perf_counter()
    runs = aw.simulate(arms, law, path, 2.0, model=robot, every=10)
    took = time.perf_counter() - start
    worst = np.abs(runs["error"]).max(axis=(1, 2))
    slope = np.polyfit(loads, worst, 1)[0]
    print(
        f"{name:16} {len(runs)} simulations of 2 s in {1e3 * took:.0f} ms: largest error {1e3 * worst.min():.1f} to "
        f"{1e3 * worst.max():.1f} mrad, {1e3 * slope:.1f} mrad a kilogram"
    )

heaviest = runs[int(np.argmax(loads))]
print(f"run with {loads.max():.2f} kg:", heaviest)
