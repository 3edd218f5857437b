# SPDX-License-Identifier: Apache-2.0
"""Which XML it is: a URDF, an MJCF model, or a xacro file that stands for a URDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from armwright.robot.model import Robot
from armwright.robot.urdf.plausible import Verdict
from armwright.robot.urdf.read import document, read_urdf
from armwright.robot.urdf.xml_safe import parse_xml


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
        from armwright.robot.urdf.xacro import expand_xacro

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
        from armwright.robot.mjcf.read import read_mjcf

        return read_mjcf(source, implausible=implausible, base=base, tip=tip, package_roots=package_roots)
    return read_urdf(
        source, implausible=implausible, base=base, tip=tip, cut=tip is not None, package_roots=package_roots
    )


def _is_mjcf(source: str | Path) -> bool:
    content, file = document(source, "XML file")
    return parse_xml(content, file).tag == "mujoco"
