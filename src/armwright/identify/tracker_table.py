# SPDX-License-Identifier: Apache-2.0
"""Tables of calibration measurements: joint angles with places of the flange, poses, or the number of a touched point.

One row per posture. Joints by their names or numbered (q1 …); places as x, y, z; orientations as qx, qy, qz, qw, or
left out; touches as a column ``point``. Metres and radians, unless the reader is told else.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from armwright.errors import InputError
from armwright.identify.foreign_logs.column_choice import choose
from armwright.identify.foreign_logs.column_roles import words_of
from armwright.identify.foreign_logs.text_table import TextTable, read_text_table
from armwright.spatial import rotation_from_xyzw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armwright.robot.model import Robot
    from armwright.types import Array

LENGTH_UNITS = {"m": 1.0, "mm": 1e-3}


class TrackerTable(NamedTuple):
    """Measurements of a calibration.

    Attributes:
        q: (m, n) joint angles [rad]. measured: (m, 3) places [m] or (m, 4, 4) poses; None for touches.
        touched: (m,) number of the touched point; None for places.
        account: what was understood.
    """

    q: Array
    measured: Array | None
    touched: NDArray[np.int64] | None
    account: str


def read_tracker_table(
    path: str | Path, robot: Robot, *, length_unit: str = "m", degrees: bool = False
) -> TrackerTable:
    """Read a table of calibration measurements.

    Raises:
        InputError: a joint or the places are not in it, or a row is not whole.
    """
    if length_unit not in LENGTH_UNITS:
        raise InputError(f"calibration: unit of length must be {' or '.join(LENGTH_UNITS)}, got {length_unit!r}")
    table = read_text_table(Path(path))
    if table.names is None:
        raise InputError(f"{path}: a line of names is needed: the joints, x, y, z, perhaps qx, qy, qz, qw, or point")
    joints = [joint.name for joint in robot.joints]
    named = [k for k, name in enumerate(table.names) if name in joints]
    if len(named) == robot.n:
        columns: tuple[int, ...] = tuple(table.names.index(name) for name in joints)
    else:
        found = choose(table.names, table.words, joints)
        if "q" not in found.groups or found.questions or len(found.groups["q"].columns) != robot.n:
            raise InputError(
                f"{path}: the joints {', '.join(joints)} are not among its columns {', '.join(table.names)}"
            )
        columns = found.groups["q"].columns
    q = table.values[:, list(columns)] * (np.pi / 180.0 if degrees else 1.0)
    point = [k for k, name in enumerate(table.names) if name.strip().lower() in ("point", "touched", "touch")]
    places = _columns(table, ("x", "y", "z"))
    turn = _columns(table, ("qx", "qy", "qz", "qw"))
    if point:
        touched = table.values[:, point[0]]
        rows = np.isfinite(q).all(axis=1) & np.isfinite(touched)
        account = f"{Path(path).name}: {rows.sum()} touches of {len(np.unique(touched[rows]))} points"
        return TrackerTable(q[rows], None, touched[rows].astype(np.int64), account)
    if places is None:
        raise InputError(
            f"{path}: no columns x, y, z of a place, and none called point; it has {', '.join(table.names)}"
        )
    xyz = table.values[:, places] * LENGTH_UNITS[length_unit]
    measured = xyz
    if turn is not None:
        measured = np.tile(np.eye(4), (len(xyz), 1, 1))
        measured[:, :3, 3] = xyz
        measured[:, :3, :3] = [rotation_from_xyzw(value / np.linalg.norm(value)) for value in table.values[:, turn]]
    rows = np.isfinite(np.concatenate([q, measured.reshape(len(measured), -1)], axis=1)).all(axis=1)
    what = "places" if turn is None else "poses"
    return TrackerTable(q[rows], measured[rows], None, f"{Path(path).name}: {rows.sum()} {what} of the flange")


def _columns(table: TextTable, words: tuple[str, ...]) -> list[int] | None:
    """Return the first column of each word, alone or with a number behind it: x, x1, X_tcp."""
    out = []
    for word in words:
        found = [
            k
            for k, name in enumerate(table.names or ())
            if [w for w in words_of(name) if not w.isdigit()][:1] == [word]
        ]
        if not found:
            return None
        out.append(found[0])
    return out
