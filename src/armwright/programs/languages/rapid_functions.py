# SPDX-License-Identifier: Apache-2.0
"""Functions of RAPID that a program's value may depend on: arithmetic in degrees, places, turns, texts.

Each takes known values by place and options by name and returns a value; what only the running cell knows is told
apart (`OUTSIDE`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from armwright.programs.interpreter.program_values import RecordValue, Value, ValueTrouble, copied, rounded
from armwright.programs.languages.program_draft import DEG, MM
from armwright.programs.languages.rapid_data import matrix, numbers, pose_record, record, turn_xyz
from armwright.spatial import euler_from_rotation, inverse, rotation_from_euler, rotation_from_wxyz, wxyz_from_rotation

Options = dict[str, Any]
OUTSIDE = {
    "clkread": "a clock",
    "gettime": "the time of day",
    "cdate": "the date",
    "ctime": "the time of day",
    "readnum": "a file",
    "readstr": "a file",
    "readbin": "a file",
    "readstrbin": "a file",
    "uinumentry": "the operator",
    "uimessagebox": "the operator",
    "uilistview": "the operator",
    "uialphaentry": "the operator",
    "opmode": "the operating mode",
    "runmode": "the running mode",
    "gettaskname": "the task",
    "robname": "the robot",
    "testsignread": "the servos",
    "getmotortorque": "the servos",
    "socketgetstatus": "a socket",
    "isstopmoveact": "the state of motion",
    "robos": "the controller",
    "rand": "chance",
    "eventtype": "the event",
    "filesize": "a file",
    "isfile": "a file",
    "modexist": "the controller",
    "validio": "the controller",
    "taskrunmec": "the controller",
    "taskrunrob": "the controller",
    "getmecunitname": "the controller",
    "ismechunitactive": "the controller",
    "motionplannerno": "the controller",
    "nonmotionmode": "the operating mode",
    "ppmovedinmanmode": "the operator",
    "paridposvalid": "the servos",
    "readmotor": "the servos",
    "indinpos": "the state of motion",
    **dict.fromkeys(("ctool", "cwobj"), "the data that are active"),
    **dict.fromkeys(("defaccframe", "defdframe", "mirpos", "orobt"), "a frame, which is not followed"),
    **dict.fromkeys(("filetime", "filetimednum", "fssize", "modtime", "modtimednum"), "a file"),
    **dict.fromkeys(("uidnumentry", "uidnumtune", "uinumtune", "uiclientexist"), "the operator"),
    **dict.fromkeys(("rawbyteslen", "socketpeek"), "what was received"),
    **dict.fromkeys(("camgetexposure", "camgetloadedjob", "camgetname", "camnumberofresults"), "a camera"),
    **dict.fromkeys(("ispers", "isvar", "triggdatavalid", "getmodalpayloadmode", "taskinsync"), "the controller"),
    **dict.fromkeys(("bitcheck", "bitlsh", "bitneg", "bitrsh", "bitxor"), "bits, which are not followed"),
    **dict.fromkeys(("strfind", "strmap", "strmatch", "strmemb", "strorder", "strdigcalc", "strdigcmp"), "a text"),
    **dict.fromkeys(("bytetostr", "strtobyte", "valtostr", "dectohex", "hextodec", "type"), "a text"),
}
INPUTS = ("testdi", "dinput", "doutput", "ginput", "goutput", "ainput", "aoutput", "ginputdnum", "goutputdnum")


def _moved(target: RecordValue, T: Value) -> RecordValue:
    """Return a target, or a pose, at another place."""
    new = copied(target)
    new.parts.update(pose_record(T).parts)
    new.name = ""
    return new


def offs(o: Options, target: RecordValue, x: float, y: float, z: float) -> RecordValue:
    """Return a target moved along the axes of its frame."""
    new = copied(target)
    for name, shift in zip("xyz", (x, y, z), strict=True):
        new.parts["trans"].parts[name] += shift
    new.name = ""
    return new


def rel_tool(o: Options, target: RecordValue, x: float, y: float, z: float) -> RecordValue:
    """Return a target moved and turned in the tool's own frame."""
    T = np.eye(4)
    T[:3, 3] = np.array([x, y, z]) / MM
    T[:3, :3] = turn_xyz([float(o.get(name, 0.0)) for name in ("rx", "ry", "rz")])
    return _moved(target, matrix(target) @ T)


def pose_mult(o: Options, a: RecordValue, b: RecordValue) -> RecordValue:
    """Return b, given in a, in a's own frame."""
    return pose_record(matrix(a) @ matrix(b))


def pose_inv(o: Options, a: RecordValue) -> RecordValue:
    """Return the inverse."""
    return pose_record(inverse(matrix(a)))


def pose_vect(o: Options, a: RecordValue, p: RecordValue) -> RecordValue:
    """Return a point, given in a, in a's own frame."""
    T = matrix(a)
    xyz = T[:3, :3] @ np.array(numbers(p)) + T[:3, 3] * MM
    return _pos(xyz)


def _pos(xyz: Value) -> RecordValue:
    made: RecordValue = record("pos", [float(x) for x in xyz])
    return made


def orient_zyx(o: Options, z: float, y: float, x: float) -> RecordValue:
    """Return the turn about z, then y, then x."""
    R = rotation_from_euler(np.array([z, y, x]) * DEG, "zyx")
    made: RecordValue = record("orient", [float(c) for c in wxyz_from_rotation(R)])
    return made


