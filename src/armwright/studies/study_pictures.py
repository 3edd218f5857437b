# SPDX-License-Identifier: Apache-2.0
"""Figures of the studies: posed arms with frames, axes, centres of mass and ellipsoids; curves; joints with limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from armwright.kinematics import fk, fk_all
from armwright.packages import need
from armwright.recording.pictures.arm_drawing import AXES, Scene, one
from armwright.recording.pictures.skeleton import Camera, capsules, joint_frames, upright
from armwright.recording.pictures.style import COLOURS, LIMIT, MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array


class Ball(NamedTuple):
    """An ellipsoid to draw at the tool: axes (3, 3) in columns, half lengths (3,) [m]."""

    axes: Array
    half_lengths: Array


class View(NamedTuple):
    """A camera that sees base-frame coordinates, turned so that gravity points down."""

    camera: Camera
    turn: Array

    @property
    def axes(self) -> Array:
        """Return rows: right, up, towards the viewer (base frame)."""
        return self.camera.axes @ self.turn

    def project(self, points: ArrayLike) -> Array:
        """Return (..., 3): right, up and depth of points (..., 3) of the base frame."""
        return np.asarray(points, dtype=np.float64) @ self.axes.T


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of that size [inch] that belongs to no window."""
    figure: Figure = need("matplotlib.figure", "plot", "drawing").Figure(figsize=(width, height), layout="constrained")
    need("matplotlib.backends.backend_agg", "plot", "drawing").FigureCanvasAgg(figure)
    return figure


_figure = new_figure


def arm_figure(
    robot: Robot,
    postures: Sequence[tuple[str, ArrayLike]],
    *,
    frames: Literal["all", "ends", "none"] = "all",
    axes: bool = False,
    coms: bool = False,
    vector: bool = False,
    balls: Mapping[str, Ball] | None = None,
    camera: Camera | None = None,
) -> Figure:
    """Draw one or several postures side by side.

    Args:
        robot: the arm.
        postures: (title, q) pairs.
        frames: of all links and the tool, of base and tool only, or none; red x, green y, blue z.
        axes: joint axes as dashed lines.
        coms: centres of mass as crossed dots, larger for heavier links.
        vector: from the base's origin to the tool's.
        balls: title → ellipsoid at the tool.
        camera: where to look from.
    """
    view = View(camera or Camera(), upright(robot)[:3, :3])
    figure = new_figure(3.7 * max(len(postures), 1) + (1.2 if len(postures) == 1 else 0.0), 3.9)
    panels = figure.subplots(1, len(postures), squeeze=False)[0]
    all_q = np.array([q for _, q in postures], dtype=np.float64)
    arms = capsules(robot, all_q)
    base = robot.T_base_root[:3, 3]
    extent = float(np.ptp(np.concatenate([arms.start.reshape(-1, 3), arms.end.reshape(-1, 3)]), axis=0).max())
    for k, (panel, (title, q)) in enumerate(zip(panels, postures, strict=True)):
        scene = Scene(panel, arms, view.camera)
        scene.pose(one(arms, k))
        panel.set_title(title)
        if axes:
            _joint_axes(panel, robot, q, view, 0.16 * extent)
        if frames != "none":
            _frames(panel, robot, q, view, 0.11 * extent, everything=frames == "all")
        if coms:
            _centres(panel, robot, q, view)
        if vector:
            _arrow(panel, view, base, fk(robot, q)[:3, 3])
        if balls and title in balls:
            _ball(panel, view, fk(robot, q)[:3, 3], balls[title])
        _fit(panel)
    return figure


def _frames(panel: Any, robot: Robot, q: ArrayLike, view: View, size: float, *, everything: bool) -> None:
    poses: dict[str, Array] = {"0": np.eye(4)}
    if everything:
        poses |= {str(i + 1): T for i, T in enumerate(fk_all(robot, q))}
    poses["E"] = fk(robot, q)
    named: list[tuple[Array, list[str]]] = []
    for name, T in poses.items():
        origin = view.project(T[:3, 3])[:2]
        for axis, colour in enumerate(AXES):
            tip = view.project(T[:3, 3] + size * T[:3, axis])[:2]
            panel.annotate(
                "",
                tip,
                origin,
                zorder=8,
                arrowprops={
                    "arrowstyle": "-|>,head_width=0.12,head_length=0.25",
                    "color": colour,
                    "lw": 1.1,
                    "shrinkA": 0,
                    "shrinkB": 0,
                },
            )
        together = next((group for place, group in named if np.allclose(place, origin, atol=1e-9)), None)
        if together is None:
            named.append((origin, [name]))
        else:
            together.append(name)
    for origin, names in named:
        shift = (7, 6) if names == ["E"] else (5, -11)
        panel.annotate(
            "R" + ", R".join(names) if len(names) < 3 else f"R{names[0]}…R{names[-1]}",
            origin,
            xytext=shift,
            textcoords="offset points",
            fontsize=7,
            zorder=9,
            color="#1b1f24",
            bbox={"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none", "alpha": 0.75},
        )


