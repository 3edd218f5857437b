# SPDX-License-Identifier: Apache-2.0
"""What plain URDF cannot say, and where it is said: <transmission> and Armwright's own <armwright> element.

URDF readers skip elements they do not know, so a written arm keeps its motors, gravity and order of coordinates:

    <armwright tip="tool" unnamed="base tool" gravity="0 0 -9.81">
      <coordinate joint="j1" dead_zone="0" gear="50 0" rotor_inertia="1e-4" viscous="0" …/>
      …one for each coordinate, in their order; row i of `gear` turns joint speeds into the speed of motor i
    </armwright>

`unnamed` lists links that the writer had to invent: they are no frames of the arm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import DescriptionError, InputError, tell_user
from armwright.robot.model import EARTH_GRAVITY
from armwright.robot.parts import Actuators
from armwright.robot.urdf.values import (
    MAX_COEFFICIENT,
    MAX_RATIO,
    attribute,
    bound,
    not_negative,
    to_number,
    vector,
)
from armwright.robot.urdf.xml_safe import Node, shown

if TYPE_CHECKING:
    from armwright.types import Array

MAX_COORDINATES = 1000
PLAIN = ("rotor_inertia", "viscous", "load_friction", "torque_constant")
OPEN = ("torque_limit", "speed_limit", "current_limit", "continuous_torque", "thermal_time")
CURVE = ("curve_speed", "curve_torque")


@dataclass(frozen=True, slots=True, eq=False)
class Extras:
    """Content of <armwright>: None or empty where the file says nothing."""

    tip: str | None
    unnamed: frozenset[str]
    gravity: Array
    order: tuple[str, ...]
    dead_zone: Array
    actuators: Actuators | None
    node: Node | None


def read_extras(root: Node) -> Extras:
    """Read the <armwright> element of a <robot>, if there is one."""
    node = root.one("armwright")
    if node is None:
        return Extras(None, frozenset(), np.array(EARTH_GRAVITY), (), np.zeros(0), None, None)
    gravity = vector(node, "gravity", 1e4, default=np.array(EARTH_GRAVITY))
    rows = node.all("coordinate")
    if len(rows) > MAX_COORDINATES:
        rows[MAX_COORDINATES].fail(f"more than {MAX_COORDINATES} coordinates", "link-count")
    order = tuple(attribute(row, "joint") for row in rows)
    n = len(rows)
    for i, row in enumerate(rows):
        if order[i] in order[:i]:
            row.fail(f"joint {shown(order[i])} is listed twice", "unique-names")
    dead_zone = np.array([not_negative(row, "dead_zone", MAX_COEFFICIENT, default=0.0) for row in rows])
    actuators = None
    if n:
        unit = np.eye(n)
        gear = np.array([vector(row, "gear", MAX_RATIO, count=n, default=unit[i]) for i, row in enumerate(rows)])
        values = {
            name: np.array([not_negative(row, name, MAX_COEFFICIENT, default=0.0) for row in rows]) for name in PLAIN
        }
        values |= {name: np.array([bound(row, name, default=np.inf) for row in rows]) for name in OPEN}
        for name in OPEN:
            if (values[name] < 0.0).any():
                rows[int(np.argmin(values[name]))].fail(f"{name} is negative; it must be ≥ 0", "not-negative")
        for name in CURVE:
            points = len((rows[0].attributes.get(name) or "").split())
            values[name] = np.array(
                [vector(row, name, MAX_COEFFICIENT, count=points) for row in rows] if points else np.zeros((n, 0))
            )
        try:
            actuators = Actuators(gear=gear, **values)
        except InputError as error:
            rows[0].fail(str(error), "torque-speed-curve")
    unnamed = frozenset((node.attributes.get("unnamed") or "").split())
    return Extras(node.attributes.get("tip"), unnamed, gravity, order, dead_zone, actuators, node)


def select(extras: Extras, names: list[str]) -> tuple[Actuators, Array]:
    """Actuators and dead zones of the coordinates `names`, taken from all those that the file lists."""
    if extras.actuators is None or extras.node is None:
        return Actuators.none(len(names)), np.zeros(len(names))
    missing = [name for name in names if name not in extras.order]
    if missing:
        extras.node.fail(
            f"joint {shown(missing[0])} is not among the listed coordinates; list all of them", "known-joint"
        )
    kept = np.array([extras.order.index(name) for name in names], dtype=int)
    gone = np.array([i for i, name in enumerate(extras.order) if name not in names], dtype=int)
    K = extras.actuators.gear
    if np.count_nonzero(K[np.ix_(kept, gone)]) or np.count_nonzero(K[np.ix_(gone, kept)]):
        extras.node.fail("the gears couple these joints with joints that are left out", "coupled-gears")
    return extras.actuators.of(kept), extras.dead_zone[kept]


def with_transmissions(root: Node, names: list[str], actuators: Actuators, *, lenient: bool = False) -> Actuators:
    """Take the gear ratio of simple transmissions (one joint, one motor); every other kind is left alone.

    With `lenient`, a ratio that is no number is left alone, too, with a warning.
    """
    gear, index = actuators.gear.copy(), {name: i for i, name in enumerate(names)}
    for node in root.all("transmission"):
        kind = node.one("type")
        label = (node.attributes.get("type") or "") if kind is None else kind.text
        joints, motors = node.all("joint"), node.all("actuator")
        if "SimpleTransmission" not in label or len(joints) != 1 or len(motors) != 1:
            continue
        name = attribute(joints[0], "name")
        stated = motors[0].one("mechanicalReduction") or joints[0].one("mechanicalReduction")
        if stated is None or name not in index:
            continue
        try:
            ratio = to_number(stated, "mechanicalReduction", stated.text, MAX_RATIO)
        except DescriptionError as error:
            if not lenient:
                raise
            tell_user(f"{error}; taken as 1")
            continue
        if ratio == 0.0:
            stated.fail("mechanicalReduction = 0: the motor would not turn", "gear-ratio")
        gear[index[name], index[name]] = ratio
    return replace(actuators, gear=gear)
