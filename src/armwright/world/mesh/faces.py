# SPDX-License-Identifier: Apache-2.0
"""Polygons of a mesh file as triangles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_TRIANGLES = 1_000_000
FARTHEST = 1e9  # coordinate of a vertex in units of the file; volumes of larger things overflow


class MeshFileError(Exception):
    """What is wrong with the content of a mesh file; its reader adds the name."""


def check_points(points: NDArray[np.float64]) -> None:
    """Refuse vertices (n, 3) that are nowhere."""
    if not (np.abs(points) <= FARTHEST).all():  # NaN compares false
        raise MeshFileError(f"the mesh has vertices that are not finite, or farther than {FARTHEST:g} away")


def triangles_of(faces: Sequence[Sequence[int]], points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Divide convex polygons, given by vertex indices, into triangles (m, 3) that fan out from their first corner.

    Raises:
        MeshFileError: a vertex that is nowhere, an index without a vertex, fewer than three corners, a dent,
            too many triangles.
    """
    check_points(points)
    by_size: dict[int, list[Sequence[int]]] = {}
    for face in faces:
        by_size.setdefault(len(face), []).append(face)
    if min(by_size, default=3) < 3:
        raise MeshFileError(f"a face of {min(by_size)} corners")
    total = sum((size - 2) * len(group) for size, group in by_size.items())
    if total > MAX_TRIANGLES:
        raise MeshFileError(f"{total} triangles; at most {MAX_TRIANGLES} are read")
    parts = [np.empty((0, 3), dtype=np.int64)]
    for size, group in sorted(by_size.items()):
        corners = np.array(group, dtype=np.int64)
        if corners.min() < 0 or corners.max() >= len(points):
            raise MeshFileError(f"a face names a vertex that is not among the {len(points)} of the file")
        first = np.broadcast_to(corners[:, :1], (len(corners), size - 2))
        fans = np.stack([first, corners[:, 1:-1], corners[:, 2:]], axis=-1)
        if size > 3:
            _check_convex(points[fans])
        parts.append(fans.reshape(-1, 3))
    return np.concatenate(parts)


def _check_convex(fans: NDArray[np.float64]) -> None:
    """Refuse polygons (m, triangles, 3 corners, 3) whose triangles do not all turn the same way."""
    normals = np.cross(fans[:, :, 1] - fans[:, :, 0], fans[:, :, 2] - fans[:, :, 0])
    whole = normals.sum(axis=1, keepdims=True)
    if ((normals * whole).sum(axis=-1) < -1e-9 * (whole * whole).sum(axis=-1)).any():
        raise MeshFileError("a face with a dent; divide it into triangles when the file is written")
