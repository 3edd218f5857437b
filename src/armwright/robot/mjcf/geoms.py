# SPDX-License-Identifier: Apache-2.0
"""Mass properties of an MJCF body: from its <inertial>, or from its geoms, as MuJoCo's compiler takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.robot.mjcf.settings import ORIENTATIONS, Compiler, from_z, read_pose
from armwright.robot.urdf.inertia import RigidMass
from armwright.robot.urdf.values import MAX_INERTIA, MAX_LENGTH, MAX_MASS, not_negative, number, vector
from armwright.robot.urdf.xml_safe import Node, shown
from armwright.spatial.poses import pose

if TYPE_CHECKING:
    from armwright.types import Array

DENSITY = 1000.0
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}
_GROUND = ("plane", "hfield")  # without mass
LARGEST_DENSITY = 1e9


def body_mass(body: Node, geoms: list[Node], compiler: Compiler, moves: bool) -> tuple[RigidMass, Node | None]:
    """Mass properties of a body in its own frame, and the element that states them (None: nothing does).

    Args:
        body: the <body>.
        geoms: its geoms, defaults filled in, poses in the body's frame (see `geom_pose`).
        compiler: what holds for the model.
        moves: whether a joint moves it; the inertia of what never moves is left out.
    """
    inertial = body.one("inertial")
    if not moves:
        return RigidMass.zero(), None
    chosen = [geom for geom in geoms if compiler.groups[0] <= _group(geom) <= compiler.groups[1]]
    from_geoms = compiler.inertiafromgeom == "true" or (inertial is None and compiler.inertiafromgeom == "auto")
    if from_geoms and chosen:
        mass, place = RigidMass.zero(), body
        for geom in chosen:
            mass = mass.welded(_geom_mass(geom, compiler))
    elif inertial is not None:
        mass, place = _stated(inertial, compiler), inertial
    else:
        return RigidMass.zero(), None
    return _corrected(mass, compiler), place


def _group(geom: Node) -> int:
    return int(number(geom, "group", 100.0, default=0.0))


def _stated(node: Node, compiler: Compiler) -> RigidMass:
    mass = not_negative(node, "mass", MAX_MASS)
    if "pos" not in node.attributes:
        node.fail("attribute 'pos' is missing", "required-attribute")
    T = read_pose(node, compiler)
    if "fullinertia" in node.attributes:
        others = [word for word in ("diaginertia", *ORIENTATIONS) if word in node.attributes]
        if others:
            node.fail(f"both {others[0]} and fullinertia are given; write one", "one-of-each")
        xx, yy, zz, xy, xz, yz = vector(node, "fullinertia", MAX_INERTIA, count=6)
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    else:
        tensor = np.diag(vector(node, "diaginertia", MAX_INERTIA))
    return RigidMass(mass, np.zeros(3), tensor).seen_from(T)


def _corrected(mass: RigidMass, compiler: Compiler) -> RigidMass:
    """boundmass, boundinertia and balanceinertia of the compiler."""
    if not (compiler.balance or compiler.least_mass or compiler.least_inertia):
        return mass
    moments, axes = np.linalg.eigh(mass.inertia)
    moments = np.maximum(moments, compiler.least_inertia)
    if compiler.balance and moments[0] + moments[1] < moments[2]:
        moments = np.full(3, moments.mean())
    return RigidMass(max(mass.mass, compiler.least_mass), mass.com, axes @ np.diag(moments) @ axes.T)


def geom_kind(geom: Node) -> str:
    """The shape of a geom; one with a mesh counts as a mesh even where a shape is fitted to it."""
    return "mesh" if "mesh" in geom.attributes else geom.attributes.get("type", "sphere")


def geom_shape(geom: Node, compiler: Compiler) -> tuple[Array, Array]:
    """Pose (4, 4) in the body's frame and half sizes of a geom: radius; radius and half length; three half sides."""
    kind = geom_kind(geom)
    if kind not in SIZES:
        geom.fail(f"unknown type {shown(kind)}; use {', '.join(SIZES)} or mesh", "geom-type")
    if "fromto" in geom.attributes and kind != "sphere":
        ends = vector(geom, "fromto", MAX_LENGTH, count=6)
        along = ends[:3] - ends[3:]
        length = float(np.linalg.norm(along))
        if length < 1e-14:
            geom.fail("fromto: both ends coincide", "geom-size")
        T = np.asarray(pose(from_z(along / length), 0.5 * (ends[:3] + ends[3:])))
        across = np.repeat(_sizes(geom, 1), SIZES[kind] - 1)  # a box is square here, an ellipsoid round
        return T, np.append(across, 0.5 * length)
    return read_pose(geom, compiler), _sizes(geom, SIZES[kind])


def _sizes(geom: Node, count: int) -> Array:
    words = geom.attributes.get("size", "").split()
    if len(words) < count:
        geom.fail(f"size has {len(words)} entries; a {geom_kind(geom)} needs {count} here", "geom-size")
    first = Node(geom.tag, {"size": " ".join(words[:count])}, geom.file, geom.line, geom.path)
    sizes = vector(first, "size", MAX_LENGTH, count=count)
    if sizes.min() <= 0.0:
        geom.fail("every size must be greater than 0", "geom-size")
    return sizes


def _geom_mass(geom: Node, compiler: Compiler) -> RigidMass:
    kind, stated = geom_kind(geom), "mass" in geom.attributes
    mass = not_negative(geom, "mass", MAX_MASS) if stated else 0.0
    density = not_negative(geom, "density", LARGEST_DENSITY, default=DENSITY)
    if kind in _GROUND or (stated and mass == 0.0) or (not stated and density == 0.0):
        return RigidMass.zero()
    if kind in ("mesh", "sdf"):
        geom.fail(
            'the inertia of a mesh is not computed; give the body its <inertial>, or the geom mass="0"', "mesh-inertia"
        )
    if geom.attributes.get("shellinertia", "false") == "true":
        geom.fail("shellinertia is not computed; give the body its <inertial>", "shell-inertia")
    T, size = geom_shape(geom, compiler)
    volume, moments = _unit_mass(kind, size)
    if not stated:
        mass = density * volume
    return RigidMass(mass, np.zeros(3), mass * np.diag(moments)).seen_from(T)


def _unit_mass(kind: str, size: Array) -> tuple[float, Array]:
    """Volume [m³] of a solid shape, and its principal moments per unit of mass [m²]."""
    if kind == "box":
        x, y, z = size**2
        return float(8.0 * size.prod()), np.array([y + z, x + z, x + y]) / 3.0
    if kind == "ellipsoid":
        x, y, z = size**2
        return float(4.0 / 3.0 * np.pi * size.prod()), np.array([y + z, x + z, x + y]) / 5.0
    r = float(size[0])
    if kind == "sphere":
        return 4.0 / 3.0 * np.pi * r**3, np.full(3, 0.4 * r**2)
    h = 2.0 * float(size[1])
    across, along = (3.0 * r**2 + h**2) / 12.0, 0.5 * r**2
    if kind == "cylinder":
        return np.pi * r**2 * h, np.array([across, across, along])
    share = 4.0 * r / (4.0 * r + 3.0 * h)  # of the mass, in the two round ends of a capsule
    ends = 0.4 * r**2
    across = (1.0 - share) * across + share * (ends + h * (3.0 * r + 2.0 * h) / 8.0)
    return np.pi * r**2 * (h + 4.0 / 3.0 * r), np.array([across, across, (1.0 - share) * along + share * ends])
