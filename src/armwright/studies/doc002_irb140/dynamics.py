# SPDX-License-Identifier: Apache-2.0
"""Chapters 4 and 5 of 002: Newton–Euler and exponentials give the same M, C and g; the holding torque u_des (5.18)."""

from __future__ import annotations

from functools import cache

import numpy as np

from armwright.dynamics import bias, coriolis_matrix, gravity_torque, inverse_dynamics, mass_matrix
from armwright.dynamics.poe import poe_equations
from armwright.robot.kernels import kernel
from armwright.robot.model import Robot
from armwright.studies.doc002_irb140.kinematics import TWO_ZEROS
from armwright.studies.doc002_irb140.listing import ALL, relative_error
from armwright.studies.doc002_irb140.setting import (
    GRAVITY,
    arm,
    postures,
    printed_angles,
    printed_arm,
    q_des,
    q_t,
    qd_t,
    qdd_t,
)
from armwright.studies.study import Claim, Formula, Item, Numbers, Shown
from armwright.types import Array, Traced

SIGNS = np.array([1.0, -1.0, -1.0, 1.0, 1.0, 1.0])
"""Torques of the printed coordinates become those of `arm` by these signs."""


def exponentials(q: Traced, qd: Traced) -> Traced:
    """Return M, C and g by products of exponentials, compiled."""
    return kernel(arm(), poe_equations, regroup=False)(q, qd)


def probed_mass(q: Array) -> Array:
    """Return M(q) by unit accelerations without velocity and gravity, as the thesis takes it out of Newton–Euler."""
    return np.asarray(inverse_dynamics(arm(), q, np.zeros(6), np.eye(6), gravity=False)).T


def remainder(q: Array, qd: Array, qdd: Array) -> Array:
    """Return C q̇ as τ − M q̈ − g."""
    still = np.zeros(6)
    g = inverse_dynamics(arm(), q, still, still)
    return np.asarray(inverse_dynamics(arm(), q, qd, qdd) - probed_mass(q) @ qdd - g)


@cache
def differences() -> dict[str, float]:
    """Return the largest difference between the two formulations at 300 states."""
    q = postures()
    qd = np.random.default_rng(3).uniform(-2.0, 2.0, q.shape)
    M, C, g = exponentials(q, qd)
    h = bias(arm(), q, qd) - gravity_torque(arm(), q)
    return {
        "M": float(np.abs(M - mass_matrix(arm(), q)).max()),
        "C q̇": float(np.abs(np.einsum("bij,bj->bi", C, qd) - h).max()),
        "g": float(np.abs(g - gravity_torque(arm(), q)).max()),
    }


def holding_factors(robot: Robot, q: Array) -> Array:
    """Return (−g_3, −(g_2 − g_3), −g_3, −g_5)/9.81: the numbers that (5.18) prints before g."""
    g = gravity_torque(robot, q) / GRAVITY
    return -np.array([g[2], g[1] - g[2], g[2], g[4]])


def others_vanish() -> bool:
    """Return whether joints 1, 4 and 6 need no holding torque."""
    return bool(np.abs(gravity_torque(arm(), q_des)[[0, 3, 5]]).max() < 1e-12)


def _notes() -> list[str]:
    found = differences()
    M = np.linalg.eigvalsh(mass_matrix(arm(), postures()))
    lines = [
        "Newton–Euler against exponentials at 300 states: " + ", ".join(f"{k} to {v:.0e}" for k, v in found.items())
    ]
    lines.append(
        f"eigenvalues of M {M.min():.5f} … {M.max():.2f} kg m², condition number up to {(M[:, -1] / M[:, 0]).max():.1e}"
    )
    tau = inverse_dynamics(arm(), q_t, qd_t, qdd_t)
    lines.append("τ(q_t, q̇_t, q̈_t) = (" + ", ".join(f"{x:.6f}" for x in tau) + ") N m")
    return lines


def _holding_notes() -> list[str]:
    u = gravity_torque(arm(), q_des) + 0.0
    return [
        "u_des = (" + ", ".join(f"{x:.5f}" for x in u) + ") N m",
        "by hand: 2.409 = 25·0.080 + 1·(0.380 + 0.029), 13.782 = 22·0.201 + 26·0.360, 0.029 = 1·0.029",
        "by exponentials: " + ", ".join(f"{x:.5f}" for x in exponentials(q_des, np.zeros(6))[2] + 0.0),
    ]


ITEMS: tuple[Item, ...] = (
    Item(
        "4.M",
        "M by unit accelerations",
        Formula("m[i,j] := eval(τ_i, {DDq[j] = 1, the others = 0, Dq = 0, g = 0})", "kg m²"),
        lambda: probed_mass(q_t),
        lambda: mass_matrix(arm(), q_t),
    ),
    Item(
        "4.C",
        "Coriolis torque as remainder",
        Formula("C0Dq := τ0 − M0·DDq − G0", "N m"),
        lambda: remainder(q_t, qd_t, qdd_t),
        lambda: coriolis_matrix(arm(), q_t, qd_t) @ qd_t,
    ),
    Item(
        "4.tau",
        "Newton–Euler with the printed matrices and vectors, τ(q_t, q̇_t, q̈_t)",
        Formula("A.2: R01 … R56 with r0c1, r1c2, r01 of (3.35), (3.36), (3.41)", "N m"),
        lambda: SIGNS * inverse_dynamics(printed_arm(), printed_angles(q_t), SIGNS * qd_t, SIGNS * qdd_t),
        lambda: inverse_dynamics(arm(), q_t, qd_t, qdd_t),
        reason="three link vectors belong to other frames than the printed matrices, which want (0.070, +0.352, 0), "
        "(0.014, +0.264, −0.067) and (0.201, 0, +0.070); what remains is the lateral offset of link 2, mirrored",
        faults=(TWO_ZEROS,),
    ),
    Item(
        "4.eq",
        "Newton–Euler and exponentials agree in M, C q̇ and g",
        Claim("the equation that is the same for all representation methods"),
        lambda: Shown(
            bool(relative_error(ALL).max() < 1e-11), f"M off by {np.median(relative_error(ALL)):.0f} times M"
        ),
        lambda: Shown(max(differences().values()) < 1e-11, f"apart by {max(differences().values()):.0e} at most"),
        reason="for the corrected listing; M of the listing as printed is off by a multiple of itself",
        notes=_notes,
    ),
    Item(
        "5.18",
        "u_des = (0, −(a + b)g, −c g, 0, −d g, 0): a, b, c, d",
        Numbers("2.409, 13.782, 2.409, 0.029", "kg m"),
        lambda: holding_factors(printed_arm(), q_des),
        lambda: holding_factors(arm(), q_des),
        reason="for the arm of the link vectors; q_des put into the printed DH matrices folds the arm, and u_des is 0",
        notes=_holding_notes,
    ),
    Item("5.18z", "joints 1, 4 and 6 of u_des", Claim("is therefore given zero control torque"), None, others_vanish),
)
