# SPDX-License-Identifier: Apache-2.0
"""Xacro files, expanded by the `xacro` package into the URDF they stand for.

Xacro evaluates expressions and includes other files, so only files that one would run are expanded; what comes out is
read as strictly as every URDF.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.parsers.expat import ExpatError

from armwright.errors import DescriptionError
from armwright.optional import need
from armwright.robot.urdf.xml_safe import read_bytes


def expand_xacro(
    path: Path, *, package_roots: Sequence[Path] | None = None, arguments: Mapping[str, str] | None = None
) -> str:
    """Return the URDF text of a xacro file.

    Args:
        path: the file.
        package_roots: folders that hold packages, for ``$(find name)``. Default: the folder in which the file's own
            package lies (the nearest one above it with a package.xml).
        arguments: values of its ``<xacro:arg>``.

    Raises:
        NotSupportedError: if xacro is not installed.
        DescriptionError: with what xacro said.
    """
    xacro = need("xacro", extra="xacro", purpose=f"expanding {path.name}")
    substitution = need("xacro.substitution_args", extra="xacro", purpose=f"expanding {path.name}")
    read_bytes(path, "xacro file")  # a clear error for what is missing, a device, or too large
    roots = own_roots(path) if package_roots is None else list(package_roots)

    def find(package: str) -> str:
        for root in roots:
            if (root / package).is_dir() and Path(package).name == package:
                return str(root / package)
        searched = ", ".join(str(root) for root in roots)
        raise substitution.SubstitutionException(f"package {package!r} is in none of: {searched}; name package_roots=")

    before = substitution._eval_find
    substitution._eval_find = find  # xacro itself only knows an installed ROS 2
    try:
        document = xacro.process_file(str(path), mappings=dict(arguments or {}))
    except (
        xacro.XacroException,
        substitution.SubstitutionException,
        ExpatError,
        OSError,
        ImportError,
        RecursionError,
    ) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise DescriptionError(f"xacro says: {said}", where=str(path), rule="xacro") from error
    finally:
        substitution._eval_find = before
    return str(document.toprettyxml(indent="  "))


def own_roots(path: Path) -> list[Path]:
    """The folder that holds the package in which a file lies; the file's own folder where there is no package.xml."""
    for folder in path.resolve().parents:
        if (folder / "package.xml").is_file():
            return [folder.parent]
    return [path.resolve().parent]
