# SPDX-License-Identifier: Apache-2.0
"""What one <link> and one <joint> of a URDF say, each checked on its own; nothing here knows the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import DescriptionError, tell_user
from armwright.robot.parts import Friction, Limits
from armwright.robot.urdf.inertia import RigidMass, read_inertial
from armwright.robot.urdf.mesh import check_reference
from armwright.robot.urdf.values import (
    MAX_COEFFICIENT,
    MAX_LENGTH,
    MAX_RATIO,
    attribute,
    bound,
    not_negative,
    number,
    pose_of,
    vector,
)
from armwright.robot.urdf.xml_safe import Node, shown

if TYPE_CHECKING:
    from armwright.types import Array

_UNSUPPORTED = {
    "floating": "an arm stands on something; make the joint fixed",
    "planar": "write two prismatic joints and a revolute one",
    "spherical": "write three revolute joints through one point",
}


@dataclass(frozen=True, slots=True)
class Mimic:
    """Displacement = ratio·(displacement of `leader`) + offset."""

    leader: str
    ratio: float
    offset: float


@dataclass(frozen=True, slots=True)
class LinkData:
    """A link: its mass properties in link axes, and the radius of what is drawn of it (0 where unknown) [m]."""

    name: str
    node: Node
    mass: RigidMass
    inertial: Node | None
    radius: float


@dataclass(frozen=True, slots=True)
class JointData:
    """A joint: kind is "revolute", "prismatic" or "fixed" (continuous is revolute without position limits).

    `T_joint_link` is the link's pose in the moved joint frame: 1 in a URDF, whose links sit on their joints.
    """

    name: str
    node: Node
    kind: str
    parent: str
    child: str
    T_parent_joint: Array
    axis: Array
    limits: Limits
    friction: Friction
    mimic: Mimic | None
    T_joint_link: Array = field(default_factory=lambda: np.eye(4))


def read_link(node: Node, *, package_roots: Sequence[Path] | None, lenient: bool = False) -> LinkData:
    """Read one <link>; `package_roots` are the folders in which mesh references may lie.

    With `lenient`, a reference outside them is only warned about: nothing is opened here.
    """
    name = attribute(node, "name")
    radius = 0.0
    for part in node.all("visual") + node.all("collision"):
        radius = max(radius, _extent(part))
        for inner in part.descendants():
            if "filename" in inner.attributes:
                _check_mesh(inner, package_roots, lenient)
    inertial = node.one("inertial")
    mass = RigidMass.zero() if inertial is None else read_inertial(inertial)
    return LinkData(name, node, mass, inertial, radius)


def _check_mesh(node: Node, package_roots: Sequence[Path] | None, lenient: bool) -> None:
    try:
        check_reference(node, node.attributes["filename"], package_roots)
    except DescriptionError as error:
        if not lenient:
            raise
        tell_user(f"{error}; nothing is drawn of it")


def _extent(part: Node) -> float:
    """Distance from the link's origin to the far side of a <visual> or <collision>, 0 if it is a mesh or unknown."""
    geometry = part.one("geometry")
    if geometry is None or not geometry.children:
        return 0.0
    shape = geometry.children[0]
    if shape.tag == "box":
        size = vector(shape, "size", MAX_LENGTH)
        if size.min() < 0.0:
            shape.fail("a box has a negative side", "not-negative")
        reach = 0.5 * float(np.linalg.norm(size))
    elif shape.tag == "sphere":
        reach = not_negative(shape, "radius", MAX_LENGTH)
    elif shape.tag in ("cylinder", "capsule"):
        radius, length = not_negative(shape, "radius", MAX_LENGTH), not_negative(shape, "length", MAX_LENGTH)
        reach = float(np.hypot(radius, 0.5 * length)) if shape.tag == "cylinder" else radius + 0.5 * length
    else:
        return 0.0
    return reach + float(np.linalg.norm(pose_of(part)[:3, 3]))


