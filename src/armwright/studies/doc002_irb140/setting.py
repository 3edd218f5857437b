# SPDX-License-Identifier: Apache-2.0
"""What 002 is about: its arm, postures, gains and runs, under the symbols it uses.

`row_of_panels` and `joint_curves` are the empty figures of this study and the curves in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.recording.pictures.skeleton import joint_frames
from armwright.recording.pictures.style import COLOURS
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.spatial import screw
from armwright.studies.study_pictures import new_figure
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PI = np.pi
GRAVITY = 9.81

a1, e1, e2, e4, e6 = 0.070, 0.352, 0.360, 0.380, 0.065
"""Lengths [m]; e2 is the upper arm of the screw part (the DH part calls it a2 and has another e2 = 0)."""

MASSES = {1: 27.0, 2: 22.0, 4: 25.0, 6: 1.0}
CYLINDERS = {1: (0.191, 0.363), 2: (0.151, 0.515), 4: (0.115, 0.583), 6: (0.044, 0.107)}
"""Table 3.1: link → mass [kg], radius and height of its cylinder [m]; links 3 and 5 have none."""
BASE_MASS = 23.0
BASE_AXES = {1: "z", 2: "z", 4: "x", 6: "x"}
"""Axis of each cylinder in base axes, home pose."""

q_des = np.array([0.0, PI / 2, -PI / 2, 0.0, 0.0, 0.0])
q_down = np.array([0.0, PI, -PI / 2, 0.0, 0.0, 0.0])
q_t = np.array([0.3, -0.4, 0.5, -0.6, 0.7, -0.8])
qd_t = np.array([0.5, -0.4, 0.3, -0.2, 0.1, 0.6])
qdd_t = np.array([1.0, 0.8, -0.6, 0.4, -0.2, 0.5])
"""Stretched arm (OL1), hanging arm (OL2), and a state to compare formulations at (ours)."""

K_p = np.array([50.0, 50.0, 50.0, 50.0, 50.0, 60.0])
K_d = np.array([20.0, 20.0, 20.0, 20.0, 20.0, 22.0])

R_c = np.array([[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])
"""Constant rotation between the tool frame of the screws and DH frame 6."""


class StudyRun(NamedTuple):
    """A set-point run: from rest at q_init to q_ref."""

    q_init: Array
    q_ref: Array


RUNS = {
    "CL1": StudyRun(np.zeros(6), np.array([PI / 2, 0.0, -PI / 2, PI, PI / 2, -PI])),
    "CL2": StudyRun(q_down, np.array([PI, 0.0, 0.0, PI, PI / 2, -PI])),
    "CL3": StudyRun(q_des, np.array([-PI, PI, -PI, -PI, -PI / 2, PI])),
}


@cache
def arm() -> Robot:
    """Return the arm that link vectors, home offsets and holding torque of the thesis all describe.

    Its tool is the thesis's: DH frame 6 itself, where the sheet has ABB's tool0.
    """
    return replace(load("irb140"), T_tip_tool=np.eye(4))


@cache
def printed_arm() -> Robot:
    """Return the arm of the DH matrices as printed, with the link vectors as printed."""
    return load("irb140-published")


def printed_angles(q: Array) -> Array:
    """Return joint angles of the printed DH matrices that give posture q: (q1, π/2 − q2, −q3, q4, q5 + π, q6)."""
    signs = np.array([1.0, -1.0, -1.0, 1.0, 1.0, 1.0])
    return np.asarray(signs * q + np.array([0.0, PI / 2, 0.0, 0.0, PI, 0.0]))


@cache
def screws() -> Array:
    """Return ξ_i = (v, ω) of the home pose q = 0 (6, 6), base axes, from the joint axes of the arm."""
    frames = joint_frames(arm(), np.zeros(6))
    return np.array([screw(T[:3, 3], T[:3, 2]) for T in frames])


@cache
def postures(count: int = 300, seed: int = 2) -> Array:
    """Return random postures (count, 6) all around."""
    return np.random.default_rng(seed).uniform(-PI, PI, (count, 6))


def row_of_panels(titles: Sequence[str], *, height: float = 2.6, share_y: bool = False) -> tuple[Figure, Any]:
    """Return a figure and its panels side by side, titled."""
    figure = new_figure(7.6, height)
    panels = figure.subplots(1, len(titles), squeeze=False, sharey=share_y)[0]
    for panel, title in zip(panels, titles, strict=True):
        panel.set_title(title, loc="left", pad=3)
    return figure, panels


def joint_curves(panel: Axes, time: Array, values: Array, *, label: bool) -> None:
    """Draw (T, 6) joint curves in the colours of the joints."""
    for j in range(values.shape[1]):
        panel.plot(time, values[:, j], color=COLOURS[j], linewidth=1.1, label=f"joint {j + 1}" if label else None)
