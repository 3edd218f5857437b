# SPDX-License-Identifier: Apache-2.0
"""Momentum Kalman observer: momentum and external torque of each joint, a random walk (Wahrburg et al. 2018).

    p_k = p_{k−1} + dt (tau + e + tau_ext) + w_p        tau_ext,k = tau_ext,k−1 + w_f        measured: M q̇ = p + v

With w, v constant the gain settles; it is computed once, by a 2×2 Riccati equation per joint.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.monitor import Monitor
from armwright.contact.observers.friction_beliefs import Losses
from armwright.contact.observers.momentum import explained, impulse
from armwright.control.tick_function import gain as checked
from armwright.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced


def steady_gain(torque_walk: float, torque_noise: float, momentum_noise: float, dt: float) -> Array:
    """Steady Kalman gain (2,) of one joint: on the momentum [-] and on the external torque [1/s].

    Args:
        torque_walk: how fast tau_ext wanders, standard deviation after one second [N m/√s].
        torque_noise: error of torque and model within a tick [N m].
        momentum_noise: standard deviation of the measured momentum [N m s].
        dt: control period [s].
    """
    from scipy.linalg import solve_discrete_are  # imported here: tenths of a second that few calls need

    F, H = np.array([[1.0, dt], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    # units of the measurement noise keep the equation well scaled
    Q = np.diag([(torque_noise * dt / momentum_noise) ** 2, torque_walk**2 * dt / momentum_noise**2])
    P = solve_discrete_are(F.T, H.T, Q, np.eye(1))
    return np.asarray((P @ H.T / (H @ P @ H.T + 1.0)).ravel())


@lru_cache(maxsize=64)
def _function(friction: Losses, period: float) -> Callable[..., Any]:
    def observe(
        arm: Robot | Tree,
        dt: float,
        q: Traced,
        qd: Traced,
        tau: Traced,
        on_momentum: Traced,
        on_torque: Traced,
        lag: Traced,
        f: Traced,
        carry: Traced,
        started: Traced,
    ) -> dict[str, Traced]:
        if abs(dt - period) > 1e-6 * period:
            raise InputError(f"momentum Kalman observer: made for dt = {period} s, run at {dt} s")
        p, e = explained(arm, q, qd, friction)
        d, carried = impulse(p, e, tau, carry, dt)
        # lag: measured less estimated momentum after the last correction; innovation: the same before the next
        innovation = lag + d - dt * f
        f = np.where(started[0] > 0.0, f + on_torque * innovation, 0.0 * f)
        lag = np.where(started[0] > 0.0, (1.0 - on_momentum) * innovation, 0.0 * lag)
        return {"tau_ext": f, "f": f, "lag": lag, "carry": carried, "started": 0.0 * started + 1.0}

    return observe


@names_culprit
def momentum_kalman_observer(
    torque_walk: ArrayLike,
    momentum_noise: ArrayLike,
    *,
    torque_noise: ArrayLike = 0.0,
    rate: float = 1000.0,
    friction: Losses = True,
) -> Monitor:
    """Momentum Kalman observer with its steady gain: tau_ext (n,).

    Claim, where the noises are what they are said to be: the unbiased linear estimate of least variance in steady
    state.

    Args:
        torque_walk: standard deviation of tau_ext after one second of wandering [N m/√s], > 0, scalar or (n,).
        momentum_noise: error of the measured M q̇ [N m s], > 0; velocity noise times a typical diagonal of M.
        torque_noise: error of torque and model within a tick [N m], ≥ 0.
        rate: control ticks per second, for which the gain is computed.
        friction: the robot's own (True), none, or a function of q̇.

    >>> observer = momentum_kalman_observer(torque_walk=50.0, momentum_noise=0.01, rate=1000.0)
    """
    walk, noise, torque = np.broadcast_arrays(
        checked(torque_walk, "torque_walk", positive=True),
        checked(momentum_noise, "momentum_noise", positive=True),
        checked(torque_noise, "torque_noise"),
    )
    if walk.ndim > 1:
        raise InputError(f"momentum Kalman observer: expected scalars or (n,), got {walk.shape}")
    if not (np.isfinite(rate) and rate > 0.0):
        raise InputError(f"momentum Kalman observer: rate must be positive, got {rate}")
    columns = zip(walk.ravel(), torque.ravel(), noise.ravel(), strict=True)
    K = np.array([steady_gain(float(a), float(b), float(c), 1.0 / rate) for a, b, c in columns])
    shape = walk.shape
    return Monitor(
        "momentum Kalman",
        _function(friction, 1.0 / rate),
        {"on_momentum": K[:, 0].reshape(shape), "on_torque": K[:, 1].reshape(shape)},
        {"lag": 0.0, "f": 0.0, "carry": 0.0, "started": [0.0]},
        ("tau_ext",),
        momentum_kalman_observer.__doc__ or "",
    )
