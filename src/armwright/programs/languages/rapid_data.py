# SPDX-License-Identifier: Apache-2.0
"""Data types of RAPID: their parts, what every controller knows beforehand, and what records mean to a move.

robtarget   [trans [x,y,z] mm, rot [q1,q2,q3,q4] (w, x, y, z), robconf [cf1,cf4,cf6,cfx], extax [six axes]]
jointtarget [robax [six angles, degrees], extax [six axes]]
speeddata   [v_tcp mm/s, v_ori °/s, v_leax, v_reax]
zonedata    [finep, pzone_tcp mm, pzone_ori mm, pzone_eax, zone_ori °, zone_leax, zone_reax]
loaddata    [mass kg, cog mm, aom (axes of moment, w, x, y, z), ix, iy, iz kg m²]
tooldata    [robhold, tframe, tload]
wobjdata    [robhold, ufprog, ufmec, uframe, oframe]
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from armwright.programs.interpreter.program_values import RecordValue, Unknown, Value, ValueTrouble
from armwright.programs.languages.program_draft import DEG, MM
from armwright.programs.program import Blend, Distance, Fraction, Payload, Speed, Stop, ToolRate
from armwright.spatial import apply, rotation_from_wxyz, sum_bodies, wxyz_from_rotation
from armwright.spatial import pose as pose_of
from armwright.types import Array

UNUSED = 9e9  # how RAPID writes an axis or a bound that is not there
NO_LOAD = 0.001  # kg, with which controllers stand for "nothing" in tool0 and load0


def _parts(*pairs: str) -> tuple[tuple[str, str], ...]:
    """Return names and types of parts from ``type: name name``."""
    return tuple((name, kind) for pair in pairs for kind, _, names in [pair.partition(": ")] for name in names.split())


FIELDS: dict[str, tuple[tuple[str, str], ...]] = {
    "pos": _parts("num: x y z"),
    "orient": _parts("num: q1 q2 q3 q4"),
    "pose": _parts("pos: trans", "orient: rot"),
    "confdata": _parts("num: cf1 cf4 cf6 cfx"),
    "extjoint": _parts("num: eax_a eax_b eax_c eax_d eax_e eax_f"),
    "robjoint": _parts("num: rax_1 rax_2 rax_3 rax_4 rax_5 rax_6"),
    "robtarget": _parts("pos: trans", "orient: rot", "confdata: robconf", "extjoint: extax"),
    "jointtarget": _parts("robjoint: robax", "extjoint: extax"),
    "speeddata": _parts("num: v_tcp v_ori v_leax v_reax"),
    "zonedata": _parts("bool: finep", "num: pzone_tcp pzone_ori pzone_eax zone_ori zone_leax zone_reax"),
    "loaddata": _parts("num: mass", "pos: cog", "orient: aom", "num: ix iy iz"),
    "tooldata": _parts("bool: robhold", "pose: tframe", "loaddata: tload"),
    "wobjdata": _parts("bool: robhold ufprog", "string: ufmec", "pose: uframe oframe"),
}
SAID = {  # how a type is called where it does not fit
    "robtarget": "a robtarget: position, quaternion, status, external axes",
    "jointtarget": "a jointtarget: six angles, external axes",
    "robjoint": "the six joints of a jointtarget",
    "orient": "a quaternion",
    "confdata": "the status",
    "extjoint": "external axes",
}
NUMBERS = ("num", "dnum", "byte")
ATOMS = (*NUMBERS, "bool", "string")
TYPES = (*FIELDS, *ATOMS)
OTHER_TYPES = frozenset(
    [
        "btnres",
        "busstate",
        "buttondata",
        "cameradev",
        "cameratarget",
        "cfgdomain",
        "clock",
        "corrdescr",
        "datapos",
        "dionum",
        "dir",
        "egmframetype",
        "egmident",
        "egmstate",
        "egmstopmode",
        "egm_minmax",
        "errdomain",
        "errnum",
        "errstr",
        "errtype",
        "event_type",
        "exec_level",
        "gundata",
        "handler_type",
        "icondata",
        "identno",
        "inposdata",
        "intnum",
        "iodev",
        "iounit_state",
        "listitem",
        "loadidnum",
        "loadsession",
        "mecunit",
        "motsetdata",
        "opcalc",
        "opnum",
        "paridnum",
        "paridvalidnum",
        "pathrecid",
        "progdisp",
        "rawbytes",
        "restartdata",
        "rmqheader",
        "rmqmessage",
        "rmqslot",
        "seamdata",
        "sensor",
        "sensorstate",
        "shapedata",
        "signalai",
        "signalao",
        "signaldi",
        "signaldo",
        "signalgi",
        "signalgo",
        "signalorigin",
        "socketdev",
        "socketstatus",
        "spotdata",
        "stopmovestartreason",
        "stoppoint",
        "stoppointdata",
        "switch",
        "symnum",
        "syncident",
        "taskid",
        "tasks",
        "testsignal",
        "tpnum",
        "trapdata",
        "trapevent",
        "triggdata",
        "triggflag",
        "triggios",
        "triggiosdnum",
        "triggmode",
        "triggstrgo",
        "tunetype",
        "uishownum",
        "visiondata",
        "weavedata",
        "welddata",
        "wzstationary",
        "wztemporary",
    ]
)
"""Types of the language whose values no move depends on, or only those that the running cell knows."""
_ZONES = {0: (0.3, 0.03), 1: (1, 0.1), 5: (8, 0.8), 10: (15, 1.5), 15: (23, 2.3), 20: (30, 3), 30: (45, 4.5)}
_ZONES |= {40: (60, 6), 50: (75, 7.5), 60: (90, 9), 80: (120, 12), 100: (150, 15), 150: (225, 23), 200: (300, 30)}
_SPEEDS: tuple[int, ...] = (
    5,
    10,
    20,
    30,
    40,
    50,
    60,
    80,
    100,
    150,
    200,
    300,
    400,
    500,
    600,
    800,
    1000,
    1500,
    2000,
    2500,
    3000,
)
_SPEEDS += (4000, 5000, 6000, 7000)


def record(kind: str, value: Value, records: dict[str, tuple[tuple[str, str], ...]] = FIELDS) -> Value:
    """Return nested lists as records of a type; what does not fit is a `ValueTrouble`."""
    parts = records.get(kind)
    if parts is None or not isinstance(value, list):
        return value
    if len(value) != len(parts):
        _too_few(kind, value, parts)
    return RecordValue(kind, {name: record(inner, v, records) for (name, inner), v in zip(parts, value, strict=True)})


def _too_few(kind: str, value: list[Any], parts: tuple[tuple[str, str], ...]) -> None:
    if kind == "robtarget" and 2 <= len(value) < 4:
        missing = "status [cf1,cf4,cf6,cfx]" if len(value) == 2 else "external axes"
        raise ValueTrouble(f"the robtarget lacks its {missing}", "[[xyz],[wxyz],[4 status],[6 axes]]")
    few = "too few" if len(value) < len(parts) else "too many"
    raise ValueTrouble(f"{few} items, {len(value)}, for {SAID.get(kind, kind)}", f"[…] of {len(parts)}")


def blank(kind: str, records: dict[str, tuple[tuple[str, str], ...]] = FIELDS) -> Value:
    """Return what data of a type has without a value: 0, FALSE, an empty text, or records of these."""
    if kind in records:
        return RecordValue(kind, {name: blank(inner, records) for name, inner in records[kind]})
    return {"bool": False, "string": ""}.get(kind, 0.0)


def numbers(value: RecordValue) -> list[Any]:
    """Return the parts of a record, in their order."""
    return list(value.parts.values())


def _framed(xyz: list[float], wxyz: list[float]) -> RecordValue:
    return record("pose", [xyz, wxyz])


HERE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
LOAD0 = [NO_LOAD, [0.0, 0.0, NO_LOAD], [1.0, 0.0, 0.0, 0.0], 0.0, 0.0, 0.0]


def predefined() -> dict[str, Any]:
    """Return what every controller knows: v5 … v7000, vmax, fine, z0 … z200, tool0, wobj0, load0, and constants."""
    known: dict[str, Any] = {f"v{v}": record("speeddata", [float(v), 500.0, 5000.0, 1000.0]) for v in _SPEEDS}
    known["vmax"] = record("speeddata", [math.inf, 500.0, 5000.0, 1000.0])
    for z, (way, angle) in _ZONES.items():
        known[f"z{z}"] = record("zonedata", [False, float(z or 0.3), float(way), float(way), angle, float(way), angle])
    return {
        **known,
        "fine": record("zonedata", [True, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        "tool0": record("tooldata", [True, HERE, LOAD0]),
        "wobj0": record("wobjdata", [False, True, "", HERE, HERE]),
        "load0": record("loaddata", LOAD0),
        "pi": math.pi,
        **dict.fromkeys(("high", "on", "edge"), 1.0),
        **dict.fromkeys(("low", "off"), 0.0),
    }


# --- what records mean to a move --------------------------------------------------------------------------------------


class Tool(NamedTuple):
    """A tool's frame in the flange, and its own weight."""

    T_flange_tool: Array
    load: Payload | None


