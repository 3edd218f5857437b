# SPDX-License-Identifier: Apache-2.0
"""The bodies of an MJCF model as links and joints: what `armwright.robot.urdf.urdf_assemble` makes into a robot.

A body with several joints becomes as many links; only the last has its name, geoms and mass. A body without a joint,
and a site, is a link that is fixed to the one around it. `body_mass` takes mass properties from a body's <inertial> or
from its geoms, as MuJoCo's compiler does; `Walk` goes through the bodies.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.robot.link_frames import motion
from armwright.robot.mjcf.mjcf_settings import ORIENTATIONS, Compiler, Defaults, flag, from_z, read_pose
from armwright.robot.mjcf.mjcf_write import pose_words
from armwright.robot.parts import Friction, Limits
from armwright.robot.urdf.urdf_elements import JointData, LinkData, RigidMass
from armwright.robot.urdf.urdf_write import numbers
from armwright.schema.xml_text import (
    MAX_ANGLE,
    MAX_COEFFICIENT,
    MAX_INERTIA,
    MAX_LENGTH,
    MAX_MASS,
    XmlNode,
    bound,
    not_negative,
    number,
    shown,
    vector,
)
from armwright.spatial.poses import pose, translation

if TYPE_CHECKING:
    from armwright.types import Array

DENSITY = 1000.0
SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}
_GROUND = ("plane", "hfield")  # without mass
LARGEST_DENSITY = 1e9


def body_mass(body: XmlNode, geoms: list[XmlNode], compiler: Compiler, moves: bool) -> tuple[RigidMass, XmlNode | None]:
    """Return mass properties of a body in its own frame, and the element that states them (None: nothing does).

    Args:
        body: the <body>.
        geoms: its geoms, defaults filled in, poses in the body's frame.
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


def _group(geom: XmlNode) -> int:
    return int(number(geom, "group", 100.0, default=0.0))


def _stated(node: XmlNode, compiler: Compiler) -> RigidMass:
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
    """Apply boundmass, boundinertia and balanceinertia of the compiler."""
    if not (compiler.balance or compiler.least_mass or compiler.least_inertia):
        return mass
    moments, axes = np.linalg.eigh(mass.inertia)
    moments = np.maximum(moments, compiler.least_inertia)
    if compiler.balance and moments[0] + moments[1] < moments[2]:
        moments = np.full(3, moments.mean())
    return RigidMass(max(mass.mass, compiler.least_mass), mass.com, axes @ np.diag(moments) @ axes.T)


def geom_kind(geom: XmlNode) -> str:
    """Return the shape of a geom; one with a mesh counts as a mesh even where a shape is fitted to it."""
    return "mesh" if "mesh" in geom.attributes else geom.attributes.get("type", "sphere")


def geom_shape(geom: XmlNode, compiler: Compiler) -> tuple[Array, Array]:
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


def _sizes(geom: XmlNode, count: int) -> Array:
    words = geom.attributes.get("size", "").split()
    if len(words) < count:
        geom.fail(f"size has {len(words)} entries; a {geom_kind(geom)} needs {count} here", "geom-size")
    first = XmlNode(geom.tag, {"size": " ".join(words[:count])}, geom.file, geom.line, geom.path)
    sizes = vector(first, "size", MAX_LENGTH, count=count)
    if sizes.min() <= 0.0:
        geom.fail("every size must be greater than 0", "geom-size")
    return sizes


def _geom_mass(geom: XmlNode, compiler: Compiler) -> RigidMass:
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


_KINDS = {"hinge": "revolute", "slide": "prismatic"}
_UNSUPPORTED = {
    "free": "an arm stands on something; remove the free joint, or name a body below it with base=",
    "ball": "write three hinges through one point",
}
_GENERATED = ("replicate", "composite", "flexcomp", "attach")


