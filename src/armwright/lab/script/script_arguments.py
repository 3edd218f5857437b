# SPDX-License-Identifier: Apache-2.0
"""Arguments of the language's functions, checked: numbers, texts, truth, six numbers, poses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from armwright.lab.script.script_faults import ScriptFault
from armwright.lab.script.script_values import LISTS, NUMBERS, PoseValue, ScriptValue, kind_of, truth
from armwright.spatial import exp_so3, inverse, log_so3, pose

if TYPE_CHECKING:
    from armwright.types import Array

MOST_TURNS = 628.0  # [rad] of a rotation vector: a hundred turns


def number(value: ScriptValue, name: str) -> float:
    """Return a finite number."""
    if value.__class__ not in NUMBERS:
        raise ScriptFault(f"type_error: {name} is a number, not a {kind_of(value)}")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise ScriptFault(f"value_error: {name} is {found}")
    return found


def whole(value: ScriptValue, name: str, least: int, most: int) -> int:
    """Return a whole number within bounds, both included."""
    found = number(value, name)
    if not found.is_integer() or not least <= found <= most:
        raise ScriptFault(f"value_error: {name} is a whole number of {least} to {most}, not {found:g}")
    return int(found)


def text(value: ScriptValue, name: str) -> str:
    """Return a text."""
    if value.__class__ is not str:
        raise ScriptFault(f"type_error: {name} is a string, not a {kind_of(value)}")
    return value


def flag(value: ScriptValue, name: str) -> bool:
    """Return a truth value; a number is true unless 0."""
    if value.__class__ is not bool and value.__class__ not in NUMBERS:
        raise ScriptFault(f"type_error: {name} is a boolean, not a {kind_of(value)}")
    return truth(value)


def numbers(value: ScriptValue, name: str, count: int) -> Array:
    """Return so many finite numbers of a list or pose (count,)."""
    if value.__class__ not in LISTS and value.__class__ is not PoseValue:
        raise ScriptFault(f"type_error: {name} is a list of {count} numbers, not a {kind_of(value)}")
    if len(value) != count:
        raise ScriptFault(f"value_error: {name} has {len(value)} numbers, {count} are needed")
    return np.array([number(item, name) for item in value])


def pose_numbers(value: ScriptValue, name: str) -> Array:
    """Return a pose (6,): metres and a rotation vector [rad]."""
    if value.__class__ is not PoseValue:
        raise ScriptFault(f"type_error: {name} is a pose, not a {kind_of(value)}")
    six = numbers(value, name, 6)
    if np.abs(six[3:]).max() > MOST_TURNS:
        raise ScriptFault(f"value_error: the rotation vector of {name} is longer than a hundred turns")
    return six


def matrix(value: ScriptValue, name: str) -> Array:
    """Return T (4, 4) of a pose."""
    six = pose_numbers(value, name)
    T: Array = pose(exp_so3(six[3:]), six[:3])
    return T


def listed(values: Array) -> list[float]:
    """Return numbers as a list of the language."""
    return [float(value) for value in values]


def told_pose(six: Array) -> PoseValue:
    """Return six numbers as a pose of the language."""
    return PoseValue(listed(six))


def pose_of_matrix(T: Array) -> PoseValue:
    """Return the pose of T (4, 4)."""
    return PoseValue([*listed(T[:3, 3]), *listed(log_so3(T[:3, :3]))])


def inverse_matrix(value: ScriptValue, name: str) -> Array:
    """Return the inverse of a pose's T (4, 4)."""
    T: Array = inverse(matrix(value, name))
    return T
