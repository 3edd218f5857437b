# SPDX-License-Identifier: Apache-2.0
"""Figures of a recording, each in one line of code: joints, velocities, torques with limits, errors, energy, tool path.

`plot` draws any of these views; `draw_tool` draws the tool's path: the arm in several poses with the path between, and
the coordinates over time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.kinematics.forward import fk
from armwright.packages import need
from armwright.recording.pictures.animation import posed
from armwright.recording.pictures.arm_drawing import Scene, one
from armwright.recording.pictures.run_figures import limits_of
from armwright.recording.pictures.skeleton import camera_for, capsules
from armwright.recording.pictures.style import (
    COLOURS,
    LIMIT,
    MUTED,
    STYLE,
    blank_figure,
    compact_png,
    mark_events,
    save_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

    from armwright.recording.recording import Recording
    from armwright.types import Array


def draw_tool(recording: Recording, part: Any) -> None:
    """Draw into a subfigure: left the arm in five poses, right x, y, z of the tool in the base frame."""
    robot, q = posed(recording)
    chosen = np.unique(np.linspace(0, len(recording) - 1, 5).astype(int))
    arms, path = capsules(robot, q[chosen]), fk(robot, q)[:, :3, 3]
    left, right = part.subfigures(1, 2, width_ratios=[1.1, 1.0])
    scene = Scene(left.add_axes((0.0, 0.0, 1.0, 1.0)), arms, camera_for(robot), capsules(robot, q).tool[:, :3, 3])
    for k in range(len(chosen) - 1):
        scene.ghost(one(arms, k), 0.25 + 0.45 * k / len(chosen))
    scene.pose(one(arms, -1))
    left.text(0.02, 0.03, f"grid {scene.step:g} m", fontsize=6.5, color="#5f6975")
    axes = right.subplots()
    for i, label in enumerate("xyz"):
        axes.plot(recording.time, path[:, i], color=COLOURS[i], label=label)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("tool position [m]")
    axes.set_xlim(recording.time[0], recording.time[-1] if recording.duration else recording.time[0] + 1.0)
    mark_events(recording, axes)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.4)


NAMES = {
    "q": "position",
    "qd": "velocity",
    "qdd": "acceleration",
    "tau": "torque",
    "tau_command": "commanded torque",
    "error": "tracking error",
    "energy": "energy",
    "wrench": "wrench",
    "storage": "storage function",
}
GROUPS = {"joints": "q", "velocity": "qd", "acceleration": "qdd", "torques": "tau", "errors": "error"}
FLAT_SHARE = 1e-6  # of a curve: it moves by no more of its largest value (or of this many of its units)
WITH = {"q": "q_ref", "qd": "qd_ref", "qdd": "qdd_ref", "tau": "tau_command"}


def plot(
    recording: Recording,
    what: str | Sequence[str] = "joints",
    path: str | Path | None = None,
    *,
    title: str | None = None,
    width: float = 7.2,
    together: bool | None = None,
) -> Figure:
    """Draw one or several views of a recording.

    Args:
        recording: what to draw.
        what: "joints", "velocity", "acceleration", "torques", "errors", "energy", "tool", the name of any signal, or a
            list of these, one below the other.
        path: where to save it as well (.png, .pdf, .svg, ...).
        title: above the figure; none by default, as in a paper.
        width: width of the figure [inch].
        together: all components in one panel, or one panel each; by default one each where there are limits or
            references to compare with.

    Returns:
        The matplotlib Figure.

    >>> plot(run, ["joints", "torques"], "run.png")
    """
    matplotlib = need("matplotlib", "plot", "plotting")
    with matplotlib.rc_context(STYLE):
        figure = _build(recording, [what] if isinstance(what, str) else list(what), title, width, together)
        if path is None:
            figure.draw_without_rendering()  # lay out while the style holds
            return figure
        save_figure(figure, path)
    return figure


def png(recording: Recording, view: str, dpi: int = 150) -> bytes:
    """Return one view as a PNG file's bytes."""
    with need("matplotlib", "plot", "plotting").rc_context(STYLE):
        return compact_png(_build(recording, [view], None, 7.2, None), dpi)


