# SPDX-License-Identifier: Apache-2.0
"""Chapter 3 of 002: the arm by DH parameters and by products of exponentials; screws, twists, frames (section 3.3)."""

from __future__ import annotations

from collections.abc import Set
from functools import cache, partial, reduce
from typing import TYPE_CHECKING

import numpy as np

from armwright.kinematics import fk, fk_all
from armwright.robot.tables.dh import to_dh
from armwright.spatial import exp_se3, inverse, screw
from armwright.studies.doc002_irb140.setting import (
    MASSES,
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
from armwright.studies.study import Claim, Formula, Item, Numbers, Picture, Shown, Supposed
from armwright.studies.study_pictures import arm_figure
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armwright.robot.model import Robot

PRINTED = frozenset({"3.28", "3.30"})
TWO_ZEROS = "DH matrices with another zero and other signs than link vectors, q_des and u_des"
XI_4 = "ξ_4: third entry a1 for 0"
AXIS_1 = "axis of joint 1 put through x = a1"
R_PRINTED = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
"""Constant rotation between the tool frame of the screws and frame 6 of the printed matrices."""


def exponentials_as_published(q: Array, errors: Set[str] = PRINTED) -> list[Array]:
    """Return e^{ξ̂_iθ_i} (4, 4) of (3.28)–(3.33): axis 1 through x = a1 (3.28), e1 for e1 + e2 in one entry (3.30)."""
    E = [np.asarray(exp_se3(axis * angle)).copy() for axis, angle in zip(screws(), q, strict=True)]
    if "3.28" in errors:
        E[0] = np.asarray(exp_se3(screw(np.array([a1, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])) * q[0]))
    if "3.30" in errors:
        E[2][2, 3] = a1 * np.sin(q[2]) + e1 * (1.0 - np.cos(q[2]))
    return E


def home_pose(x: float = a1 + e4 + e6) -> Array:
    """Return g_st(0): no rotation, flange at (a1 + e4 + e6, 0, e1 + e2)."""
    T = np.eye(4)
    T[:3, 3] = (x, 0.0, e1 + e2)
    return T


@cache
def worst_pose_difference(errors: frozenset[str] = frozenset()) -> float:
    """Return the largest entry of T_0^6(q) − g_st(q)·R_c over 200 postures, with the given errors of (3.28)–(3.33)."""
    constant = np.eye(4)
    constant[:3, :3] = R_c
    T = fk(arm(), postures()[:200])
    return max(
        float(np.abs(reduce(np.matmul, [*exponentials_as_published(q, errors), home_pose(), constant]) - want).max())
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
        f"put right: T_0^6 − g_st R_c at most {worst_pose_difference():.0e} over 200 postures",
        *(f"({name}) alone: up to {worst_pose_difference(frozenset({name})):.2f} m" for name in sorted(PRINTED)),
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


def _is_axis_5(third: float) -> Shown:
    """Return whether ξ_5 with this third entry is the axis of joint 5."""
    xi = np.array([-0.712, 0.0, third, 0.0, 1.0, 0.0])
    return Shown(bool(np.allclose(xi, screws()[4], atol=1e-12)), f"{third:g} for {screws()[4][2]:g}")


def stretched_to_the_maximum(robot: Robot) -> Shown:
    """Return whether at q_des the wrist is as far from the axis of joint 1 as the arm can have it."""
    reach = float(np.hypot(*wrist(robot, q_des)[:2]))
    return Shown(bool(abs(reach - (a1 + e2 + e4)) < 1e-12), f"wrist {reach:.3f} m from axis 1")


def _draw() -> Figure:
    return arm_figure(arm(), [("q = 0", np.zeros(6)), ("q_des", q_des)], axes=True, coms=True)


ITEMS: tuple[Item, ...] = (
    Item(
        "3.3",
        "printed DH matrices describe the arm of the text, in coordinates of their own",
        Formula("A_0^1 … A_5^6 of (3.3)–(3.8)"),
        lambda: printed_pose(q_t),
        lambda: fk(arm(), q_t),
        notes=lambda: [
            "taken at (q1, π/2 − q2, −q3, q4, q5 + π, q6) and a constant turn of the tool frame",
            *_frame_notes(),
        ],
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
        "q_des of (5.16) stretches the arm",
        Claim("the position when the manipulator arm is stretched out to the maximum"),
        lambda: stretched_to_the_maximum(printed_arm()),
        lambda: stretched_to_the_maximum(arm()),
        reason="of the arm that link vectors and u_des describe; the printed matrices (3.3)–(3.8) have another zero "
        "and other signs: angles must first become (q1, π/2 − q2, −q3, q4, q5 + π, q6)",
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
    _listed(
        1,
        "(0, -0.070, 0, 0, 0, 1)",
        "axis 1 passes through the origin; at x = a1 is the shoulder, which (3.3) has a1 away from it",
        AXIS_1,
    ),
    _listed(2, "(-0.352, 0, 0.070, 0, 1, 0)"),
    _listed(3, "(-0.712, 0, 0.070, 0, 1, 0)"),
    _listed(4, "(0, 0.712, 0.070, 1, 0, 0)", "−ω × point has no third component here", XI_4),
    Item(
        "A3.xi5",
        "twist ξ_5 = (v, ω)",
        Claim("ξ5 := ⟨−0.712, 0, 45, 0, 1, 0⟩", unit="m, 1"),
        None,
        readings=(
            Supposed("45, as our text has it", partial(_is_axis_5, 45.0)),
            Supposed("0.45, its point lost in our text", partial(_is_axis_5, 0.45)),
        ),
        reason="our text of the listing is a transcription that loses characters elsewhere, too; (3.32) and a[6,4] "
        "have a1 + e4 = 0.45",
    ),
    _listed(6, "(0, 0.712, 0, 1, 0, 0)"),
    Item(
        "3.28",
        "e^{ξ̂1θ1}",
        Formula("e^{ξ1θ1}: translation (a1(1 − cos θ1), −a1 sin θ1, 0)"),
        lambda: exponentials_as_published(q_t)[0],
        lambda: exp_se3(screws()[0] * q_t[0]),
        reason="the base axis is displaced by a1, as in the listing",
        faults=(AXIS_1,),
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
        Claim("Determine the homogeneous matrix using alternative method"),
        lambda: Shown(worst_pose_difference(PRINTED) < 1e-12, f"up to {worst_pose_difference(PRINTED):.2f} apart"),
        lambda: Shown(worst_pose_difference() < 1e-12, f"at most {worst_pose_difference():.0e} apart"),
        reason="with (3.28) and (3.30) put right; with the exponentials as printed the poses differ",
        notes=_pose_notes,
    ),
    Item("A1", "reach of axis 5, stretched", Numbers("810", "mm"), None, lambda: float(1e3 * wrist(arm(), q_des)[0])),
)
