# SPDX-License-Identifier: Apache-2.0
"""Your own control law: ten lines of NumPy, traced into the compiled loop together with the arm."""

import warnings

import numpy as np

import armwright as aw
from armwright.control import as_law
from armwright.motion import quintic

robot = aw.load("ur5")
path = quintic([0.0, -1.6, 1.4, -0.6, 0.5, 0.0], [0.8, -1.1, 0.9, -0.9, 0.9, 0.4], 1.5)


def soft_pd(arm, q, qd, ref, integral, dt, kp, kd, ki, most):
    """PD with gravity, an integral that remembers, and a torque that never exceeds `most`."""
    error = ref.q - q
    integral = integral + ki * error * dt
    tau = kp * error + kd * (ref.qd - qd) + integral + aw.gravity_torque(arm, q)
    return np.clip(tau, -most, most), {"integral": integral}


law = as_law(
    soft_pd,
    memory={"integral": 0.0},
    kp=[800, 800, 400, 20, 20, 2],
    kd=[60, 60, 30, 1, 1, 0.05],
    ki=[400, 400, 200, 10, 10, 1],
    most=[150, 150, 150, 28, 28, 28],
)
loaded = robot.with_payload(2.0)  # the arm carries 2 kg that the law does not know
run = aw.simulate(loaded, law, path, 4.0, model=robot)
print(
    "your law:         largest error",
    np.abs(run["error"]).max().round(4),
    "rad, at the end",
    np.abs(run["error"][-1]).max().round(5),
)
print("the integral holds what the model does not know:", run["memory_integral"][-1].round(2), "N m")

other = aw.simulate(loaded, as_law(law, ki=0.0), path, 4.0, model=robot)
print(
    "without integral: largest error",
    np.abs(other["error"]).max().round(4),
    "rad, at the end",
    np.abs(other["error"][-1]).max().round(5),
)

# What cannot be traced still runs: it is called once per tick, and you are told.
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    aw.simulate(robot, lambda q, qd, ref: 20.0 * (ref.q - q) if q[0] < 1.0 else 0.0 * q, path, 0.01)
print("told:", str(told[0].message)[:60], "…")
