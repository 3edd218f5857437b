# SPDX-License-Identifier: Apache-2.0
"""Adaptive control after Slotine and Li: the arm learns its inertial parameters while it tracks (002 §8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.control.adaptive_parameters import Parameters, parameters_of
from armwright.control.checks import gain
from armwright.control.law import Law
from armwright.control.two_velocities import sliding, sliding_energy
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.motion.reference import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Traced


@names_culprit
def adaptive(
    robot: Robot,
    k: ArrayLike,
    lam: ArrayLike,
    gamma: ArrayLike,
    *,
    form: str = "links",
    friction: str = "known",
    start: ArrayLike | None = None,
    lower: ArrayLike = -np.inf,
    upper: ArrayLike = np.inf,
) -> Law:
    """Slotine–Li: tau = Y(q, q̇, q̇_r, q̈_r) π̂ − K s, d π̂/dt = −Γ Yᵀ s; s, q̇_r, q̈_r as in `sliding_mode`.

    Storage: V = ½sᵀM s + ½π̃ᵀΓ⁻¹π̃, π̃ = π̂ − π, with π the parameters of the arm that the storage is asked for.
    Claim: V̇ = −sᵀKs whatever π is, so s → 0 and q → q_d for every bounded reference; π̂ converges to π only where
    the motion excites it. Projection onto the box [lower, upper] keeps V̇ ≤ −sᵀKs if π is inside. π̂ advances by
    one explicit Euler step each period. Rotor inertia is known.

    Args:
        robot: gives the geometry, the number of parameters and, without `start`, their first estimate.
        k: K ≥ 0 [N m s/rad], scalar or (n,).
        lam: Λ > 0 [1/s], scalar or (n,).
        gamma: adaptation rates Γ > 0, scalar or (m,), in units of the parameters squared over those of V;
            `adaptation_rates` gives rates in proportion.
        form: "links", ten parameters per body, or "base", the combinations that torques can show (fewer states).
        friction: "known" (the model's is cancelled at q̇), "adapt" (viscous and Coulomb coefficients a joint join
            π), or "none".
        start: first estimate (m,), see `adaptive_parameters`.
        lower: smallest values allowed, scalar or (m,).
        upper: largest values allowed, scalar or (m,).
    """
    parameters = parameters_of(robot, form, friction)
    m = parameters.size
    first = parameters.true(robot) if start is None else np.array(start, dtype=np.float64)
    low, high = (_bound(value, m, label) for value, label in ((lower, "lower"), (upper, "upper")))
    if first.shape != (m,):
        raise InputError(
            f"adaptive: start must have shape ({m},), one per parameter ({form}, friction {friction}); "
            f"got {first.shape}"
        )
    if (first < low).any() or (first > high).any():
        worst = int(np.argmax(np.maximum(low - first, first - high)))
        raise InputError(
            f"adaptive: start of {parameters.names[worst]} is {first[worst]:g}, "
            f"outside [{low[worst]:g}, {high[worst]:g}]"
        )

    def adapt(
        arm: Robot | Tree,
        q: Traced,
        qd: Traced,
        ref: Reference,
        dt: Traced,
        k: Traced,
        lam: Traced,
        gamma: Traced,
        estimate: Traced,
    ) -> tuple[Traced, dict[str, Traced]]:
        s, qd_r, qdd_r = sliding(q, qd, ref, lam)
        Y = parameters.regressor(arm, q, qd, qd_r, qdd_r)
        tau = Y @ estimate + parameters.known(arm, qd, qdd_r) - k * s
        return tau, {"estimate": _inside(estimate - dt * (gamma * (s @ Y)), low, high)}

    def storage(
        arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, lam: Traced, gamma: Traced, estimate: Traced
    ) -> Traced:
        error = estimate - parameters.true(arm)
        return sliding_energy(arm, q, qd, ref, lam) + 0.5 * (error @ (error / gamma))

    gains = {
        "k": gain(k, "k"),
        "lam": gain(lam, "lam", positive=True),
        "gamma": gain(gamma, "gamma", size=m, positive=True),
    }
    return Law("adaptive", adapt, gains, {"estimate": first}, storage, adaptive.__doc__ or "", {"gamma": m})


@names_culprit
def adaptive_parameters(robot: Robot, *, form: str = "links", friction: str = "known") -> dict[str, float]:
    """Names and values of the parameters that `adaptive` estimates, in its order, as `robot` has them."""
    parameters = parameters_of(robot, form, friction)
    return dict(zip(parameters.names, parameters.true(robot).tolist(), strict=True))


@names_culprit
def adaptation_rates(
    robot: Robot, rate: float = 1.0, *, form: str = "links", friction: str = "known"
) -> NDArray[np.float64]:
    """Rates Γ (m,) in proportion: rate · (size of the parameter)², so that parameters of different units learn alike.

    The size is the parameter's own value, but at least a tenth of the largest of its kind (mass, moment, inertia, …).
    """
    parameters = parameters_of(robot, form, friction)
    values, kinds = np.abs(parameters.true(robot)), parameters.kinds
    size = np.array(
        [
            max(values[i], 0.1 * max(values[j] for j in range(len(kinds)) if kinds[j] == kinds[i]), 1e-6)
            for i in range(len(kinds))
        ]
    )
    return float(gain(rate, "rate", positive=True)) * size**2


def _bound(value: ArrayLike, m: int, label: str) -> NDArray[np.float64]:
    array = np.array(value, dtype=np.float64)
    if array.shape not in ((), (m,)) or np.isnan(array).any():
        raise InputError(f"adaptive: {label} must be a scalar or ({m},) without NaN, got {array.shape}")
    return np.broadcast_to(array, (m,))


def _inside(x: Traced, low: NDArray[np.float64], high: NDArray[np.float64]) -> Traced:
    """Projection onto the box; sides at infinity cost nothing."""
    out = [np.maximum(v, a) if np.isfinite(a) else v for v, a in zip(x, low, strict=True)]
    return np.array([np.minimum(v, b) if np.isfinite(b) else v for v, b in zip(out, high, strict=True)])


__all__ = ["Parameters", "adaptation_rates", "adaptive", "adaptive_parameters"]