def euler_zyx(o: Options, turn: RecordValue) -> float:
    """Return one of the angles z, y, x of a turn [°]."""
    wxyz = np.array(numbers(turn))
    z, y, x = np.degrees(euler_from_rotation(rotation_from_wxyz(wxyz / np.linalg.norm(wxyz)), "zyx").angles)
    return float(x if "x" in o else y if "y" in o else z)


def normed(o: Options, turn: RecordValue) -> RecordValue:
    """Return a quaternion of unit length."""
    wxyz = np.array(numbers(turn))
    if not np.linalg.norm(wxyz) > 0.0:
        raise ValueTrouble("a quaternion of length 0", "four numbers, one of them not 0")
    made: RecordValue = record("orient", [float(c) for c in wxyz / np.linalg.norm(wxyz)])
    return made


def distance(o: Options, a: RecordValue, b: RecordValue) -> float:
    """Return the distance of two points [mm]."""
    return float(np.linalg.norm(np.array(numbers(a)) - np.array(numbers(b))))


def def_frame(o: Options, p1: RecordValue, p2: RecordValue, p3: RecordValue) -> RecordValue:
    """Return a frame: p1 on x (its origin unless said otherwise), p2 on x, p3 beside it (the default origin is p1)."""
    a, b, c = (np.array(numbers(p.parts["trans"])) / MM for p in (p1, p2, p3))
    if float(o.get("origin", 1.0)) != 1.0:
        raise ValueTrouble("DefFrame with \\Origin is not followed", "no \\Origin")
    x = b - a
    z = np.cross(x, c - a)
    if not (np.linalg.norm(x) > 0.0 and np.linalg.norm(z) > 0.0):
        raise ValueTrouble("three points on one line make no frame", "three points that span a plane")
    x, z = x / np.linalg.norm(x), z / np.linalg.norm(z)
    T = np.eye(4)
    T[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    T[:3, 3] = a
    return pose_record(T)


def _root(o: Options, x: float) -> float:
    if x < 0.0:
        raise ValueTrouble("the root of a number below 0", "0 or more")
    return math.sqrt(x)


def _arc(function: Callable[[float], float]) -> Callable[[Options, float], float]:
    def value(o: Options, x: float) -> float:
        if not -1.0 <= x <= 1.0:
            raise ValueTrouble(f"no angle has {x:g} as its sine or cosine", "-1 to 1")
        return function(x) / DEG

    return value


def _round(o: Options, x: float) -> float:
    scale = 10.0 ** float(o.get("dec", 0.0))
    return rounded(x * scale) / scale


def _trunc(o: Options, x: float) -> float:
    scale = 10.0 ** float(o.get("dec", 0.0))
    return math.trunc(x * scale) / scale


def _text(o: Options, x: float, decimals: float) -> str:
    return f"{x:.{max(0, min(12, int(decimals)))}f}"


def _size(o: Options, array: Value, dimension: float) -> float:
    for _ in range(int(dimension) - 1):
        array = array[0]
    return float(len(array))


def _part(o: Options, text: str, start: float, length: float) -> str:
    return text[int(start) - 1 : int(start) - 1 + int(length)]


def _to_value(o: Options, text: str) -> float:
    return float(text)


FUNCTION_OPTIONS = {
    "reltool": ("rx", "ry", "rz"),
    "eulerzyx": ("x", "y", "z"),
    "defframe": ("origin",),
    "round": ("dec",),
    "trunc": ("dec",),
    "numtostr": ("exp",),
    "dnumtonum": ("integer",),
    "cspeedoverride": ("ctask",),
}
"""Options of the functions below; those that are not here have none."""
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "offs": offs,
    "reltool": rel_tool,
    "posemult": pose_mult,
    "poseinv": pose_inv,
    "posevect": pose_vect,
    "orientzyx": orient_zyx,
    "eulerzyx": euler_zyx,
    "norient": normed,
    "distance": distance,
    "defframe": def_frame,
    "vectmagn": lambda o, p: float(np.linalg.norm(numbers(p))),
    "dotprod": lambda o, a, b: float(np.dot(numbers(a), numbers(b))),
    "abs": lambda o, x: abs(x),
    "sqrt": _root,
    "pow": lambda o, x, y: float(x**y),
    "exp": lambda o, x: math.exp(x),
    "sin": lambda o, x: math.sin(x * DEG),
    "cos": lambda o, x: math.cos(x * DEG),
    "tan": lambda o, x: math.tan(x * DEG),
    "asin": _arc(math.asin),
    "acos": _arc(math.acos),
    "atan": lambda o, x: math.atan(x) / DEG,
    "atan2": lambda o, y, x: math.atan2(y, x) / DEG,
    "round": _round,
    "trunc": _trunc,
    "min": lambda o, a, b: min(a, b),
    "max": lambda o, a, b: max(a, b),
    "dim": _size,
    "numtodnum": lambda o, x: x,
    "dnumtonum": lambda o, x: x,
    "numtostr": _text,
    "strlen": lambda o, text: float(len(text)),
    "strpart": _part,
    "cspeedoverride": lambda o: 100.0,
    "maxrobspeed": lambda o: math.inf,
    "bitand": lambda o, a, b: float(int(a) & int(b)),
    "bitor": lambda o, a, b: float(int(a) | int(b)),
}
