# SPDX-License-Identifier: Apache-2.0
"""Drawings of a posed arm: capsules with floor, shadow and tool path in flat axes, or its meshes in one posture.

`Scene` draws capsules into flat matplotlib axes and moves them; `draw_shapes` draws the triangles of the arm's shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.packages import need
from armwright.recording.pictures.skeleton import Camera, Capsules, band
from armwright.recording.pictures.style import COLOURS, blank_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.arm_shapes import LinkShape

LINK, HOUSING, POST, TRACE = "#8fa3b5", "#2f6690", "#c9ced4", "#d55e00"
FLOOR, GRID, SHADOW = "#f4f5f7", "#d9dde2", "#c3c9d0"
AXES = ("#cc3311", "#009e73", "#0072b2")
MOUNT = -2  # instead of a body's index
_LIGHT = np.array([-0.45, 0.89])  # on the screen
_SHADES = ((1.0, -0.30), (0.86, 0.0), (0.60, 0.22), (0.34, 0.42), (0.14, 0.62))  # share of the radius, lightness


def shade(colour: str, amount: float) -> tuple[float, float, float]:
    """Return a colour mixed with white (amount > 0) or black (amount < 0)."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    mixed = rgb + (1.0 - rgb) * amount if amount > 0 else rgb * (1.0 + amount)
    return float(mixed[0]), float(mixed[1]), float(mixed[2])


def arm_polygons(arm: Capsules, camera: Camera) -> tuple[list[Array], list[Any]]:
    """Return the polygons (each (26, 2)) and colours of one pose, in the order of drawing."""
    start, end = camera.project(arm.start), camera.project(arm.end)
    depth = 0.5 * (start[:, 2] + end[:, 2]) + np.where(arm.joint, 0.5 * arm.radius, 0.0)
    depth -= np.where(arm.body == MOUNT, 3.0 * arm.radius, 0.0)  # an arm swings in front of the post it hangs on
    polygons: list[Array] = []
    colours: list[Any] = []
    for k in np.argsort(depth, kind="stable"):
        base = HOUSING if arm.joint[k] else LINK if arm.body[k] > MOUNT else POST
        last = arm.body[k] == MOUNT and k == len(depth) - 1
        for share, lightness in _SHADES:
            shift = 0.42 * (1.0 - share) * arm.radius[k] * _LIGHT
            outline = bar if arm.body[k] == MOUNT and not last else band
            if arm.body[k] == MOUNT:
                shift = shift * (1.0, 0.0)
            polygons.append(outline(start[k, :2] + shift, end[k, :2] + shift, share * arm.radius[k]))
            colours.append(shade(base, lightness))
    return polygons, colours


def bar(a: Array, b: Array, radius: float) -> Array:
    """Return the outline of a flat bar from a to b (2,), a little longer at both ends so that no seam shows."""
    along = (b - a) / max(float(np.linalg.norm(b - a)), 1e-12)
    side, more = radius * np.array([-along[1], along[0]]), 0.02 * (b - a)
    return np.array([a - more + side, b + more + side, b + more - side, a - more - side])


def shadow_polygons(arm: Capsules, camera: Camera, floor: float) -> list[Array]:
    """Return the outlines of the shadow that light from above throws on the floor z = `floor`."""
    out = []
    for a, b, radius in zip(arm.start, arm.end, arm.radius, strict=True):
        flat = band(a[:2], b[:2], float(radius))
        ground = np.column_stack([flat, np.full(len(flat), floor)])
        out.append(camera.project(ground)[:, :2])
    return out


