# SPDX-License-Identifier: Apache-2.0
"""Maps by name or by text for ``armwright run collision --grid``, and the cells of their ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from armwright.cli.failures import fail

if TYPE_CHECKING:
    from armwright.planning.grid.occupancy import GridMap
    from armwright.world.task import ToolTask

HELP = (
    "Map: patch (the world's own), volume (the same with eight layers above, start and goal in the lowest), "
    "or NxM[xK]@x,y,z/size in metres, cells from 1, the centre of cell 1,1[,1] at x,y,z."
)
LAYERS = 10  # of the volume; its outermost cells bound it, so that layers 2 to 9 can be used
LOWEST = 2  # layer of the volume that is the plane of the patch
_FORM = re.compile(r"(\d+(?:x\d+){1,2})@([^/]+)/(.+)")


def grid_of(text: str, known: ToolTask | None) -> GridMap:
    """Return the map that ``--grid`` names, or end with what would be valid; known: the task of the world's file."""
    from armwright.exploration.tasks import map_of
    from armwright.planning import grid_map

    if text in ("patch", "volume"):
        if known is None:
            fail(f"--grid {text}: the world has no map of its own; give one such as 14x14x8@0.25,-0.2,-0.05/0.03")
        if text == "patch" or len(known.cells) == 3:
            return map_of(known)
        (x, y, z), size = known.origin, known.size
        return grid_map((*known.cells, LAYERS), (x, y, z - LOWEST * size), size, first=1, ring=known.ring)
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


def cell_of(text: str | None, option: str, where: GridMap, usual: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return the cell that an option names; by default that of the world's task, in the lowest layer of a volume."""
    if text is None:
        return usual if usual is None or where.grid.dim == len(usual) else (*usual, LOWEST)
    try:
        cell = tuple(int(word) for word in text.split(","))
    except ValueError:
        fail(f"{option} {text}: expected whole numbers such as 2,11")
    if len(cell) != where.grid.dim:
        example = ",".join(str(c) for c in (*(usual or (2, 11)), LOWEST)[: where.grid.dim])
        fail(f"{option} {text}: a cell of this map has {where.grid.dim} numbers, such as {example}")
    return cell
