# SPDX-License-Identifier: Apache-2.0
"""One file an integrator. Each advances x by one step h of ẋ = f(t, x), traced into the loop.

A `Method` takes the system (`armwright.simulation.system.System`), the time since the tick began, the state and the
step, and returns
the next state — with an error estimate if it can adapt its step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from armwright.errors import InputError
from armwright.simulation.integrators.dormand_prince import dormand_prince
from armwright.simulation.integrators.rk4 import rk4
from armwright.simulation.integrators.rodas3 import rodas3
from armwright.simulation.integrators.semi_implicit import semi_implicit_euler

if TYPE_CHECKING:
    from armwright.simulation.system import System

Step = Callable[["System", Any, Any, Any], tuple[Any, Any]]


@dataclass(frozen=True)
class Method:
    """An integrator: its step, order, and whether it is adaptive or stiffly stable.

    `growth(z)` is |R(z)|, the factor by which one step multiplies a mode ẋ = λx with z = hλ.
    """

    name: str
    step: Step
    order: int
    adaptive: bool
    stiff: bool
    growth: Callable[[complex], float]


def _explicit(order: int) -> Callable[[complex], float]:
    def growth(z: complex) -> float:
        term, total = 1.0 + 0.0j, 1.0 + 0.0j
        for k in range(1, order + 1):
            term *= z / k
            total += term
        return abs(total)

    return growth


def _semi_implicit(z: complex) -> float:
    """Real modes as explicit Euler; an oscillating pair as v⁺ = v − b x − a v, x⁺ = x + v⁺."""
    if z.imag == 0.0:
        return abs(1.0 + z)
    a, b = -2.0 * z.real, abs(z) ** 2
    half, product = 1.0 - 0.5 * (a + b), 1.0 - a
    root = (half * half - product + 0j) ** 0.5
    return float(max(abs(half + root), abs(half - root)))


METHODS = {
    "semi-implicit": Method("semi-implicit", semi_implicit_euler, 1, False, False, _semi_implicit),
    "rk4": Method("rk4", rk4, 4, False, False, _explicit(4)),
    "dopri5": Method("dopri5", dormand_prince, 5, True, False, lambda z: 0.0),
    "rodas3": Method("rodas3", rodas3, 3, False, True, lambda z: 0.0),
    "rodas3-adaptive": Method("rodas3-adaptive", rodas3, 3, True, True, lambda z: 0.0),
}


def method(name: str) -> Method:
    """Return the integrator of this name."""
    if name not in METHODS:
        raise InputError(f"integrator {name!r} is unknown; valid are {', '.join(METHODS)}")
    return METHODS[name]
