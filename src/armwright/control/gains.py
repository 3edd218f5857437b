# SPDX-License-Identifier: Apache-2.0
"""Gains from natural frequency and damping, and the largest period at which a loop may be sampled.

A digital controller holds its torque for a period h. Around rest at q the arm is linear, ẍ = A x + B τ with x =
(δq, δq̇), and the law is τ = K x at the samples; over one period the state is multiplied by Φ(h) + Γ(h) K, where Φ
and Γ come exactly from exp([[A, B], [0, 0]] h). The loop is stable while the spectral radius of that matrix stays
below 1, which 003's loop at 1 ms does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.arguments import names_culprit
from armwright.control.law import Law, as_law, law_kernel
from armwright.control.pd_gravity import pd_gravity
from armwright.control.tick_function import gain, initial_memory
from armwright.dynamics.public import dynamics_derivatives, gravity_torque, mass_matrix
from armwright.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array

MARGIN = 1e-9  # of the spectral radius above 1 that counts as rounding


class Gains(NamedTuple):
    """Position and velocity gains, scalars or (n,)."""

    kp: Array
    kd: Array


@names_culprit
def frequency_gains(w: ArrayLike, zeta: ArrayLike = 1.0) -> Gains:
    """Gains kp = w², kd = 2ζw for ë + kd ė + kp e = 0 (000 eq. 4.6, 004 eq. 2.74: critically damped, ζ = 1).

    Args:
        w: natural frequency [rad/s], scalar or (n,).
        zeta: damping ratio, scalar or (n,).

    >>> law = computed_torque(*frequency_gains(15.0))  # kp = 225, kd = 30, critically damped
    """
    w, zeta = gain(w, "w", positive=True), gain(zeta, "zeta")
    return Gains(w**2, 2.0 * zeta * w)


@names_culprit
def inertia_gains(robot: Robot, q: ArrayLike, w: ArrayLike, zeta: ArrayLike = 1.0) -> Gains:
    """Gains (n,) of a PD law [N m/rad, N m s/rad] for frequency w and damping ζ of each joint, moved alone at q.

    The diagonal of M(q) scales `frequency_gains`: kp = M_ii w², kd = 2ζ M_ii w. Elsewhere the frequency differs as
    M_ii does.

    >>> law = pd(*inertia_gains(robot, q, w=15.0))
    """
    M = np.diag(mass_matrix(robot, q))
    kp, kd = frequency_gains(w, zeta)
    if np.shape(kp) not in ((), (1,), (robot.n,)) or np.shape(kd) not in ((), (1,), (robot.n,)):
        raise InputError(
            f"inertia_gains: w and zeta must be scalars or ({robot.n},), got {np.shape(w)} and {np.shape(zeta)}"
        )
    return Gains(M * kp, M * kd)


class Linear(NamedTuple):
    """Loop around a state: ẋ = A x + B τ under τ = K x; at rest x = (δq, δq̇), A (2n, 2n), B (2n, n), K (n, 2n)."""

    A: Array
    B: Array
    K: Array


@names_culprit
def linearise(
    robot: Robot, law: Law | Callable[..., Any], q: ArrayLike, *, model: Robot | None = None, t: float = 0.0
) -> Linear:
    """Linearise arm and law at rest at q, exactly, with the reference at q; memory stays at its initial value.

    Args:
        robot: the arm.
        law: a law or a user's function; it must be traceable.
        q: pose (n,).
        model: the controller's model, the arm itself if omitted.
        t: time [s] for laws that depend on it.

    >>> loop_poles(linearise(robot, computed_torque(225.0, 30.0), q))
    """
    law, n, still = as_law(law), robot.n, np.zeros(robot.n)
    q = np.array(q, dtype=np.float64)
    dq, dqd, dtau = dynamics_derivatives(robot, q, still, gravity_torque(robot, q))
    A = np.block([[np.zeros((n, n)), np.eye(n)], [dq, dqd]])
    B = np.vstack([np.zeros((n, n)), dtau])
    kernel = law_kernel(law, model or robot, dt=1.0).derivative(("q", "qd"))
    slopes = kernel(t, q, still, q, still, still, *initial_memory(law, n).values())
    return Linear(A, B, np.hstack([slopes[0], slopes[1]]))  # the first output is tau


@names_culprit
def loop_poles(loop: Linear) -> NDArray[np.complex128]:
    """Poles (2n,) [1/s] of the continuous loop, the fastest first (003: −8690 1/s; 002 with its gains: −22,700 1/s).

    >>> loop_poles(linearise(robot, computed_torque(225.0, 30.0), q))  # twelve at −15 1/s
    """
    poles = np.linalg.eigvals(loop.A + loop.B @ loop.K)
    return np.asarray(poles[np.argsort(-np.abs(poles))], dtype=np.complex128)


@names_culprit
def hold_radius(loop: Linear, dt: float) -> float:
    """Spectral radius of one period dt [s] of the loop with the torque held; stable below 1.

    >>> hold_radius(linearise(robot, computed_torque(225.0, 30.0), q), 0.001) < 1.0
    True
    """
    from scipy.linalg import expm  # half a second of import that few calls need

    size, inputs = loop.B.shape
    block = np.zeros((size + inputs, size + inputs))
    block[:size, :size], block[:size, size:] = loop.A * dt, loop.B * dt
    step = expm(block)
    return float(np.abs(np.linalg.eigvals(step[:size, :size] + step[:size, size:] @ loop.K)).max())


@names_culprit
def loop_hold_limit(loop: Linear) -> float:
    """Largest period [s] below which the held loop is stable: 0 if it never is, inf if it always is.

    Scans upward from a hundredth of the fastest time constant to the first crossing, then bisects.

    >>> loop_hold_limit(linearise(robot, computed_torque(225.0, 30.0), q))  # [s]
    """
    if not loop.K.any():
        return np.inf
    poles = loop_poles(loop)
    start = 1e-2 / float(np.abs(poles).max())
    if float(poles.real.max()) > 1e-6 * float(np.abs(poles).max()) or hold_radius(loop, start) > 1.0 + MARGIN:
        return 0.0
    low, high = start, start
    for _ in range(200):
        high = low * 1.1
        if hold_radius(loop, high) > 1.0 + MARGIN:
            break
        low = high
    else:
        return np.inf
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if hold_radius(loop, middle) > 1.0 + MARGIN else (middle, high)
    return low


@names_culprit
def hold_limit(robot: Robot, q: ArrayLike, kp: ArrayLike, kd: ArrayLike) -> float:
    """Largest stable sampling period [s] of PD + gravity with the torque held, at rest at q (n,) (003: 0.232 ms).

    Args:
        robot: the arm.
        q: pose (n,); the limit differs from pose to pose.
        kp: stiffness [N m/rad], scalar or (n,).
        kd: damping [N m s/rad], scalar or (n,).

    >>> hold_limit(robot, q, kp=400.0, kd=40.0)  # [s]
    """
    return loop_hold_limit(linearise(robot, pd_gravity(kp, kd), q))


@names_culprit
def spectral_radius(robot: Robot, q: ArrayLike, kp: ArrayLike, kd: ArrayLike, dt: float) -> float:
    """Factor per period dt [s] by which errors of held PD + gravity grow, at rest at q (n,) (003: 7.0 at 1 ms).

    >>> spectral_radius(robot.with_rotors(0.1), q, kp=400.0, kd=40.0, dt=0.001)  # stable below 1
    """
    if not dt > 0.0:
        raise InputError(f"dt: the sampling period must be > 0, got {dt}")
    return hold_radius(linearise(robot, pd_gravity(kp, kd), q), dt)
