# SPDX-License-Identifier: Apache-2.0
"""What the whole arm does after a contact: hold, back off along the way driven, or give way to the felt torque."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics import mass_matrix
from armwright.exploration.joints.felt import alarmed, measured, wait
from armwright.exploration.joints.motion import joint_motion
from armwright.exploration.joints.touch_map import link_ends
from armwright.motion.reference import Reference

if TYPE_CHECKING:
    from armwright.exploration.joints.run import JointRun
    from armwright.types import Array

SETTLE = 0.1  # [s] for the observer to forget
OFF = 0.05  # [m] that the arm's fastest part gives way
TAKE_OFF = 0.04  # [m] of the trail that is not trusted any more if the arm still touches there


def hold(run: JointRun, seconds: float = 0.3) -> None:
    """Stand still where the arm is, pushing no further."""
    q = measured(run.session)
    run.session.follow(Reference(q, np.zeros(len(q)), np.zeros(len(q))))
    wait(run.session, seconds)


def yielding(run: JointRun, q: Array, tau: Array) -> Array:
    """Direction (n,) in which the controlled arm gives way to joint torques: K_0⁻¹ M⁻¹ tau (000 §3.7).

    Under computed torque the arm rests at q_ref − q = −K_0⁻¹ M⁻¹ tau_ext, so this is also the offset of the reference
    that presses back with the same torques.
    """
    kp: Any = run.session.parts.law.gains.get("kp", 1.0)
    return np.asarray(np.linalg.solve(mass_matrix(run.task.believed, q), tau) / np.broadcast_to(kp, q.shape))


def given_way(run: JointRun, q: Array, tau: Array, distance: float = OFF) -> Array:
    """The posture (n,) reached from q by giving way to `tau` until the arm's fastest part has moved `distance` [m]."""
    task, links = run.task, run.map.links
    d = yielding(run, q, tau)
    size = float(np.abs(d).max())
    if size < 1e-12:
        return q
    d = d / size
    h = 1e-3
    moved = np.linalg.norm(
        link_ends(task.believed, links, q + h * d) - link_ends(task.believed, links, q), axis=-1
    ).max()
    step = min(distance * h / max(float(moved), 1e-9), 0.6)
    return np.clip(q + step * d, task.lower, task.upper)


def go(run: JointRun, rows: Array) -> None:
    """Move from the present reference through rows (m, n), whatever is felt: the way is known."""
    now = run.session.reference_at(np.array([run.session.time])).q[0]
    motion = joint_motion(run.task.believed, run.map.links, np.vstack([now, rows]), run.task.speed)
    run.session.follow(motion)
    left = run.task.duration - run.session.time
    if left > SETTLE:
        wait(run.session, min(motion.duration + SETTLE, left))


def still_touching(run: JointRun) -> bool:
    """Whether the arm has not come free: then the end of the trail is given up."""
    if not alarmed(run.session):
        return False
    ends = link_ends(run.task.believed, run.map.links, np.array(run.trail)).reshape(len(run.trail), -1, 3)
    far = np.linalg.norm(ends - ends[-1], axis=-1).max(axis=1)
    keep = np.flatnonzero(far > TAKE_OFF)
    del run.trail[int(keep[-1]) + 1 if len(keep) else 0 :]
    return True


def retract(run: JointRun, q: Array, tau: Array) -> None:
    """Give way to the felt torque, and trust the posture reached if nothing known is there and no alarm stays on."""
    target = given_way(run, q, tau)
    if run.map.arm(margin=0.0).clearance(target) <= 0.0:
        return
    go(run, target[None])
    if not alarmed(run.session):
        run.trail.append(target)
