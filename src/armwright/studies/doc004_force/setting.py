# SPDX-License-Identifier: Apache-2.0
"""What the items share: the models, a path in place of the one that was not printed, friction and the current map."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from armwright.dynamics import inverse_dynamics
from armwright.robot.load import load
from armwright.robot.measured import catalogue_drives
from armwright.robot.model import Robot
from armwright.types import Array

PRINTED_WAYPOINT = np.array([2.181661, -2.135061, -1.745329, 0.275936, -6.021385, 0.0])
"""[rad] The one waypoint that is printed (4.11 of our digest: the screenshot of the start)."""
SECOND = PRINTED_WAYPOINT + np.array([-1.2, 0.35, 0.55, -0.6, 0.9, 1.2])
THIRD = PRINTED_WAYPOINT + np.array([-0.6, -0.25, 0.25, 0.5, 0.3, -1.0])
ROUTE = (PRINTED_WAYPOINT, SECOND, PRINTED_WAYPOINT, THIRD, PRINTED_WAYPOINT, SECOND, THIRD, PRINTED_WAYPOINT)
STEP_MOVE_SECONDS, STEP_REST_SECONDS, LOG_RATE = 2.6, 0.6, 125.0
PATH = "the thesis lists no trajectory: seven moves of 3.2 s between the printed waypoint and two of ours stand for it"

DRIVES = catalogue_drives("ur5")
"""What chapter 6 prints, from the sheet of the UR5."""
K, B = DRIVES.current.k, DRIVES.current.b
"""(6.6) [N m/A], [N m]."""
NU = np.array([joint.coulomb for joint in DRIVES.friction])
"""(6.2): Coulomb [N m] and viscous [N m s/rad] coefficients share their numbers."""
DEAD = DRIVES.friction[0].dead_zone
"""(6.4) [rad/s]."""
CURRENT_NOISE = 0.15
"""[A] ours: nothing is printed."""


class SampledMotion(NamedTuple):
    """A motion: t (T,), q, qd, qdd (T, 6)."""

    t: Array
    q: Array
    qd: Array
    qdd: Array


@cache
def model(name: str) -> Robot:
    """Model "a", "b", "c" of the thesis, or "legacy": the reduced arm of the older report."""
    return load("ur5-ragazzon-published" if name == "legacy" else f"ur5-kufieta-{name}")


@cache
def path() -> SampledMotion:
    """The route as trapezoids: a third accelerating, a third cruising, a third braking, then a rest; 22.4 s."""
    step, third = 1.0 / LOG_RATE, STEP_MOVE_SECONDS / 3.0
    s = np.arange(round((STEP_MOVE_SECONDS + STEP_REST_SECONDS) * LOG_RATE)) * step
    speed = np.interp(
        s,
        [0.0, third, 2.0 * third, STEP_MOVE_SECONDS, STEP_MOVE_SECONDS + STEP_REST_SECONDS],
        [0.0, 1.5 / STEP_MOVE_SECONDS, 1.5 / STEP_MOVE_SECONDS, 0.0, 0.0],
    )
    top = 1.5 / STEP_MOVE_SECONDS / third
    push = np.where(s < third, top, np.where(s < 2.0 * third, 0.0, np.where(s < STEP_MOVE_SECONDS, -top, 0.0)))
    share = np.where(
        s < third,
        0.5 * top * s**2,
        np.where(
            s < 2.0 * third,
            0.5 * top * third**2 + 1.5 / STEP_MOVE_SECONDS * (s - third),
            1.0 - 0.5 * top * np.maximum(STEP_MOVE_SECONDS - s, 0.0) ** 2,
        ),
    )
    q, qd, qdd = [], [], []
    for a, b in pairwise(ROUTE):
        q.append(a + share[:, None] * (b - a))
        qd.append(speed[:, None] * (b - a))
        qdd.append(push[:, None] * (b - a))
    t: Array = np.asarray(np.arange(len(s) * len(q)) * step, dtype=np.float64)
    return SampledMotion(t, np.concatenate(q), np.concatenate(qd), np.concatenate(qdd))


def torque(robot: Robot, m: SampledMotion) -> Array:
    """Rigid-body torque τ_μ (T, 6), no friction, no rotors (3.8)."""
    return np.asarray(inverse_dynamics(robot, m.q, m.qd, m.qdd, friction=False, rotors=False))


def friction(qd: Array, scale: float = 1.0) -> Array:
    """τ_fr (3.12, 6.4), Coulomb part times `scale`."""
    return np.asarray(NU * qd + scale * NU * np.sign(qd) * (np.abs(qd) > DEAD))


@cache
def currents(seed: int = 0) -> Array:
    """Motor currents (T, 6) of the contact-free path, plant = model C, (6.6) with noise."""
    rng = np.random.default_rng(seed)
    m = path()
    exact = (torque(model("c"), m) + friction(m.qd) - B) / K
    return np.asarray(exact + CURRENT_NOISE * rng.normal(size=exact.shape))
