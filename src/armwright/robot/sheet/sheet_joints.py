# SPDX-License-Identifier: Apache-2.0
"""Joints and motors of a sheet: geometry, names, kinds, limits, friction, gears, and what was measured at the drives.

The geometry is a DH table, a modified DH table, screws with a home pose, or explicit frames. Section ``[measured]``
says what somebody measured at the drives of this arm. It is read and kept (`Robot.measured`); no equation of the arm
uses it by itself::

    [measured]
    from = "ur5-kufieta-c"      # what this sheet says of friction and torque constants (or its own [measured]),
                                # for all that is not written here
    torque_offset = { value = [0.5, -0.2], unit = "N m", source = "book (6.6)" }
    rotor_inertia = { value = 0.1, unit = "kg m^2", source = "book p. 3" }

Torque constants and rotor inertia are joint side here: those of ``from`` are taken through its gears.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armwright.errors import DescriptionError, InputError
from armwright.robot.parts import Actuators, CurrentMap, Friction, Joint, JointKind, Limits, Measured
from armwright.schema.quantities import (
    MAX_ROWS,
    Dimension,
    Dimensions,
    check_unit,
    columns_of,
    in_si,
    listed,
    matrix,
    per_joint,
    real,
    take,
    to_si,
    vector,
)
from armwright.schema.toml_text import Quantity, Source, Table, read_tree
from armwright.spatial.euler import rotation_from_rpy
from armwright.spatial.poses import pose as pose_of

if TYPE_CHECKING:
    from armwright.robot.model import Robot
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
        rpy = [in_si(v, q, unit) for v in listed(q.entries["rpy"], 3, q)]
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


class _Entry(NamedTuple):
    revolute: Dimension
    prismatic: Dimension
    default: float
    minimum: float
    infinite: bool


_JOINT = {
    "lower": _Entry("angle", "length", -math.inf, -math.inf, True),
    "upper": _Entry("angle", "length", math.inf, -math.inf, True),
    "velocity": _Entry("angular speed", "speed", math.inf, 0.0, True),
    "acceleration": _Entry("angular acceleration", "acceleration", math.inf, 0.0, True),
    "effort": _Entry("torque", "force", math.inf, 0.0, True),
    "viscous": _Entry("rotary damping", "linear damping", 0.0, 0.0, False),
    "coulomb": _Entry("torque", "force", 0.0, 0.0, False),
    "dead_zone": _Entry("angular speed", "speed", 0.0, 0.0, False),
}
JOINT_KEYS = ("names", "kinds", *_JOINT)
_MOTOR = {
    "rotor_inertia": _Entry("inertia", "inertia", 0.0, 0.0, False),
    "viscous": _Entry("rotary damping", "rotary damping", 0.0, 0.0, False),
    "load_friction": _Entry("number", "number", 0.0, 0.0, False),
    "torque_limit": _Entry("torque", "torque", math.inf, 0.0, True),
    "speed_limit": _Entry("angular speed", "angular speed", math.inf, 0.0, True),
    "current_limit": _Entry("current", "current", math.inf, 0.0, True),
    "torque_constant": _Entry("torque constant", "torque constant", 0.0, 0.0, False),
    "continuous_torque": _Entry("torque", "torque", math.inf, 0.0, True),
    "thermal_time": _Entry("time", "time", math.inf, 0.0, True),
}
_CURVE: dict[str, Dimension] = {"curve_speed": "angular speed", "curve_torque": "torque"}


def _names(table: Table, key: str, n: int) -> list[str]:
    value: Any = table.entries.get(key)
    if not isinstance(value, list) or len(value) != n or any(not isinstance(v, str) or not v for v in value):
        raise table.refuse(f"{key} must be a list of {n} texts, one per joint", "length", key)
    twice = sorted({v for v in value if value.count(v) > 1})
    if key == "names" and twice:
        raise table.refuse(f"joint names must be unique, repeated: {', '.join(twice)}", "unique names", key)
    return list(value)


def read_joints(tree: Table, n: int | None, sources: dict[str, Source]) -> tuple[Joint, ...]:
    """Return the n joints of section ``[joints]``; n = None takes the number of names (explicit frames)."""
    table = tree.table("joints") or Table({}, tree.text, "joints")
    table.only(*JOINT_KEYS)
    if n is None:
        given = table.entries.get("names")
        if not isinstance(given, list):
            raise table.refuse("explicit frames need names = […] in [joints]", "required key")
        n = len(given)
        if n > MAX_ROWS:
            raise table.refuse(f"at most {MAX_ROWS} joints", "rows", "names")
    names = _names(table, "names", n) if "names" in table.entries else [f"joint_{i + 1}" for i in range(n)]
    kinds = ["revolute"] * n
    if "kinds" in table.entries:
        kinds = _names(table, "kinds", n)
        wrong = [kind for kind in kinds if kind not in ("revolute", "prismatic")]
        if wrong:
            raise table.refuse(f"unknown joint kind {wrong[0]!r}; valid: revolute, prismatic", "kind", "kinds")
    numbers = {}
    for key, entry in _JOINT.items():
        q = take(table, key)
        measures: list[Dimensions] = [(entry.revolute if kind == "revolute" else entry.prismatic,) for kind in kinds]
        numbers[key] = per_joint(q, measures, entry.default, minimum=entry.minimum, infinite=entry.infinite)
        if q is not None and q.source is not None:
            sources[q.path] = q.source
    joints = []
    for i, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        value = {key: float(column[i]) for key, column in numbers.items()}
        try:
            limits = Limits(*(value[key] for key in ("lower", "upper", "velocity", "acceleration", "effort")))
        except InputError as error:
            raise table.refuse(f"joint {name!r}: {error}", "limits ordered", "lower") from None
        friction = Friction(value["viscous"], value["coulomb"], value["dead_zone"])
        joints.append(Joint(name, "revolute" if kind == "revolute" else "prismatic", limits, friction))
    return tuple(joints)


def read_actuators(tree: Table, n: int, sources: dict[str, Source]) -> Actuators:
    """Return the motors of section ``[actuators]``: ideal torque sources if there is none.

    ``gear`` is a list of n ratios or the n×n matrix K of q_motor = K q.
    """
    table = tree.table("actuators")
    if table is None:
        return Actuators.none(n)
    table.only("gear", *_MOTOR, *_CURVE)
    numbers = {}
    for key, entry in _MOTOR.items():
        q = take(table, key)
        measures: list[Dimensions] = [(entry.revolute,)] * n
        numbers[key] = per_joint(q, measures, entry.default, minimum=entry.minimum, infinite=entry.infinite)
        _remember(sources, q)
    gear_q = take(table, "gear")
    _remember(sources, gear_q)
    gear = np.eye(n)
    if gear_q is not None:
        value = gear_q.entries["value"]
        if isinstance(value, list) and value and isinstance(value[0], list):
            check_unit(gear_q.entries.get("unit"), ("number",), gear_q.refuse)
            gear = np.array(matrix(gear_q, value, n, n))
        else:
            gear = np.diag(per_joint(gear_q, [("number",)] * n, 1.0))
        if n and np.linalg.slogdet(gear)[0] == 0.0:
            raise gear_q.refuse("the gear matrix must be invertible: every joint needs a motor", "gear")
    numbers |= {key: _curve(table, key, n, sources) for key in _CURVE}
    try:
        return Actuators(gear, **numbers)
    except InputError as error:
        raise table.refuse(str(error), "torque-speed curve", "curve_speed") from None


def _curve(table: Table, key: str, n: int, sources: dict[str, Source]) -> Array:
    """One row of points per motor, or one row for all motors; (n, 0) where there is none."""
    q = take(table, key)
    if q is None:
        return np.zeros((n, 0))
    _remember(sources, q)
    unit = check_unit(q.entries.get("unit"), (_CURVE[key],), q.refuse)
    value = q.entries["value"]
    if not isinstance(value, list) or not value:
        raise q.refuse("expected a list of points, or one list a motor", "length")
    rows = value if isinstance(value[0], list) else [value] * n
    points = matrix(q, rows, n, len(rows[0]))
    return np.array([[to_si(x, unit) for x in row] for row in points]).reshape(n, -1)


def _remember(sources: dict[str, Source], q: Quantity | None) -> None:
    if q is not None and q.source is not None:
        sources[q.path] = q.source


_DIMENSIONS: dict[str, tuple[Dimension, Dimension]] = {  # of joints that turn, of joints that slide
    "viscous": ("rotary damping", "linear damping"),
    "coulomb": ("torque", "force"),
    "dead_zone": ("angular speed", "speed"),
    "torque_constant": ("torque constant", "torque constant"),
    "torque_offset": ("torque", "force"),
    "rotor_inertia": ("inertia", "mass"),
}
KEYS = ("from", *_DIMENSIONS)
FRICTION = ("viscous", "coulomb", "dead_zone")
Columns = dict[str, tuple["Array", Source | None]]
"""Numbers (n,) by key, joint side, each with its source."""


def read_measured(tree: Table, robot: Robot, find: Callable[[str], tuple[str, str]]) -> Measured | None:
    """Return what ``[measured]`` says of the drives of `robot`, None without it; its sources go to the robot's.

    Args:
        tree: the sheet.
        robot: the arm that was read from it.
        find: maps the name in ``from`` to (text, file) of that sheet.
    """
    table = tree.table("measured")
    if table is None:
        return None
    columns = _columns(table, [joint.kind for joint in robot.joints], find, ())
    values = {key: columns[key][0] if key in columns else np.zeros(robot.n) for key in KEYS[1:]}
    if (values["torque_constant"] == 0.0).any():
        message = "needs the torque constant of every joint: torque_constant, or from = a sheet that has them"
        raise table.refuse(message, "required key", "torque_constant")
    cited = {key: source for key, (_, source) in columns.items() if source is not None}
    robot.sources.update({f"measured.{key}": source for key, source in cited.items()})
    friction = tuple(Friction(*map(float, row)) for row in zip(*(values[key] for key in FRICTION), strict=True))
    current = CurrentMap(values["torque_constant"], values["torque_offset"])
    return Measured(friction, current, values["rotor_inertia"], in_words(cited))


def in_words(cited: dict[str, Source]) -> str:
    """Every document once: what it says, where."""
    said: dict[str, tuple[list[str], list[str]]] = {}
    for key, source in cited.items():
        keys, places = said.setdefault(source.document, ([], []))
        keys.append(key.replace("_", " "))
        places += [source.place] if source.place and source.place not in places else []
    return "; ".join(f"{', '.join(keys)}: {', '.join([text, *places])}" for text, (keys, places) in said.items())


def _columns(
    table: Table, kinds: list[JointKind], find: Callable[[str], tuple[str, str]], seen: tuple[str, ...]
) -> Columns:
    """What a ``[measured]`` says, with what the sheets say that it takes the rest from."""
    table.only(*KEYS)
    name = table.text_of("from", "")
    columns = _other(table, name, kinds, find, (*seen, name)) if name and name not in seen else {}
    for key, (turning, sliding) in _DIMENSIONS.items():
        q = take(table, key)
        if q is not None:
            measures = [(turning if kind == "revolute" else sliding,) for kind in kinds]
            least = -np.inf if key == "torque_offset" else 0.0
            columns[key] = per_joint(q, measures, 0.0, minimum=least), q.source
    return columns


def _other(
    table: Table, name: str, kinds: list[JointKind], find: Callable[[str], tuple[str, str]], seen: tuple[str, ...]
) -> Columns:
    """Friction, torque constants and rotors of the sheet `name`, joint side; what its own ``[measured]`` says wins."""
    try:
        tree = read_tree(*find(name), find)
        sources: dict[str, Source] = {}
        joints, actuators = read_joints(tree, len(kinds), sources), read_actuators(tree, len(kinds), sources)
        measured = tree.table("measured")
        own = _columns(measured, kinds, find, seen) if measured is not None else {}
    except DescriptionError as error:
        raise table.refuse(f"cannot take measured drives from {name!r}: {error}", "from", "from") from None
    ratio = np.abs(np.diag(actuators.gear))
    columns: Columns = {
        key: (np.array([getattr(joint.friction, key) for joint in joints]), sources.get(f"joints.{key}"))
        for key in FRICTION
    }
    columns["torque_constant"] = ratio * actuators.torque_constant, sources.get("actuators.torque_constant")
    columns["rotor_inertia"] = ratio**2 * actuators.rotor_inertia, sources.get("actuators.rotor_inertia")
    return {key: value for key, value in columns.items() if value[0].any()} | own
