# SPDX-License-Identifier: Apache-2.0
"""What the items share: the models, a path in place of the one that was not printed, friction and the current map."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from armwright.dynamics import inverse_dynamics
from armwright.motion.trajectory import Trajectory
from armwright.robot.load import load
from armwright.robot.measured import catalogue_drives
from armwright.robot.model import Robot
from armwright.types import Array

PRINTED_WAYPOINT = np.array([2.181661, -2.135061, -1.745329, 0.275936, -6.021385, 0.0])
"""[rad] The one waypoint that is printed (Figure 4.5, the screenshot of the start)."""
SECOND = PRINTED_WAYPOINT + np.array([-1.2, 0.35, 0.55, -0.6, 0.9, 1.2])
THIRD = PRINTED_WAYPOINT + np.array([-0.6, -0.25, 0.25, 0.5, 0.3, -1.0])
ROUTE = (PRINTED_WAYPOINT, SECOND, PRINTED_WAYPOINT, THIRD, PRINTED_WAYPOINT, SECOND, THIRD, PRINTED_WAYPOINT)
STEP_MOVE_SECONDS, STEP_REST_SECONDS, LOG_RATE = 2.6, 0.6, 125.0
PATH = "our path, for the thesis lists none"

DRIVES = catalogue_drives("ur5")
"""What chapter 6 prints, from the sheet of the UR5."""
K, B = DRIVES.current.k, DRIVES.current.b
"""(6.6) [N m/A], [N m]."""
NU = np.array([joint.coulomb for joint in DRIVES.friction])
"""(6.2): Coulomb [N m] and viscous [N m s/rad] coefficients share their numbers."""
DEAD = DRIVES.friction[0].dead_zone
"""(6.4) [rad/s]."""
CURRENT_NOISE = 0.15
"""[A] ours: the thesis calls the currents noisy (section 6.2) and prints no figure."""


class SampledMotion(NamedTuple):
    """A motion: t (T,), q, qd, qdd (..., T, 6)."""

    t: Array
    q: Array
    qd: Array
    qdd: Array


@cache
def model(name: str) -> Robot:
    """Model "a", "b", "c" of the thesis, or "legacy": the reduced arm of the older report."""
    return load("ur5-ragazzon-published" if name == "legacy" else f"ur5-kufieta-{name}")


def trapezoids(route: Sequence[Array]) -> Trajectory:
    """Moves along a route, each a third accelerating, a third cruising, a third braking, then a rest."""
    third, speed = STEP_MOVE_SECONDS / 3.0, 1.5 / STEP_MOVE_SECONDS
    lasting = np.tile([third, third, third, STEP_REST_SECONDS], len(route) - 1)
    pieces = []
    for a, b in pairwise(route):
        d, zero = b - a, np.zeros(len(a))
        push = 0.5 * speed / third * d
        pieces += [[a, zero, push], [a + 0.25 * d, speed * d, zero], [a + 0.75 * d, speed * d, -push], [b, zero, zero]]
    return Trajectory(np.concatenate([[0.0], np.cumsum(lasting)]), np.array(pieces))


def sampled(motion: Trajectory) -> SampledMotion:
    """A motion as the controller's stream shows it, 125 times a second."""
    t = np.arange(round(motion.duration * LOG_RATE)) / LOG_RATE
    return SampledMotion(t, *motion.evaluate(t))


@cache
def path() -> SampledMotion:
    """The route in trapezoids (section 4.1.1 of the thesis), 22.4 s."""
    return sampled(trapezoids(ROUTE))


def torque(robot: Robot, m: SampledMotion) -> Array:
    """Rigid-body torque τ_μ (..., T, 6), no friction, no rotors (3.8)."""
    return np.asarray(inverse_dynamics(robot, m.q, m.qd, m.qdd, friction=False, rotors=False))


def friction(qd: Array, scale: float = 1.0) -> Array:
    """τ_fr (3.12, 6.4), Coulomb part times `scale`."""
    return np.asarray(NU * qd + scale * NU * np.sign(qd) * (np.abs(qd) > DEAD))


@cache
def currents(noise: float = CURRENT_NOISE, seed: int = 0) -> Array:
    """Motor currents (T, 6) [A] of the contact-free path, plant = model C, (6.6) with noise."""
    return currents_of(path(), noise, seed)


def currents_of(m: SampledMotion, noise: float, seed: int) -> Array:
    """Motor currents (..., T, 6) [A] of a motion without contact, plant = model C, (6.6) with noise."""
    exact = (torque(model("c"), m) + friction(m.qd) - B) / K
    return np.asarray(exact + noise * np.random.default_rng(seed).normal(size=exact.shape))
