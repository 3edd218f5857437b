# SPDX-License-Identifier: Apache-2.0
"""Karnopp's friction: a zone of speeds that count as rest, in which a joint is held up to its break-away torque.

    |v| ≤ zone: friction is what the joint needs to stand, at most `static`;   else coulomb·sign(v) + viscous·v

(Karnopp 1985). A joint that comes into the zone under less than its break-away torque stops at once. A larger torque
accelerates it, against `static` until it has left the zone and against `coulomb` from there on. Friction in the zone
opposes the motion, if there is any, where Karnopp's rule opposes the torque: it would drive a joint that turns round.

What a joint needs to stand depends on what the others do. So the semi-implicit integrator finds it by solving for the
dry friction of all joints twice: once with the joints in the zone at rest, which says who can be held, then with those
held for good (`velocity_with_stick_zone`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.simulation.friction_models import FrictionModel, check_positive

if TYPE_CHECKING:
    from armwright.types import Traced


@dataclass(frozen=True, eq=False)
class Karnopp(FrictionModel):
    """Viscous and Coulomb friction, and stiction up to `static` in the zone |v| ≤ `zone` [rad/s or m/s].

    The semi-implicit integrator only. A zone that one step crosses is not noticed: it should be wider than what a step
    can change the speed by.
    """

    viscous: Any
    coulomb: Any
    static: Any
    zone: Any = 1e-3
    has_dry_part = True
    only_held = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_positive(self, viscous=False, coulomb=False, static=False, zone=True)
        if (self.static < self.coulomb).any():
            raise InputError(
                f"Karnopp: static must be ≥ coulomb (what holds a joint is no less than what brakes it), got "
                f"{self.static} and {self.coulomb}"
            )

    def torque(self, qd: Traced, states: Mapping[str, Any], *, dry: bool = True) -> tuple[Traced, dict[str, Traced]]:
        """What slides, outside the zone: coulomb·sign(v) + viscous·v. What holds is solved for."""
        sliding = np.where(np.abs(qd) <= self.zone, 0.0, qd)
        smooth = self.viscous * sliding
        if not dry:
            return smooth, {}
        return smooth + self.coulomb * np.sign(sliding), {}

    def dry_bound(self, qd: Traced) -> Traced:
        """The break-away torque in the zone, Coulomb friction outside."""
        return np.where(np.abs(qd) <= self.zone, self.static, self.coulomb) + 0.0 * qd

    def stick_zone(self, count: int) -> Traced:
        """Return the zone (n,)."""
        return np.broadcast_to(self.zone, (count,))
