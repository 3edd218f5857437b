# SPDX-License-Identifier: Apache-2.0
"""Shapes of a URDF's links, those that are drawn and those that collide: <visual> and <collision>, with their files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from armwright.errors import DescriptionError
from armwright.robot.urdf.urdf_elements import find_reference
from armwright.robot.urdf.urdf_read import document
from armwright.schema.xml_text import (
    MAX_LENGTH,
    MAX_RATIO,
    XmlNode,
    attribute,
    not_negative,
    parse_xml,
    pose_of,
    vector,
)

if TYPE_CHECKING:
    from armwright.types import Array

Layer = Literal["visual", "collision"]


@dataclass(frozen=True, slots=True, eq=False)
class UrdfShape:
    """One <visual> or <collision> of a link.

    Attributes:
        link: name of the link.
        kind: "mesh", "box", "cylinder", "sphere" or "capsule".
        T_link_shape: its pose in the link's frame.
        size: sides of a box (3,); radius and length of a cylinder or capsule; radius of a sphere; scale (3,) of a mesh.
        file: file of a mesh.
        where: file, line and element, for messages.
    """

    link: str
    kind: str
    T_link_shape: Array
    size: Array
    file: Path | None
    where: str


def read_shapes(
    path: str | os.PathLike[str], layer: Layer = "collision", package_roots: Sequence[str | os.PathLike[str]] = ()
) -> list[UrdfShape]:
    """Read the shapes of all links; meshes are looked for, not opened.

    Args:
        path: path of the URDF, or its text (then only ``package://`` references can be found).
        layer: "visual" or "collision".
        package_roots: folders that hold packages: ``package://name/mesh.stl`` is ``root/name/mesh.stl``.

    Raises:
        DescriptionError: with file, line, element and rule: a reference out of its folder, a mesh that is not there.
    """
    content, file = document(path, "URDF file")
    root = parse_xml(content, file)
    folder = None if file == "<text>" else Path(file).parent
    roots = [Path(root) for root in package_roots]
    return [
        _shape(attribute(link, "name"), part, folder, roots)
        for link in root.all("link")
        for part in link.all(layer)
        if part.one("geometry") is not None
    ]


def _shape(link: str, part: XmlNode, folder: Path | None, roots: list[Path]) -> UrdfShape:
    geometry = part.need("geometry")
    if len(geometry.children) != 1:
        geometry.fail(f"{len(geometry.children)} shapes; one is needed", "one-of-each")
    node = geometry.children[0]
    file = None
    if node.tag == "mesh":
        size = vector(node, "scale", MAX_RATIO, default=np.ones(3))
        file = find_reference(node, attribute(node, "filename"), folder, roots)
    elif node.tag == "box":
        size = vector(node, "size", MAX_LENGTH)
    elif node.tag == "sphere":
        size = np.array([not_negative(node, "radius", MAX_LENGTH)])
    elif node.tag in ("cylinder", "capsule"):
        size = np.array([not_negative(node, name, MAX_LENGTH) for name in ("radius", "length")])
    else:
        raise DescriptionError(
            "no shape that can be drawn; use mesh, box, cylinder, sphere or capsule", where=node.where, rule="geometry"
        )
    return UrdfShape(link, node.tag, pose_of(part), size, file, node.where)
