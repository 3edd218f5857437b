# SPDX-License-Identifier: Apache-2.0
"""A map laid flat for drawing: which axes are shown, where cells and shapes lie on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.graph import compile_function
from armwright.world.distance import signed_distance
from armwright.world.shapes import HalfSpace, Mesh

if TYPE_CHECKING:
    from armwright.exploration.result import Exploration
    from armwright.planning.grid.occupancy import GridMap
    from armwright.types import Array
    from armwright.world.world import World

FINE, DEEP = 180, 24  # raster points across, and along the line of sight


@dataclass(frozen=True, eq=False)
class Plan:
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

    def flat(self, points: Any) -> Array:
        """Coordinates (…, 2) of points (…, 3) in this view."""
        return np.asarray(np.asarray(points) @ self.axes.T)

    def cells(self, grid: GridMap) -> tuple[list[Array], list[Array]]:
        """Squares (4, 2) of the felt cells, and of those swept free."""
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


def plan_of(run: Exploration) -> list[Plan]:
    """Views of a run's map: one of a 2-D map, two (from above and from the side) of a 3-D map."""
    grid = run.maps[0].grid
    pairs: list[tuple[int, int]] = [(0, 1)] if grid.dim == 2 else [(0, 1), (0, 2)]
    return [_plan(run, pair) for pair in pairs]


def _plan(run: Exploration, pair: tuple[int, int]) -> Plan:
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
    return Plan(axes, pair, limits, (names[0], names[1]), _raster(run, axes, pair, limits, corners))


def _raster(run: Exploration, axes: Array, pair: tuple[int, int], limits: Any, corners: Array) -> Any:
    if run.world is None or not len(run.world):
        return None
    grid = run.maps[0].grid
    a, b = (np.linspace(low, high, FINE) for low, high in limits)
    third = np.cross(axes[0], axes[1])
    if grid.dim == 2:
        depths = np.array([float(third @ grid.origin)])
    else:
        seen = corners @ third
        depths = np.linspace(seen.min(), seen.max(), DEEP)
    plane = a[None, :, None] * axes[0] + b[:, None, None] * axes[1]
    d = distance_field(run.world, plane[:, :, None] + depths[:, None] * third).min(axis=-1)
    return a, b, d


def distance_field(world: World, points: Array) -> Array:
    """Signed distance (…) [m] of points (…, 3) to the nearest shape but floors; meshes count as their boxes."""
    shapes = [
        shape.bounding_box() if isinstance(shape, Mesh) else shape
        for shape in world.shapes
        if not isinstance(shape, HalfSpace)
    ]
    if not shapes:
        return np.full(points.shape[:-1], np.inf)

    def nearest(p: Any) -> Any:
        d = signed_distance(shapes[0], p)
        for shape in shapes[1:]:
            d = np.minimum(d, signed_distance(shape, p))
        return d

    return np.asarray(compile_function(nearest, {"p": (3,)}, name="nearest_shape")(points))
