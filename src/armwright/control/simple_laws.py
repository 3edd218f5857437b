# SPDX-License-Identifier: Apache-2.0
"""The simplest laws: zero and constant torque, viscous damping, and the reference's own torque with PD around it.

`zero`: the arm moves by itself. `constant`: the torque of one posture whatever the arm does (002, section 5.3).
`damping`: the gain may change in time, as in the drop test of 000 (§4.4). `feedforward`: the model is evaluated on the
reference alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.control.law import Law
from armwright.control.pd import pd_torque
from armwright.control.tick_function import finite_numbers, gain
from armwright.dynamics.energy import energy
from armwright.dynamics.newton_euler import rnea
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.motion.trajectory import Reference
    from armwright.robot.model import Robot
    from armwright.robot.tree import Tree
    from armwright.types import Array, Traced


def zero_torque(q: Traced) -> Traced:
    """Tau = 0 (n,)."""
    return 0.0 * q


def mechanical_energy(arm: Robot | Tree, q: Traced, qd: Traced) -> Traced:
    """V = ½ q̇ᵀM q̇ + P(q) [J], up to a constant where the arm is regrouped."""
    return energy(arm, q, qd).total


def zero() -> Law:
    """Zero torque: tau = 0.

    Storage: the mechanical energy V = ½q̇ᵀMq̇ + P. Claim: V̇ = −q̇·friction; constant without friction.

    >>> run = aw.simulate(robot, zero(), duration=1.0)  # the arm falls
    """
    return Law("zero torque", zero_torque, storage=mechanical_energy, doc=zero.__doc__ or "")


def constant_torque(q: Traced, tau: Traced) -> Traced:
    """Tau (n,), the same at every instant."""
    return tau + 0.0 * q


def energy_less_work(arm: Robot | Tree, q: Traced, qd: Traced, tau: Traced) -> Traced:
    """V = ½ q̇ᵀM q̇ + P(q) − tauᵀq [J], up to a constant where the arm is regrouped."""
    return mechanical_energy(arm, q, qd) - np.sum(tau * q)


@names_culprit
def constant(tau: ArrayLike) -> Law:
    """Constant torque: tau = tau₀, open loop (002, section 5.3, with u_des of its eq. 5.18).

    Storage: V = ½q̇ᵀMq̇ + P − tau₀ᵀq, the mechanical energy less the work that tau₀ has done. Claim: V̇ = −q̇·friction;
    constant without friction. Nothing is said about where the arm goes: a posture with g(q) = tau₀ is an equilibrium,
    most often an unstable one. The reference is not used.

    Args:
        tau: torque of the actuators [N m] (prismatic joints: force [N]), any sign: (n,), (B, n) for a batch of
            simulations, or a scalar, the same in every joint.

    >>> run = aw.simulate(robot, constant(aw.gravity_torque(robot, q0)), duration=1.0, q0=q0)  # it stays, for a while
    """
    values = finite_numbers(tau, "tau")
    if values.ndim > 2 or not values.size:
        raise InputError(f"tau: expected a torque per joint, (n,), (B, n) or a scalar, got shape {values.shape}")
    return Law(
        "constant torque", constant_torque, {"tau": values}, storage=energy_less_work, doc=constant.__doc__ or ""
    )


DROP_TEST = ((0.0, 9.8), (1.0, 0.02))
"""Times [s] and gains [N m s/rad] of 000, section 3.3.1: K(t) = 1 − 0.1 t up to 9.8 s, then 0.02."""


def piecewise_linear(t: Traced, times: Array, values: Array) -> Traced:
    """Value at t of the broken line through (times, values), (m,) and (m, …), held before the first and after the last.

    v₀ + Σ_k slope_k · clip(t − t_k, 0, t_{k+1} − t_k): a sum without choices, so it costs the same everywhere.
    """
    total: Any = values[0]
    for k in range(len(times) - 1):
        span = float(times[k + 1] - times[k])
        total = total + (values[k + 1] - values[k]) * (np.minimum(np.maximum(t - times[k], 0.0), span) / span)
    return total


def _table(table: tuple[ArrayLike, ArrayLike]) -> Callable[[Any], Any]:
    times, values = np.array(table[0], dtype=np.float64), gain(table[1], "damping table values")
    if times.ndim != 1 or len(times) < 1 or values.shape[:1] != times.shape:
        raise InputError(
            f"damping table: expected times (m,) and values (m,) or (m, n), got {times.shape} and {values.shape}"
        )
    if not np.isfinite(times).all() or (np.diff(times) <= 0.0).any():
        raise InputError("damping table: times must be finite and increase")
    return lambda t: piecewise_linear(t, times, values)


@names_culprit
def damping(k: ArrayLike | Callable[[Any], Any] | tuple[ArrayLike, ArrayLike] = DROP_TEST) -> Law:
    """Viscous damping: tau = −K(t) q̇ (000, section 3.3.1).

    Storage: the mechanical energy V. Claim: V̇ = −q̇ᵀK(t)q̇ − q̇·friction ≤ 0 while K ≥ 0: the arm comes to rest in an
    equilibrium of gravity. The reference is not used.

    Args:
        k: K [N m s/rad]: a constant, scalar or (n,); or a function of t, scalar or (n,), written with NumPy (`np.where`
            for choices, so that it can be traced); or a pair (times (m,), values (m,) or (m, n)) that is
            interpolated linearly and held outside. The drop test of 000 if omitted.

    >>> run = aw.simulate(robot.with_rotors(0.1), damping(2.0), duration=1.0)
    """
    doc = damping.__doc__ or ""
    if isinstance(k, tuple) and len(k) == 2 and np.ndim(k[0]) == 1:
        k = _table(k)
    if callable(k):
        schedule = k

        def scheduled(t: Traced, qd: Traced) -> Traced:
            return -(schedule(t) * qd)

        return Law("viscous damping", scheduled, storage=mechanical_energy, doc=doc)

    def steady(qd: Traced, k: Traced) -> Traced:
        return -(k * qd)

    return Law("viscous damping", steady, {"k": gain(k, "k")}, storage=mechanical_energy, doc=doc)


def feedforward_torque(
    arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, kp: Traced, kd: Traced, friction: bool = True
) -> Traced:
    """Tau = ID(q_d, q̇_d, q̈_d) + K_p e + K_d ė, shape (n,)."""
    return rnea(arm, ref.q, ref.qd, ref.qdd, friction=friction) + pd_torque(q, qd, ref, kp, kd)


@names_culprit
def feedforward(kp: ArrayLike, kd: ArrayLike, *, friction: bool = True) -> Law:
    """Feed-forward + PD: tau = M(q_d)q̈_d + C(q_d, q̇_d)q̇_d + g(q_d) + K_p e + K_d ė.

    The model is evaluated on the reference, so the feedback path has no model in it and the torque no measurement
    noise from it. Claim: on the reference tau is exact, e ≡ 0 is a solution; it is locally exponentially stable for
    K_p, K_d large enough against the slopes of the dynamics. No storage function is known without those bounds.

    Args:
        kp: stiffness ≥ 0 [N m/rad], scalar or (n,).
        kd: damping ≥ 0 [N m s/rad], scalar or (n,).
        friction: whether the model's friction at q̇_d is fed forward.

    >>> run = aw.simulate(robot.with_rotors(0.1), feedforward(kp=400.0, kd=40.0), path)
    """

    def function(arm: Robot | Tree, q: Traced, qd: Traced, ref: Reference, kp: Traced, kd: Traced) -> Traced:
        return feedforward_torque(arm, q, qd, ref, kp, kd, friction)

    gains = {"kp": gain(kp, "kp"), "kd": gain(kd, "kd")}
    return Law("feed-forward + PD", function, gains, doc=feedforward.__doc__ or "")
