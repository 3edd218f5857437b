# SPDX-License-Identifier: Apache-2.0
"""Words of the command line that mean numbers: configurations, references, gains, payloads."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.errors import InputError
from armwright.regular_file import read_regular

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

FORMS = "'hold', a configuration '0,1,0,…', 'quintic:q0->q1:T', 'cubic:q0->q1:T', or a .toml or .json file of waypoints"
UNITS = {"deg": np.pi / 180.0, "rad": 1.0}
MAX_BYTES = 16 * 2**20  # of a file of waypoints


def configuration(text: str, robot: Robot, what: str) -> Array:
    """Read 'a,b,c' as joint values (n,): radians (metres), or degrees with the suffix ``deg``.

    The unit is written once, after the last number, for all of them, or after every number. Degrees are meant for
    revolute joints; prismatic ones are always in metres.
    """
    words = [word.strip() for word in text.split(",")]
    if len(words) != robot.n:
        raise InputError(f"{what} {text!r}: expected {robot.n} numbers separated by commas, got {len(words)}")
    units = [next((unit for unit in UNITS if word.endswith(unit)), "") for word in words]
    if any(units[:-1]) and not all(units):
        raise InputError(f"{what} {text!r}: write the unit after the last number, or after every one")
    turning = [joint.kind == "revolute" for joint in robot.joints]
    values = []
    for word, unit, turns in zip(words, units, turning, strict=True):
        scale = UNITS[unit or units[-1] or "rad"] if turns else 1.0
        values.append(scale * _number(word.removesuffix(unit), f"{what} {text!r}"))
    return np.array(values)


def _number(word: str, what: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise InputError(f"{what}: {word.strip()!r} is not a number") from None
    if not np.isfinite(value):
        raise InputError(f"{what}: {word.strip()!r} is not finite")
    return value


def reference(text: str, robot: Robot) -> Any:
    """Read a reference: None for 'hold', a configuration (n,), or a `Trajectory`."""
    from armwright.motion import cubic, quintic

    if text.strip() == "hold":
        return None
    kind, colon, rest = text.partition(":")
    makers = {"quintic": quintic, "cubic": cubic}
    if colon and kind in makers:
        ends, colon, length = rest.rpartition(":")
        start, arrow, goal = ends.partition("->")
        if not (colon and arrow):
            raise InputError(f"--reference {text!r}: expected '{kind}:q0->q1:T', with T in seconds")
        duration = _number(length.strip().removesuffix("s"), f"--reference {text!r}")
        return makers[kind](
            configuration(start, robot, "--reference"), configuration(goal, robot, "--reference"), duration
        )
    path = Path(text)
    if path.suffix.lower() in (".toml", ".json"):
        return waypoints(path, robot)
    if "," not in text and robot.n != 1:
        raise InputError(f"--reference {text!r}: expected {FORMS}")
    return configuration(text, robot, "--reference")


def waypoints(path: Path, robot: Robot) -> Any:
    """Read a file of waypoints as a quintic spline.

    Keys: ``waypoints`` (N rows of n), ``times`` (N instants from 0 [s], or one total duration), ``unit`` ("rad" by
    default, or "deg").
    """
    from armwright.motion import quintic_spline

    try:
        text = read_regular(path, MAX_BYTES).decode()
        table = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (UnicodeDecodeError, json.JSONDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path}: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not isinstance(table, dict) or not {"waypoints", "times"} <= set(table):
        raise InputError(f"{path}: expected the keys waypoints (rows of {robot.n}) and times (instants, or a duration)")
    strange = sorted(set(table) - {"waypoints", "times", "unit"})
    if strange:
        raise InputError(f"{path}: unknown key {', '.join(strange)}; valid: waypoints, times, unit")
    unit = table.get("unit", "rad")
    if unit not in UNITS:
        raise InputError(f"{path}: unit must be 'rad' or 'deg', got {unit!r}")
    scale = np.array([UNITS[unit] if joint.kind == "revolute" else 1.0 for joint in robot.joints])
    try:
        rows = np.array(table["waypoints"], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: waypoints: expected rows of {robot.n} numbers ({error})") from error
    if rows.ndim != 2 or rows.shape[1] != robot.n:
        raise InputError(f"{path}: waypoints: expected rows of {robot.n} numbers, got shape {rows.shape}")
    try:
        return quintic_spline(rows * scale, table["times"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def gains(words: Sequence[str]) -> dict[str, Any]:
    """Read 'name=value' words: a number, numbers separated by commas, true, false, or a word."""
    out: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name, value = name.strip(), value.strip()
        if not (equals and name.isidentifier() and value):
            raise InputError(f"--gain {word!r}: expected name=value, such as kp=100 or kp=50,50,20")
        if name in out:
            raise InputError(f"--gain {name}: given twice")
        if value in ("true", "false"):
            out[name] = value == "true"
        elif value.replace("_", "").replace("-", "").isalpha():
            out[name] = value
        else:
            values = [_number(part, f"--gain {word!r}") for part in value.split(",")]
            out[name] = values[0] if len(values) == 1 else np.array(values)
    return out


def tool(text: str) -> Array:
    """Read 'x,y,z' [m] or 'x,y,z,A,B,C' with angles Rz(A) Ry(B) Rx(C) [deg] as a pose (4, 4)."""
    from armwright.spatial import pose, rotation_from_euler

    values = [_number(word, f"--tool {text!r}") for word in text.split(",")]
    if len(values) not in (3, 6):
        raise InputError(f"--tool {text!r}: expected x,y,z in metres, or x,y,z,A,B,C with angles in degrees")
    angles = np.radians([*values[3:], 0.0, 0.0, 0.0][:3])
    return np.asarray(pose(rotation_from_euler(angles, "zyx"), np.array(values[:3])))


def payload(text: str, robot: Robot) -> Robot:
    """Load an arm with 'mass' [kg] at the tool origin, or 'mass@x,y,z' [m] in the tool frame."""
    mass, com = mass_and_place(text)
    return robot.with_payload(mass, com=com)


def mass_and_place(text: str) -> tuple[float, list[float]]:
    """Read 'mass' or 'mass@x,y,z' as a mass [kg] and its centre [m], the origin if omitted."""
    mass, at, place = text.partition("@")
    com = [_number(word, f"--payload {text!r}") for word in place.split(",")] if at else [0.0] * 3
    if len(com) != 3:
        raise InputError(f"--payload {text!r}: expected mass, or mass@x,y,z")
    return _number(mass, f"--payload {text!r}"), com