@dataclass(slots=True)
class Walk:
    """Links and joints found so far, and what was left out of them; `names` are those of all bodies of the model."""

    compiler: Compiler
    defaults: Defaults
    names: frozenset[str]
    links: list[LinkData] = field(default_factory=list)
    joints: list[JointData] = field(default_factory=list)
    armature: dict[str, float] = field(default_factory=dict)
    reference: dict[str, float] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)

    def body(self, node: XmlNode, parent: str, T_parent: Array, childclass: str | None, moves: bool) -> None:
        """Read a <body> and all below it; `T_parent` is the pose, in the link `parent`, of what it stands in."""
        childclass = node.attributes.get("childclass", childclass)
        name = node.attributes.get("name") or f"body_{len(self.links)}"
        T = T_parent @ read_pose(node, self.compiler)
        if number(node, "gravcomp", MAX_COEFFICIENT, default=0.0) != 0.0:
            self.lost.add("gravity compensation (gravcomp)")
        content = list(self.content(node, np.eye(4), childclass))
        for found, _, _ in content:
            if found.tag == "freejoint":
                found.fail(f"a free joint is not supported: {_UNSUPPORTED['free']}", "joint-type")
            if found.tag in _GENERATED:
                found.fail(f"<{found.tag}> is not supported; let MuJoCo write the whole model out", "mjcf-element")
        joints = [self.defaults.filled(found, inner) for found, _, inner in content if found.tag == "joint"]
        geoms = [self._placed(found, pose, inner) for found, pose, inner in content if found.tag == "geom"]
        moves = moves or bool(joints)
        mass, place = body_mass(node, geoms, self.compiler, moves)
        radius = max((self._reach(geom) for geom in geoms), default=0.0)
        if not joints:
            self._fixed(node, name, parent, T, mass, place, radius)
        for i, joint in enumerate(joints):
            label = joint.attributes.get("name") or f"joint_{len(self.joints)}"
            last = i == len(joints) - 1
            link = name if last else f"{name}/{label}"
            self.links.append(
                LinkData(link, node, mass, place, radius) if last else LinkData(link, node, RigidMass.zero(), None, 0.0)
            )
            self.joints.append(self._joint(joint, label, parent, link, T))
            parent, T = link, np.eye(4)
        for found, place_of_it, inner in content:
            if found.tag == "site":
                self.site(found, name, place_of_it, inner)
        for found, place_of_it, inner in content:
            if found.tag == "body":
                self.body(found, name, place_of_it, inner, moves)

    def site(self, node: XmlNode, parent: str, T_parent: Array, childclass: str | None) -> None:
        """Read a <site>, if it has a name."""
        if node.attributes.get("name"):
            T = T_parent @ read_pose(self.defaults.filled(node, childclass), self.compiler)
            self._fixed(node, node.attributes["name"], parent, T, RigidMass.zero(), None, 0.0)

    def content(self, node: XmlNode, T: Array, childclass: str | None) -> list[tuple[XmlNode, Array, str | None]]:
        """Return elements of a body with the pose of the <frame> they stand in, and their class."""
        out: list[tuple[XmlNode, Array, str | None]] = []
        for child in node.children:
            if child.tag == "frame":
                inner = child.attributes.get("childclass", childclass)
                out += self.content(child, T @ read_pose(child, self.compiler), inner)
            else:
                out.append((child, T, childclass))
        return out

    def _placed(self, node: XmlNode, T: Array, childclass: str | None) -> XmlNode:
        """Return an element with its defaults; the pose of a <frame> around it is written into it."""
        filled = self.defaults.filled(node, childclass)
        if np.array_equal(T, np.eye(4)):
            return filled
        if "fromto" in filled.attributes:
            ends = vector(filled, "fromto", MAX_LENGTH, count=6).reshape(2, 3) @ T[:3, :3].T + T[:3, 3]
            return replace(filled, attributes=filled.attributes | {"fromto": numbers(ends)})
        words = {key: value for key, value in filled.attributes.items() if key not in ("pos", *ORIENTATIONS)}
        return replace(filled, attributes=words | pose_words(T @ read_pose(filled, self.compiler)))

    def _reach(self, geom: XmlNode) -> float:
        """Distance from the body's origin to the far side of a geom, 0 where it is no simple shape."""
        if geom_kind(geom) not in SIZES:
            return 0.0
        T, size = geom_shape(geom, self.compiler)
        return float(np.linalg.norm(T[:3, 3]) + np.linalg.norm(size))

    def _fixed(
        self, node: XmlNode, name: str, parent: str, T: Array, mass: RigidMass, place: XmlNode | None, radius: float
    ) -> None:
        """Add a link that is fixed to its parent. Sites and bodies may share a name: then the site gets another."""
        if node.tag == "site" and name in self.names:
            name = f"{name}_site"
        self.links.append(LinkData(name, node, mass, place, radius))
        z, label = np.array([0.0, 0.0, 1.0]), f"{node.tag} {name}"
        self.joints.append(JointData(label, node, "fixed", parent, name, T, z, Limits(), Friction(), None))

    def _joint(self, node: XmlNode, name: str, parent: str, child: str, T: Array) -> JointData:
        kind = node.attributes.get("type", "hinge")
        if kind not in _KINDS:
            reason = _UNSUPPORTED.get(kind, "use hinge or slide")
            node.fail(f"joint type {shown(kind)} is not supported: {reason}", "joint-type")
        axis = vector(node, "axis", 1e6, default=np.array([0.0, 0.0, 1.0]))
        length = float(np.linalg.norm(axis))
        if length < 1e-14:
            node.fail("axis has no direction", "axis-direction")
        axis, turns = axis / length, kind == "hinge"
        anchor = vector(node, "pos", MAX_LENGTH, default=np.zeros(3)) if turns else np.zeros(3)
        reference = number(node, "ref", MAX_ANGLE, default=0.0)
        reference = self.compiler.angle(reference) if turns else reference
        if number(_first(node, "stiffness"), "stiffness", MAX_COEFFICIENT, default=0.0) != 0.0:
            self.lost.add("springs of joints (stiffness)")
        self.armature[name] = not_negative(node, "armature", MAX_COEFFICIENT, default=0.0)
        self.reference[name] = reference
        return JointData(
            name=name,
            node=node,
            kind=_KINDS[kind],
            parent=parent,
            child=child,
            T_parent_joint=T @ np.asarray(translation(anchor)) @ motion(_KINDS[kind], axis, -reference),
            axis=axis,
            limits=self._limits(node, turns),
            friction=Friction(
                viscous=not_negative(_first(node, "damping"), "damping", MAX_COEFFICIENT, default=0.0),
                coulomb=not_negative(node, "frictionloss", MAX_COEFFICIENT, default=0.0),
            ),
            mimic=None,
            T_joint_link=np.asarray(translation(-anchor)),
        )

    def _limits(self, node: XmlNode, turns: bool) -> Limits:
        lower, upper = -np.inf, np.inf
        implied = self.compiler.autolimits and "range" in node.attributes
        if flag(node, "limited", implied):
            lower, upper = (float(end) for end in vector(node, "range", 1e9, count=2, default=np.zeros(2)))
            if turns:
                lower, upper = self.compiler.angle(lower), self.compiler.angle(upper)
            if not lower < upper:
                node.fail(f"range: lower ({lower:g}) must be less than upper ({upper:g})", "limit-order")
        effort = np.inf
        if flag(node, "actuatorfrclimited", self.compiler.autolimits and "actuatorfrcrange" in node.attributes):
            effort = float(np.abs(vector(node, "actuatorfrcrange", 1e9, count=2)).max())
        return Limits(lower, upper, effort=effort)


def _first(node: XmlNode, name: str) -> XmlNode:
    """Return the element with only the first number of an attribute that may carry higher-order terms behind it."""
    words = node.attributes.get(name, "").split()
    return replace(node, attributes={**node.attributes, name: words[0]}) if len(words) > 1 else node


def efforts(actuators: list[XmlNode], defaults: Defaults) -> dict[str, float]:
    """Largest torque or force at each joint that an actuator drives, where a forcerange states it."""
    found: dict[str, float] = {}
    for element in actuators:
        node = defaults.filled(element, None)
        joint = node.attributes.get("joint")
        if joint is None or "forcerange" not in node.attributes:
            continue
        gear = abs(bound(_first(node, "gear"), "gear", default=1.0))
        force = float(np.abs(vector(node, "forcerange", 1e9, count=2)).max())
        found[joint] = found.get(joint, 0.0) + gear * force
    return found
