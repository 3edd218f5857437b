# SPDX-License-Identifier: Apache-2.0
"""What the whole arm does after a contact: back off along the way driven, or give way to the felt torque."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.dynamics import mass_matrix
from armwright.exploration.arm.arm_motion import arm_motion
from armwright.exploration.arm.touch_map import ends_at
from armwright.exploration.driving import alarmed, reference_now, wait

if TYPE_CHECKING:
    from armwright.exploration.arm.arm_run import ArmRun
    from armwright.types import Array

FORGET = 0.1  # [s] for the observer to forget: ten time constants of its gain of 100 /s
OFF = 0.05  # [m] that the arm's fastest part gives way: three times the ball about a felt place
TAKE_OFF = 0.04  # [m] of the trail that is not trusted any more if the arm still touches there, within `OFF`
MOST_TURN = 0.6  # [rad, m] that a joint gives way at most, where its lever is short
NUDGE = 1e-3  # [rad, m] for a derivative by differences


def yielding(run: ArmRun, q: Array, tau: Array) -> Array:
    """Direction (n,) in which the controlled arm gives way to joint torques: K_0⁻¹ M⁻¹ tau (000 §3.7).

    Under computed torque the arm rests at q_ref − q = −K_0⁻¹ M⁻¹ tau_ext, so this is also the offset of the reference
    that presses back with the same torques.
    """
    kp: Any = run.session.parts.law.gains.get("kp", 1.0)
    return np.asarray(np.linalg.solve(mass_matrix(run.job.believed, q), tau) / np.broadcast_to(kp, q.shape))


def given_way(run: ArmRun, q: Array, tau: Array, distance: float = OFF) -> Array:
    """Configuration (n,) that q gives way to under `tau`, the arm's fastest part having moved by `distance` [m]."""
    job, links = run.job, run.map.links
    d = yielding(run, q, tau)
    size = float(np.abs(d).max())
    if size < 1e-12:
        return q
    d = d / size
    h = NUDGE
    moved = np.linalg.norm(ends_at(job.believed, links, q + h * d) - ends_at(job.believed, links, q), axis=-1).max()
    step = min(distance * h / max(float(moved), 1e-9), MOST_TURN)
    return np.clip(q + step * d, job.lower, job.upper)


def go(run: ArmRun, rows: Array) -> None:
    """Move from the present reference through rows (m, n), whatever is felt: the way is known."""
    now = reference_now(run.session).q
    motion = arm_motion(run.job.believed, run.map.links, np.vstack([now, rows]), run.job.speed)
    run.session.follow(motion)
    left = run.budget.duration - run.session.time
    if left > FORGET:
        wait(run.session, min(motion.duration + FORGET, left))


def still_touching(run: ArmRun) -> bool:
    """Whether the arm has not come free: then the end of the trail is given up."""
    if not alarmed(run.session):
        return False
    ends = ends_at(run.job.believed, run.map.links, np.array(run.trail)).reshape(len(run.trail), -1, 3)
    far = np.linalg.norm(ends - ends[-1], axis=-1).max(axis=1)
    keep = np.flatnonzero(far > TAKE_OFF)
    del run.trail[int(keep[-1]) + 1 if len(keep) else 0 :]
    return True


def retract(run: ArmRun, q: Array, tau: Array) -> None:
    """Give way to the felt torque, and trust where that leads if nothing known is there and no alarm stays on."""
    target = given_way(run, q, tau)
    if run.map.arm(margin=0.0).clearance(target) <= 0.0:
        return
    go(run, target[None])
    if not alarmed(run.session):
        run.trail.append(target)
