# SPDX-License-Identifier: Apache-2.0
"""Figures of the closed loop: positions, torques, Lyapunov function, difference of the formulations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.studies.irb140.figures import joint_curves, row_of_panels
from armwright.studies.irb140.runs import feedback, run
from armwright.studies.irb140.setting import RUNS
from armwright.studies.irb140.twin import closed_twins

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_runs() -> Figure:
    """Draw the positions of the three runs."""
    figure, panels = row_of_panels([f"{name}: position" for name in RUNS], height=2.7)
    for panel, name in zip(panels, RUNS, strict=True):
        joint_curves(panel, run(name).time[::20], run(name)["q"][::20], label=name == "CL1")
        for j, goal in enumerate(RUNS[name].q_ref):
            panel.plot([4.6, 5.0], [goal, goal], color="black", linewidth=0.5, zorder=1 + j)
        panel.set_xlabel("time [s]")
    panels[0].set_ylabel("[rad]")
    figure.legend(loc="outside lower center", ncols=6, handlelength=1.2)
    return figure


def draw_torques() -> Figure:
    """Draw the torques without gravity."""
    figure, panels = row_of_panels([f"{name}: torque − g(q)" for name in RUNS], height=2.7, share_y=True)
    for panel, name in zip(panels, RUNS, strict=True):
        seen = run(name).time <= 2.0
        joint_curves(panel, run(name).time[seen][::5], feedback(name)[seen][::5], label=name == "CL1")
        panel.set_xlabel("time [s]")
    panels[0].set_ylabel("[N m]")
    figure.legend(loc="outside lower center", ncols=6, handlelength=1.2)
    return figure


def draw_storage() -> Figure:
    """Draw the Lyapunov function, and the difference of the formulations."""
    figure, (left, right) = row_of_panels(
        ["Lyapunov function V(t)", "|q Newton–Euler − q exponentials|, largest joint"], height=2.7
    )
    twins = closed_twins()
    for k, name in enumerate(RUNS):
        colour = ("#0072b2", "#d55e00", "#009e73")[k]
        left.semilogy(run(name).time[::20], run(name)["storage"][::20], color=colour, label=name)
        apart = np.abs(twins["Newton–Euler"].q[k] - twins["exponentials"].q[k]).max(axis=1)
        right.semilogy(twins["Newton–Euler"].time, np.maximum(apart, 1e-18), color=colour, label=name, linewidth=0.7)
    right.set_ylim(1e-18, 1e-14)
    for panel, label in ((left, "V [J]"), (right, "[rad]")):
        panel.set_xlabel("time [s]")
        panel.set_ylabel(label)
    left.legend()
    return figure
