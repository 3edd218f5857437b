# SPDX-License-Identifier: Apache-2.0
"""An arm as its meshes show it, in one posture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.optional import need
from armwright.recording.pictures.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.link_shapes import LinkShape

LIGHT = np.array([0.4, -0.6, 0.7])
MOST_TRIANGLES = 100_000  # of more, the smallest are left out: matplotlib sorts and draws each by itself


def draw_shapes(robot: Robot, q: ArrayLike, shapes: Sequence[LinkShape]) -> Figure:
    """Draw the shapes of an arm (`armwright.world.link_shapes`) at the joint coordinates q (n,), a colour a body.

    Returns:
        A figure; ``figure.savefig("arm.png")`` keeps it.
    """
    if not shapes:
        raise InputError(f"draw_shapes: there is nothing to draw of {robot.name!r}; its description has no such shapes")
    figure: Figure = need("matplotlib.figure", "plot", "drawing").Figure(figsize=(6, 6), layout="constrained")
    need("matplotlib.backends.backend_agg", "plot", "drawing").FigureCanvasAgg(figure)
    polygons = need("mpl_toolkits.mplot3d.art3d", "plot", "drawing").Poly3DCollection
    axes = figure.add_subplot(projection="3d")
    areas = [_areas(shape.vertices[shape.triangles]) for shape in shapes]
    every_area = np.sort(np.concatenate(areas))
    least = every_area[-MOST_TRIANGLES] if len(every_area) > MOST_TRIANGLES else 0.0
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
    """Twice the areas (m,) of triangles (m, 3, 3)."""
    across = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    return np.asarray(np.linalg.norm(across, axis=1))


def _shaded(triangles: Array, colour: Array) -> Array:
    """Colours (m, 3) of triangles (m, 3, 3), lighter where they face the light."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    length = np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    bright = 0.55 + 0.45 * np.abs(normals / length @ (LIGHT / np.linalg.norm(LIGHT)))
    return np.asarray(np.clip(bright[:, None] * colour, 0.0, 1.0))
