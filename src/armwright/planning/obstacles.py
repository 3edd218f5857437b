# SPDX-License-Identifier: Apache-2.0
"""Obstacles as planners see them: arrays of capsules, boxes and half-spaces, made from a `World`, a map or by hand.

`true_map` is the map that someone who knew the world would have.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import frozen_numbers, names_culprit
from armwright.errors import InputError
from armwright.planning.grid.grid_map import GridMap
from armwright.world.arm_capsules import LinkCapsule, LinkCapsules, link_capsules
from armwright.world.segments import segment_point
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Mesh, Sphere, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.types import Array
    from armwright.world.world import World

INFINITE_HALF_LENGTH = 10.0  # half-length that stands for "infinite" next to an arm [m]


@dataclass(frozen=True, slots=True, eq=False)
class Obstacles:
    """Obstacles, base frame: capsules (spheres and cylinders among them), boxes, half-spaces.

    Attributes:
        a, b, radius: capsules, (S, 3), (S, 3), (S,).
        centre, half, R: boxes, (M, 3), (M, 3) half edges, (M, 3, 3) axes as columns.
        planes: (P, 4) rows [n, c]: the solid is n·x ≤ c, n a unit vector.
    """

    a: Array = field(default_factory=lambda: np.zeros((0, 3)))
    b: Array = field(default_factory=lambda: np.zeros((0, 3)))
    radius: Array = field(default_factory=lambda: np.zeros(0))
    centre: Array = field(default_factory=lambda: np.zeros((0, 3)))
    half: Array = field(default_factory=lambda: np.zeros((0, 3)))
    R: Array = field(default_factory=lambda: np.zeros((0, 3, 3)))
    planes: Array = field(default_factory=lambda: np.zeros((0, 4)))

    def __post_init__(self) -> None:
        """Check and freeze."""
        S, M, P = len(self.a), len(self.centre), len(self.planes)
        shapes: dict[str, tuple[int, ...]] = {
            "a": (S, 3),
            "b": (S, 3),
            "radius": (S,),
            "centre": (M, 3),
            "half": (M, 3),
        }
        shapes |= {"R": (M, 3, 3), "planes": (P, 4)}
        for name, shape in shapes.items():
            object.__setattr__(self, name, frozen_numbers(getattr(self, name), shape, f"obstacles.{name}"))
        if (self.radius < 0.0).any() or (self.half < 0.0).any():
            raise InputError("obstacles: radii and half edges must be ≥ 0 [m]")
        if P and np.abs(np.linalg.norm(self.planes[:, :3], axis=1) - 1.0).max() > 1e-9:
            raise InputError("obstacles.planes: normals must have unit length")

    def __len__(self) -> int:
        """Return the number of shapes."""
        return len(self.a) + len(self.centre) + len(self.planes)

    def __add__(self, other: Obstacles) -> Obstacles:
        """Return both together."""
        return Obstacles(*(np.concatenate([getattr(self, n), getattr(other, n)]) for n in self.__slots__))


@names_culprit
def spheres(centres: ArrayLike, radius: ArrayLike) -> Obstacles:
    """Return spheres at centres (S, 3) with radius, one or (S,) [m].

    >>> spheres([[0.4, 0.0, 0.3]], 0.05) + floor()
    """
    c = np.atleast_2d(np.asarray(centres, dtype=np.float64))
    return Obstacles(c, c, frozen_numbers(radius, (len(c),), "radius"))


@names_culprit
def vertical_cylinders(xy: ArrayLike, radius: ArrayLike, *, half_length: float = INFINITE_HALF_LENGTH) -> Obstacles:
    """Return the vertical cylinders of 000 (section 7.1) at (S, 2), so long that their round ends are out of reach.

    >>> vertical_cylinders([[0.4, 0.1], [0.4, 0.2]], 0.03)
    """
    p = np.atleast_2d(np.asarray(xy, dtype=np.float64))
    z = np.full((len(p), 1), half_length)
    return Obstacles(np.hstack([p, -z]), np.hstack([p, z]), frozen_numbers(radius, (len(p),), "radius"))


@names_culprit
def cells_as_boxes(where: GridMap, *, height: float = INFINITE_HALF_LENGTH) -> Obstacles:
    """Return the blocked cells of a map (by its own rule; not inflated, without the ring) as boxes.

    Args:
        where: 2-D or 3-D map.
        height: half thickness of a 2-D map's cells along its normal [m].

    >>> arm = WholeArm(robot, cells_as_boxes(where))
    """
    mask = np.asarray(where.felt) > 0 if where.rule == "felt" else where.log_odds > 0.0
    cells = np.argwhere(mask) + where.grid.first
    half = 0.5 * np.asarray(where.grid.cell_size)
    if where.grid.dim == 2:
        half = np.append(half, height)
    M = len(cells)
    R = np.broadcast_to(where.grid.frame, (M, 3, 3))
    centre = where.grid.centre(cells) if M else np.zeros((0, 3))
    return Obstacles(centre=centre, half=np.broadcast_to(half, (M, 3)), R=R)


@names_culprit
def floor(z: float = 0.0) -> Obstacles:
    """Return the half-space below height z [m].

    >>> arm = WholeArm(robot, floor(-0.01), ignore_planes=(0,))
    """
    return Obstacles(planes=np.array([[0.0, 0.0, 1.0, z]]))


SEAM = 1e-9  # [m] from an obstacle that counts as touching: rounding must not open the seam between two that abut


@names_culprit
def contact_capsules(robot: Robot, parts: Sequence[LinkCapsule] | None = None) -> LinkCapsules:
    """Return the capsules of the contact model (its defaults for `robot`, or `parts`) as plain arrays.

    >>> WholeArm(robot, floor(-0.2), capsules=contact_capsules(robot, link_capsules(robot, 0.05)))
    """
    chosen = link_capsules(robot) if parts is None else parts
    m = len(chosen)
    a, b = (np.array([getattr(p, end) for p in chosen], dtype=np.float64).reshape(m, 3) for end in ("start", "end"))
    return LinkCapsules(np.array([p.body for p in chosen], dtype=np.int64), a, b, np.array([p.radius for p in chosen]))


@names_culprit
def obstacles_of(world: World) -> Obstacles:
    """Return the shapes of a world as obstacles.

    Spheres, capsules, endless cylinders, boxes and half-spaces are exact. A cylinder of finite height gets round ends
    (it grows by its radius along the axis) and a mesh becomes its bounding box: both only ever too large.

    >>> arm = WholeArm(robot, obstacles_of(world))
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
            along = min(0.5 * shape.height, INFINITE_HALF_LENGTH) * np.array(shape.axis)
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
    """Return the distance (...,) [m] of points (..., 3) from the nearest obstacle: ≤ 0 inside, inf without any.

    >>> float(point_clearance(floor(), [0.0, 0.0, 0.25]))
    0.25
    """
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
        radius: radius of the tool [m].
        touching: False: a cell is blocked if the tool **centred** in it touches something. True: if it may touch
            anywhere in the cell.

    >>> planner("dijkstra")(true_map(where, world), start, goal)  # what an oracle would plan
    """
    obstacles = world if isinstance(world, Obstacles) else obstacles_of(world)
    cells = np.moveaxis(np.indices(where.shape), 0, -1) + where.grid.first
    keep = radius + (0.5 * float(np.linalg.norm(where.grid.cell_size)) if touching else 0.0)
    blocked = point_clearance(obstacles, where.grid.centre(cells)) <= keep + SEAM
    return replace(where, felt=blocked.astype(np.int64), swept=np.zeros(where.shape, dtype=np.int64))
