# SPDX-License-Identifier: Apache-2.0
"""KRL's values: aggregates such as ``{X 100, Y 0, Z 50, A 0, B 90, C 0, S 2, T 10}``, frames, loads and their parts.

Millimetres and degrees; A, B, C mean R = Rz(A) Ry(B) Rx(C).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from armwright.programs.interpreter.program_values import (
    RecordValue,
    Unknown,
    UnknownPart,
    Value,
    ValueTrouble,
    number_of,
    unknown_in,
)
from armwright.programs.languages.program_draft import DEG, MM, pose_abc
from armwright.programs.program import Payload
from armwright.spatial import euler_from_rotation
from armwright.types import Array

AXES = tuple(f"a{i}" for i in range(1, 7))
PLACE = ("x", "y", "z", "a", "b", "c")
EXTERNAL = tuple(f"e{i}" for i in range(1, 7))
PARTS: dict[str, frozenset[str]] = {
    "frame": frozenset(PLACE),
    "pos": frozenset((*PLACE, "s", "t")),
    "e6pos": frozenset((*PLACE, "s", "t", *EXTERNAL)),
    "axis": frozenset(AXES),
    "e6axis": frozenset((*AXES, *EXTERNAL)),
    "load": frozenset(("m", "cm", "j")),
}
ALL_PARTS = frozenset().union(*PARTS.values())
HOME = dict(zip(AXES, (0.0, -90.0, 90.0, 0.0, 0.0, 0.0), strict=True))  # degrees, where no file says it
C_PTP_PERCENT = 50.0  # percent, used where $APO.CPTP was not set


def numbers_in(value: RecordValue) -> dict[str, Any]:
    """Return the parts of a record as floats, records inside it as dictionaries; what is not known makes a gap."""
    found = unknown_in(value)
    if found is not None:
        raise UnknownPart(found)
    plain: dict[str, Any] = {}
    for name, part in value.parts.items():
        if isinstance(part, RecordValue) and (name in ("cm", "j") or name not in ALL_PARTS):
            plain[name] = numbers_in(part)
        elif name in ALL_PARTS:
            plain[name] = float(number_of(part, f"a number for {name.upper()}"))
    return plain


def frame_matrix(value: Value) -> Array:
    """Return T (4, 4) of a frame; components that are not given are 0."""
    if isinstance(value, Unknown):
        raise UnknownPart(value)
    if not isinstance(value, RecordValue):
        raise ValueTrouble("this is no frame", "{X …, Y …, Z …, A …, B …, C …}")
    parts = numbers_in(value)
    numbers = [parts.get(name, 0.0) for name in PLACE]
    return pose_abc(numbers[:3], numbers[3:])


def frame_record(T: Array, like: RecordValue | None = None) -> RecordValue:
    """Return T (4, 4) as a frame; status and external axes come from `like`."""
    angles = np.asarray(euler_from_rotation(T[:3, :3], "zyx").angles) / DEG
    parts: dict[str, Any] = dict(zip(PLACE, (float(v) for v in (*(T[:3, 3] * MM), *angles)), strict=True))
    if like is not None:
        parts |= {name: part for name, part in like.parts.items() if name not in PLACE}
    return RecordValue(like.kind if like is not None else "frame", parts)


def load_of(value: Value) -> Payload | None:
    """Return a load {M kg, CM {X mm, …}, J {X, Y, Z kg m²}} in the flange frame; M below 0 means none."""
    if isinstance(value, Unknown):
        raise UnknownPart(value)
    if not isinstance(value, RecordValue):
        raise ValueTrouble("this is no load", "{M …, CM {X …, Y …, Z …}, J {X …, Y …, Z …}}")
    parts = numbers_in(value)
    mass = parts.get("m", -1.0)
    if mass < 0.0:
        return None
    centre, moments = parts.get("cm", {}), parts.get("j", {})
    if not isinstance(centre, dict) or not isinstance(moments, dict):
        raise ValueTrouble("CM and J are aggregates", "{M …, CM {X …, Y …, Z …}, J {X …, Y …, Z …}}")
    T = pose_abc([centre.get(k, 0.0) for k in PLACE[:3]], [centre.get(k, 0.0) for k in PLACE[3:]])
    J = np.diag([moments.get(k, 0.0) for k in ("x", "y", "z")])
    inertia = T[:3, :3] @ J @ T[:3, :3].T if J.any() else None
    return Payload(mass, T[:3, 3], inertia)
