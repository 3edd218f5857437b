# SPDX-License-Identifier: Apache-2.0
"""Chapter 2 of 002: rotations, exponentials, adjoints and the Newton–Euler recursion as the thesis prints them."""

from __future__ import annotations

import numpy as np

from armwright.kinematics import acceleration, fk, fk_all, twist
from armwright.spatial import adjoint, exp_se3, exp_so3, inverse, screw, skew
from armwright.studies.doc002_irb140.setting import arm, q_t, qd_t, qdd_t
from armwright.studies.study import Claim, Formula, Item, Shown
from armwright.types import Array

r = np.array([1.0, 2.0, -2.0]) / 3.0
phi, pitch = 0.8, 0.1
point = np.array([0.3, -0.2, 0.5])
POSE = np.asarray(exp_se3(screw(point, r, pitch) * phi))
"""A pose to try formulas at; any other would do."""


def rodrigues(axis: Array, angle: float) -> Array:
    """Return (2.8): 1 + ω̂ sin θ + ω̂²(1 − cos θ)."""
    W = skew(axis)
    return np.asarray(np.eye(3) + W * np.sin(angle) + W @ W * (1.0 - np.cos(angle)))


def second_form_as_published(axis: Array, v: Array, angle: float) -> Array:
    """Return (2.11), right: translation (1 − e^{ω̂θ})(ω × v) + ωωᵀvθ."""
    T = np.eye(4)
    T[:3, :3] = exp_so3(axis * angle)
    T[:3, 3] = (np.eye(3) - T[:3, :3]) @ np.cross(axis, v) + axis * (axis @ v) * angle
    return T


def inverse_adjoints_as_published(T: Array) -> Array:
    """Return both forms of (2.55) (2, 6, 6): −(Rᵀp)^ Rᵀ and −Rᵀp̂ in the upper right corner."""
    R, p = T[:3, :3], T[:3, 3]
    corners = (-skew(R.T @ p) @ R.T, -R.T @ skew(p))
    return np.array([np.block([[R.T, corner], [np.zeros((3, 3)), R.T]]) for corner in corners])


def inverse_adjoints() -> Array:
    """Return what (2.55) equates its forms with (2, 6, 6): Ad_g⁻¹, by inverting (2.54), and Ad of g⁻¹."""
    return np.array([np.linalg.inv(adjoint(POSE)), adjoint(inverse(POSE))])


def flange_acceleration_as_published(q: Array, qd: Array, qdd: Array) -> Array:
    """Return the acceleration of the flange [m/s²] by (2.47), link after link, in base axes."""
    origins = np.vstack([np.zeros(3), fk_all(arm(), q)[:, :3, 3]])
    a = np.zeros(3)
    for i in range(6):
        w, alpha = twist(arm(), q, qd, frame=i)[3:], acceleration(arm(), q, qd, qdd, frame=i)[3:]
        r = origins[i + 1] - origins[i]
        a = a + np.cross(alpha, r) + np.cross(w, np.cross(w, r))
    return a


def spin_differs_from_derivative() -> Shown:
    """Return whether, in the axes of any link, α_i (from the recursion) differs from dω_i/dt (by differences)."""

    def omega(t: float, i: int) -> Array:
        q, qd = q_t + t * qd_t + 0.5 * t * t * qdd_t, qd_t + t * qdd_t
        R = fk(arm(), q, frame=i)[:3, :3]
        return np.asarray(R.T @ twist(arm(), q, qd, frame=i)[3:])

    step, apart = 1e-5, 0.0
    for i in range(6):
        R = fk(arm(), q_t, frame=i)[:3, :3]
        alpha = R.T @ acceleration(arm(), q_t, qd_t, qdd_t, frame=i)[3:]
        apart = max(apart, float(np.abs((omega(step, i) - omega(-step, i)) / (2.0 * step) - alpha).max()))
    return Shown(apart > 1e-8, f"{apart:.0e} rad/s² apart at most, by differences")


ITEMS: tuple[Item, ...] = (
    Item(
        "2.8",
        "exponential of a rotation",
        Formula("1 + ω̂ sin θ + ω̂²(1 − cos θ)"),
        lambda: rodrigues(r, phi),
        lambda: exp_so3(r * phi),
    ),
    Item(
        "2.11b",
        "exponential of a twist, second form",
        Formula("translation (1 − e^{ω̂θ})(ω × v) + ωωᵀvθ"),
        lambda: second_form_as_published(r, screw(point, r, pitch)[:3], phi),
        lambda: exp_se3(screw(point, r, pitch) * phi),
    ),
    Item(
        "2.41",
        "remark: spin α_i against ω̇_i in the link's axes",
        Claim("which means α_i ≠ ω̇_i!"),
        None,
        spin_differs_from_derivative,
        reason="Rᵀ d(Rω)/dt = ω̇ + ω × ω = ω̇: the derivative of the components in the link's own axes, which A.2 takes "
        "for ω̇ (map(diff, ω, t)), is α",
        faults=("(2.40): α_i ≠ ω̇_i",),
    ),
    Item(
        "2.47",
        "acceleration of the end of a link by the recursion",
        Formula("Rᵀa_{e,i−1} + ω̇ × r + ω × (ω × r)", "m/s²"),
        lambda: flange_acceleration_as_published(q_t, qd_t, qdd_t),
        lambda: acceleration(arm(), q_t, qd_t, qdd_t)[:3],
    ),
    Item(
        "2.55",
        "inverse of the adjoint transformation, both forms",
        Formula("Ad_g⁻¹ = [Rᵀ, −(Rᵀp)^ Rᵀ; 0, Rᵀ] = [Rᵀ, −Rᵀp̂; 0, Rᵀ] = Ad_{g⁻¹}"),
        lambda: inverse_adjoints_as_published(POSE),
        inverse_adjoints,
        notes=lambda: ["with the cross product for p̂, as (2.53) has it; which operator A.3 uses is item A3.Ms"],
    ),
)
