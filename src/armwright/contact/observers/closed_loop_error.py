# SPDX-License-Identifier: Apache-2.0
"""External torque from the tracking error of the closed loop (000 eq. 5.8), and the baseline without the mass matrix.

Under computed torque with gains K_0, K_1 the error q̃ = q − q_d obeys q̃̈ + K_1 q̃̇ + K_0 q̃ = M⁻¹ tau_ext. Where the
contact changes slowly against that, tau_ext ≈ M K_0 q̃. Exactly it is the true M⁻¹ tau_ext behind ω²/(s + ω)² for
critically damped gains: a delay of 2/ω, which is why 000 found it too slow for detection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from armwright.arguments import names_culprit
from armwright.contact.monitor import Monitor
from armwright.control.tick_function import gain as checked
from armwright.dynamics.crba import crba

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


def _closed_loop(arm: Robot | Tree, q: Traced, q_ref: Traced, kp: Traced) -> dict[str, Traced]:
    return {"tau_ext": crba(arm, q) @ (kp * (q - q_ref))}


@names_culprit
def closed_loop_error_observer(kp: ArrayLike) -> Monitor:
    """tauK_hat = M(q) K_0 q̃ (000 eq. 5.8); valid under computed torque with the same K_0.

    A drive at its torque limit breaks that loop: the estimate is off by what the law asked for beyond the limit.

    Args:
        kp: K_0 of the controller [1/s²], scalar or (n,).

    >>> monitors = [closed_loop_error_observer(kp=225.0), joint_detector(20.0)]
    """
    return Monitor(
        "closed-loop error",
        _closed_loop,
        {"kp": checked(kp, "kp", positive=True)},
        {},
        ("tau_ext",),
        closed_loop_error_observer.__doc__ or "",
    )


def _scaled(q: Traced, q_ref: Traced, stiffness: Traced) -> dict[str, Traced]:
    return {"tau_ext": stiffness * (q - q_ref)}


@names_culprit
def scaled_error_observer(stiffness: ArrayLike) -> Monitor:
    """Baseline after Stolt et al. 2012, as 000 compares it: a constant times q̃, without the mass matrix.

    Right at one pose only: the arm's apparent stiffness M(q) K_0 changes with q.

    Args:
        stiffness: [N m/rad], scalar or (n,).
    """
    return Monitor(
        "scaled error",
        _scaled,
        {"stiffness": checked(stiffness, "stiffness", positive=True)},
        {},
        ("tau_ext",),
        scaled_error_observer.__doc__ or "",
    )
