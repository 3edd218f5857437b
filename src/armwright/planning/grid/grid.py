# SPDX-License-Identifier: Apache-2.0
"""A grid of cells placed anywhere in the workspace: cell ↔ point, without what is in the cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.arguments import frozen_numbers
from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.types import Array

    Integers = NDArray[np.int64]
    Cell = tuple[int, ...]

MOST_CELLS = 50_000_000


def grid_shape(shape: object) -> tuple[int, ...]:
    """Return `shape` as positive integers, not more than `MOST_CELLS` cells in all."""
    try:
        sizes = tuple(int(s) for s in shape)  # type: ignore[attr-defined]
        whole = all(float(s) == int(s) for s in shape)  # type: ignore[attr-defined]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"shape: expected a tuple of integers, got {shape!r}") from error
    if not whole or not sizes or min(sizes) < 1:
        raise InputError(f"shape: every axis needs at least one cell, got {shape!r}")
    cells = 1
    for s in sizes:
        cells *= s
    if cells > MOST_CELLS:
        raise InputError(f"shape: {sizes} has {cells} cells, more than the {MOST_CELLS} that fit; use larger cells")
    return sizes


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Cells c = (u, v[, w]) with centres p(c) = origin + Σ c_k · cell_size_k · axes_k (base frame).

    Attributes:
        shape: number of cells along each of the 2 or 3 axes.
        origin: (3,) the point of index (0, 0[, 0]) [m]; outside the grid if `first` is 1.
        axes: (d, 3) orthonormal directions of the axes.
        cell_size: (d,) edges of a cell [m]; a scalar makes cubes.
        first: number of the first cell along every axis, 0 or (as in 000) 1.
    """

    shape: tuple[int, ...]
    origin: Array = field(default_factory=lambda: np.zeros(3))
    axes: Array | None = None
    cell_size: Array | float = 1.0
    first: int = 0

    def __post_init__(self) -> None:
        """Check and freeze."""
        put = object.__setattr__
        put(self, "shape", grid_shape(self.shape))
        d = len(self.shape)
        if d not in (2, 3):
            raise InputError(f"shape: a workspace grid has 2 or 3 axes, got {self.shape}")
        if self.first not in (0, 1):
            raise InputError(f"first: cells are counted from 0 or 1, got {self.first!r}")
        put(self, "origin", frozen_numbers(self.origin, (3,), "origin"))
        axes = frozen_numbers(np.eye(3)[:d] if self.axes is None else self.axes, (d, 3), "axes")
        if np.abs(axes @ axes.T - np.eye(d)).max() > 1e-9:
            raise InputError(f"axes: rows must be orthonormal, got {axes.tolist()}")
        put(self, "axes", axes)
        size = frozen_numbers(self.cell_size, (d,), "cell_size")
        if not (size > 0.0).all():
            raise InputError(f"cell_size: must be > 0 [m], got {size.tolist()}")
        put(self, "cell_size", size)

    @property
    def dim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def frame(self) -> Array:
        """Axes as a right-handed rotation (3, 3), columns in the base frame; of a 2-D grid the third is its normal."""
        axes = np.asarray(self.axes)
        rows = axes if self.dim == 3 else np.vstack([axes, np.cross(axes[0], axes[1])])
        return np.asarray(rows.T)

    def centre(self, cell: ArrayLike) -> Array:
        """Return the centres (..., 3) [m] of cells (..., d)."""
        c = _numbers(cell, "cell", self.dim)
        return np.asarray(self.origin + (c * self.cell_size) @ np.asarray(self.axes))

    def coordinates(self, point: ArrayLike) -> Array:
        """Return real-valued cell coordinates (..., d) of points (..., 3): the collision space of 000."""
        p = _numbers(point, "point", 3)
        return np.asarray(((p - self.origin) @ np.asarray(self.axes).T) / self.cell_size)

    def cell(self, point: ArrayLike) -> Integers:
        """Return the cells (..., d) of points (..., 3), rounded as Matlab does: floor(x + ½) (000 C.2.2).

        The cell may lie outside the grid: see `inside`.
        """
        return np.asarray(np.floor(self.coordinates(point) + 0.5).astype(np.int64))

    def inside(self, cell: ArrayLike) -> NDArray[np.bool_]:
        """Return whether cells (..., d) belong to the grid."""
        index = np.asarray(cell) - self.first
        return np.asarray(((index >= 0) & (index < np.array(self.shape))).all(axis=-1))

    def index(self, cell: ArrayLike, what: str = "cell") -> Cell:
        """Return the array index of one cell; raise if it is not in the grid."""
        return cell_index(cell, self.shape, self.first, what)


def cell_index(cell: Any, shape: tuple[int, ...], first: int, what: str) -> Cell:
    """Return the array index of `cell`, which counts from `first`; raise `InputError` if there is no such cell."""
    plain = isinstance(cell, tuple) and len(cell) == len(shape)  # the usual case, without a detour over arrays
    if plain and all(type(c) is int and first <= c < first + s for c, s in zip(cell, shape, strict=True)):
        return tuple(c - first for c in cell)
    try:
        given = np.asarray(cell)
        c = given.astype(np.int64)
        whole = given.dtype.kind in "iuf" and bool((c == given).all())
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what}: expected {len(shape)} integers, got {cell!r}") from error
    if c.shape != (len(shape),) or not whole:
        raise InputError(f"{what}: expected {len(shape)} integers, got {cell!r}")
    index = tuple(int(x) - first for x in c)
    if not all(0 <= i < s for i, s in zip(index, shape, strict=True)):
        last = tuple(s - 1 + first for s in shape)
        start = (first,) * len(shape)
        raise InputError(f"{what}: {tuple(c.tolist())} is outside the grid; cells go from {start} to {last}")
    return index


def _numbers(value: ArrayLike, what: str, size: int) -> Array:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected numbers of shape (..., {size}), got {value!r}") from error
    if array.ndim == 0 or array.shape[-1] != size:
        raise InputError(f"{what}: expected shape (..., {size}), got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{what}: every entry must be finite, got {array.tolist()}")
    return array