def matrix(pose: RecordValue) -> Array:
    """Return T (4, 4) of a record with ``trans`` [mm] and ``rot``, which must have unit length to 1e-3."""
    xyz, wxyz = numbers(pose.parts["trans"]), numbers(pose.parts["rot"])
    length = math.sqrt(math.fsum(c * c for c in wxyz))
    if not abs(length - 1.0) <= 1e-3:
        message = f"a quaternion of length {length:.6g}; the order is w, x, y, z"
        raise ValueTrouble(message, "four numbers whose squares add up to 1")
    T: Array = pose_of(rotation_from_wxyz(np.asarray(wxyz) / length), np.asarray(xyz) / MM)
    return T


def pose_record(T: Array) -> RecordValue:
    """Return T (4, 4) as a pose in millimetres."""
    return _framed([float(x) for x in T[:3, 3] * MM], [float(c) for c in wxyz_from_rotation(T[:3, :3])])


def speed_of(data: RecordValue) -> Speed:
    """Return how fast to move: vmax is all that the arm can do."""
    v, w, _, _ = numbers(data)
    if v == math.inf:
        return Fraction(1.0)
    return ToolRate(v / MM, None if w == UNUSED or w == 0.0 else w * DEG)


def seam_of(value: list[Value]) -> Value:
    """Return welddata as far as moves depend on them: ``[weld_speed, org_weld_speed, arc, arc]``.

    Older controllers leave out parts that their configuration does not have: which is which is not known.
    """
    if len(value) == 4 and all(isinstance(arc, list) for arc in value[2:]):
        return RecordValue("welddata", dict(zip(("weld_speed", "org_weld_speed"), value, strict=False)))
    return Unknown("which part of these welddata is the speed depends on the controller", ("welddata",))


