# SPDX-License-Identifier: Apache-2.0
"""World files: TOML in, `World` out, every number with its unit, every defect with file, line and rule.

The format by example::

    name = "two obstacles"
    [surface]                                     # for all shapes that say nothing else
    stiffness = { value = 100, unit = "N/mm" }    # 1e5 N/m if absent
    damping = { value = 0, unit = "N s/m" }
    friction = { value = 0.3, unit = "-" }
    [shapes.floor]
    kind = "half-space"                           # point, normal
    point = { value = [0, 0, -50], unit = "mm" }
    [shapes.pillar]
    kind = "cylinder"                             # centre, axis (z), radius, height (infinite)
    centre = { value = [0.4, 0.1, 0], unit = "m" }
    radius = { value = 30, unit = "mm" }
    friction = { value = 0.5, unit = "-" }
    [shapes.wall]
    kind = "cylinders"                            # many upright ones: wall-1, wall-2, …
    columns = ["x", "y", "radius"]
    units = ["m", "m", "m"]
    rows = [[0.4, 0.1, 0.03], [0.4, 0.2, 0.03]]

    [task]                                        # if the world was made for one: configurations of an arm
    robot = "ur5"
    start = { value = [0, -90, 90, 0, 90, 0], unit = "deg" }
    goal = { value = [60, -90, 90, 0, 90, 0], unit = "deg" }

    [tool_task]                                   # or one for the tool alone, on a map of cells counted from 1
    robots = ["ur5"]                              # that near and rotation are meant for
    cells = [20, 20]                              # along x and y (and z); the outermost bound it unless ring = false
    origin = { value = [0.12, -0.28, 0], unit = "m" }   # cell c has its centre at origin + size · c
    size = { value = 26, unit = "mm" }
    start = [2, 11]
    goal = [18, 7]
    near = { value = [146, -64, 147, 7, 90, -34], unit = "deg" }    # the tool is near the start cell there
    rotation = [[0, 1, 0], [1, 0, 0], [0, 0, -1]]       # of the tool, kept; that of near if absent

Further kinds: ``sphere`` (centre, radius), ``capsule`` (start, end, radius), ``box`` (centre, size, and rpy or
rotation), ``mesh`` (``file`` in the folder of the world's, with ``unit``, or vertices and triangles).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import DescriptionError, InputError
from armwright.robot.sheet.sheet_joints import direction
from armwright.robot.sheet.sheet_read import file_text
from armwright.schema.checks import anything, flag, listed, record
from armwright.schema.quantities import check_unit, columns_of, matrix, real, scalar, take, to_si, vector
from armwright.schema.quantities import listed as row_of
from armwright.schema.toml_text import Quantity, Table, read_tree
from armwright.spatial.euler import rotation_from_rpy
from armwright.world.shapes import Box, Capsule, Cylinder, HalfSpace, Mesh, Shape, Sphere, kind_of
from armwright.world.world import MAX_SHAPES, JointTask, ToolTask, World

if TYPE_CHECKING:
    from armwright.world.shapes import Vector

_LIST = listed(anything)
TOOL_TASK = record(
    {"robots": _LIST, "cells": _LIST, "origin": anything, "size": anything, "start": _LIST, "goal": _LIST}
    | {"near": anything},
    {"rotation": _LIST, "ring": flag},
)


def need(table: Table, key: str) -> Quantity:
    """Return a quantity that must be there."""
    q = take(table, key)
    if q is None:
        raise table.refuse(f"missing key {key!r}", "required key")
    return q


def _joints(table: Table, key: str) -> tuple[float, ...]:
    q = need(table, key)
    unit = check_unit(q.entries.get("unit"), ("angle", "length"), q.refuse)
    value = q.entries["value"]
    if not isinstance(value, list) or not value:
        raise q.refuse("must be a list of joint coordinates", "type")
    return tuple(to_si(real(v, q), unit) for v in value)


def read_task(table: Table | None) -> JointTask | None:
    """Return the task of the whole arm, if there is one."""
    if table is None:
        return None
    table.only("robot", "start", "goal")
    rows = (_joints(table, "start"), _joints(table, "goal"))
    try:
        return JointTask(table.text_of("robot"), *rows)
    except InputError as error:
        raise table.refuse(str(error), "task") from None


def read_tool_task(table: Table | None) -> ToolTask | None:
    """Return the task of the tool, if there is one."""
    if table is None:
        return None
    found = TOOL_TASK(table, table.refuse)
    found |= {"origin": _point(table, "origin"), "size": scalar(need(table, "size"), ("length",))}
    try:
        return ToolTask(**found | {"near": _joints(table, "near")})
    except (InputError, TypeError, ValueError) as error:
        raise table.refuse(str(error), "tool_task") from None


def task_lines(task: JointTask | None, tool_task: ToolTask | None) -> list[str]:
    """Return both as lines of a world file."""
    lines = []
    if task is not None:
        lines += ["", "[task]", f"robot = {quoted(task.robot)}"]
        lines += [f'{key} = {{ value = {numbers(getattr(task, key))}, unit = "rad" }}' for key in ("start", "goal")]
    if tool_task is not None:
        lines += ["", "[tool_task]", f"robots = [{', '.join(quoted(name) for name in tool_task.robots)}]"]
        lines += [f"{key} = {numbers(getattr(tool_task, key))}" for key in ("cells", "start", "goal")]
        for key, unit in (("origin", "m"), ("size", "m"), ("near", "rad")):
            lines.append(f'{key} = {{ value = {numbers(getattr(tool_task, key))}, unit = "{unit}" }}')
        lines += [f"rotation = {numbers(tool_task.rotation)}"] if tool_task.rotation else []
        lines.append(f"ring = {str(tool_task.ring).lower()}")
    return lines


def numbers(value: object) -> str:
    """Return numbers, in lists of lists or alone, as they stand in a file."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(numbers(v) for v in value) + "]"
    return repr(value)