def _build(recording: Recording, views: list[str], title: str | None, width: float, together: bool | None) -> Figure:
    if not views:
        raise InputError("plot: nothing to draw; name a view or a signal")
    if not len(recording):
        raise InputError("plot: the recording has no samples")
    chosen = [_view(recording, view, together) for view in views]
    heights = [height(width) for height, _ in chosen]
    size = (width, sum(heights) + (0.3 if title else 0.0))
    figure = blank_figure("plotting", figsize=size, layout="constrained")
    parts = figure.subfigures(len(views), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, (_, draw) in zip(parts, chosen, strict=True):
        draw(part)
    if title:
        figure.suptitle(title, fontsize=10, fontweight="bold")
    return figure


View = tuple[Callable[[float], float], Callable[[Any], None]]


def _view(recording: Recording, view: str, together: bool | None) -> View:
    """Return the height of a view for a width [inch], and what draws it into a subfigure."""
    if view == "energy":
        return (lambda _: 2.3), (lambda part: _energy(recording, part))
    if view == "tool":
        return (lambda width: 0.46 * width), (lambda part: draw_tool(recording, part))
    name = GROUPS.get(view, view)
    if name not in recording:
        known = ", ".join([*GROUPS, "energy", "tool"])
        raise InputError(
            f"plot: cannot draw {view!r}; valid: {known}, or a signal of this recording: {', '.join(recording)}"
        )
    count = recording.signals[name].width
    compared = WITH.get(name, "") in recording or limits_of(recording.robot, name, count) is not None
    single = (not compared or count == 1) if together is None else together
    if single:
        return (lambda _: 2.3), (lambda part: _together(recording, name, part))
    columns = 4 if count in (4, 7, 8) else min(3, count)
    rows = -(-count // columns)
    return (lambda _: 1.45 * rows + 0.35), (lambda part: _panels(recording, name, part, rows, columns))


def axis_label(name: str, unit: str) -> str:
    """Return "velocity [rad/s]" and the like."""
    text = unit.replace("^2", "²").replace("^3", "³").replace("N m", "N·m")
    return f"{NAMES.get(name, name.replace('_', ' '))}" + (f" [{text}]" if text else "")


def _frame(recording: Recording, axes: Axes) -> None:
    axes.set_xlim(recording.time[0], recording.time[-1] if recording.duration else recording.time[0] + 1.0)


def _together(recording: Recording, name: str, part: FigureBase) -> None:
    axes = part.subplots()
    values, labels = recording.signals[name].flat(), recording.labels(name)
    for i, label in enumerate(labels):
        style = "-" if i < len(COLOURS) else "--"
        axes.plot(
            recording.time,
            values[:, i],
            color=COLOURS[i % len(COLOURS)],
            linestyle=style,
            label=label if len(labels) > 1 else None,
        )
    bounds = limits_of(recording.robot, name, values.shape[1])
    if bounds is not None and len({*bounds[0].tolist()}) == 1:  # one limit for all can be drawn once
        _limit(axes, values, float(bounds[0][0]), float(bounds[1][0]), recording.unit(name))
    axes.set_xlabel("time [s]")
    axes.set_ylabel(axis_label(name, recording.unit(name)))
    _frame(recording, axes)
    mark_events(recording, axes)
    if len(labels) > 1:
        columns = -(-len(labels) // 13)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.4, ncols=min(columns, 3))


def _panels(recording: Recording, name: str, part: FigureBase, rows: int, columns: int) -> None:
    values, labels = recording.signals[name].flat(), recording.labels(name)
    grid = part.subplots(rows, columns, sharex=True, squeeze=False)
    bounds = limits_of(recording.robot, name, values.shape[1])
    other = WITH.get(name, "")
    compared = recording.signals[other].flat() if other in recording else None
    for i, axes in enumerate(grid.flat):
        if i >= len(labels):
            axes.set_axis_off()
            continue
        shown = values[:, i : i + 1]
        axes.plot(recording.time, values[:, i], color=COLOURS[0], label="measured", zorder=2)
        if compared is not None and compared.shape == values.shape:
            shown = np.concatenate([shown, compared[:, i : i + 1]], axis=1)
            axes.plot(recording.time, compared[:, i], color=COLOURS[1], linestyle=(0, (4, 2)), linewidth=1.0, zorder=3)
        if bounds is not None:
            _limit(axes, shown, float(bounds[0][i]), float(bounds[1][i]), recording.unit(name))
        axes.set_title(labels[i], loc="left", pad=3)
        _frame(recording, axes)
        mark_events(recording, axes, named=False)
        if i + columns >= len(labels):
            axes.set_xlabel("time [s]")
            axes.xaxis.set_tick_params(labelbottom=True)
    part.supylabel(axis_label(name, recording.unit(name)), fontsize=8.5)
    if compared is not None:
        lines = need("matplotlib.lines", "plot", "plotting").Line2D
        second = "commanded" if other == "tau_command" else "reference"
        handles = [
            lines([], [], color=COLOURS[0], label="applied" if other == "tau_command" else "actual"),
            lines([], [], color=COLOURS[1], linestyle=(0, (4, 2)), linewidth=1.0, label=second),
        ]
        part.legend(handles=handles, loc="outside upper right", ncols=2, handlelength=2.0)


def _limit(axes: Axes, values: Array, lower: float, upper: float, unit: str) -> None:
    """Draw limits that the values come near as dashed lines with the forbidden side shaded; else write them down."""
    finite = values[np.isfinite(values)]
    if not finite.size or not (np.isfinite(lower) or np.isfinite(upper)):
        return
    low, high = float(finite.min()), float(finite.max())
    largest = max(abs(low), abs(high))
    if high - low < FLAT_SHARE * max(largest, FLAT_SHARE):  # an axis would spread rounding errors over its height
        around = 0.1 * (largest if largest > FLAT_SHARE else 1.0)
        low, high = low - around, high + around
    near = [x for x in (lower, upper) if np.isfinite(x) and (largest >= 0.35 * abs(x))]
    pad = 0.08 * max(high - low, 1e-9, *(abs(x - y) for x in near for y in (low, high)))
    # only limits on the side where the values are: the other one would squeeze the curve
    near = [x for x in near if (x > 0 and high >= 0.35 * x) or (x <= 0 and low <= 0.35 * x)]
    bottom, top = min([low, *near]) - pad, max([high, *near]) + pad
    for x in near:
        axes.axhline(x, color=LIMIT, linewidth=0.9, linestyle=(0, (5, 3)), zorder=1.5)
        outside = (x, max(top, x + pad)) if x == upper else (min(bottom, x - pad), x)
        axes.axhspan(*outside, color=LIMIT, alpha=0.08, linewidth=0, zorder=0)
    axes.set_ylim(bottom, top)
    if len(near) == 0:
        text = f"limit ±{upper:.4g}" if lower == -upper else f"limits {lower:.4g} … {upper:.4g}"
        unit = unit.replace("^2", "²").replace("N m", "N·m")
        axes.set_title(f"{text} {unit}", loc="right", fontsize=6.5, color=MUTED, pad=3)


def _energy(recording: Recording, part: FigureBase) -> None:
    axes = part.subplots()
    shown = [name for name in ("kinetic", "potential", "energy", "storage") if name in recording]
    if not shown:
        raise InputError("plot: no energies in this recording (kinetic, potential, energy or storage)")
    labels = {"energy": "total", "storage": "storage function"}
    for i, name in enumerate(shown):
        total = name == "energy"
        axes.plot(
            recording.time,
            recording[name].reshape(-1),
            color="black" if total else COLOURS[i],
            linewidth=1.6 if total else 1.1,
            label=labels.get(name, name),
            zorder=3 if total else 2,
        )
    axes.set_xlabel("time [s]")
    axes.set_ylabel(axis_label("energy", "J"))
    _frame(recording, axes)
    mark_events(recording, axes)
    drift = recording.summary().get("energy_drift", np.inf)
    note = f"total changes by\n{drift:.1e} of the\nkinetic peak" if drift < 1e-2 else None
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.4, title=note, title_fontsize=6.5)
