# SPDX-License-Identifier: Apache-2.0
"""PLY files: text, and binary of either byte order; vertices ``x y z`` and faces ``vertex_indices``."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from armwright.world.mesh.faces import MAX_TRIANGLES, MeshFileError, triangles_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
