# SPDX-License-Identifier: Apache-2.0
"""Sliding with the whole arm along what it touches, without knowing where it touches.

The felt joint torques are tau_ext = J_cᵀF whatever the place c. A joint motion dq with tau_extᵀ dq = 0 does no work
against the surface: it slides. So the motion towards the next piece of the planned way is projected on that plane, in
the metric of the arm's levers, and the press is kept by the reference lying −K_0⁻¹ M⁻¹ tau_des off the configuration,
with tau_des along the felt torques and its size corrected by what is missing (integral control).

It ends when contact is lost, when the way leads off the surface, when something else is in the way, or when it makes no
headway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.contact.isolation.link_surface import pushes
from armwright.exploration.arm.felt_places import find_places
from armwright.exploration.arm.plan_arm import given_way, go, plan_anew, yielding
from armwright.exploration.arm.touch_map import ends_at
from armwright.exploration.exploration_run import DIRECTION_SMOOTHING, SLIDE_PATIENCE, SLIDE_STEP
from armwright.exploration.ride_steps import followed, glide, wait
from armwright.planning.waypoints import densified

if TYPE_CHECKING:
    from armwright.exploration.arm.arm_run import ArmRun
    from armwright.exploration.arm.felt_places import FeltContact
    from armwright.types import Array

STEP = SLIDE_STEP
ARM_PRESS_FORCE = 10.0  # [N] to press with where the place is known: below the 12 N of the tool's alarm
LOUD = 6.0  # times the torque's standard deviation, to press with where it is not: clear of the noise …
LEAST_TORQUE = 4.0  # … and not less than this [N m]: `ARM_PRESS_FORCE` on a lever of 0.4 m, half of a UR5's reach
LOST_PRESS_SHARE, LOST_STEPS = (
    0.2,
    6,
)  # contact is lost below this share of the press for this many steps: a quarter second
ARM_PRESS_FACTOR = 5.0  # times the press, above which something else is in the way
PRESS_CORRECTION = (
    0.3  # share of the missing press that is corrected in a step: the arm follows a step late, so not all of it
)
PACE = 0.3  # share of the run's speed: 75 mm/s, at which a second surface stops the arm gently
AIM_DISTANCE = 0.20  # [m] ahead on the planned way that is aimed at: farther than the surface bends within a step
WAY_SPACING = 0.02  # [rad] between points of the planned way, as planners look at it
LEAVE_TORQUE_COSINE = 0.8  # cosine to the felt torque above which the way leads off: about 37 degrees
HEADWAY_DISTANCE = 0.02  # [m] of the way that must be gained within `SLIDE_PATIENCE`: a sixth of the pace
ARM_SLIDE_SECONDS = 20.0  # [s] of sliding: 1.5 m at its pace, about a UR5's whole reach
MARK = 0.03  # [m] of sliding between places that are put on the map: the balls about them touch
RETURN_DISTANCE = 0.04  # [m] between the surface and the way back: what is not trusted where the arm still touches


def slide(run: ArmRun, felt: FeltContact) -> None:
    """Slide from a contact along the way that is planned around it; mark what is felt, and leave a way to go on."""
    ride, job, links = run.ride, run.job, run.map.links
    found = plan_anew(run)
    if found is None:
        return
    path = densified(found.plan.path, WAY_SPACING)
    way = _lengths(run, path)
    u = felt.tau / np.linalg.norm(felt.tau)
    wanted = _wanted(run, felt)
    press = min(max(float(u @ (ride.felt().tau_ext - felt.level)), wanted), 2.0 * wanted)
    A = 1.0 / np.maximum(found.known.levers, 1e-3) ** 2
    began, lost, best, since = ride.time, 0, np.inf, ride.time
    marked = ends_at(job.believed, links, ride.measured().q)
    while ride.time < min(began + ARM_SLIDE_SECONDS, run.until - STEP):
        q = ride.measured().q
        k = int(np.argmin(np.abs(path - q) @ found.known.levers))
        left = float(way[-1] - way[k])
        if left < best - HEADWAY_DISTANCE:
            best, since = left, ride.time
        elif ride.time - since > SLIDE_PATIENCE:
            break
        d = path[min(int(np.searchsorted(way, way[k] + AIM_DISTANCE)), len(path) - 1)] - q
        scale = float(np.sqrt((u @ (A * u)) * (d @ (d / A))))
        if scale < 1e-9 or float(u @ d) > LEAVE_TORQUE_COSINE * scale:
            break
        along = d - A * u * float(u @ d) / float(u @ (A * u))
        along = along * _pace(run, q, along)
        q1 = q + STEP * along - yielding(run, q, press * u)
        if (q1 < job.lower).any() or (q1 > job.upper).any():
            break
        followed(ride, glide(ride.reference(), q1, along, STEP))
        wait(ride, STEP)
        run.tell()
        tau = ride.felt().tau_ext - felt.level
        size = float(u @ tau)
        lost = lost + 1 if size < LOST_PRESS_SHARE * wanted else 0
        if lost >= LOST_STEPS or float(np.linalg.norm(tau)) > ARM_PRESS_FACTOR * wanted:
            break
        if size >= LOST_PRESS_SHARE * wanted:
            u = (1.0 - DIRECTION_SMOOTHING) * u + DIRECTION_SMOOTHING * tau / np.linalg.norm(tau)
            u = u / np.linalg.norm(u)
            marked = _mark(run, marked, tau)
        press = float(np.clip(press + PRESS_CORRECTION * (wanted - size), 0.0, 2.0 * wanted))
    q = ride.measured().q
    target = given_way(run, q, u, RETURN_DISTANCE)
    go(run, target[None])
    run.trail.append(target)
    run.since = ride.time


def _lengths(run: ArmRun, path: Array) -> Array:
    """Return the distance (N,) [m] that the arm's fastest part travels along a path (N, n)."""
    ends = ends_at(run.job.believed, run.map.links, path).reshape(len(path), -1, 3)
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(ends, axis=0), axis=-1).max(axis=1))])


def _wanted(run: ArmRun, felt: FeltContact) -> float:
    """Return the size of the torque to press with [N m]."""
    places = felt.places
    if places.sure:
        linear, _ = pushes(run.job.believed, felt.q, places.body, places.points[:1])
        return max(ARM_PRESS_FORCE * float(np.linalg.norm(linear[0].T @ places.normal)), LEAST_TORQUE)
    return max(LOUD * float(np.sqrt(np.trace(run.job.noise.later))), LEAST_TORQUE)


def _pace(run: ArmRun, q: Array, along: Array) -> float:
    """Return the factor that makes the arm's fastest part move at the pace of sliding."""
    size = float(np.abs(along).max())
    if size < 1e-9:
        return 0.0
    h = 1e-3 / size
    ends = ends_at(run.job.believed, run.map.links, np.stack([q, q + h * along]))
    speed = float(np.linalg.norm(ends[1] - ends[0], axis=-1).max()) / h
    return PACE * run.job.speed / max(speed, 1e-6)


def _mark(run: ArmRun, last: Array, tau: Array) -> Array:
    """Put the surface on the map every few centimetres, and a configuration off it on the trail."""
    job, q = run.job, run.ride.measured().q
    ends = ends_at(job.believed, run.map.links, q)
    if np.linalg.norm(ends - last, axis=-1).max() < MARK:
        return last
    places = find_places(run.map, q, tau, job.noise.later)
    if places.sure:
        run.mark_places(places, q)
    run.trail.append(given_way(run, q, tau, RETURN_DISTANCE))
    return ends
