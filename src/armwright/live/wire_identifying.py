# SPDX-License-Identifier: Apache-2.0
"""`identify_wire`: excite an arm on the wire within a fence, fit its model, rehearse its bands. Not a safety function.

Facts → `identify_job` (motion, fence, dry run; nothing moves) → consent of a person → `identify_wire`. Every part is a
ride of its own: excitation, a rehearsal with wide bands, one with the bands that the first has shown.

What is felt while it excites, of an arm whose model is to be found? Where drives of this kind of arm were measured once
(`robot.measured`), their model is felt with, and bands so wide that only a collision is beyond them. Elsewhere, and
with `felt=False`, nothing is: only the controller's own protective stop ends a collision then, and that is confirmed.

The drive gains are the controller's own: slope and offset of its target torques over its target currents.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.exploration.ride_steps import RideOverError, followed
from armwright.identify.current_log import Log, sound_log
from armwright.identify.external_torque import learn_bands, with_bands
from armwright.identify.gear_friction import TERMS, GearFriction
from armwright.identify.identified import Identified
from armwright.identify.model_fit import fit
from armwright.live.wire_checks import (
    HAND_SENTENCE,
    arm_words,
    check_facts,
    controller_sentence,
    fence_sentence,
)
from armwright.live.wire_dry_run import DryRun, check_dry_run
from armwright.live.wire_excitation import (
    USUAL_PERIOD,
    USUAL_SPAN,
    WireExcitation,
    wire_excitation,
)
from armwright.live.wire_job import said_of
from armwright.live.wire_limits import MOST_JOINT_SPEED, MOST_TOOL_SPEED, USUAL_FORCE, Watchman, WireLimits
from armwright.live.wire_rehearsal import FIRST_WIDTH, PAUSE_SECONDS, REHEARSED_SECONDS, JointWays, first_bands, went
from armwright.live.wire_riding import Company, Ridden, figures_of, rehearse_until_quiet, riding
from armwright.live.wire_rows import PLACES
from armwright.robot.measured import as_measured, measured_drives

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from armwright.live.dead_man import DeadMan
    from armwright.live.wire_consent import Consent
    from armwright.live.wire_limits import Fence
    from armwright.live.wire_ride import WireRide
    from armwright.live.wire_riding import WireAddress
    from armwright.robot.model import Robot
    from armwright.types import Array

EXCITATION_FILE = "excitation.mcap"
TOUCHED = "something was touched"


@dataclass(frozen=True, eq=False)
class IdentifyCare:
    """How carefully an arm is moved while it is identified.

    Attributes:
        fence: where tool and elbow may be; around the motion if None.
        tool_speed: [m/s]; the hard limit by default: a model says nothing about speeds that it never saw.
        force: at the tool that is given way to at once, once there is a model [N].
        span: [rad] of every joint to either side of where it stands. period: [s] of the motion.
        rehearsed: [s] of each rehearsal.
        felt: whether collisions are felt while it excites, where the arm's kind was measured.
    """

    fence: Fence | None = None
    tool_speed: float = MOST_TOOL_SPEED
    force: float = USUAL_FORCE
    span: float = USUAL_SPAN
    period: float = USUAL_PERIOD
    rehearsed: float = REHEARSED_SECONDS
    felt: bool = True


@dataclass(frozen=True, eq=False, kw_only=True)
class IdentifyJob(Ridden):
    """Everything about an identification that is known before an arm moves; `identified` is what it is taken for.

    Attributes:
        robot: the arm as described. q0: where it stands (n,). excitation: what it will do. care: how it is moved.
        seed: of the motion and of the rehearsal's ways.
    """

    robot: Robot
    q0: Array
    excitation: WireExcitation
    care: IdentifyCare
    seed: int

    @property
    def dry_run(self) -> DryRun:
        """Return where it may take the arm."""
        return self.excitation.dry_run

    def sentences(self) -> tuple[str, ...]:
        """Return what a person confirms."""
        limits, care, found = self.limits, self.care, self.excitation
        felt = "it gives way where it feels far more than arms of its kind did"
        if not self.felt:
            felt = "it feels nothing, and only the controller's own protective stop ends a collision"
        return (
            f"{arm_words(self.facts)} is a {self.robot.name!r} as described, with nothing at its flange",
            f"The dry run is as it should be: {found.dry_run.sentence()}",
            fence_sentence(limits),
            f"All of the arm is free, not only its tool: it moves every joint by {care.span * found.size:.2f} rad at "
            "most to either side; nothing may be touched, or the model is wrong",
            f"It moves by itself: about {found.seconds:.0f} s to be identified, then two rehearsals of "
            f"{care.rehearsed:.0f} s, at {1e3 * limits.tool_speed:.0f} mm/s and {limits.joint_speed:g} rad/s",
            f"While it is identified, {felt}",
            controller_sentence(limits),
            HAND_SENTENCE,
        )

    def settings(self, consents: tuple[Consent, ...]) -> dict[str, Any]:
        """Return what every recording of the job says about it."""
        found = self.excitation
        how = {"size": found.size, "condition": found.condition, "free": found.free, "felt": self.felt}
        return said_of(self, consents) | {"robot": self.robot.name, "excitation": how, "seed": self.seed}


class IdentifyOutcome(NamedTuple):
    """What came of a job.

    Attributes:
        model: with its bands; None if there is none.
        outcome: "identified", that of the ride that ended it, "something was touched", "rehearsal not passed", or "no
            model". message: in a sentence.
        rides: figures of the excitation and of the last rehearsal. rehearsals: with learned bands.
    """

    model: Identified | None
    outcome: str
    message: str
    rides: tuple[dict[str, float], ...]
    rehearsals: int = 0


def identify_job(address: WireAddress, robot: Robot, *, care: IdentifyCare | None = None, seed: int = 0) -> IdentifyJob:
    """Ask the controller, look for a motion that fits into the fence, check everything; nothing moves.

    The arm has to be bare: a load that was there while it was identified would be taken for a part of it.

    Args:
        address: of the controller.
        robot: the arm as described, with its tool's frame.
        care: fence, speed, size of the motion.
        seed: of the motion.

    Raises:
        InputError: something is not as it has to be; nothing was moved.
        LabError: nobody answers.
    """
    care = care or IdentifyCare()
    facts = address.facts()
    check_facts(facts, robot)
    q0 = np.array(facts.values["actual_q"], dtype=np.float64)
    found = wire_excitation(
        robot,
        q0,
        care.fence,
        tool_speed=care.tool_speed,
        joint_speed=MOST_JOINT_SPEED,
        span=care.span,
        period=care.period,
        seed=seed,
    )
    limits = WireLimits(found.dry_run.fence, tool_speed=care.tool_speed, force=care.force)
    check_dry_run(found.dry_run, Watchman(robot, limits))
    felt = care.felt and measured_drives(robot) is not None
    return IdentifyJob(
        address=address,
        facts=facts,
        identified=taken_for(robot) if felt else _nothing_known(robot),
        limits=limits,
        felt=felt,
        robot=robot,
        q0=q0,
        excitation=found,
        care=care,
        seed=seed,
    )


def taken_for(robot: Robot) -> Identified:
    """Return an arm as others of its kind were measured."""
    arm, drives = as_measured(robot), measured_drives(robot)
    assert drives is not None
    c = np.zeros((robot.n, len(TERMS)))
    c[:, TERMS.index("viscous")] = [part.viscous for part in drives.friction]
    c[:, TERMS.index("coulomb")] = [part.coulomb for part in drives.friction]
    c[:, TERMS.index("offset")] = -drives.current.b
    return Identified(arm, drives.current.k, GearFriction(c), np.ones(robot.n), (), (), ())


def _nothing_known(robot: Robot) -> Identified:
    nothing = GearFriction(np.zeros((robot.n, len(TERMS))))
    return Identified(robot, np.ones(robot.n), nothing, np.ones(robot.n), (), (), ())


def identify_wire(
    job: IdentifyJob,
    consents: tuple[Consent, ...],
    *,
    held: DeadMan | None = None,
    out: Path | None = None,
    tell: Callable[[str], Any] = lambda _: None,
    watch: Callable[[WireRide], Any] = lambda _: None,
) -> IdentifyOutcome:
    """Excite, fit, rehearse until no alarm comes; return the model with its bands.

    Args:
        job: from `identify_job`.
        consents: of a person to `job.sentences()`; they are written into every recording.
        held: the dead-man; None for virtual controllers.
        out: folder for the recordings, None for none.
        tell: is told in a sentence what comes next.
        watch: is given every ride when it has started.

    Raises:
        InputError: not everything was confirmed, or the controller is no longer as it has to be.
        LabError: a ride cannot be started.
    """
    if tuple(consent.sentence for consent in consents) != job.sentences():
        raise InputError("wire: not everything was confirmed; nothing was moved")
    company = Company(job.settings(consents), out, held, tell, watch)
    wide = first_bands(job.identified)
    wide = replace(wide, motion=FIRST_WIDTH * wide.motion, rest=FIRST_WIDTH * wide.rest)
    with riding(job, wide, company, EXCITATION_FILE) as (ride, kept):
        tell(f"exciting for about {job.excitation.seconds:.0f} s")
        try:
            quiet = _excite(ride, job.excitation)
        except RideOverError as over:
            return IdentifyOutcome(None, over.why, over.reason, (figures_of(ride),))
        rows, figures = kept.since(-np.inf), figures_of(ride)
    if not quiet:
        message = "far more was felt than arms of its kind feel: something stands in its way, or it is another arm"
        return IdentifyOutcome(None, TOUCHED, message, (figures,))
    now = datetime.now(UTC).isoformat(timespec="minutes").replace("+00:00", "Z")
    log = log_of(rows, f"{job.facts.serial or job.address.host} {now}")
    try:
        model = fit(log, job.robot)
    except InputError as error:
        return IdentifyOutcome(None, "no model", str(error), (figures,))
    shown, thought = learn_bands(model, log), first_bands(model)  # neither is enough: noise, and what was not driven
    wide = replace(shown, motion=np.maximum(shown.motion, thought.motion / FIRST_WIDTH))
    model = replace(model, bands=wide, remarks=(*_speeds_seen(log, job.care), *model.remarks))
    done = rehearse_until_quiet(
        replace(job, identified=model, felt=True),
        lambda attempt: JointWays(job.robot, job.q0, job.excitation.free, job.care.tool_speed, 7 * job.seed + attempt),
        job.care.rehearsed,
        job.seed,
        company,
        lambda ride, known: known,
    )
    rides = (figures, done.figures)
    if done.found is None:
        return IdentifyOutcome(None, done.outcome, done.message, rides, done.attempts)
    bands = learn_bands(model, [log, log_of(done.rows, "rehearsals")])
    return IdentifyOutcome(with_bands(model, bands), "identified", "", rides, done.attempts)


def _speeds_seen(log: Log, care: IdentifyCare) -> tuple[str, ...]:
    fastest = ", ".join(f"{x:.2f}" for x in np.abs(log.qd).max(axis=0))
    return (
        f"identified at {care.tool_speed:g} m/s of the tool at most; joints reached {fastest} rad/s: nothing is known "
        "of faster motion",
    )


def _excite(ride: WireRide, found: WireExcitation) -> bool:
    """Go through its motions; return whether nothing was felt. It stops at the first alarm."""
    for motion in found.motions:
        followed(ride, motion)
        if not went(ride, motion.duration + PAUSE_SECONDS):
            return False
    return True


def log_of(rows: Array, name: str) -> Log:
    """Return rows (T, `wire_rows.WIDTH`) as a log, by the device's stamps."""
    names = ("q", "qd", "current", "target_current", "target_torque")
    table = {signal: rows[:, PLACES[signal]] for signal in names}
    table["time"] = rows[:, PLACES["device_time"].start]
    return sound_log(table, lambda row: f"sample {row}", name)
