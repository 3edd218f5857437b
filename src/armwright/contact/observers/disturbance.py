# SPDX-License-Identifier: Apache-2.0
"""Disturbance observer: what inverse dynamics needs beyond the applied torque, with differentiated velocity.

Over one tick the torque tau_{k−1} was held and the mean acceleration was (q̇_k − q̇_{k−1})/dt; the model is evaluated at
the tick's middle. The differences amplify the noise of the velocities by 1/dt, so the result is filtered,

    r_k = a r_{k−1} + (1 − a) (ID(q̄, q̄̇, Δq̇/dt) − tau_{k−1}),   a = exp(−K dt).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.monitor import Monitor
from armwright.contact.observers.friction_beliefs import Losses, lost
from armwright.control.tick_function import gain as checked
from armwright.dynamics.newton_euler import rnea
from armwright.robot.tree import as_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


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
        q_last: Traced,
        qd_last: Traced,
        tau_last: Traced,
        started: Traced,
    ) -> dict[str, Traced]:
        tree = as_tree(arm)
        middle = 0.5 * (qd + qd_last)
        needed = rnea(tree, 0.5 * (q + q_last), middle, (qd - qd_last) / dt, friction=False) + lost(
            tree, middle, friction
        )
        a = np.exp(-gain * dt)
        r = np.where(started[0] > 0.0, a * r + (1.0 - a) * (needed - tau_last), 0.0 * r)
        return {"tau_ext": r, "r": r, "q_last": q, "qd_last": qd, "tau_last": tau, "started": 0.0 * started + 1.0}

    return observe


@names_culprit
def disturbance_observer(gain: ArrayLike, *, friction: Losses = True) -> Monitor:
    """Disturbance observer with differentiated velocity: tau_ext (n,), first-order filtered with K [1/s].

    It differs from the momentum observer by how noise passes: the measured velocity enters as a difference times M, the
    products of velocities unfiltered.

    Args:
        gain: K > 0 [1/s], scalar or (n,).
        friction: the robot's own (True), none, or a function of q̇.

    >>> run_monitors(disturbance_observer(50.0), robot, run.time, run["q"], run["qd"], run["tau"])["tau_ext"]
    """
    return Monitor(
        "disturbance",
        _function(friction),
        {"gain": checked(gain, "gain", positive=True)},
        {"r": 0.0, "q_last": 0.0, "qd_last": 0.0, "tau_last": 0.0, "started": [0.0]},
        ("tau_ext",),
        disturbance_observer.__doc__ or "",
    )
