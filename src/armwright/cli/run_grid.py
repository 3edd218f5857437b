# SPDX-License-Identifier: Apache-2.0
"""Maps by name or by text for ``armwright run collision --grid``, and the cells of their ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from armwright.cli.failures import fail

if TYPE_CHECKING:
    from armwright.planning.grid.occupancy import GridMap

HELP = (
    "Map: patch (000's 20×20 cells), volume (the same with eight layers above, start and goal in the lowest), "
    "or NxM[xK]@x,y,z/size in metres, cells from 1, the centre of cell 1,1[,1] at x,y,z."
)
LAYERS = 10  # of the volume; its outermost cells bound it, so that layers 2 to 9 can be used
LOWEST = 2  # layer of the volume that is the plane of the patch
_FORM = re.compile(r"(\d+(?:x\d+){1,2})@([^/]+)/(.+)")


def grid_of(text: str) -> GridMap:
    """Return the map that ``--grid`` names, or end with what would be valid."""
    from armwright.planning import grid_map, patch_000

    patch = patch_000(ring=True)
    if text == "patch":
        return patch
    if text == "volume":
        size, (x, y, z) = 0.0263, patch.grid.centre((1, 1))
        origin = (x - size, y - size, z - LOWEST * size)
        return grid_map((*patch.grid.shape, LAYERS), origin, size, first=1, ring=True)
    found = _FORM.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        shape = tuple(int(word) for word in found[1].split("x"))
        at = [float(word) for word in found[2].split(",")]
        size = float(found[3])
        if len(at) != 3:
            raise ValueError
    except ValueError:
        fail(f"--grid {text}: expected patch, volume, or such as 14x14x8@0.25,-0.2,-0.05/0.03")
    return grid_map(shape, [a - size for a in at], size, first=1)


def cell_of(text: str | None, option: str, where: GridMap, usual: tuple[int, ...]) -> tuple[int, ...]:
    """Return the cell that an option names; by default 000's, in the lowest layer of a volume."""
    if text is None:
        if not where.ring:
            fail(f"{option}: say which cell, for this --grid is one of your own")
        return usual if where.grid.dim == len(usual) else (*usual, LOWEST)
    try:
        cell = tuple(int(word) for word in text.split(","))
    except ValueError:
        fail(f"{option} {text}: expected whole numbers such as 2,11")
    if len(cell) != where.grid.dim:
        example = ",".join(str(c) for c in (*usual, LOWEST)[: where.grid.dim])
        fail(f"{option} {text}: a cell of this map has {where.grid.dim} numbers, such as {example}")
    return cell
