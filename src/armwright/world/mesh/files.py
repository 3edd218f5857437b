# SPDX-License-Identifier: Apache-2.0
"""Triangles from STL, OBJ and PLY files of strangers: every count and index is checked before anything rests on it.

General importers, written for graphics, read past the end of memory on mutated files; these three formats are small
enough to be read here. COLLADA is left to trimesh (`armwright.world.mesh.collada`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import DescriptionError
from armwright.regular_file import read_regular
from armwright.world.mesh.collada import read_collada
from armwright.world.mesh.faces import MAX_TRIANGLES, MeshFileError, check_points, triangles_of
from armwright.world.mesh.ply import read_ply

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
    """Give vertices at one place one number, as STL needs, and leave out triangles that lose a corner by it."""
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
