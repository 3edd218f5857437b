# SPDX-License-Identifier: Apache-2.0
"""Chapters 2 and 3 of 000, and the tables: activation, frames, Jacobian, offsets, cylinders, Christoffel symbols."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from armwright.dynamics import bias, coriolis_matrix
from armwright.kinematics import fk, jacobian, singularity
from armwright.robot.load import load
from armwright.spatial.inertia import cylinder_inertia
from armwright.studies.doc000_collision import as_published
from armwright.studies.doc000_collision.setting import R_t, arm, postures, q_0, q_t, qd_t
from armwright.studies.study import Claim, Formula, Item, Numbers
from armwright.types import Array

RADII_USED = np.array([0.045, 0.045, *[0.045 * 97.0 / 113.0] * 4])
HEIGHTS = np.array([0.13693, 0.540, 0.507, 0.085, 0.085, 0.0395])
AXES = "yxxyyz"
V = np.array([-0.75, -0.25, 0.25, 0.75])


def offsets() -> Array:
    """Return r_{i−1,i} in axes of frame i (6, 3) [m]: what FK at rest says, frame by frame."""
    T = as_published.frames(np.zeros(6))
    return np.array([B[:3, :3].T @ (B[:3, 3] - A[:3, 3]) for A, B in pairwise(T)])


def cylinders() -> Array:
    """Return the diagonals of the printed cylinders' inertia tensors (6, 3) [kg m²], with the radii of the code."""
    masses = [body.mass for body in arm().bodies]
    found = [
        np.diag(cylinder_inertia(m, r, h, axis))
        for m, r, h, axis in zip(masses, RADII_USED, HEIGHTS, AXES, strict=True)
    ]
    return np.array(found)


def by_hand() -> Array:
    """Return the report's formulas: along the axis ½ m r², across it m (3r² + h²)/12 (6, 3)."""
    out = []
    for body, r, h, axis in zip(arm().bodies, RADII_USED, HEIGHTS, AXES, strict=True):
        row = np.full(3, body.mass * (3.0 * r * r + h * h) / 12.0)
        row["xyz".index(axis)] = 0.5 * body.mass * r * r
        out.append(row)
    return np.array(out)


def rotation_at_start() -> Array:
    """Return the tool rotation at q_0, row by row (9,)."""
    return np.asarray(fk(arm(), q_0)[:3, :3]).ravel()


def skewness(last: float) -> float:
    """Return the largest entry of the symmetric part of Ṁ − 2C at the test state."""
    D = as_published.slopes(arm(), q_t)
    c = 0.5 * (np.einsum("kji->ijk", D) + np.einsum("kij->ijk", D) + last * D)
    N = D @ qd_t - 2.0 * np.einsum("ijk,i->kj", c, qd_t)
    return float(np.abs(N + N.T).max())


def _fk_notes() -> list[str]:
    out = []
    for name, robot, q in (("0", arm(), np.zeros(6)), ("0, today's DH", load("ur5"), np.zeros(6)), ("q_0", arm(), q_0)):
        p = fk(robot, q)[:3, 3]
        out.append(f"flange at q = {name}: (" + ", ".join(f"{x:.6f}" for x in p) + ") m")
    p = fk(load("ur5"), q_0)[:3, 3] - fk(arm(), q_0)[:3, 3]
    out.append("today's DH would shift it at q_0 by (" + ", ".join(f"{1e3 * x:.1f}" for x in p) + ") mm")
    return out


def _inertia_notes() -> list[str]:
    rows = [f"I{i} = diag(" + ", ".join(f"{x:.6e}" for x in row) + ")" for i, row in enumerate(cylinders(), 1)]
    return [*rows, f"sum of the masses: {sum(body.mass for body in arm().bodies):.3f} kg"]


def _christoffel_notes() -> list[str]:
    right = bias(arm(), q_t, qd_t, gravity=False, friction=False)
    off = np.abs(as_published.christoffel_torque(arm(), q_t, qd_t, 1.0) - right).max()
    worst = np.abs(as_published.christoffel_torque(arm(), q_t, qd_t, -1.0) - right).max()
    return [
        f"at about 1 rad/s the printed sign is off by up to {off:.3f} N m; with − {worst:.0e} N m are left",
        f"symmetric part of Ṁ − 2C: {skewness(1.0):.3f} with +, {skewness(-1.0):.0e} with −",
    ]


