# SPDX-License-Identifier: Apache-2.0
"""A free arm falls and keeps its energy: Runge–Kutta around compiled forward dynamics, drawn if matplotlib is there."""

import tempfile
from pathlib import Path

import numpy as np

import armwright as aw

robot = aw.load("ur5")
step, steps, none = 1e-3, 3000, np.zeros(6)


def rate(q, qd):
    return aw.forward_dynamics(robot, q, qd, none, friction=False)


q, qd = np.array([0.0, -0.3, 0.5, -1.7, -1.5, 0.0]), np.zeros(6)
path, speeds = [q], [qd]
for _ in range(steps):
    a1 = rate(q, qd)
    v2 = qd + step / 2 * a1
    a2 = rate(q + step / 2 * qd, v2)
    v3 = qd + step / 2 * a2
    a3 = rate(q + step / 2 * v2, v3)
    v4 = qd + step * a3
    a4 = rate(q + step * v3, v4)
    q = q + step / 6 * (qd + 2 * v2 + 2 * v3 + v4)
    qd = qd + step / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    path.append(q)
    speeds.append(qd)

energy = aw.energy(robot, np.array(path), np.array(speeds))
drift = np.abs(energy.total - energy.total[0]).max() / energy.kinetic.max()
print(f"in {steps * step:g} s the energy changed by {drift:.1e} of its kinetic peak, {energy.kinetic.max():.1f} J")
assert drift < 1e-6

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    print("no picture: matplotlib is not installed")
else:
    time = step * np.arange(steps + 1)
    for label in ("kinetic", "potential", "total"):
        plt.plot(time, getattr(energy, label), label=label)
    plt.xlabel("time [s]")
    plt.ylabel("energy [J]")
    plt.legend()
    picture = Path(tempfile.gettempdir()) / "armwright_free_fall.png"
    plt.savefig(picture)
    print("picture:", picture)
