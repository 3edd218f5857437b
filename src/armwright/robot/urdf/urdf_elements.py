# SPDX-License-Identifier: Apache-2.0
"""What one <link> and one <joint> of a URDF say, each checked on its own; nothing here knows the tree.

`RigidMass` holds the mass properties of an <inertial>: what is impossible is refused, bodies welded together become
one. References to mesh files are looked for, never opened here, and refused if they could lead outside the allowed
folders (`check_reference`, `find_reference`). `read_link` and `read_joint` read the elements.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from armwright.errors import DescriptionError, tell_user
from armwright.robot.check import body_findings
from armwright.robot.parts import Friction, Limits
from armwright.schema.xml_text import (
    MAX_COEFFICIENT,
    MAX_INERTIA,
    MAX_LENGTH,
    MAX_MASS,
    MAX_RATIO,
    XmlNode,
    attribute,
    bound,
    not_negative,
    number,
    pose_of,
    shown,
    vector,
)
from armwright.spatial.rotations import skew

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.types import Array

ROUNDED_INERTIA = 1e-15  # kg m², a gram at a micrometre: what is left of zero when axes are turned and bodies joined
TRIANGLE_SLACK = 0.01  # figures in files are rounded: I1 + I2 ≥ (1 − slack)·I3


@dataclass(frozen=True, slots=True, eq=False)
class RigidMass:
    """Mass [kg], centre of mass [m] and inertia about it [kg m²], all in one frame's axes."""

    mass: float
    com: Array
    inertia: Array

    @staticmethod
    def zero() -> RigidMass:
        """Return a mass of zero."""
        return RigidMass(0.0, np.zeros(3), np.zeros((3, 3)))

    def seen_from(self, T_a_b: Array) -> RigidMass:
        """Return the same mass, known in frame b, expressed in frame a."""
        R = T_a_b[:3, :3]
        inertia = R @ self.inertia @ R.T
        return RigidMass(self.mass, R @ self.com + T_a_b[:3, 3], 0.5 * (inertia + inertia.T))

    def welded(self, other: RigidMass) -> RigidMass:
        """Return both as one rigid body, in the same axes (parallel axis theorem)."""
        mass = self.mass + other.mass
        inertia = self.inertia + other.inertia
        if self.mass == 0.0 or other.mass == 0.0:
            return RigidMass(mass, other.com if self.mass == 0.0 else self.com, inertia)
        S = skew(other.com - self.com)
        com = self.com + (other.mass / mass) * (other.com - self.com)
        return RigidMass(mass, com, inertia - (self.mass * other.mass / mass) * S @ S)


