# SPDX-License-Identifier: Apache-2.0
"""Geometry of a sheet: a DH table, a modified DH table, screws with a home pose, or explicit frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.robot.parts import Source
from armwright.robot.sheet.text import Quantity, Table
from armwright.robot.sheet.units import Dimension, check_unit, to_si
from armwright.robot.sheet.values import columns_of, listed, matrix, real, take, vector
from armwright.spatial.euler import rotation_from_rpy
from armwright.spatial.poses import pose as pose_of

if TYPE_CHECKING:
    from armwright.types import Array

KINDS = ("dh", "mdh", "screws", "frames")
_COLUMNS: dict[str, dict[str, tuple[Dimension, ...] | None]] = {
    "dh": {"theta": ("angle",), "d": ("length",), "a": ("length",), "alpha": ("angle",)},
    "mdh": {"alpha": ("angle",), "a": ("length",), "theta": ("angle",), "d": ("length",)},
    "screws": {
        "vx": ("length", "number"),
        "vy": ("length", "number"),
        "vz": ("length", "number"),
        "wx": ("number",),
        "wy": ("number",),
        "wz": ("number",),
    },
}


def pose(table: Table, key: str, sources: dict[str, Source]) -> Array | None:
    """Read a pose: a 4×4 matrix, or a position with ``rpy`` (roll, pitch, yaw: R = Rz·Ry·Rx) in ``rpy_unit``."""
    q = take(table, key, "rpy", "rpy_unit")
    if q is None:
        return None
    if q.source is not None:
        sources[q.path] = q.source
    value = q.entries["value"]
    if isinstance(value, list) and len(value) == 4:
        unit = check_unit(q.entries.get("unit"), ("length",), q.refuse)
        T = np.array(matrix(q, value, 4, 4))
        T[:3, 3] = [to_si(float(x), unit) for x in T[:3, 3]]
        R = T[:3, :3]
        if np.abs(R.T @ R - np.eye(3)).max() > 1e-9 or np.linalg.det(R) < 0.0 or (T[3] != [0, 0, 0, 1]).any():
            raise q.refuse("the matrix is not a rigid transform (RᵀR = 1, det R = +1, last row 0 0 0 1)", "pose")
        return T
    R = np.eye(3)
    if "rpy" in q.entries:
        unit = check_unit(q.entries.get("rpy_unit"), ("angle",), q.refuse)
        rpy = [to_si(real(v, q), unit) for v in listed(q.entries["rpy"], 3, q)]
        R = np.asarray(rotation_from_rpy(np.array(rpy)))
    return np.asarray(pose_of(R, vector(q, 3, ("length",))))


def direction(table: Table, key: str) -> Array:
    """Read a unit vector (three plain numbers), z if absent."""
    value = table.entries.get(key, [0.0, 0.0, 1.0])
    q = Quantity({}, None, table.text, f"{table.path}.{key}")
    axis = np.array([real(v, q) for v in listed(value, 3, q)])
    length = float(np.linalg.norm(axis))
    if abs(length - 1.0) > 1e-9:
        raise q.refuse(f"an axis must have unit length, got {length:g}", "axis")
    return axis


def kind_of(tree: Table) -> tuple[str, Table]:
    """Return the kind of geometry and its table."""
    geometry = tree.table("geometry")
    if geometry is None:
        raise tree.refuse(f"missing section [geometry] with kind = {' | '.join(KINDS)}", "required section")
    kind = geometry.text_of("kind")
    if kind not in KINDS:
        raise geometry.refuse(f"unknown kind {kind!r}; valid: {', '.join(KINDS)}", "kind", "kind")
    geometry.only(*{"screws": ("kind", "rows", "home"), "frames": ("kind",)}.get(kind, ("kind", "rows")))
    return kind, geometry


def chain_rows(kind: str, geometry: Table, sources: dict[str, Source]) -> Array:
    """Return the rows of a DH, modified DH or screw table in SI, columns in the order of `from_dh` and friends."""
    rows: Any = geometry.entries.get("rows")
    if not isinstance(rows, Quantity):
        raise geometry.refuse("missing columns, units and rows", "required key")
    if rows.source is not None:
        sources[rows.path] = rows.source
    names = _COLUMNS[kind]
    table = [[row[name] for name in names] for row in columns_of(rows, names)]
    if not table:
        raise rows.refuse("a chain needs at least one row", "length")
    return np.array(table, dtype=np.float64)
