# SPDX-License-Identifier: Apache-2.0
"""What both kinds of run do with a session under way: look, wait, hold, and glide from one reference to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.motion import Trajectory
from armwright.motion.reference import Reference

if TYPE_CHECKING:
    from armwright.simulation.session import Session
    from armwright.types import Array

SETTLE = 0.5  # [s] in which the controlled arm comes to rest: eleven time constants of its slowest joint (22.5 rad/s)
SLIDE_STEP = 0.04  # [s] between corrections of a slide: in it the tool moves by 2 mm at half a second per cell
SLIDE_PATIENCE = 1.5  # [s] without headway after which a slide is given up: three times what it takes to settle
SMOOTH = 0.3  # share of a new direction while sliding: noise is averaged over three steps
EPISODE = 0.1  # [s] a shorter gap between touches belongs to the same contact: two time constants of that joint


def measured(session: Session) -> Array:
    """Joint positions (n,) as the arm sees them."""
    return measured_state(session)[: session.parts.n]


def measured_state(session: Session) -> Array:
    """Joint positions and velocities (2n,) as the arm sees them."""
    n = session.parts.n
    now = session.loop.get("measured")[0] if session.parts.sensors is not None else session.state[0]
    return np.array(now[: 2 * n])


def torque(session: Session) -> Array:
    """External joint torque (n,) as the arm feels it [N m]."""
    return np.array(session.loop.get("tau_ext")[0])


def tool_force(session: Session) -> Array:
    """External force on the tool (3,) as the arm feels it [N], base axes."""
    return np.array(session.loop.get("wrench_ext")[0][:3])


def reference_now(session: Session) -> Reference:
    """Where the arm should be now: q, qd, qdd (n,)."""
    return Reference(*(np.array(part[0]) for part in session.reference_at(np.array([session.time]))))


def alarmed(session: Session) -> bool:
    """Whether an alarm is on."""
    return any(float(session.loop.get(name)[0, 0]) >= 0.0 for name in session.loop.plan.alarms)


def wait(session: Session, seconds: float) -> None:
    """Run on, whatever is felt."""
    until = session.time + seconds
    while session.time < until - 0.5 * session.parts.period:
        session.run(until - session.time)


def hold(session: Session) -> None:
    """Stand still where the arm is, pushing no further."""
    q = measured(session)
    session.follow(Reference(q, np.zeros(len(q)), np.zeros(len(q))))
    wait(session, SETTLE)


def glide(a: Reference, q1: Array, qd1: Array, seconds: float) -> Trajectory:
    """Return the cubic from the reference a (positions and velocities) to (q1, qd1) within `seconds`."""
    h = seconds
    d = (q1 - a.q) / h
    c2, c3 = (3.0 * d - 2.0 * a.qd - qd1) / h, (a.qd + qd1 - 2.0 * d) / (h * h)
    return Trajectory(np.array([0.0, h]), np.stack([a.q, a.qd, c2, c3])[None])
