# SPDX-License-Identifier: Apache-2.0
"""Section ``[measured]`` of a sheet: what somebody measured at the drives of this arm.

It is read and kept (`Robot.measured`); no equation of the arm uses it by itself::

    [measured]
    from = "ur5-kufieta-c"      # what this sheet says of friction and torque constants (or its own [measured]),
                                # for all that is not written here
    torque_offset = { value = [0.5, -0.2], unit = "N m", source = "book (6.6)" }
    rotor_inertia = { value = 0.1, unit = "kg m^2", source = "book p. 3" }

Torque constants and rotor inertia are joint side here: those of ``from`` are taken through its gears.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from armwright.errors import DescriptionError
from armwright.robot.parts import CurrentMap, Friction, JointKind, Measured
from armwright.robot.sheet.sheet_joints import read_actuators, read_joints
from armwright.schema.quantities import Dimension, per_joint, take
from armwright.schema.toml_text import Source, Table, read_tree

if TYPE_CHECKING:
    from armwright.robot.model import Robot
    from armwright.types import Array

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
