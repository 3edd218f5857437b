# SPDX-License-Identifier: Apache-2.0
"""The smallest circle around points of a plane (Welzl 1991, with points moved to the front)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from armwright.types import Array

ROUNDING = 1e-12


def smallest_circle(points: Array) -> tuple[Array, float]:
    """Return centre (2,) and radius of the smallest circle around points (n, 2).

    Each round takes the point that lies farthest outside into the two or three that carry the circle, so that few
    rounds are needed, each one pass over all points.
    """
    carriers = [int(np.argmax(np.linalg.norm(points - points.mean(axis=0), axis=1)))]
    centre, radius = points[carriers[0]], 0.0
    for _ in range(100):
        distance = np.linalg.norm(points - centre, axis=1)
        farthest = int(np.argmax(distance))
        if distance[farthest] <= radius * (1.0 + ROUNDING) + 1e-15:
            break
        carriers.append(farthest)
        centre, radius, carriers = _carried(points, carriers)
    return centre, float(max(radius, np.linalg.norm(points - centre, axis=1).max()))


def _carried(points: Array, carriers: list[int]) -> tuple[Array, float, list[int]]:
    """The smallest circle around at most four points, and those of them that lie on it."""
    best: tuple[float, Array, list[int]] | None = None
    chosen = points[carriers]
    count = len(carriers)
    pairs = [(i, j) for i in range(count) for j in range(i)]
    for group in [*pairs, *((i, j, k) for i, j in pairs for k in range(j))]:
        centre = _through(chosen[list(group)])
        if centre is None:
            continue
        radius = float(np.linalg.norm(chosen[group[0]] - centre))
        if np.linalg.norm(chosen - centre, axis=1).max() <= radius * (1.0 + 1e-9) + 1e-15 and (
            best is None or radius < best[0]
        ):
            best = radius, centre, [carriers[i] for i in group]
    assert best is not None
    return best[1], best[0], best[2]


def _through(points: Array) -> Array | None:
    """Centre of the circle with two points as diameter, or through three; None where they lie on a line."""
    if len(points) == 2:
        return np.asarray(points.mean(axis=0))
    b, c = points[1] - points[0], points[2] - points[0]
    twice = 2.0 * (b[0] * c[1] - b[1] * c[0])
    if abs(twice) < 1e-14 * float(b @ b + c @ c):
        return None
    x = np.array([c[1] * (b @ b) - b[1] * (c @ c), b[0] * (c @ c) - c[0] * (b @ b)]) / twice
    return np.asarray(points[0] + x)
