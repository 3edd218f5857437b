# SPDX-License-Identifier: Apache-2.0
"""Units of a sheet and their conversion to SI. A number is converted exactly once, here.

Sheets keep numbers as their documents print them (millimetres, degrees, 1/min), so that a reader can hold sheet and
document side by side; everything else in Armwright is SI and radians.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from armwright.errors import DescriptionError

Dimension = Literal[
    "number",
    "length",
    "angle",
    "mass",
    "inertia",
    "torque",
    "force",
    "time",
    "speed",
    "angular speed",
    "acceleration",
    "angular acceleration",
    "current",
    "torque constant",
    "rotary damping",
    "linear damping",
]

_TURN = 2.0 * math.pi

# unit → (dimension, factor as numerator and denominator). Two numbers, because 425/1000 is correctly rounded and
# 425·0.001 is not: converted numbers equal the literals a reader would type in SI.
UNITS: dict[str, tuple[Dimension, float, float]] = {
    "-": ("number", 1.0, 1.0),
    "m": ("length", 1.0, 1.0),
    "mm": ("length", 1.0, 1000.0),
    "rad": ("angle", 1.0, 1.0),
    "deg": ("angle", math.pi, 180.0),
    "kg": ("mass", 1.0, 1.0),
    "g": ("mass", 1.0, 1000.0),
    "kg m^2": ("inertia", 1.0, 1.0),
    "g mm^2": ("inertia", 1.0, 1e9),
    "N m": ("torque", 1.0, 1.0),
    "N": ("force", 1.0, 1.0),
    "s": ("time", 1.0, 1.0),
    "ms": ("time", 1.0, 1000.0),
    "m/s": ("speed", 1.0, 1.0),
    "mm/s": ("speed", 1.0, 1000.0),
    "rad/s": ("angular speed", 1.0, 1.0),
    "deg/s": ("angular speed", math.pi, 180.0),
    "rpm": ("angular speed", _TURN, 60.0),
    "1/min": ("angular speed", _TURN, 60.0),
    "m/s^2": ("acceleration", 1.0, 1.0),
    "mm/s^2": ("acceleration", 1.0, 1000.0),
    "rad/s^2": ("angular acceleration", 1.0, 1.0),
    "deg/s^2": ("angular acceleration", math.pi, 180.0),
    "A": ("current", 1.0, 1.0),
    "N m/A": ("torque constant", 1.0, 1.0),
    "N m s/rad": ("rotary damping", 1.0, 1.0),
    "N s/m": ("linear damping", 1.0, 1.0),
}


def units_of(*dimensions: Dimension) -> list[str]:
    """Return the names of the units that measure any of `dimensions`."""
    return [name for name, (dimension, _, _) in UNITS.items() if dimension in dimensions]


def to_si(value: float, unit: str) -> float:
    """Convert one number from `unit` to SI; 90 deg gives exactly π/2, 425 mm exactly 0.425 m."""
    _, up, down = UNITS[unit]
    if up == 1.0:
        return value if down == 1.0 else value / down
    # angles: keep quarter turns exact, as math.pi / 2 is
    return value / down * up


def check_unit(unit: object, allowed: tuple[Dimension, ...], refuse: Callable[[str, str], DescriptionError]) -> str:
    """Return `unit` if it is known and measures one of `allowed`; else raise what `refuse(message, rule)` makes."""
    if isinstance(unit, str) and unit in UNITS and UNITS[unit][0] in allowed:
        return unit
    valid = ", ".join(units_of(*allowed))
    if not isinstance(unit, str):
        raise refuse(f"a unit must be given as text, one of: {valid}", "unit")
    if unit not in UNITS:
        raise refuse(f"unknown unit {unit!r}; valid here: {valid}", "unit")
    raise refuse(f"unit {unit!r} measures {UNITS[unit][0]}, expected {' or '.join(allowed)}: {valid}", "unit")
