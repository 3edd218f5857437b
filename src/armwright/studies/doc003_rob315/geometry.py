# SPDX-License-Identifier: Apache-2.0
"""Q1–Q5 of 003: frames, geometry table, direct geometric model, poses with axis and angle, drawings."""

from __future__ import annotations

import numpy as np

from armwright.kinematics import fk, fk_all
from armwright.robot.tables.dh import to_mdh
from armwright.spatial import log_so3
from armwright.studies.doc003_rob315.setting import PI, arm, q_f, q_i
from armwright.studies.study import Claim, Formula, Item, Numbers, Picture, Undetermined
from armwright.studies.study_pictures import arm_figure
from armwright.types import Array

PRINTED_TABLE = np.array(  # alpha_i, d_i, offset of theta_i, r_i
    [
        [0.0, 0.0, 0.0, 0.5],
        [PI / 2, 0.0, 0.0, 0.0],
        [0.0, 0.7, PI / 2, 0.0],
        [PI / 2, 0.0, 0.0, 0.2],
        [-PI / 2, 0.0, 0.0, 0.0],
        [PI / 2, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.1],
    ]
)
SAMPLE_CONFIGURATION = np.array([0.3, -0.4, -1.1, 0.7, 0.5, -0.9])


def elementary_transform_as_published(alpha: float, d: float, theta: float, r: float) -> Array:
    """Return T_{i-1,i} of the report: Rot_x(alpha) Trans_x(d) Rot_z(theta) Trans_z(r) (section 2.3)."""
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    return np.array(
        [[ct, -st, 0.0, d], [ca * st, ca * ct, -sa, -r * sa], [sa * st, sa * ct, ca, r * ca], [0, 0, 0, 1.0]]
    )


def g_0E_as_published(q: Array) -> Array:
    """Return g_0E(q) = T_01(q1) T_12(q2) … T_56(q6) T_6E from the printed table."""
    T = np.eye(4)
    for row, angle in zip(PRINTED_TABLE, [*q, 0.0], strict=True):
        T = T @ elementary_transform_as_published(row[0], row[1], angle + row[2], row[3])
    return T


def table_of_the_arm() -> Array:
    """Return (alpha, d, theta, r) found by common normals from the arm's axes, tool row appended."""
    found = to_mdh(arm())
    return np.vstack([found.table, [0.0, 0.0, 0.0, found.T_tip_tool[2, 3]]])


def origins_coincide() -> bool:
    """Return whether O1 = O2 at height r1, O4 = O5 = O6, and at q = 0 the arm is stretched along x0."""
    origin = fk_all(arm(), np.zeros(6))[:, :3, 3]
    O_E = fk(arm(), np.zeros(6))[:3, 3]
    shoulder, wrist = np.ptp(origin[:2], axis=0), np.ptp(origin[3:], axis=0)
    together = np.allclose(shoulder, 0.0) and np.allclose(wrist, 0.0)
    return bool(together and np.allclose(origin[0], [0, 0, 0.5]) and np.allclose(O_E, [0.7 + 0.2 + 0.1, 0.0, 0.5]))


def maps_to_previous_frame() -> bool:
    """Return whether T_{01} takes coordinates in R_0 to R_1, as the prose says: the origin of R_1 must then go to 0."""
    T_01 = elementary_transform_as_published(0.0, 0.0, 0.3, 0.5)
    O_1 = fk_all(arm(), [0.3, 0, 0, 0, 0, 0])[0, :, 3]
    return bool(np.allclose(T_01 @ O_1, [0, 0, 0, 1]))


def axis_angle_as_published(R: Array) -> tuple[Array, float]:
    """Return axis n and angle by the skew part of R; the authors' code has no rotation where sin φ < 1e-3."""
    v = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    phi = float(np.arctan2(0.5 * np.linalg.norm(v), 0.5 * (np.trace(R) - 1.0)))
    if abs(np.sin(phi)) < 1e-3:
        return np.zeros(3), 0.0
    return v / (2.0 * np.sin(phi)), phi


def axis_angle(q: Array) -> tuple[Array, float]:
    """Return axis n and angle of R_0E by the logarithm, accurate near 0 and π too."""
    w = log_so3(fk(arm(), q)[:3, :3])
    phi = float(np.linalg.norm(w))
    return w / phi, phi


