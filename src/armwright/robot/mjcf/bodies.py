# SPDX-License-Identifier: Apache-2.0
"""The bodies of an MJCF model as links and joints: what `armwright.robot.urdf.assemble` makes into a robot.

A body with several joints becomes as many links; only the last has its name, geoms and mass. A body without a joint,
and a site, is a link that is fixed to the one around it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.robot.link_frames import motion
from armwright.robot.mjcf.geoms import SIZES, body_mass, geom_kind, geom_shape
from armwright.robot.mjcf.settings import ORIENTATIONS, Compiler, Defaults, flag, read_pose
from armwright.robot.mjcf.write import pose_words
from armwright.robot.parts import Friction, Limits
from armwright.robot.urdf.elements import JointData, LinkData
from armwright.robot.urdf.inertia import RigidMass
from armwright.robot.urdf.values import MAX_ANGLE, MAX_COEFFICIENT, MAX_LENGTH, bound, not_negative, number, vector
from armwright.robot.urdf.write import numbers
from armwright.robot.urdf.xml_safe import Node, shown
from armwright.spatial.poses import translation

if TYPE_CHECKING:
    from armwright.types import Array

_KINDS = {"hinge": "revolute", "slide": "prismatic"}
_UNSUPPORTED = {
    "free": "an arm stands on something; remove the free joint, or name a body below it with base=",
    "ball": "write three hinges through one point",
}
_GENERATED = ("replicate", "composite", "flexcomp", "attach")


@dataclass(slots=True)
class Walk:
    """Links and joints found so far, and what they lost on the way; `names` are those of all bodies of the model."""

    compiler: Compiler
    defaults: Defaults
    names: frozenset[str]
    links: list[LinkData] = field(default_factory=list)
    joints: list[JointData] = field(default_factory=list)
    armature: dict[str, float] = field(default_factory=dict)
    reference: dict[str, float] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)

    def body(self, node: Node, parent: str, T_parent: Array, childclass: str | None, moves: bool) -> None:
        """Take in a <body> and all below it; `T_parent` is the pose, in the link `parent`, of what it stands in."""
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
        for found, pose, inner in content:
            if found.tag == "site":
                self.site(found, name, pose, inner)
        for found, pose, inner in content:
            if found.tag == "body":
                self.body(found, name, pose, inner, moves)

    def site(self, node: Node, parent: str, T_parent: Array, childclass: str | None) -> None:
        """Take in a <site>, if it has a name."""
        if node.attributes.get("name"):
            T = T_parent @ read_pose(self.defaults.filled(node, childclass), self.compiler)
            self._fixed(node, node.attributes["name"], parent, T, RigidMass.zero(), None, 0.0)

    def content(self, node: Node, T: Array, childclass: str | None) -> list[tuple[Node, Array, str | None]]:
        """Elements of a body with the pose of the <frame> they stand in, and their class."""
        out: list[tuple[Node, Array, str | None]] = []
        for child in node.children:
            if child.tag == "frame":
                inner = child.attributes.get("childclass", childclass)
                out += self.content(child, T @ read_pose(child, self.compiler), inner)
            else:
                out.append((child, T, childclass))
        return out

    def _placed(self, node: Node, T: Array, childclass: str | None) -> Node:
        """An element with its defaults; the pose of a <frame> around it is written into it."""
        filled = self.defaults.filled(node, childclass)
        if np.array_equal(T, np.eye(4)):
            return filled
        if "fromto" in filled.attributes:
            ends = vector(filled, "fromto", MAX_LENGTH, count=6).reshape(2, 3) @ T[:3, :3].T + T[:3, 3]
            return replace(filled, attributes=filled.attributes | {"fromto": numbers(ends)})
        words = {key: value for key, value in filled.attributes.items() if key not in ("pos", *ORIENTATIONS)}
        return replace(filled, attributes=words | pose_words(T @ read_pose(filled, self.compiler)))

    def _reach(self, geom: Node) -> float:
        """Distance from the body's origin to the far side of a geom, 0 where it is no simple shape."""
        if geom_kind(geom) not in SIZES:
            return 0.0
        T, size = geom_shape(geom, self.compiler)
        return float(np.linalg.norm(T[:3, 3]) + np.linalg.norm(size))

    def _fixed(
        self, node: Node, name: str, parent: str, T: Array, mass: RigidMass, place: Node | None, radius: float
    ) -> None:
        """A link that does not move in its parent. Sites and bodies may share a name: then the site gets another."""
        if node.tag == "site" and name in self.names:
            name = f"{name}_site"
        self.links.append(LinkData(name, node, mass, place, radius))
        z, label = np.array([0.0, 0.0, 1.0]), f"{node.tag} {name}"
        self.joints.append(JointData(label, node, "fixed", parent, name, T, z, Limits(), Friction(), None))

    def _joint(self, node: Node, name: str, parent: str, child: str, T: Array) -> JointData:
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

    def _limits(self, node: Node, turns: bool) -> Limits:
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


def _first(node: Node, name: str) -> Node:
    """The element with only the first number of an attribute that may carry higher-order terms behind it."""
    words = node.attributes.get(name, "").split()
    return replace(node, attributes={**node.attributes, name: words[0]}) if len(words) > 1 else node


def efforts(actuators: list[Node], defaults: Defaults) -> dict[str, float]:
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
