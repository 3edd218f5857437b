# SPDX-License-Identifier: Apache-2.0
"""Chapters 4 and 5: the force estimate of the closed loop, its delay, and the observer that was given up."""

from __future__ import annotations

from functools import cache

import numpy as np

from armwright.contact.observers.generalised_momentum import generalised_momentum
from armwright.control import computed_torque
from armwright.dynamics import bias, mass_matrix
from armwright.kinematics import jacobian
from armwright.recording import Recording
from armwright.robot.kernels import kernel
from armwright.simulation import simulate
from armwright.studies.collision import as_published
from armwright.studies.collision.setting import K_0, K_1, arm, omega, postures, q_0
from armwright.studies.item import Claim, Formula, Item
from armwright.types import Array

F = np.array([0.01, -0.005, 0.008, 0.0002, 0.0003, -0.0001])
"""A constant wrench at the flange [N, N m]; small, so that the arm stays where M and J are those of q_0."""


@cache
def pushed() -> Recording:
    """The arm holds q_0 under inverse dynamics while F pushes it from t = 0 on, 1.5 s."""
    found: Recording = simulate(
        arm(), computed_torque(K_0, K_1), q_0, 1.5, rate=2000.0, continuous=True, wrench=F, check_step=False
    )
    return found


def F_hat(q: Array, q_ref: Array) -> Array:
    """(5.x) F̂ = (Jᵀ)⁻¹ M(q) K_0 q̃ (6,)."""
    return np.asarray(np.linalg.solve(jacobian(arm(), q).T, mass_matrix(arm(), q) @ (K_0 * (q - q_ref))))


def measured_delay() -> Array:
    """∫(1 − r̂_i/r_i) dt of the step response of each joint [s]: the delay of a slow force."""
    recording = pushed()
    r_hat = K_0 * (recording["q"] - q_0)
    share = 1.0 - r_hat / r_hat[-1]
    return np.asarray(np.trapezoid(share, recording.time, axis=0))


@cache
def transport_mismatch() -> float:
    """Largest |Ṁq̇ − Cq̇ − Cᵀq̇|: left from any recursion that gives M and Cq̇, right from the momentum observer."""
    out = []
    transport = kernel(arm(), generalised_momentum, regroup=True)
    for q, qd in zip(postures(10), postures(20)[10:], strict=True):
        Md = as_published.slopes(arm(), q) @ qd
        out.append(Md @ qd - bias(arm(), q, qd, gravity=False, friction=False) - transport(q, qd)[1])
    return float(np.abs(out).max())


def momentum_needs_a_skew_C() -> bool:
    """False if the observer's Cᵀq̇ comes out of M and the vector Cq̇ alone, to the error of the differences."""
    return transport_mismatch() > 1e-8


def _delay_notes() -> list[str]:
    corner = omega * np.sqrt(np.sqrt(2.0) - 1.0) / (2.0 * np.pi)
    return [
        "ours, from (5.5): r̂_i/r_i = ω_i²/(s + ω_i)², so a slow force is felt K_1/K_0 = 2/ω_i late: "
        + ", ".join(f"{1e3 * x:.0f}" for x in K_1 / K_0)
        + " ms; measured on this push "
        + ", ".join(f"{1e3 * x:.0f}" for x in measured_delay())
        + " ms",
        "−3 dB at " + ", ".join(f"{x:.1f}" for x in corner) + " Hz; an impact is over before",
    ]


ITEMS: tuple[Item, ...] = (
    Item(
        "5.F",
        "force estimate under a constant push",
        Formula("F̂ = (Jᵀ)⁻¹ M(q) K_0 q̃", "N, N m", tolerance=1e-6),
        lambda: F_hat(pushed()["q"][-1], q_0),
        lambda: F,
        rule="to 1e-6, not to rounding: after 1.5 s of the run the arm still moves by that much",
        notes=_delay_notes,
    ),
    Item(
        "5.mom",
        "a momentum observer needs Ṁ − 2C skew, which Newton–Euler does not give",
        Claim("dropped for that reason", True),
        None,
        momentum_needs_a_skew_C,
        reason="only Cᵀq̇ = Ṁq̇ − Cq̇ is needed, and M and the vector Cq̇ come from any recursion",
        faults=("momentum observer given up for want of a skew Ṁ − 2C",),
        notes=lambda: [f"Ṁq̇ − Cq̇ against the observer's Cᵀq̇: {transport_mismatch():.0e} N m at ten states"],
    ),
)