def with_post(arm: Capsules, floor: float) -> Capsules:
    """Return one pose with the post that carries its base; in pieces, so that the arm passes before or behind it."""
    base, radius = arm.base, 0.8 * float(arm.radius.max())
    count = max(1, round((base[2] - floor) / (3.0 * radius)))
    levels = np.linspace(base[2], floor, count + 1)
    points = np.column_stack([np.broadcast_to(base[:2], (count + 1, 2)), levels])
    return Capsules(
        np.concatenate([arm.start, points[:-1]]),
        np.concatenate([arm.end, points[1:]]),
        np.concatenate([arm.radius, np.full(count, radius)]),
        np.concatenate([arm.body, np.full(count, MOUNT)]),
        np.concatenate([arm.joint, np.zeros(count, dtype=bool)]),
        arm.tool,
        base,
    )


class Scene:
    """A floor with one arm on it, drawn into `axes`; `pose` moves the arm."""

    def __init__(self, axes: Axes, arms: Capsules, camera: Camera, trace: Array | None = None) -> None:
        """Fit the view to all poses in `arms` (a batch, (T, k, 3)) and draw what does not move."""
        self.axes, self.camera, self.trace = axes, camera, trace
        collections = need("matplotlib.collections", "plot", "drawing an arm")
        path = np.empty((0, 3)) if trace is None else trace
        points = np.concatenate([arms.start.reshape(-1, 3), arms.end.reshape(-1, 3), arms.base[None], path])
        grow = float(arms.radius.max())
        low, high = points.min(axis=0) - grow, points.max(axis=0) + grow
        self.floor = float(low[2])
        span = float(max((high - low).max(), 1e-3))
        step = _round_step(span / 8.0)
        self.step = step
        x0, y0 = (np.floor(low[:2] / step - 0.5) * step).tolist()
        x1, y1 = (np.ceil(high[:2] / step + 0.5) * step).tolist()
        lines = [[(x, y0), (x, y1)] for x in np.arange(x0, x1 + 0.5 * step, step)]
        lines += [[(x0, y), (x1, y)] for y in np.arange(y0, y1 + 0.5 * step, step)]
        corners = self._ground(np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)]))
        axes.add_collection(collections.PolyCollection([corners], facecolors=FLOOR, edgecolors="none", zorder=0))
        ground = [self._ground(np.array(line)) for line in lines]
        axes.add_collection(collections.LineCollection(ground, colors=GRID, linewidths=0.6, zorder=1))
        self._shadow = collections.PolyCollection([], facecolors=SHADOW, edgecolors="none", zorder=2)
        self._arm = collections.PolyCollection([], edgecolors="none", zorder=4, antialiaseds=True)
        for collection in (self._shadow, self._arm):
            axes.add_collection(collection)
        (self._path,) = axes.plot([], [], color=TRACE, linewidth=1.3, zorder=3, solid_capstyle="round")
        self._size = 0.05 * span
        self._triad = [axes.plot([], [], color=colour, linewidth=1.6, zorder=5)[0] for colour in AXES]
        box = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
        seen = np.concatenate([camera.project(box)[:, :2], corners])
        margin = 0.02 * span
        axes.set_xlim(seen[:, 0].min() - margin, seen[:, 0].max() + margin)
        axes.set_ylim(seen[:, 1].min() - margin, seen[:, 1].max() + margin)
        axes.set_aspect("equal", adjustable="box")
        axes.set_axis_off()

    def _ground(self, xy: Array) -> Array:
        return self.camera.project(np.column_stack([xy, np.full(len(xy), self.floor)]))[:, :2]

    def pose(self, arm: Capsules, until: int | None = None) -> None:
        """Show one pose, and the tool path up to sample `until` of the trace."""
        arm = with_post(arm, self.floor)
        polygons, colours = arm_polygons(arm, self.camera)
        self._arm.set_verts(polygons)
        self._arm.set_facecolors(colours)
        origin = self.camera.project(arm.tool[:3, 3])[:2]
        for axis, line in enumerate(self._triad):
            tip = self.camera.project(arm.tool[:3, 3] + self._size * arm.tool[:3, axis])[:2]
            line.set_data([origin[0], tip[0]], [origin[1], tip[1]])
        self._shadow.set_verts(shadow_polygons(arm, self.camera, self.floor))
        if self.trace is not None:
            seen = self.camera.project(self.trace[:until])[:, :2]
            self._path.set_data(seen[:, 0], seen[:, 1])

    def ghost(self, arm: Capsules, alpha: float) -> None:
        """Add a faint outline of another pose."""
        collections = need("matplotlib.collections", "plot", "drawing an arm")
        start, end = self.camera.project(arm.start)[:, :2], self.camera.project(arm.end)[:, :2]
        polygons = [band(a, b, float(r)) for a, b, r in zip(start, end, arm.radius, strict=True)]
        # one colour, opaque: overlaps of transparent pieces would show as blotches
        colour = shade(LINK, 1.0 - alpha)
        self.axes.add_collection(
            collections.PolyCollection(polygons, facecolors=[colour], edgecolors="none", zorder=2.5)
        )


