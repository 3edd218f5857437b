# SPDX-License-Identifier: Apache-2.0
"""Benchmark of the lab's arm: one tick of 2 ms as its clock calls it, with servo, observer, detector and publishing."""

from __future__ import annotations

import numpy as np

from armwright.bench.prepare_arms import arm
from armwright.bench.protocol import case
from armwright.lab.lab_plant import LabPlant
from armwright.lab.stand import HOME
from armwright.world import load_world

SETTLED_TICKS = 500  # ticks
SERVO_ERROR = 1e-4  # [rad] that the servo promises


def register() -> None:
    """Register all cases of the lab."""
    zero = np.zeros(6)
    for name, world in (("loop/lab_tick", None), ("loop/lab_tick_bench", load_world("bench"))):
        plant = LabPlant(arm("ur5"), q0=HOME, world=world)

        def tick(plant: LabPlant = plant) -> None:
            plant.step(HOME, zero, zero)

        for _ in range(SETTLED_TICKS):
            tick()
        got = np.array(plant.live.q)
        case(name, tick, HOME, got=got, tolerance=SERVO_ERROR, note="one tick of 2 ms")
    q = np.array(plant.live.q)
    case("loop/lab_published", plant.look, plant.pose_of(q), got=plant.look().pose, note="one publication")
