# SPDX-License-Identifier: Apache-2.0
"""The arm among shapes and beside itself: which of its own links could touch, found by trying random postures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics.api import random_states
from armwright.kinematics.forward import link_poses
from armwright.planning.joint.capsules import Obstacles
from armwright.planning.joint.cspace import WholeArm
from armwright.planning.obstacles import contact_capsules, obstacles_of
from armwright.robot.kernels import compile as compiled
from armwright.world.capsule_arrays import link_ends
from armwright.world.geometry import segment_segment

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.world import World
    from armwright.world.capsule_arrays import LinkCapsules

TRIES = 500
OFTEN_APART = 0.5
"""Share of random postures in which two links must be apart to be worth keeping apart: neighbours always overlap."""


def arm_among(robot: Robot, world: World | None = None) -> WholeArm:
    """The arm with the shapes of a world around it, and with the pairs of its own links that could touch."""
    capsules = contact_capsules(robot)
    around = Obstacles() if world is None else obstacles_of(world)
    return WholeArm(robot, around, capsules, pairs=own_pairs(robot, capsules))


def own_pairs(robot: Robot, capsules: LinkCapsules) -> tuple[tuple[int, int], ...]:
    """Pairs of capsules of different, not neighbouring bodies that are apart in most postures."""
    parent = [body.parent for body in robot.bodies]
    tried = []
    for i in range(len(capsules.body)):
        for j in range(i):
            one, other = int(capsules.body[i]), int(capsules.body[j])
            if one != other and parent[one] != other and parent[other] != one:
                tried.append((j, i))
    if not tried:
        return ()

    def gaps(arm: Any, q: Any) -> Any:
        ends = link_ends(link_poses(arm, q), capsules)
        r = capsules.radius
        return np.array([segment_segment(*ends[i], *ends[j]) - r[i] - r[j] for i, j in tried])

    found = np.asarray(compiled(gaps, robot)(random_states(robot, TRIES)[0]))
    apart = np.mean(found > 0.0, axis=0) >= OFTEN_APART
    return tuple(pair for pair, keep in zip(tried, apart, strict=True) if keep)
