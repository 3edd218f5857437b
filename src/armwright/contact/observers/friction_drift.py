# SPDX-License-Identifier: Apache-2.0
"""Follows friction that drifts with warmth, load and age: a factor a joint, learned slowly while the arm moves.

Friction that has grown by the share s leaves tau_ext = −s φ, φ the model's friction at the desired speed. With
e = tau_ext + s φ, what s does not explain yet,

    ṡ = −rate · clip(e/φ, −1, 1)   where |q̇_ref| ≥ standstill and |e| ≤ |φ|,   |s| ≤ largest,

and s φ is added to tau_ext for the detectors that follow. What is larger than friction itself is no drift: it is left
alone. Errors of gravity average out over moves there and back.

The trade-off: in a second at most rate·φ is taken for drift, 2 % of the friction by default. A contact that grows more
slowly than that, always against the motion, is swallowed, up to largest·φ; one of 10 N m/s loses about 1 %. Drift
that is faster than `rate` is not followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.contact.monitor import Monitor
from armwright.control.checks import gain as checked
from armwright.errors import InputError
from armwright.robot.tree import as_tree

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


def _follow(
    arm: Robot | Tree,
    tau_ext: Traced,
    dt: float,
    qd_ref: Traced,
    rate: Traced,
    largest: Traced,
    standstill: Traced,
    drift: Traced,
) -> dict[str, Traced]:
    tree = as_tree(arm)
    dry = tree.coulomb * np.minimum(np.maximum(qd_ref / standstill, -1.0), 1.0)
    friction = np.array([dry[k] + tree.viscous[k, k] * qd_ref[k] for k in range(tree.n)])
    left = tau_ext + drift * friction
    moving = (np.abs(qd_ref) >= standstill) & (np.abs(left) <= np.abs(friction))
    share = left / np.where(moving, friction, 1.0)
    drift = drift - np.where(moving, rate * dt, 0.0) * np.minimum(np.maximum(share, -1.0), 1.0)
    drift = np.minimum(np.maximum(drift, -largest), largest)
    return {"tau_ext": left, "drift": drift, "friction_drift": drift}


def friction_drift(rate: float = 0.02, *, largest: float = 0.6, standstill: float = 0.1) -> Monitor:
    """Takes drifted friction out of tau_ext; stands between an observer and its detector. See the module text.

    Keep its memory from one motion to the next: it learns within a minute of motion, not within one move.

    Args:
        rate: largest change of a joint's factor [1/s], ≥ 0.
        largest: bound of the factor, < 1.
        standstill: desired speed below which nothing is learned [rad/s].

    Outputs: ``tau_ext`` (n,); ``friction_drift`` (n,), the share s by which friction has grown.
    """
    if not 0.0 < largest < 1.0:
        raise InputError(f"friction drift: largest must lie in (0, 1), got {largest}")
    gains = {
        "rate": checked(rate, "rate", size=1).reshape(()),
        "largest": largest,
        "standstill": checked(standstill, "standstill", size=1, positive=True).reshape(()),
    }
    outputs = ("tau_ext", "friction_drift")
    return Monitor("friction drift", _follow, gains, {"drift": 0.0}, outputs, friction_drift.__doc__ or "")
