# SPDX-License-Identifier: Apache-2.0
"""Writing a sheet: any robot in the explicit form (kind = "frames"), numbers by ``repr``, so nothing is lost.

What is generated on reading (DH products, cylinders) is written as the resulting frames and tensors. Numbers that are
smaller than those of a sheet are written as 0; a robot with others that a sheet cannot hold is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import NotSupportedError
from armwright.robot.model import Robot
from armwright.robot.provenance import CLASSES
from armwright.robot.sheet.sheet_bodies import ROOT
from armwright.schema.quantities import LARGEST_MAGNITUDE, MAX_ROWS, SMALLEST_MAGNITUDE
from armwright.schema.toml_text import Source

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_JOINT_DEFAULTS = {"lower": -np.inf, "viscous": 0.0, "coulomb": 0.0, "dead_zone": 0.0}  # all others: no limit, inf
_MOTOR_DEFAULTS = {"rotor_inertia": 0.0, "viscous": 0.0, "load_friction": 0.0, "torque_constant": 0.0}  # others: inf
_JOINT_UNITS = {
    "lower": ("rad", "m"),
    "upper": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "acceleration": ("rad/s^2", "m/s^2"),
    "effort": ("N m", "N"),
    "viscous": ("N m s/rad", "N s/m"),
    "coulomb": ("N m", "N"),
    "dead_zone": ("rad/s", "m/s"),
}
_MOTOR_UNITS = {
    "rotor_inertia": "kg m^2",
    "viscous": "N m s/rad",
    "load_friction": "-",
    "torque_limit": "N m",
    "speed_limit": "rad/s",
    "current_limit": "A",
    "torque_constant": "N m/A",
    "continuous_torque": "N m",
    "thermal_time": "s",
    "curve_speed": "rad/s",
    "curve_torque": "N m",
}


def write_sheet(robot: Robot) -> str:
    """Return the robot as sheet text; reading it back gives the same kinematics and dynamics to rounding.

    Sources are kept: those of single numbers where they belong, that of a geometry table with each joint's pose.

    Raises:
        NotSupportedError: a sheet cannot hold a name or a number of this robot; the message says which.
    """
    _check_names(robot)
    book = _Book(robot.sources)
    lines = [f"name = {_text(robot.name)}"]
    if robot.notes:
        lines.append(f"notes = {_text(robot.notes)}")
    lines.append(f"gravity = {book.quantity('gravity', robot.gravity, 'm/s^2')}")
    if robot.rated_payload is not None:
        lines.append(f"rated_payload = {book.quantity('rated_payload', robot.rated_payload, 'kg')}")
    body_lines = _bodies(robot, book)
    joint_lines = _joints(robot, book)
    motor_lines = _actuators(robot, book) + _measured(robot, book) + _provenance(robot, book)
    ends = [
        "[base]",
        f"pose = {book.quantity('base.pose', robot.T_base_root, 'm')}",
        "",
        "[tool]",
        f"body = {_text(robot.bodies[robot.tip].name if robot.tip >= 0 else ROOT)}",
        f"pose = {book.quantity('tool.pose', robot.T_tip_tool, 'm')}",
    ]
    for frame in robot.frames:
        ends += [
            "",
            f"[frames.{_text(frame.name)}]",
            f"body = {_text(robot.bodies[frame.parent].name if frame.parent >= 0 else ROOT)}",
            f"pose = {book.quantity(f'frames.{frame.name}.pose', frame.T_parent_frame, 'm')}",
        ]
    sources = [f"{key} = {_text(document)}" for document, key in book.keys.items()]
    head = [*lines, "", "[sources]", *sources, "", "[geometry]", 'kind = "frames"', ""]
    return "\n".join([*head, *joint_lines, *motor_lines, *ends, "", *body_lines]) + "\n"


class _Book:
    """Short keys for the documents cited while writing."""

    def __init__(self, sources: dict[str, Source]) -> None:
        self.sources = sources
        self.keys: dict[str, str] = {}

    def cite(self, path: str, fallback: str = "") -> str:
        source = self.sources.get(path) or self.sources.get(fallback)
        if source is None:
            return ""
        key = self.keys.setdefault(source.document, f"s{len(self.keys) + 1}")
        cited = f"{key} {source.place}" if source.place else key
        return f", source = {_text(cited)}" + (f", note = {_text(source.note)}" if source.note else "")

    def quantity(self, path: str, value: ArrayLike, unit: str | list[str], extra: str = "", fallback: str = "") -> str:
        units = _text(unit) if isinstance(unit, str) else "[" + ", ".join(_text(u) for u in unit) + "]"
        return f"{{ value = {_number(value, path)}, unit = {units}{extra}{self.cite(path, fallback)} }}"


def _text(value: str) -> str:
    """Quote text for TOML."""
    out = []
    for char in value:
        if char in '"\\':
            out.append("\\" + char)
        elif char == "\n":
            out.append("\\n")
        elif ord(char) < 32 or ord(char) == 127:
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


def _number(value: Any, path: str) -> str:
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(_number(v, path) for v in value) + "]"
    number = float(value)
    if LARGEST_MAGNITUDE < abs(number) < np.inf:
        raise NotSupportedError(f"to_sheet: {path} is {number:g}; a sheet holds numbers up to {LARGEST_MAGNITUDE:g}")
    return repr(number if abs(number) >= SMALLEST_MAGNITUDE else 0.0 * number)


def _check_names(robot: Robot) -> None:
    for what, things in (("joint", robot.joints), ("body", robot.bodies)):
        if len(things) > MAX_ROWS:
            raise NotSupportedError(f"to_sheet: {len(things)} of kind {what}; a sheet holds at most {MAX_ROWS}")
        for thing in things:
            if thing.name in ("", ROOT)[: 1 + (what == "body")]:
                raise NotSupportedError(f"to_sheet: a sheet has no {what} called {thing.name!r}; give it another name")


def _joints(robot: Robot, book: _Book) -> list[str]:
    if not robot.joints:
        return ["[joints]", "names = []", ""]
    lines = [
        "[joints]",
        "names = [" + ", ".join(_text(joint.name) for joint in robot.joints) + "]",
        "kinds = [" + ", ".join(_text(joint.kind) for joint in robot.joints) + "]",
    ]
    for key, (turning, sliding) in _JOINT_UNITS.items():
        holder = "friction" if key in ("viscous", "coulomb", "dead_zone") else "limits"
        values = [getattr(getattr(joint, holder), key) for joint in robot.joints]
        if all(v == _JOINT_DEFAULTS.get(key, np.inf) for v in values):
            continue
        units = [turning if joint.kind == "revolute" else sliding for joint in robot.joints]
        unit: str | list[str] = units[0] if len(set(units)) == 1 else units
        lines.append(f"{key} = {book.quantity(f'joints.{key}', values, unit)}")
    return [*lines, ""]


def _actuators(robot: Robot, book: _Book) -> list[str]:
    lines = ["[actuators]"]
    if not np.array_equal(robot.actuators.gear, np.eye(robot.n)):
        lines.append(f"gear = {book.quantity('actuators.gear', robot.actuators.gear, '-')}")
    for key, unit in _MOTOR_UNITS.items():
        values = getattr(robot.actuators, key)
        if values.size and (key.startswith("curve") or (values != _MOTOR_DEFAULTS.get(key, np.inf)).any()):
            lines.append(f"{key} = {book.quantity(f'actuators.{key}', values, unit)}")
    return [*lines, ""] if len(lines) > 1 else []


def _measured(robot: Robot, book: _Book) -> list[str]:
    """Section ``[measured]`` with every number written out: the sheet that it came from may not be there."""
    drives = robot.measured
    if drives is None:
        return []
    slides = [joint.kind == "prismatic" for joint in robot.joints]
    columns: dict[str, tuple[Any, tuple[str, str]]] = {
        key: ([getattr(part, key) for part in drives.friction], _JOINT_UNITS[key])
        for key in ("viscous", "coulomb", "dead_zone")
    }
    columns["torque_constant"] = drives.current.k, ("N m/A", "N m/A")
    columns["torque_offset"] = drives.current.b, ("N m", "N")
    columns["rotor_inertia"] = drives.rotors, ("kg m^2", "kg")
    lines = ["[measured]"]
    for key, (values, units) in columns.items():
        each = [units[slide] for slide in slides]
        unit: str | list[str] = each[0] if len(set(each)) == 1 else each
        if np.any(values):
            lines.append(f"{key} = {book.quantity(f'measured.{key}', values, unit)}")
    return [*lines, ""]


def _provenance(robot: Robot, book: _Book) -> list[str]:
    """Section ``[provenance]``; a width stands there where it is not that of its class."""
    lines = ["[provenance]"]
    for name, said in robot.provenance.items():
        lines.append(f"{name} = {_text(said.kind)}")
        if said.width is not None and said.width != CLASSES[said.kind].width:
            lines.append(f"{name}_width = {book.quantity(f'provenance.{name}_width', said.width, '-')}")
    return [*lines, ""] if len(lines) > 1 else []


def _bodies(robot: Robot, book: _Book) -> list[str]:
    lines: list[str] = []
    for body in robot.bodies:
        path, joint = f"bodies.{body.name}", robot.joints[body.joint]
        lines += [
            f"[bodies.{_text(body.name)}]",
            f"parent = {_text(robot.bodies[body.parent].name if body.parent >= 0 else ROOT)}",
            f"joint = {_text(joint.name)}",
            f"axis = {_number(body.axis, f'{path}.axis')}",
            f"joint_pose = {book.quantity(f'{path}.joint_pose', body.T_parent_joint, 'm', fallback='geometry.rows')}",
            f"link_pose = {book.quantity(f'{path}.link_pose', body.T_joint_link, 'm', fallback='geometry.rows')}",
            f"mass = {book.quantity(f'{path}.mass', body.mass, 'kg')}",
            f"com = {book.quantity(f'{path}.com', body.com, 'm')}",
            f"inertia = {book.quantity(f'{path}.inertia', body.inertia, 'kg m^2', ', about = ' + _text('com'))}",
        ]
        if body.ratio != 1.0 or body.offset != 0.0:
            unit = "rad" if joint.kind == "revolute" else "m"
            lines.append(f"ratio = {book.quantity(f'{path}.ratio', body.ratio, '-')}")
            lines.append(f"offset = {book.quantity(f'{path}.offset', body.offset, unit)}")
        lines.append("")
    return lines
