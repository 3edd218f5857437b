# SPDX-License-Identifier: Apache-2.0
"""Rehearsal before a run with the whole arm: what the same loop learns where nothing is in the way.

Thresholds come from motion between configurations of the search. What the felt torque is worth comes from brakes as
after an alarm: an arm whose masses or friction are not what it believes feels torques when it brakes, and where it
never touched anything. Rehearsed, they enter the covariance that contacts are isolated with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact.isolation.torque_change import Episode, change_covariance, level_before
from armwright.exploration.arm.felt_places import BRAKE_SECONDS, LISTEN, LISTEN_SECONDS
from armwright.exploration.arm.plan_arm import arm_motion
from armwright.exploration.ride_steps import advance, followed
from armwright.exploration.simulated_ride import SimulatedRide
from armwright.exploration.touch_sensing import REHEARSED_MOTIONS, learned_from

if TYPE_CHECKING:
    from armwright.contact.detectors import ThresholdFit
    from armwright.exploration.ride import Ride
    from armwright.exploration.touch_sensing import Setup
    from armwright.motion import Trajectory
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.arm_capsules import LinkCapsules

REHEARSED_POINTS = 6  # of every motion: five paths across the search, about half a minute together
BRAKES = 30  # episodes of the covariance, five for each joint of a UR5
LARGEST_JOINT_CHANGE = 0.8  # [rad] between consecutive configurations at most: the arm reaches its pace on the way
SHORTEST_MOTION = 0.3  # [s] of motion before a brake: longer than the time to reach the pace


@dataclass(frozen=True, eq=False)
class RehearsedArm:
    """The range and speed of motions that a run with the whole arm will make.

    Attributes:
        robot: what the arm takes itself to be. links: its capsules, which set the pace.
        lower, upper: bounds (n,) of the configurations that will be searched.
        speed: pace of its fastest part [m/s].
    """

    robot: Robot
    links: LinkCapsules
    lower: Array
    upper: Array
    speed: float

    def motion(self, rows: Array) -> Trajectory:
        """Return a motion through configurations (N, n), with nothing in the way."""
        return arm_motion(self.robot, self.links, rows, self.speed)


def learned_in_joints(setup: Setup, search: RehearsedArm) -> ThresholdFit:
    """Move the arm about, where nothing is in its way, and learn what the observer says then; see `learn_thresholds`.

    Args:
        setup: the loop; its surroundings are left out.
        search: all of it is rehearsed.
    """
    return learned_from([random_motion(setup, search, k) for k in range(REHEARSED_MOTIONS)], setup)


def random_motion(setup: Setup, search: RehearsedArm, k: int) -> Trajectory:
    """Return motion k of a rehearsal, through random configurations of the search."""
    rng = np.random.default_rng([setup.learn_seed, 7, k])
    return search.motion(rng.uniform(search.lower, search.upper, (REHEARSED_POINTS, setup.robot.n)))


class TorqueNoise(NamedTuple):
    """Covariances (n, n) [(N m)²] of felt torque less its level before a contact.

    soon: while the arm brakes. later: anywhere else, as when it slides on for seconds.
    """

    soon: Array
    later: Array


def rehearsed(setup: Setup, search: RehearsedArm, least: float) -> TorqueNoise:
    """Move the arm about where nothing is in its way, brake now and then as at an alarm, and see what it feels.

    Args:
        setup: the loop; its surroundings are left out.
        search: where and how fast.
        least: standard deviation that torques are never more certain than [N m].
    """
    rng = np.random.default_rng([setup.learn_seed, 9])
    noise = int(rng.integers(2**31))
    session = setup.quiet().session(rng.uniform(search.lower, search.upper), seed=noise, check_step=False)
    return rehearsed_on(SimulatedRide(session), search, least, rng)


def rehearsed_on(ride: Ride, search: RehearsedArm, least: float, rng: np.random.Generator) -> TorqueNoise:
    """Move an arm about where nothing is in its way, brake now and then as at an alarm, and see what it feels.

    Args:
        ride: the arm, at rest within the bounds of the search.
        search: where and how fast.
        least: standard deviation that torques are never more certain than [N m].
        rng: chooses the ways.
    """
    here, lower, upper = ride.reference().q, search.lower, search.upper
    episodes = []
    for _ in range(BRAKES):
        there = np.clip(here + rng.uniform(-LARGEST_JOINT_CHANGE, LARGEST_JOINT_CHANGE, ride.n), lower, upper)
        motion = search.motion(np.stack([here, there]))
        followed(ride, motion)
        advance(ride, max(SHORTEST_MOTION, rng.uniform(0.2, 0.9) * motion.duration))
        before = ride.torques(SHORTEST_MOTION)
        ride.listen(BRAKE_SECONDS, LISTEN, LISTEN_SECONDS)
        episodes.append(Episode(before, ride.torques(LISTEN)))
        here = ride.reference().q
    period, floor = ride.period, least**2 * np.eye(ride.n)
    levels = np.array([level_before(episode.before, period) for episode in episodes])
    rows = np.concatenate([part for episode in episodes for part in episode])
    # any row less any level, however far apart: E (r − b)(r − b)ᵀ
    apart = rows.mean(axis=0)[:, None] * levels.mean(axis=0)
    later = _second(rows) + _second(levels) - apart - apart.T
    return TorqueNoise(change_covariance(episodes, period) + floor, later + floor)


def _second(rows: Array) -> Array:
    return np.asarray(np.einsum("ti,tj->ij", rows, rows) / len(rows))
