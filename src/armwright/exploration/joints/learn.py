# SPDX-License-Identifier: Apache-2.0
"""Thresholds for a run in joint space: contact-free motion between postures of the search, by the same loop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.exploration.joints.motion import joint_motion
from armwright.exploration.learn import MOTIONS, learned_from

if TYPE_CHECKING:
    from armwright.contact.detectors import ThresholdFit
    from armwright.planning.joint.capsules import LinkCapsules
    from armwright.robot.model import Robot
    from armwright.simulation.loop_stages import Ingredients
    from armwright.types import Array

POINTS = 6  # of every motion


def learned_in_joints(
    robot: Robot,
    believed: Robot,
    parts: Ingredients,
    links: LinkCapsules,
    lower: Array,
    upper: Array,
    speed: float,
    substeps: int,
    seed: int,
) -> ThresholdFit:
    """Move the arm about, where nothing is in its way, and learn what the observer says then; see `learn_thresholds`.

    Args:
        robot: the plant.
        believed: the controller's model of it.
        parts: of the loop, observers as its monitors; its surroundings are left out.
        links: capsules of the arm, which set the pace.
        lower: bounds (n,) of the postures that will be searched, all of which are rehearsed.
        upper: the others.
        speed: pace of its fastest part [m/s].
        substeps: of the loop.
        seed: of the postures and of the noise.
    """
    motions = []
    for k in range(MOTIONS):
        rows = np.random.default_rng([seed, 7, k]).uniform(lower, upper, (POINTS, robot.n))
        motions.append(joint_motion(believed, links, rows, speed))
    quiet = replace(parts, wrenches=None, external=None, stop_on_alarm=False)
    return learned_from(motions, robot, believed, quiet, substeps, seed)
