# SPDX-License-Identifier: Apache-2.0
"""Obstacles of a whole arm as arrays: capsules, boxes and half-spaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import frozen_numbers, names_culprit
from armwright.errors import InputError
from armwright.planning.grid.occupancy import GridMap
from armwright.world.capsule_arrays import LinkCapsules as LinkCapsules

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array

LONG = 10.0  # half-length that stands for "infinite" beside an arm [m]


@dataclass(frozen=True, slots=True, eq=False)
class Obstacles:
    """What is in the way, base frame: capsules (spheres and cylinders among them), boxes, half-spaces.

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
    """Return spheres at centres (S, 3) with radius, one or (S,) [m]."""
    c = np.atleast_2d(np.asarray(centres, dtype=np.float64))
    return Obstacles(c, c, frozen_numbers(radius, (len(c),), "radius"))


@names_culprit
def vertical_cylinders(xy: ArrayLike, radius: ArrayLike, *, half_length: float = LONG) -> Obstacles:
    """Return the vertical cylinders of 000 §3.8 at (S, 2), so long that their round ends are out of reach."""
    p = np.atleast_2d(np.asarray(xy, dtype=np.float64))
    z = np.full((len(p), 1), half_length)
    return Obstacles(np.hstack([p, -z]), np.hstack([p, z]), frozen_numbers(radius, (len(p),), "radius"))


@names_culprit
def cells_as_boxes(where: GridMap, *, height: float = LONG) -> Obstacles:
    """Return the blocked cells of a map (by its own rule; not inflated, without the ring) as boxes.

    Args:
        where: 2-D or 3-D map.
        height: half thickness of a 2-D map's cells along its normal [m].
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
    """Return the half-space below height z [m]."""
    return Obstacles(planes=np.array([[0.0, 0.0, 1.0, z]]))
