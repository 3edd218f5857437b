# SPDX-License-Identifier: Apache-2.0
"""An arm of somebody's on the page: the files that came with it, the link that carries its tool, and its meshes.

A description comes alone, or in an archive (a zip; a folder that is dropped on the page arrives as one) with meshes.
Archives are unpacked with limits, into a folder of this studio's: names with a root or ``..``, links, and kinds of
files that have no use here are left out. A reference to a mesh is resolved by its end, ``package://any/meshes/a.stl``
by the file whose path shares the longest end with it: packages are rarely where the description thinks they are.
"""

from __future__ import annotations

import io
import re
import shutil
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from armwright.errors import ArmwrightError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armwright.robot.model import Robot

DESCRIPTIONS = (".urdf", ".xml", ".toml")
MESHES = (".stl", ".obj", ".ply", ".dae")
MOST_ENTRIES = 2_000  # files of an archive that are looked at
MOST_UNPACKED = 256 << 20  # bytes of all that is unpacked
NOT_ROBOTS = ("package.xml", "scene.xml")  # of ROS, and MuJoCo's surroundings


@dataclass(frozen=True)
class OwnArm:
    """What came, and what was chosen of it.

    Attributes:
        folder: where it lies. files: descriptions, relative paths, the likeliest first.
        file: the one that is shown. tip: the link that carries the tool, as asked; None for the description's own.
    """

    folder: Path
    files: tuple[str, ...]
    file: str
    tip: str | None = None

    @property
    def path(self) -> Path:
        """Return the path of the description."""
        return self.folder / self.file

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        shutil.rmtree(self.folder, ignore_errors=True)