def _reach_notes() -> list[str]:
    return ["at q_0: " + singularity(arm(), q_0).message]


PRINTED_OFFSETS = "0 0.0892 0, -0.425 0 0, -0.39243 0 0, 0 0.109 0, 0 -0.093 0, 0 0 0.082"

ITEMS: tuple[Item, ...] = (
    Item(
        "2.act",
        "saturated-linear activation",
        Formula("1 for v ≥ ½, v between, 0 for v < −½: at v = −¾, −¼, ¼, ¾"),
        lambda: as_published.saturated_linear(V),
        lambda: np.clip(V + 0.5, 0.0, 1.0),
        reason="as printed it jumps by ½ at both corners; a saturated line has v + ½ in the middle",
        faults=("saturated-linear activation: v for v + ½",),
    ),
    Item(
        "3.fk",
        "pose of the flange",
        Formula("A_i = Rot_z(θ_i) Trans_z(d_i) Trans_x(a_i) Rot_x(α_i)"),
        lambda: np.array([as_published.frames(q)[6] for q in postures(20)]),
        lambda: fk(arm(), postures(20)),
        notes=_fk_notes,
    ),
    Item(
        "3.J",
        "geometric Jacobian",
        Formula("[z_{i−1} × (p_6 − p_{i−1}); z_{i−1}]"),
        lambda: np.array([as_published.jacobian_by_columns(q) for q in postures(20)]),
        lambda: jacobian(arm(), postures(20)),
        notes=_reach_notes,
    ),
    Item("3.r", "link offsets r_{i−1,i} in frame i", Numbers(PRINTED_OFFSETS, "m"), None, lambda: offsets().ravel()),
    Item(
        "3.rad",
        "radii of the cylinders",
        Numbers("(0.045, 0.045, 0.0386, 0.0386, 0.03862, 0.0386)", "m"),
        None,
        lambda: RADII_USED,
        reason="the code has 0.045·97/113",
    ),
    Item(
        "3.I",
        "inertia of the cylinders about their centres",
        Formula("½ m r²; m (3r² + h²)/12", "kg m²"),
        by_hand,
        lambda: np.array([np.diag(body.inertia) for body in arm().bodies]),
        notes=_inertia_notes,
    ),
    Item(
        "3.c",
        "Christoffel symbols: C q̇",
        Formula("c_ijk = ½(∂m_kj/∂q_i + ∂m_ki/∂q_j + ∂m_ij/∂q_k)", "N m", tolerance=1e-8),
        lambda: as_published.christoffel_torque(arm(), q_t, qd_t, 1.0),
        lambda: bias(arm(), q_t, qd_t, gravity=False, friction=False),
        reason="the sign of the last term is −; as printed Ṁ − 2C is not skew and C q̇ is wrong",
        faults=("Christoffel symbols: + for − before the last term",),
        rule="to 1e-8: ∂M/∂q is taken by differences",
        notes=_christoffel_notes,
    ),
    Item(
        "3.skew",
        "independent entries of a skew-symmetric n × n matrix (A.3), at n = 6 as for Ṁ − 2C",
        Claim("three", 3),
        None,
        lambda: len(np.triu_indices_from(coriolis_matrix(arm(), q_t, qd_t), 1)[0]),
        reason="three is right for 3×3 only; a 6×6 one has fifteen",
        faults=("A.3: three independent entries of any skew matrix",),
    ),
)
START: tuple[Item, ...] = (
    Item(
        "6.q0",
        "tool rotation at the start posture q_0",
        Numbers("0 1 0, 1 0 0, 0 0 -1", reading=(4e-4,) * 9),
        None,
        rotation_at_start,
        rule="to ±0.0002: q_0 is printed with four decimals, and four angles of ±0.00005 rad add up",
        notes=lambda: [f"largest deviation from R_t: {np.abs(rotation_at_start() - R_t.ravel()).max():.1e}"],
    ),
)
