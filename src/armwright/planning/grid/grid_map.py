# SPDX-License-Identifier: Apache-2.0
"""`GridMap`: what the arm knows about cells: felt, swept free, or unknown; counted, so that belief can change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.planning.grid.grid import Grid, grid_shape

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.types import Array

    Integers = NDArray[np.int64]
    Mask = NDArray[np.bool_]

UNKNOWN, FREE, FELT = 0, 1, 2
HIT = float(np.log(0.9 / 0.1))  # a bump is believed at 90 %
PASS = float(np.log(0.6 / 0.4))  # one tool centre passing through does not clear a whole cell: 60 %
MOST_BELIEF = 5.0  # |log-odds|, so that later evidence still counts


@dataclass(frozen=True, eq=False)
class GridMap:
    """A grid and what was felt in it; every change returns a new map.

    Attributes:
        grid: where the cells are.
        felt: (shape) how often a contact was put into each cell.
        swept: (shape) how often the tool passed through each cell without contact.
        ring: count the outermost cells as blocked, as the planner of 000 does.
        radius: radius of the tool [m]; `blocked` inflates by it.
        rule: which cells count as blocked, "felt" or "belief", see `blocked`; planners go by it.
    """

    grid: Grid
    felt: Integers | None = None
    swept: Integers | None = None
    ring: bool = False
    radius: float = 0.0
    rule: str = "felt"

    def __post_init__(self) -> None:
        """Check the arrays and freeze them."""
        for name in ("felt", "swept"):
            given = getattr(self, name)
            array = np.zeros(self.grid.shape, dtype=np.int64) if given is None else np.array(given)
            if array.shape != self.grid.shape or array.dtype.kind not in "iub" or (array < 0).any():
                what = f"{array.dtype} {array.shape}"
                raise InputError(f"{name}: expected counts ≥ 0 of shape {self.grid.shape}, got {what}")
            array = array.astype(np.int64)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if not (np.isfinite(self.radius) and self.radius >= 0.0):
            raise InputError(f"radius: must be finite and ≥ 0 [m], got {self.radius!r}")
        if self.rule not in ("felt", "belief"):
            raise InputError(f"rule must be 'felt' or 'belief', got {self.rule!r}")

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis."""
        return self.grid.shape

    @property
    def state(self) -> Integers:
        """`UNKNOWN`, `FREE` (swept, never felt) or `FELT`, per cell."""
        return np.where(np.asarray(self.felt) > 0, FELT, np.where(np.asarray(self.swept) > 0, FREE, UNKNOWN))

    @property
    def log_odds(self) -> Array:
        """Belief that a cell is occupied: log p/(1−p), 0 where nothing is known, within ±`MOST_BELIEF`."""
        belief = HIT * np.asarray(self.felt) - PASS * np.asarray(self.swept)
        return np.asarray(np.clip(belief, -MOST_BELIEF, MOST_BELIEF))

    @cached_property
    def _blocked(self) -> dict[Any, Mask]:
        return {}

    def blocked(self, rule: str | None = None, *, inflated: bool = True) -> Mask:
        """Return the cells that a path must not enter, a read-only array of bool.

        Args:
            rule: the map's own by default. "felt": one contact blocks for ever (000: a registered cell is never
                cleared); "belief": log-odds > 0, so that sweeping a cell often enough opens it again.
            inflated: grow by the tool's `radius` (see `inflate`); the ring is not grown.
        """
        rule = self.rule if rule is None else rule
        if rule not in ("felt", "belief"):
            raise InputError(f"rule must be 'felt' or 'belief', got {rule!r}")
        key = (rule, inflated)
        if key not in self._blocked:
            mask = np.asarray(self.felt) > 0 if rule == "felt" else self.log_odds > 0.0
            if inflated and self.radius > 0.0:
                mask = inflate(mask, self.radius, np.asarray(self.grid.cell_size))
            if self.ring:
                mask = mask | ring_of(self.shape)
            mask.flags.writeable = False
            self._blocked[key] = mask
        return self._blocked[key]

    def with_felt(self, *cells: ArrayLike) -> GridMap:
        """Return the map with one more contact in each of `cells` (numbered as the grid counts)."""
        return replace(self, felt=self._counted(self.felt, cells))

    def with_swept(self, *cells: ArrayLike) -> GridMap:
        """Return the map with `cells` passed through once more."""
        return replace(self, swept=self._counted(self.swept, cells))

    def sweep(self, points: ArrayLike) -> GridMap:
        """Return the map after the tool centre moved along points (N, 3) [m] without contact: each cell visited once.

        Points outside the grid are ignored.
        """
        cells = self.grid.cell(points).reshape(-1, self.grid.dim)
        cells = np.unique(cells[self.grid.inside(cells)], axis=0)
        return self.with_swept(*cells)

    def _counted(self, counts: Any, cells: tuple[ArrayLike, ...]) -> Integers:
        array: Integers = counts.copy()
        for cell in cells:
            array[self.grid.index(cell)] += 1
        return array


@names_culprit
def grid_map(
    shape: tuple[int, ...],
    origin: ArrayLike = (0.0, 0.0, 0.0),
    cell_size: ArrayLike = 1.0,
    *,
    axes: ArrayLike | None = None,
    first: int = 0,
    ring: bool = False,
    radius: float = 0.0,
) -> GridMap:
    """Return an empty map: all unknown. Arguments as in `Grid` and `GridMap`.

    >>> where = grid_map((20, 20), origin=[0.1, -0.3, 0.2], cell_size=0.026).with_felt((3, 4))
    """
    grid = Grid(shape, origin, axes, cell_size, first)  # type: ignore[arg-type]
    return GridMap(grid, ring=ring, radius=radius)


def ring_of(shape: tuple[int, ...]) -> Mask:
    """Return the mask of the outermost cells."""
    mask = np.ones(grid_shape(shape), dtype=bool)
    mask[tuple(slice(1, -1) for _ in shape)] = False
    return mask


@names_culprit
def inflate(blocked: ArrayLike, radius: float, cell_size: ArrayLike = 1.0, *, boxes: bool = False) -> Mask:
    """Grow blocked cells by a tool's radius.

    Args:
        blocked: mask of any dimension.
        radius: [m] (or in cells, with unit `cell_size`).
        cell_size: edges of a cell.
        boxes: False: a cell is blocked if its **centre** is within `radius` of a blocked centre. True: if any point of
            it is within (less than) `radius` of any point of a blocked cell; then a tool centre anywhere in a free cell
            keeps the tool off every blocked cell.

    >>> int(inflate(np.eye(3, dtype=bool), 1.0).sum())  # radius of one cell
    7
    """
    from scipy import ndimage

    mask = np.asarray(blocked, dtype=bool)
    size = np.broadcast_to(np.asarray(cell_size, dtype=np.float64), (mask.ndim,))
    if not (np.isfinite(radius) and radius >= 0.0):
        raise InputError(f"radius: must be finite and ≥ 0, got {radius!r}")
    if not mask.any() or radius == 0.0:
        return mask.copy()
    if not boxes:
        away = ndimage.distance_transform_edt(~mask, sampling=size)
        return np.asarray(away <= radius * (1.0 + 1e-12))
    reach = np.minimum(np.ceil(radius / size).astype(int) + 1, np.array(mask.shape))
    steps = np.meshgrid(*(np.arange(-r, r + 1) for r in reach), indexing="ij")
    gap2 = sum((np.maximum(np.abs(k) - 1, 0) * s) ** 2 for k, s in zip(steps, size, strict=True))
    return np.asarray(ndimage.binary_dilation(mask, np.asarray(gap2) < radius**2))
