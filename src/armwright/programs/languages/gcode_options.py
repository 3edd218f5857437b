# SPDX-License-Identifier: Apache-2.0
"""What a user says about a G-code program: its dialect, where part and machine lie, how the tool points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.programs.languages.gcode_dialects import DIALECTS
from armwright.robot.parts import frozen_pose

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def gcode_options(
    dialect: str | None,
    part: ArrayLike | None,
    tool_axis: Sequence[float] | None,
    spin: float,
    machine_home: Sequence[float] | None,
    machine_frame: ArrayLike | None,
) -> dict[str, Any]:
    """Return the options checked: frames (4, 4), directions and places (3,), angles [rad]."""
    if dialect is not None and dialect not in DIALECTS:
        raise InputError(f"dialect: expected one of {', '.join(DIALECTS)}, got {dialect!r}")
    if not math.isfinite(spin):
        raise InputError(f"spin: expected an angle [rad], got {spin}")
    axis = None if tool_axis is None else _three(tool_axis, "tool_axis")
    if axis is not None and not any(axis):
        raise InputError("tool_axis: expected a direction, got 0, 0, 0")
    return {
        "dialect": dialect,
        "part": None if part is None else frozen_pose(part, "part"),
        "tool_axis": axis,
        "spin": float(spin),
        "machine_home": None if machine_home is None else _three(machine_home, "machine_home"),
        "machine_frame": None if machine_frame is None else frozen_pose(machine_frame, "machine_frame"),
    }


def _three(values: Sequence[float], name: str) -> tuple[float, ...]:
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (3,) or not np.isfinite(found).all():
        raise InputError(f"{name}: expected three numbers, got {values!r}")
    return tuple(found.tolist())
