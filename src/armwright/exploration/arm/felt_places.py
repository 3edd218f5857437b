# SPDX-License-Identifier: Apache-2.0
"""From an alarm of the whole arm to a contact: the places on its links that explain the torques.

After an alarm, `listen` lets the ride brake while the torques rise, and calls `find_places`. Every patch of the links'
surfaces gets a probability (`isolate`), made of

  * the evidence of a push there: some force within the friction cone explains the torques;
  * at an impact, the speed at which the patch moved towards new things (`moved_towards`), as a factor; while sliding,
    motion tells nothing;
  * a factor near zero where the arm itself has swept before.

If nearly all of the probability lies close together, that is the place. It is never one place where no single contact
explains the torques. Otherwise the likeliest patches that together hold most of the probability are kept as places of
doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact.isolation.contact_growth import grown_as_one
from armwright.contact.isolation.contact_patches import contact_patches, mass_within
from armwright.contact.isolation.isolate import Isolation, isolate, moved_towards
from armwright.contact.isolation.torque_change import CHANGE_WINDOW, GAP_BEFORE_ALARM, level_before
from armwright.exploration.arm.touch_map import PASSED_DEPTH, TouchMap, depth_in
from armwright.exploration.exploration_result import Contact
from armwright.kinematics import fk
from armwright.world.arm_capsules import LinkCapsule, link_capsules

if TYPE_CHECKING:
    from armwright.exploration.arm.arm_run import ArmRun
    from armwright.types import Array

UNEXPLAINED_SHARE = (
    0.02  # of the torques left unexplained by the observer's lag of 10 ms, if a push rises within half a second
)
KEPT_PROBABILITY = (
    0.9  # share of the probability that the kept places hold together: one contact in ten was at none of them
)
PLACE_SPACING = 0.03  # [m] between the places that are kept: what "located" means (`isolate`)
MOST_PLACES = 12  # places that are kept: more would close every way
CERTAIN = (
    0.95  # share of the probability within `PLACE_SPACING` of the likeliest place that makes it one; as in `isolate`
)
SWEPT = 1e-3  # weight of places where the arm has been: it may have scratched by


class ContactPlaces(NamedTuple):
    """Places where a contact may have been.

    Attributes:
        points: (m, 3) the likeliest first [m]. share: (m,) of the probability that each stands for.
        sure: whether it is one place, by torques, motion and what the arm swept together.
        normal: (3,) out of the link at the likeliest place. force: (3,) on the link there [N].
        body: that link's index, -1 if nothing is known. links: probability of each link by name.
        isolation: all that is known of the contact.
    """

    points: Array
    share: Array
    sure: bool
    normal: Array
    force: Array
    body: int
    links: dict[str, float]
    isolation: Isolation


def find_places(
    known: TouchMap,
    q: Array,
    tau: Array,
    noise: Array,
    *,
    qd: Array | None = None,
    capsules: Sequence[LinkCapsule] | None = None,
    earlier: Array | None = None,
    claim: bool = True,
) -> ContactPlaces:
    """Return the places that explain external joint torques.

    Args:
        known: the map so far.
        q: configuration (n,) in contact.
        tau: external joint torque (n,) [N m].
        noise: of its estimate: standard deviations (n,) [N m] or a covariance (n, n).
        qd: joint velocities (n,) before an impact; None while sliding.
        capsules: the links' surfaces.
        earlier: external joint torque (n,) while the contact still grew; None if no such moment is known.
        claim: whether one place may count as certain: not where the level before the contact is unknown.
    """
    robot = known.robot
    parts = tuple(link_capsules(robot) if capsules is None else capsules)
    S = (noise if noise.ndim == 2 else np.diag(noise**2)) + (
        UNEXPLAINED_SHARE * float(np.abs(tau).max())
    ) ** 2 * np.eye(len(q))
    towards = None if qd is None else moved_towards(qd)

    def beside(points: Array, normals: Array, jacobian: Array) -> Array:
        swept = depth_in(robot, known.links, known.swept, points) > PASSED_DEPTH
        log = np.where(swept, np.log(SWEPT), 0.0)
        return log if towards is None else log + towards(points, normals, jacobian)

    found = isolate(robot, q, tau, S, capsules=parts, place=PLACE_SPACING, beside=beside)
    if earlier is not None:
        found = grown_as_one(found, robot, q, tau, earlier, S)
    patches = found.patches or contact_patches(robot, q, tau, S, capsules=parts, beside=beside)
    p = patches.probability
    sure = claim and found.certainty >= CERTAIN and found.outcome not in ("several", "no contact")
    kept = _kept(patches.points, p)
    if sure:
        assert found.point is not None
        kept = [int(np.argmin(np.linalg.norm(patches.points - found.point, axis=1)))]
    best = kept[0]
    links = {robot.bodies[b].name: float(p[patches.body == b].sum()) for b in np.unique(patches.body).tolist()}
    return ContactPlaces(
        patches.points[kept],
        np.minimum(mass_within(patches, patches.points[kept], PLACE_SPACING), 1.0),
        sure,
        patches.normals[best],
        patches.force[best],
        int(patches.body[best]),
        {name: value for name, value in sorted(links.items(), key=lambda item: -item[1]) if value > 1e-3},
        found,
    )


def _kept(points: Array, p: Array) -> list[int]:
    """Return the indices of patches, likeliest first and apart from each other, that hold most of the probability."""
    kept: list[int] = []
    covered = np.zeros(len(p), dtype=bool)
    for k in np.argsort(-p).tolist():
        if len(kept) >= MOST_PLACES or float(p[covered].sum()) >= KEPT_PROBABILITY:
            break
        if not covered[k]:
            kept.append(k)
            covered |= np.linalg.norm(points - points[k], axis=1) <= PLACE_SPACING
    return kept


BRAKE_SECONDS = 0.06  # [s] to a stop: the braking distance (8 mm at 0.25 m/s) presses on what the arm touches
LISTEN = 2.0 * BRAKE_SECONDS  # [s] after the alarm in which the torque may still grow: the observer lags by 10 ms
HALFWAY = 0.3  # of the loudest torque, by which an earlier one may miss half of it to tell how a contact grew
LISTEN_SECONDS = 0.004  # [s] between looks: two ticks of 500 Hz, less than the observer's lag
SAME_FELT_DISTANCE = 0.01  # [m] within which a place is one that was felt before


class FeltContact(NamedTuple):
    """A contact as it was felt.

    Attributes:
        time: of the alarm [s]. heard: when it was loudest.
        q: configuration then (n,).
        level: felt torque before the contact (n,), zero where that is not known [N m].
        tau: its change since then [N m].
        places: that explain the change.
        desired: where the tool should have been at the alarm (3,) [m].
    """

    time: float
    heard: float
    q: Array
    level: Array
    tau: Array
    places: ContactPlaces
    desired: Array


def listen(run: ArmRun) -> FeltContact:
    """Brake to where the arm is and find the places that explain the largest change of torque felt while doing so."""
    ride, noise, begun = run.ride, run.job.noise, run.ride.moment()
    # without an alarm, something has held the arm for a while: what was felt just before belongs to it
    level = level_before(ride.torques(CHANGE_WINDOW + GAP_BEFORE_ALARM), ride.period) if begun.alarmed else None
    covariance, claim = (noise.later, False) if level is None else (noise.soon, True)
    level = np.zeros(ride.n) if level is None else level
    size = np.sqrt(np.diag(covariance))
    first, *later = ride.listen(BRAKE_SECONDS, LISTEN, LISTEN_SECONDS)
    q, tau, heard = first.q, first.tau_ext - level, first.time
    heard_before = [tau]
    for look in later:
        now = look.tau_ext - level
        if np.linalg.norm(now / size) > np.linalg.norm(tau / size):
            q, tau, heard = look.q, now, look.time
            heard_before.append(tau)
    earlier = _halfway(heard_before, size)
    places = find_places(run.map, q, tau, covariance, qd=begun.desired.qd, earlier=earlier, claim=claim)
    return FeltContact(begun.time, heard, q, level, tau, places, fk(run.job.believed, begun.desired.q)[:3, 3])


def _halfway(heard: Sequence[Array], size: Array) -> Array | None:
    """Return the torques (n,) nearest to half of the last ones, which are the loudest; None if none is near half."""
    loud = np.array([float(np.linalg.norm(tau / size)) for tau in heard]) / float(np.linalg.norm(heard[-1] / size))
    k = int(np.argmin(np.abs(loud - 0.5)))
    return heard[k] if abs(loud[k] - 0.5) <= HALFWAY else None


def contact_of(run: ArmRun, felt: FeltContact) -> Contact:
    """Return the contact as it is recorded."""
    places = felt.places
    likely = places.points[0] if len(places.points) else felt.desired
    cell = tuple(int(c) for c in run.grids[-1].grid.cell(likely))
    again = bool(len(run.map.points) and np.linalg.norm(run.map.points - likely, axis=1).min() < SAME_FELT_DISTANCE)
    actual = fk(run.job.believed, felt.q)[:3, 3]
    unknown = np.full(3, np.nan)
    return Contact(
        felt.time, np.nan, cell, again, felt.desired, actual, places.force, unknown, "", "", felt.q, places, None
    )
