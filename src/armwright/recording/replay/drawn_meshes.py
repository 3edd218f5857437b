# SPDX-License-Identifier: Apache-2.0
"""The meshes of an arm as pages draw them: few triangles, in the link frames of the bodies that carry them.

A mesh with too many triangles is thinned by clustering (Rossignac and Borrel 1993): vertices that share a cell of a
grid become one, their mean, and triangles that collapse are left out.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Array
    from armwright.world.arm_shapes import LinkShape

MOST_DRAWN_TRIANGLES = 24_000  # of a whole arm: 0.9 MB of JSON, drawn in a few ms without a graphics card
FINEST_GRID, COARSEST_GRID = 256, 4  # cells along the longest side of a mesh


def mesh_spec(shapes: Sequence[LinkShape], most: int = MOST_DRAWN_TRIANGLES) -> list[dict[str, Any]]:
    """Return what a page draws of the links' meshes.

    Args:
        shapes: of `world.link_shapes`.
        most: triangles of all together.

    Returns:
        For each shape ``body`` (−1 for what stands with the root), ``link``, ``count`` of triangles and ``corners``:
        their corners (count, 3, 3) in the body's link frame [m], float32 in base64.
    """
    wanted = sum(len(shape.triangles) for shape in shapes)
    out = []
    for shape in shapes:
        share = max(64, int(most * len(shape.triangles) / max(wanted, 1)))
        corners = shape.vertices[shape.triangles] if len(shape.triangles) <= share else thinned(shape, share)
        packed = base64.b64encode(np.ascontiguousarray(corners, dtype="<f4").tobytes()).decode()
        out.append({"body": shape.body, "link": shape.link, "count": len(corners), "corners": packed})
    return out


def thinned(shape: LinkShape, most: int) -> Array:
    """Return the corners (k, 3, 3) of at most `most` triangles that look like the shape, on the finest grid it can."""
    low, high = COARSEST_GRID, FINEST_GRID
    best = _clustered(shape.vertices, shape.triangles, low)
    while high - low > 1:
        cells = (low + high) // 2
        corners = _clustered(shape.vertices, shape.triangles, cells)
        if len(corners) <= most:
            low, best = cells, corners
        else:
            high = cells
    return best[:most]


def _clustered(vertices: Array, triangles: NDArray[np.int64], cells: int) -> Array:
    low = vertices.min(axis=0)
    size = float((vertices.max(axis=0) - low).max()) or 1.0
    cell = np.minimum((vertices - low) * (cells / size), cells - 1).astype(np.int64)
    _, first, which = np.unique(cell @ [1, cells, cells * cells], return_index=True, return_inverse=True)
    which = which.reshape(-1)
    count = np.bincount(which, minlength=len(first))
    mean = np.stack([np.bincount(which, weights=x, minlength=len(first)) for x in vertices.T], axis=1) / count[:, None]
    kept = which[triangles]
    a, b, c = kept.T
    kept = kept[(a != b) & (b != c) & (c != a)]
    _, one = np.unique(np.sort(kept, axis=1), axis=0, return_index=True)  # two sides of a thin wall may fall together
    corners: Array = mean[kept[np.sort(one)]]
    return corners
