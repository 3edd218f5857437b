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

from armwright.errors import DescriptionError, InputError
from armwright.robot.model import Robot
from armwright.robot.parts import Actuators
from armwright.robot.self_check import require_agreement
from armwright.robot.urdf.urdf_assemble import (
    Extras,
    Verdict,
    assemble,
    beside,
    read_extras,
    select,
    with_transmissions,
)
from armwright.robot.urdf.urdf_elements import read_joint, read_link
from armwright.robot.urdf.urdf_tree import LinkTree, choose_tip, link_tree
from armwright.schema.xml_text import parse_xml, read_bytes, shown

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
    called: str | None = None,
) -> Robot:
    """Read a URDF file or text.

    Args:
        path_or_text: path of a file; or the document itself (bytes, or text that begins with ``<``).
        implausible: "refuse", or "warn" to load inertias that no real body of that size has (triangle inequality
            broken by more than 1 %, absurd radius of gyration, centre of mass far off) with an `ArmwrightWarning` each.
            Links that are fixed to each other are judged as the one body that they are; links that never move are not
            judged. Joints without a range (then 0…0, the format's default), gear ratios that are no number, and
            references to meshes outside `package_roots` are warned about, too. What is impossible stays refused: a
            negative mass, a negative principal moment of such a body.
        base: link to start from; everything above it is left out.
        tip: link that carries the tool, also one on a fixed joint. With `base` as well, the chain between the two is
            cut out. Without it, the leaf moved by most joints is taken and `Robot.notes` says so if there are several.
        cut: cut out the chain to `tip` also without `base`, from the root: joints off it are locked at 0 (or the
            limit nearest to it) and their mass stays, with a warning.
        package_roots: folders in which mesh references may lie; meshes themselves are never opened.
        name: name of the robot; the file's own if omitted.
        called: what messages call the document, if it is a text.

    Returns:
        The arm. Bodies and coordinates stand depth first from the root, children in file order.

    Raises:
        DescriptionError: with file, line, element and rule.
    """
    if implausible not in ("refuse", "warn"):
        raise InputError(f"implausible: expected 'refuse' or 'warn', got {implausible!r}")
    content, file = document(path_or_text, "URDF file")
    file = called or file
    root = parse_xml(content, file)
    if root.tag != "robot":
        root.fail(f"expected <robot>, found {root.path}", "urdf")
    for node in root.children:
        if "ros.org/wiki/xacro" in node.tag or node.tag.startswith("xacro:"):
            node.fail("this is a xacro macro; name the file .xacro, and load expands it", "urdf")
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

    def motors(names: list[str]) -> tuple[Actuators, Array]:
        actuators, dead_zone = select(extras, names)
        if extras.actuators is None:
            actuators = with_transmissions(root, names, actuators, lenient=lenient)
        return actuators, dead_zone

    robot = assemble(
        title,
        tree,
        chosen,
        locked=beside(tree, chosen) if tip is not None and (cut or base is not None) else {},
        motors=motors,
        gravity=extras.gravity,
        order=extras.order,
        unnamed=extras.unnamed,
        verdict=implausible,
    )
    require_agreement(robot, file)
    return replace(robot, notes=note)


def document(source: str | bytes | os.PathLike[str], what: str) -> tuple[bytes | str, str]:
    """Return the document, from a path or as it is, and its name for messages; errors call the file `what`."""
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
    return read_bytes(path, what), str(path)


def _stated_tip(extras: Extras, tree: LinkTree) -> str | None:
    if extras.tip is None or extras.node is None:
        return None
    if extras.tip not in tree.links:
        extras.node.fail(f"tip: there is no link {shown(extras.tip)}", "known-link")
    inside = {tree.root} | {joint.child for joint in tree.joints}
    return extras.tip if extras.tip in inside else None
