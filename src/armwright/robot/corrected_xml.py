# SPDX-License-Identifier: Apache-2.0
"""A user's own URDF or MJCF with the inertias, friction and rotors of another robot; everything else as it was written.

Frames, meshes, names, comments and white space stay. Links that are welded together move as one body, whose inertia
alone can be known: it is written into the link that moves, and those fixed to it carry none. A motor's inertia is
``armature`` in MJCF; URDF has no word for it, so it stands in an <armwright> element, which other readers skip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import InputError, NotSupportedError
from armwright.robot.urdf.urdf_write import numbers, write_urdf
from armwright.schema.xml_edit import XmlPlace, added, edited, elements, indent_of, tag_text, with_words
from armwright.schema.xml_text import parse_xml

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from armwright.robot.model import Robot
    from armwright.robot.parts import Body

    Change = tuple[int, int, str]


def corrected_xml(text: str, robot: Robot, name: str = "XML") -> str:
    """Return a URDF or MJCF text with the inertias, friction and rotors of `robot`, which was read from it and changed.

    Args:
        text: the user's own; a xacro or a file with includes is refused: expand it first.
        robot: has the bodies and joints of the text.
        name: of the file, for messages.

    Raises:
        InputError: a body or joint is not in the text.

    Example:
        >>> text = corrected_xml(Path("arm.urdf").read_text(), model.robot)
    """
    parse_xml(text, name)  # well-formed, and nothing that a reader must not open
    root = elements(text)
    if root.tag == "mujoco":
        return _mjcf(text, root, robot, name)
    if root.tag != "robot":
        raise InputError(f"{name}: neither a URDF nor an MJCF: the root is <{root.tag}>")
    if any(place.tag.startswith("xacro:") for place in root.walk()):
        raise NotSupportedError(f"{name}: a xacro; expand it first: xacro arm.urdf.xacro > arm.urdf")
    return _urdf(text, root, robot, name)


def _welded_links(root: XmlPlace, link: str) -> list[str]:
    """Return the links that fixed joints weld to a link of a URDF, directly or through others."""
    out, at = [], [link]
    fixed = [p for p in root.children if p.tag == "joint" and p.attributes.get("type") == "fixed"]
    pairs = [(p.one("parent"), p.one("child")) for p in fixed]
    below = [(a.attributes.get("link", ""), b.attributes.get("link", "")) for a, b in pairs if a and b]
    while at:
        parent = at.pop()
        found = [child for above, child in below if above == parent]
        out += found
        at += found
    return out


def _welded_bodies(body: XmlPlace) -> list[XmlPlace]:
    """Return the bodies of an MJCF that stand in a body without a joint of their own, directly or through others."""
    out = []
    for child in body.children:
        if child.tag == "frame":
            out += _welded_bodies(child)
        elif child.tag == "body" and not any(p.tag in ("joint", "freejoint") for p in child.children):
            out += [child, *_welded_bodies(child)]
    return out


def _named(places: Sequence[XmlPlace], names: Sequence[str], what: str, file: str) -> dict[str, XmlPlace]:
    found = {place.attributes.get("name", ""): place for place in places}
    if missing := [name for name in names if name not in found]:
        raise InputError(
            f"{file}: no {what} {missing[0]!r} in it; has the model another description, or does the file include "
            "others?"
        )
    return found


def _urdf(text: str, root: XmlPlace, robot: Robot, file: str) -> str:
    every = {p.attributes.get("name", ""): p for p in root.children if p.tag == "link"}
    links = _named(list(every.values()), [b.name for b in robot.bodies], "link", file)
    joints = _named([p for p in root.children if p.tag == "joint"], [j.name for j in robot.joints], "joint", file)
    changes: list[Change] = []
    for body in robot.bodies:
        changes += _inertial(text, links[body.name], _urdf_inertial(body, indent_of(text, links[body.name]) + "  "))
        for name in _welded_links(root, body.name):
            if (old := every[name].one("inertial")) is not None:
                changes.append((old.start, old.end, f"<!-- inertia of {name}: in {body.name}, with which it moves -->"))
    for joint in robot.joints:
        words = {"damping": numbers(joint.friction.viscous), "friction": numbers(joint.friction.coulomb)}
        place = joints[joint.name]
        old = place.one("dynamics")
        changes.append(with_words(old, words) if old else added(text, place, tag_text("dynamics", words)))
    changes += _own_element(text, root, robot)
    return edited(text, changes)


def _urdf_inertial(body: Body, indent: str) -> str:
    tensor = body.inertia
    pairs = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    lines = [
        "<inertial>",
        f'  <origin xyz="{numbers(body.com)}" rpy="0 0 0"/>',
        f'  <mass value="{numbers(body.mass)}"/>',
        "  " + tag_text("inertia", {key: numbers(tensor[at]) for key, at in pairs.items()}),
        "</inertial>",
    ]
    return f"\n{indent}".join(lines)


def _inertial(text: str, place: XmlPlace, content: str) -> list[Change]:
    old = place.one("inertial")
    return [(old.start, old.end, content)] if old is not None else [added(text, place, content)]


def _own_element(text: str, root: XmlPlace, robot: Robot) -> list[Change]:
    """Put in what URDF has no words for, as our writer writes it."""
    written = write_urdf(robot)
    own = elements(written).one("armwright")
    if own is None or not own.children:
        return []
    old = root.one("armwright")
    rows = [written[row.start : row.end] for row in own.children]
    words: Mapping[str, str] = old.attributes if old is not None else {}
    content = "\n    ".join([tag_text("armwright", words, empty=False), *rows]) + "\n  </armwright>"
    return [(old.start, old.end, content)] if old is not None else [(root.close, root.close, f"  {content}\n")]


def _mjcf(text: str, root: XmlPlace, robot: Robot, file: str) -> str:
    for place in root.walk():
        if place.tag == "include":
            raise NotSupportedError(f"{file}: it includes {place.attributes.get('file')!r}; give one whole file")
        if place.tag == "compiler" and "settotalmass" in place.attributes:
            raise NotSupportedError(f"{file}: <compiler settotalmass> scales every mass; take it out first")
    bodies = _named([p for p in root.walk() if p.tag == "body"], [b.name for b in robot.bodies], "body", file)
    joints = _named([p for p in root.walk() if p.tag == "joint"], [j.name for j in robot.joints], "joint", file)
    changes: list[Change] = []
    for body in robot.bodies:
        t = body.inertia
        full = [t[0, 0], t[1, 1], t[2, 2], t[0, 1], t[0, 2], t[1, 2]]
        words = {"pos": numbers(body.com), "mass": numbers(body.mass), "fullinertia": numbers(full)}
        changes += _inertial(text, bodies[body.name], tag_text("inertial", words))
        for place in _welded_bodies(bodies[body.name]):
            if place.one("inertial") or place.one("geom"):
                changes += _inertial(text, place, '<inertial pos="0 0 0" mass="0" diaginertia="0 0 0"/>')
    armature = robot.tree.armature
    for k, joint in enumerate(robot.joints):
        words = {"armature": numbers(armature[k, k]), "damping": numbers(robot.tree.viscous[k, k])}
        changes.append(with_words(joints[joint.name], words | {"frictionloss": numbers(joint.friction.coulomb)}))
    for place in root.walk():
        if place.tag == "compiler" and place.attributes.get("inertiafromgeom", "auto") == "true":
            changes.append(with_words(place, {"inertiafromgeom": "auto"}))
    return edited(text, changes)


def displaced_urdf(text: str, joints: Sequence[str], displacements: ArrayLike, name: str = "URDF") -> str:
    """Return a URDF text whose joints' origins are displaced: O exp(δ), δ (n, 6) of [m] then [rad] in their own axes.

    Args:
        text: the user's own.
        joints: names of the joints, in the order of the displacements.
        displacements: (n, 6), as `calibrate` finds them.
        name: of the file, for messages.

    Example:
        >>> displaced_urdf(text, [joint.name for joint in robot.joints], found.displacements)
    """
    from armwright.spatial import exp_se3, pose, rotation_from_rpy, rpy_from_rotation

    parse_xml(text, name)
    root = elements(text)
    if root.tag != "robot" or any(place.tag.startswith("xacro:") for place in root.walk()):
        raise NotSupportedError(f"{name}: displacements can be written into a plain URDF alone")
    places = _named([p for p in root.children if p.tag == "joint"], joints, "joint", name)
    changes: list[Change] = []
    for joint, delta in zip(joints, np.asarray(displacements, dtype=np.float64), strict=True):
        old = places[joint].one("origin")
        words = old.attributes if old is not None else {}
        xyz, rpy = (np.array([float(x) for x in words.get(key, "0 0 0").split()]) for key in ("xyz", "rpy"))
        T = pose(rotation_from_rpy(rpy), xyz) @ exp_se3(delta)
        new = {"xyz": numbers(T[:3, 3]), "rpy": numbers(rpy_from_rotation(T[:3, :3]).angles)}
        changes.append(with_words(old, new) if old else added(text, places[joint], tag_text("origin", new)))
    return edited(text, changes)