def _pose_items(label: str, name: str, q: Array, P: str, n: str, phi: str) -> list[Item]:
    R = g_0E_as_published(q)[:3, :3]
    first = "abc" if label == "i" else "def"
    return [
        Item(
            f"Q4{first[0]}",
            f"P({name})",
            Numbers(P, "m"),
            lambda: g_0E_as_published(q)[:3, 3],
            lambda: fk(arm(), q)[:3, 3],
        ),
        Item(
            f"Q4{first[1]}",
            f"axis n({name})",
            Numbers(n),
            lambda: axis_angle_as_published(R)[0],
            lambda: axis_angle(q)[0],
        ),
        Item(
            f"Q4{first[2]}",
            f"angle φ({name})",
            Numbers(phi, "rad"),
            lambda: axis_angle_as_published(R)[1],
            lambda: axis_angle(q)[1],
        ),
    ]


def _table_notes() -> list[str]:
    return [
        f"row {i + 1}: alpha {r[0]:.4f}, d {r[1]:.1f}, theta q + {r[2]:.4f}, r {r[3]:.1f}"
        for i, r in enumerate(table_of_the_arm()[:6])
    ]


def _closed_form_note() -> list[str]:
    q = np.random.default_rng(3).uniform(-PI, PI, (2000, 6))
    c23, s23 = np.cos(q[:, 1] + q[:, 2]), np.sin(q[:, 1] + q[:, 2])
    c4, s4, c5, s5 = np.cos(q[:, 3]), np.sin(q[:, 3]), np.cos(q[:, 4]), np.sin(q[:, 4])
    x = 0.7 * np.cos(q[:, 1]) + 0.2 * c23 + 0.1 * (c5 * c23 - c4 * s5 * s23)
    y = -0.1 * s4 * s5
    z = 0.5 + 0.7 * np.sin(q[:, 1]) + 0.2 * s23 + 0.1 * (c5 * s23 + c4 * s5 * c23)
    c1, s1 = np.cos(q[:, 0]), np.sin(q[:, 0])
    P = np.stack([c1 * x - s1 * y, s1 * x + c1 * y, z], axis=1)
    off = np.abs(P - fk(arm(), q)[:, :3, 3]).max()
    return [f"closed form of P and fk agree to {off:.0e} m on 2000 random postures"]


ITEMS: tuple[Item, ...] = (
    Item(
        "Q1",
        "frames of the arm",
        Claim("O1 = O2 at height r1, O4 = O5 = O6; stretched along x0 at q = 0 (drawing)"),
        None,
        origins_coincide,
        pictures=(
            Picture(
                "The arm at q = 0 with the frames R_i, the joint axes (dashed) and the centres of mass.",
                lambda: arm_figure(arm(), [("q = 0", np.zeros(6))], coms=True, axes=True),
            ),
        ),
    ),
    Item(
        "Q2",
        "geometry table (alpha, d, theta, r)",
        Formula("7 × 4 table"),
        lambda: PRINTED_TABLE,
        table_of_the_arm,
        notes=_table_notes,
    ),
    Item(
        "Q3a",
        "product of the elementary transforms",
        Formula("g_0E = T_01 … T_56 T_6E"),
        lambda: g_0E_as_published(SAMPLE_CONFIGURATION),
        lambda: fk(arm(), SAMPLE_CONFIGURATION),
        notes=_closed_form_note,
    ),
    Item(
        "Q3b",
        "what T_{i-1,i} maps",
        Claim("from R_{i-1} to R_i"),
        None,
        maps_to_previous_frame,
        reason="the printed matrix maps coordinates in R_i to R_{i-1}; the prose states the reverse",
        faults=("direction of the transformation in the prose of Q3",),
    ),
    *_pose_items("i", "q_i", q_i, "(-0.10, -0.70, 0.30)", "(-0.58, -0.58, 0.58)", "2.09"),
    *_pose_items("f", "q_f", q_f, "(0.63, -0.10, 1.13)", "(0.28, 0.68, -0.68)", "2.59"),
    Item(
        "Q5",
        "frames R_0 and R_E drawn",
        Undetermined("drawing"),
        reason="a drawing has no digits; ours stands below",
        pictures=(
            Picture(
                "The arm at q_i and q_f with R_0, R_E and the vector O_0 O_E.",
                lambda: arm_figure(arm(), [("q_i", q_i), ("q_f", q_f)], frames="ends", vector=True),
            ),
        ),
    ),
)
