# SPDX-License-Identifier: Apache-2.0
"""What was found along the tracked motion of a program: nearest pairs, contacts, margins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Collides = Literal["yes", "may", "no", "not checked"]


@dataclass(frozen=True, slots=True)
class NearPair:
    """Where two things are nearest: distance [m] (below 0 they overlap), time [s], index of the move."""

    part: str
    other: str
    distance: float
    time: float
    move: int


@dataclass(frozen=True, slots=True)
class WayContact:
    """Two things that overlap for a while.

    Attributes:
        part, other: their names.
        sure: whether they overlap even with half of the estimated radii.
        start, end, worst: times [s]; the last of the largest depth.
        depth: largest overlap [m]. move: index of the move at `worst`.
    """

    part: str
    other: str
    sure: bool
    start: float
    end: float
    worst: float
    depth: float
    move: int


@dataclass(frozen=True, slots=True)
class WayClearance:
    """What the arm comes near along its way.

    Attributes:
        checked: against what: "the floor", "its own body", "world NAME".
        unchecked: what was not, and why, in sentences.
        closest: the nearest pairs, nearest first, at most `NEAREST_PAIRS`.
        contacts: overlaps, in order of time.
        looks: postures that were looked at.
    """

    checked: tuple[str, ...]
    unchecked: tuple[str, ...]
    closest: tuple[NearPair, ...]
    contacts: tuple[WayContact, ...]
    looks: int

    @property
    def collides(self) -> Collides:
        """Return the answer: for sure, perhaps (within the estimated radii), not, or nothing was checked."""
        if not self.checked:
            return "not checked"
        return "yes" if any(c.sure for c in self.contacts) else "may" if self.contacts else "no"


@dataclass(frozen=True, slots=True)
class WayMargin:
    """The smallest value of something along the way, with its time [s] and the index of the move.

    Attributes:
        what: a joint's name, "singular" or "reach".
        value: distance from the end of a joint's range [rad, m]; smallest singular value of the tool's Jacobian with
            metres divided by half the arm's reach [-], in moves of the tool if there are any (joint moves may pass
            singular postures); what is left of the stretched length from the second joint to the arm's tool frame [m].
        share: of the joint's range, of the largest singular value, or of the reach.
    """

    what: str
    value: float
    share: float
    time: float
    move: int


@dataclass(frozen=True, slots=True)
class WayMargins:
    """Margins of every joint with two ends, of singular postures and of the reach; None where there is none."""

    joints: tuple[WayMargin, ...]
    singular: WayMargin | None
    reach: WayMargin | None

    @property
    def joint(self) -> WayMargin | None:
        """Return the joint that comes nearest to its end, as a share of its range."""
        return min(self.joints, key=lambda row: row.share, default=None)
