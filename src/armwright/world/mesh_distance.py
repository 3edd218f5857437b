# SPDX-License-Identifier: Apache-2.0
"""Triangle meshes on floats: loaded from files, with distances and nearest points by coal (``armwright[plan]``)."""

from __future__ import annotations

import warnings
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import ArmwrightWarning, DescriptionError, InputError, NotSupportedError
from armwright.world.mesh_files import read_mesh_file
from armwright.world.segments import UP, basis
from armwright.world.shapes import Mesh

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import ArrayLike, NDArray

    from armwright.types import Array

SPECK = 1e-9
"""Radius of the ball and of the capsule that stand for a point and a segment [m]."""


def coal_module() -> ModuleType:
    """Import coal, or say how to get it."""
    try:
        import coal
    except ImportError:
        raise NotSupportedError(
            "triangle meshes need coal: pip install 'armwright[plan]'; or use mesh.bounding_box()"
        ) from None
    return coal


@lru_cache(maxsize=64)
def _model(mesh: Mesh) -> Any:
    coal = coal_module()
    model = coal.BVHModelOBBRSS()
    points = np.array(mesh.vertices)
    model.beginModel(len(mesh.triangles), len(points))
    model.addVertices(points)
    model.addTriangles(np.array(mesh.triangles, dtype=np.int64))
    model.endModel()
    return model


def _floats(value: ArrayLike, what: str) -> Array:
    array = np.asarray(value)
    if array.dtype == object:
        raise NotSupportedError(
            f"{what}: a triangle mesh cannot be traced into a compiled function; use mesh.bounding_box(), "
            "or simple shapes in its place"
        )
    return np.asarray(array, dtype=np.float64)


def _nearest(mesh: Mesh, solid: Any, R: Array, p: Array) -> tuple[float, Array, Array]:
    """Return distance, nearest point on the mesh and on the solid."""
    coal = coal_module()
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    far = coal.distance(_model(mesh), coal.Transform3s(), solid, coal.Transform3s(R, p), request, result)
    return float(far), np.array(result.getNearestPoint1()).ravel(), np.array(result.getNearestPoint2()).ravel()


def winding(mesh: Mesh, point: ArrayLike) -> float:
    """Return how often the mesh winds around a point: 1 inside a closed mesh turned outwards, 0 outside."""
    corners = np.array(mesh.vertices)[np.array(mesh.triangles)] - np.asarray(point, dtype=np.float64)
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
    top = np.einsum("ij,ij->i", a, np.cross(b, c))
    bottom = la * lb * lc + np.sum(a * b, 1) * lc + np.sum(b * c, 1) * la + np.sum(c * a, 1) * lb
    return float(np.sum(np.arctan2(top, bottom)) / (2.0 * np.pi))


def mesh_distance(mesh: Mesh, point: ArrayLike) -> tuple[Any, Array]:
    """Return signed distance [m] and outward normal (3,) of a closed mesh at one point (3,), floats."""
    p = _floats(point, f"shape {mesh.name!r}")
    coal = coal_module()
    _, on, _ = _nearest(mesh, coal.Sphere(SPECK), np.eye(3), p)
    away = p - on
    far = float(np.linalg.norm(away))
    sign = -1.0 if winding(mesh, p) > 0.5 else 1.0
    n = sign * away / far if far > SPECK else np.array(UP)
    return sign * far, n


def nearest_to_mesh(mesh: Mesh, a: ArrayLike, d: ArrayLike) -> float:
    """Return s in 0…1 at which the segment a + s·d comes nearest to the mesh's surface, floats."""
    a, d = _floats(a, f"shape {mesh.name!r}"), _floats(d, f"shape {mesh.name!r}")
    size = float(np.linalg.norm(d))
    if size < SPECK:
        return 0.5
    coal = coal_module()
    _, _, on = _nearest(mesh, coal.Capsule(SPECK, size), basis(d / size), a + 0.5 * d)
    return float(np.clip((on - a) @ d / size**2, 0.0, 1.0))


def load_mesh(path: str | Path, *, name: str | None = None, scale: float = 1.0, **surface: float) -> Mesh:
    """Read a triangle mesh: STL, OBJ, PLY, or COLLADA with ``armwright[mesh]``. Faces are flat and convex.

    At most 64 MiB and a million triangles.

    A mesh whose triangles all look inwards is turned outwards. One that is not closed has no inside: you are warned,
    for a point behind its surface then counts as outside.

    Args:
        path: the file.
        name: name of the shape; the file's stem by default.
        scale: metres per unit of the file, 0.001 for millimetres.
        **surface: stiffness, damping, friction.

    Raises:
        DescriptionError: the file cannot be read, or holds no mesh.

    >>> load_mesh("bracket.stl", scale=0.001)
    """
    file = Path(path)
    if not (np.isfinite(scale) and scale > 0.0):
        raise InputError(f"load_mesh: scale must be positive, got {scale}")
    points, faces = read_mesh_file(file)
    points = points * scale
    if not _closed(faces):
        warnings.warn(
            f"{file}: the mesh is not closed (an edge does not belong to two triangles that run along it in opposite "
            "directions), so that points behind its surface count as outside",
            ArmwrightWarning,
            stacklevel=2,
        )
    elif float(np.linalg.det(points[faces]).sum()) < 0.0:  # six times the enclosed volume
        faces = faces[:, ::-1]
    try:
        return Mesh(
            name=name or file.stem,
            vertices=tuple(tuple(p) for p in points.tolist()),
            triangles=tuple((a, b, c) for a, b, c in faces.tolist()),
            **surface,
        )
    except InputError as error:
        raise DescriptionError(str(error), where=str(file), rule="mesh") from None


def _closed(faces: NDArray[np.int64]) -> bool:
    """Return whether every edge is used once in each direction."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    ahead, times = np.unique(edges, axis=0, return_counts=True)
    return bool((times == 1).all()) and np.array_equal(ahead, np.unique(edges[:, ::-1], axis=0))
