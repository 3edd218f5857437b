# SPDX-License-Identifier: Apache-2.0
"""Amounts that no arm can mean: beyond them another unit was written, and the program is refused.

Every limit lies well beyond what arms do, so that an odd number passes and only a slip of the unit does not. Places of
languages that count in millimetres have room for frames of a whole hall.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

UNITS = {
    "l-irl": "mm and degrees",
    "urscript": "m and radians",
    "rapid": "mm and degrees",
    "krl": "mm and degrees",
    "g-code": "mm or inches and degrees",
}
FARTHEST_POSITION = 100.0  # m; of languages in millimetres


@dataclass(frozen=True, slots=True)
class UnitLimit:
    """What is said of an amount beyond `most`; `slip` is what was probably written, `share` how much that is in SI."""

    most: float
    told: str
    valid: str
    slip: str = ""
    share: float = 0.0
    meant: str = ""

    def words(self, value: float) -> str:
        """Return what is wrong with an amount, in SI units, and what it is in the unit that was probably meant."""
        text = self.told.format(value=value)
        if not self.slip:
            return text
        return f"{text}: {self.slip} are meant?" + (
            f" (then {value * self.share:.4g} {self.meant})" if self.meant else ""
        )


FULL_TURN = 2.0 * math.pi
LIMITS = {
    "target": UnitLimit(20.0, "a target {value:.4g} m away", "targets within 20 m", "millimetres where metres"),
    "far target": UnitLimit(
        FARTHEST_POSITION, "a target {value:.4g} m away", f"targets within {FARTHEST_POSITION:g} m"
    ),
    "tool point": UnitLimit(
        20.0, "a tool point {value:.4g} m from the flange", "tools within 20 m", "millimetres where metres"
    ),
    "turns": UnitLimit(4.0, "a joint target of {value:.4g} turns", "joints within 4 turns", "degrees where radians"),
    "tool speed": UnitLimit(20.0, "a tool speed of {value:.4g} m/s", "at most 20 m/s", "mm/s where m/s", 1e-3, "m/s"),
    "tool acceleration": UnitLimit(
        250.0, "a tool acceleration of {value:.4g} m/s²", "at most 250 m/s²", "mm/s² where m/s²", 1e-3, "m/s²"
    ),
    "joint speed": UnitLimit(
        40.0, "a joint speed of {value:.4g} rad/s", "at most 40 rad/s", "°/s where rad/s", FULL_TURN / 360.0, "rad/s"
    ),
    "joint acceleration": UnitLimit(
        500.0,
        "a joint acceleration of {value:.4g} rad/s²",
        "at most 500 rad/s²",
        "°/s² where rad/s²",
        FULL_TURN / 360.0,
        "rad/s²",
    ),
    "rounding": UnitLimit(3.0, "a corner rounded over {value:.4g} m", "at most 3 m", "mm where m", 1e-3, "m"),
}
"""By what is limited; speeds and accelerations are those that a language gives in SI units."""
