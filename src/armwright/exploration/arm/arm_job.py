# SPDX-License-Identifier: Apache-2.0
"""Everything about a run with the whole arm that does not change on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armwright.exploration.arm.rehearse_arm import TorqueNoise
    from armwright.planning.joint.plan import JointPlanner
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.world import World


@dataclass(frozen=True, eq=False)
class ArmJob:
    """Everything about a run with the whole arm that does not change on the way; see `explore`.

    Attributes:
        robot: the plant, whose links touch the world.
        believed: what the arm takes itself to be.
        world: the truth, for the record only.
        goals: configurations (m, n) that will do, the nearest first. place: tool position (3,) to be at [m].
        planner: in joint space. quick: the same with less patience. lower, upper: bounds of its search (n,).
        speed: pace of the arm's fastest part [m/s].
        margin: to felt places [m]. noise: of the felt torque.
    """

    robot: Robot
    believed: Robot
    world: World
    goals: Array
    place: Array
    planner: JointPlanner
    quick: JointPlanner
    lower: Array
    upper: Array
    speed: float
    margin: float
    noise: TorqueNoise
