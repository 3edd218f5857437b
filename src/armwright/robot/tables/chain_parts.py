# SPDX-License-Identifier: Apache-2.0
"""What a serial chain has besides its geometry: the keywords of its builders, and the columns of its written tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypedDict

from armwright.robot.parts import Actuators, Friction, Limits, Source

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array


class ChainParts(TypedDict, total=False):
    """Keywords of `from_dh`, `from_mdh` and `from_screws`; what is omitted is massless, unlimited, frictionless, ideal.

    name: of the arm; "arm" if omitted.
    masses: (n,) [kg].
    coms: (n, 3) centres of mass [m], in link frames (screws: in base coordinates at q = 0).
    inertias: (n, 3, 3) about the centres of mass [kg m²], in link axes (screws: in base axes at q = 0).
    joint_names: of the n joints; "joint_1", … if omitted.
    body_names: of the n links; "link_1", … if omitted.
    limits: one `Limits` or (lower, upper) a joint.
    friction: one `Friction` a joint.
    actuators: motors and gears.
    gravity: in the base frame [m/s²]; the Earth's, downwards, if omitted.
    sources: provenance by dotted path.
    notes: free text.
    """

    name: str
    masses: ArrayLike | None
    coms: ArrayLike | None
    inertias: ArrayLike | None
    joint_names: Sequence[str] | None
    body_names: Sequence[str] | None
    limits: Sequence[Limits | tuple[float, float]] | None
    friction: Sequence[Friction] | None
    actuators: Actuators | None
    gravity: ArrayLike
    sources: dict[str, Source] | None
    notes: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ChainTable:
    """A serial chain written as a table: its `ChainParts`, whole. Subclasses hold the geometry."""

    name: str
    masses: Array
    coms: Array
    inertias: Array
    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    limits: tuple[Limits, ...]
    friction: tuple[Friction, ...]
    actuators: Actuators
    gravity: Array
    sources: dict[str, Source] = field(default_factory=dict)
    notes: str = ""

    def parts(self) -> dict[str, Any]:
        """Keywords that give a builder what is not geometry."""
        return {part.name: getattr(self, part.name) for part in fields(ChainTable)}


def described(robot: Robot) -> dict[str, Any]:
    """Names, limits, friction, motors, gravity, sources and notes of a robot, as keywords of a `ChainTable`."""
    return {
        "name": robot.name,
        "joint_names": tuple(joint.name for joint in robot.joints),
        "body_names": tuple(body.name for body in robot.bodies),
        "limits": tuple(joint.limits for joint in robot.joints),
        "friction": tuple(joint.friction for joint in robot.joints),
        "actuators": robot.actuators,
        "gravity": robot.gravity,
        "sources": dict(robot.sources),
        "notes": robot.notes,
    }
