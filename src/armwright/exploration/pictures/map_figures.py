# SPDX-License-Identifier: Apache-2.0
"""Figures of an exploration on a map: maps after every contact, the path over the truth, forces, one contact close up.

`MapView` lays a map flat for drawing: which axes are shown, and where cells and shapes lie on them. `draw` makes every
figure by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.exploration.arm.arm_result import ArmExploration
from armwright.exploration.pictures.arm_figures import MAKERS as JOINT_MAKERS
from armwright.graph import compile_function
from armwright.packages import need
from armwright.recording.pictures.style import COLOURS, LIMIT, MUTED, STYLE, blank_figure, compact_png, save_figure
from armwright.world.shape_distance import signed_distance
from armwright.world.shapes import HalfSpace, Mesh

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from armwright.exploration.exploration_result import Contact, Exploration
    from armwright.planning.grid.grid_map import GridMap
    from armwright.types import Array, Traced
    from armwright.world.world import World

RASTER_POINTS, SIGHT_POINTS = 180, 24  # raster points across, and along the line of sight


@dataclass(frozen=True, eq=False)
class MapView:
    """One view of a map: two of its axes, seen along the third.

    Attributes:
        axes: (2, 3) directions shown. kept: which axes of the grid these are.
        limits: of both directions [m]. labels: of both.
        distance: raster a, b (FINE,) and signed distance (FINE, FINE) to the shapes, None without a world.
    """

    axes: Array
    kept: tuple[int, int]
    limits: tuple[tuple[float, float], tuple[float, float]]
    labels: tuple[str, str]
    distance: tuple[Array, Array, Array] | None

    def flat(self, points: ArrayLike) -> Array:
        """Return the coordinates (…, 2) of points (…, 3) in this view."""
        return np.asarray(np.asarray(points) @ self.axes.T)

    def cells(self, grid: GridMap) -> tuple[list[Array], list[Array]]:
        """Return the squares (4, 2) of the felt cells, and of those swept free."""
        out = []
        felt, swept = np.asarray(grid.felt) > 0, np.asarray(grid.swept) > 0
        for mask in (felt, swept & ~felt):
            other = tuple(k for k in range(grid.grid.dim) if k not in self.kept)
            seen = np.argwhere(mask.any(axis=other)) if other else np.argwhere(mask)
            squares = []
            for c in seen:
                full = np.full(grid.grid.dim, grid.grid.first, dtype=float)
                full[list(self.kept)] = c + grid.grid.first
                centre = self.flat(grid.grid.centre(full))
                half = 0.5 * np.asarray(grid.grid.cell_size)[list(self.kept)]
                squares.append(centre + half * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]))
            out.append(squares)
        return out[0], out[1]


def plan_of(run: Exploration) -> list[MapView]:
    """Return the views of a run's map: one of a 2-D map, two (from above and from the side) of a 3-D map."""
    grid = run.maps[0].grid
    pairs: list[tuple[int, int]] = [(0, 1)] if grid.dim == 2 else [(0, 1), (0, 2)]
    return [_plan(run, pair) for pair in pairs]


def _plan(run: Exploration, pair: tuple[int, int]) -> MapView:
    grid = run.maps[0].grid
    directions = np.asarray(grid.axes)
    axes = directions[list(pair)]
    corners = grid.centre(np.array([[grid.first] * grid.dim, [s - 1 + grid.first for s in grid.shape]]))
    size = np.asarray(grid.cell_size)
    ends = corners @ axes.T
    half = 0.5 * size[list(pair)]
    low, high = ends.min(axis=0) - half, ends.max(axis=0) + half
    names = []
    for direction in axes:
        k = int(np.argmax(np.abs(direction)))
        names.append(
            f"{'xyz'[k]} [m]" if abs(direction[k]) > 1.0 - 1e-9 else f"along {np.round(direction, 2).tolist()} [m]"
        )
    limits = ((float(low[0]), float(high[0])), (float(low[1]), float(high[1])))
    return MapView(axes, pair, limits, (names[0], names[1]), _raster(run, axes, pair, limits, corners))


def _raster(
    run: Exploration,
    axes: Array,
    pair: tuple[int, int],
    limits: tuple[tuple[float, float], tuple[float, float]],
    corners: Array,
) -> tuple[Array, Array, Array] | None:
    if run.world is None or not len(run.world):
        return None
    grid = run.maps[0].grid
    a, b = (np.linspace(low, high, RASTER_POINTS) for low, high in limits)
    third = np.cross(axes[0], axes[1])
    if grid.dim == 2:
        depths = np.array([float(third @ grid.origin)])
    else:
        seen = corners @ third
        depths = np.linspace(seen.min(), seen.max(), SIGHT_POINTS)
    plane = a[None, :, None] * axes[0] + b[:, None, None] * axes[1]
    d = distance_field(run.world, plane[:, :, None] + depths[:, None] * third).min(axis=-1)
    return a, b, d