def quoted(value: str) -> str:
    """Return a text as it stands in a file."""
    out = []
    for char in value:
        plain = char not in '"\\' and (ord(char) >= 32 and ord(char) != 127)
        out.append(char if plain else f"\\u{ord(char):04x}")
    return '"' + "".join(out) + '"'


SECTIONS = ("name", "title", "notes", "sources", "surface", "shapes", "task", "tool_task")
SURFACE = ("stiffness", "damping", "friction")
_STIFFNESS_UNITS = {"N/m": 1.0, "N/mm": 1e3, "kN/m": 1e3}
_KEYS = {
    "sphere": ("centre", "radius"),
    "capsule": ("start", "end", "radius"),
    "cylinder": ("centre", "axis", "radius", "height"),
    "cylinders": ("rows",),
    "box": ("centre", "size", "rpy", "rotation"),
    "half-space": ("point", "normal"),
    "mesh": ("file", "unit", "vertices", "triangles"),
}


def read_world(path: str | Path) -> World:
    """Read a world from a file."""
    file = Path(path)
    return world_from_text(file_text(file), str(file), file.parent)


def world_from_text(content: str, file: str = "world", folder: Path | None = None) -> World:
    """Read a world from its text; meshes named by ``file`` are looked for in `folder`."""
    tree = read_tree(content, file, _no_extends)
    tree.only(*SECTIONS)
    common = _surface(tree.table("surface"), dict.fromkeys(SURFACE, 0.0) | {"stiffness": 1e5}, only=True)
    shapes: list[Shape] = []
    table = tree.table("shapes")
    for name in table.entries if table else ():
        entry = table.table(name) if table else None
        if entry is None:
            raise tree.refuse(f"shape {name!r} must be a table", "type", f"shapes.{name}")
        try:
            shapes += _shapes(name, entry, common, folder)
        except InputError as error:
            raise entry.refuse(str(error), "shape") from None
        if len(shapes) > MAX_SHAPES:
            raise tree.refuse(f"at most {MAX_SHAPES} shapes", "size", "shapes")
    try:
        about = (tree.text_of("name"), tree.text_of("title", ""), tree.text_of("notes", ""))
        return World(tuple(shapes), *about, read_task(tree.table("task")), read_tool_task(tree.table("tool_task")))
    except InputError as error:
        raise DescriptionError(str(error), where=tree.where("shapes"), rule="world") from None


def _no_extends(name: str) -> tuple[str, str]:
    raise DescriptionError("worlds do not extend each other")


def _surface(table: Table | None, default: dict[str, float], *, only: bool = False) -> dict[str, float]:
    if table is None:
        return default
    if only:
        table.only(*SURFACE)
    out = dict(default)
    q = take(table, "stiffness")
    if q is not None:
        unit = q.entries.get("unit")
        if not isinstance(unit, str) or unit not in _STIFFNESS_UNITS:
            raise q.refuse(
                f"unit of a stiffness must be one of: {', '.join(_STIFFNESS_UNITS)}; got {unit!r:.40}", "unit"
            )
        out["stiffness"] = real(q.entries["value"], q) * _STIFFNESS_UNITS[unit]
        if out["stiffness"] <= 0.0:
            raise q.refuse(f"must be > 0, got {out['stiffness']:g}", "range")
    for key, dimension in (("damping", "linear damping"), ("friction", "number")):
        q = take(table, key)
        if q is not None:
            out[key] = scalar(q, (dimension,), minimum=0.0)  # type: ignore[arg-type]
    return out


def _point(table: Table, key: str) -> Vector:
    return tuple(vector(need(table, key), 3, ("length",)).tolist())


def _size(table: Table, key: str) -> float:
    q = need(table, key)
    value = scalar(q, ("length",))
    if value <= 0.0:
        raise q.refuse(f"must be > 0, got {value:g}", "range")
    return value


def _height(table: Table, key: str) -> float:
    return _size(table, key) if key in table.entries else math.inf


