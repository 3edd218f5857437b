# SPDX-License-Identifier: Apache-2.0
"""Everything about a run in joint space that does not change on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.exploration.joints.rehearse import TorqueNoise
    from armwright.exploration.joints.touch_map import TouchMap, Trust
    from armwright.planning.joint.known_arm import KnownArm
    from armwright.planning.joint.plan import JointPlanner
    from armwright.robot.model import Robot
    from armwright.world.world import World

    Array = Any | NDArray[Any]


@dataclass(frozen=True, eq=False)
class JointTask:
    """Everything about a run in joint space that does not change on the way; see `explore`.

    Attributes:
        robot: the plant, whose links touch the world.
        believed: what the arm takes itself to be.
        world: the truth, for the record only.
        goals: postures (m, n) that will do, the nearest first. place: tool position (3,) to be at [m].
        planner: in joint space. quick: the same with less patience. lower, upper: bounds of its search (n,).
        reaction: to a contact. speed: pace of the arm's fastest part [m/s].
        margin: to felt places [m]. noise: of the felt torque.
    """

    robot: Robot
    believed: Robot
    world: World
    goals: Any
    place: Any
    planner: JointPlanner
    quick: JointPlanner
    lower: Any
    upper: Any
    reaction: str
    speed: float
    margin: float
    noise: TorqueNoise
    duration: float
    budget: int
    tolerance: float
    progress: Callable[[float, int], Any]


class Caution(NamedTuple):
    """Which known places are kept away from, and how far: their radius, and the margin's share.

    Crowded: whether crowds of postures count. Patient: worth all the planner's time.
    """

    trust: Trust
    radius: float
    share: float
    crowded: bool
    patient: bool

    def arm(self, known: TouchMap, margin: float) -> KnownArm:
        """The arm among what is known."""
        return known.arm(margin=self.share * margin, trust=self.trust, radius=self.radius, crowded=self.crowded)
