# SPDX-License-Identifier: Apache-2.0
"""What the felt torque is worth: contact-free motion with brakes as after an alarm, by the same loop.

An arm whose masses or friction are not what it believes feels torques when it brakes, and where it never touched
anything. Rehearsed, they enter the covariance that contacts are isolated with.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact.isolation.change import Episode, change_covariance, level_before
from armwright.exploration.joints.felt import LISTEN, brake, recent
from armwright.exploration.joints.motion import joint_motion
from armwright.simulation.session import Session

if TYPE_CHECKING:
    from armwright.planning.joint.capsules import LinkCapsules
    from armwright.robot.model import Robot
    from armwright.simulation.loop_stages import Ingredients
    from armwright.types import Array

BRAKES = 30
AWAY = 0.8  # [rad] that postures differ by at most from one to the next
SHORTEST = 0.3  # [s] of motion before a brake


class TorqueNoise(NamedTuple):
    """Covariances (n, n) [(N m)²] of felt torque less its level before a contact.

    soon: while the arm brakes. later: anywhere else, as when it slides on for seconds.
    """

    soon: Array
    later: Array


def rehearsed(
    robot: Robot,
    believed: Robot,
    parts: Ingredients,
    links: LinkCapsules,
    lower: Array,
    upper: Array,
    speed: float,
    substeps: int,
    seed: int,
    least: float,
) -> TorqueNoise:
    """Move the arm about where nothing is in its way, brake now and then as at an alarm, and see what it feels.

    Args:
        robot: the plant.
        believed: the controller's model of it.
        parts: of the loop, observers as its monitors; its surroundings are left out.
        links: capsules of the arm, which set the pace.
        lower: bounds (n,) of the postures that will be searched.
        upper: the others.
        speed: pace of its fastest part [m/s].
        substeps: of the loop.
        seed: of the postures and of the noise.
        least: standard deviation that torques are never more certain than [N m].
    """
    rng = np.random.default_rng([seed, 9])
    lanes = replace(parts.lanes, values=np.asarray(parts.lanes.values)[:1])
    quiet = replace(parts, lanes=lanes, wrenches=None, external=None, stop_on_alarm=False)
    session = Session([robot], quiet, count=1, substeps=int(substeps), every=1, seeds=[int(rng.integers(2**31))])
    here = rng.uniform(lower, upper)
    session.start(np.concatenate([here, np.zeros(quiet.size - robot.n)]), {}, lanes.values)
    episodes = []
    for _ in range(BRAKES):
        there = np.clip(here + rng.uniform(-AWAY, AWAY, robot.n), lower, upper)
        motion = joint_motion(believed, links, np.stack([here, there]), speed)
        session.follow(motion)
        session.run(max(SHORTEST, rng.uniform(0.2, 0.9) * motion.duration))
        before = recent(session, SHORTEST)
        brake(session)
        session.run(LISTEN)
        episodes.append(Episode(before, recent(session, LISTEN)))
        here = session.reference_at(np.array([session.time])).q[0]
    period, floor = quiet.period, least**2 * np.eye(robot.n)
    levels = np.array([level_before(episode.before, period) for episode in episodes])
    rows = np.concatenate([part for episode in episodes for part in episode])
    # any row less any level, however far apart: E (r − b)(r − b)ᵀ
    apart = rows.mean(axis=0)[:, None] * levels.mean(axis=0)
    later = _second(rows) + _second(levels) - apart - apart.T
    return TorqueNoise(change_covariance(episodes, period) + floor, later + floor)


def _second(rows: Array) -> Array:
    return np.asarray(np.einsum("ti,tj->ij", rows, rows) / len(rows))