def distance_field(world: World, points: Array) -> Array:
    """Return the signed distance (…) [m] of points (…, 3) to the nearest shape but floors; meshes count as boxes."""
    shapes = [
        shape.bounding_box() if isinstance(shape, Mesh) else shape
        for shape in world.shapes
        if not isinstance(shape, HalfSpace)
    ]
    if not shapes:
        return np.full(points.shape[:-1], np.inf)

    def nearest(p: Traced) -> Traced:
        d = signed_distance(shapes[0], p)
        for shape in shapes[1:]:
            d = np.minimum(d, signed_distance(shape, p))
        return d

    return np.asarray(compile_function(nearest, {"p": (3,)}, name="nearest_shape")(points))


MOST_MAPS = 15  # maps in one figure: five rows of three
FELT_FILL, SWEPT_FILL, TRUE_FILL, TRUE_EDGE = "#e8976b", "#dcebf5", "#b9c0c8", "#5f6975"
ACTUAL, ESTIMATED, DESIRED = COLOURS[0], COLOURS[1], "#7a7a7a"


def draw(run: Exploration, what: str = "path", path: str | Path | None = None, *, width: float = 7.2) -> Figure:
    """Draw one view of a run.

    Args:
        run: the exploration.
        what: "path" (final map, truth, way), "maps" (after every contact), "forces" (true and estimated), "zoom" (one
            contact with its delay), "errors" (of the joints); "clearance" of a run with the whole arm.
        path: where to save it as well.
        width: of the figure [inch].

    Returns:
        The matplotlib Figure.
    """
    makers: dict[str, Any] = {"path": _path, "maps": _maps, "forces": _forces, "zoom": _zoom, "errors": _errors}
    if isinstance(run, ArmExploration):
        makers |= JOINT_MAKERS
    if what not in makers:
        raise InputError(f"plot: cannot draw {what!r} of an exploration; valid: {', '.join(makers)}")
    if not len(run.recording):
        raise InputError("plot: the run was interrupted before anything was recorded")
    matplotlib = need("matplotlib", "plot", "plotting")
    with matplotlib.rc_context(STYLE):
        figure = blank_figure("plotting", layout="constrained")
        makers[what](run, figure, width)
        figure.draw_without_rendering()
        if path is not None:
            save_figure(figure, path)
    return figure


def png(run: Exploration, what: str, dpi: int = 150) -> bytes:
    """Return one view as a PNG file's bytes."""
    with need("matplotlib", "plot", "plotting").rc_context(STYLE):
        return compact_png(draw(run, what), dpi)


def draw_map(
    axes: Axes, run: Exploration, plan: MapView, index: int, *, truth: bool = True, swept: bool = True
) -> None:
    """Draw map number `index` of a run: felt and swept cells, and the truth behind them."""
    patches = need("matplotlib.collections", "plot", "plotting").PolyCollection
    felt, free = plan.cells(run.maps[index])
    if truth and plan.distance is not None:
        a, b, d = plan.distance
        axes.contourf(a, b, d, levels=[-1e9, 0.0], colors=[TRUE_FILL], zorder=1)
        axes.contour(a, b, d, levels=[0.0], colors=[TRUE_EDGE], linewidths=0.7, zorder=3)
    if swept:
        axes.add_collection(patches(free, facecolors=SWEPT_FILL, edgecolors="white", linewidths=0.3, zorder=0.8))
    axes.add_collection(patches(felt, facecolors=FELT_FILL, edgecolors="white", linewidths=0.3, alpha=0.75, zorder=2))
    axes.set_xlim(*plan.limits[0])
    axes.set_ylim(*plan.limits[1])
    axes.set_aspect("equal")
    axes.grid(False)


def ends(axes: Any, run: Exploration, plan: MapView, size: float = 36.0) -> None:
    """Draw start and goal."""
    grid = run.maps[0].grid
    start, goal = plan.flat(grid.centre(run.start)), plan.flat(grid.centre(run.goal))
    axes.scatter(*start, s=size, marker="o", facecolors="white", edgecolors="black", linewidths=1.1, zorder=6)
    axes.scatter(*goal, s=1.9 * size, marker="*", color="#e69f00", edgecolors="black", linewidths=0.6, zorder=6)


