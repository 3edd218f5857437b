# SPDX-License-Identifier: Apache-2.0
"""From motor currents to contacts: identify an arm from one log, then find who touched it in another."""

import numpy as np

import armwright as aw
from armwright.identify import Known, Log, feel, fit, force_observability, learn_bands, predict_currents, with_bands

# --- logs: of a simulated UR5 here; yours come from read_log("run.csv")
arm, gains = aw.load("ur5-kufieta-c"), np.full(6, 11.0)
w = 2 * np.pi * 0.1 * np.arange(1, 6)


def recorded(seed, wrench=None):
    """Twenty seconds of motion about a posture away from singularities, with friction and noisy currents."""
    rng = np.random.default_rng(seed)
    a, t = 0.25 * rng.normal(size=(5, 6)), np.arange(2000)[:, None] / 100.0
    q = [0.3, -1.6, 1.7, -1.6, 1.5, 0.1] + np.sin(t * w) @ a
    qd, qdd = (w * np.cos(t * w)) @ a, -(w**2 * np.sin(t * w)) @ a
    tau = aw.inverse_dynamics(arm, q, qd, qdd, wrench, friction=False) + 5.0 * np.tanh(qd / 0.01) + 8.0 * qd
    return Log(t[:, 0], q, qd, tau / gains + 0.02 * rng.normal(size=q.shape), name=f"log {seed}")


free, pushes = recorded(0), np.zeros((2000, 6))
pushes[500:600, 0] = pushes[1200:1300, 2] = 40.0  # a second along x, later one along z

# --- from log to alarms
model = fit(free, arm, gains=Known(gains))
model = with_bands(model, learn_bands(model, free))
felt = feel(model, recorded(1, pushes))
for contact in felt.contacts:
    print(f"{contact.start:5.2f} to {contact.end:5.2f} s: {contact.link}, most on {contact.joint}")

print("error of the predicted currents [%]:", np.round(100 * predict_currents(model, recorded(2)).error, 1))
print("undetermined by this log:", ", ".join(model.undetermined) or "nothing")

# --- how small a contact could be: standing, and moving at 0.2 rad/s or more
study = force_observability(model, [recorded(seed) for seed in (3, 4)])
still, moving = study.force[0], study.force[5]
print(f"smallest force at the tool, standing: {still.best:.0f} to {still.worst:.0f} N, by its direction")
print(f"moving: {moving.best:.1f} to {moving.worst:.1f} N")
