# SPDX-License-Identifier: Apache-2.0
"""The tool wrench of every tick with its 95 % interval, compiled next to the observer that it reads.

F̂ = A r with the damped inverse A = W (W J JᵀW + δ²)⁻¹ W J of Jᵀ, half = 1.96 √diag(A Σ Aᵀ + ℓ ℓᵀ) + |1 − A Jᵀ| |F̂|.
Three things make it wrong, and each widens the interval:

    torques of the joints   Σ is diagonal. A moving joint's deviation is the rms σ that motion without contact has
                            shown. A resting joint's friction is anywhere in ±s, s = c + l |g(q)|; on which side it
                            stopped is remembered for a while. That error passes the observer's filter, and so does
                            its deviation.
    lag of the observer     r follows tau_ext by 1/K. r₂, r behind a filter of the same K, lags by as much again when
                            torque changes steadily, so ℓ = A (r − r₂), less what σ alone makes of r − r₂
    damping                 hides (1 − A Jᵀ) F; `seen` says what is left of the component that the joints feel worst

Friction at rest is no Gaussian. Uniform in ±s its deviation is 0.58 s; at an edge, where a servo leaves it, s. The
virtual controller leaves it at 0.8 to 1.0 s, in any direction. `REST_DEVIATION` stands between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.contact.monitor import Monitor
from armwright.contact.wrench_estimate import LENGTH
from armwright.control.tick_function import gain as checked
from armwright.dynamics.newton_euler import gravity_torque
from armwright.errors import InputError
from armwright.kinematics.jacobians import frame_jacobian
from armwright.spatial.linear import ltdl_solve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Outputs, Traced

INTERVAL_DEVIATIONS = 1.96
"""Half width of a 95 % interval in deviations of a Gaussian; sums over several joints are near one."""
REST_DEVIATION = 0.75
"""Deviation of a resting joint's friction, as a share of the largest: found on six minutes of the virtual controller;
minutes that were not looked at before are in tests/live/test_live_coverage.py."""
LAG_DEVIATIONS = 1.6
"""Deviation for which the lag is taken, as a multiple of r − r₂: that is late itself. Found on twelve more minutes."""
LAG_NOISE_SHARE = 0.5
"""Variance of r − r₂ over that of r, for white noise before both filters."""
JUST_STOPPED_SHARE = 0.3
"""Share of its friction by which a joint is unknown at the moment when it stops. Found on the same minutes."""
INVERSE_DAMPING = 0.005
"""δ [m]: levers of 0.05 m come out within 1 %; 1 N m gives 100 N at most, however singular the arm stands."""


def _wrench(
    arm: Robot | Tree,
    dt: float,
    q: Traced,
    tau_ext: Traced,
    resting: Traced,
    side: Traced,
    sigma: Traced,
    coulomb: Traced,
    load: Traced,
    gain: Traced,
    behind: Traced,
    unknown: Traced,
) -> Outputs:
    n = len(sigma)
    hanging = gravity_torque(arm, q)
    a = np.exp(-gain * dt)
    hidden = []
    for j in range(n):
        known = (1.0 - JUST_STOPPED_SHARE) * np.abs(side[j])
        stiction = (coulomb[j] + load[j] * np.abs(hanging[j])) * (1.0 - known)
        hidden.append(np.where(resting[j] > 0.0, stiction, 0.0 * stiction))
    unknown = a * unknown + (1.0 - a) * np.array(hidden)
    behind = a * behind + (1.0 - a) * tau_ext
    J = frame_jacobian(arm, q)
    weight = np.array([1.0, 1.0, 1.0, 1.0 / LENGTH, 1.0 / LENGTH, 1.0 / LENGTH])
    B = np.array([J[i] * weight[i] for i in range(6)])
    solved = ltdl_solve(B @ B.T + INVERSE_DAMPING**2 * np.eye(6), B)
    A = np.array([solved[i] * weight[i] for i in range(6)])
    variance = sigma**2 + (REST_DEVIATION * unknown) ** 2
    late = tau_ext - behind
    late = np.sign(late) * np.sqrt(np.maximum(late**2 - LAG_NOISE_SHARE * sigma**2, 0.0 * late))
    wrench, lag = A @ tau_ext, LAG_DEVIATIONS * (A @ late)
    spread = np.array([[np.sum(A[i] * A[k] * variance) + lag[i] * lag[k] for k in range(6)] for i in range(6)])
    kept = A @ J.T
    dim = np.array([np.sum(np.abs(np.eye(6)[i] - kept[i]) * np.abs(wrench)) for i in range(6)])
    half = INTERVAL_DEVIATIONS * np.sqrt(np.array([spread[i, i] for i in range(6)])) + dim
    seen = kept[0, 0]
    for i in range(1, 6):
        seen = np.minimum(seen, kept[i, i])
    return {"wrench": wrench, "half": half, "covariance": spread, "seen": seen, "behind": behind, "unknown": unknown}


@names_culprit
def felt_wrench_monitor(sigma: ArrayLike, coulomb: ArrayLike, load: ArrayLike, gain: ArrayLike) -> Monitor:
    """Tool wrench with its interval at every tick; reads a geared momentum observer.

    Args:
        sigma: (n,) rms of the observer's residual in motion without contact [N m].
        coulomb: (n,) Coulomb friction [N m].
        load: (n,) friction per load [-].
        gain: K of the observer [1/s], scalar or (n,).

    Outputs: wrench (6,) [f; n] that the world exerts, base axes, at the tool's origin [N, N m]; half (6,), half the
    width of its 95 % interval; covariance (6, 6), damping not in it; seen, the share of the worst seen
    component of a wrench that is left, 1 away from singularities.
    """
    values = {
        label: np.array(value, dtype=np.float64)
        for label, value in {"sigma": sigma, "coulomb": coulomb, "load": load}.items()
    }
    if not all(np.isfinite(v).all() and v.ndim == 1 and (v >= 0.0).all() for v in values.values()):
        raise InputError("felt wrench: sigma, coulomb and load must be (n,), finite and ≥ 0")
    return Monitor(
        "felt wrench",
        _wrench,
        {**values, "gain": checked(gain, "gain", positive=True)},
        {"behind": 0.0, "unknown": 0.0},
        ("wrench", "half", "covariance", "seen"),
        felt_wrench_monitor.__doc__ or "",
    )
