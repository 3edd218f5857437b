# SPDX-License-Identifier: Apache-2.0
"""Figures of a run with the whole arm: the way in space, what was known after each contact, clearance, forces.

The functions at the top project what stands around the arm into a picture: outlines of shapes, balls at felt places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.exploration.arm.touch_map import RADIUS
from armwright.packages import need
from armwright.recording.pictures.arm_drawing import Scene, one
from armwright.recording.pictures.skeleton import Camera, band, capsules, upright
from armwright.recording.pictures.style import COLOURS, LIMIT, MUTED
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Mesh, Sphere

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from armwright.exploration.arm.arm_result import ArmExploration
    from armwright.types import Array
    from armwright.world.world import World

TALL = 0.16  # [m] above the level that endless cylinders are drawn
OBSTACLE, EDGE = "#9aa5b1", "#6b7683"
_ROUND = np.linspace(0.0, 2.0 * np.pi, 25)


def seen(points: ArrayLike, view: Camera, turn: Array) -> Array:
    """Return the places (m, 2) in the picture of points (m, 3) in the base frame."""
    return view.project(np.asarray(points) @ turn[:3, :3].T + turn[:3, 3])[:, :2]


def hull(points: Array) -> Array:
    """Return the outline (k, 2) of flat points (m, 2)."""
    from scipy.spatial import ConvexHull

    return np.asarray(points[ConvexHull(points).vertices])


def outlines(world: World | None, view: Camera, turn: Array, level: float) -> list[Array]:
    """Return the outlines of a world's shapes, the farthest first; endless cylinders stand on `level` [m]."""
    found: list[tuple[float, Array]] = []
    for shape in world.shapes if world is not None else ():
        if isinstance(shape, HalfSpace):
            continue
        if isinstance(shape, (Mesh, Box)):
            box = shape.bounding_box() if isinstance(shape, Mesh) else shape
            signs = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
            points = np.array(box.centre) + (signs * np.array(box.size)) @ np.array(box.rotation).T
            middle = np.array(box.centre)
        elif isinstance(shape, Cylinder):
            z = np.array(shape.axis)
            x = np.eye(3)[int(np.argmin(np.abs(z)))]
            x = np.cross(z, x) / np.linalg.norm(np.cross(z, x))
            y = np.cross(z, x)
            ring = np.array(shape.centre) + shape.radius * (np.cos(_ROUND)[:, None] * x + np.sin(_ROUND)[:, None] * y)
            half = 0.5 * shape.height
            tall = (level - shape.centre[2], level - shape.centre[2] + TALL) if np.isinf(half) else (-half, half)
            points = np.concatenate([ring + tall[0] * z, ring + tall[1] * z])
            middle = np.array(shape.centre)
        elif isinstance(shape, (Sphere, Capsule)):
            a, b = (shape.centre, shape.centre) if isinstance(shape, Sphere) else (shape.start, shape.end)
            flat = seen(np.array([a, b]), view, turn)
            found.append((float(view.project(np.mean([a, b], axis=0))[2]), band(flat[0], flat[1], shape.radius)))
            continue
        else:
            continue
        found.append((float(view.project(middle)[2]), hull(seen(points, view, turn))))
    return [outline for _, outline in sorted(found, key=lambda item: item[0])]


def draw_outlines(axes: Axes, shapes: list[Array], zorder: float = 2.6) -> None:
    """Draw outlines of shapes."""
    for k, polygon in enumerate(shapes):
        axes.fill(
            polygon[:, 0],
            polygon[:, 1],
            facecolor=OBSTACLE,
            edgecolor=EDGE,
            linewidth=0.5,
            alpha=0.55,
            zorder=zorder + 1e-4 * k,
        )


def balls(points: Array, radius: float, view: Camera, turn: Array) -> list[Array]:
    """Return the outlines (25, 2) of balls about points (m, 3)."""
    circle = radius * np.stack([np.cos(_ROUND), np.sin(_ROUND)], axis=-1)
    return [centre + circle for centre in seen(points.reshape(-1, 3), view, turn)]