def read_inertial(node: XmlNode) -> RigidMass:
    """Read <inertial> and rotate it to link axes; refuse negative mass."""
    element = node.need("mass")
    mass = number(element, "value", MAX_MASS)
    if mass < 0.0:
        element.fail(f"mass = {mass:g} kg is negative; it must be ≥ 0", "mass-positive")
    element = node.need("inertia")
    xx, xy, xz, yy, yz, zz = (number(element, name, MAX_INERTIA) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return RigidMass(mass, np.zeros(3), inertia).seen_from(pose_of(node))


def negative_moment(mass: RigidMass) -> str | None:
    """Return the reason if a principal moment of inertia is negative, None if all are positive or zero."""
    principal = np.linalg.eigvalsh(mass.inertia)
    if principal[0] >= -max(1e-9 * np.abs(principal).max(), ROUNDED_INERTIA):
        return None
    return f"principal moments of inertia {_listed(principal)} kg m²: none may be negative"


def implausible(
    mass: RigidMass, *, joint: Array, axis: Array | None, ends: list[Array], extent: float
) -> tuple[str, str] | None:
    """Return reason and rule if no real body has these mass properties, None if one might.

    Sizes are judged as `armwright check` judges them (`armwright.robot.check`), its errors only.

    Args:
        mass: mass of the link, in link axes.
        joint: a point of the joint's axis in the link frame [m].
        axis: direction of the link's revolute joint; None for a prismatic or fixed one.
        ends: points of the joints that the link carries [m].
        extent: diameter of what is drawn of it, 0 if unknown [m].
    """
    principal = np.linalg.eigvalsh(mass.inertia)
    low, middle, high = (float(value) for value in principal)
    if low + middle < (1.0 - TRIANGLE_SLACK) * high - ROUNDED_INERTIA:
        return (
            f"principal moments of inertia {_listed(principal)} kg m² break the triangle inequality: "
            "the largest may not exceed the sum of the others",
            "inertia-triangle",
        )
    for finding in body_findings(
        "", mass.mass, mass.com, mass.inertia, joint=joint, axis=axis, ends=ends, extent=extent
    ):
        if finding.severity == "error" and finding.rule not in ("triangle inequality", "inertia positive definite"):
            return finding.reason, finding.rule.replace(" ", "-")
    return None


def _listed(values: NDArray[np.floating[Any]]) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?://)?")  # two letters at least: "C:" is a drive
_DRIVE = re.compile(r"[A-Za-z]:")


def check_reference(node: XmlNode, reference: str, package_roots: Sequence[Path] | None) -> None:
    """Refuse a reference to a file that is a URL, climbs out of a package, or is absolute outside `package_roots`.

    One that climbs from the description's own folder (``../meshes/a.stl``) may be written: nothing is opened here, and
    `find_reference` finds it in allowed folders only.

    Args:
        node: element that carries the reference, for messages.
        reference: ``package://name/path``, ``file://path`` or a relative path.
        package_roots: folders that hold packages; None if meshes are never looked up.
    """
    text = unquote(reference.strip()).replace("\\", "/")
    match = _SCHEME.match(text)
    scheme = match.group(1).lower() if match else ""
    path = text[match.end() :] if match else text
    if scheme not in ("", "package", "file"):
        node.fail(
            f"reference {shown(reference)}: {scheme}:// addresses are not followed; "
            "use package://, file:// or a relative path",
            "no-url",
        )
    if scheme and ".." in path.split("/"):
        node.fail(f"reference {shown(reference)} climbs out of its folder with '..'", "path-inside-root")
    if not path.strip("/") or "\0" in path:
        node.fail(f"reference {shown(reference)} names no file", "path-inside-root")
    roots = [Path(root).resolve() for root in package_roots or ()]
    absolute = path.startswith("/") or _DRIVE.match(path) is not None
    if scheme == "package" and absolute:
        node.fail(f"reference {shown(reference)} names no package", "path-inside-root")
    if absolute and not any(_inside(Path(path), root) for root in roots):
        node.fail(
            f"reference {shown(reference)} is an absolute path outside the allowed roots; "
            "use package:// or a relative path, or name its folder in package_roots",
            "path-inside-root",
        )
    if scheme == "package" and roots and not all(_inside(root / path, root) for root in roots):
        node.fail(f"reference {shown(reference)} leaves its root through a link", "path-inside-root")


def find_reference(node: XmlNode, reference: str, folder: Path | None, package_roots: Sequence[Path]) -> Path:
    """Return the file that a reference means, inside `package_roots` or, if it is relative, inside `folder`.

    Args:
        node: element that carries the reference, for messages.
        reference: ``package://name/path``, ``file://path`` or a relative path.
        folder: folder of the description; None if it came as a text.
        package_roots: folders that hold packages.
    """
    check_reference(node, reference, package_roots)
    text = unquote(reference.strip()).replace("\\", "/")
    match = _SCHEME.match(text)
    path = text[match.end() :] if match else text
    package = match is not None and match.group(1).lower() == "package"
    if path.startswith("/") or _DRIVE.match(path):
        places = [Path(path)]
    else:
        places = [root / path for root in package_roots] if package else [] if folder is None else [folder / path]
    allowed = [root.resolve() for root in (*package_roots, *([] if folder is None else [folder]))]
    for place in places:
        if place.is_file() and any(_inside(place, root) for root in allowed):
            return place
    if ".." in path.split("/"):
        node.fail(
            f"mesh {shown(reference)} lies outside the description's folder, or is not there; name the folder that "
            "holds both with package_roots=",
            "path-inside-root",
        )
    looked = ", ".join(str(place) for place in places) or "nowhere"
    advice = "name the folder that holds the package with package_roots=" if package else "it counts from the file"
    return node.fail(f"mesh {shown(reference)} is not there (looked at {looked}); {advice}", "mesh-file")


def _inside(path: Path, root: Path) -> bool:
    """Return whether the path, links followed, lies in root."""
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError, ValueError):
        return False


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
    node: XmlNode
    mass: RigidMass
    inertial: XmlNode | None
    radius: float


@dataclass(frozen=True, slots=True)
class JointData:
    """A joint: kind is "revolute", "prismatic" or "fixed" (continuous is revolute without position limits).

    `T_joint_link` is the link's pose in the moved joint frame: 1 in a URDF, whose links sit on their joints.
    """

    name: str
    node: XmlNode
    kind: str
    parent: str
    child: str
    T_parent_joint: Array
    axis: Array
    limits: Limits
    friction: Friction
    mimic: Mimic | None
    T_joint_link: Array = field(default_factory=lambda: np.eye(4))


def read_link(node: XmlNode, *, package_roots: Sequence[Path] | None, lenient: bool = False) -> LinkData:
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


def _check_mesh(node: XmlNode, package_roots: Sequence[Path] | None, lenient: bool) -> None:
    try:
        check_reference(node, node.attributes["filename"], package_roots)
    except DescriptionError as error:
        if not lenient:
            reason = str(error).removeprefix(f"{error.where}: ").removesuffix(f" [{error.rule}]")
            advice = f'{reason}; implausible="warn" loads the arm without it'
            raise DescriptionError(advice, where=error.where, rule=error.rule) from None
        tell_user(f"{error}; nothing is drawn of it")


def _extent(part: XmlNode) -> float:
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


def read_joint(node: XmlNode, *, lenient: bool = False) -> JointData:
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


def _axis(node: XmlNode) -> Array:
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


def _limits(node: XmlNode, kind: str, lenient: bool) -> Limits:
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


def _friction(node: XmlNode) -> Friction:
    element = node.one("dynamics")
    if element is None:
        return Friction()
    return Friction(
        viscous=not_negative(element, "damping", MAX_COEFFICIENT, default=0.0),
        coulomb=not_negative(element, "friction", MAX_COEFFICIENT, default=0.0),
    )


def _mimic(node: XmlNode) -> Mimic | None:
    element = node.one("mimic")
    if element is None:
        return None
    return Mimic(
        attribute(element, "joint"),
        number(element, "multiplier", MAX_RATIO, default=1.0),
        number(element, "offset", MAX_LENGTH, default=0.0),
    )
