# SPDX-License-Identifier: Apache-2.0
"""Read a URDF into a `Robot`, or refuse it: file, line, element and the rule it breaks.

Links joined by fixed joints become one body, exactly, and stay known as frames. What cannot be (negative mass, a cycle,
NaN …) is always refused; what is merely implausible is refused too, unless the caller asks for warnings instead. Arms
without inertia load: kinematics need none.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import DescriptionError, InputError, tell_user
from armwright.robot.inertia_needed import has_inertia, singular_joint
from armwright.robot.link_frames import motion
from armwright.robot.model import Robot
from armwright.robot.parts import Body, Frame, Friction, Joint
from armwright.robot.self_check import require_agreement
from armwright.robot.tables.assemble import orthonormal
from armwright.robot.urdf.actuators import Extras, read_extras, select, with_transmissions
from armwright.robot.urdf.elements import JointData, LinkData, Mimic, read_joint, read_link
from armwright.robot.urdf.inertia import RigidMass
from armwright.robot.urdf.plausible import Places, Verdict, check_bodies
from armwright.robot.urdf.tree import LinkTree, choose_tip, link_tree, mimic_laws
from armwright.robot.urdf.xml_safe import Node, parse_xml, read_bytes, shown

if TYPE_CHECKING:
    from armwright.types import Array

MAX_LINKS = 1000


def read_urdf(
    path_or_text: str | bytes | os.PathLike[str],
    *,
    implausible: Verdict = "refuse",
    base: str | None = None,
    tip: str | None = None,
    cut: bool = False,
    package_roots: Sequence[str | os.PathLike[str]] | None = None,
    name: str | None = None,
) -> Robot:
    """Read a URDF file or text.

    Args:
        path_or_text: path of a file; or the document itself (bytes, or text that begins with ``<``).
        implausible: "refuse", or "warn" to load inertias that no real body of that size has (triangle inequality
            broken by more than 1 %, absurd radius of gyration, centre of mass far off) with an `ArmwrightWarning` each.
            Links that are fixed to each other are judged as the one body that they are; links that never move are not
            judged. Joints without a range (then 0…0, the format's default), gear ratios that are no number, and
            references to meshes outside `package_roots` are warned about, too. What is impossible stays refused: a negative mass, a negative
            principal moment of such a body.
        base: link to start from; everything above it is left out.
        tip: link that carries the tool, also one on a fixed joint. With `base` as well, the chain between the two is
            cut out. Without it, the leaf moved by most joints is taken and `Robot.notes` says so if there are several.
        cut: cut out the chain to `tip` also without `base`, from the root: joints beside it are locked at 0 (or the
            limit nearest to it) and their mass stays, with a warning.
        package_roots: folders in which mesh references may lie; meshes themselves are never opened.
        name: of the robot; the file's own if omitted.

    Returns:
        The arm. Bodies and coordinates stand depth first from the root, children in file order.

    Raises:
        DescriptionError: with file, line, element and rule.
    """
    if implausible not in ("refuse", "warn"):
        raise InputError(f"implausible: expected 'refuse' or 'warn', got {implausible!r}")
    content, file = _content(path_or_text)
    root = parse_xml(content, file)
    if root.tag != "robot":
        root.fail(f"expected <robot>, found {root.path}", "urdf")
    for node in root.children:
        if "ros.org/wiki/xacro" in node.tag or node.tag.startswith("xacro:"):
            node.fail("this is a xacro macro; expand the file with xacro first", "urdf")
    title = name or root.attributes.get("name", "").strip()
    if not title:
        root.fail("attribute 'name' is missing", "required-attribute")
    if not root.all("link"):
        root.fail("there is no <link>", "required-element")
    if len(root.all("link")) > MAX_LINKS:
        root.all("link")[MAX_LINKS].fail(f"more than {MAX_LINKS} links", "link-count")
    roots = None if package_roots is None else [Path(folder) for folder in package_roots]
    lenient = implausible == "warn"
    links = [read_link(node, package_roots=roots, lenient=lenient) for node in root.all("link")]
    joints = [read_joint(node, lenient=lenient) for node in root.all("joint")]
    extras = read_extras(root)
    tree = link_tree(links, joints, base=base)
    chosen, note = choose_tip(tree, tip or _stated_tip(extras, tree))
    locked = _beside(tree, chosen) if tip is not None and (cut or base is not None) else {}
    robot, places = _assemble(title, tree, chosen, locked, root, extras, lenient)
    check_bodies(tree, robot, places, implausible)
    if has_inertia(robot):
        _warn_if_singular(tree, robot)
    require_agreement(robot, file)
    return replace(robot, notes=note)


def _warn_if_singular(tree: LinkTree, robot: Robot) -> None:
    """Say which joint moves nothing; `forward_dynamics` will refuse, everything else is defined."""
    bad = singular_joint(robot)
    if bad is None:
        return
    index, place = bad
    joint = next(joint for joint in tree.joints if joint.name == robot.joints[index].name)
    tell_user(
        f"{joint.node.where}: the mass matrix is singular {place}: this joint, perhaps together with others, can move "
        "without moving any inertia, so there is no forward dynamics; give a link that it carries mass or inertia "
        "[mass-matrix-positive]"
    )


def _content(source: str | bytes | os.PathLike[str]) -> tuple[bytes | str, str]:
    """The document and the name that messages use for it."""
    if isinstance(source, bytes):
        return source, "<text>"
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        return source, "<text>"
    if isinstance(source, str) and not source.strip():
        raise DescriptionError("the document is empty", where="<text>:1", rule="well-formed")
    try:
        path = Path(source)
    except TypeError as error:
        raise InputError(f"path_or_text: expected a path, text or bytes, got {type(source).__name__}") from error
    return read_bytes(path, "URDF file"), str(path)


def _stated_tip(extras: Extras, tree: LinkTree) -> str | None:
    if extras.tip is None or extras.node is None:
        return None
    if extras.tip not in tree.links:
        extras.node.fail(f"tip: there is no link {shown(extras.tip)}", "known-link")
    inside = {tree.root} | {joint.child for joint in tree.joints}
    return extras.tip if extras.tip in inside else None


def _beside(tree: LinkTree, tip: str) -> dict[str, float]:
    """Joints not on the way to the tip, with the displacement at which the cut chain carries them."""
    laws = mimic_laws(tree)
    by_name = {joint.name: joint for joint in tree.joints}
    kept = {joint.name for joint in tree.path(tip) if joint.kind != "fixed"}
    locked: dict[str, float] = {}
    for name, law in laws.items():
        joint = by_name[name]
        if (name in kept) != (law.leader in kept):
            joint.node.need("mimic").fail(
                f"joint {shown(name)} and its leader {shown(law.leader)} are not both in the "
                "chain to the tip; read_urdf(…, tip=…) without base= keeps the whole tree",
                "mimic-cut",
            )
        if name not in kept:
            limits = by_name[law.leader].limits
            locked[name] = law.ratio * float(np.clip(0.0, limits.lower, limits.upper)) + law.offset
    if locked:
        names = ", ".join(locked)
        tell_user(f"cut from {tree.root!r} to {tip!r}: locked beside the chain, mass kept: {names}")
    return locked


def _assemble(
    title: str, tree: LinkTree, tip: str, locked: dict[str, float], root: Node, extras: Extras, lenient: bool
) -> tuple[Robot, Places]:
    """Merge what is fixed, number what moves, and build the `Robot`; also say where each link went."""
    laws = {name: law for name, law in mimic_laws(tree).items() if name not in locked}
    by_name = {joint.name: joint for joint in tree.joints}
    names = [name for name, law in laws.items() if law.leader == name]
    if extras.order:
        names.sort(key=lambda name: extras.order.index(name) if name in extras.order else 0)
    frames: Places = {tree.root: (-1, np.eye(4))}
    masses: list[RigidMass] = []
    moved: list[tuple[JointData, int, Array]] = []
    for joint in tree.joints:
        body, T_body_parent = frames[joint.parent]
        T_body_joint = T_body_parent @ joint.T_parent_joint
        link: LinkData = tree.links[joint.child]
        if joint.name in laws:
            frames[joint.child] = (len(moved), np.eye(4))
            moved.append((joint, body, T_body_joint))
            masses.append(link.mass)
            continue
        T_body_link = T_body_joint @ motion(joint.kind, joint.axis, locked.get(joint.name, 0.0))
        frames[joint.child] = (body, T_body_link)
        if body >= 0:
            masses[body] = masses[body].welded(link.mass.seen_from(T_body_link))
    bodies = tuple(
        Body(
            name=joint.child,
            parent=parent,
            joint=names.index(laws[joint.name].leader),
            T_parent_joint=T,
            axis=joint.axis,
            mass=mass.mass,
            com=mass.com,
            inertia=mass.inertia,
            ratio=laws[joint.name].ratio,
            offset=laws[joint.name].offset,
        )
        for (joint, parent, T), mass in zip(moved, masses, strict=True)
    )
    actuators, dead_zone = select(extras, names)
    if extras.actuators is None:
        actuators = with_transmissions(root, names, actuators, lenient=lenient)
    joints = tuple(
        Joint(
            name,
            "prismatic" if by_name[name].kind == "prismatic" else "revolute",
            by_name[name].limits,
            _friction(name, laws, by_name, float(dead)),
        )
        for name, dead in zip(names, dead_zone, strict=True)
    )
    tip_body, T_tip_tool = frames[tip]
    robot = Robot(
        name=title,
        joints=joints,
        bodies=bodies,
        actuators=actuators,
        tip=tip_body,
        T_tip_tool=T_tip_tool,
        gravity=extras.gravity,
        frames=_frames(frames, {body.name for body in bodies} | extras.unnamed),
    )
    return robot, frames


def _frames(links: Places, known: set[str]) -> tuple[Frame, ...]:
    """Links that move with another one: frames, under their own names."""
    return tuple(Frame(name, body, orthonormal(T)) for name, (body, T) in links.items() if name not in known)


def _friction(name: str, laws: dict[str, Mimic], by_name: dict[str, JointData], dead_zone: float) -> Friction:
    """Friction felt at a coordinate: its own joint's and, through their ratios, that of the joints which follow it."""
    viscous = coulomb = 0.0
    for follower, law in laws.items():
        if law.leader == name:
            viscous += law.ratio**2 * by_name[follower].friction.viscous
            coulomb += abs(law.ratio) * by_name[follower].friction.coulomb
    return Friction(viscous, coulomb, dead_zone)
