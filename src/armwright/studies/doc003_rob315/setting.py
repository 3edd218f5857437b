# SPDX-License-Identifier: Apache-2.0
"""What 003 is about: its arm, configurations and settings, under the symbols it uses.

`draw_paths` draws paths of the tool from above and from the side: what Figs. 5.1 and 5.4 show in perspective.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from armwright.recording.pictures.style import COLOURS
from armwright.robot.load import load
from armwright.robot.model import Robot
from armwright.studies.study_pictures import new_figure
from armwright.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PI = np.pi

q_i = np.array([-PI / 2, 0.0, -PI / 2, -PI / 2, -PI / 2, -PI / 2])
q_f = np.array([0.0, PI / 4, 0.0, PI / 2, PI / 2, 0.0])
qd_used = np.array([0.5, 1.0, -0.5, 0.5, 1.0, -0.5])
"""Joint velocities of Q6 as they were used; the text drops the two minus signs."""

X_di, X_df = np.array([-0.1, -0.7, 0.3]), np.array([0.64, -0.10, 1.14])
q_0i = np.array([-1.57, 0.0, -1.47, -1.47, -1.47, -1.47])
q_0f = np.array([0.0, 0.80, 0.0, 1.0, 2.0, 0.0])
k_max, eps_x = 100, 1e-3

V, T_e = 1.0, 1e-3

q_di, q_df = np.array([-1.0, 0.0, -1.0, -1.0, -1.0, -1.0]), np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
t_f = 0.5
K_p = np.array([5000.0, 8000.0, 5500.0, 800.0, 5500.0, 2500.0])
K_d = np.array([1000.0, 1000.0, 500.0, 100.0, 100.0, 500.0])


@cache
def arm() -> Robot:
    """Return the CEA List arm, from the catalogue."""
    return load("cea")


def draw_paths(paths: Mapping[str, Array]) -> Figure:
    """Draw paths (T, 3) [m], base frame, over x–y and x–z; the first is dashed."""
    figure = new_figure(7.2, 3.3)
    for panel, (axis, title) in zip(figure.subplots(1, 2), ((1, "from above"), (2, "from the side")), strict=True):
        for k, (label, path) in enumerate(paths.items()):
            style = (0, (5, 2)) if k == 0 else "-"
            panel.plot(path[:, 0], path[:, axis], color=COLOURS[k], linestyle=style, label=label, zorder=3 - k)
        panel.set_title(title, loc="left", pad=3)
        panel.set_xlabel("x [m]")
        panel.set_ylabel(f"{'xyz'[axis]} [m]")
        panel.set_aspect("equal", adjustable="datalim")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=len(paths), handlelength=2.0)
    return figure
