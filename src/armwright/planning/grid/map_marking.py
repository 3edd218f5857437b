# SPDX-License-Identifier: Apache-2.0
"""Contacts marked in the map: which cell a contact blocks, and which cell to step back to."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.arguments import frozen_numbers, names_culprit
from armwright.errors import InputError
from armwright.planning.grid.grid_map import GridMap
from armwright.planning.grid.neighbourhood import moore

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.types import Array

Cell = tuple[int, ...]


class Marked(NamedTuple):
    """A map after a contact: the cell marked, whether it was marked before, whether it lies in the grid at all."""

    map: GridMap
    cell: Cell
    again: bool
    inside: bool


@names_culprit
def mark(where: GridMap, point: ArrayLike) -> Marked:
    """Put a contact into the cell of `point` (3,) [m].

    Policies differ in the point: the **desired** tool position lies inside the object because detection lags; the
    estimated contact point (`contact_point`) marks the surface. A point outside the grid marks nothing, and says so.

    >>> where = mark(where, [0.3, 0.1, 0.2]).map
    """
    cell: Cell = tuple(int(c) for c in where.grid.cell(frozen_numbers(point, (3,), "point")))
    if not where.grid.inside(cell):
        return Marked(where, cell, False, False)
    again = bool(np.asarray(where.felt)[where.grid.index(cell)] > 0)
    return Marked(where.with_felt(cell), cell, again, True)


@names_culprit
def contact_point(tool: ArrayLike, force: ArrayLike, radius: float = 0.0) -> Array:
    """Return where a tool of `radius` touches: the surface lies opposite to the force that it exerts on the arm.

    Args:
        tool: actual tool position (3,) [m].
        force: estimated contact force on the arm (3,) [N], not zero.
        radius: [m].

    >>> contact_point([0.5, 0.0, 0.3], force=[-10.0, 0.0, 0.0], radius=0.02)
    array([0.52, 0.  , 0.3 ])
    """
    p, f = frozen_numbers(tool, (3,), "tool"), frozen_numbers(force, (3,), "force")
    size = float(np.linalg.norm(f))
    if size == 0.0:
        raise InputError("force: a zero force has no direction, so there is no contact point")
    return np.asarray(p - radius * f / size)


@names_culprit
def back_off(where: GridMap, cell: ArrayLike, velocity: ArrayLike) -> Cell | None:
    """Step one cell back against the dominant axis of the velocity, in any grid, to a free cell.

    Where that cell is blocked or outside, the free cell nearest to it is taken; None if no cell is free.

    Args:
        where: the map, the contact already marked.
        cell: where the arm is.
        velocity: velocity of the tool (3,), base frame.

    >>> cell = back_off(where, (3, 4), velocity=[0.1, 0.0, 0.0])
    """
    v = np.asarray(where.grid.axes) @ frozen_numbers(velocity, (3,), "velocity")
    k = int(np.argmax(np.abs(v)))
    target = np.array(cell, dtype=np.int64)
    target[k] -= int(np.sign(v[k]))
    return nearest_free(where, target)


@names_culprit
def nearest_free(where: GridMap, cell: ArrayLike) -> Cell | None:
    """Return the free cell nearest to `cell` (which may be outside), searched ring by ring; None if there is none.

    >>> nearest_free(where, (3, 4))
    """
    first, shape = where.grid.first, np.array(where.shape)
    blocked = where.blocked()
    start: Cell = tuple(int(c) for c in np.clip(np.asarray(cell, dtype=np.int64) - first, 0, shape - 1))
    if blocked.all():
        return None
    order = moore(where.grid.dim).offsets
    order = order[np.argsort((order * order).sum(axis=1), kind="stable")]
    seen, queue = {start}, deque([start])
    best: tuple[float, Cell] | None = None
    while queue:
        c = queue.popleft()
        ring = max(abs(a - b) for a, b in zip(c, start, strict=True))
        if best is not None and ring > best[0]:
            break  # every cell farther out in the maximum norm is farther in the Euclidean one
        if not blocked[c]:
            away = float(np.linalg.norm(np.array(c) - start))
            if best is None or away < best[0]:
                best = away, c
        for offset in order:
            n: Cell = tuple(int(a + o) for a, o in zip(c, offset, strict=True))
            if n not in seen and all(0 <= a < s for a, s in zip(n, shape, strict=True)):
                seen.add(n)
                queue.append(n)
    assert best is not None, "some cell is free"
    return tuple(c + first for c in best[1])
