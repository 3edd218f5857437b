# SPDX-License-Identifier: Apache-2.0
"""Triangles from STL, OBJ, PLY and COLLADA files of strangers: every count and index is checked before it is used.

General importers, written for graphics, read past the end of memory on mutated files; STL, OBJ and PLY (text, and
binary of either byte order; vertices ``x y z`` and faces ``vertex_indices``) are small enough to be read here. COLLADA
(.dae) is left to trimesh and pycollada (``armwright[mesh]``), after our own XML parser has seen it. Polygons become
triangles in `triangles_of`; `read_mesh_file` chooses the reader.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import DescriptionError
from armwright.files import read_regular
from armwright.packages import need
from armwright.schema.xml_text import parse_xml

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_TRIANGLES = 1_000_000
FARTHEST_VERTEX = 1e9  # coordinate of a vertex in units of the file; volumes of larger things overflow


class MeshFileError(Exception):
    """The content of a mesh file is wrong; the reader of the file adds its name."""


def check_points(points: NDArray[np.float64]) -> None:
    """Refuse vertices (n, 3) that are not finite or too far away."""
    if not (np.abs(points) <= FARTHEST_VERTEX).all():  # NaN compares false
        raise MeshFileError(f"the mesh has vertices that are not finite, or farther than {FARTHEST_VERTEX:g} away")


def triangles_of(faces: Sequence[Sequence[int]], points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Divide convex polygons, given by vertex indices, into triangles (m, 3) that fan out from their first corner.

    Raises:
        MeshFileError: a vertex that is not finite, an index without a vertex, fewer than three corners, a dent,
            too many triangles.
    """
    check_points(points)
    by_size: dict[int, list[Sequence[int]]] = {}
    for face in faces:
        by_size.setdefault(len(face), []).append(face)
    if min(by_size, default=3) < 3:
        raise MeshFileError(f"a face of {min(by_size)} corners")
    total = sum((size - 2) * len(group) for size, group in by_size.items())
    if total > MAX_TRIANGLES:
        raise MeshFileError(f"{total} triangles; at most {MAX_TRIANGLES} are read")
    parts = [np.empty((0, 3), dtype=np.int64)]
    for size, group in sorted(by_size.items()):
        corners = np.array(group, dtype=np.int64)
        if corners.min() < 0 or corners.max() >= len(points):
            raise MeshFileError(f"a face names a vertex that is not among the {len(points)} of the file")
        first = np.broadcast_to(corners[:, :1], (len(corners), size - 2))
        fans = np.stack([first, corners[:, 1:-1], corners[:, 2:]], axis=-1)
        if size > 3:
            _check_convex(points[fans])
        parts.append(fans.reshape(-1, 3))
    return np.concatenate(parts)


def _check_convex(fans: NDArray[np.float64]) -> None:
    """Refuse polygons (m, triangles, 3 corners, 3) whose triangles do not all turn the same way."""
    normals = np.cross(fans[:, :, 1] - fans[:, :, 0], fans[:, :, 2] - fans[:, :, 0])
    whole = normals.sum(axis=1, keepdims=True)
    if ((normals * whole).sum(axis=-1) < -1e-9 * (whole * whole).sum(axis=-1)).any():
        raise MeshFileError("a face with a dent; divide it into triangles when the file is written")


TYPES = {
    "char": "b",
    "uchar": "B",
    "short": "h",
    "ushort": "H",
    "int": "i",
    "uint": "I",
    "float": "f",
    "double": "d",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "float32": "f",
    "float64": "d",
}
FORMATS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
MAX_HEAD = 100_000
MAX_VERTICES = 3 * MAX_TRIANGLES
Take = Callable[[str, int], Sequence[float]]  # the next numbers of a file: kind, how many
_INDICES = ("vertex_indices", "vertex_index")


@dataclass(frozen=True)
class _Property:
    name: str
    kind: str  # of a number, as `struct` spells it
    length: str = ""  # kind of the length in front, if it is a list


@dataclass
class _Element:
    name: str
    count: int
    properties: list[_Property]


