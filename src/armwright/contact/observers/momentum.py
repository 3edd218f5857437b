# SPDX-License-Identifier: Apache-2.0
"""Generalised-momentum observer (De Luca and Mattone 2003): external torque without accelerations.

    ṙ = K (tau_ext − r),   r = K (p − p(0) − ∫ (tau + Cᵀq̇ − g − friction + r) dt),   p = M q̇

Over one tick the torque is held, so the momentum that the model cannot explain,

    d_k = p_k − p_{k−1} − dt tau_{k−1} − ½ dt (e_{k−1} + e_k),   e = Cᵀq̇ − g − friction,

is the impulse of tau_ext during it up to O(dt³). r_k = a r_{k−1} + (1 − a) d_k/dt with a = exp(−K dt) is the exact
response of the filter to an external torque that is constant within ticks, at any K dt; it needs no acceleration.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.monitor import Monitor
from armwright.contact.observers.generalised_momentum import generalised_momentum
from armwright.contact.observers.losses import Losses, lost
from armwright.control.checks import gain as checked
from armwright.dynamics.newton_euler import gravity_torque
from armwright.robot.tree import as_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


def explained(arm: Robot | Tree, q: Traced, qd: Traced, friction: Losses) -> tuple[Traced, Traced]:
    """Return p = M q̇ and e = Cᵀq̇ − g − friction, so that ṗ = tau + tau_ext + e; both (n,)."""
    tree = as_tree(arm)
    p, transport = generalised_momentum(tree, q, qd)
    return p, transport - gravity_torque(tree, q) - lost(tree, qd, friction)


def impulse(p: Traced, e: Traced, tau: Traced, carry: Traced, dt: float) -> tuple[Traced, Traced]:
    """Return d_k [N m s] (n,) and what to carry to the next tick, p_k + dt (tau_k + ½ e_k)."""
    return p - carry - 0.5 * dt * e, p + dt * (tau + 0.5 * e)


@lru_cache(maxsize=64)
def _function(friction: Losses) -> Callable[..., Any]:
    def observe(
        arm: Robot | Tree,
        dt: float,
        q: Traced,
        qd: Traced,
        tau: Traced,
        gain: Traced,
        r: Traced,
        carry: Traced,
        started: Traced,
    ) -> dict[str, Traced]:
        p, e = explained(arm, q, qd, friction)
        d, carried = impulse(p, e, tau, carry, dt)
        a = np.exp(-gain * dt)
        r = np.where(started[0] > 0.0, a * r + (1.0 - a) / dt * d, 0.0 * r)
        return {"tau_ext": r, "r": r, "carry": carried, "started": 0.0 * started + 1.0}

    return observe


@names_culprit
def momentum_observer(gain: ArrayLike, *, friction: Losses = True) -> Monitor:
    """Generalised-momentum observer: tau_ext (n,) is the true external torque behind a first-order filter.

    Claim, for an exact model: each joint's estimate obeys ṙ = K (tau_ext − r): steady state without error, 63 % after
    1/K, no coupling between joints, so that a contact on link i leaves the joints beyond i at zero.

    Args:
        gain: K > 0 [1/s], scalar or (n,). Noise grows with it: an error σ of the velocities gives about M σ K √(dt K).
        friction: the robot's own (True), none, or a function of q̇.
    """
    return Monitor(
        "momentum",
        _function(friction),
        {"gain": checked(gain, "gain", positive=True)},
        {"r": 0.0, "carry": 0.0, "started": [0.0]},
        ("tau_ext",),
        momentum_observer.__doc__ or "",
    )