def zone_of(data: RecordValue) -> Blend:
    """Return what happens at the target; a zone without size is a stop."""
    fine, position, orientation, _, angle, *_ = numbers(data)
    if fine is True or position == 0.0:
        return Stop()
    return Distance(position / MM, orientation / MM or None, angle * DEG or None)


def load_of(data: RecordValue) -> Payload | None:
    """Return a load; the centre is in whichever frame the load belongs to."""
    mass, cog, aom, *moments = numbers(data)
    if mass == NO_LOAD and not any(moments):
        return None
    R = matrix(RecordValue("pose", {"trans": cog, "rot": aom}))[:3, :3]
    inertia = R @ np.diag(moments) @ R.T if any(moments) else None
    return Payload(mass, np.array(numbers(cog)) / MM, inertia)


def tool_of(data: RecordValue) -> Tool:
    """Return a tool that the arm holds."""
    if data.parts["robhold"] is not True:
        raise ValueTrouble("tools that stand beside the arm are not followed", "robhold = TRUE")
    return Tool(matrix(data.parts["tframe"]), load_of(data.parts["tload"]))


def frame_of(data: RecordValue) -> Array:
    """Return a work object's frame, in the arm's base."""
    parts = data.parts
    if parts["robhold"] is True or parts["ufprog"] is not True or parts["ufmec"]:
        raise ValueTrouble("work objects that move are not followed", 'robhold FALSE, ufprog TRUE, ufmec ""')
    T: Array = matrix(parts["uframe"]) @ matrix(parts["oframe"])
    return T


def carried(tool: Tool, grip: Payload | None) -> Payload | None:
    """Return the tool's own weight and what it grips (given in the tool's frame) as one load in the flange frame."""
    if grip is None:
        return tool.load
    T = tool.T_flange_tool
    R = T[:3, :3]
    inertia = None if grip.inertia is None else R @ grip.inertia @ R.T
    held = Payload(grip.mass, apply(T, grip.com), inertia)
    if tool.load is None:
        return held
    loads = [(p.mass, p.com, np.zeros((3, 3)) if p.inertia is None else p.inertia) for p in (tool.load, held)]
    both = sum_bodies(loads)
    return Payload(float(both.mass), both.com, both.inertia)


def turn_xyz(angles_deg: list[float]) -> Array:
    """Return R (3, 3) of turns about x, then y, then z, each in the frame as turned so far (RelTool)."""
    R: Array = np.eye(3)
    for axis, angle in enumerate(angles_deg):
        half = 0.5 * angle * DEG
        wxyz = np.zeros(4)
        wxyz[0], wxyz[1 + axis] = math.cos(half), math.sin(half)
        R = R @ rotation_from_wxyz(wxyz)
    return R
