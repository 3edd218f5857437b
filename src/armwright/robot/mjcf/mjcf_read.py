# SPDX-License-Identifier: Apache-2.0
"""Read an arm from MJCF, MuJoCo's XML, or refuse it: file, line, element and the rule it breaks.

Poses, mass matrix and bias forces are MuJoCo's. Sites and bodies without joints become frames; armature becomes rotor
inertia behind a gear of 1, damping and frictionloss friction; a linear <equality><joint> makes two joints one
coordinate. The base frame is the world's. What is no arm (free and ball joints, several machines in one world, closed
loops) is refused; what an arm here does not have (springs, tendons, gravity compensation) is left out with a warning.
Parts of a model in other files, <include file="…"/>, are read from the model's own folder only (`with_includes`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from armwright.errors import InputError, tell_user
from armwright.robot.mjcf.mjcf_bodies import Walk, efforts
from armwright.robot.mjcf.mjcf_settings import ACTUATORS, Defaults, read_compiler
from armwright.robot.model import EARTH_GRAVITY, Robot
from armwright.robot.parts import Actuators
from armwright.robot.self_check import require_agreement
from armwright.robot.urdf.urdf_assemble import Verdict, assemble, beside
from armwright.robot.urdf.urdf_elements import JointData, LinkData, Mimic, RigidMass
from armwright.robot.urdf.urdf_read import MAX_LINKS, document
from armwright.robot.urdf.urdf_tree import choose_tip, link_tree
from armwright.schema.xml_text import MAX_ELEMENTS, MAX_RATIO, XmlNode, attribute, parse_xml, read_bytes, shown, vector
from armwright.types import Array

MAX_FILES = 64


def with_includes(root: XmlNode, folders: Sequence[Path]) -> None:
    """Replace every <include> below `root` by the content of its file, in place.

    Args:
        root: root element of the model.
        folders: where included files may lie; the first is the model's own, from which paths count. Empty for a text.
    """
    allowed = [folder.resolve() for folder in folders]
    seen: set[Path] = set()
    stack, count = [root], 0
    while stack:
        node = stack.pop()
        children: list[XmlNode] = []
        pending = node.children[::-1]
        while pending:
            child = pending.pop()
            if child.tag == "include":
                pending += _content(child, allowed, seen)[::-1]
            else:
                children.append(child)
                count += 1
                if count > MAX_ELEMENTS:
                    child.fail(f"more than {MAX_ELEMENTS} elements", "element-count")
        node.children = children
        stack += children


def _content(node: XmlNode, allowed: list[Path], seen: set[Path]) -> list[XmlNode]:
    name = attribute(node, "file")
    if not allowed:
        node.fail("a text has no folder to include files from; load the file itself", "include")
    try:
        path = (allowed[0] / name).resolve()
        inside = any(path.is_relative_to(folder) for folder in allowed)
    except (OSError, RuntimeError, ValueError):
        node.fail(f"file = {shown(name)} is no path", "include")
    if not inside:
        node.fail(
            f"file = {shown(name)} lies outside the model's folder; name its folder in package_roots",
            "path-inside-root",
        )
    if path in seen:
        node.fail(f"file = {shown(name)} is included twice", "include")
    if len(seen) >= MAX_FILES:
        node.fail(f"more than {MAX_FILES} included files", "include")
    seen.add(path)
    return parse_xml(read_bytes(path, "included file"), str(path)).children


WORLD = "world"
TOOL = "tool"
JOINTS = ("joint", "freejoint")


def read_mjcf(
    path_or_text: str | bytes | os.PathLike[str],
    *,
    implausible: Verdict = "refuse",
    base: str | None = None,
    tip: str | None = None,
    package_roots: Sequence[str | os.PathLike[str]] | None = None,
    name: str | None = None,
) -> Robot:
    """Read an MJCF file or text.

    Args:
        path_or_text: path of a file; or the document itself (bytes, or text that begins with ``<``).
        implausible: "refuse" bodies that no matter can form, or "warn" and load them as written.
        base: body to start from; everything that it does not carry is left out, and it becomes the base frame.
        tip: body or site that becomes the tool; joints off the chain to it are locked, with a warning. Default: the
            site "tool" if there is one, else the leaf moved by most joints.
        package_roots: further folders in which included files may lie, in addition to the file's own.
        name: name of the robot; the model's own if omitted.

    Returns:
        The arm, its coordinates in MuJoCo's order.

    Raises:
        DescriptionError: with file, line, element and rule.
    """
    if implausible not in ("refuse", "warn"):
        raise InputError(f"implausible: expected 'refuse' or 'warn', got {implausible!r}")
    content, file = document(path_or_text, "MJCF file")
    root = parse_xml(content, file)
    if root.tag != "mujoco":
        root.fail(f"expected <mujoco>, found {root.path}", "mjcf")
    folders = [] if file == "<text>" else [Path(file).parent]
    with_includes(root, folders + [Path(folder) for folder in package_roots or ()])
    names = frozenset(node.attributes.get("name", "") for node, _ in _bodies(root))
    walk = Walk(read_compiler(root.all("compiler")), Defaults(), names)
    for node in root.all("default"):
        walk.defaults.read(node)
    walk.links.append(LinkData(WORLD, root, RigidMass.zero(), None, 0.0))
    _take_bodies(walk, root, base)
    joints = _with_equalities(walk, root)
    tree = link_tree(walk.links, joints, base=base)
    chosen, note = choose_tip(tree, TOOL if tip is None and TOOL in {link.name for link in walk.links} else tip)
    robot = assemble(
        name or root.attributes.get("model", "").strip() or "MuJoCo Model",
        tree,
        chosen,
        locked={} if tip is None else beside(tree, chosen),
        motors=lambda names: (_armature([walk.armature[label] for label in names]), np.zeros(len(names))),
        gravity=_gravity(root),
        unnamed=frozenset({TOOL} if chosen == TOOL else ()),
        verdict=implausible,
    )
    if walk.lost:
        tell_user(f"{file}: left out, as an arm here has none: {', '.join(sorted(walk.lost))}")
    require_agreement(robot, file)
    return replace(robot, notes=note)


def _take_bodies(walk: Walk, root: XmlNode, base: str | None) -> None:
    """Read the bodies and sites of the world: all of them, or with `base` that body and what it carries."""
    tops = [found for world in root.all("worldbody") for found in walk.content(world, np.eye(4), None)]
    if base is not None:
        bodies = _bodies(root)
        chosen = [(body, np.eye(4), word) for body, word in bodies if body.attributes.get("name") == base]
        if not chosen:
            names = [body.attributes["name"] for body, _ in bodies if "name" in body.attributes]
            raise InputError(f"base: there is no body {shown(base)}; bodies are {', '.join(names[:12])}")
        body, T, word = chosen[0]
        kept = [child for child in body.children if child.tag not in JOINTS]
        tops = [(replace(body, children=kept), T, word)]
    if not any(node.tag == "body" for node, _, _ in tops):
        root.fail("there is no <body> in a <worldbody>", "required-element")
    machines = [node for node, _, _ in tops if any(inner.tag in JOINTS for inner in node.descendants())]
    if len(machines) > 1:
        names = [shown(body.attributes.get("name", "(unnamed)")) for body in machines]
        machines[1].fail(
            f"the world holds {len(machines)} machines, {', '.join(names[:6])}; name the body to start from with base=",
            "single-root",
        )
    for node, T, word in tops:
        if node.tag == "body":
            walk.body(node, WORLD, T, word, False)
        elif node.tag == "site":
            walk.site(node, WORLD, T, word)
        if len(walk.links) > MAX_LINKS:
            node.fail(f"more than {MAX_LINKS} links", "link-count")


def _bodies(root: XmlNode) -> list[tuple[XmlNode, str | None]]:
    """Return every <body>, with the default class in force there."""
    found: list[tuple[XmlNode, str | None]] = []
    stack: list[tuple[XmlNode, str | None]] = [(world, None) for world in root.all("worldbody")]
    while stack:
        node, childclass = stack.pop()
        if node.tag == "body":
            found.append((node, childclass))
        inner = node.attributes.get("childclass", childclass)
        stack += [(child, inner) for child in node.children[::-1] if child.tag in ("body", "frame")]
    return found


def _with_equalities(walk: Walk, root: XmlNode) -> list[JointData]:
    """Return the joints, with what <equality> and <actuator> say about them; closed loops are refused."""
    moving = {joint.name: i for i, joint in enumerate(walk.joints) if joint.kind != "fixed"}
    links = {link.name for link in walk.links}
    joints = list(walk.joints)
    for node in (node for group in root.all("equality") for node in group.children):
        node = walk.defaults.filled(node, None)
        if node.attributes.get("active", "true") == "false":
            continue
        ends = {node.attributes.get(word) for word in ("body1", "body2", "site1", "site2")}
        if node.tag in ("connect", "weld") and len(ends & links) > 1:
            node.fail("this closes a loop; an arm here is a tree", "closed-loop")
        if node.tag == "joint" and node.attributes.get("joint1") in moving:
            _mimic(walk, node, joints, moving)
        elif node.tag != "joint" or "joint1" not in node.attributes:
            walk.lost.add(f"equality constraints ({node.tag})")
    if root.all("tendon"):
        walk.lost.add("tendons")
    drives = [node for group in root.all("actuator") for node in group.children if node.tag in ACTUATORS]
    for name, effort in efforts(drives, walk.defaults).items():
        if name in moving:
            joint = joints[moving[name]]
            limits = replace(joint.limits, effort=min(effort, joint.limits.effort))
            joints[moving[name]] = replace(joint, limits=limits)
    return joints


def _mimic(walk: Walk, node: XmlNode, joints: list[JointData], moving: dict[str, int]) -> None:
    """Apply the law q1 − ref1 = a0 + a1·(q2 − ref2) of an <equality><joint>."""
    first, second = attribute(node, "joint1"), node.attributes.get("joint2")
    words = node.attributes.get("polycoef", "").split()
    padded = " ".join([*words, *["0", "1", "0", "0", "0"][len(words) :]][:5])
    a = vector(replace(node, attributes={"polycoef": padded}), "polycoef", MAX_RATIO, count=5)
    if second not in moving or a[2:].any():
        walk.lost.add("equality constraints (joint, not linear in another joint)")
        return
    offset = walk.reference[first] + a[0] - a[1] * walk.reference[second]
    joints[moving[first]] = replace(joints[moving[first]], mimic=Mimic(second, float(a[1]), float(offset)))


def _armature(values: list[float]) -> Actuators:
    return replace(Actuators.none(len(values)), rotor_inertia=np.array(values, dtype=np.float64))


def _gravity(root: XmlNode) -> Array:
    gravity = np.array(EARTH_GRAVITY)
    for node in root.all("option"):
        gravity = vector(node, "gravity", 1e4, default=gravity)
        for flags in node.all("flag"):
            if flags.attributes.get("gravity") == "disable":
                gravity = np.zeros(3)
    return gravity
