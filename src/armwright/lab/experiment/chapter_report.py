# SPDX-License-Identifier: Apache-2.0
"""Chapter 5 of 004 on the page of an experiment: torques of models, gains of the controller, the inertial unit.

The pictures are those of Figures 5.11 and 5.12 (torques and their differences), of the cost over both gains, and of
Figures 5.14 and 5.15 (accelerations).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.identify.controller_gains import PdGains
from armwright.lab.experiment.acceptance import row
from armwright.lab.experiment.model_torques import DESCRIBED, gains_verdict
from armwright.lab.experiment.report_figures import blank_figure, png
from armwright.lab.lab_plant import POLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armwright.lab.experiment.evaluate import Evaluated
    from armwright.lab.experiment.model_torques import ModelTorques
    from armwright.lab.experiment.motion_check import MotionCheck
    from armwright.recording.pictures.html_page import Page

COLOURS = ("0.6", "C1", "C2", "C0", "C3", "C4", "C5", "C6")
LEAST_COST, MOST_COST = 1e-4, 10.0  # of the cost above its least, as the picture shows it


def torque_picture(found: ModelTorques, names: Sequence[str], joints: Sequence[str]) -> Figure:
    """Each joint's torque above, controller and models; below, the controller's minus each model's."""
    figure = blank_figure(11.0, 7.0)
    axes = figure.subplots(4, 3, sharex=True)
    t = found.t - found.t[0]
    for j, joint in enumerate(joints):
        upper, lower = axes[2 * (j // 3), j % 3], axes[2 * (j // 3) + 1, j % 3]
        upper.plot(t, found.controller[:, j], color="k", lw=1.4, label="controller")
        for name, colour in zip(names, COLOURS, strict=False):
            upper.plot(t, found.torques[name][:, j], color=colour, lw=0.8, label=name)
            lower.plot(t, found.controller[:, j] - found.torques[name][:, j], color=colour, lw=0.8)
        upper.set_title(joint, fontsize=8)
        for axis, text in ((upper, "τ [N m]"), (lower, "difference")):
            axis.tick_params(labelsize=7)
            axis.set_ylabel(text, fontsize=7)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", fontsize=7, ncols=8)
    for axis in axes[-1]:
        axis.set_xlabel("time [s]", fontsize=8)
    return figure


def gains_picture(gains: Sequence[PdGains | str], joints: Sequence[str]) -> Figure:
    """The cost of every pair of gains over the least on the grid, each joint; where fits from several starts ended."""
    from matplotlib.colors import LogNorm

    figure = blank_figure(11.0, 4.4)
    axes = figure.subplots(2, (len(gains) + 1) // 2, squeeze=False)
    shown = None
    for axis, found, joint in zip(axes.flat, gains, joints, strict=False):
        axis.set_title(joint, fontsize=8)
        axis.tick_params(labelsize=7)
        if isinstance(found, str):
            axis.text(0.5, 0.5, "not asked", transform=axis.transAxes, ha="center", fontsize=8)
            continue
        over = np.maximum(found.profile.T / found.profile.min() - 1.0, LEAST_COST)
        scale = LogNorm(LEAST_COST, MOST_COST)
        shown = axis.pcolormesh(found.grid, found.grid, over, norm=scale, cmap="viridis", shading="auto")
        inside = [np.clip(end, found.grid[0], found.grid[-1]) for _, end, _ in found.ends]
        axis.plot(*np.transpose(inside), "o", ms=4, mfc="none", color="C3")
        axis.set(xscale="log", yscale="log")
    for axis in axes[:, 0]:
        axis.set_ylabel("k₁ [1/s]", fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("k₀ [1/s²]", fontsize=8)
    if shown is not None:
        bar = figure.colorbar(shown, ax=axes)
        bar.set_label("cost above the least here, relative", fontsize=8)
        bar.ax.tick_params(labelsize=7)
    return figure


def motion_picture(found: MotionCheck) -> Figure:
    """Linear and angular acceleration in base axes: measured and expected, and their difference."""
    figure = blank_figure(11.0, 6.0)
    axes = figure.subplots(3, 2, sharex=True)
    linear, t = found.thesis, found.thesis.t - found.thesis.t[0]
    pairs = (
        (linear.measured, linear.expected, "m/s²"),
        (found.angular_measured, found.angular_expected, "rad/s²"),
    )
    for column, (measured, expected, unit) in enumerate(pairs):
        for k, letter in enumerate("xyz"):
            axis = axes[k, column]
            axis.plot(t, measured[:, k], color="k", lw=1.4, label="inertial unit")
            axis.plot(t, expected[:, k], color="C0", lw=0.9, label="joints")
            axis.plot(t, measured[:, k] - expected[:, k], color="C3", lw=0.7, label="difference")
            for begin, end in linear.degenerate - found.thesis.t[0]:
                axis.axvspan(begin, end, color="0.93", lw=0, zorder=0)
            axis.set_ylabel(f"{letter} [{unit}]", fontsize=8)
            axis.tick_params(labelsize=7)
    axes[0, 0].set_title("linear acceleration", fontsize=8)
    axes[0, 1].set_title("angular acceleration", fontsize=8)
    axes[0, 0].legend(fontsize=7, ncols=3, loc="upper right")
    for axis in axes[-1]:
        axis.set_xlabel("time [s]; grey: Euler angles near their singularity", fontsize=8)
    return figure


def add_chapter(page: Page, done: Evaluated, virtual: bool) -> None:
    """Add what chapter 5 asks: a section per run without contact, and one for the inertial unit of all runs."""
    joints = [joint.name for joint in done.robot.joints]
    for found in done.models:
        page.section(f"5.1: gains of the controller, {found.run}")
        page.lead(f"{gains_verdict(found.gains)[0].upper()}{gains_verdict(found.gains)[1:]}.", "verdict")
        page.figure(png(gains_picture(found.gains, joints)), _GAINS)
        heads = ("joint", "mean |q − q^d| [rad]", "mean |q̇ − q̇^d| [rad/s]", "k₀ [1/s²]", "k₁ [1/s]")
        page.table((*heads, "ends of fits (k₀, k₁) at a cost"), gains_rows(found, joints))
        if virtual:
            page.paragraph(_SERVO.format(3.0 * POLE**2, 3.0 * POLE))
        page.section(f"5.4: torques of models, {found.run}")
        drawn = [name for name in found.torques if "," not in name] or [DESCRIBED]
        page.figure(png(torque_picture(found, drawn, joints)), _TORQUES)
        page.table(("mean error [N m]", *joints), torque_rows(found))
        page.paragraph(_READING + (_SAME_ARM if virtual else ""))
        page.table(("mean torque [N m]", *joints), _means(found, drawn))
    for number, motion in enumerate(done.motions):
        page.section(f"5.5: acceleration of the tool, {motion.run}")
        if not number:
            page.paragraph(_MOTION)
        page.figure(png(motion_picture(motion)), "Behind 004's filter, order 8, 4.7 rad/s, without delay.")
        page.table(("mean error", "x", "y", "z"), motion_rows(motion))
        page.paragraph(_told(motion))


def torque_rows(found: ModelTorques) -> list[tuple[Any, ...]]:
    """Return a row per model: its mean errors, each joint."""
    return [(name, *(f"{x:.3f}" for x in found.mean_error(name))) for name in found.torques]


def _means(found: ModelTorques, names: Sequence[str]) -> list[tuple[Any, ...]]:
    rows = [("controller", found.controller), *((name, found.torques[name]) for name in names)]
    return [(name, *(f"{x:.3f}" for x in torque.mean(axis=0))) for name, torque in rows]


def gains_rows(found: ModelTorques, joints: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return a row per joint: distance from the targets, gains or their absence, where the fits ended."""
    out: list[tuple[Any, ...]] = []
    for j, (joint, gain) in enumerate(zip(joints, found.gains, strict=True)):
        cells = (joint, f"{found.q_error[j]:.2g}", f"{found.qd_error[j]:.2g}")
        if isinstance(gain, str):
            out.append((*cells, "undetermined", "undetermined", gain))
            continue
        ends = "; ".join(f"({k0:.3g}, {k1:.3g}) at {cost:.4f}" for _, (k0, k1), cost in gain.ends)
        known = gain.k0.value is not None and gain.k1.value is not None
        pair = [f"{k.value:.3g}" if known else "undetermined" for k in (gain.k0, gain.k1)]
        out.append((*cells, *pair, ends))
    return out


def motion_rows(found: MotionCheck) -> list[tuple[Any, ...]]:
    """Return mean errors as rows: behind 004's filter, with the mounting's tilt taken out, at 8 Hz, and turning."""
    rows = (
        ("004's filter [m/s²]", found.thesis.mae),
        ("the same, tilt of the mounting taken out", found.thesis.mae_without_tilt),
        ("8 Hz [m/s²]", found.wide.mae),
        ("angular, 004's filter [rad/s²]", found.angular_error),
    )
    return [(name, *(f"{x:.4f}" for x in values)) for name, values in rows]


def _told(found: MotionCheck) -> str:
    tilt = row(np.rad2deg(found.wide.tilt))
    told = f"The mounting seems tilted by {tilt}° about the unit's axes. "
    spans = ", ".join(f"{a - found.thesis.t[0]:.1f}–{b - found.thesis.t[0]:.1f} s" for a, b in found.thesis.degenerate)
    if not spans:
        return told + "ZYZ Euler angles stay away from their singularity all the time."
    return (
        told + f"ZYZ Euler angles are near their singularity at {spans}: second derivatives of them would peak there."
    )


_TORQUES = (
    "Torque that the controller says its target needs, and what models say of the same motion (above); the "
    "controller's minus each model's (below). As in 004, the controller's torque is a model, too, and no measurement."
)
_READING = (
    "Models by name are rigid bodies alone, as they are given. “Tool and rotors” adds the tool that the force sensor "
    "weighed and the rotors of the description: what the controller knows, too. A loop around any of these models "
    "follows its targets exactly, so errors of position and speed are the same for all, and are listed with the gains. "
    "004 found 25.8 and 14.3 N m for the legacy model at joints 2 and 3 (Table 5.1), 1.81 and 1.95 for A, 0.61 and "
    "1.19 for B, 0.59 and 1.24 for C (Table 5.6)."
)
_SAME_ARM = (
    " This controller is virtual and knows the described arm: the last row says only how well the tool was weighed. "
    "Its forearm is that of a newer table of the manufacturer than A, B and C have."
)
_GAINS = (
    "Cost of each pair of gains, relative to the least in the picture: dark is as good as the best. Circles: where "
    "fits from four starts ended. A dark region that reaches the edge is one in which the data tell nothing."
)
_SERVO = (
    "The servo of the virtual controller has k₀ = {:g} 1/s² and k₁ = {:g} 1/s, and an integral beside them: compare "
    "where the fits ended."
)
_MOTION = (
    "The joints' motion gives the acceleration of the place where the unit sits; the unit's reading, turned into base "
    "axes, plus gravity is what it measured. 004 found 0.69, 0.18 and 0.18 m/s² (Table 5.7), without the lever arm."
)