def one(arms: Capsules, index: int) -> Capsules:
    """Return one pose of a batch."""
    tool = arms.tool[index]
    return Capsules(arms.start[index], arms.end[index], arms.radius, arms.body, arms.joint, tool, arms.base)


def _round_step(size: float) -> float:
    power = 10.0 ** np.floor(np.log10(size))
    return float(next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= size * 0.999))


LIGHT = np.array([0.4, -0.6, 0.7])
MOST_DRAWN_TRIANGLES = 100_000  # of more, the smallest are left out: matplotlib sorts and draws each by itself


def draw_shapes(robot: Robot, q: ArrayLike, shapes: Sequence[LinkShape]) -> Figure:
    """Draw the shapes of an arm (`armwright.world.arm_shapes`) at the joint coordinates q (n,), one colour per body.

    Returns:
        A figure; ``figure.savefig("arm.png")`` keeps it.
    """
    if not shapes:
        raise InputError(f"draw_shapes: there is nothing to draw of {robot.name!r}; its description has no such shapes")
    figure = blank_figure("drawing", figsize=(6, 6), layout="constrained")
    polygons = need("mpl_toolkits.mplot3d.art3d", "plot", "drawing").Poly3DCollection
    axes = figure.add_subplot(projection="3d")
    areas = [_areas(shape.vertices[shape.triangles]) for shape in shapes]
    every_area = np.sort(np.concatenate(areas))
    least = every_area[-MOST_DRAWN_TRIANGLES] if len(every_area) > MOST_DRAWN_TRIANGLES else 0.0
    corners = []
    for shape, area in zip(shapes, areas, strict=True):
        T = fk(robot, q, shape.body) if shape.body >= 0 else robot.T_base_root
        points = shape.vertices @ T[:3, :3].T + T[:3, 3]
        triangles = points[shape.triangles[area >= least]]
        colour = np.array([int(COLOURS[shape.body % len(COLOURS)][k : k + 2], 16) / 255 for k in (1, 3, 5)])
        axes.add_collection3d(polygons(triangles, facecolors=_shaded(triangles, colour), linewidths=0))
        corners.append(points)
    every = np.concatenate(corners)
    middle, half = 0.5 * (every.min(axis=0) + every.max(axis=0)), 0.5 * float(np.ptp(every, axis=0).max())
    for k, name in enumerate("xyz"):
        getattr(axes, f"set_{name}lim")(middle[k] - half, middle[k] + half)
        getattr(axes, f"set_{name}label")(f"{name} [m]")
    axes.set_box_aspect((1, 1, 1))
    axes.set_title(robot.name)
    return figure


def _areas(triangles: Array) -> Array:
    """Return twice the areas (m,) of triangles (m, 3, 3)."""
    across = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    return np.asarray(np.linalg.norm(across, axis=1))


def _shaded(triangles: Array, colour: Array) -> Array:
    """Return colours (m, 3) of triangles (m, 3, 3), lighter where they face the light."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    length = np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    bright = 0.55 + 0.45 * np.abs(normals / length @ (LIGHT / np.linalg.norm(LIGHT)))
    return np.asarray(np.clip(bright[:, None] * colour, 0.0, 1.0))
