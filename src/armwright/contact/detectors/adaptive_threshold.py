# SPDX-License-Identifier: Apache-2.0
"""Thresholds that widen where model errors show: with the commanded speed and acceleration and with the arm's weight.

    threshold_j = a_j + b_j |q̇_ref,j| + c_j |q̈_ref,j| + d_j |g_j(q_ref)|

Friction errors grow with speed, inertia errors with acceleration, mass errors with the gravity torque. The desired
motion is used, not the measured one: a contact must not raise its own threshold. The coefficients come from
contact-free runs (`armwright.contact.detectors.threshold_learning.learn_thresholds`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.detectors.joint_threshold import MEMORY, THRESHOLD_RELEASE_SHARE, latched, release_ratio, worst
from armwright.contact.monitor import Monitor
from armwright.control.tick_function import gain as checked
from armwright.dynamics.newton_euler import gravity_torque

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Outputs, Traced


def _detect(
    arm: Robot | Tree,
    tau_ext: Traced,
    q_ref: Traced,
    qd_ref: Traced,
    qdd_ref: Traced,
    a: Traced,
    b: Traced,
    c: Traced,
    d: Traced,
    release: Traced,
    active: Traced,
) -> Outputs:
    threshold = a + b * np.abs(qd_ref) + c * np.abs(qdd_ref) + d * np.abs(gravity_torque(arm, q_ref))
    return latched(worst(np.abs(tau_ext) / threshold), release, active)


@names_culprit
def adaptive_detector(
    a: ArrayLike,
    b: ArrayLike = 0.0,
    c: ArrayLike = 0.0,
    d: ArrayLike = 0.0,
    *,
    release: float = THRESHOLD_RELEASE_SHARE,
) -> Monitor:
    """Alarm while |tau_ext| of some joint exceeds a + b|q̇_ref| + c|q̈_ref| + d|g(q_ref)|.

    Args:
        a: at rest [N m], > 0, scalar or (n,).
        b: per speed [N m s/rad], ≥ 0.
        c: per acceleration [N m s²/rad], ≥ 0.
        d: per gravity torque of the model [-], ≥ 0.
        release: fraction of the threshold at which the alarm ends.

    Outputs: ``level``, the largest |tau_ext|/threshold; ``alarm``.

    >>> monitors = [momentum_observer(50.0), adaptive_detector(5.0, 2.0, 0.5, 0.05)]
    """
    gains: dict[str, Any] = {
        "a": checked(a, "a", positive=True),
        **{k: checked(v, k) for k, v in (("b", b), ("c", c), ("d", d))},
    }
    gains |= {"release": release_ratio(release)}
    return Monitor("adaptive", _detect, gains, MEMORY, ("alarm", "level"), adaptive_detector.__doc__ or "")
