# SPDX-License-Identifier: Apache-2.0
"""What the motion of an arm says about where it was touched.

At an impact, the patch that was touched moved towards what it met: patches meet new things as often as they sweep new
space, which is as fast as they move along their outward normal, m·v. While a patch slides along a surface its velocity
lies in that surface, m·v = 0, and this rule would exclude the very patch: sliding has no such evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from armwright.contact.isolation.posterior import Beside
    from armwright.types import Array

STILL = 1e-3
"""Pace [m/s] that a patch counts with at least: velocities are measured, and surfaces are not quite capsules."""


def moved_towards(qd: Array) -> Beside:
    """Evidence of an impact for `isolate`: patches count with the pace at which they moved outwards.

    Args:
        qd: joint velocities (n,) before the contact; at rest, all patches count alike.
    """

    def beside(points: Array, normals: Array, jacobian: Array) -> Array:
        return np.asarray(np.log(np.maximum(np.einsum("mi,mij,j->m", normals, jacobian, qd), STILL)))

    return beside