def _joint_axes(panel: Axes, robot: Robot, q: ArrayLike, view: View, size: float) -> None:
    for T in joint_frames(robot, q):
        ends = view.project(np.array([T[:3, 3] - size * T[:3, 2], T[:3, 3] + size * T[:3, 2]]))[:, :2]
        panel.plot(ends[:, 0], ends[:, 1], color=MUTED, linestyle=(0, (5, 2, 1, 2)), linewidth=0.8, zorder=6)


def _centres(panel: Axes, robot: Robot, q: ArrayLike, view: View) -> None:
    for T, body in zip(fk_all(robot, q), robot.bodies, strict=True):
        if body.mass > 0.0:
            x, y = view.project(T[:3, :3] @ body.com + T[:3, 3])[:2]
            size = 3.0 + 1.5 * float(np.sqrt(body.mass))
            panel.plot(
                [x],
                [y],
                marker="o",
                markersize=size,
                color="#e69f00",
                markeredgecolor="black",
                markeredgewidth=0.8,
                zorder=7,
                alpha=0.9,
            )
            panel.plot([x], [y], marker="+", markersize=size, color="black", markeredgewidth=0.7, zorder=7.1)


def _arrow(panel: Any, view: View, start: Array, end: Array) -> None:
    a, b = view.project(start)[:2], view.project(end)[:2]
    panel.annotate(
        "",
        b,
        a,
        zorder=7,
        arrowprops={
            "arrowstyle": "-|>",
            "color": "#4d4d4d",
            "lw": 1.0,
            "shrinkA": 0,
            "shrinkB": 0,
            "linestyle": (0, (4, 2)),
        },
    )


def _ball(panel: Any, view: View, centre: Array, ball: Ball) -> None:
    """Draw the outline of an ellipsoid under parallel projection: the ellipse of the projected half axes."""
    flat = view.axes[:2] @ (ball.axes * ball.half_lengths)
    U, s, _ = np.linalg.svd(flat)
    angle = np.linspace(0.0, 2.0 * np.pi, 121)
    middle = view.project(centre)[:2]
    outline = middle + (U * s @ np.array([np.cos(angle), np.sin(angle)])).T
    panel.fill(outline[:, 0], outline[:, 1], facecolor="#009e73", alpha=0.22, edgecolor="none", zorder=6)
    panel.plot(outline[:, 0], outline[:, 1], color="#00684c", linewidth=1.0, zorder=6.1)
    for k in range(3):
        tip = flat[:, k]
        ends = np.array([middle - tip, middle + tip])
        panel.plot(
            ends[:, 0],
            ends[:, 1],
            color="#b2182b" if k == 0 else "#00684c",
            linewidth=1.6 if k == 0 else 0.9,
            zorder=6.2,
        )
    panel.annotate(
        "U1", middle + flat[:, 0], xytext=(3, 3), textcoords="offset points", color="#b2182b", fontsize=7.5, zorder=9
    )


def _fit(panel: Any) -> None:
    """Widen the view to whatever was added outside it."""
    points = [line.get_xydata() for line in panel.lines if len(line.get_xydata())]
    points += [patch.get_xy() for patch in panel.patches if hasattr(patch, "get_xy") and np.ndim(patch.get_xy()) == 2]
    if points:
        seen = np.concatenate(points)
        (x0, x1), (y0, y1) = panel.get_xlim(), panel.get_ylim()
        panel.set_xlim(min(x0, seen[:, 0].min() - 0.02), max(x1, seen[:, 0].max() + 0.02))
        panel.set_ylim(min(y0, seen[:, 1].min() - 0.02), max(y1, seen[:, 1].max() + 0.02))


