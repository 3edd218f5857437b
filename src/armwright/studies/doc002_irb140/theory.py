# SPDX-License-Identifier: Apache-2.0
"""Chapter 2 of 002: rotations, exponentials and the Newton–Euler recursion as the thesis prints them (002 §3.2–3.5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from armwright.kinematics import acceleration, fk, fk_all, twist
from armwright.spatial import axis_angle, exp_se3, exp_so3, screw, skew
from armwright.studies.doc002_irb140.setting import arm, q_t, qd_t, qdd_t
from armwright.studies.study import Claim, Formula, Item
from armwright.types import Array

r = np.array([1.0, 2.0, -2.0]) / 3.0
phi, pitch = 0.8, 0.1
point = np.array([0.3, -0.2, 0.5])


def axis_angle_as_published(axis: Array, angle: float) -> Array:
    """Return (2.3): entries (2, 3) and (3, 2) carry r_z sin φ where r_x sin φ belongs."""
    x, y, z = axis
    c, s, v = np.cos(angle), np.sin(angle), 1.0 - np.cos(angle)
    return np.array(
        [
            [x * x * v + c, x * y * v - z * s, x * z * v + y * s],
            [x * y * v + z * s, y * y * v + c, y * z * v - z * s],
            [x * z * v - y * s, y * z * v + z * s, z * z * v + c],
        ]
    )


def rodrigues(axis: Array, angle: float) -> Array:
    """Return (2.8): 1 + ω̂ sin θ + ω̂²(1 − cos θ)."""
    W = skew(axis)
    return np.asarray(np.eye(3) + W * np.sin(angle) + W @ W * (1.0 - np.cos(angle)))


def screw_motion_as_published(axis: Array, through: Array, h: float, angle: float) -> Array:
    """Return (2.13): an extra e^{ω̂θ} stands before (1 − e^{ω̂θ}) q."""
    R = exp_so3(axis * angle)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, R @ (np.eye(3) - R) @ through + h * angle * axis
    return T


def first_form_as_published(axis: Array, h: float, angle: float) -> Array:
    """Return (2.11), left: the translation is hωθ alone, wherever the axis is."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = exp_so3(axis * angle), h * angle * axis
    return T


def second_form_as_published(axis: Array, v: Array, angle: float) -> Array:
    """Return (2.11), right: translation (1 − e^{ω̂θ})(ω × v) + ωωᵀvθ."""
    T = np.eye(4)
    T[:3, :3] = exp_so3(axis * angle)
    T[:3, 3] = (np.eye(3) - T[:3, :3]) @ np.cross(axis, v) + axis * (axis @ v) * angle
    return T


def flange_acceleration_as_published(q: Array, qd: Array, qdd: Array) -> Array:
    """Return the acceleration of the flange [m/s²] by (2.47), link after link, in base axes."""
    origins = np.vstack([np.zeros(3), fk_all(arm(), q)[:, :3, 3]])
    a = np.zeros(3)
    for i in range(6):
        w, alpha = twist(arm(), q, qd, frame=i)[3:], acceleration(arm(), q, qd, qdd, frame=i)[3:]
        r = origins[i + 1] - origins[i]
        a = a + np.cross(alpha, r) + np.cross(w, np.cross(w, r))
    return a


def spin_differs_from_derivative() -> bool:
    """Return whether, in the axes of any link, α_i (from the recursion) differs from dω_i/dt (by differences)."""

    def omega(t: float, i: int) -> Array:
        q, qd = q_t + t * qd_t + 0.5 * t * t * qdd_t, qd_t + t * qdd_t
        R = fk(arm(), q, frame=i)[:3, :3]
        return np.asarray(R.T @ twist(arm(), q, qd, frame=i)[3:])

    step = 1e-5
    for i in range(6):
        R = fk(arm(), q_t, frame=i)[:3, :3]
        alpha = R.T @ acceleration(arm(), q_t, qd_t, qdd_t, frame=i)[3:]
        if np.abs((omega(step, i) - omega(-step, i)) / (2.0 * step) - alpha).max() > 1e-8:
            return True
    return False


def _rotation_notes() -> list[str]:
    R: Any = axis_angle_as_published(r, phi)
    return [
        f"the printed matrix is no rotation: ‖RᵀR − 1‖ = {np.linalg.norm(R.T @ R - np.eye(3)):.3f}, det "
        f"{np.linalg.det(R):.3f}"
    ]


ITEMS: tuple[Item, ...] = (
    Item(
        "2.3",
        "rotation about an axis r by φ",
        Formula("R(r, φ), entries (2,3), (3,2) with r_z sin φ"),
        lambda: axis_angle_as_published(r, phi),
        lambda: axis_angle(r, phi),
        reason="r_x sin φ belongs in (2,3) and (3,2); the thesis's own (2.8) has it right",
        faults=("(2.3): r_z sin φ for r_x sin φ",),
        notes=_rotation_notes,
    ),
    Item(
        "2.8",
        "exponential of a rotation",
        Formula("1 + ω̂ sin θ + ω̂²(1 − cos θ)"),
        lambda: rodrigues(r, phi),
        lambda: exp_so3(r * phi),
    ),
    Item(
        "2.11a",
        "exponential of a twist, first form",
        Formula("translation hωθ"),
        lambda: first_form_as_published(r, pitch, phi),
        lambda: exp_se3(screw(point, r, pitch) * phi),
        reason="it is not the second form, which (2.11) equates with it: true only for an axis through the origin",
        faults=("(2.11): first form without (1 − e^{ω̂θ})(ω × v)",),
    ),
    Item(
        "2.11b",
        "exponential of a twist, second form",
        Formula("translation (1 − e^{ω̂θ})(ω × v) + ωωᵀvθ"),
        lambda: second_form_as_published(r, screw(point, r, pitch)[:3], phi),
        lambda: exp_se3(screw(point, r, pitch) * phi),
    ),
    Item(
        "2.13",
        "exponential of a screw motion",
        Formula("translation e^{ω̂θ}(1 − e^{ω̂θ})q + hθω"),
        lambda: screw_motion_as_published(r, point, pitch, phi),
        lambda: exp_se3(screw(point, r, pitch) * phi),
        reason="the factor e^{ω̂θ} before (1 − e^{ω̂θ}) q is spurious: points of the axis would move",
        faults=("(2.13): e^{ω̂θ} too much",),
    ),
    Item(
        "2.41",
        "remark: spin α_i against ω̇_i in the link's axes",
        Claim("α_i ≠ ω̇_i"),
        None,
        spin_differs_from_derivative,
        reason="Rᵀ d(Rω)/dt = ω̇ + ω × ω = ω̇: in the link's own axes they are the same",
        faults=("(2.40): α_i ≠ ω̇_i",),
    ),
    Item(
        "2.47",
        "acceleration of the end of a link by the recursion",
        Formula("Rᵀa_{e,i−1} + ω̇ × r + ω × (ω × r)", "m/s²"),
        lambda: flange_acceleration_as_published(q_t, qd_t, qdd_t),
        lambda: acceleration(arm(), q_t, qd_t, qdd_t)[:3],
    ),
)
