# SPDX-License-Identifier: Apache-2.0
"""Settings of a whole MJCF model: <compiler>, <default> classes, and the ways to write an orientation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.schema.xml_text import (
    MAX_ANGLE,
    MAX_INERTIA,
    MAX_LENGTH,
    MAX_MASS,
    XmlNode,
    not_negative,
    number,
    shown,
    vector,
)
from armwright.spatial.poses import pose
from armwright.spatial.quaternions import rotation_from_wxyz
from armwright.spatial.rotations import axis_angle, rot_x, rot_y, rot_z

if TYPE_CHECKING:
    from armwright.types import Array

ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
ACTUATORS = (
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "dcmotor",
)  # one set of defaults serves them all
_TURN = {"x": rot_x, "y": rot_y, "z": rot_z}


@dataclass(frozen=True, slots=True)
class Compiler:
    """The attributes of <compiler> that change physics; defaults are MuJoCo's."""

    degrees: bool = True
    eulerseq: str = "xyz"
    autolimits: bool = True
    inertiafromgeom: str = "auto"
    groups: tuple[int, int] = (0, 5)
    balance: bool = False
    least_mass: float = 0.0
    least_inertia: float = 0.0

    def angle(self, value: float) -> float:
        """Return an angle of the file in rad."""
        return float(np.deg2rad(value)) if self.degrees else value


def read_compiler(nodes: Iterable[XmlNode]) -> Compiler:
    """Merge the <compiler> elements of a model; what would need MuJoCo itself is refused."""
    found = Compiler()
    for node in nodes:
        words = node.attributes
        if words.get("coordinate", "local") != "local":
            node.fail('coordinate: only "local" is supported, as in MuJoCo itself', "compiler")
        if number(node, "settotalmass", MAX_MASS, default=-1.0) > 0.0:
            node.fail("settotalmass rescales the model; write the masses that the bodies have", "compiler")
        sequence = words.get("eulerseq", found.eulerseq)
        if len(sequence) != 3 or set(sequence.lower()) - set("xyz"):
            node.fail(f"eulerseq = {shown(sequence)}; write three letters of xyz or XYZ", "compiler")
        groups = vector(node, "inertiagrouprange", 100.0, count=2, default=np.array(found.groups, dtype=np.float64))
        found = replace(
            found,
            degrees=_choice(node, "angle", ("radian", "degree"), "degree" if found.degrees else "radian") == "degree",
            eulerseq=sequence,
            autolimits=_choice(node, "autolimits", ("true", "false"), str(found.autolimits).lower()) == "true",
            inertiafromgeom=_choice(node, "inertiafromgeom", ("auto", "true", "false"), found.inertiafromgeom),
            groups=(int(groups[0]), int(groups[1])),
            balance=_choice(node, "balanceinertia", ("true", "false"), str(found.balance).lower()) == "true",
            least_mass=not_negative(node, "boundmass", MAX_MASS, default=found.least_mass),
            least_inertia=not_negative(node, "boundinertia", MAX_INERTIA, default=found.least_inertia),
        )
    return found


def _choice(node: XmlNode, name: str, valid: tuple[str, ...], default: str) -> str:
    word = node.attributes.get(name, default)
    if word not in valid:
        node.fail(f"{name} = {shown(word)}; valid: {', '.join(valid)}", "compiler")
    return word


def flag(node: XmlNode, name: str, implied: bool) -> bool:
    """Read a "true", "false" or "auto" attribute; `implied` is what "auto", the default, means here."""
    word = _choice(node, name, ("true", "false", "auto"), "auto")
    return implied if word == "auto" else word == "true"


@dataclass(slots=True)
class Defaults:
    """Attributes by class and tag, those of the outer classes already filled in."""

    classes: dict[str, dict[str, dict[str, str]]] = field(default_factory=lambda: {"main": {}})

    def read(self, node: XmlNode, parent: str | None = None) -> None:
        """Read a <default> and those inside it."""
        name = node.attributes.get("class", "main" if parent is None else "")
        if not name:
            node.fail("attribute 'class' is missing", "required-attribute")
        inherited = self.classes["main" if parent is None else parent]
        own = self.classes.setdefault(name, {tag: dict(words) for tag, words in inherited.items()})
        for child in node.children:
            if child.tag != "default":
                tag = "general" if child.tag in ACTUATORS else child.tag
                own[tag] = {**own.get(tag, {}), **child.attributes}
        for child in node.all("default"):
            self.read(child, name)

    def filled(self, node: XmlNode, childclass: str | None) -> XmlNode:
        """Return the element with the attributes that its class, or the one in force, gives it."""
        name = node.attributes.get("class", childclass or "main")
        if name not in self.classes:
            node.fail(f"there is no default class {shown(name)}; classes are {', '.join(self.classes)}", "known-class")
        words = dict(self.classes[name].get("general" if node.tag in ACTUATORS else node.tag, {}))
        if any(word in node.attributes for word in ORIENTATIONS):
            words = {key: value for key, value in words.items() if key not in ORIENTATIONS}
        return replace(node, attributes={**words, **node.attributes})


def read_pose(node: XmlNode, compiler: Compiler) -> Array:
    """Pose (4, 4) from pos and one of quat (w x y z), axisangle, euler, xyaxes, zaxis; the identity where absent."""
    given = [word for word in ORIENTATIONS if word in node.attributes]
    if len(given) > 1:
        node.fail(f"both {given[0]} and {given[1]} are given; write one", "one-of-each")
    p = vector(node, "pos", MAX_LENGTH, default=np.zeros(3))
    return np.asarray(pose(_rotation(node, given[0], compiler) if given else np.eye(3), p))


def _rotation(node: XmlNode, word: str, compiler: Compiler) -> Array:
    if word == "quat":
        quat_wxyz = vector(node, "quat", 1e6, count=4)
        _direction(node, word, quat_wxyz)
        return np.asarray(rotation_from_wxyz(quat_wxyz))
    if word == "axisangle":
        *axis, angle = vector(node, "axisangle", MAX_ANGLE, count=4)
        return np.asarray(axis_angle(_direction(node, word, np.array(axis)), compiler.angle(angle)))
    if word == "euler":
        R = np.eye(3)
        for letter, angle in zip(compiler.eulerseq, vector(node, "euler", MAX_ANGLE), strict=True):
            turn = np.asarray(_TURN[letter.lower()](compiler.angle(float(angle))))
            R = R @ turn if letter.islower() else turn @ R  # small letters turn with the frame
        return R
    if word == "xyaxes":
        x, y = np.split(vector(node, "xyaxes", 1e6, count=6), 2)
        x = _direction(node, word, x)
        y = _direction(node, word, y - (x @ y) * x)
        return np.stack([x, y, np.cross(x, y)], axis=1)
    return from_z(_direction(node, word, vector(node, "zaxis", 1e6)))


def _direction(node: XmlNode, name: str, value: Array) -> Array:
    length = float(np.linalg.norm(value))
    if length < 1e-14:
        node.fail(f"{name} has no direction", "axis-direction")
    return np.asarray(value / length)


def from_z(z: Array) -> Array:
    """Return the smallest rotation (3, 3) that takes the z axis to the unit vector z."""
    axis = np.array([-z[1], z[0], 0.0])
    sine = float(np.linalg.norm(axis))
    if sine < 1e-10:
        return np.eye(3) if z[2] > 0.0 else np.asarray(rot_x(np.pi))
    return np.asarray(axis_angle(axis / sine, float(np.arctan2(sine, z[2]))))
