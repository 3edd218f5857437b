# SPDX-License-Identifier: Apache-2.0
"""Q6–Q7 of 003: Jacobian and twists, velocity manipulability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.kinematics import jacobian, manipulability, singularity, twist
from armwright.studies.doc003_rob315.setting import arm, q_f, q_i, qd_used
from armwright.studies.study import Item, Numbers, Picture
from armwright.studies.study_pictures import Ball, arm_figure
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SWAPPED, SLIP = "U1 of q_i and of q_f are swapped", "0.3760 printed for 0.3660 in U1"
TWIST_I, TWIST_F = "(0.35, -0.10, 0.60, 0, -1, 0)", "(-0.55, 0.32, 0.46, 1.06, 0, 0.15)"
qd_text_as_published = np.abs(qd_used)


def joint_rates_behind_the_twist() -> Array:
    """Return the joint velocities behind the printed twist at q_i: J(q_i) is regular, so the print tells them."""
    v = np.array([0.35, -0.10, 0.60, 0.0, -1.0, 0.0])
    return np.linalg.solve(jacobian(arm(), q_i), v)


def U1(q: Array) -> Array:
    """Return the preferred direction: the longest axis of the ellipsoid {J_v qd : ‖qd‖ ≤ 1}; its sign is arbitrary."""
    return manipulability(arm(), q).axes[:, 0]


def _twist_notes() -> list[str]:
    rates = ", ".join(f"{x:.2f}" for x in joint_rates_behind_the_twist())
    out = [f"the printed twist at q_i belongs to qd = ({rates}): J(q_i) is regular"]
    for name, q in (("q_i", q_i), ("q_f", q_f)):
        v = ", ".join(f"{x:.2f}" for x in twist(arm(), q, qd_text_as_published) + 0.0)
        out.append(f"with qd as the text prints it, all positive, the twist at {name} would be ({v})")
    return out


def determinant_in_closed_form(q: Array) -> float:
    """Return det J = d3 r4 sin q3 sin q5 (d3 cos q2 + r4 cos(q2 + q3)), which the report does not have."""
    return float(0.7 * 0.2 * np.sin(q[2]) * np.sin(q[4]) * (0.7 * np.cos(q[1]) + 0.2 * np.cos(q[1] + q[2])))


def _ellipsoid_notes() -> list[str]:
    out = []
    for name, q in (("q_i", q_i), ("q_f", q_f)):
        found = manipulability(arm(), q)
        sigma = ", ".join(f"{x:.6f}" for x in found.half_lengths)
        out.append(f"{name}: half lengths ({sigma}), W = {float(found.W):.6f}")
    numeric = np.linalg.det(jacobian(arm(), q_i))
    out.append(f"det J(q_i) = {determinant_in_closed_form(q_i):.3f} in closed form, {numeric:.3f} from J")
    out.append(
        f"q_f, full Jacobian: {singularity(arm(), q_f).message}; looking at J_v alone the report does not notice"
    )
    return out


def _ellipsoids() -> Figure:
    balls = {}
    for name, q in (("q_i", q_i), ("q_f", q_f)):
        found = manipulability(arm(), q)
        balls[name] = Ball(found.axes, 0.45 * found.half_lengths)
    return arm_figure(arm(), [("q_i", q_i), ("q_f", q_f)], frames="none", balls=balls)


ITEMS: tuple[Item, ...] = (
    Item(
        "Q6a",
        "twist at q_i",
        Numbers(TWIST_I, "m/s, rad/s"),
        lambda: jacobian(arm(), q_i) @ qd_used,
        lambda: twist(arm(), q_i, qd_used),
        notes=_twist_notes,
    ),
    Item(
        "Q6b",
        "twist at q_f",
        Numbers(TWIST_F, "m/s, rad/s"),
        lambda: jacobian(arm(), q_f) @ qd_used,
        lambda: twist(arm(), q_f, qd_used),
    ),
    Item(
        "Q7a",
        "manipulability W(q_i)",
        Numbers("0.1116"),
        None,
        lambda: float(manipulability(arm(), q_i).W),
        notes=_ellipsoid_notes,
        pictures=(
            Picture(
                "Velocity ellipsoids at the tool (scale 0.45 s) and their principal axes; U1 is the longest.",
                _ellipsoids,
            ),
        ),
    ),
    Item("Q7b", "manipulability W(q_f)", Numbers("0.0590"), None, lambda: float(manipulability(arm(), q_f).W)),
    Item(
        "Q7c",
        "preferred direction U1(q_i)",
        Numbers("(-0.7114, -0.0975, 0.6959)", up_to_sign=True),
        lambda: -U1(q_f),
        lambda: U1(q_i),
        reason="the two vectors are swapped: this one belongs to q_f",
        faults=(SWAPPED,),
    ),
    Item(
        "Q7d",
        "preferred direction U1(q_f)",
        Numbers("(0.3760, -0.3263, 0.8715)", up_to_sign=True),
        lambda: U1(q_i),
        lambda: U1(q_f),
        reason="swapped with U1(q_i), and 0.3760 is a slip for 0.3660: a column of U has length 1, the printed vector "
        "1.0037, and 1.0000 with 0.3660",
        faults=(SWAPPED, SLIP),
    ),
)