SURE, DOUBT = "#d55e00", "#f2c4a2"
MOST_CONFIGURATIONS = 8  # configurations that one figure shows
ARROW = 0.12  # [m] of a felt force in the picture
SIDE, ABOVE = 24.0, 86.0  # [deg] of elevation
CAPTIONS = {
    "path": (
        "The way of the tool (orange) among what really stood there (grey), which the arm was never told. Balls: "
        "places that the arm takes for obstacles, sure (dark) or likely (pale); arrows: felt forces at the contacts."
    ),
    "maps": "The configuration at each contact, and what the arm took for obstacles after it (at most eight shown).",
    "clearance": "Distance between the whole arm and the world over time; dotted: alarms.",
    "forces": "True contact force on all links, and the push at the place that was found, from joint motion alone.",
}


def _view(run: ArmExploration) -> tuple[Camera, Array]:
    """Return a camera that looks at the arm's workspace from the side, and the rotation that puts the arm upright."""
    robot = run.recording.robot
    assert robot is not None
    turn = upright(robot)
    middle = np.mean(run.recording["tool"], axis=0) @ turn[:3, :3].T
    return Camera(float(np.degrees(np.arctan2(middle[1], middle[0]))) - 35.0, SIDE), turn


def _scene(run: ArmExploration, axes: Axes, view: Camera, index: int, rows: Array, *, trace: bool) -> Scene:
    """Draw floor, world and known places into axes that show all configurations `rows` (m, n)."""
    collections = need("matplotlib.collections", "plot", "plotting")
    robot = run.recording.robot
    assert robot is not None
    turn = upright(robot)
    arms = capsules(robot, rows)
    way = np.asarray(run.recording["tool"])[:: max(1, len(run.recording) // 3000)] @ turn[:3, :3].T
    scene = Scene(axes, arms, view, way if trace else None)
    draw_outlines(axes, outlines(run.world, view, turn, 0.0))
    known = run.touch_maps[min(index, len(run.touch_maps) - 1)]
    doubt = known.likely & ~known.sure
    for which, colour in ((doubt, DOUBT), (known.sure, SURE)):
        axes.add_collection(
            collections.PolyCollection(
                balls(known.points[which], RADIUS, view, turn),
                facecolors=colour,
                edgecolors="white",
                linewidths=0.3,
                zorder=5.5,
            )
        )
    return scene


def path(run: ArmExploration, figure: Figure, width: float) -> None:
    """Draw the whole way, from the side and from above."""
    figure.set_size_inches(width, 0.48 * width)
    side, turn = _view(run)
    q = run.recording["q"]
    rows = q[np.linspace(0, len(q) - 1, min(len(q), 120)).astype(int)]
    robot = run.recording.robot
    assert robot is not None
    grid = figure.subplots(1, 2, width_ratios=[1.25, 1.0])
    views = ((side, "from the side"), (Camera(side.azimuth, ABOVE), "from above"))
    for axes, (view, title) in zip(grid, views, strict=True):
        scene = _scene(run, axes, view, -1 + len(run.touch_maps), rows, trace=True)
        scene.ghost(one(capsules(robot, q[:1]), 0), 0.35)
        scene.pose(one(capsules(robot, q[-1:]), 0))
        for k, contact in enumerate(run.contacts):
            if contact.places is None or not len(contact.places.points):
                continue
            size = float(np.linalg.norm(contact.felt))
            at = contact.places.points[0]
            ends = seen(np.stack([at, at + ARROW * contact.felt / max(size, 1e-9)]), view, turn)
            axes.annotate(
                "", ends[1], ends[0], arrowprops={"arrowstyle": "-|>", "color": LIMIT, "linewidth": 0.9}, zorder=6
            )
            if len(run.contacts) <= 15:
                axes.annotate(str(k + 1), ends[1], fontsize=6, xytext=(2, 2), textcoords="offset points", zorder=6.5)
        goal = seen(run.goal_point[None], view, turn)[0]
        axes.scatter(*goal, s=70, marker="*", color="#e69f00", edgecolors="black", linewidths=0.6, zorder=7)
        axes.set_title(title, loc="left", color=MUTED, fontsize=8)


def maps(run: ArmExploration, figure: Figure, width: float) -> None:
    """Draw the configuration of every contact with what was known after it."""
    robot = run.recording.robot
    assert robot is not None
    count = max(1, min(MOST_CONFIGURATIONS, len(run.contacts)))
    chosen = np.unique(np.linspace(0, max(0, len(run.contacts) - 1), count).astype(int)) if run.contacts else [0]
    columns = min(3, len(chosen))
    rows = -(-len(chosen) // columns)
    figure.set_size_inches(width, rows * (0.66 * width / columns + 0.22))
    view, turn = _view(run)
    posed = run.recording["q"][:: max(1, len(run.recording) // 100)]
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, k in zip(grid.flat, chosen, strict=False):
        scene = _scene(run, axes, view, int(k) + 1, posed, trace=False)
        q = run.contacts[k].q if run.contacts else run.recording["q"][-1]
        scene.pose(one(capsules(robot, np.asarray(q)[None]), 0))
        if not run.contacts:
            continue
        contact = run.contacts[k]
        if contact.true_point is not None:
            at = seen(np.asarray(contact.true_point)[None], view, turn)[0]
            axes.scatter(*at, s=26, marker="x", color="black", linewidths=1.1, zorder=8)
        axes.set_title(
            f"{k + 1}: {contact.link or contact.touched}, {contact.time:.1f} s", fontsize=7, loc="left", pad=2
        )
    for axes in grid.flat[len(chosen) :]:
        axes.set_axis_off()


def clearance(run: ArmExploration, figure: Figure, width: float) -> None:
    """Draw the distance between arm and world over time."""
    figure.set_size_inches(width, 0.36 * width)
    axes = figure.subplots()
    time, gap = run.recording.time, 1e3 * run.recording["clearance"].reshape(-1)
    axes.plot(time, gap, color=COLOURS[0], linewidth=0.9)
    axes.axhline(0.0, color=LIMIT, linewidth=0.8)
    for contact in run.contacts:
        axes.axvline(contact.time, color=MUTED, linewidth=0.6, linestyle=(0, (1, 2)), zorder=0.5)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("clearance [mm]")
    axes.set_xlim(time[0], time[-1])
    axes.set_ylim(min(-8.0, 1.2 * float(gap.min())), 1.08 * float(np.percentile(gap, 99.5)) + 1.0)


def forces(run: ArmExploration, figure: Figure, width: float) -> None:
    """Draw true and felt contact force, and how loud the alarm was."""
    figure.set_size_inches(width, 0.56 * width)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[1.6, 1.0])
    time = run.recording.time
    for name, label, colour in (("force", "actual", COLOURS[0]), ("force_felt", "felt", COLOURS[1])):
        if name not in run.recording:
            continue
        upper.plot(time, np.linalg.norm(run.recording[name], axis=1), color=colour, linewidth=0.9, label=label)
    tops = np.linalg.norm(run.recording["force" if run.truth_known else "force_felt"], axis=1)
    top = max(float(np.percentile(tops, 99.98)), 1.0)
    for k, contact in enumerate(run.contacts):
        upper.axvline(contact.time, color=MUTED, linewidth=0.6, linestyle=(0, (1, 2)), zorder=0.5)
        if len(run.contacts) <= 12:
            upper.annotate(
                contact.link or contact.touched,
                (contact.time, top * (1.12 - 0.11 * (k % 3))),
                fontsize=6,
                rotation=0,
                xytext=(2, 0),
                textcoords="offset points",
                color=MUTED,
                va="top",
            )
    upper.set_ylim(-0.02 * top, 1.15 * top)
    upper.set_ylabel(r"$\|F\|$ [N]")
    upper.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=1.6)
    if "level" in run.recording:
        lower.plot(time, np.minimum(run.recording["level"].reshape(-1), 1e3), color=COLOURS[2], linewidth=0.8)
    lower.axhline(1.0, color=LIMIT, linewidth=0.9, linestyle=(0, (5, 3)))
    lower.set_yscale("symlog", linthresh=1.0)
    lower.set_ylim(bottom=0.0)
    lower.set_ylabel("level / threshold")
    lower.set_xlabel("time [s]")
    lower.set_xlim(time[0], time[-1])


MAKERS = {"path": path, "maps": maps, "forces": forces, "clearance": clearance}
