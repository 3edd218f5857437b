# SPDX-License-Identifier: Apache-2.0
"""From an alarm to a contact: brake, listen while the torques rise, find the place, put the truth beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.contact.ground_truth import contact_report
from armwright.exploration.joints.places import Places, find_places
from armwright.exploration.motion import glide
from armwright.exploration.result import Contact
from armwright.kinematics import fk
from armwright.motion.reference import Reference

if TYPE_CHECKING:
    from armwright.exploration.joints.run import JointRun
    from armwright.simulation.session import Session
    from armwright.types import Array

BRAKE = 0.06  # [s] to a stand: what the arm runs on by presses on what it touches
LISTEN = 0.12  # [s] from the alarm on in which the largest torque is waited for
LOOK = 0.004  # [s] between looks
EPISODE = 0.1  # [s] a shorter gap between touches belongs to the same contact


class Felt(NamedTuple):
    """What an alarm was about: when it was loudest, posture then, velocity before, torque, places that explain it."""

    time: float
    heard: float
    q: Array
    qd: Array
    tau: Array
    places: Places


def measured(session: Session) -> Array:
    """Joint positions (n,) as the arm sees them."""
    n = session.parts.n
    now = session.loop.get("measured")[0, :n] if session.parts.sensors is not None else session.state[0][:n]
    return np.array(now)


def torque(session: Session) -> Array:
    """External joint torque (n,) as the arm feels it [N m]."""
    return np.array(session.loop.get("tau_ext")[0])


def alarmed(session: Session) -> bool:
    """Whether an alarm is on."""
    return any(float(session.loop.get(name)[0, 0]) >= 0.0 for name in session.loop.plan.alarms)


def wait(session: Session, seconds: float) -> None:
    """Run on, whatever is felt."""
    until = session.time + seconds
    while session.time < until - 0.5 * session.parts.period:
        session.run(until - session.time)


def listen(run: JointRun) -> Felt:
    """Brake to where the arm is and find the places that explain the largest torque felt while doing so."""
    session, task = run.session, run.task
    at = session.time
    now = [np.array(part[0]) for part in session.reference_at(np.array([at]))]
    here = measured(session)
    session.follow(glide(Reference(*now), now[0] + 0.5 * BRAKE * now[1], np.zeros(len(here)), BRAKE))
    best = (np.linalg.norm(torque(session) / task.noise), here, torque(session))
    heard = at
    while session.time < at + LISTEN - 0.5 * session.parts.period:
        wait(session, max(LOOK, session.parts.period))
        size = np.linalg.norm(torque(session) / task.noise)
        if size > best[0]:
            best, heard = (size, measured(session), torque(session)), session.time
    places = find_places(run.map, best[1], now[1], best[2], task.noise)
    return Felt(at, heard, best[1], now[1], best[2], places)


def contact_of(run: JointRun, felt: Felt) -> Contact:
    """The contact as it is recorded, with what really happened."""
    task, session, n = run.task, run.session, run.session.parts.n
    rows = session.log.rows(run.row)[0, :, : 1 + 2 * n]
    time = rows[:, 0]
    rows = rows[time > felt.time - 1.0]
    truth = contact_report(task.robot, task.world, rows[:, 1 : 1 + n], rows[:, 1 + n :])
    began, link, shape, force, point = float("nan"), "", "", np.zeros(3), None
    time = rows[:, 0]
    touched = np.flatnonzero(truth.touching)
    before = touched[time[touched] <= felt.time + 1e-9]
    if len(before) and time[before[-1]] > felt.time - EPISODE:
        gaps = np.flatnonzero(np.diff(time[before]) > EPISODE)
        began = float(time[before[gaps[-1] + 1 if len(gaps) else 0]])
        # the torque is heard through a filter: what touched hardest until then
        span = np.flatnonzero((time[truth.step] >= began) & (time[truth.step] <= felt.heard + 1e-9))
        main = span[int(np.argmax(np.linalg.norm(truth.force[span], axis=1)))]
        link, shape = truth.links[truth.body[main]], truth.shapes[truth.shape[main]]
        force, point = truth.total_force[truth.step[main]], truth.point[main]
    desired = fk(task.believed, session.reference_at(np.array([felt.time])).q[0])[:3, 3]
    likely = felt.places.points[0] if len(felt.places.points) else desired
    cell = tuple(int(c) for c in run.grids[-1].grid.cell(likely))
    again = bool(len(run.map.points) and np.linalg.norm(run.map.points - likely, axis=1).min() < 0.01)
    actual = fk(task.believed, felt.q)[:3, 3]
    places = felt.places
    return Contact(
        felt.time, began, cell, again, desired, actual, places.force, force, link, shape, felt.q, places, point
    )
