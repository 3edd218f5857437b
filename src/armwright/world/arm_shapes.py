# SPDX-License-Identifier: Apache-2.0
"""The visual or collision shapes of an arm's URDF as triangles on its bodies: to draw, and to fit capsules to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from armwright.arguments import names_culprit
from armwright.errors import InputError
from armwright.robot.urdf.urdf_shapes import Layer, UrdfShape, read_shapes
from armwright.robot.variations import place_of
from armwright.world.mesh_files import read_mesh_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array

SIDES = 48
"""Sides of the prisms that stand for round shapes. They enclose the shapes, so nothing is left out: 0.2 % wider."""


@dataclass(frozen=True, slots=True, eq=False)
class LinkShape:
    """Triangles that move with a body.

    Attributes:
        body: index in `Robot.bodies`, -1 for what stands still with the root.
        link: name of the link in the URDF, which may be one that is fixed to the body.
        vertices: (n, 3) in the body's link frame (the root's for -1) [m].
        triangles: (m, 3) indices of vertices.
    """

    body: int
    link: str
    vertices: Array
    triangles: NDArray[np.int64]


@names_culprit
def link_shapes(
    robot: Robot,
    path: str | os.PathLike[str],
    layer: Layer = "collision",
    *,
    package_roots: Sequence[str | os.PathLike[str]] = (),
) -> tuple[LinkShape, ...]:
    """Read what the URDF of an arm draws.

    Args:
        robot: the arm as loaded from that file, perhaps cut, or with other frames and tools; links that it does not
            know are left out.
        path: the URDF.
        layer: "collision", or "visual" for what is drawn.
        package_roots: folders that hold packages: ``package://name/mesh.stl`` is ``root/name/mesh.stl``. Relative
            references count from the file's folder. Nothing outside these folders is opened.

    Returns:
        One entry per shape. Meshes may be STL, OBJ and PLY, and with ``armwright[mesh]`` COLLADA.

    Raises:
        DescriptionError: a mesh that is missing, broken or outside; with file, line and element.
    """
    if layer not in ("visual", "collision"):
        raise InputError(f"link_shapes: layer must be 'visual' or 'collision', got {layer!r}")
    known, out = set(robot.frame_names), []
    for shape in read_shapes(path, layer, package_roots):
        if shape.link not in known:
            continue
        body, T_body_link = place_of(robot, shape.link)
        points, faces = _triangles(shape)
        T = T_body_link @ shape.T_link_shape
        out.append(LinkShape(body, shape.link, points @ T[:3, :3].T + T[:3, 3], faces))
    return tuple(out)


def _triangles(shape: UrdfShape) -> tuple[Array, NDArray[np.int64]]:
    """Vertices (n, 3) in the shape's own frame and triangles (m, 3)."""
    if shape.file is not None:
        points, faces = read_mesh_file(shape.file)
        return points * shape.size, faces
    if shape.kind == "box":
        corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
        sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        return corners * shape.size, np.array([t for a, b, c, d in sides for t in ((a, b, c), (a, c, d))])
    radius = float(shape.size[0])
    half = 0.5 * float(shape.size[1]) if len(shape.size) > 1 else 0.0
    wider = radius / np.cos(np.pi / SIDES)
    if shape.kind == "cylinder":
        return _turned(np.array([[wider, -half], [wider, half]]))
    # circles of latitude around a ball: the tangent polygon of a half circle, turned
    angles = (np.arange(SIDES // 2) + 0.5) * 2.0 * np.pi / SIDES - 0.5 * np.pi
    shift = np.where(angles < 0.0, -half, half)
    return _turned(
        np.stack([wider * np.cos(angles), wider * np.sin(angles) + shift], axis=1) * [wider / radius, 1.0]
        if radius
        else np.array([[0.0, -half], [0.0, half]])
    )


def _turned(profile: Array) -> tuple[Array, NDArray[np.int64]]:
    """A profile (k, 2) of radius and height, turned about z, with its two ends closed."""
    turn = np.arange(SIDES) * 2.0 * np.pi / SIDES
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    rings = [np.column_stack([r * ring, np.full(SIDES, z)]) for r, z in profile]
    faces = []
    for k in range(len(profile) - 1):
        for i in range(SIDES):
            a, b = k * SIDES + i, k * SIDES + (i + 1) % SIDES
            faces += [(a, b, b + SIDES), (a, b + SIDES, a + SIDES)]
    top = (len(profile) - 1) * SIDES
    for i in range(1, SIDES - 1):
        faces += [(0, i + 1, i), (top, top + i, top + i + 1)]
    return np.concatenate(rings), np.array(faces, dtype=np.int64)
