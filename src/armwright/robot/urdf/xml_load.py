# SPDX-License-Identifier: Apache-2.0
"""XML files read as what they are: a URDF, an MJCF model, or a xacro file that stands for a URDF.

Xacro files are expanded by the `xacro` package. Xacro evaluates expressions and includes other files, so expand only
files that you would run; what comes out is read as strictly as every URDF.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from armwright.errors import DescriptionError
from armwright.packages import need
from armwright.robot.model import Robot
from armwright.robot.urdf.urdf_assemble import Verdict
from armwright.robot.urdf.urdf_read import document, read_urdf
from armwright.schema.xml_text import parse_xml, read_bytes


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
    substitution: Any = need("xacro.substitution_args", extra="xacro", purpose=f"expanding {path.name}")
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
    """Return the folder that holds a file's package; the file's own folder where there is no package.xml."""
    for folder in path.resolve().parents:
        if (folder / "package.xml").is_file():
            return [folder.parent]
    return [path.resolve().parent]


def load_xml(
    source: str | Path,
    *,
    implausible: Verdict = "refuse",
    base: str | None = None,
    tip: str | None = None,
    package_roots: Sequence[Path] | None = None,
    arguments: Mapping[str, str] | None = None,
) -> Robot:
    """Read an arm from a file or text by what its root element says; see `armwright.load` for the arguments."""
    suffix = source.suffix.lower() if isinstance(source, Path) else ""
    if suffix == ".xacro":
        from armwright.robot.urdf.xml_load import expand_xacro

        assert isinstance(source, Path)
        text = expand_xacro(source, package_roots=package_roots, arguments=arguments)
        return read_urdf(
            text,
            implausible=implausible,
            base=base,
            tip=tip,
            cut=tip is not None,
            package_roots=package_roots,
            called=f"{source} (expanded)",
        )
    if suffix != ".urdf" and _is_mjcf(source):
        from armwright.robot.mjcf.mjcf_read import read_mjcf

        return read_mjcf(source, implausible=implausible, base=base, tip=tip, package_roots=package_roots)
    return read_urdf(
        source, implausible=implausible, base=base, tip=tip, cut=tip is not None, package_roots=package_roots
    )


def _is_mjcf(source: str | Path) -> bool:
    content, file = document(source, "XML file")
    return parse_xml(content, file).tag == "mujoco"
