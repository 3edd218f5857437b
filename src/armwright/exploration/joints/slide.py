# SPDX-License-Identifier: Apache-2.0
"""Sliding with the whole arm along what it touches, without knowing where it touches.

The felt joint torques are tau_ext = J_cᵀF whatever the place c. A joint motion dq with tau_extᵀ dq = 0 does no work
against the surface: it slides. So the motion towards the next piece of the planned way is projected on that plane, in
the metric of the arm's levers, and the press is kept by the reference lying −K_0⁻¹ M⁻¹ tau_des off the posture, with
tau_des along the felt torques and its size corrected by what is missing (integral control).

It ends when contact is lost, when the way leads off the surface, when something else is in the way, or when it makes no
headway.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from armwright.contact.isolation.surface import pushes
from armwright.exploration.joints.felt import Felt, measured, torque, wait
from armwright.exploration.joints.places import find_places
from armwright.exploration.joints.react import given_way, go, yielding
from armwright.exploration.joints.touch_map import link_ends
from armwright.exploration.motion import glide
from armwright.motion.reference import Reference

if TYPE_CHECKING:
    from armwright.exploration.joints.run import JointRun
    from armwright.types import Array

STEP = 0.04  # [s]
FORCE = 10.0  # [N] to press with where the place is known
LOUD = 6.0  # standard deviations of the torque to press with where it is not …
LEAST = 4.0  # … and not less than this [N m]
LOST, LOST_STEPS = 0.2, 6  # share of the press below which, and how many steps, there is no contact
HARDEST = 5.0  # times the press: something else is in the way
INTEGRAL, SMOOTH = 0.3, 0.3
PACE = 0.3  # of the run's speed
AHEAD = 0.20  # [m] on the planned way to aim at
LEAVE = 0.8  # cosine to the felt torque above which the way leads off
HEADWAY, PATIENCE = 0.02, 1.5  # [m] of the way that must be gained within so many seconds
LONGEST = 20.0  # [s]
MARK = 0.03  # [m] of sliding between places that are put on the map
OFF = 0.04  # [m] off the surface where the way back leads


def slide(run: JointRun, felt: Felt) -> None:
    """Slide from a contact along the way that is planned around it; mark what is felt, and leave a way to go on."""
    session, task, links = run.session, run.task, run.map.links
    found = run.plan()
    if found is None:
        return
    path = _dense(found[0].path)
    way = _lengths(run, path)
    u = felt.tau / np.linalg.norm(felt.tau)
    wanted = _wanted(run, felt)
    press = min(max(float(u @ (torque(session) - felt.level)), wanted), 2.0 * wanted)
    A = 1.0 / np.maximum(found[2].levers, 1e-3) ** 2
    began, lost, best, since = session.time, 0, np.inf, session.time
    marked = link_ends(task.believed, links, measured(session))
    while session.time < min(began + LONGEST, task.duration - STEP):
        q = measured(session)
        k = int(np.argmin(np.abs(path - q) @ found[2].levers))
        left = float(way[-1] - way[k])
        if left < best - HEADWAY:
            best, since = left, session.time
        elif session.time - since > PATIENCE:
            break
        d = path[min(int(np.searchsorted(way, way[k] + AHEAD)), len(path) - 1)] - q
        scale = float(np.sqrt((u @ (A * u)) * (d @ (d / A))))
        if scale < 1e-9 or float(u @ d) > LEAVE * scale:
            break
        along = d - A * u * float(u @ d) / float(u @ (A * u))
        along = along * _pace(run, q, along)
        q1 = q + STEP * along - yielding(run, q, press * u)
        if (q1 < task.lower).any() or (q1 > task.upper).any():
            break
        now = session.reference_at(np.array([session.time]))
        start = Reference(now.q[0], now.qd[0], 0.0 * q)
        session.follow(glide(start, q1, along, STEP))
        wait(session, STEP)
        task.progress(session.time / task.duration, len(run.contacts))
        tau = torque(session) - felt.level
        size = float(u @ tau)
        lost = lost + 1 if size < LOST * wanted else 0
        if lost >= LOST_STEPS or float(np.linalg.norm(tau)) > HARDEST * wanted:
            break
        if size >= LOST * wanted:
            u = (1.0 - SMOOTH) * u + SMOOTH * tau / np.linalg.norm(tau)
            u = u / np.linalg.norm(u)
            marked = _mark(run, felt, marked, tau)
        press = float(np.clip(press + INTEGRAL * (wanted - size), 0.0, 2.0 * wanted))
    q = measured(session)
    target = given_way(run, q, u, OFF)
    go(run, target[None])
    run.trail.append(target)
    run.row = session.log.count


def _dense(path: Array) -> Array:
    parts = [path[:1]]
    for a, b in pairwise(path):
        count = max(1, int(np.ceil(np.abs(b - a).max() / 0.02)))
        parts.append(a + (b - a) * (np.arange(1, count + 1) / count)[:, None])
    return np.concatenate(parts)


def _lengths(run: JointRun, path: Array) -> Array:
    """Way of the arm's fastest part along a path (N, n), (N,) [m]."""
    ends = link_ends(run.task.believed, run.map.links, path).reshape(len(path), -1, 3)
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(ends, axis=0), axis=-1).max(axis=1))])


def _wanted(run: JointRun, felt: Felt) -> float:
    """Size of the torque to press with [N m]."""
    places = felt.places
    if places.sure:
        linear, _ = pushes(run.task.believed, felt.q, places.body, places.points[:1])
        return max(FORCE * float(np.linalg.norm(linear[0].T @ places.normal)), LEAST)
    return max(LOUD * float(np.sqrt(np.trace(run.task.noise.later))), LEAST)


def _pace(run: JointRun, q: Array, along: Array) -> float:
    """Factor that makes the arm's fastest part move at the pace of sliding."""
    size = float(np.abs(along).max())
    if size < 1e-9:
        return 0.0
    h = 1e-3 / size
    ends = link_ends(run.task.believed, run.map.links, np.stack([q, q + h * along]))
    speed = float(np.linalg.norm(ends[1] - ends[0], axis=-1).max()) / h
    return PACE * run.task.speed / max(speed, 1e-6)


def _mark(run: JointRun, felt: Felt, last: Array, tau: Array) -> Array:
    """Put the surface on the map every few centimetres, and a posture off it on the trail."""
    task, q = run.task, measured(run.session)
    ends = link_ends(task.believed, run.map.links, q)
    if np.linalg.norm(ends - last, axis=-1).max() < MARK:
        return last
    places = find_places(run.map, q, tau, task.noise.later)
    if places.sure:
        run.mark(Felt(run.session.time, run.session.time, q, felt.level, tau, places))
    run.trail.append(given_way(run, q, tau, OFF))
    return ends
