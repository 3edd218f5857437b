# SPDX-License-Identifier: Apache-2.0
"""The classical Runge–Kutta method of order four, in pieces: a step of its own, or stages around one derivative.

A compiled loop calls the derivative four times (step_stages.py): a quarter of the code of one long step, so less to
trace, to compile and to fetch. With many contacts the derivative is large, and one long step would take half a minute
to compile. Both forms give the same numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armwright.simulation.system import System
    from armwright.types import Traced

POINTS = ((1.0, 0.5), (2.0, 0.5), (2.0, 1.0))
"""For each of the first three slopes: its weight in the sum, and how far along it the next point lies (times h)."""


def onward(
    t: Traced, x: Traced, h: Traced, total: Traced, slope: Traced, point: tuple[float, float]
) -> tuple[Traced, Traced, Traced]:
    """Return the sum of slopes, and the time and state at which the next slope is taken."""
    weight, reach = point
    return total + weight * slope, t + reach * h, x + (reach * h) * slope


def finished(x: Traced, h: Traced, total: Traced, slope: Traced) -> Traced:
    """Return the state at the end of the step; the last slope has weight one."""
    return x + (h / 6.0) * (total + slope)


def rk4(system: System, t: Traced, x: Traced, h: Traced) -> tuple[Traced, Traced]:
    """Return x + h/6 (k1 + 2 k2 + 2 k3 + k4)."""
    total, time, at = 0.0 * x, t, x
    for point in POINTS:
        total, time, at = onward(t, x, h, total, system.derivative(time, at), point)
    return finished(x, h, total, system.derivative(time, at)), None