def curves(
    series: Sequence[tuple[str, ArrayLike, ArrayLike]],
    x_label: str,
    y_label: str,
    *,
    logarithmic: bool = False,
    logarithmic_x: bool = False,
    levels: Sequence[tuple[float, str]] = (),
    markers: bool = False,
    points: Sequence[str] = (),
    window: tuple[tuple[float, float], tuple[float, float]] | None = None,
    height: float = 2.8,
) -> Figure:
    """Draw labelled curves (label, x, y) in one panel.

    Args:
        series: label, x and y of each curve.
        x_label: with its unit.
        y_label: with its unit.
        logarithmic: values on a logarithmic scale.
        logarithmic_x: the same for x.
        levels: values with names, drawn as dashed lines.
        markers: show the samples as dots on the curves.
        points: labels of the series to show as dots alone.
        window: ((x0, x1), (y0, y1)) to look at a part.
        height: of the figure [inch].
    """
    figure = new_figure(7.2, height)
    panel = figure.subplots()
    for k, (label, x, y) in enumerate(series):
        alone = label in points
        panel.plot(
            x,
            y,
            color=COLOURS[k % len(COLOURS)],
            label=label,
            marker="o" if markers or alone else None,
            markersize=6 if alone else 2.5,
            linestyle="none" if alone else "-",
            clip_on=window is not None,
        )
    plain = need("matplotlib.ticker", "plot", "drawing").FormatStrFormatter("%g")
    if logarithmic:
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter(plain)
    if logarithmic_x:
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter(plain)
    for value, label in levels:
        panel.axhline(value, color=LIMIT, linewidth=0.9, linestyle=(0, (5, 3)))
        panel.annotate(
            label,
            (1.0, value),
            xycoords=("axes fraction", "data"),
            xytext=(-3, 3),
            textcoords="offset points",
            ha="right",
            fontsize=7,
            color=LIMIT,
        )
    if window is not None:
        panel.set_xlim(*window[0])
        panel.set_ylim(*window[1])
    panel.set_xlabel(x_label)
    panel.set_ylabel(y_label)
    panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.4)
    return figure


def joint_panels(
    t: Array,
    paths: Mapping[str, Array],
    robot: Robot,
    *,
    quantity: str = "position [rad]",
    limits: tuple[Array, Array] | None = None,
) -> Figure:
    """Draw joint signals (T, n) over time, one panel per joint, limits dashed and the forbidden side shaded.

    Args:
        t: times (T,) [s].
        paths: label → signal (T, n).
        robot: whose joints they are.
        quantity: what is drawn, with its unit.
        limits: lower and upper limits (n,); the robot's joint limits by default.
    """
    n = robot.n
    lower, upper = (robot.lower, robot.upper) if limits is None else limits
    columns = min(3, n)
    rows = -(-n // columns)
    figure = new_figure(7.6, 1.75 * rows + 0.4)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    styles = ("-", (0, (5, 2)), (0, (1, 1.5)))
    for j, panel in enumerate(grid.flat):
        if j >= n:
            panel.set_axis_off()
            continue
        low = min(float(q[:, j].min()) for q in paths.values())
        high = max(float(q[:, j].max()) for q in paths.values())
        pad = 0.12 * max(high - low, 0.2)
        bottom, top = low - pad, high + pad
        for limit, outward in ((float(lower[j]), -1.0), (float(upper[j]), 1.0)):
            if low - max(high - low, 0.2) <= limit <= high + max(high - low, 0.2):  # near enough to be worth the space
                bottom, top = min(bottom, limit - pad), max(top, limit + pad)
                panel.axhline(limit, color=LIMIT, linewidth=0.9, linestyle=(0, (5, 3)), zorder=1.5)
                panel.axhspan(limit, limit + outward * 1e3, color=LIMIT, alpha=0.08, linewidth=0, zorder=0)
        for k, (label, q) in enumerate(paths.items()):
            panel.plot(t, q[:, j], color=COLOURS[k], linestyle=styles[k % 3], label=label if j == 0 else None)
        panel.set_ylim(bottom, top)
        panel.set_title(f"joint {j + 1}", loc="left", pad=3)
        if j + columns >= n:
            panel.set_xlabel("time [s]")
    figure.supylabel(quantity, fontsize=8.5)
    if len(paths) > 1:
        figure.legend(loc="outside upper right", ncols=len(paths), handlelength=2.2)
    return figure
