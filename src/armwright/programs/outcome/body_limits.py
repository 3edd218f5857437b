# SPDX-License-Identifier: Apache-2.0
"""What regions of the body weigh, how stiff they are and what they may bear: annex A of ISO/TS 15066:2016.

The specification is sold; these are its tables A.2 (limits) and A.3 (masses, springs) as public sources cite them:

* both tables whole: comments of `scripts/safety_controller.py` in github.com/davideferrari95/blind_handover_controller
  (commit c9792adc), a controller for power and force limiting;
* forces again: the register of pain thresholds of DGUV (2011), predecessor of the specification, in O. Bendel (ed.),
  Pflegeroboter (open access, 2018), table 1.4; it has 145, 135 and 140 N for neck, hand and lower leg where the
  specification has 150, 140 and 130 N;
* forces again, with the factor 2 of transient contact: 440 and 260 N for thigh and lower leg in
  github.com/EricssonResearch/scott-eu (turtlebot2i_safety); 280 and 140 N for the back of the hand in
  3D collision-force-map for safe human-robot collaboration, arXiv:2009.01036.

Pressures of head, neck, chest, arms and hand were found a second time, with both sides of the body, in a public note
that quotes the specification; those of `ONE_SOURCE` were not. Of two sides the lower one is taken. Pressures of 20 to
80 N/cm² that circulate as the specification's are those of the older register; they are not used.

Limits are quasi-static; transient ones are twice as high, but for the head: contact with it is not permissible at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from armwright.errors import InputError

TRANSIENT_FACTOR = 2.0  # of the quasi-static limits, for contact from which the body can give way
ONE_SOURCE = ("back", "abdomen", "pelvis", "thigh", "lower-leg")
"""Regions whose pressures were found in one source alone."""


@dataclass(frozen=True, slots=True)
class BodyRegion:
    """A region of the body.

    Attributes:
        mass: effective mass [kg]. stiffness: spring constant [N/m].
        force: quasi-static limit [N]. areas: quasi-static limits of pressure of its specific areas [N/cm²].
        transient: factor of its transient limits; 1 for the head.
    """

    mass: float
    stiffness: float
    force: float
    areas: Mapping[str, float]
    transient: float = TRANSIENT_FACTOR


def _region(
    mass: float, spring: float, force: float, transient: float = TRANSIENT_FACTOR, **areas: float
) -> BodyRegion:
    """Return a region; spring in N/mm, as the specification prints it."""
    named = {name.replace("_", "-"): value for name, value in areas.items()}
    return BodyRegion(mass, 1e3 * spring, force, MappingProxyType(named), transient)


BODY_REGIONS: Mapping[str, BodyRegion] = MappingProxyType(
    {
        "skull": _region(4.4, 150, 130, 1.0, forehead=130, temple=110),
        "face": _region(4.4, 75, 65, 1.0, masticatory_muscle=110),
        "neck": _region(1.2, 50, 150, neck_muscle=140, neck_vertebra=210),
        "back": _region(40.0, 35, 210, shoulder=160, lumbar_vertebra=210),
        "chest": _region(40.0, 25, 140, sternum=120, pectoral_muscle=170),
        "abdomen": _region(40.0, 10, 110, abdominal_muscle=140),
        "pelvis": _region(40.0, 25, 180, pelvic_bone=210),
        "upper-arm": _region(3.0, 30, 150, deltoid=190, humerus=220),
        "lower-arm": _region(2.0, 40, 160, radial_bone=190, forearm_muscle=180, arm_nerve=180),
        "hand": _region(0.6, 75, 140, forefinger_pad=270, forefinger_joint=220, thenar=200, palm=260, back_of_hand=190),
        "thigh": _region(75.0, 50, 220, thigh_muscle=250, kneecap=220),
        "lower-leg": _region(75.0, 60, 130, shin=220, calf=210),
    }
)
HEAD = tuple(name for name, region in BODY_REGIONS.items() if region.transient == 1.0)
AREAS: Mapping[str, str] = MappingProxyType({area: name for name, one in BODY_REGIONS.items() for area in one.areas})
"""The region of every specific area."""


@dataclass(frozen=True, slots=True)
class RegionLimit:
    """Quasi-static limits of a region: force [N]; pressure [N/cm²], and the area that it is of, if known."""

    region: str
    force: float
    pressure: float | None = None
    area: str = ""

    def __post_init__(self) -> None:
        """Refuse regions that are not known and limits that are none."""
        if self.region not in BODY_REGIONS:
            raise InputError(f"people: no body region {self.region!r}; valid: {', '.join(BODY_REGIONS)}")
        if not all(np.isfinite(x) and x > 0.0 for x in (self.force, self.pressure) if x is not None):
            raise InputError(f"people: limits of {self.region} must be greater than 0, in N and N/cm²")

    def bound(self, contact_area: float | None) -> float:
        """Return the quasi-static force [N] that keeps both limits on a contact area [cm²], the pressure even."""
        if contact_area is None or self.pressure is None:
            return self.force
        return min(self.force, self.pressure * contact_area)

    def by_pressure(self, contact_area: float | None) -> bool:
        """Return whether pressure binds before force."""
        return self.bound(contact_area) < self.force


def limit_of_body(name: str, force: float | None = None, pressure: float | None = None) -> RegionLimit:
    """Return the limits of a region, or of one of its specific areas; what is given replaces what is built in.

    Of a region the lowest pressure of its areas counts.

    Example:
        >>> limit_of_body("hand"), limit_of_body("palm"), limit_of_body("chest", force=100.0)
    """
    region = AREAS.get(name, name)
    if region not in BODY_REGIONS:
        known = f"{', '.join(BODY_REGIONS)}; or their areas: {', '.join(AREAS)}"
        raise InputError(f"people: no body region {name!r}; valid: {known}")
    body = BODY_REGIONS[region]
    area = name if name in AREAS else min(body.areas, key=lambda one: body.areas[one])
    if pressure is not None and name not in AREAS:
        area = ""
    return RegionLimit(
        region, body.force if force is None else force, body.areas[area] if pressure is None else pressure, area
    )


def limits_of_body() -> tuple[RegionLimit, ...]:
    """Return the limits of all regions but the head, with which no contact is permissible."""
    return tuple(limit_of_body(name) for name in BODY_REGIONS if name not in HEAD)
