# SPDX-License-Identifier: Apache-2.0
"""The step that an adaptive integrator takes next, from the error of the one it has tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from armwright.simulation.integrators import Method
    from armwright.types import Traced

RELATIVE, ABSOLUTE = 1e-7, 1e-9  # tolerances
LARGEST, SMALLEST = 5.0, 0.2  # bounds of the step's change


def accept(
    method: Method, x: Traced, new: Traced, error: Traced, h: Traced, asked: Traced, left: Traced
) -> tuple[Traced, Traced, Traced]:
    """Keep the step if its error is within tolerance; choose the next one (standard controller, order p)."""
    ratio: Any = 0.0
    total: Any = 0.0  # not finite if any error is; a maximum would pass over NaN
    for k in range(len(x)):
        total = total + np.abs(error[k])
        scale = ABSOLUTE + RELATIVE * np.maximum(np.abs(x[k]), np.abs(new[k]))
        ratio = np.maximum(ratio, np.abs(error[k]) / scale)
    finite = total < np.inf
    good = (ratio <= 1.0) & finite & (left > 0.0)
    factor = 0.9 * np.exp(np.log(ratio + 1e-10) * (-1.0 / method.order))
    factor = np.where(finite, np.minimum(np.maximum(factor, SMALLEST), LARGEST), SMALLEST)
    # a step cut short by the end of the tick says nothing against the longer one
    following = np.where(good & (h < asked), np.maximum(h * factor, asked), h * factor)
    following = np.where(left > 0.0, following, asked)  # this lane waits for the others
    near_end = left - h < 1e-12
    moved = np.where(good, np.where(near_end, left, h), 0.0)
    return np.array([np.where(good, b, a) for a, b in zip(x, new, strict=True)]), moved, np.array([following])
