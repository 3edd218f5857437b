# SPDX-License-Identifier: Apache-2.0
"""A `World` as planners see it: its shapes as plain obstacles, and the map that someone who knew it would have."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.planning.joint.capsules import LONG, Obstacles
from armwright.world.capsule_arrays import LinkCapsules
from armwright.world.geometry import segment_point
from armwright.world.link_capsules import LinkCapsule, link_capsules
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Mesh, Sphere, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from armwright.planning.grid.occupancy import GridMap
    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.world import World

SEAM = 1e-9  # [m] from an obstacle that counts as touching: rounding must not open the seam between two that abut


@names_culprit
def contact_capsules(robot: Robot, parts: Sequence[LinkCapsule] | None = None) -> LinkCapsules:
    """Return the capsules of the contact model (its defaults for `robot`, or `parts`) as plain arrays."""
    chosen = link_capsules(robot) if parts is None else parts
    m = len(chosen)
    a, b = (np.array([getattr(p, end) for p in chosen], dtype=np.float64).reshape(m, 3) for end in ("start", "end"))
    return LinkCapsules(np.array([p.body for p in chosen], dtype=np.int64), a, b, np.array([p.radius for p in chosen]))


@names_culprit
def obstacles_of(world: World) -> Obstacles:
    """Return the shapes of a world as obstacles.

    Spheres, capsules, endless cylinders, boxes and half-spaces are exact. A cylinder of finite height gets round ends
    (it grows by its radius along the axis) and a mesh becomes its bounding box: both only ever too large.
    """
    a, b, radius, centre, half, R, planes = [], [], [], [], [], [], []
    for shape in world.shapes:
        if isinstance(shape, Mesh):
            shape = shape.bounding_box()
        if isinstance(shape, Sphere):
            ends = np.array([shape.centre, shape.centre])
        elif isinstance(shape, Capsule):
            ends = np.array([shape.start, shape.end])
        elif isinstance(shape, Cylinder):
            along = min(0.5 * shape.height, LONG) * np.array(shape.axis)
            ends = np.array([shape.centre - along, shape.centre + along])
        elif isinstance(shape, Box):
            centre.append(shape.centre)
            half.append(0.5 * np.array(shape.size))
            R.append(shape.rotation)
            continue
        elif isinstance(shape, HalfSpace):
            planes.append([*shape.normal, float(np.dot(shape.normal, shape.point))])
            continue
        else:
            raise AssertionError(kind_of(shape))
        a.append(ends[0])
        b.append(ends[1])
        radius.append(shape.radius)

    def rows(values: Sequence[object], *tail: int) -> Array:
        return np.array(values, dtype=np.float64).reshape(len(values), *tail)

    boxes = {"centre": rows(centre, 3), "half": rows(half, 3), "R": rows(R, 3, 3)}
    return Obstacles(rows(a, 3), rows(b, 3), rows(radius), **boxes, planes=rows(planes, 4))


@names_culprit
def point_clearance(obstacles: Obstacles, points: ArrayLike) -> Array:
    """Return the distance (...,) [m] of points (..., 3) from the nearest obstacle: ≤ 0 inside, inf without any."""
    P = np.asarray(points, dtype=np.float64)
    if P.ndim == 0 or P.shape[-1] != 3 or not np.isfinite(P).all():
        raise InputError(f"points: expected finite positions of shape (..., 3), got {P.shape}")
    least = np.full(P.shape[:-1], np.inf)
    columns = P.reshape(-1, 3).T
    for a, b, r in zip(obstacles.a, obstacles.b, obstacles.radius, strict=True):
        least = np.minimum(least, segment_point(a[:, None], b[:, None], columns).reshape(least.shape) - r)
    for c, h, R in zip(obstacles.centre, obstacles.half, obstacles.R, strict=True):
        beyond = np.abs((P - c) @ R) - h
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=-1)
        least = np.minimum(least, outside + np.minimum(beyond.max(axis=-1), 0.0))
    for plane in obstacles.planes:
        least = np.minimum(least, P @ plane[:3] - plane[3])
    return least


@names_culprit
def true_map(where: GridMap, world: World | Obstacles, *, radius: float = 0.0, touching: bool = False) -> GridMap:
    """Return the map with every cell felt that a tool of `radius` cannot use: what the oracle planner plans on.

    Args:
        where: gives grid, ring and tool radius (which then inflates further); its own contacts are dropped.
        world: the truth.
        radius: of the tool [m].
        touching: False: a cell is blocked if the tool **centred** in it touches something. True: if it may touch
            anywhere in the cell.
    """
    obstacles = world if isinstance(world, Obstacles) else obstacles_of(world)
    cells = np.moveaxis(np.indices(where.shape), 0, -1) + where.grid.first
    keep = radius + (0.5 * float(np.linalg.norm(where.grid.cell_size)) if touching else 0.0)
    blocked = point_clearance(obstacles, where.grid.centre(cells)) <= keep + SEAM
    return replace(where, felt=blocked.astype(np.int64), swept=np.zeros(where.shape, dtype=np.int64))
