# SPDX-License-Identifier: Apache-2.0
"""A free arm falls: fourth-order Runge–Kutta around the compiled forward dynamics, with the energy as the witness."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.cli.terminal import safe
from armwright.dynamics.crba import crba_forward
from armwright.dynamics.energy import energy
from armwright.errors import NotSupportedError
from armwright.kinematics.forward import fk_all, tool_pose
from armwright.robot.kernels import kernel

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array


@dataclass(frozen=True, slots=True)
class Fall:
    """A recorded fall: time (k,) [s], q and qd (k, n), kinetic and potential energy (k,) [J]."""

    t: Array
    q: Array
    qd: Array
    kinetic: Array
    potential: Array

    @property
    def total(self) -> Array:
        """Total energy (k,) [J]; constant for a free arm without friction."""
        return self.kinetic + self.potential

    @property
    def drift(self) -> float:
        """Largest change of the total energy, relative to the largest kinetic energy reached."""
        total = self.total
        return float(np.abs(total - total[0]).max() / max(float(self.kinetic.max()), 1e-300))


def fall(robot: Robot, q0: Any, seconds: float = 10.0, step: float = 1e-3) -> Fall:
    """Let an arm go from rest at q0 (n,), motors and friction off.

    Args:
        robot: the arm.
        q0: start position (n,).
        seconds: duration.
        step: of the integrator [s].
    """
    accelerate = kernel(robot, crba_forward, regroup=True, friction=False)
    steps, n = round(seconds / step), robot.n
    q, qd = np.empty((steps + 1, n)), np.empty((steps + 1, n))
    q[0], qd[0] = q0, 0.0
    none = np.zeros(n)
    half = 0.5 * step
    for k in range(steps):
        x, v = q[k], qd[k]
        a1 = accelerate(x, v, none)
        v2 = v + half * a1
        a2 = accelerate(x + half * v, v2, none)
        v3 = v + half * a2
        a3 = accelerate(x + half * v2, v3, none)
        v4 = v + step * a3
        a4 = accelerate(x + step * v3, v4, none)
        q[k + 1] = x + (step / 6.0) * (v + 2.0 * (v2 + v3) + v4)
        qd[k + 1] = v + (step / 6.0) * (a1 + 2.0 * (a2 + a3) + a4)
    kinetic, potential, _ = kernel(robot, energy)(q, qd)
    return Fall(np.linspace(0.0, steps * step, steps + 1), q, qd, kinetic, potential)


def skeleton(robot: Robot, q: Any) -> Array:
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


def plot(robot: Robot, record: Fall, path: Path, *, poses: int = 7, window: float = 1.2) -> None:
    """Draw the arm in a few poses of its fall, its energies and its joint angles, into a PNG.

    Args:
        robot: the arm.
        record: its fall.
        path: file to write.
        poses: how many poses to draw.
        window: the poses are taken from the first `window` seconds, where they can be told apart.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise NotSupportedError("plots need matplotlib: pip install 'armwright[plot]'") from error
    figure = Figure(figsize=(11.0, 6.2), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(2, 2, width_ratios=[1.15, 1.0])
    space = figure.add_subplot(grid[:, 0], projection="3d")
    _draw_poses(space, robot, record, poses, window)
    energies = figure.add_subplot(grid[0, 1])
    for values, label, style in (
        (record.kinetic, "kinetic", "#d1495b"),
        (record.potential, "potential", "#00798c"),
        (record.total, "total", "black"),
    ):
        energies.plot(record.t, values, color=style, label=label, linewidth=1.8 if label == "total" else 0.9)
    energies.set_ylabel("energy [J]")
    energies.set_title(f"total energy changes by {record.drift:.1e} of the kinetic peak", fontsize=10)
    energies.legend(loc="upper right", fontsize=8, ncols=3)
    low, high = energies.get_ylim()
    energies.set_ylim(low, high + 0.18 * (high - low))
    energies.set_xlabel("time [s]")
    angles = figure.add_subplot(grid[1, 1])
    early = record.t <= window
    colours = ["#30638e", "#d1495b", "#edae49", "#00798c", "#8a4fff", "#6b705c", "#bc6c25", "#3a5a40"]
    for i, joint in enumerate(robot.joints):
        angles.plot(
            record.t[early],
            one_turn(record.q[early, i], joint.kind == "revolute"),
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
    step = 1e3 * (record.t[1] - record.t[0])
    figure.suptitle(f"{drawn(robot.name)}: free fall, RK4 at {step:g} ms", fontweight="bold")
    figure.savefig(path, dpi=130)


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


def _draw_poses(space: Any, robot: Robot, record: Fall, poses: int, window: float) -> None:
    last = int(np.searchsorted(record.t, min(window, float(record.t[-1]))))
    chosen = np.linspace(0, last, poses).astype(int)
    shapes = [skeleton(robot, record.q[k]) for k in chosen]
    for index, points in enumerate(shapes):
        share = index / max(1, poses - 1)
        colour = (0.82 - 0.62 * share, 0.86 - 0.55 * share, 0.92 - 0.37 * share)
        space.plot(
            *points.T, color=colour, linewidth=2.6, marker="o", markersize=3.2, label=f"{record.t[chosen[index]]:.1f} s"
        )
    trace = kernel(robot, tool_pose)(record.q[: last + 1])[:, :3, 3]
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
