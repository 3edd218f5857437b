# SPDX-License-Identifier: Apache-2.0
"""Dormand–Prince 5(4): explicit, with the error estimate that lets the loop adapt its step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armwright.simulation.system import System
    from armwright.types import Traced

C = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
A = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
E = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)  # fifth minus fourth order


def dormand_prince(system: System, t: Traced, x: Traced, h: Traced) -> tuple[Traced, Traced]:
    """Return the fifth-order result and its difference to the embedded fourth-order one."""
    k: list[Any] = []
    for c, row in zip(C, A, strict=True):
        at = x
        for a, slope in zip(row, k, strict=True):
            if a:
                at = at + (h * a) * slope
        k.append(system.derivative(t + c * h, at))
    error = sum((e * slope for e, slope in zip(E, k, strict=True) if e), start=0.0)
    return at, h * error
