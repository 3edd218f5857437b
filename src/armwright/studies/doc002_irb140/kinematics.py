# SPDX-License-Identifier: Apache-2.0
"""Chapter 3 of 002: the arm by DH parameters and by products of exponentials; screws, twists, frames (002 §4.1–4.2)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from armwright.kinematics import fk, fk_all
from armwright.recording.pictures.skeleton import joint_frames
from armwright.robot.tables.dh import to_dh
from armwright.spatial import exp_se3, inverse, screw
from armwright.studies.doc002_irb140.as_published import screws_as_published
from armwright.studies.doc002_irb140.setting import (
    MASSES,
    PI,
    R_c,
    a1,
    arm,
    e1,
    e2,
    e4,
    e6,
    postures,
    printed_angles,
    printed_arm,
    q_des,
    q_t,
    screws,
)
from armwright.studies.study import Claim, Formula, Item, Numbers, Picture
from armwright.studies.study_pictures import arm_figure
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armwright.robot.model import Robot

LISTED = frozenset({"xi_1", "xi_4"})
TWO_ZEROS = "DH matrices with another zero and other signs than link vectors, q_des and u_des"
XI_4 = "ξ_4: third entry a1 for 0"
AXIS_1 = "axis of joint 1 put through x = a1"
DIRECTIONS = "(3.16)–(3.18): three directions listed for six axes"
R_PRINTED = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
"""Constant rotation between the tool frame of the screws and frame 6 of the printed matrices."""


def product_of_exponentials(xi: Array, home: Array, q: Array) -> Array:
    """Return g_st(θ) = e^{ξ̂1θ1} ⋯ e^{ξ̂6θ6} g_st(0) (4, 4)."""
    T = np.eye(4)
    for axis, angle in zip(xi, q, strict=True):
        T = T @ exp_se3(axis * angle)
    return np.asarray(T @ home)


def home_pose(x: float = a1 + e4 + e6) -> Array:
    """Return g_st(0): no rotation, flange at (a1 + e4 + e6, 0, e1 + e2)."""
    T = np.eye(4)
    T[:3, 3] = (x, 0.0, e1 + e2)
    return T


@cache
def worst_pose_difference(errors: frozenset[str] = frozenset()) -> float:
    """Return the largest entry of T_0^6(q) − g_st(q)·R_c over 200 postures, with the given errors of the screws."""
    xi = screws_as_published(errors)
    constant = np.eye(4)
    constant[:3, :3] = R_c
    T = fk(arm(), postures()[:200])
    return max(
        float(np.abs(product_of_exponentials(xi, home_pose(), q) @ constant - want).max())
        for q, want in zip(postures()[:200], T, strict=True)
    )


def printed_pose(q: Array) -> Array:
    """Return the pose by the printed DH matrices at the angles that mean the posture q, turned to frame 6 of `arm`."""
    turn = np.eye(4)
    turn[:3, :3] = R_PRINTED.T @ R_c
    return np.asarray(fk(printed_arm(), printed_angles(q)) @ turn)


def wrist(robot: Robot, q: Array) -> Array:
    """Return the centre of the wrist: origin of frame 5."""
    return np.asarray(fk(robot, q, frame=4)[:3, 3])


def link_vectors(robot: Robot) -> tuple[Array, Array]:
    """Return r_{i−1,i} and r_{i−1,ci} (6, 3) in the axes of frame i; massless links have none."""
    frames = np.concatenate([np.eye(4)[None], fk_all(robot, np.zeros(6))])
    ends, centres = [], []
    for i, body in enumerate(robot.bodies):
        back = inverse(frames[i + 1]) @ frames[i]
        ends.append(-back[:3, 3])
        centres.append(ends[-1] + body.com if body.mass > 0.0 else np.zeros(3))
    return np.array(ends), np.array(centres)


def home_centres() -> dict[int, Array]:
    """Return the centres of mass in the home pose by link, base frame, from the arm."""
    frames = fk_all(arm(), np.zeros(6))
    return {link: frames[link - 1, :3, :3] @ arm().bodies[link - 1].com + frames[link - 1, :3, 3] for link in MASSES}


def exponential_3_30_as_published(angle: float) -> Array:
    """Return e^{ξ̂3θ} of (3.30): e1(1 − cos) where (e1 + e2)(1 − cos) belongs."""
    T = np.asarray(exp_se3(screws()[2] * angle)).copy()
    T[2, 3] = a1 * np.sin(angle) + e1 * (1.0 - np.cos(angle))
    return T


def _table_notes() -> list[str]:
    lines = []
    table = to_dh(arm()).table
    for i, (xi, row) in enumerate(zip(screws(), table, strict=True), start=1):
        numbers = ", ".join(f"{x + 0.0:g}" for x in np.round(xi, 12))
        theta, d, a, alpha = (float(x) for x in row)
        lines.append(f"joint {i}: ξ = ({numbers}); DH θ = q + {theta:.4f}, d {d:.3f}, a {a:.3f}, α {alpha:.4f}")
    return lines


def _frame_notes() -> list[str]:
    lines = []
    for i, T in enumerate(fk_all(arm(), np.zeros(6)), start=1):
        x, y, z = (", ".join(f"{v + 0.0:g}" for v in np.round(T[:3, k], 12)) for k in (0, 1, 2))
        origin = ", ".join(f"{v + 0.0:.3f}" for v in np.round(T[:3, 3], 12))
        lines.append(f"frame {i} at q = 0: origin ({origin}), x ({x}), y ({y}), z ({z})")
    return lines


def _pose_notes() -> list[str]:
    return [
        f"screws corrected: T_0^6 − g_st R_c at most {worst_pose_difference():.0e} over 200 postures",
        f"screws as listed (ξ_1, ξ_4): up to {worst_pose_difference(LISTED):.2f}",
        f"flange at q_t: ({', '.join(f'{x:.6f}' for x in fk(arm(), q_t)[:3, 3])}) m",
    ]


def _listed(i: int, text: str, reason: str = "", *faults: str) -> Item:
    return Item(
        f"A3.xi{i}",
        f"twist ξ_{i} = (v, ω)",
        Numbers(text, "m, 1"),
        None,
        lambda: screws()[i - 1],
        reason=reason,
        faults=faults,
        notes=_table_notes if i == 1 else None,
    )


def _draw() -> Figure:
    return arm_figure(arm(), [("q = 0", np.zeros(6)), ("q_des", q_des)], axes=True, coms=True)


_POINT = (a1 + e1, 0.0, e1 + e2)
ITEMS: tuple[Item, ...] = (
    Item(
        "3.3",
        "printed DH matrices describe the arm of the text",
        Formula("α = (90, 0, 90, 90, 90, 0)°, other zero and signs"),
        lambda: printed_pose(q_t),
        lambda: fk(arm(), q_t),
        notes=_frame_notes,
        pictures=(
            Picture(
                "The arm at home (q = 0) and stretched (q_des) with link frames, joint axes (dashed) and "
                "centres of mass (area by mass).",
                _draw,
            ),
        ),
    ),
    Item(
        "3.3a",
        "wrist at q_des, angles put into the printed matrices",
        Formula("T_0^5(q_des)", "m"),
        lambda: wrist(printed_arm(), q_des),
        lambda: wrist(arm(), q_des),
        reason="the printed matrices have another zero and other signs than q_des, u_des and the link "
        "vectors: angles must first "
        "become (q1, π/2 − q2, −q3, q4, q5 + π, q6)",
        faults=(TWO_ZEROS,),
    ),
    Item(
        "3.r",
        "link vectors r_{i−1,i}",
        Numbers("(0.070, -0.352, 0), (0.360, 0, 0), (0, 0, 0), (0, 0.380, 0), (0, 0, 0), (0, 0, 0.065)", "m"),
        lambda: link_vectors(printed_arm())[0],
        lambda: link_vectors(arm())[0],
        reason="in the frames that u_des and r_{i−1,ci} have too; in those of the printed DH matrices y of r_{0,1} "
        "is +0.352",
    ),
    Item(
        "3.rc",
        "link vectors r_{i−1,ci}",
        Numbers("(0.014, -0.264, 0.067), (0.201, 0, -0.070), (0, 0, 0), (0, 0.080, 0), (0, 0, 0), (0, 0, 0.029)", "m"),
        None,
        lambda: link_vectors(arm())[1],
    ),
    Item(
        "3.16a",
        "axis ω_1",
        Numbers("(1, 0, 0)"),
        None,
        lambda: screws()[0, 3:],
        reason="three axes are printed for six joints: a list of the distinct directions (4, 6: x; 2, 3, 5: y; 1: z)",
        faults=(DIRECTIONS,),
    ),
    Item(
        "3.16b",
        "axis ω_3",
        Numbers("(0, 0, 1)"),
        None,
        lambda: screws()[2, 3:],
        reason="joint 3 turns about y; the third of the distinct directions is z",
        faults=(DIRECTIONS,),
    ),
    Item(
        "3.16c",
        "point q_3 on the axis of the wrist",
        Formula("(a1 + e1, 0, e1 + e2)", "m"),
        lambda: np.array(_POINT),
        lambda: joint_frames(arm(), np.zeros(6))[4, :3, 3],
        reason="a1 + e4 is meant: the wrist is one forearm away",
        faults=("(3.21): a1 + e1 for a1 + e4",),
    ),
    _listed(1, "(0, -0.070, 0, 0, 0, 1)", "axis 1 passes through the origin, not x = a1", AXIS_1),
    _listed(2, "(-0.352, 0, 0.070, 0, 1, 0)"),
    _listed(3, "(-0.712, 0, 0.070, 0, 1, 0)"),
    _listed(4, "(0, 0.712, 0.070, 1, 0, 0)", "−ω × point has no third component here", XI_4),
    _listed(5, "(-0.712, 0, 45, 0, 1, 0)", "decimal point lost: 0.45", "ξ_5: 45 for 0.45"),
    _listed(6, "(0, 0.712, 0, 1, 0, 0)"),
    Item(
        "3.28",
        "e^{ξ̂1θ1}",
        Formula("axis through (a1, 0, 0)"),
        lambda: exp_se3(screw(np.array([a1, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])) * 0.7),
        lambda: exp_se3(screws()[0] * 0.7),
        reason="the base axis is displaced by a1, as in the listing",
        faults=(AXIS_1,),
    ),
    Item(
        "3.30",
        "e^{ξ̂3θ3} at θ3 = −π/2",
        Formula("third entry a1 sin θ + e1(1 − cos θ)"),
        lambda: exponential_3_30_as_published(-PI / 2),
        lambda: exp_se3(screws()[2] * (-PI / 2)),
        reason="(e1 + e2)(1 − cos θ) is meant; 0.36 m off at q_des",
        faults=("(3.30): e1 for e1 + e2",),
    ),
    Item(
        "3.15",
        "base configuration g_ST(0): position",
        Formula("(a1 + e4, 0, e1 + e2)", "m"),
        lambda: np.array([a1 + e4, 0.0, e1 + e2]),
        lambda: wrist(arm(), np.zeros(6)),
        notes=lambda: [f"its T is the wrist centre, as in (3.21); the flange is e6 = {e6} m further"],
    ),
    Item(
        "3.fk",
        "DH and exponentials give the same pose",
        Claim("both describe the same arm"),
        lambda: worst_pose_difference(LISTED) < 1e-12,
        lambda: worst_pose_difference() < 1e-12,
        reason="with ξ_1 and ξ_4 corrected; with the listed screws the poses differ",
        notes=_pose_notes,
    ),
    Item("A1", "reach of axis 5, stretched", Numbers("0.810", "m"), None, lambda: float(wrist(arm(), q_des)[0])),
)
