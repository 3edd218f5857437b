# SPDX-License-Identifier: Apache-2.0
"""What a virtual Net F/T presents itself as: product, ranges, steps of its readings, counts per unit.

004 used an ATI Gamma with a Net F/T interface (section 4.2). It gives size, mass and the 7000 Hz of the interface, and
neither range nor resolution nor which of the Gamma's calibrations was loaded. Those here are the manufacturer's for the
three SI calibrations of a Gamma; a Net F/T box reports a million counts per newton and newton metre for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.lab.wire import netft

if TYPE_CHECKING:
    from armwright.types import Array

AXIA_NOISE = 0.05  # [N, N m] per sample


@dataclass(frozen=True)
class ForceSensor:
    """A force/torque sensor as its page and its records show it.

    Attributes:
        product: name on the page. calibration: its name, empty for none.
        ranges: (6,) ± of fx, fy, fz [N], tx, ty, tz [N m]; a reading beyond stays at its range and says so in its
            status; empty: no limit.
        steps: (6,) of a reading [N, N m]; empty: those of the counts.
        noise: (6,) deviation of a sample [N, N m]. Of a Gamma it is one step, which is ours: 004 gives none.
        counts: per newton and per newton metre.
    """

    product: str
    calibration: str = ""
    ranges: tuple[float, ...] = ()
    steps: tuple[float, ...] = ()
    noise: tuple[float, ...] = (AXIA_NOISE,) * 6
    counts: tuple[int, int] = (netft.COUNTS_PER_FORCE, netft.COUNTS_PER_TORQUE)

    def shown(self, wrench: Array) -> tuple[Array, int]:
        """Return what the sensor shows of a wrench (6,) on its gauges, and the status of the record."""
        status = 0
        if self.ranges:
            inside = np.clip(wrench, -np.array(self.ranges), self.ranges)
            status = netft.SATURATED if (inside != wrench).any() else 0
            wrench = inside
        if self.steps:
            wrench = np.round(wrench / self.steps) * self.steps
        return np.asarray(wrench), status


def _gamma(calibration: str, ranges: tuple[float, float, float], steps: tuple[float, float, float]) -> ForceSensor:
    """Return a Gamma; ranges and steps of fx and fy, fz [N], and all moments [N m]."""
    (fxy, fz, t), (step_xy, step_z, step_t) = ranges, steps
    each = (step_xy, step_xy, step_z, step_t, step_t, step_t)
    return ForceSensor("Net F/T Gamma", calibration, (fxy, fxy, fz, t, t, t), each, each)


AXIA = ForceSensor("Ethernet Axia")
GAMMA_32 = _gamma("SI-32-2.5", (32.0, 100.0, 2.5), (1 / 160, 1 / 80, 1 / 2000))
GAMMA_65 = _gamma("SI-65-5", (65.0, 200.0, 5.0), (1 / 80, 1 / 40, 10 / 13333))
GAMMA_130 = _gamma("SI-130-10", (130.0, 400.0, 10.0), (1 / 40, 1 / 20, 1 / 800))
