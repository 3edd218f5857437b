# SPDX-License-Identifier: Apache-2.0
"""A free arm falls, with the energy as the witness."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.cli.output import safe
from armwright.kinematics.forward import fk_all, tool_pose
from armwright.packages import need
from armwright.recording.pictures.style import save_figure
from armwright.robot.kernels import kernel
from armwright.simulation import Frictionless, simulate, with_energy

if TYPE_CHECKING:
    from armwright.recording.recording import Recording
    from armwright.robot.model import Robot
    from armwright.types import Array


def fall(robot: Robot, q0: Array, seconds: float = 10.0) -> Recording:
    """Let an arm go from rest at q0 (n,), motors and friction off, in steps of 1 ms; the recording has its energies."""
    return with_energy(simulate(robot, duration=seconds, q0=q0, friction=Frictionless(), check_step=False))


def drift(record: Recording) -> float:
    """Largest change of the total energy, relative to the largest kinetic energy reached."""
    total = record["energy"]
    return float(np.abs(total - total[0]).max() / max(float(record["kinetic"].max()), 1e-300))


def skeleton(robot: Robot, q: Array) -> Array:
    """Points of an arm from its base to its tool (k, 3) [m]: base, every link frame of the tool's branch, tool."""
    frames = fk_all(robot, q)
    path: list[int] = []
    i = robot.tip
    while i >= 0:
        path.append(i)
        i = robot.bodies[i].parent
    points = [
        robot.T_base_root[:3, 3],
        *(frames[k][:3, 3] for k in reversed(path)),
        tool_pose(robot, np.asarray(q))[:3, 3],
    ]
    return np.array(points)


def plot(robot: Robot, record: Recording, path: Path, *, poses: int = 7, window: float = 1.2) -> None:
    """Draw the arm in a few poses of its fall, its energies and its joint angles, into a PNG.

    Args:
        robot: the arm.
        record: its fall.
        path: file to write.
        poses: how many poses to draw.
        window: the poses are taken from the first `window` seconds, where they can be told apart.
    """
    figure = need("matplotlib.figure", "plot", "plotting").Figure(figsize=(11.0, 6.2), layout="constrained")
    need("matplotlib.backends.backend_agg", "plot", "plotting").FigureCanvasAgg(figure)
    grid = figure.add_gridspec(2, 2, width_ratios=[1.15, 1.0])
    space = figure.add_subplot(grid[:, 0], projection="3d")
    _draw_poses(space, robot, record, poses, window)
    energies = figure.add_subplot(grid[0, 1])
    for values, label, style in (
        (record["kinetic"], "kinetic", "#d1495b"),
        (record["potential"], "potential", "#00798c"),
        (record["energy"], "total", "black"),
    ):
        energies.plot(record.time, values, color=style, label=label, linewidth=1.8 if label == "total" else 0.9)
    energies.set_ylabel("energy [J]")
    energies.set_title(f"total energy changes by {drift(record):.1e} of the kinetic peak", fontsize=10)
    energies.legend(loc="upper right", fontsize=8, ncols=3)
    low, high = energies.get_ylim()
    energies.set_ylim(low, high + 0.18 * (high - low))
    energies.set_xlabel("time [s]")
    angles = figure.add_subplot(grid[1, 1])
    early = record.time <= window
    colours = ["#30638e", "#d1495b", "#edae49", "#00798c", "#8a4fff", "#6b705c", "#bc6c25", "#3a5a40"]
    for i, joint in enumerate(robot.joints):
        angles.plot(
            record.time[early],
            one_turn(record["q"][early, i], joint.kind == "revolute"),
            label=drawn(joint.name),
            linewidth=0.9,
            color=colours[i % len(colours)],
        )
    angles.set_xlabel("time [s]")
    angles.set_ylabel("joint coordinate [rad or m]")
    low, high = angles.get_ylim()
    angles.set_ylim(low, high + 0.3 * (high - low))
    angles.legend(loc="upper center", fontsize=7, ncols=3)
    for axes in (energies, angles):
        axes.grid(alpha=0.25)
        axes.margins(x=0.0)
    figure.suptitle(f"{drawn(robot.name)}: free fall, RK4 at 1 ms", fontweight="bold")
    save_figure(figure, path, 130)


def drawn(name: str) -> str:
    """A name from a file as a picture can show it: no control characters, no formula."""
    return safe(name).replace("$", r"\$")


def one_turn(values: Array, revolute: bool) -> Array:
    """Angles wrapped into ±π, with gaps where they wrap; lengths as they are."""
    if not revolute:
        return values
    wrapped = np.remainder(values + np.pi, 2.0 * np.pi) - np.pi
    wrapped[1:][np.abs(np.diff(wrapped)) > np.pi] = np.nan
    return wrapped


def _draw_poses(space: Any, robot: Robot, record: Recording, poses: int, window: float) -> None:
    last = int(np.searchsorted(record.time, min(window, float(record.time[-1]))))
    chosen = np.linspace(0, last, poses).astype(int)
    shapes = [skeleton(robot, record["q"][k]) for k in chosen]
    for index, points in enumerate(shapes):
        share = index / max(1, poses - 1)
        colour = (0.82 - 0.62 * share, 0.86 - 0.55 * share, 0.92 - 0.37 * share)
        space.plot(
            *points.T,
            color=colour,
            linewidth=2.6,
            marker="o",
            markersize=3.2,
            label=f"{record.time[chosen[index]]:.1f} s",
        )
    trace = kernel(robot, tool_pose)(record["q"][: last + 1])[:, :3, 3]
    space.plot(*trace.T, color="#d1495b", linewidth=0.9, label="tool")
    every = np.concatenate([*shapes, trace])
    centre, radius = 0.5 * (every.max(0) + every.min(0)), 0.5 * float((every.max(0) - every.min(0)).max())
    for setter, middle in zip((space.set_xlim, space.set_ylim, space.set_zlim), centre, strict=True):
        setter(middle - radius, middle + radius)
    space.set_box_aspect((1, 1, 1), zoom=1.05)
    space.locator_params(nbins=4)
    space.set_xlabel("x [m]")
    space.set_ylabel("y [m]")
    space.set_zlabel("z [m]")
    space.view_init(elev=16, azim=-62)
    space.legend(loc="upper left", fontsize=8)
