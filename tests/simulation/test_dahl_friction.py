# SPDX-License-Identifier: Apache-2.0
"""Gear friction with memory in the loop: it reverses within its way, and identification finds it again."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.control import pd_gravity
from armwright.errors import InputError
from armwright.motion import quintic
from armwright.simulation import Dahl


def test_the_torque_follows_the_way_and_saturates_at_the_coulomb_level():
    model = Dahl(viscous=2.0, coulomb=5.0, degressive=-0.5, offset=0.3, dahl=1e-3)
    h, speed, dt = np.zeros(1), np.array([0.2]), 1e-5
    for _ in range(2000):  # 4 mrad
        torque, rate = model.torque(speed, {"hysteresis": h})
        h = h + dt * rate["hysteresis"]
    assert h[0] == pytest.approx(1.0 - np.exp(-4.0), abs=1e-3)
    assert torque[0] == pytest.approx(2.0 * 0.2 - 0.5 * 0.04 + 0.3 + 5.0 * h[0], abs=2e-3)
    at_rest, _ = model.torque(0.0 * speed, {"hysteresis": h})
    assert at_rest[0] == pytest.approx(0.3 + 5.0 * h[0])  # it remembers


def test_an_arm_with_it_loses_the_work_of_friction():
    arm = aw.load("planar2")
    path = quintic([0.0, 0.0], [0.8, -0.5], 1.0)
    law = pd_gravity([400.0, 400.0], [40.0, 40.0])
    runs = {
        size: aw.simulate(arm, law, path, 1.0, friction=Dahl(0.0, size, dahl=0.02), integrator="rodas3")
        for size in (0.0, 2.0)
    }
    work = {size: np.trapezoid(np.sum(run["tau"] * run["qd"], axis=1), run.time) for size, run in runs.items()}
    way = np.abs(np.diff(runs[2.0]["q"], axis=0)).sum()
    assert work[2.0] - work[0.0] == pytest.approx(2.0 * way, rel=0.1)


def test_nonsense_is_refused():
    with pytest.raises(InputError, match="dahl"):
        Dahl(1.0, 1.0, dahl=0.0)
    with pytest.raises(InputError, match="offset"):
        Dahl(1.0, 1.0, offset=np.nan)
