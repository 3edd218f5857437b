# SPDX-License-Identifier: Apache-2.0
"""Neighbourhoods of cells: which cells are neighbours, and what a step costs; any dimension, any set of offsets."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armwright.types import Array

    Integers = NDArray[np.int64]

MOST_OFFSETS = 62  # one bit each in a word of allowed steps


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """The steps that a path may take.

    Attributes:
        name: "von_neumann", "moore" or the user's own.
        offsets: (K, d) integers, in the order in which neighbours are looked at; with every step its opposite.
        costs: (K,) > 0, equal for opposite steps; Euclidean length in cells unless given.
        squeeze: whether a diagonal step may pass between blocked cells. False: all cells of the box that the step
            spans must be free, so that a path never brushes a blocked cell's corner.
        diagonal: whether some step changes more than one coordinate, or one by more than 1; computed.
    """

    name: str
    offsets: Integers
    costs: Array
    squeeze: bool = False
    diagonal: bool = field(init=False)

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        offsets = np.array(self.offsets)
        if offsets.ndim != 2 or offsets.size == 0 or offsets.dtype.kind not in "iu":
            raise InputError(f"offsets: expected integers of shape (K, d), got {self.offsets!r}")
        offsets = offsets.astype(np.int64)
        K = offsets.shape[0]
        if K > MOST_OFFSETS:
            raise InputError(f"offsets: at most {MOST_OFFSETS} neighbours, got {K}")
        costs = np.array(self.costs, dtype=np.float64)
        if costs.shape != (K,) or not (np.isfinite(costs).all() and (costs > 0.0).all()):
            raise InputError(f"costs: expected {K} finite numbers > 0, got {np.asarray(self.costs).tolist()}")
        table = {tuple(row): cost for row, cost in zip(offsets.tolist(), costs.tolist(), strict=True)}
        if len(table) != K or (0,) * offsets.shape[1] in table:
            raise InputError("offsets: every step once, and none that stays in place")
        for row, cost in table.items():
            if table.get(tuple(-x for x in row)) != cost:
                raise InputError(f"offsets: step {row} needs its opposite at the same cost (the network is symmetric)")
        object.__setattr__(self, "diagonal", bool((np.abs(offsets).sum(axis=1) > 1).any()))
        for label, array in (("offsets", offsets), ("costs", costs)):
            array.flags.writeable = False
            object.__setattr__(self, label, array)

    @property
    def dim(self) -> int:
        """Number of axes of the grid."""
        return int(self.offsets.shape[1])

    @property
    def reach(self) -> int:
        """Largest step along one axis."""
        return int(np.abs(self.offsets).max())


@lru_cache(maxsize=16)
def von_neumann(dim: int) -> Neighbourhood:
    """Return the 2·dim nearest neighbours in the order of 000: (−1,0), (+1,0), (0,−1), (0,+1).

    >>> len(von_neumann(2).offsets)
    4
    """
    axes = np.eye(_dimension(dim), dtype=np.int64)
    return Neighbourhood("von_neumann", np.stack([-axes, axes], axis=1).reshape(-1, dim), np.ones(2 * dim), True)


@lru_cache(maxsize=16)
def moore(dim: int, *, costs: str = "euclidean", squeeze: bool = False) -> Neighbourhood:
    """Return all 3^dim − 1 touching cells; `costs` "euclidean" (√2, √3 for diagonals) or "steps" (1 each).

    >>> len(moore(3).offsets)
    26
    """
    if costs not in ("euclidean", "steps"):
        raise InputError(f"costs must be 'euclidean' or 'steps', got {costs!r}")
    if _dimension(dim) > 3:
        raise InputError(f"moore: at most 3 dimensions (26 neighbours), got {dim}; use von_neumann({dim})")
    rows = np.array([o for o in product((-1, 0, 1), repeat=dim) if any(o)], dtype=np.int64)
    length = np.sqrt((rows * rows).sum(axis=1)) if costs == "euclidean" else np.ones(len(rows))
    return Neighbourhood("moore", rows, length, squeeze)


def neighbourhood(value: Neighbourhood | str | ArrayLike, dim: int) -> Neighbourhood:
    """Return `value` as a `Neighbourhood` of `dim` axes: by name, by offsets, or as it is."""
    if isinstance(value, str):
        if value not in ("von_neumann", "moore"):
            raise InputError(f"neighbourhood must be 'von_neumann', 'moore', offsets or a Neighbourhood, got {value!r}")
        return von_neumann(dim) if value == "von_neumann" else moore(dim)
    if not isinstance(value, Neighbourhood):
        rows = np.asarray(value)
        costs = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=-1)) if rows.ndim == 2 else np.ones(1)
        value = Neighbourhood("own", rows, costs)
    if value.dim != dim:
        raise InputError(f"neighbourhood: {value.name!r} has {value.dim} axes, the grid has {dim}")
    return value


def _dimension(dim: int) -> int:
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or not 1 <= dim <= 6:
        raise InputError(f"dim: expected an integer from 1 to 6, got {dim!r}")
    return int(dim)


def side_cells(offset: Integers) -> list[tuple[int, ...]]:
    """Return the cells of the box that a step spans, without its two ends."""
    ends = {(0,) * len(offset), tuple(int(x) for x in offset)}
    ranges = [range(min(0, int(x)), max(0, int(x)) + 1) for x in offset]
    return [cell for cell in product(*ranges) if cell not in ends]
