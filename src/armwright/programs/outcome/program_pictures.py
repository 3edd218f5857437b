# SPDX-License-Identifier: Apache-2.0
"""Pictures of a program's run: torque over speed, asked and done, the path, tool speed, reactions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.kinematics import fk, smallest_singular_value
from armwright.packages import need
from armwright.recording.pictures.arm_drawing import Scene, one
from armwright.recording.pictures.skeleton import camera_for, capsules, upright
from armwright.recording.pictures.style import COLOURS, LIMIT, MUTED, STYLE, blank_figure, compact_png, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from armwright.programs.motors import MotorRun
    from armwright.programs.outcome.program_run import ProgramRun
    from armwright.robot.model import Robot
    from armwright.types import Array

WITH, WITHOUT = COLOURS[0], COLOURS[1]
FIGURE_WIDTH = 9.0  # [inch]
NOTICED = 1e-4  # [m] of deviation that is drawn
ROUNDING = 1e-6  # [SI] span of a curve that is nothing but rounding
MOST_CURVE_POINTS = 20_000  # of a curve or a scatter


def draw(outcome: ProgramRun, view: str, path: str | Path | None = None) -> Figure:
    """Draw one view (see `VIEWS`) into a matplotlib Figure, and save it where `path` says."""
    if view not in VIEWS:
        raise InputError(f"view: {view!r} is unknown; there are {', '.join(VIEWS)}")
    with need("matplotlib", "plot", "drawing a report").rc_context(STYLE):
        figure = VIEWS[view](outcome)
        if path is not None:
            save_figure(figure, path)
        else:
            figure.draw_without_rendering()  # lay out while the style holds
    return figure


def png(outcome: ProgramRun, view: str, dpi: int = 120) -> bytes:
    """Return one view as a PNG file's bytes."""
    with need("matplotlib", "plot", "drawing a report").rc_context(STYLE):
        return compact_png(VIEWS[view](outcome), dpi)


def drive_word(outcome: ProgramRun) -> str:
    """Return what limits are known of: "motor", or "joint" where the motors are not known."""
    return "motor" if outcome.basis == "motors" else "joint"


def _figure(height: float) -> Figure:
    return blank_figure("drawing a report", figsize=(FIGURE_WIDTH, height), layout="constrained")


def _leaps(outcome: ProgramRun) -> NDArray[np.bool_]:
    """Return (T,) cycles in which the arm is set down behind moves that are not known."""
    demand = outcome.motors.demand
    return np.zeros(demand.cycles, dtype=bool) if demand.leaps is None else demand.leaps


def _unit(outcome: ProgramRun, turning: str, sliding: str) -> str:
    """Return the unit of a joint's quantity: of both kinds only for an arm that has both."""
    kinds = {joint.kind == "prismatic" for joint in outcome.robot.joints}
    return ", ".join(unit for slides, unit in ((False, turning), (True, sliding)) if slides in kinds)


