# SPDX-License-Identifier: Apache-2.0
"""The report of an experiment: one HTML page with its pictures inside, and the same as JSON.

The pictures show torque over current, wrenches against the sensor, and a tap on two clocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.identify.drive_gains import FittedDrives, current_rows
from armwright.lab.experiment.acceptance import Criterion, row
from armwright.lab.experiment.chapter_report import add_chapter
from armwright.lab.experiment.compare_wrenches import COMPONENTS, CONTROLLER, FRICTION, NONE, Compared
from armwright.lab.experiment.evaluate import Evaluated
from armwright.lab.experiment.report_figures import blank_figure, png
from armwright.recording.pictures.html_page import MarkedCell, Page

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from armwright.identify.current_log import Log
    from armwright.lab.experiment.experiment_file import Experiment
    from armwright.robot.model import Robot

LINES = {NONE: ("0.75", 0.8), CONTROLLER: ("C1", 0.8), FRICTION: ("C0", 1.1)}


def current_picture(logs: Sequence[Log], robot: Robot, found: FittedDrives) -> Figure:
    """Rigid-body torque over current, and with friction (004, Figures 6.1 and 6.2), each joint."""
    tau, _, dry, qd, current, moving = current_rows(logs, robot)
    figure = blank_figure(11.0, 4.2)
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


def wrench_picture(found: Compared, threshold: float) -> Figure:
    """The six components of one run: sensor, estimates, and the detector's threshold on F_z."""
    figure = blank_figure(11.0, 8.0)
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


def _outside(judged: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], ~judged, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


OUR_LIMITS = "Our limits (004 sets none)"
HEADS = ("004", "what", "limit", "ours, from", "found", "")
WORDS = {True: "met", False: "NOT MET", None: "not judged"}
MARKS = {True: "good", False: "over", None: ""}
STYLE = "td,th{text-align:left}td.good{color:var(--good);font-weight:600}"


def sentence(criteria: Sequence[Criterion]) -> str:
    """The verdict in a sentence."""
    met, failed, unknown = (sum(c.passed is value for c in criteria) for value in (True, False, None))
    return f"{met} of our limits met, {failed} not met, {unknown} not judged."


def write_report(experiment: Experiment, done: Evaluated, path: Path, seconds: float | None) -> Path:
    """Write the page; seconds: what the whole took, None if some of it had been recorded before."""
    lead = sentence(done.criteria)
    if seconds is not None:
        lead += f" From starting the devices to this page: {seconds:.0f} s."
    page = Page(experiment.title, STYLE).lead(lead)
    limits = [
        (c.section, c.what, c.limit, c.origin, c.found, MarkedCell(WORDS[c.passed], MARKS[c.passed]))
        for c in done.criteria
    ]
    page.section(OUR_LIMITS).table(HEADS, limits).paragraph(_WHOSE)
    page.paragraph(_devices(experiment))
    free = [done.data[run.name].log for run in experiment.runs if not run.contact]
    add_chapter(page, done, experiment.virtual is not None)
    page.section("6.1: currents and torques")
    page.figure(png(current_picture(free, done.robot, done.currents)), _CURRENTS).table(*_currents(done))
    used = row(done.currents.usable())
    page.paragraph(f"Where k is undetermined, that of the nearest joint is used for wrenches: {used} N m/A.")
    for found in done.compared:
        page.section(f"6.2: forces, {found.run}").figure(png(wrench_picture(found, experiment.threshold)), _WRENCH)
        errors = {name: zip(found.mean_error(name), found.largest_error(name), strict=True) for name in found.estimates}
        rows = [(name, *(f"{a:.2f} | {b:.1f}" for a, b in pairs)) for name, pairs in errors.items()]
        page.table(("mean | largest error", *COMPONENTS), rows)
    heads = ("run", "device", "received", "lost", "connections", "its clock on the robot's")
    page.section("4.4: the stand").table(heads, _stand(done))
    if (weight := done.weight) is not None:
        centre = row(1e3 * np.asarray(weight.centre), 1)
        found_by = f"Weighed by the sensor: {weight.mass:.3f} kg at {centre} mm"
        page.paragraph(f"{found_by}; bias {row(weight.bias)} N, N m.")
    return page.write(path)


_WHOSE = (
    "004 sets no limits: it reports what came out. These are ours, each with where it comes from; equations, tables "
    "and sections are those of the thesis."
)
_CURRENTS = (
    "Torque over motor current, moving rows of the runs without contact. Above: the rigid body alone. Below: with "
    "friction, and the line τ = k i + b by regressing the current; dotted where k is undetermined."
)
_WRENCH = (
    "Wrench on the arm at the flange, base axes, sensor and estimates behind the same low-pass of 8 Hz without delay. "
    "Tool weight and bias are taken off the sensor. Where the arm rests, stiction hides part of a push."
)


def _devices(experiment: Experiment) -> str:
    if experiment.virtual is None:
        return "Real devices: what is true of them is not known, so that gains and clocks are not judged."
    v = experiment.virtual
    return (
        f"Virtual devices with known truth, seed {v.seed}, {v.pace:g} times as fast as real ones; currents with "
        f"{v.current_noise:g} A of noise. Inertias, rotors and friction law of the plant are those of the description "
        "and 004: a real arm has others, and friction that drifts."
    )


def _currents(done: Evaluated) -> tuple[list[str], list[list[str]]]:
    """Return heads, and a row per joint."""
    found, truth = done.currents, next(iter(done.data.values())).facts.get("truth")
    heads = ["joint", "k [N m/A]", "deviation", "b [N m]", "ν_c [N m]", "ν_v [N m s/rad]"]
    heads += ["true k", "true b", "true ν_c = ν_v"] if truth else []
    rows = []
    for j, joint in enumerate(done.robot.joints):
        known = f"{found.k[j]:.2f}" if found.determined[j] else "undetermined"
        cells = [joint.name, known, f"{100 * found.share[j]:.0f} %"]
        cells += [f"{x[j]:.2f}" for x in (found.b, found.coulomb, found.viscous)]
        cells += [f"{truth[key][j]:.2f}" for key in ("k", "b", "coulomb")] if truth else []
        rows.append(cells)
    return heads, rows


def _stand(done: Evaluated) -> list[tuple[Any, ...]]:
    """Return a row per device and run."""
    rows: list[tuple[Any, ...]] = []
    for name, data in done.data.items():
        for topic, counted in data.devices.items():
            clock = done.clocks[name].get(topic)
            told = ""
            if clock is not None and clock.alignment is not None:
                a = clock.alignment
                told = (
                    f"{a.offset:.4f} ± {a.offset_interval:.4f} s, drift {1e6 * a.drift:.0f} "
                    f"± {1e6 * a.drift_interval:.0f} ppm, jitter {1e3 * a.jitter:.1f} ms"
                )
            elif clock is not None:
                told = clock.said
            rows.append((name, topic, counted["received"], counted["lost"], counted["connections"], told))
    return rows
