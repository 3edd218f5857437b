# SPDX-License-Identifier: Apache-2.0
"""Figs. 7.3 and 7.9 of 000: six moments of the run among obstacles, and the joint angle error along it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.exploration.pictures.arm_figures import draw_outlines, outlines
from armwright.recording.pictures.arm_drawing import Scene, one
from armwright.recording.pictures.skeleton import Camera, camera_for, capsules, upright
from armwright.recording.pictures.style import COLOURS, MUTED
from armwright.studies.doc000_collision.runs import run, unregistered
from armwright.studies.doc000_collision.setting import arm, reduced
from armwright.studies.study_pictures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAYOUT = "A"
NEAR_ZERO = 2.0  # mrad: twice the printed 1e-3 rad
ANOTHER = 5  # contact that stands for "another collision": half of the way along the wall


def moments() -> dict[str, float]:
    """Return the captions of Fig. 7.3 → time [s] in the run of the published arm."""
    found = run(reduced(), LAYOUT)
    alarms = [contact.time for contact in found.contacts]
    missed = unregistered(reduced(), LAYOUT)
    shown = {
        "(a) initial position": 0.0,
        "(b) first collision": alarms[0],
        "(c) another collision": alarms[ANOTHER],
        "(d) moving freely": 0.5 * (alarms[-1] + found.arrival),
    }
    if missed:
        shown["(e) collision not registered"] = missed[0].began
    return shown | {"(f) destination reached": found.arrival}


def six_moments() -> Figure:
    """Draw the arm among the cylinders at those moments, the way of the tool up to then."""
    found = run(reduced(), LAYOUT)
    rec, shown = found.recording, moments()
    rows = [min(int(np.searchsorted(rec.time, t)), len(rec.time) - 1) for t in shown.values()]
    view, turn = Camera(camera_for(arm()).azimuth, 28.0), upright(arm())
    arms, way = capsules(arm(), rec["q"][rows]), capsules(arm(), rec["q"][::50]).tool[:, :3, 3]
    figure = new_figure(7.4, 4.6)
    panels = figure.subplots(2, 3).ravel()
    for k, (panel, (title, t)) in enumerate(zip(panels, shown.items(), strict=False)):
        scene = Scene(panel, arms, view, way)
        draw_outlines(panel, outlines(found.world, view, turn, float(found.maps[0].grid.origin[2])))
        scene.pose(one(arms, k), rows[k] // 50)
        panel.set_title(f"{title}, {t:.1f} s", fontsize=8)
    for panel in panels[len(shown) :]:
        panel.set_axis_off()
    return figure


def joint_errors() -> Figure:
    """Draw q̃ of the six joints along the run [mrad], whole and near zero, where the table's resolution shows."""
    rec = run(reduced(), LAYOUT).recording
    error = 1e3 * (rec["q"] - rec["q_ref"])
    figure = new_figure(7.4, 4.2)
    panels = figure.subplots(2, 1, sharex=True)
    for panel in panels:
        for j in range(6):
            panel.plot(rec.time, error[:, j], color=COLOURS[j], linewidth=0.7, label=f"q̃{j + 1}")
        for contact in run(reduced(), LAYOUT).contacts:
            panel.axvline(contact.time, color=MUTED, linewidth=0.6, linestyle=(0, (1, 2)), zorder=0.5)
        panel.set_ylabel("q̃ [mrad]")
    panels[1].set_ylim(-NEAR_ZERO, NEAR_ZERO)
    panels[1].set_xlim(0.0, rec.time[-1])
    panels[1].set_xlabel("time [s]")
    panels[0].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.4)
    return figure
