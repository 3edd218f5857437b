# SPDX-License-Identifier: Apache-2.0
"""What estimates do from day to day: the scatter of one day, widened as far as other days of an arm have asked for.

The scatter of whole seconds tells what another part of the same log would give. Another day has other temperatures,
grease and mounting. On logs of a UR10e, a week to a month apart, base parameters, Coulomb friction and load friction
needed 1.6 times their deviation, viscous friction 2.2 times; friction coefficients of an arm that nobody changed
differed by 8 % (viscous) and 2.5 % (Coulomb) whatever a log said. Three days of one arm: good to perhaps ±30 %.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.identify.friction_over_time import COULOMB_SCATTER, VISCOUS_SCATTER

if TYPE_CHECKING:
    from armwright.identify.identified import Estimate
    from armwright.types import Array

DAY_FACTORS = {"viscous": 2.2, "degressive": 2.2, "coulomb": 1.6, "load": 1.6, "offset": 1.1}
"""Deviation on other days over that within a day, by friction term."""
BASE_DAY_FACTOR = 1.6
"""The same of base parameters and payloads."""
DAY_FLOORS = {"viscous": VISCOUS_SCATTER, "coulomb": COULOMB_SCATTER}
"""Share of a coefficient below which its deviation on other days is not believed."""
GAIN_DOUBT = 0.02
"""Deviation, relative, of a weighed payload by gains that no known load has shown: 16 weighings of one load of 2.805 kg
with models of other days were off by 1.9 %, rms. Found on those weighings."""
DAY_SAID = (
    "± are for other days, too (one arm's days: base parameters and Coulomb friction 1.6 times the scatter within the "
    "logs, viscous 2.2 times; friction at least 8 % viscous and 2.5 % Coulomb); JSON has those within the day"
)


def over_days(e: Estimate, term: str = "") -> Estimate:
    """Return an estimate with the deviation that other days need; `term` of friction, empty for a base parameter."""
    if e.value is None or not e.deviation:
        return e
    wide = DAY_FACTORS.get(term, BASE_DAY_FACTOR) * e.deviation
    return replace(e, deviation=max(wide, DAY_FLOORS.get(term, 0.0) * abs(e.value)), within=e.deviation)


def payload_over_days(p: Array, spread: Array, *, gains_known: bool) -> Array:
    """Return the covariance (10, 10) of a payload's parameters p that other days need.

    A wrong gain makes the whole payload wrong by one factor; where a known load has shown the gains, it does not.
    """
    wide = BASE_DAY_FACTOR**2 * spread
    return np.asarray(wide if gains_known else wide + GAIN_DOUBT**2 * np.outer(p, p))
