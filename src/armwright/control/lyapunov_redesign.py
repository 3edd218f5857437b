# SPDX-License-Identifier: Apache-2.0
"""Lyapunov redesign: computed torque made robust against a bounded model error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.control.computed_torque import commanded_acceleration
from armwright.control.friction_cancelling import cancelling_rnea, friction_speed
from armwright.control.law import Law
from armwright.control.tick_function import gain
from armwright.dynamics.public import forward_dynamics, inverse_dynamics

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


def redesign_direction(q: Traced, qd: Traced, ref: Reference, kd: Traced) -> Traced:
    """Direction w = BᵀP x = ½ q̃ + K_1⁻¹ q̃̇ (n,) [rad], x = (q̃, q̃̇)."""
    return 0.5 * (q - ref.q) + (qd - ref.qd) / kd


def redesign_storage(q: Traced, qd: Traced, ref: Reference, kp: Traced, kd: Traced) -> Traced:
    """V = xᵀP x = Σ (K_1/2 + K_0/K_1) q̃² + q̃ q̃̇ + q̃̇²/K_1 [rad²/s]."""
    e, ed = q - ref.q, qd - ref.qd
    return e @ ((0.5 * kd + kp / kd) * e) + e @ ed + ed @ (ed / kd)


@names_culprit
def lyapunov_redesign(
    kp: ArrayLike,
    kd: ArrayLike,
    rho: ArrayLike,
    epsilon: ArrayLike,
    *,
    growth: ArrayLike = 0.0,
    friction: bool | str = "reference",
) -> Law:
    """Robust computed torque: tau = M̂(q)(a_q + δ) + Ĉq̇ + ĝ, δ = −ρ w/max(‖w‖, ε).

    With η = M⁻¹(M̂(a_q + δ) + Ĉq̇ + ĝ − h) − a_q − δ, what the model gets wrong [rad/s²], the error obeys q̃̈ + K_1
    q̃̇ + K_0 q̃ = δ + η. P solves AᵀP + PA = −diag(K_0, 1) in closed form, so V = xᵀPx (`redesign_storage`), w =
    BᵀPx = ½q̃ + K_1⁻¹q̃̇, and V̇ = −Σ(K_0 q̃² + q̃̇²) + 2wᵀ(δ + η). Claim: where ‖η‖ ≤ ρ(x), V̇ ≤ −Σ(K_0 q̃² +
    q̃̇²) + ρε/2: the error is ultimately bounded, by a ball that shrinks with ε; δ is continuous, so there is no
    chattering as long as the period resolves ρ/(K_1 ε). ρ = 0 is computed torque. `acceleration_mismatch` samples
    η, to choose ρ; a ρ exists if ‖M⁻¹M̂ − 1‖ < 1.

    Args:
        kp: K_0 ≥ 0 [1/s²], scalar or (n,).
        kd: K_1 > 0 [1/s], scalar or (n,).
        rho: bound ρ ≥ 0 on ‖η‖ [rad/s²], scalar.
        epsilon: layer ε > 0 [rad], scalar.
        growth: γ ≥ 0 [1/s²]: the bound used is ρ + γ‖(q̃, q̃̇·1 s)‖, for errors of the model that grow with the
            state; scalar.
        friction: the model's friction that is added: at the speed "reference" (q̇_d; what is left of it counts to η),
            "measured" (q̇), "smooth" or "none" (`armwright.control.friction_cancelling`).

    >>> law = lyapunov_redesign(kp=100.0, kd=20.0, rho=5.0, epsilon=0.01)
    """
    how = friction_speed(friction)

    def cancelling(how: str) -> Callable[..., Traced]:
        def robust(
            arm: Robot | Tree,
            q: Traced,
            qd: Traced,
            ref: Reference,
            kp: Traced,
            kd: Traced,
            rho: Traced,
            epsilon: Traced,
            growth: Traced,
        ) -> Traced:
            e, ed, w = q - ref.q, qd - ref.qd, redesign_direction(q, qd, ref, kd)
            bound = rho + growth * np.sqrt(e @ e + ed @ ed)
            delta = -(bound / np.maximum(np.sqrt(w @ w), epsilon)) * w
            return cancelling_rnea(arm, q, qd, commanded_acceleration(q, qd, ref, kp, kd) + delta, ref.qd, how)

        return robust

    gains = {
        "kp": gain(kp, "kp"),
        "kd": gain(kd, "kd", positive=True),
        "rho": gain(rho, "rho", size=1),
        "epsilon": gain(epsilon, "epsilon", size=1, positive=True),
        "growth": gain(growth, "growth", size=1),
    }
    sizes = dict.fromkeys(("rho", "epsilon", "growth"), 1)
    return Law(
        "Lyapunov redesign",
        cancelling(how),
        gains,
        storage=redesign_storage,
        doc=lyapunov_redesign.__doc__ or "",
        sizes=sizes,
        friction=how,
        cancelling=cancelling,
    )


@names_culprit
def acceleration_mismatch(
    nominal: Robot, actual: Robot, q: ArrayLike, qd: ArrayLike, a: ArrayLike, *, friction: bool = True
) -> NDArray[np.float64]:
    """The η of `lyapunov_redesign` (..., n): acceleration of the actual arm under the nominal model's torque, minus a.

    Args:
        nominal: the controller's model.
        actual: the arm as it is.
        q: positions (..., n).
        qd: velocities (..., n).
        a: commanded accelerations (..., n).
        friction: whether the law cancels friction; the actual arm always has it.

    >>> rho = np.linalg.norm(acceleration_mismatch(robot, robot.with_payload(2.0), q, qd, qdd))
    """
    tau = inverse_dynamics(nominal, q, qd, a, friction=friction)
    return forward_dynamics(actual, q, qd, tau) - np.asarray(a, dtype=np.float64)
