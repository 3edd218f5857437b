# SPDX-License-Identifier: Apache-2.0
"""The classical Runge–Kutta method of order four."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armwright.simulation.system import System


def rk4(system: System, t: Any, x: Any, h: Any) -> tuple[Any, Any]:
    """Return x + h/6 (k1 + 2 k2 + 2 k3 + k4)."""
    f, half = system.derivative, 0.5 * h
    k1 = f(t, x)
    k2 = f(t + half, x + half * k1)
    k3 = f(t + half, x + half * k2)
    k4 = f(t + h, x + h * k3)
    return x + (h / 6.0) * (k1 + 2.0 * (k2 + k3) + k4), None
