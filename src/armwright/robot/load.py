# SPDX-License-Identifier: Apache-2.0
"""Loading of arms by one function: a catalogue name, a sheet, a URDF, MJCF or xacro file, or the text of one.

Names of the `robot_descriptions` package work too where that is installed; it fetches what is used for the first time.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from armwright.arguments import names_culprit
from armwright.errors import DescriptionError, InputError
from armwright.robot.model import Robot
from armwright.robot.sheet.sheet_read import (
    Implausible,
    catalogue_names,
    catalogue_text,
    finder,
    nearest,
    read_sheet,
    robot_from_text,
)
from armwright.schema.toml_text import Quantity, Table, read_tree

PACKAGE = "robot_descriptions"
ENDING = "_description"


class Described(NamedTuple):
    """Where a description lies: its file (URDF, MJCF or xacro) and the folders in which its meshes are."""

    path: Path
    roots: list[Path]


def is_described(name: str) -> bool:
    """Return whether a name can be one of `robot_descriptions` and that package is installed; nothing is imported."""
    return name.endswith(ENDING) and name.isidentifier() and importlib.util.find_spec(PACKAGE) is not None


def find_described(name: str) -> Described:
    """Ask `robot_descriptions` for a description by name, e.g. "panda_description"; it may download it.

    Raises:
        DescriptionError: if it has no such description, or could not fetch it.
    """
    try:
        module = importlib.import_module(f"{PACKAGE}.{name}")
    except ModuleNotFoundError as error:
        raise DescriptionError(f"{PACKAGE} has no {name!r} ({error})", rule="name") from error
    except Exception as error:
        raise DescriptionError(f"{PACKAGE} could not fetch {name!r}: {error}", rule="name") from error
    for word in ("URDF_PATH", "MJCF_PATH", "XACRO_PATH"):
        if hasattr(module, word):
            roots = [getattr(module, label, None) for label in ("PACKAGE_PATH", "REPOSITORY_PATH")]
            found = [Path(root) for root in roots if root]
            return Described(Path(getattr(module, word)), [folder.parent for folder in found[:1]] + found)
    raise DescriptionError(f"{PACKAGE}: {name!r} names neither a URDF, an MJCF nor a xacro file", rule="name")


class Entry(NamedTuple):
    """One line of the catalogue: name for `load`, title, number of joints, and the documents it rests on."""

    name: str
    title: str
    n: int
    source: str


@names_culprit
def load(
    name_or_path: str | Path,
    *,
    implausible: Implausible = "refuse",
    base: str | None = None,
    tip: str | None = None,
    package_roots: Sequence[str | Path] | None = None,
    arguments: Mapping[str, str] | None = None,
) -> Robot:
    """Load a robot.

    Args:
        name_or_path: a catalogue name in any case ("ur5", see `robots`); a sheet (``.toml``), a URDF (``.urdf``,
            ``.xml``), an MJCF model (``.xml``) or a xacro file (``.xacro``, needs the extra ``[xacro]``); the text of a
            sheet, URDF or MJCF model; or, where `robot_descriptions` is installed, one of its names
            ("panda_description").
        implausible: what to do with bodies that no matter can form. "refuse" them; or "warn" and load them as written:
            of a sheet any (a negative moment and a singular mass matrix included, an indefinite one not), of a URDF or
            MJCF those whose moments or size are absurd, while a negative mass or moment stays refused. Links that are
            fixed to each other are judged as one body. What is merely doubtful loads either way; `check` lists it.
        base: link of a URDF or body of an MJCF model to stand on (default: its root); everything above is left out.
        tip: link (body, site) that becomes the tool, also one on a fixed joint. The chain from the base to it is cut
            out: joints off it are locked at 0 (or the limit nearest to it), their mass stays, and a warning names
            them. Default: the whole tree, with the tool on the deepest leaf.
        package_roots: folders that hold packages: there ``$(find …)`` of a xacro file looks, and there meshes and
            included files may lie.
        arguments: values of the ``<xacro:arg>`` of a xacro file.

    Returns:
        The robot. Links that are fixed to others, and sites, are its `frames`. Without any inertia it has kinematics
        alone: dynamics then say which links lack what.

    Raises:
        DescriptionError: unknown name (with the nearest names first), unreadable or defective file.

    >>> robot = aw.load("ur5")
    """
    if not isinstance(name_or_path, (str, Path)):
        raise InputError(f"load: expected a name or a path, got {type(name_or_path).__name__}")
    text = str(name_or_path)
    lines = "\n" in text or text.lstrip("\ufeff \t").startswith("<")
    suffix = "" if lines else Path(text).suffix.lower()
    if suffix != ".xacro" and arguments:
        raise InputError("load: arguments are those of a xacro file")
    if suffix in (".urdf", ".xml", ".xacro") or text.lstrip("\ufeff \t\r\n").startswith("<"):
        from armwright.robot.urdf.xml_load import load_xml

        return load_xml(
            text if lines else Path(text),
            implausible=implausible,
            base=base,
            tip=tip,
            package_roots=None if package_roots is None else [Path(folder) for folder in package_roots],
            arguments=arguments,
        )
    name = text.lower()
    if is_described(text) and name not in catalogue_names():
        found = find_described(text)
        roots = [*found.roots, *(package_roots or ())]
        return load(found.path, implausible=implausible, base=base, tip=tip, package_roots=roots)
    if base is not None or tip is not None:
        raise InputError("load: base and tip cut a chain from a URDF or MJCF tree; sheets describe the arm itself")
    if suffix == ".toml":
        return read_sheet(Path(text), implausible=implausible)
    if lines:
        return robot_from_text(text, "<text>", implausible=implausible)
    if name not in catalogue_names():
        raise DescriptionError(
            f"no robot {text!r} in the catalogue, and not a .toml, .urdf, .xml or .xacro file; {nearest(text)}",
            rule="name",
        )
    return robot_from_text(*catalogue_text(name), finder(None), implausible=implausible)


def robots() -> list[Entry]:
    """Return the entries of the catalogue, by name, without building the robots.

    >>> [entry.name for entry in aw.robots()]
    """
    out = []
    for name in catalogue_names():
        content, file = catalogue_text(name)
        tree = read_tree(content, file, finder(None))
        out.append(Entry(name, tree.text_of("title", ""), _joints(tree), _documents(tree)))
    return out


def _joints(tree: Table) -> int:
    """Number of bodies, or of rows of geometry where a sheet of kinematics alone names no bodies."""
    bodies, geometry = tree.table("bodies"), tree.table("geometry")
    if bodies is not None or geometry is None:
        return len(bodies.entries) if bodies is not None else 0
    rows = geometry.entries.get("rows")
    return len(rows.entries["rows"]) if isinstance(rows, Quantity) else 0


def _documents(tree: Table) -> str:
    """Documents cited by the numbers of the arm's equations, most cited first."""
    count: dict[str, int] = {}

    def walk(table: Table) -> None:
        for key, value in table.entries.items():
            if isinstance(value, Table) and key != "measured":
                walk(value)
            elif isinstance(value, Quantity) and value.source is not None:
                count[value.source.document] = count.get(value.source.document, 0) + 1

    walk(tree)
    return "; ".join(sorted(count, key=lambda document: -count[document]))
