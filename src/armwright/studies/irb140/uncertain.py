# SPDX-License-Identifier: Apache-2.0
"""Arms that the controller does not know: masses, centres and inertias off by up to 30 %, payloads up to 6 kg."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from armwright.control.two_velocities import passive_regressor
from armwright.dynamics import mass_matrix, parameters
from armwright.dynamics.regressor import body_regressor
from armwright.motion import Trajectory, quintic
from armwright.robot.kernels import kernel
from armwright.robot.model import Robot
from armwright.studies.irb140.setting import arm
from armwright.types import Array

SPREAD, PAYLOAD, COUNT = 0.3, 6.0, 32
LOAD_OFFSET = (0.0, 0.0, 0.05)
"""Centre of the payload beyond the flange [m], tool axes."""
q_goal = np.array([1.2, 0.6, -0.8, 1.0, 0.8, -1.5])
MOVE, DURATION = 1.2, 2.0


@cache
def arms() -> tuple[Robot, ...]:
    """Thirty-two arms with payloads from 0 to 6 kg; the first is unloaded, all have random errors (fixed seed)."""
    rng = np.random.default_rng(140)
    return tuple(_disturbed(rng, payload) for payload in np.linspace(0.0, PAYLOAD, COUNT))


def _disturbed(rng: np.random.Generator, payload: float) -> Robot:
    bodies = []
    for body in arm().bodies:
        mass, centre, inertia = rng.uniform(1.0 - SPREAD, 1.0 + SPREAD, 3)
        bodies.append(
            replace(body, mass=mass * body.mass, com=centre * body.com, inertia=mass * inertia * body.inertia)
            if body.mass > 0.0
            else body
        )
    return replace(arm(), bodies=tuple(bodies)).with_payload(payload, LOAD_OFFSET)


@cache
def path() -> Trajectory:
    """The motion to follow: a quintic within the data sheet's ranges and speeds, then rest."""
    return quintic(np.zeros(6), q_goal, MOVE)


@cache
def _unknown() -> Array:
    """π̂ − π (arms, 60): inertial parameters that the nominal arm, in whose frames all are, gets wrong."""
    size = 10 * len(arm().bodies)
    return np.array([parameters(arm())[:size] - parameters(other)[:size] for other in arms()])


def torque_errors(q: Array, qd: Array, qd_r: Array, qdd_r: Array) -> Array:
    """The d of `sliding_mode` (T, arms, 6) [N m] at states (T, 6): Y(q, q̇, q̇_r, q̈_r)(π̂ − π)."""
    Y = kernel(arm(), passive_regressor, shapes={"qd_r": 6, "qdd_r": 6})(q, qd, qd_r, qdd_r)
    return np.asarray(np.einsum("tij,bj->tbi", Y, _unknown()))


@cache
def mismatch() -> Array:
    """Largest |d_i| (6,) [N m] along the reference over all arms: what the nominal model gets wrong."""
    ref = path().evaluate(np.linspace(0.0, MOVE, 61))
    return np.asarray(np.abs(torque_errors(ref.q, ref.qd, ref.qd, ref.qdd)).max(axis=(0, 1)))


@cache
def inertia_ratio() -> tuple[float, float]:
    """Smallest and largest ‖M⁻¹M̂ − 1‖ over the arms, along the reference; a Lyapunov redesign wants it below 1."""
    q = path().evaluate(np.linspace(0.0, MOVE, 7)).q
    nominal = mass_matrix(arm(), q)
    Y = kernel(arm(), body_regressor, gravity=False)(
        q[:, None], np.zeros(6), np.eye(6)
    )  # torques of unit accelerations
    M = nominal[:, None] - np.einsum("tkij,bj->tbik", Y, _unknown())
    off = np.linalg.norm(np.linalg.solve(M, nominal[:, None]) - np.eye(6), ord=2, axis=(2, 3)).max(axis=0)
    return float(off.min()), float(off.max())