def _path(run: Exploration, figure: Figure, width: float) -> None:
    plans = plan_of(run)
    figure.set_size_inches(width, 0.72 * width if len(plans) == 1 else 0.5 * width)
    grid = figure.subplots(1, len(plans), squeeze=False)[0]
    for axes, plan in zip(grid, plans, strict=True):
        draw_map(axes, run, plan, -1)
        want, tool = plan.flat(run.recording["tool_ref"]), plan.flat(run.recording["tool"])
        axes.plot(
            want[:, 0], want[:, 1], color=DESIRED, linewidth=0.8, linestyle=(0, (3, 2)), zorder=4, label="desired"
        )
        axes.plot(tool[:, 0], tool[:, 1], color=ACTUAL, linewidth=1.2, zorder=4.5, label="actual")
        if run.contacts:
            at = np.array([plan.flat(c.actual) for c in run.contacts])
            push = np.array([plan.flat(c.felt) - plan.flat(np.zeros(3)) for c in run.contacts])
            size = np.maximum(np.linalg.norm(push, axis=1, keepdims=True), 1e-9)
            axes.quiver(
                at[:, 0], at[:, 1], *(push / size).T, color=LIMIT, angles="xy", scale=22, width=0.0045, zorder=5.5
            )
            axes.scatter(at[:, 0], at[:, 1], s=11, color=LIMIT, zorder=5.6, label="alarm, felt force")
            if len(run.contacts) <= 40 and len(plans) == 1:
                for k, p in enumerate(at):
                    axes.annotate(str(k + 1), p, fontsize=6, xytext=(4, 3), textcoords="offset points", zorder=6)
        ends(axes, run, plan)
        axes.set_xlabel(plan.labels[0])
        axes.set_ylabel(plan.labels[1])
    patch = need("matplotlib.patches", "plot", "plotting").Patch
    handles, _ = grid[0].get_legend_handles_labels()
    handles += [patch(facecolor=FELT_FILL, alpha=0.75, label="felt"), patch(facecolor=SWEPT_FILL, label="swept free")]
    if plans[0].distance is not None:
        handles.append(patch(facecolor=TRUE_FILL, edgecolor=TRUE_EDGE, label="truth"))
    figure.legend(
        handles=handles,
        loc="outside right center" if len(plans) == 1 else "outside lower center",
        ncols=1 if len(plans) == 1 else 6,
        handlelength=1.6,
    )


def _maps(run: Exploration, figure: Figure, width: float) -> None:
    plan = plan_of(run)[0]
    chosen = np.unique(np.linspace(0, len(run.maps) - 1, min(MOST_MAPS, len(run.maps))).astype(int))
    columns = min(5, len(chosen)) if len(chosen) > 3 else len(chosen)
    rows = -(-len(chosen) // columns)
    figure.set_size_inches(width, rows * (width / columns + 0.16) + 0.1)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, k in zip(grid.flat, chosen.tolist(), strict=False):
        draw_map(axes, run, plan, k)
        if k < len(run.plans) and run.plans[k].path:
            way = plan.flat(run.maps[k].grid.centre(np.array(run.plans[k].path)))
            axes.plot(way[:, 0], way[:, 1], color=ACTUAL, linewidth=1.0, zorder=4)
        if k > 0 and k <= len(run.contacts):
            axes.scatter(*plan.flat(run.contacts[k - 1].actual), s=9, color=LIMIT, zorder=5)
        ends(axes, run, plan, size=12.0)
        title = (
            "before" if k == 0 else f"contact {k}, {run.contacts[k - 1].time:.1f} s" if k <= len(run.contacts) else ""
        )
        axes.set_title(title, loc="left", pad=2, fontsize=7)
        axes.set_xticks([])
        axes.set_yticks([])
        for side in ("top", "right"):
            axes.spines[side].set_visible(True)
    for axes in grid.flat[len(chosen) :]:
        axes.set_axis_off()


def _forces(run: Exploration, figure: Figure, width: float) -> None:
    time, felt = run.recording.time, run.recording["force_felt"]
    true = run.recording["force"] if run.truth_known else np.full(felt.shape, np.nan)
    figure.set_size_inches(width, 0.78 * width)
    grid = figure.subplots(4, 1, sharex=True)
    series = [(f"$F_{axis}$", true[:, i], felt[:, i]) for i, axis in enumerate("xyz")]
    series.append((r"$\|F\|$", np.linalg.norm(true, axis=1), np.linalg.norm(felt, axis=1)))
    limit = _threshold(run)
    for axes, (label, a, b) in zip(grid, series, strict=True):
        if run.truth_known:
            axes.plot(time, a, color=ACTUAL, linewidth=0.8, label="actual")
        axes.plot(time, b, color=ESTIMATED, linewidth=0.9, label="estimated")
        for contact in run.contacts:
            axes.axvline(contact.time, color=MUTED, linewidth=0.6, linestyle=(0, (1, 2)), zorder=0.5)
        axes.set_ylabel(f"{label} [N]")
        # a single spike does not squeeze the rest
        both = np.concatenate([np.clip(a, *np.percentile(a, [0.02, 99.98])), b]) if run.truth_known else b
        low, high = min(float(both.min()), -0.5), max(float(both.max()), 0.5)
        low = 0.0 if label.startswith(r"$\|") else low
        axes.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))
    if limit is not None:
        grid[3].axhline(limit, color=LIMIT, linewidth=0.9, linestyle=(0, (5, 3)), label=f"threshold {limit:g} N")
    grid[0].set_title(f"{run.settings.get('observer', '')} observer · dotted: alarms", loc="left", pad=3, color=MUTED)
    grid[3].set_xlabel("time [s]")
    grid[3].set_xlim(time[0], time[-1])
    figure.legend(handles=grid[3].get_legend_handles_labels()[0], loc="outside upper right", ncols=3, handlelength=1.6)


