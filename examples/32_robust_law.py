# SPDX-License-Identifier: Apache-2.0
"""A controller for an arm it does not know: sliding mode against computed torque, with masses off and a payload.

Change the payload, ρ or the layer ε: a thinner layer follows better until it chatters.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import armwright as aw
from armwright.control import computed_torque, frequency_gains, sliding_mode
from armwright.motion import quintic

known = aw.load("irb140")
bodies = tuple(replace(body, mass=1.2 * body.mass, inertia=1.2 * body.inertia) for body in known.bodies)
real = replace(known, bodies=bodies).with_payload(4.0, com=(0.0, 0.0, 0.05))

path = quintic(np.zeros(6), [1.2, 0.6, -0.8, 1.0, 0.8, -1.5], 1.2)
laws = {
    "computed torque": computed_torque(*frequency_gains(10.0)),
    "sliding mode": sliding_mode(
        k=[40, 60, 30, 2, 0.6, 0.05], lam=10.0, rho=[45, 145, 85, 6, 10, 0.1], epsilon=[0.3, 0.3, 0.3, 0.3, 0.6, 0.6]
    ),
}
for name, law in laws.items():
    run = aw.simulate(real, law, path, 2.0, model=known, rate=4000.0)
    error = 1e3 * np.abs(run["error"])
    print(
        f"{name:16} worst error {error.max():7.1f} mrad, at the end {error[-1].max():6.1f} mrad, "
        f"peak torque {np.abs(run['tau']).max():4.0f} N m"
    )
