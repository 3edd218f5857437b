# SPDX-License-Identifier: Apache-2.0
"""The report's equations as it prints them, mistakes included: DH, Christoffel symbols, closed forms of M and g."""

from __future__ import annotations

import numpy as np

from armwright.dynamics import mass_matrix
from armwright.robot.model import Robot
from armwright.types import Array

GRAVITY = 9.81
DH = (  # d, a [m], alpha [rad]
    (0.0892, 0.0, np.pi / 2),
    (0.0, -0.425, 0.0),
    (0.0, -0.39243, 0.0),
    (0.109, 0.0, np.pi / 2),
    (0.093, 0.0, -np.pi / 2),
    (0.082, 0.0, 0.0),
)


def frames(q: Array) -> list[Array]:
    """Return the poses of frames 0 to 6, A_i = Rot_z(θ_i) Trans_z(d_i) Trans_x(a_i) Rot_x(α_i)."""
    out = [np.eye(4)]
    for theta, (d, a, alpha) in zip(q, DH, strict=True):
        (c, s), (ca, sa) = (np.cos(theta), np.sin(theta)), (np.cos(alpha), np.sin(alpha))
        A = [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0.0, sa, ca, d], [0.0, 0.0, 0.0, 1.0]]
        out.append(out[-1] @ np.array(A))
    return out


def jacobian_by_columns(q: Array) -> Array:
    """Return J with columns [z_{i−1} × (p_6 − p_{i−1}); z_{i−1}] (6, 6)."""
    T = frames(q)
    columns = [np.concatenate([np.cross(A[:3, 2], T[6][:3, 3] - A[:3, 3]), A[:3, 2]]) for A in T[:6]]
    return np.stack(columns, axis=1)


def kinetic_by_jacobians(robot: Robot, q: Array, qd: Array) -> float:
    """Return ½ q̇ᵀM q̇ [J] with (3.5): M = Σ m_i J_vciᵀ J_vci + J_ωiᵀ R_i I_i R_iᵀ J_ωi."""
    T, M = frames(q), np.zeros((6, 6))
    for i, body in enumerate(robot.bodies):
        R, c = T[i + 1][:3, :3], T[i + 1][:3, :3] @ body.com + T[i + 1][:3, 3]
        J_v, J_w = np.zeros((3, 6)), np.zeros((3, 6))
        for j, A in enumerate(T[: i + 1]):
            J_v[:, j], J_w[:, j] = np.cross(A[:3, 2], c - A[:3, 3]), A[:3, 2]
        M += body.mass * J_v.T @ J_v + J_w.T @ R @ body.inertia @ R.T @ J_w
    return float(0.5 * qd @ M @ qd)


def slopes(robot: Robot, q: Array, h: float = 1e-3) -> Array:
    """Return ∂M_ij/∂q_k as (i, j, k), by central differences of fourth order."""
    step = h * np.eye(6)
    at = [mass_matrix(robot, q + n * step) for n in (-2, -1, 1, 2)]
    slope = (at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * h)
    return np.moveaxis(np.asarray(slope), 0, -1)


def christoffel_torque(robot: Robot, q: Array, qd: Array, last: float) -> Array:
    """Return C q̇ with c_ijk = ½(∂m_kj/∂q_i + ∂m_ki/∂q_j + last ∂m_ij/∂q_k); printed: last = +1, right: −1."""
    D = slopes(robot, q)
    c = 0.5 * (np.einsum("kji->ijk", D) + np.einsum("kij->ijk", D) + last * D)
    return np.asarray(np.einsum("ijk,i,j->k", c, qd, qd))


def mass_entries(q: Array) -> dict[str, Array]:
    """Return the entries of M that survive in the appendix, at postures (..., 6)."""
    s, c = np.sin, np.cos
    _, q2, q3, q4, q5, _ = np.moveaxis(q, -1, 0)
    a, b = q2 + q3 + q4, q3 + q4
    wrist = 5.2884830122e-4 * c(2 * q5)
    lean = 0.00284376 * (s(b + q5) - s(b - q5))
    m13 = (
        0.00202230028 * c(a) + 7.293408e-4 * (c(a - q5) - c(a + q5)) + 2.6442415061e-4 * (c(a - 2 * q5) - c(a + 2 * q5))
    )
    return {
        "m12": m13 + 0.267177491 * s(q2) + 0.00284376 * (s(q2 + q5) + s(q2 - q5)),
        "m13": m13,
        "m14": m13,
        "m15": -0.00201419266994 * c(a)
        - 7.293408e-4 * (c(a + q5) + c(a - q5))
        + 0.00284376 * (s(q2 - q5) - s(q2 + q5)),
        "m16": 6.08795974e-5 * (c(a + q5) - c(a - q5)),
        "m23": 0.0496708343882 - wrist - 0.007778078 * s(b) + lean,
        "m24": 0.00291008553822 - wrist - 0.007778078 * s(b) + lean,
        "m25": 0.00284376 * (s(b - q5) + s(b + q5)),
        "m26": 1.217591948e-4 * c(q5),
        "m33": 0.04967083438822 - wrist,
        "m34": 0.00291008553822 - wrist,
        "m35": 0.0 * q5,
        "m36": 1.217591948e-4 * c(q5),
        "m44": 0.00291008553822 - wrist,
        "m45": 0.0 * q5,
        "m46": 1.217591948e-4 * c(q5),
        "m55": 0.00201419266993 + 0.0 * q5,
        "m56": 0.0 * q5,
        "m66": 1.217591948e-4 + 0.0 * q5,
    }


def gravity_entries(q: Array) -> dict[str, Array]:
    """Return the printed g at postures (..., 6) [N m]."""
    s, c = np.sin, np.cos
    _, q2, q3, q4, q5, _ = np.moveaxis(q, -1, 0)
    a = q2 + q3 + q4
    g3 = GRAVITY * (0.01830136 * s(a) + 0.0066912 * (s(a - q5) - s(a + q5)))
    return {
        "g1": 0.0 * a,
        "g2": g3 - 2.37167 * GRAVITY * c(q2),
        "g3": g3,
        "g4": g3,
        "g5": -0.0066912 * GRAVITY * (s(a - q5) + s(a + q5)),
        "g6": 0.0 * a,
    }


def saturated_linear(v: Array) -> Array:
    """Return the activation of the introduction: 0 below −½, 1 above ½, v between."""
    return np.where(v <= -0.5, 0.0, np.where(v >= 0.5, 1.0, v))