def read_ply(data: bytes) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return vertices (n, 3) and triangles (m, 3) as they stand in the file.

    Raises:
        MeshFileError: what is wrong.
    """
    order, elements, start = _head(data)
    known = {element.name: element for element in elements}
    if len(known) < len(elements):
        raise MeshFileError("a PLY file with two elements of one name")
    for name, most in (("vertex", MAX_VERTICES), ("face", MAX_TRIANGLES)):
        if name not in known or known[name].count > most:
            raise MeshFileError(f"a mesh in a PLY file has an element {name!r}, at most {most} times")
    take = _from_bytes(data, start, order) if order else _from_text(data[start:])
    found: dict[str, list[list[Sequence[float]]]] = {}
    for element in elements:
        found[element.name] = _rows(element, take)
        if {"vertex", "face"} <= set(found):
            break
    at = [_place(known["vertex"], axis) for axis in "xyz"]
    points = np.array([[row[k][0] for k in at] for row in found["vertex"]], dtype=np.float64).reshape(-1, 3)
    lists = next((p for p in known["face"].properties if p.name in _INDICES and p.length and p.kind not in "fd"), None)
    if lists is None:
        raise MeshFileError(f"the element 'face' has no list of whole numbers {' or '.join(_INDICES)}")
    place = known["face"].properties.index(lists)
    return points, triangles_of([[int(k) for k in row[place]] for row in found["face"]], points)


def _place(element: _Element, name: str) -> int:
    for place, found in enumerate(element.properties):
        if found.name == name and not found.length:
            return place
    raise MeshFileError(f"the element {element.name!r} has no property {name!r}")


def _head(data: bytes) -> tuple[str, list[_Element], int]:
    """Return byte order ("" for text), elements, and where the content begins."""
    end = data.find(b"end_header", 0, MAX_HEAD)
    close = data.find(b"\n", end)
    if not data.startswith(b"ply") or end < 0 or close < 0:
        raise MeshFileError(f"not a PLY file: it must begin with 'ply' and have 'end_header' within {MAX_HEAD} bytes")
    order: str | None = None
    elements: list[_Element] = []
    for line in data[:end].decode("ascii", "replace").splitlines()[1:]:
        words = line.split()
        match words:
            case [] | ["comment" | "obj_info", *_]:
                continue
            case ["format", kind, "1.0"] if kind in FORMATS:
                order = FORMATS[kind]
            case ["element", name, count] if count.isdecimal() and len(count) < 10:
                elements.append(_Element(name, int(count), []))
            case ["property", "list", length, kind, name] if {length, kind} <= set(TYPES) and elements:
                if TYPES[length] in "fd":
                    raise MeshFileError(f"the list {name[:40]!r} has a length that is not a whole number")
                elements[-1].properties.append(_Property(name, TYPES[kind], TYPES[length]))
            case ["property", kind, name] if kind in TYPES and elements:
                elements[-1].properties.append(_Property(name, TYPES[kind]))
            case _:
                raise MeshFileError(f"a line in the head of a PLY file that is not understood: {line[:60]!r}")
    if order is None or any(not element.properties for element in elements):
        raise MeshFileError("the head of a PLY file names its format, and the properties of every element")
    return order, elements, close + 1


def _rows(element: _Element, take: Take) -> list[list[Sequence[float]]]:
    """Return the properties of every item: a sequence of numbers each, of one if the property is not a list."""
    if element.count > MAX_VERTICES:
        raise MeshFileError(f"{element.count} items {element.name[:40]!r}; at most {MAX_VERTICES} are read")
    return [
        [take(p.kind, int(take(p.length, 1)[0])) if p.length else take(p.kind, 1) for p in element.properties]
        for _ in range(element.count)
    ]


def _from_text(text: bytes) -> Take:
    words = iter(text.split())

    def take(kind: str, count: int) -> Sequence[float]:
        found = [float(word) for word in islice(words, max(0, min(count, len(text))))]
        if len(found) != count:
            raise MeshFileError("the file ends before its last item, or a list has a negative length")
        if kind not in "fd" and any(number != int(number) for number in found):
            raise MeshFileError("a number that should be whole is not")
        return found

    return take


def _from_bytes(data: bytes, at: int, order: str) -> Take:
    def take(kind: str, count: int) -> Sequence[float]:
        nonlocal at
        start, size = at, struct.calcsize(f"{order}{kind}")
        if count < 0 or start + count * size > len(data):
            raise MeshFileError("the file ends before its last item, or a list has a negative length")
        at += count * size
        return struct.unpack_from(f"{order}{count}{kind}", data, start)

    return take


def read_collada(data: bytes) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return vertices (n, 3) [m] and triangles (m, 3) of the whole scene. The file's unit counts, its up axis does not.

    (That is how URDF readers take it.) Entities, document types and huge files are refused before pycollada sees them.
    """
    trimesh = need("trimesh", extra="mesh", purpose="reading COLLADA meshes")
    need("collada", extra="mesh", purpose="reading COLLADA meshes")
    try:
        root = parse_xml(data, "COLLADA")
    except DescriptionError as error:
        raise MeshFileError(str(error)) from None
    units = [node.attributes.get("meter", "1") for node in root.descendants() if node.tag.rpartition("}")[2] == "unit"]
    try:
        metres = float(units[0]) if units else 1.0
        mesh = trimesh.load_scene(io.BytesIO(data), file_type="dae").to_mesh()
        points, faces = np.array(mesh.vertices, dtype=np.float64), np.array(mesh.faces, dtype=np.int64)
    except Exception as error:  # noqa: BLE001 - pycollada lets the errors of lxml, NumPy and its own through
        raise MeshFileError(f"pycollada cannot read it: {error}") from None
    if not (np.isfinite(metres) and metres > 0.0):
        raise MeshFileError(f"its unit is {metres:g} m")
    points = points.reshape(-1, 3) * metres
    check_points(points)
    if not len(faces) or len(faces) > MAX_TRIANGLES:
        raise MeshFileError(f"{len(faces)} triangles; 1 to {MAX_TRIANGLES} are read")
    return points, faces.reshape(-1, 3)


