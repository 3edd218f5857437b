# SPDX-License-Identifier: Apache-2.0
"""How much of what may have been touched the whole arm keeps away from, and how far: ever less, until it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from armwright.exploration.arm.touch_map import DEEP, RADIUS

if TYPE_CHECKING:
    from armwright.exploration.arm.touch_map import TouchMap, Trust
    from armwright.planning.joint.known_arm import KnownArm

NARROW = RADIUS / 3.0  # [m] of the ball about a likely place where there is little room
LEAST = DEEP  # [m] of the ball about a sure place where there is hardly any: what a link may scratch by


class Caution(NamedTuple):
    """Which known places are kept away from, and how far: their radius, and the margin's share.

    Crowded: whether crowds of configurations count. Patient: worth all the planner's time.
    """

    trust: Trust
    radius: float
    share: float
    crowded: bool
    patient: bool

    def arm(self, known: TouchMap, margin: float) -> KnownArm:
        """The arm among what is known."""
        return known.arm(margin=self.share * margin, trust=self.trust, radius=self.radius, crowded=self.crowded)


CAUTIONS = (
    Caution("all", RADIUS, 1.0, True, False),
    Caution("likely", RADIUS, 1.0, True, True),
    Caution("likely", NARROW, 0.4, True, False),
    Caution("sure", RADIUS, 0.5, True, False),
    Caution("sure", LEAST, 0.0, False, True),
    Caution("confirmed", LEAST, 0.0, False, True),
)
