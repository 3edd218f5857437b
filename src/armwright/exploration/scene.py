# SPDX-License-Identifier: Apache-2.0
"""What stands around an arm, as a picture sees it: outlines of shapes, and balls at felt places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.recording.pictures.skeleton import Camera, band
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Mesh, Sphere

if TYPE_CHECKING:
    from armwright.types import Array
    from armwright.world.world import World

TALL = 0.16  # [m] above the level that endless cylinders are drawn
OBSTACLE, EDGE = "#9aa5b1", "#6b7683"
_ROUND = np.linspace(0.0, 2.0 * np.pi, 25)


def seen(points: Any, view: Camera, turn: Any) -> Array:
    """Places (m, 2) in the picture of points (m, 3) in the base frame."""
    return view.project(np.asarray(points) @ turn[:3, :3].T + turn[:3, 3])[:, :2]


def hull(points: Array) -> Array:
    """Outline (k, 2) of flat points (m, 2)."""
    from scipy.spatial import ConvexHull

    return np.asarray(points[ConvexHull(points).vertices])


def outlines(world: World | None, view: Camera, turn: Any, level: float) -> list[Array]:
    """Outlines of a world's shapes in the picture, the farthest first; endless cylinders stand on `level` [m]."""
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


def draw_outlines(axes: Any, shapes: list[Array], zorder: float = 2.6) -> None:
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


def balls(points: Array, radius: float, view: Camera, turn: Any) -> list[Array]:
    """Outlines (25, 2) of balls about points (m, 3)."""
    circle = radius * np.stack([np.cos(_ROUND), np.sin(_ROUND)], axis=-1)
    return [centre + circle for centre in seen(points.reshape(-1, 3), view, turn)]