if TYPE_CHECKING:
    from numpy.typing import NDArray

    Raw = tuple[NDArray[np.float64], NDArray[np.int64]]

MAX_BYTES = 64 * 2**20
_STL_HEAD, _STL_SIZE = 84, 50
_STL_FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("flags", "<u2")])
# one facet of a text file, word by word; None stands for a number
_STL_WORDS = (
    "facet",
    "normal",
    None,
    None,
    None,
    "outer",
    "loop",
    *("vertex", None, None, None) * 3,
    "endloop",
    "endfacet",
)


def read_mesh_file(path: Path) -> Raw:
    """Return vertices (n, 3), in units of the file, equal ones merged, and triangles (m, 3) of a mesh file.

    STL, OBJ and PLY are read here, COLLADA (in metres) by trimesh.

    Raises:
        DescriptionError: naming the file and what is wrong in it.
    """
    where, reader = str(path), READERS.get(path.suffix.lower())
    if reader is None:
        raise DescriptionError(f"not a mesh that can be read; valid: {', '.join(READERS)}", where=where, rule="mesh")
    try:
        return _merged(*reader(read_regular(path, MAX_BYTES)))
    except FileNotFoundError:
        raise DescriptionError("no such mesh file", where=where, rule="file") from None
    except OSError as error:
        raise DescriptionError(f"cannot read the mesh: {error.strerror or error}", where=where, rule="file") from None
    except (MeshFileError, ValueError, OverflowError) as error:
        raise DescriptionError(f"cannot read the mesh: {error}", where=where, rule="mesh") from None


def _merged(points: NDArray[np.float64], faces: NDArray[np.int64]) -> Raw:
    """Merge vertices at the same place, as STL needs, and leave out triangles that lose a corner by it."""
    places, number = np.unique(points + 0.0, axis=0, return_inverse=True)  # + 0.0: no negative zeros
    faces = number.reshape(-1)[faces]
    a, b, c = faces.T
    return places, faces[(a != b) & (b != c) & (c != a)]


def _read_stl(data: bytes) -> Raw:
    count = int.from_bytes(data[80:84], "little")
    if len(data) >= _STL_HEAD and len(data) == _STL_HEAD + _STL_SIZE * count:
        if count > MAX_TRIANGLES:
            raise MeshFileError(f"{count} triangles; at most {MAX_TRIANGLES} are read")
        corners = np.frombuffer(data, _STL_FACET, count, _STL_HEAD)["corners"].astype(np.float64).reshape(-1, 3)
    elif data[:5].lower() == b"solid":
        corners = _text_stl(data)
    else:
        raise MeshFileError(
            f"neither text that begins with 'solid' nor binary STL: {len(data)} bytes are not 84 + 50·{count}"
        )
    check_points(corners)
    return corners, np.arange(len(corners), dtype=np.int64).reshape(-1, 3)


def _text_stl(data: bytes) -> NDArray[np.float64]:
    text = re.sub(r"(?mi)^[ \t]*(?:end)?solid\b.*$", "", data.decode("ascii", "replace"))
    words, size = text.split(), len(_STL_WORDS)
    if len(words) % size:
        raise MeshFileError(f"text STL whose last facet is not whole ({len(words)} words, a facet has {size})")
    if len(words) > size * MAX_TRIANGLES:
        raise MeshFileError(f"{len(words) // size} triangles; at most {MAX_TRIANGLES} are read")
    columns = []
    for place, word in enumerate(_STL_WORDS):
        column = words[place::size]
        if word is None:
            columns.append([float(number) for number in column])
        elif wrong := next((found for found in column if found.lower() != word), None):
            raise MeshFileError(f"expected {word!r} in a facet of a text STL, found {wrong[:40]!r}")
    return np.array(columns[3:]).T.reshape(-1, 3)


def _read_obj(data: bytes) -> Raw:
    points: list[list[float]] = []
    faces: list[list[int]] = []
    for number, line in enumerate(data.decode("utf-8", "replace").replace("\\\n", " ").split("\n"), start=1):
        words = line.split()
        if not words or words[0] not in ("v", "f"):
            continue  # names, materials, normals, textures
        try:
            if words[0] == "v":
                x, y, z = words[1:4]
                points.append([float(x), float(y), float(z)])
            else:
                at = [int(word.partition("/")[0]) for word in words[1:]]
                if 0 in at:
                    raise ValueError("vertices are numbered from 1")
                faces.append([k - 1 if k > 0 else len(points) + k for k in at])
        except ValueError as error:
            raise MeshFileError(f"line {number}: {error}") from None
    rows = np.array(points, dtype=np.float64).reshape(-1, 3)
    return rows, triangles_of(faces, rows)


READERS: dict[str, Callable[[bytes], Raw]] = {
    ".stl": _read_stl,
    ".obj": _read_obj,
    ".ply": read_ply,
    ".dae": read_collada,
}
