# SPDX-License-Identifier: Apache-2.0
"""`riding`: one ride from the checks before it to its end, and `rehearse_until_quiet`. Not a safety function.

Every part of a job that moves the arm is a ride of its own with a recording of its own, and begins with the same
checks. What ends a ride ends the job; nothing is unlocked, resumed or tried again, except that a rehearsal with learned
bands that alarms is learned from, too, as long as the bands hardly grow.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from armwright.exploration.ride_steps import RideOverError
from armwright.live.wire_checks import check_facts, read_facts
from armwright.live.wire_feeling import Unfelt, WireFeeling
from armwright.live.wire_limits import Watchman
from armwright.live.wire_rehearsal import LearnedBands, first_bands, learned, rehearse
from armwright.live.wire_ride import WireRide
from armwright.live.wire_rows import WIDTH, WireRows
from armwright.live.wire_socket import WireSocket

if TYPE_CHECKING:
    from pathlib import Path

    from armwright.identify.identified import Bands, Identified
    from armwright.live.dead_man import DeadMan
    from armwright.live.wire_checks import WireFacts
    from armwright.live.wire_limits import WireLimits
    from armwright.live.wire_rehearsal import WayMaker
    from armwright.types import Array

MOST_REHEARSALS = 3  # with learned bands, before the job is given up
MOST_GROWTH = 2.0  # of a band from one rehearsal to the next: more is a touch, and nothing to learn from
NOT_PASSED = "rehearsal not passed"
T = TypeVar("T")


@dataclass(frozen=True)
class WireAddress:
    """Where a controller listens: host, and the ports of RTDE, scripts and dashboard."""

    host: str
    port: int = 30004
    script_port: int = 30002
    dashboard: int = 29999

    def facts(self) -> WireFacts:
        """Return what the controller says of itself."""
        return read_facts(self.host, port=self.port, dashboard=self.dashboard)


@dataclass(frozen=True, eq=False, kw_only=True)
class Ridden:
    """What a ride must know of its job.

    Attributes:
        address: of the controller. facts: what it said before anything moved. identified: the model to feel by.
        limits: not to be exceeded. payload: parameters (10,) beyond the model, None for none.
        felt: whether contacts are felt at all; False for an arm of which nothing is known yet.
    """

    address: WireAddress
    facts: WireFacts
    identified: Identified
    limits: WireLimits
    payload: Array | None = None
    felt: bool = True


class Company(NamedTuple):
    """Who is there while an arm moves.

    Attributes:
        settings: what every recording says about the job. out: folder of the recordings, None for none.
        held: the dead-man, None towards a virtual controller.
        tell: is told in a sentence what comes next. watch: is given every ride when it has started.
    """

    settings: dict[str, Any]
    out: Path | None = None
    held: DeadMan | None = None
    tell: Callable[[str], Any] = lambda _: None
    watch: Callable[[WireRide], Any] = lambda _: None


@contextlib.contextmanager
def riding(
    job: Ridden, bands: Bands, company: Company, name: str, torque: Array | None = None
) -> Iterator[tuple[WireRide, WireRows]]:
    """Check the controller again, start a ride with these bands, and bring it to its end, whatever happens.

    Args:
        job: what it knows.
        bands: that do not count as contact.
        company: who is there.
        name: of its recording.
        torque: (n,) external torque that is given way to at once [N m]; None for no such cap.

    Raises:
        InputError, LabError: it cannot be started; nothing was moved.
    """
    check_facts(job.address.facts(), job.identified.robot, _told(job))
    socket = WireSocket(job.address.host, port=job.address.port, script_port=job.address.script_port)
    socket.connect_all()
    limits = replace(job.limits, torque=torque)
    said = company.settings | {"part": name, "bands": np.asarray(bands.motion).tolist(), "bands_rest": bands.rest}
    said["torque_caps"] = None if torque is None else np.asarray(torque).tolist()
    rows = None
    try:
        kind = WireFeeling if job.felt else Unfelt
        feeling = kind(job.identified, bands, socket.period, payload=job.payload)
        watchman = Watchman(job.identified.robot, limits)
        path = None if company.out is None else company.out / name
        rows = WireRows(job.identified.robot, path, said)
        ride = WireRide(socket, feeling, watchman, rows, held=company.held)
    except BaseException:
        socket.close()
        if rows is not None:
            rows.close("not started")
        raise
    try:
        ride.start()
        company.watch(ride)
        yield ride, rows
    finally:
        try:
            ride.close()
        finally:
            rows.close(ride.reason or "closed")


def _told(job: Ridden) -> tuple[float, tuple[float, float, float]]:
    values = job.facts.values
    return float(values.get("payload", 0.0)), tuple(values.get("payload_cog", (0.0, 0.0, 0.0)))


class QuietRide(NamedTuple, Generic[T]):
    """What came of rehearsals, and of what followed on the ride that was quiet.

    Attributes:
        found: what was done on the ride that was quiet; None if none was.
        outcome: "", or why it ended: that of the ride that ended it, or "rehearsal not passed". message: in a sentence.
        known: the bands that were learned; None if not even those. attempts: rehearsals with learned bands.
        rows: (T, WIDTH) of all of them. figures: of the last ride.
    """

    found: T | None
    outcome: str
    message: str
    known: LearnedBands | None
    attempts: int
    rows: Array
    figures: dict[str, float]


def rehearse_until_quiet(
    job: Ridden,
    ways_of: Callable[[int], WayMaker],
    seconds: float,
    seed: int,
    company: Company,
    then: Callable[[WireRide, LearnedBands], T | None],
) -> QuietRide[T]:
    """Rehearse with wide bands, learn, rehearse with those; on the ride on which no alarm came go on with `then`.

    Args:
        job: what rides know.
        ways_of: free motions of an attempt.
        seconds: of each rehearsal.
        seed: of the places at which motions are broken off.
        company: recordings, dead-man, who is told.
        then: goes on with the ride; None from it stands for another rehearsal.

    Raises:
        InputError: the controller is no longer as it has to be.
        LabError: a ride cannot be started.
    """
    bands, rows = first_bands(job.identified), np.zeros((0, WIDTH))
    torque: Array | None = None
    known: LearnedBands | None = None
    figures: dict[str, float] = {}
    for tries in range(MOST_REHEARSALS + 1):  # the first with wide bands
        name = f"ride-{tries}.mcap" if tries else "rehearsal.mcap"
        with riding(job, bands, company, name, torque) as (ride, kept):
            period = ride.period
            how = "the bands that were learned" if tries else "wide bands"
            company.tell(f"rehearsing for {seconds:.0f} s with {how}")
            try:
                quiet = rehearse(ride, ways_of(tries), seconds, np.random.default_rng([seed, tries]))
                if known is not None and quiet:
                    found = then(ride, known)
                    if found is not None:
                        rows = np.vstack([rows, kept.since(-np.inf)])
                        return QuietRide(found, "", "", known, tries, rows, figures_of(ride))
            except RideOverError as over:
                rows = np.vstack([rows, kept.since(-np.inf)])
                return QuietRide(None, over.why, over.reason, known, tries, rows, figures_of(ride))
            rows, figures = np.vstack([rows, kept.since(-np.inf)]), figures_of(ride)
        if known is None and not quiet:
            message = (
                "an alarm came though the bands were wide: something stands where it rehearses, or it is another arm"
            )
            return QuietRide(None, NOT_PASSED, message, None, tries, rows, figures)
        now = learned(job.identified, rows, period, job.payload)
        message = _doubts(job, known, now)
        known, bands, torque = now, now.bands, now.torque
        if message:
            return QuietRide(None, NOT_PASSED, message, known, tries, rows, figures)
    message = f"alarms came in {MOST_REHEARSALS} rehearsals with bands that were learned before"
    return QuietRide(None, NOT_PASSED, message, known, MOST_REHEARSALS, rows, figures)


def _doubts(job: Ridden, before: LearnedBands | None, known: LearnedBands) -> str:
    """Return why bands are not fit to go on with, "" if they are."""
    if known.force >= job.limits.force:
        return (
            f"free motion alone is felt as {known.force:.0f} N, the cap is {job.limits.force:.0f} N: raise it, or "
            "identify the arm anew"
        )
    if before is not None:
        grown = known.bands.motion / before.bands.motion
        if (grown > MOST_GROWTH).any():
            j = int(np.argmax(grown))
            return (
                f"{job.identified.robot.joints[j].name} felt {grown[j]:.1f} times as much as in the rehearsal before: "
                "was something touched?"
            )
    return ""


def figures_of(ride: WireRide) -> dict[str, float]:
    """Return gaps, alarms, samples, and processor time a sample [µs] of a ride."""
    per = 1e6 * ride.cpu / max(1, ride.samples)
    return {"gaps": ride.gaps, "alarms": ride.alarms, "samples": ride.samples, "cpu_us_per_sample": per}