def read_joint(node: Node, *, lenient: bool = False) -> JointData:
    """Read one <joint>; with `lenient`, a range that is left out is the format's default, 0…0, with a warning."""
    name, kind = attribute(node, "name"), attribute(node, "type").strip()
    if kind in _UNSUPPORTED:
        node.fail(f"joint type {kind!r} is not supported: {_UNSUPPORTED[kind]}", "joint-type")
    if kind not in ("revolute", "continuous", "prismatic", "fixed"):
        node.fail(f"unknown joint type {shown(kind)}; use revolute, continuous, prismatic or fixed", "joint-type")
    parent, child = (attribute(node.need(tag), "link") for tag in ("parent", "child"))
    if parent == child:
        node.fail(f"link {shown(parent)} is its own parent", "tree")
    T_parent_joint = pose_of(node)
    if kind == "fixed":
        return JointData(
            name, node, kind, parent, child, T_parent_joint, np.array([0.0, 0.0, 1.0]), Limits(), Friction(), None
        )
    return JointData(
        name=name,
        node=node,
        kind="prismatic" if kind == "prismatic" else "revolute",
        parent=parent,
        child=child,
        T_parent_joint=T_parent_joint,
        axis=_axis(node),
        limits=_limits(node, kind, lenient),
        friction=_friction(node),
        mimic=_mimic(node),
    )


def _axis(node: Node) -> Array:
    element = node.one("axis")
    if element is None:
        return np.array([1.0, 0.0, 0.0])  # the format's default
    axis = vector(element, "xyz", 1e6)
    length = float(np.linalg.norm(axis))
    if length < 1e-6:
        element.fail(f"axis {axis.tolist()} has no direction; write a vector of length 1", "axis-direction")
    if abs(length - 1.0) > 1e-6:
        tell_user(f"{element.where}: axis {axis.tolist()} has length {length:.6g}; normalised to 1 [axis-unit-length]")
    return axis / length


def _limits(node: Node, kind: str, lenient: bool) -> Limits:
    element = node.one("limit")
    if element is None:
        if kind != "continuous":
            node.fail(
                f"a {kind} joint needs <limit lower upper effort velocity>; "
                'a revolute joint without limits has type "continuous"',
                "limit-missing",
            )
        return Limits()
    free = kind == "continuous"
    given = [name for name in ("lower", "upper") if name in element.attributes]
    lower, upper = (bound(element, name, default=0.0) for name in ("lower", "upper"))  # the format's default
    if free and given:
        tell_user(f"{element.where}: position limits of a continuous joint have no effect [limit-unused]")
    if free:
        lower, upper = -np.inf, np.inf
    elif not given and lenient:
        tell_user(f"{element.where}: lower and upper are missing: both are 0, the format's default [limit-missing]")
    elif not given:
        element.fail(
            f'a {kind} joint needs lower and upper; a revolute joint without limits has type "continuous"; '
            'implausible="warn" takes the format\'s default, 0 to 0',
            "limit-missing",
        )
    elif lower > upper:
        element.fail(f"lower ({lower:g}) is greater than upper ({upper:g})", "limit-order")
    elif lower == np.inf or upper == -np.inf:
        element.fail(f"no position lies between lower ({lower:g}) and upper ({upper:g})", "limit-order")
    others = {
        name: bound(element, name, default=np.inf if free or name == "acceleration" else None)
        for name in ("velocity", "effort", "acceleration")
    }
    for name, value in others.items():
        if value < 0.0:
            element.fail(f"{name} = {value:g} is negative; it must be ≥ 0", "not-negative")
    return Limits(lower=lower, upper=upper, **others)


def _friction(node: Node) -> Friction:
    element = node.one("dynamics")
    if element is None:
        return Friction()
    return Friction(
        viscous=not_negative(element, "damping", MAX_COEFFICIENT, default=0.0),
        coulomb=not_negative(element, "friction", MAX_COEFFICIENT, default=0.0),
    )


def _mimic(node: Node) -> Mimic | None:
    element = node.one("mimic")
    if element is None:
        return None
    return Mimic(
        attribute(element, "joint"),
        number(element, "multiplier", MAX_RATIO, default=1.0),
        number(element, "offset", MAX_LENGTH, default=0.0),
    )
