# SPDX-License-Identifier: Apache-2.0
"""Pictures of an experiment: torque over current, wrenches against the sensor, a tap on two clocks."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.identify.current_map import CurrentMap, current_rows
from armwright.lab.experiment.wrenches import COMPONENTS, CONTROLLER, FRICTION, NONE, Compared
from armwright.optional import need

if TYPE_CHECKING:
    from armwright.identify.log import Log
    from armwright.robot.model import Robot

LINES = {NONE: ("0.75", 0.8), CONTROLLER: ("C1", 0.8), FRICTION: ("C0", 1.1)}


def _figure(width: float, height: float) -> Any:
    need("matplotlib", "plot", "drawing")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def png(figure: Any) -> bytes:
    """The picture's bytes."""
    held = io.BytesIO()
    figure.savefig(held, dpi=110, format="png")
    return held.getvalue()


def current_picture(logs: Sequence[Log], robot: Robot, found: CurrentMap) -> Any:
    """Rigid-body torque over current, and with friction (004 figures 6.1 and 6.2), each joint."""
    tau, _, dry, qd, current, moving = current_rows(logs, robot)
    figure = _figure(11.0, 4.2)
    axes = figure.subplots(2, robot.n)
    friction = found.coulomb * dry + found.viscous * qd
    for j, joint in enumerate(robot.joints):
        use = moving[:, j]
        for axis, torque, r2 in (
            (axes[0, j], tau, found.r2_rigid[j]),
            (axes[1, j], tau + friction, found.r2_friction[j]),
        ):
            axis.plot(current[use, j], torque[use, j], ".", ms=1.2, color="0.4")
            axis.text(
                0.04,
                0.96,
                f"R² {r2:.2f}",
                transform=axis.transAxes,
                va="top",
                fontsize=8,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
            )
            axis.tick_params(labelsize=7)
        ends = np.array([current[use, j].min(), current[use, j].max()])
        style = "-" if found.determined[j] else ":"
        axes[1, j].plot(ends, found.k[j] * ends + found.b[j], style, color="C3", lw=1.0)
        axes[0, j].set_title(joint.name, fontsize=8)
        axes[1, j].set_xlabel("current [A]", fontsize=8)
    axes[0, 0].set_ylabel("rigid body [N m]", fontsize=8)
    axes[1, 0].set_ylabel("with friction [N m]", fontsize=8)
    return figure


def wrench_picture(found: Compared, threshold: float) -> Any:
    """The six components of one run: sensor, estimates, and the detector's threshold on F_z."""
    figure = _figure(11.0, 8.0)
    axes = figure.subplots(6, 1, sharex=True)
    t = found.t - found.t[0]
    for k, (axis, name) in enumerate(zip(axes, COMPONENTS, strict=True)):
        axis.plot(t, found.sensor[:, k], color="k", lw=1.4, label="force sensor")
        for estimate, (colour, width) in LINES.items():
            axis.plot(t, found.estimates[estimate][:, k], color=colour, lw=width, label=estimate, zorder=1.9)
        axis.set_ylabel(f"{name} [{'N' if k < 3 else 'N m'}]", fontsize=8)
        axis.tick_params(labelsize=7)
        size = 1.3 * max(
            np.abs(found.sensor[:, k]).max(), np.abs(found.estimates[FRICTION][found.judged, k]).max(), 1.0
        )
        axis.set_ylim(-size, size)
        for begin, end in _outside(found.judged):
            axis.axvspan(t[begin], t[end], color="0.93", lw=0, zorder=0)
    for level in (-threshold, threshold):
        axes[2].axhline(level, color="C3", lw=0.7, ls=":")
    axes[0].legend(loc="upper right", fontsize=7, ncols=4)
    axes[-1].set_xlabel("time [s]; grey: not judged (no motion, or near a singularity)", fontsize=8)
    return figure


def _outside(judged: Any) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], ~judged, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
