# SPDX-License-Identifier: Apache-2.0
"""References to mesh files: looked for, never opened here, refused if they could lead outside the allowed folders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from armwright.robot.urdf.xml_safe import Node, shown

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?://)?")  # two letters at least: "C:" is a drive
_DRIVE = re.compile(r"[A-Za-z]:")


def check_reference(node: Node, reference: str, package_roots: Sequence[Path] | None) -> None:
    """Refuse a mesh or texture reference that is a URL, climbs with "..", or is absolute outside `package_roots`.

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
    if ".." in path.split("/"):
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


def find_reference(node: Node, reference: str, folder: Path | None, package_roots: Sequence[Path]) -> Path:
    """Return the file that a reference means, inside `package_roots` or, if it is relative, inside `folder`.

    Args:
        node: element that carries the reference, for messages.
        reference: ``package://name/path``, ``file://path`` or a relative path.
        folder: of the description; None if it came as a text.
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
    looked = ", ".join(str(place) for place in places) or "nowhere"
    advice = "name the folder that holds the package with package_roots=" if package else "it counts from the file"
    return node.fail(f"mesh {shown(reference)} is not there (looked at {looked}); {advice}", "mesh-file")


def _inside(path: Path, root: Path) -> bool:
    """Whether the path, links followed, lies in root."""
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError, ValueError):
        return False
