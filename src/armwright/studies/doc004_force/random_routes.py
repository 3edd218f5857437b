# SPDX-License-Identifier: Apache-2.0
"""Sixty routes in place of one: the thesis prints no trajectory, so what it says of its own is tried on many.

A route is that of `setting.ROUTE` with its second and third waypoint drawn at random about the printed one. Routes that
come near a singular configuration are drawn again: the file of Figure 4.5 is called Singularity_Free.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from armwright.kinematics import jacobian
from armwright.statistics import share
from armwright.studies.doc004_force.setting import PRINTED_WAYPOINT, SampledMotion, model, sampled, trapezoids
from armwright.types import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ROUTES, SEED = 60, 4
REACH = 1.0
"""[rad] ours: drawn waypoints lie within this of the printed one, each joint."""
WORST_CONDITION = 30.0
"""Ours: of J (metres and radians), beyond which a route is drawn again; 15 on the route of `setting`."""
CONDITION_STRIDE = 25
"""Every 25th sample, 0.2 s apart, is looked at for singular configurations."""
THIS_MANY = f"{ROUTES} random routes"


@cache
def routes() -> SampledMotion:
    """The motions, q, qd, qdd (60, T, 6), drawn once."""
    rng = np.random.default_rng(SEED)
    found: list[SampledMotion] = []
    while len(found) < ROUTES:
        second, third = PRINTED_WAYPOINT + rng.uniform(-REACH, REACH, size=(2, 6))
        first = PRINTED_WAYPOINT
        motion = sampled(trapezoids((first, second, first, third, first, second, third, first)))
        if np.linalg.cond(jacobian(model("c"), motion.q[::CONDITION_STRIDE])).max() < WORST_CONDITION:
            found.append(motion)
    return SampledMotion(found[0].t, *(np.stack([getattr(m, name) for m in found]) for name in ("q", "qd", "qdd")))


def how_often(holds: ArrayLike) -> str:
    """Say on how many routes something holds (60,), with the exact limits of the share at 95 %."""
    hits, count = int(np.count_nonzero(holds)), np.size(holds)
    _, low, high = share(hits, count)
    return f"on {hits} of {count} random routes ({100 * hits / count:.0f} %; {100 * low:.0f}–{100 * high:.0f} %)"


def span(values: Array) -> str:
    """Write the smallest, the median and the largest value of the routes (60,)."""
    low, middle, high = np.quantile(values, [0.0, 0.5, 1.0])
    return f"{low:.3g}–{high:.3g}, median {middle:.3g}"