def _threshold(run: Exploration) -> float | None:
    """Return the detector's threshold if it is one on the force."""
    gains = run.settings.get("detector_gains", {})
    return float(gains["threshold"]) if run.settings.get("detector") == "norm" and "threshold" in gains else None


def shown_contact(run: Exploration) -> Contact | None:
    """Return the first contact that really was one."""
    return next((c for c in run.contacts if np.isfinite(c.began)), None)


def _zoom(run: Exploration, figure: Figure, width: float) -> None:
    contact = shown_contact(run)
    figure.set_size_inches(width, 0.5 * width)
    if contact is None:
        figure.text(0.5, 0.5, "there was no contact", ha="center", color=MUTED)
        return
    lead = max(1.2 * contact.delay, 0.02)
    part = run.recording.select(contact.began - 0.6 * lead, contact.time + 1.6 * lead)
    t = 1e3 * (part.time - contact.began)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[1.6, 1.0])
    norms = [np.linalg.norm(part[name], axis=1) for name in ("force", "force_felt")]
    upper.plot(t, norms[0], color=ACTUAL, label="actual")
    upper.plot(t, norms[1], color=ESTIMATED, label="estimated")
    limit = _threshold(run)
    if limit is not None:
        upper.axhline(limit, color=LIMIT, linewidth=0.9, linestyle=(0, (5, 3)), label=f"threshold {limit:g} N")
    top = 1.12 * max(float(np.max(x, initial=1.0)) for x in norms)
    upper.set_ylim(-0.02 * top, top)
    upper.set_ylabel(r"$\|F\|$ [N]")
    upper.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=1.6)
    level = part["level"].reshape(-1)
    lower.plot(t, level, color=COLOURS[2])
    lower.axhline(1.0, color=LIMIT, linewidth=0.9, linestyle=(0, (5, 3)))
    lower.set_ylabel("level / threshold")
    lower.set_ylim(-0.05, max(1.6, 1.1 * float(level.max())))
    delay = 1e3 * contact.delay
    for axes in (upper, lower):
        axes.axvspan(0.0, delay, color=COLOURS[4], alpha=0.13, linewidth=0, zorder=0)
        for x in (0.0, delay):
            axes.axvline(x, color=MUTED, linewidth=0.7, zorder=0.5)
    upper.set_title(f"touch at {contact.began:.3f} s, alarm {delay:.0f} ms later", loc="left", pad=3)
    lower.set_xlabel("time since first touch [ms]")
    lower.set_xlim(t[0], t[-1])


def _errors(run: Exploration, figure: Figure, width: float) -> None:
    figure.set_size_inches(width, 0.42 * width)
    axes = figure.subplots()
    error = 1e3 * np.abs(run.recording["error"])
    for i, label in enumerate(run.recording.labels("error")):
        axes.semilogy(
            run.recording.time,
            np.maximum(error[:, i], 1e-5),
            color=COLOURS[i % len(COLOURS)],
            linewidth=0.8,
            label=label,
        )
    for contact in run.contacts:
        axes.axvline(contact.time, color=MUTED, linewidth=0.6, linestyle=(0, (1, 2)), zorder=0.5)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("|joint error| [mrad]")
    axes.set_xlim(run.recording.time[0], run.recording.time[-1])
    axes.set_ylim(1e-4, 2.0 * max(float(error.max()), 1e-2))
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.4)
