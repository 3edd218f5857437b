# SPDX-License-Identifier: Apache-2.0
"""Speeds, accelerations and corners of a move in words with units, for texts that compare moves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from armwright.programs.program import (
    BySpeed,
    Distance,
    Duration,
    Fraction,
    LeadingAxis,
    Share,
    Stop,
    Tangent,
    ToolRate,
)

if TYPE_CHECKING:
    from armwright.programs.program import Acceleration, Blend, Speed


def setting_words(value: Speed | Acceleration | Blend | str | float | None, *, per: str = "s") -> str:
    """Return a setting of a move in words; `per` is "s²" for accelerations."""
    match value:
        case Fraction(share):
            return f"{100 * share:.4g} %"
        case LeadingAxis(rate):
            return f"{rate:.4g} rad/{per} of the leading axis"
        case ToolRate(linear, angular):
            return f"{linear:.4g} m/{per}" + ("" if angular is None else f", {math.degrees(angular):.4g} °/{per}")
        case Duration(seconds):
            return f"{seconds:.4g} s"
        case Stop():
            return "a stop"
        case Tangent():
            return "passed without rounding"
        case Distance(position):
            return f"{1e3 * position:.4g} mm"
        case Share(share):
            return f"{100 * share:.4g} % of the neighbours"
        case BySpeed(share):
            return f"down to {100 * share:.4g} % of the speed"
    return f"{math.degrees(value):.6g}°" if isinstance(value, float) else str(value)  # arcs have angles
