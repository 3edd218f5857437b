# SPDX-License-Identifier: Apache-2.0
"""<include file="…"/> of MJCF: the parts of a model that lie in other files, read from the model's own folder only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from armwright.robot.urdf.values import attribute
from armwright.robot.urdf.xml_safe import MAX_ELEMENTS, Node, parse_xml, read_bytes, shown

MAX_FILES = 64


def with_includes(root: Node, folders: Sequence[Path]) -> None:
    """Replace every <include> below `root` by the content of its file, in place.

    Args:
        root: of the model.
        folders: where included files may lie; the first is the model's own, from which paths count. Empty for a text.
    """
    allowed = [folder.resolve() for folder in folders]
    seen: set[Path] = set()
    stack, count = [root], 0
    while stack:
        node = stack.pop()
        children: list[Node] = []
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


def _content(node: Node, allowed: list[Path], seen: set[Path]) -> list[Node]:
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