def _every(count: int) -> slice:
    """Return a slice with which a picture of `count` samples has at most `MOST_CURVE_POINTS`."""
    return slice(None, None, max(1, -(-count // MOST_CURVE_POINTS)))


def torque_speed(outcome: ProgramRun) -> Figure:
    """Draw one panel per motor: what was asked and given over the motor's speed, and the box of its limits."""
    run, wished, n = outcome.motors, outcome.beside, outcome.robot.n
    columns = min(n, 3)
    rows = -(-n // columns)
    figure = _figure(2.4 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for j, axes in enumerate(panels):
        if j >= n:
            axes.set_axis_off()
            continue
        some = _every(run.demand.cycles)
        over = wished.saturated[:, j] | wished.clipped[:, j]
        for flagged, colour, label in ((~over, MUTED, "asked"), (over, WITHOUT, "asked, beyond a limit")):
            speed, torque = wished.motor_speed[flagged, j][some], wished.wanted[flagged, j][some]
            axes.plot(speed, torque, ".", ms=3, color=colour, label=label if flagged.any() else None)
        axes.plot(run.motor_speed[some, j], run.torque[some, j], ".", ms=1.6, color=WITH, label="given")
        _box(axes, run, j)
        axes.set_title(outcome.robot.joints[j].name)
        axes.set_xlabel(
            "motor speed [rad/s]" if outcome.basis == "motors" else f"joint speed [{_unit(outcome, 'rad/s', 'm/s')}]"
        )
        axes.set_ylabel(f"{drive_word(outcome)} torque [N·m]")
    handles, labels = panels[0].get_legend_handles_labels()
    for axes in panels[1:n]:
        more = axes.get_legend_handles_labels()
        handles += [h for h, text in zip(*more, strict=True) if text not in labels]
        labels += [text for text in more[1] if text not in labels]
    figure.legend(handles, labels, loc="outside lower center", ncols=4, markerscale=3)
    return figure


def _box(axes: Axes, run: MotorRun, j: int) -> None:
    """Draw the limits of one motor: torque over speed, closed where a speed limit is known."""
    drives = run.drives
    top = drives.actuators.speed_limit[j] if drives.basis == "motors" else drives.speed[j]
    speed = top if np.isfinite(top) else 1.05 * max(float(np.abs(run.motor_speed[:, j]).max()), 1e-9)
    w = np.linspace(0.0, speed, 101)
    every = np.zeros((w.size, run.robot.n))
    every[:, j] = w
    torque = np.array([drives.torque_at(row)[j] for row in every], dtype=np.float64)
    if not np.isfinite(torque).all():
        for sign in (-1.0, 1.0):
            axes.axvline(sign * speed, color=LIMIT, lw=0.9, label="limits" if sign > 0 else None)
        return
    x, y = np.concatenate([-w[::-1], w]), np.concatenate([torque[::-1], torque])
    axes.plot(x, y, color=LIMIT, lw=0.9, label="limits")
    axes.plot(x, -y, color=LIMIT, lw=0.9)
    if np.isfinite(top):
        for side in (0, -1):
            axes.plot([x[side]] * 2, [-y[side], y[side]], color=LIMIT, lw=0.9)


def _overlay(outcome: ProgramRun, what: list[tuple[str, Array, Array, Array | None]]) -> Figure:
    """Draw one row per joint and one column per quantity: what happens over what is asked."""
    n, run = outcome.robot.n, outcome.motors
    figure = _figure(1.25 * n + 0.5)
    panels = figure.subplots(n, len(what), squeeze=False, sharex=True)
    some = _every(run.demand.cycles)
    for row, joint in enumerate(outcome.robot.joints):
        for column, (label, without, with_it, limit) in enumerate(what):
            axes = panels[row, column]
            axes.plot(run.time[some], without[some, row], color=WITHOUT, lw=1.6, label="asked")
            axes.plot(run.time[some], with_it[some, row], color=WITH, lw=0.9, label="done")
            if (
                limit is not None
                and np.isfinite(limit[:, row]).all()
                and np.abs(without[:, row]).max() > 0.5 * limit[:, row].min()
            ):
                axes.plot(run.time[some], limit[some, row], color=LIMIT, lw=0.7, ls="--")
                axes.plot(run.time[some], -limit[some, row], color=LIMIT, lw=0.7, ls="--")
            if max(np.ptp(without[:, row]), np.ptp(with_it[:, row])) < ROUNDING:  # else rounding would fill the panel
                axes.set_ylim(float(without[0, row]) - 1.0, float(without[0, row]) + 1.0)
            if row == 0:
                axes.set_title(label)
            if column == 0:
                axes.set_ylabel(joint.name)
            if row == n - 1:
                axes.set_xlabel("time [s]")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def torques(outcome: ProgramRun) -> Figure:
    """Draw motor torques and joint accelerations, asked and done (as 001, Fig. A6)."""
    run, wished = outcome.motors, outcome.beside
    motor = "motor torque [N·m]" if outcome.basis == "motors" else "joint torque [N·m]"
    return _overlay(
        outcome,
        [
            (motor, wished.wanted, run.torque, run.limit),
            (f"acceleration [{_unit(outcome, 'rad/s²', 'm/s²')}]", wished.qdd, run.qdd, None),
        ],
    )


def speeds(outcome: ProgramRun) -> Figure:
    """Draw joint speeds and positions, asked and done (as 001, Fig. A7)."""
    run, wished = outcome.motors, outcome.beside
    limit = np.broadcast_to(run.drives.speed, run.qd.shape)
    return _overlay(
        outcome,
        [
            (f"speed [{_unit(outcome, 'rad/s', 'm/s')}]", wished.qd, run.qd, limit),
            (f"position [{_unit(outcome, 'rad', 'm')}]", run.demand.q[1:], run.q, None),
        ],
    )


def path(outcome: ProgramRun) -> Figure:
    """Draw the tool's path as asked, coloured by the use of the most used motor, and where the tool really went."""
    lines = need("matplotlib.collections", "plot", "drawing a report")
    colors = need("matplotlib.colors", "plot", "drawing a report")
    figure = _figure(5.2)
    axes = figure.subplots()
    robot, turn = outcome.robot, upright(outcome.robot)[:3, :3]
    wished, got = (points @ turn.T for points in outcome.tool_positions)
    q = outcome.motors.demand.q
    chosen = np.unique(np.linspace(0, len(q) - 1, 4).astype(int))
    arms, camera = capsules(robot, q[chosen]), camera_for(robot)
    scene = Scene(axes, arms, camera, wished)
    for k in range(len(chosen)):
        scene.ghost(one(arms, k), 0.25)
    use = np.maximum(outcome.beside.torque_use, outcome.beside.speed_use).max(axis=1)
    flat, real = camera.project(wished)[:, :2], camera.project(got)[:, :2]
    led = _leaps(outcome)[1:]  # nobody knows the way there
    pieces, use = np.stack([flat[:-1], flat[1:]], axis=1)[~led], use[1:][~led]
    norm = colors.Normalize(0.0, 1.0)
    shown = lines.LineCollection(list(pieces), cmap="viridis", norm=norm, linewidths=3.0, zorder=6, capstyle="round")
    shown.set_array(np.minimum(use, 1.0))
    axes.add_collection(shown)
    over = use > 1.0
    if over.any():
        beyond = lines.LineCollection(list(pieces[over]), colors=LIMIT, linewidths=3.0, zorder=7, capstyle="round")
        beyond.set_label("asks more than there is")
        axes.add_collection(beyond)
    if not outcome.wished.feasible:
        left = np.where((outcome.motors.deviation.position > NOTICED)[:, None], real, np.nan)
        axes.plot(left[:, 0], left[:, 1], color="black", lw=1.0, zorder=8, label="where the tool went instead")
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="upper right")
    figure.colorbar(shown, ax=axes, shrink=0.7, label=f"use of the most used {drive_word(outcome)}, torque or speed")
    return figure


def tool_speed(outcome: ProgramRun) -> Figure:
    """Draw the speed of the tool over the length of its path; moves numbered, flagged cycles marked."""
    run = outcome.motors
    figure = _figure(2.8)
    axes = figure.subplots()
    start = fk(outcome.robot, run.demand.q[:1]) @ (np.eye(4) if run.demand.tool is None else run.demand.tool[:1])
    points = [np.concatenate([start[:, :3, 3], p]) for p in outcome.tool_positions]
    steps = [np.linalg.norm(np.diff(p, axis=0), axis=1) for p in points]
    for step in steps:
        step[_leaps(outcome)] = 0.0
    length = np.cumsum(steps[0])
    some = _every(run.demand.cycles)
    for values, colour, width, label in ((steps[0], WITHOUT, 1.8, "asked"), (steps[1], WITH, 1.0, "achieved")):
        axes.plot(length[some], (values / run.demand.dt)[some], color=colour, lw=width, label=label)
    flagged = (outcome.beside.saturated | outcome.beside.clipped).any(axis=1)
    if flagged.any():
        axes.plot(
            length[flagged],
            np.zeros(int(flagged.sum())),
            "|",
            color=LIMIT,
            ms=9,
            label=f"a {drive_word(outcome)} cannot follow",
        )
    changes = np.flatnonzero(np.diff(run.demand.moves)) + 1
    for first, last in zip([0, *changes], [*changes, run.demand.cycles], strict=True):
        left, right = length[max(first - 1, 0)], length[last - 1]
        if last < run.demand.cycles:
            axes.axvline(right, color=MUTED, lw=0.5, alpha=0.6)
        if right - left > 0.012 * length[-1]:
            axes.text(
                0.5 * (left + right),
                1.0,
                str(run.demand.moves[first] + 1),
                transform=axes.get_xaxis_transform(),
                ha="center",
                va="bottom",
                fontsize=6.5,
                color=MUTED,
            )
    axes.set_xlabel("length of the asked path [m]; numbers: moves")
    axes.set_ylabel("tool speed [m/s]")
    axes.set_ylim(bottom=0.0)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def reactions(outcome: ProgramRun) -> Figure:
    """Draw force and moment through every joint, with the accelerations that happened."""
    run = outcome.motors
    figure = _figure(3.0)
    some = _every(run.demand.cycles)
    panels = figure.subplots(1, 2)
    for axes, part, label in ((panels[0], slice(0, 3), "force [N]"), (panels[1], slice(3, 6), "moment [N·m]")):
        for k, body in enumerate(outcome.robot.bodies):
            size = np.linalg.norm(run.reactions[:, k, part], axis=1)
            axes.plot(run.time[some], size[some], color=COLOURS[k % len(COLOURS)], label=body.name)
        axes.set_xlabel("time [s]")
        axes.set_ylabel(f"{label} through the joint")
        axes.set_ylim(bottom=0.0)
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=min(8, len(outcome.robot.bodies))
    )
    return figure


def range_shares(outcome: ProgramRun) -> Array:
    """Return (T, n) where every joint stands in its range as asked, 0 and 1 being its stops; NaN for endless joints."""
    limits = [joint.limits for joint in outcome.robot.joints]
    low, high = (np.array([getattr(one, name) for one in limits], dtype=np.float64) for name in ("lower", "upper"))
    known = np.isfinite(low) & np.isfinite(high) & (high > low)
    shares = (outcome.motors.demand.q[1:] - np.where(known, low, 0.0)) / np.where(known, high - low, 1.0)
    return np.where(known, shares, np.nan)


def tool_margin(outcome: ProgramRun) -> Array:
    """Return (T, 1) the smallest singular value of the Jacobian at the tool as asked."""
    return smallest_singular_value(with_program_tool(outcome), outcome.motors.demand.q[1:])[:, None]


def joint_range(outcome: ProgramRun) -> Figure:
    """Draw where every joint stands in its range as asked, 0 and 100 % being its stops; endless joints are left out."""
    run = outcome.motors
    figure = _figure(3.0)
    axes = figure.subplots()
    some = _every(run.demand.cycles)
    shares = 100.0 * range_shares(outcome)
    for j, joint in enumerate(outcome.robot.joints):
        if np.isfinite(shares[:, j]).all():
            axes.plot(run.time[some], shares[some, j], color=COLOURS[j % len(COLOURS)], label=joint.name)
    for stop in (0.0, 100.0):
        axes.axhline(stop, color=LIMIT, lw=0.9)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("place in the joint's range [%]")
    axes.set_ylim(-4.0, 104.0)
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(8, len(labels)))
    else:
        axes.text(0.5, 50.0, "no joint of this arm has a known range", ha="center", color=MUTED)
    return figure


def singularity_margin(outcome: ProgramRun) -> Figure:
    """Draw the smallest singular value of the Jacobian at the tool along the motion as asked, and where it is least."""
    run = outcome.motors
    figure = _figure(2.6)
    axes = figure.subplots()
    some = _every(run.demand.cycles)
    value = tool_margin(outcome)[some, 0]
    time = run.time[some]
    least = int(np.argmin(value))
    axes.plot(time, value, color=WITH)
    axes.plot(time[least], value[least], "o", ms=5, color=WITHOUT, label=f"least: {value[least]:.3g}")
    axes.set_xlabel("time [s]")
    axes.set_ylabel("smallest singular value")
    axes.set_ylim(bottom=0.0)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center")
    return figure


def with_program_tool(outcome: ProgramRun) -> Robot:
    """Return the arm with the program's tool, for films; itself where the tool changes or there is none."""
    tool = outcome.motors.demand.tool
    if tool is None or not (tool == tool[0]).all():
        return outcome.robot
    return outcome.robot.with_tool(outcome.robot.T_tip_tool @ tool[0])


VIEWS: dict[str, Callable[[ProgramRun], Any]] = {
    "path": path,
    "speed": tool_speed,
    "torque-speed": torque_speed,
    "joint-range": joint_range,
    "singularity": singularity_margin,
    "torques": torques,
    "motion": speeds,
    "reactions": reactions,
}
WEIGHED = ("torque-speed", "torques", "reactions")
"""Views that take the masses of the arm."""


def views_of(outcome: ProgramRun) -> tuple[str, ...]:
    """Return the names of the views that can be drawn of a run."""
    return tuple(name for name in VIEWS if outcome.weighed or name not in WEIGHED)
