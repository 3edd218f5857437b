# SPDX-License-Identifier: Apache-2.0
"""COLLADA (.dae) files through trimesh and pycollada (``armwright[mesh]``), after our own XML parser saw them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import DescriptionError
from armwright.optional import need
from armwright.robot.urdf.xml_safe import parse_xml
from armwright.world.mesh.faces import MAX_TRIANGLES, MeshFileError, check_points

if TYPE_CHECKING:
    from numpy.typing import NDArray


def read_collada(data: bytes) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return vertices (n, 3) [m] and triangles (m, 3) of the whole scene. The file's unit counts, its up axis does not.

    (That is how URDF readers take it.) Entities, document types and huge files are refused before pycollada sees them.
    """
    trimesh = need("trimesh", extra="mesh", purpose="reading COLLADA meshes")
    need("collada", extra="mesh", purpose="reading COLLADA meshes")
    try:
        root = parse_xml(data, "COLLADA")
    except DescriptionError as error:
        raise MeshFileError(str(error)) from None
    units = [node.attributes.get("meter", "1") for node in root.descendants() if node.tag.rpartition("}")[2] == "unit"]
    try:
        metres = float(units[0]) if units else 1.0
        mesh = trimesh.load_scene(io.BytesIO(data), file_type="dae").to_mesh()
        points, faces = np.array(mesh.vertices, dtype=np.float64), np.array(mesh.faces, dtype=np.int64)
    except Exception as error:  # noqa: BLE001 - pycollada lets the errors of lxml, NumPy and its own through
        raise MeshFileError(f"pycollada cannot read it: {error}") from None
    if not (np.isfinite(metres) and metres > 0.0):
        raise MeshFileError(f"its unit is {metres:g} m")
    points = points.reshape(-1, 3) * metres
    check_points(points)
    if not len(faces) or len(faces) > MAX_TRIANGLES:
        raise MeshFileError(f"{len(faces)} triangles; 1 to {MAX_TRIANGLES} are read")
    return points, faces.reshape(-1, 3)
