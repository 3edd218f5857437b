# SPDX-License-Identifier: Apache-2.0
"""Numbers, vectors and poses from XML attributes: parsed strictly, refused with their place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from armwright.robot.urdf.xml_safe import Node, shown
from armwright.spatial.euler import rotation_from_rpy
from armwright.spatial.quaternions import rotation_from_xyzw

if TYPE_CHECKING:
    from armwright.types import Array

# Larger than any arm, small enough that products of them stay far from overflow.
MAX_LENGTH = 1e5  # m
MAX_ANGLE = 1e4  # rad
MAX_MASS = 1e7  # kg
MAX_INERTIA = 1e12  # kg m²
MAX_RATIO = 1e6
MAX_COEFFICIENT = 1e9  # friction
UNBOUNDED = 1e9  # a limit at or beyond this means: none
MAX_DIGITS = 400  # float64 needs 17; some tools write all 324 decimal places

# float() would also take "1_000", "١٢", " nan " and hexadecimal-looking leftovers of other tools.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)\Z", re.IGNORECASE)


def attribute(node: Node, name: str) -> str:
    """Text of a required attribute; empty text is refused."""
    text = node.attributes.get(name)
    if text is None:
        node.fail(f"attribute {name!r} is missing", "required-attribute")
    if not text.strip():
        node.fail(f"attribute {name!r} is empty", "required-attribute")
    return text


def to_number(node: Node, what: str, text: str, largest: float, *, infinite: bool = False) -> float:
    """Read one decimal number with ``|x| ≤ largest``; with `infinite`, "inf" and "-inf" are taken too."""
    text = text.strip()
    if _NOT_FINITE.match(text):
        value = float(text)
        if infinite and not np.isnan(value):
            return value
        node.fail(f"{what} = {shown(text)} is not finite; write a decimal number", "finite-number")
    if len(text) > MAX_DIGITS or not _NUMBER.match(text):
        hint = " (use a point, not a comma)" if "," in text else ""
        node.fail(f"{what} = {shown(text)} is not a number{hint}", "decimal-number")
    value = float(text)
    if abs(value) > largest:
        if infinite:
            return float(np.copysign(np.inf, value))
        node.fail(f"{what} = {shown(text)} is beyond ±{largest:g}", "reasonable-size")
    return value


def number(node: Node, name: str, largest: float, *, default: float | None = None) -> float:
    """Numeric attribute; required if there is no default."""
    if default is not None and name not in node.attributes:
        return default
    return to_number(node, name, attribute(node, name), largest)


def not_negative(node: Node, name: str, largest: float, *, default: float | None = None) -> float:
    """Numeric attribute that must be ≥ 0."""
    value = number(node, name, largest, default=default)
    if value < 0.0:
        node.fail(f"{name} = {value:g} is negative; it must be ≥ 0", "not-negative")
    return value


def bound(node: Node, name: str, *, default: float | None = None) -> float:
    """A limit: like `number`, but "inf" or anything beyond ±`UNBOUNDED` is read as no limit."""
    if default is not None and name not in node.attributes:
        return default
    value = to_number(node, name, attribute(node, name), UNBOUNDED, infinite=True)
    return float(np.copysign(np.inf, value)) if abs(value) >= UNBOUNDED else value


def vector(node: Node, name: str, largest: float, *, count: int = 3, default: Array | None = None) -> Array:
    """Attribute of `count` numbers separated by white space."""
    if default is not None and name not in node.attributes:
        return default
    text = attribute(node, name)
    parts = text.split(maxsplit=count)
    if len(parts) != count:
        found = len(text.split())
        node.fail(f"{name} = {shown(text)} has {found} entries; {count} are needed", "count")
    return np.array([to_number(node, name, part, largest) for part in parts])


def pose_of(node: Node) -> Array:
    """Pose T (4×4) given by the <origin> of `node`: xyz [m] and fixed-axis rpy [rad] or quat_xyzw; 1 if absent."""
    T = np.eye(4)
    origin = node.one("origin")
    if origin is None:
        return T
    T[:3, 3] = vector(origin, "xyz", MAX_LENGTH, default=np.zeros(3))
    if "quat_xyzw" in origin.attributes:
        if "rpy" in origin.attributes:
            origin.fail("both rpy and quat_xyzw are given; write one", "one-of-each")
        quat_xyzw = vector(origin, "quat_xyzw", 10.0, count=4)
        if abs(float(np.linalg.norm(quat_xyzw)) - 1.0) > 1e-3:
            origin.fail("quat_xyzw does not have unit length", "unit-quaternion")
        T[:3, :3] = rotation_from_xyzw(quat_xyzw / np.linalg.norm(quat_xyzw))
    else:
        T[:3, :3] = rotation_from_rpy(vector(origin, "rpy", MAX_ANGLE, default=np.zeros(3)))
    return T
