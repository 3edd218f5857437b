# SPDX-License-Identifier: Apache-2.0
"""`explore_wire`: rehearse with wide bands, learn bands and caps, rehearse with those, explore. Not a safety function.

The exploration goes on, on the ride of the first rehearsal that was quiet; see `wire_riding`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.exploration.arm.arm_job import QUIET, find_joint_planner
from armwright.exploration.arm.fenced_planner import FencedPlanner
from armwright.exploration.arm.rehearse_arm import RehearsedArm, TorqueNoise, rehearsed_on
from armwright.exploration.exploration_result import Exploration
from armwright.exploration.explore_on import explore_on
from armwright.exploration.explore_options import ArmTask
from armwright.exploration.grid.held_tool import HeldTool
from armwright.live.wire_job import WireJob
from armwright.live.wire_limits import Watchman
from armwright.live.wire_rehearsal import JointWays, LearnedBands, MapWays
from armwright.live.wire_riding import MOST_REHEARSALS, Company, rehearse_until_quiet
from armwright.planning.obstacles import contact_capsules

if TYPE_CHECKING:
    from pathlib import Path

    from armwright.exploration.exploration_run import Progress
    from armwright.live.dead_man import DeadMan
    from armwright.live.wire_consent import Consent
    from armwright.live.wire_rehearsal import WayMaker
    from armwright.live.wire_ride import WireRide
    from armwright.planning.joint.joint_plan import JointPlanner

BAND_OF_FORCE = 1.3  # times the largest force of free motion: a force that counts without an alarm
FENCE_ROOM = 0.02  # [m] that a planner keeps to the fence: a spline may swing out by less


class WireOutcome(NamedTuple):
    """What came of a job.

    Attributes:
        run: the exploration; None if the rehearsal was not passed.
        outcome: the run's, or that of the ride that ended it, or "rehearsal not passed". message: in a sentence.
        bands: that were learned; None if not even those. rehearsals: with learned bands.
        ride: gaps, samples and processor time of the ride that explored.
    """

    run: Exploration | None
    outcome: str
    message: str
    bands: LearnedBands | None
    rehearsals: int
    ride: dict[str, float]


def explore_wire(
    job: WireJob,
    consents: tuple[Consent, ...],
    *,
    held: DeadMan | None = None,
    out: Path | None = None,
    tell: Callable[[str], Any] = lambda _: None,
    progress: Progress | None = None,
    watch: Callable[[WireRide], Any] = lambda _: None,
) -> WireOutcome:
    """Rehearse, learn, rehearse again, explore.

    Args:
        job: from `wire_job`.
        consents: of a person to `job.sentences()`; they are written into every recording.
        held: the dead-man; None for virtual controllers.
        out: folder for the recordings, None for none.
        tell: is told in a sentence what comes next.
        progress: as in `explore`.
        watch: is given every ride when it has started.

    Raises:
        InputError: not everything was confirmed, or the controller is no longer as it has to be.
        LabError: a ride cannot be started.
    """
    if tuple(consent.sentence for consent in consents) != job.sentences():
        raise InputError("wire: not everything was confirmed; nothing was moved")
    company = Company(job.settings(consents), out, held, tell, watch)

    def explored(ride: WireRide, known: LearnedBands) -> Exploration | None:
        ride.noticed_force = BAND_OF_FORCE * known.noticed
        noise = _noise(job, ride) if isinstance(job.task, ArmTask) else None
        if noise is not None and ride.alarms:
            return None
        tell("exploring")
        return _explore(job, ride, company.settings, known, noise, progress)

    done = rehearse_until_quiet(
        job, lambda attempt: ways_of(job, attempt), job.care.rehearsed, job.seed, company, explored
    )
    run = done.found
    outcome, message = (done.outcome, done.message) if run is None else (run.outcome, run.message)
    return WireOutcome(run, outcome, message, done.known, done.attempts, done.figures)


def ways_of(job: WireJob, attempt: int) -> WayMaker:
    """Return the ways of a rehearsal; other ones with every attempt."""
    seed = job.seed * MOST_REHEARSALS * 2 + attempt
    if isinstance(job.task, ArmTask):
        return JointWays(job.identified.robot, job.q0, job.care.free, job.task.speed, seed)
    assert job.task.where is not None
    tool = HeldTool(job.identified.robot, np.asarray(job.task.rotation))
    return MapWays(tool, job.task.where, job.q0, job.care.lift, job.task.pace, seed)


def _noise(job: WireJob, ride: WireRide) -> TorqueNoise:
    """Learn how exact the felt torques are, from brakes within the box around the start."""
    assert isinstance(job.task, ArmTask)
    ways = JointWays(job.identified.robot, job.q0, job.care.free, job.task.speed, job.seed)
    robot = job.identified.robot
    search = RehearsedArm(robot, contact_capsules(robot), ways.lower, ways.upper, job.task.speed)
    noise = rehearsed_on(ride, search, QUIET, np.random.default_rng([job.seed, 9]))
    for motion in ways.home(ride.reference().q):
        ride.follow(motion)
        ride.run(motion.duration + 0.5)
    return noise


def _explore(
    job: WireJob,
    ride: WireRide,
    settings: dict[str, Any],
    known: LearnedBands,
    noise: TorqueNoise | None,
    progress: Progress | None,
) -> Exploration:
    """Explore on a ride whose rehearsal was passed."""
    about = settings | {
        "world": "the wire",
        "observer": "momentum",
        "detector": "friction band",
        "bands": np.asarray(known.bands.motion).tolist(),
        "noticed_force": ride.noticed_force,
        "began": ride.begin(),
    }
    planner: str | JointPlanner | None = job.planner
    if isinstance(job.task, ArmTask):
        watchman = Watchman(job.identified.robot, job.limits)
        found = find_joint_planner(job.planner, job.seed)
        planner = FencedPlanner(found, lambda q: watchman.outside(q, FENCE_ROOM))
    return explore_on(
        ride,
        job.identified.robot,
        job.task,
        planner=planner,
        reaction=job.reaction,
        budget=job.budget,
        noise=noise,
        settings=about,
        progress=progress,
    )
