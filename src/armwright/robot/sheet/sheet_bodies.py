# SPDX-License-Identifier: Apache-2.0
"""Masses, centres of mass and inertia tensors of a sheet, generators included.

A body may give its tensor as printed (about the centre of mass or about the frame origin), or as the shapes its
document built it from: one cylinder, several cylinders, a point. The sheet keeps the shapes; the tensor is computed
here, so nothing is worked out by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armwright.schema.quantities import (
    MAX_ROWS,
    Dimension,
    check_unit,
    columns_of,
    listed,
    matrix,
    real,
    scalar,
    take,
    to_si,
    vector,
)
from armwright.schema.toml_text import Quantity, Source, Table
from armwright.spatial.inertia import MassProperties, about_com, cylinder_inertia, parallel_axis, sum_bodies

if TYPE_CHECKING:
    from armwright.types import Array

ROOT = "-"
"""Stands for the root link where a body is named."""
BODY_KEYS = ("mass", "com", "inertia", "data_origin")
_CYLINDERS: dict[str, tuple[Dimension, ...] | None] = {
    "axis": None,
    "mass": ("mass",),
    "radius": ("length",),
    "height": ("length",),
    "x": ("length",),
    "y": ("length",),
    "z": ("length",),
}


def all_mass_properties(bodies: dict[str, Table], sources: dict[str, Source]) -> list[MassProperties]:
    """Mass properties of every body; all are zero where none is stated: such a sheet is about kinematics alone."""
    if not any(key in body.entries for body in bodies.values() for key in BODY_KEYS):
        return [MassProperties(0.0, np.zeros(3), np.zeros((3, 3))) for _ in bodies]
    return [mass_properties(body, sources) for body in bodies.values()]


def mass_properties(body: Table, sources: dict[str, Source]) -> MassProperties:
    """Return mass, centre of mass and tensor about it, in the link frame, of one ``[bodies.NAME]`` table.

    ``data_origin`` is the point of the link frame from which the document measures this body (axes unchanged): RL15's
    link data, for instance, count from the wrist centre, which lies 825 mm from the DH frame.
    """
    shift_q, mass_q, com_q = take(body, "data_origin"), take(body, "mass"), take(body, "com")
    shift = vector(shift_q, 3, ("length",)) if shift_q else np.zeros(3)
    mass = scalar(mass_q, ("mass",), minimum=0.0) if mass_q else None
    com = vector(com_q, 3, ("length",)) if com_q else None
    for q in (shift_q, mass_q, com_q):
        _remember(sources, q)
    inertia = body.entries.get("inertia")
    if isinstance(inertia, Table) and inertia.entries.get("kind") == "cylinders":
        found = _cylinders(inertia, mass, com, sources)
    else:
        if mass is None:
            raise body.refuse("missing key 'mass' (only cylinders in the link frame can imply it)", "required key")
        com = np.zeros(3) if com is None else com
        found = MassProperties(mass, com, _tensor(body, inertia, mass, com, sources))
    return MassProperties(found.mass, found.com + shift, found.inertia)


def _remember(sources: dict[str, Source], q: Quantity | None) -> None:
    if q is not None and q.source is not None:
        sources[q.path] = q.source


def _tensor(body: Table, inertia: object, mass: float, com: Array, sources: dict[str, Source]) -> Array:
    if inertia is None:
        if mass > 0.0:
            raise body.refuse("missing key 'inertia'; a point mass is inertia = { kind = \"point\" }", "required key")
        return np.zeros((3, 3))
    if isinstance(inertia, Quantity):
        q = take(body, "inertia", "about")
        assert q is not None
        _remember(sources, q)
        return _printed(q, mass, com)
    if not isinstance(inertia, Table):
        raise body.refuse("inertia must be a table", "type", "inertia")
    kind = inertia.text_of("kind")
    if kind == "point":
        inertia.only("kind")
        return np.zeros((3, 3))
    if kind != "cylinder":
        raise inertia.refuse(
            f"unknown kind {kind!r}; valid: cylinder, cylinders, point, or a printed tensor "
            '{ value = [xx, yy, zz], unit = "kg m^2", about = "com" }',
            "kind",
            "kind",
        )
    inertia.only("kind", "mass", "radius", "height", "axis")
    numbers = {}
    for key in ("mass", "radius", "height"):
        part = take(inertia, key)
        if part is None:
            if key != "mass":
                raise inertia.refuse(f"a cylinder needs its {key}", "required key")
            numbers[key] = mass
            continue
        numbers[key] = scalar(part, ("mass",) if key == "mass" else ("length",), minimum=0.0)
        if part.source is not None:
            sources[inertia.path] = part.source
    return _shape(inertia, numbers["mass"], numbers["radius"], numbers["height"], inertia.text_of("axis"))


def _shape(place: Table | Quantity, mass: float, radius: float, height: float, axis: str) -> Array:
    if axis not in ("x", "y", "z"):
        raise place.refuse(f"axis must be x, y or z, got {axis!r}", "axis")
    return np.asarray(cylinder_inertia(mass, radius, height, axis), dtype=np.float64)


def _cylinders(inertia: Table, mass: float | None, com: Array | None, sources: dict[str, Source]) -> MassProperties:
    """Several cylinders; ``centres`` says whether x, y, z count from the centre of mass or in the link frame."""
    inertia.only("kind", "centres", "rows")
    centres = inertia.text_of("centres")
    rows = inertia.entries.get("rows")
    if centres not in ("com", "link") or not isinstance(rows, Quantity):
        raise inertia.refuse('cylinders need centres = "com" or "link", columns, units and rows', "cylinders")
    _remember(sources, rows)
    if rows.source is not None:
        sources[inertia.path] = rows.source
    parts = []
    for row in columns_of(rows, _CYLINDERS):
        if min(row["mass"], row["radius"], row["height"]) < 0.0:
            raise rows.refuse("mass, radius and height must be ≥ 0", "range")
        centre = np.array([row["x"], row["y"], row["z"]])
        parts.append((row["mass"], centre, _shape(rows, row["mass"], row["radius"], row["height"], row["axis"])))
    if centres == "com":
        if mass is None or com is None:
            raise inertia.refuse('cylinders with centres = "com" need the body\'s mass and com', "required key")
        # As the documents do: shift every cylinder by its own offset, without recentring on the sum.
        tensor = sum((parallel_axis(own, m, offset) for m, offset, own in parts), np.zeros((3, 3)))
        return MassProperties(mass, com, tensor)
    whole = sum_bodies(parts)
    if com is None:
        return MassProperties(whole.mass if mass is None else mass, whole.com, whole.inertia)
    tensor = parallel_axis(whole.inertia, whole.mass, whole.com - com)
    return MassProperties(whole.mass if mass is None else mass, com, tensor)


def _printed(q: Quantity, mass: float, com: Array) -> Array:
    """A tensor as printed: 3 numbers (diagonal), 6 (xx, yy, zz, xy, xz, yz matrix entries) or 3×3."""
    unit = check_unit(q.entries.get("unit"), ("inertia",), q.refuse)
    about = q.entries.get("about")
    if about not in ("com", "origin"):
        raise q.refuse('say what the tensor is about: about = "com" or about = "origin"', "about")
    value = q.entries["value"]
    if isinstance(value, list) and value and isinstance(value[0], list):
        tensor = np.array(matrix(q, value, 3, 3))
        if np.abs(tensor - tensor.T).max() > 1e-12 * max(1.0, float(np.abs(tensor).max())):
            raise q.refuse("inertia must be symmetric", "symmetric")
    else:
        size = 6 if isinstance(value, list) and len(value) == 6 else 3
        xx, yy, zz, xy, xz, yz = ([real(v, q) for v in listed(value, size, q)] + [0.0, 0.0, 0.0])[:6]
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    tensor = np.array([[to_si(float(v), unit) for v in row] for row in tensor])
    return tensor if about == "com" else np.asarray(about_com(tensor, mass, com))


def tables(tree: Table) -> dict[str, Table]:
    """Return the ``[bodies.NAME]`` tables by name, in the order of the file; empty if there is no such section."""
    bodies = tree.table("bodies")
    if bodies is None:
        return {}
    if len(bodies.entries) > MAX_ROWS:
        raise bodies.refuse(f"at most {MAX_ROWS} bodies", "rows")
    for name, body in bodies.entries.items():
        if not isinstance(body, Table):
            raise bodies.refuse("a body must be a table", "type", name)
        if name in ("", ROOT):
            raise bodies.refuse(f"a body cannot be called {name!r}", "name", name)
    return dict(bodies.entries)