def _axis(table: Table, key: str) -> Vector:
    return tuple(direction(table, key).tolist())


def _rotation(table: Table, key: str) -> Any:
    rpy = take(table, "rpy")
    plain = table.entries.get(key)
    if rpy is not None and plain is not None:
        raise table.refuse("give rpy or rotation, not both", "rotation", "rpy")
    if rpy is not None:
        R = np.asarray(rotation_from_rpy(vector(rpy, 3, ("angle",))))
    elif plain is not None:
        q = Quantity({}, None, table.text, f"{table.path}.{key}")
        R = np.array(matrix(q, plain, 3, 3))
    else:
        R = np.eye(3)
    return tuple(tuple(row) for row in R.tolist())


_SHAPES: dict[str, Any] = {
    "sphere": Sphere,
    "capsule": Capsule,
    "cylinder": Cylinder,
    "box": Box,
    "half-space": HalfSpace,
}
_READ: dict[str, Callable[[Table, str], Any]] = dict.fromkeys(("centre", "start", "end", "point", "size"), _point) | {
    "radius": _size,
    "height": _height,
    "axis": _axis,
    "normal": _axis,
    "rotation": _rotation,
}


def _shapes(name: str, table: Table, common: dict[str, float], folder: Path | None) -> list[Shape]:
    kind = table.text_of("kind")
    if kind not in _KEYS:
        raise table.refuse(f"unknown kind {kind!r}; valid: {', '.join(_KEYS)}", "kind", "kind")
    table.only("kind", *_KEYS[kind], *SURFACE)
    surface: dict[str, Any] = _surface(table, common)
    surface["name"] = name
    if kind == "cylinders":
        return _many(name, table, surface)
    if kind == "mesh":
        return [_mesh(table, surface, folder)]
    return [_SHAPES[kind](**{key: _READ[key](table, key) for key in _KEYS[kind] if key in _READ}, **surface)]


def _many(name: str, table: Table, surface: dict[str, Any]) -> list[Shape]:
    rows = table.entries.get("rows")
    if not isinstance(rows, Quantity):
        raise table.refuse("missing columns, units and rows", "required key")
    found = columns_of(rows, {"x": ("length",), "y": ("length",), "radius": ("length",)})
    out: list[Shape] = []
    for k, row in enumerate(found, start=1):
        if row["radius"] <= 0.0:
            raise rows.refuse(f"row {k}: radius must be > 0, got {row['radius']:g}", "range")
        out.append(
            Cylinder(centre=(row["x"], row["y"], 0.0), radius=row["radius"], **(surface | {"name": f"{name}-{k}"}))
        )
    return out


def _mesh(table: Table, surface: dict[str, Any], folder: Path | None) -> Mesh:
    if "file" in table.entries:
        from armwright.world.mesh_distance import load_mesh

        file = table.text_of("file")
        unit = check_unit(table.text_of("unit"), ("length",), lambda message, rule: table.refuse(message, rule, "unit"))
        if folder is None or "/" in file or "\\" in file or "\0" in file or file.startswith("."):
            raise table.refuse("file names a mesh in the folder of the world file, not a path", "file", "file")
        return load_mesh(folder / file, scale=to_si(1.0, unit), **surface)
    q = need(table, "vertices")
    unit = check_unit(q.entries.get("unit"), ("length",), q.refuse)
    rows = q.entries["value"] if isinstance(q.entries["value"], list) else []
    points = [tuple(to_si(real(v, q), unit) for v in row_of(row, 3, q)) for row in rows]
    faces = table.entries.get("triangles")
    t = Quantity({}, None, table.text, f"{table.path}.triangles")
    if not isinstance(faces, list):
        raise table.refuse("missing key 'triangles'", "required key")
    corners = [tuple(real(v, t) for v in row_of(row, 3, t)) for row in faces]
    return Mesh(vertices=tuple(points), triangles=tuple(corners), **surface)  # type: ignore[arg-type]


def world_text(world: World) -> str:
    """Return the world as text; reading it back gives an equal world."""
    lines = [
        f"{key} = {quoted(getattr(world, key))}"
        for key in ("name", "title", "notes")
        if getattr(world, key) or key == "name"
    ]
    for shape in world.shapes:
        lines += ["", f"[shapes.{quoted(shape.name)}]", f'kind = "{kind_of(shape)}"']
        for key in (*_KEYS[kind_of(shape)], *SURFACE):
            value = getattr(shape, key, None)
            if value is None or (key == "height" and math.isinf(value)):
                continue
            unit = {"stiffness": "N/m", "damping": "N s/m", "friction": "-"}.get(key, "m")
            plain = key in ("axis", "normal", "rotation", "triangles")
            lines.append(
                f"{key} = {numbers(value)}" if plain else f'{key} = {{ value = {numbers(value)}, unit = "{unit}" }}'
            )
    lines += task_lines(world.task, world.tool_task)
    return "\n".join(lines) + "\n"