def own_arm(name: str, content: bytes, parent: Path) -> OwnArm:
    """Keep what came, a description or an archive, in a folder below `parent`.

    Raises:
        InputError: it is no archive, too large, or holds no description of an arm.
    """
    folder = Path(mkdtemp(dir=parent))
    if not name.lower().endswith(".zip"):
        (folder / name).write_bytes(content)
        return OwnArm(folder, (name,), name)
    try:
        files = _unpacked(name, content, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return OwnArm(folder, files, files[0])


def _unpacked(name: str, content: bytes, folder: Path) -> tuple[str, ...]:
    """Write the files of an archive that have a use; return the descriptions among them."""
    found, room = [], MOST_UNPACKED
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_ENTRIES:
                raise InputError(f"{name}: {len(entries)} files; at most {MOST_ENTRIES} are looked at")
            for entry in entries:
                place = _place(entry)
                if place is None:
                    continue
                with archive.open(entry) as packed:
                    data = packed.read(room + 1)
                room -= len(data)
                if room < 0:
                    raise InputError(f"{name}: unpacks to more than {MOST_UNPACKED >> 20} MiB")
                target = folder.joinpath(*place.parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
                if _is_description(place, data):
                    found.append(place)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise InputError(f"{name}: is no zip that can be read ({error})") from error
    if not found:
        xacro = " A .xacro is not expanded here: `xacro FILE > arm.urdf` first." if b".xacro" in content else ""
        raise InputError(f"{name}: holds no description of an arm (.urdf, MJCF's .xml or a sheet's .toml).{xacro}")
    likeliest = sorted(found, key=lambda p: (DESCRIPTIONS.index(p.suffix.lower()), len(p.parts), str(p)))
    return tuple(str(place) for place in likeliest)


def _place(entry: zipfile.ZipInfo) -> PurePosixPath | None:
    """Where an entry of an archive belongs, below the folder; None for one that is left out."""
    place = PurePosixPath(entry.filename.replace("\\", "/"))
    wanted = place.suffix.lower() in DESCRIPTIONS + MESHES
    ordinary = stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
    plain = all(re.fullmatch(r"[\w .+()@-]{1,120}", part) and part.strip(". ") for part in place.parts)
    return place if wanted and ordinary and plain and not place.is_absolute() and not entry.is_dir() else None


def _is_description(place: PurePosixPath, data: bytes) -> bool:
    if place.suffix.lower() not in DESCRIPTIONS or place.name in NOT_ROBOTS:
        return False
    head = data[:20_000]
    if place.suffix.lower() == ".toml":
        return b"[geometry]" in data
    return b"<mujoco" in head if place.suffix.lower() == ".xml" and b"<robot" not in head else b"<robot" in head


def links_of(robot: Robot) -> list[str]:
    """Return the links that may carry the tool, those at the ends of chains first; of an arm that was not cut."""
    carried = {body.parent for body in robot.bodies}
    bodies = [body.name for body in robot.bodies]
    ends = {name for k, name in enumerate(bodies) if k not in carried}
    held = [frame.name for frame in robot.frames if frame.parent >= 0]
    at_ends = [frame.name for frame in robot.frames if frame.parent >= 0 and bodies[frame.parent] in ends]
    first = [*at_ends, *(name for name in bodies if name in ends)]
    return list(dict.fromkeys([*first, *held, *bodies]))


def drawn_meshes(robot: Robot, path: Path, folder: Path) -> tuple[list[dict[str, Any]], str]:
    """Return what a page draws of a URDF's meshes, and in words what is not drawn; see `mesh_spec`.

    Args:
        robot: the arm as loaded from `path`.
        path: its URDF.
        folder: in which its meshes may lie, anywhere.
    """
    from armwright.recording.replay.drawn_meshes import mesh_spec
    from armwright.world.arm_shapes import link_shapes

    if path.suffix.lower() != ".urdf":
        return [], ""
    there = [file for file in sorted(folder.rglob("*")) if file.suffix.lower() in MESHES]
    text, asked, missing = _with_places(path.read_bytes(), folder, there)
    if asked == missing:  # none is there, or none is asked for
        return [], ""
    drawn = path.with_name(f"{path.stem}.drawn.urdf")
    try:
        drawn.write_text(text, encoding="utf-8")
        shapes = link_shapes(robot, drawn, "visual", package_roots=[folder])
    except (ArmwrightError, OSError) as error:
        return [], f"its meshes are not drawn: {error}".replace(str(folder), "").replace(".drawn.urdf", ".urdf")
    finally:
        drawn.unlink(missing_ok=True)
    return mesh_spec(shapes), f"{missing} of {asked} meshes did not come with it" if missing else ""


def _with_places(content: bytes, folder: Path, there: Sequence[Path]) -> tuple[str, int, int]:
    """Return a URDF whose references lead to the meshes that are there, how many are asked for, how many missing.

    What is drawn of other shapes stays; a mesh that is not there is left out.
    """
    from xml.etree.ElementTree import tostring

    from defusedxml.ElementTree import fromstring

    root, asked, missing = fromstring(content), 0, 0
    for link in root.iter("link"):
        for layer in ("visual", "collision"):
            for part in link.findall(layer):
                mesh = part.find("geometry/mesh")
                if layer == "collision" or mesh is None:
                    continue
                asked += 1
                found = _nearest(mesh.get("filename", ""), there)
                if found is None:
                    missing += 1
                    link.remove(part)
                else:
                    mesh.set("filename", f"package://{quote(found.relative_to(folder).as_posix())}")
    return tostring(root, encoding="unicode"), asked, missing


def _nearest(reference: str, there: Sequence[Path]) -> Path | None:
    """Return the file whose path shares the longest end with a reference, None if not even the name is there."""
    wanted = [part.lower() for part in reference.replace("\\", "/").split("/") if part not in ("", ".", "..")]

    def shared(file: Path) -> int:
        parts = [part.lower() for part in file.parts]
        same = 0
        while same < min(len(parts), len(wanted)) and parts[-1 - same] == wanted[-1 - same]:
            same += 1
        return same

    best = max(there, key=shared, default=None)
    return best if best is not None and shared(best) else None
