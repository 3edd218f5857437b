"""Thresholds for a run in joint space: contact-free motion around start and goal, by the same loop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.simulation.exploration.joints.motion import joint_motion
from armwright.simulation.exploration.learn import RUNS, learned_from

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.contact.detectors import ThresholdFit
    from armwright.planning.capsules import LinkCapsules
    from armwright.robot.model import Robot
    from armwright.simulation.plan import Ingredients

    Array = NDArray[np.float64]

POINTS = 4  # of every run
AROUND = 0.7  # [rad] about the postures between start and goal
STEP = 0.6  # [rad] of a joint between two postures


def learned_in_joints(
    robot: Robot,
    believed: Robot,
    parts: Ingredients,
    links: LinkCapsules,
    q0: Array,
    goal: Array,
    speed: float,
    substeps: int,
    seed: int,
) -> ThresholdFit:
    """Move the arm about, where nothing is in its way, and learn what the observer says then.

    Args:
        robot: the plant.
        believed: the controller's model of it.
        parts: of the loop, observers as its monitors; its surroundings are left out.
        links: capsules of the arm, which set the pace.
        q0: where the arm begins (n,).
        goal: where it is to go (n,).
        speed: pace of its fastest part [m/s].
        substeps: of the loop.
        seed: of the postures and of the noise.
    """
    rng = np.random.default_rng([seed, 7])
    low, high = (
        np.maximum(np.minimum(q0, goal) - AROUND, robot.lower),
        np.minimum(np.maximum(q0, goal) + AROUND, robot.upper),
    )
    rows = [q0]
    while len(rows) <= RUNS * POINTS:
        rows.append(np.clip(rows[-1] + rng.uniform(-STEP, STEP, robot.n), low, high))
    motion = joint_motion(robot, links, np.array(rows), speed)
    quiet = replace(parts, wrenches=None, external=None, stop_on_alarm=False)
    return learned_from(motion, robot, believed, quiet, q0, substeps, seed)
