# SPDX-License-Identifier: Apache-2.0
"""KRL's FORWARD and INVERSE: places of axes and axes of places, by the kinematics of an arm that is named."""

from __future__ import annotations

from typing import Any

import numpy as np

from armwright.programs.interpreter.program_values import RecordValue, Unknown, UnknownPart, Value, unknown_in
from armwright.programs.languages.krl_data import AXES, frame_matrix, frame_record, numbers_in
from armwright.programs.languages.krl_settings import KrlSettings
from armwright.programs.languages.planned_place import NO_ARM, flange_at, posture_at, status_at
from armwright.syntax import program_tree as tree

ARM_FUNCTIONS = ("forward", "inverse")
DONE, FAILED = 0, 1  # of the error that both tell in their last argument


class KrlKinematics(KrlSettings):
    """See the module's text."""

    def by_the_arm(self, key: str, values: list[Value], node: tree.FunctionCall) -> Value:
        """Return the place of axes (FORWARD) or the axes of a place (INVERSE), in $BASE and with $TOOL.

        The last argument is a variable that tells whether there is one: 0 if so.
        """
        made, failed = self._solved(key, values, node), False
        failed = made is None
        if made is None:
            made = Unknown(f"{node.at.text}: no posture within the joint limits reaches the place", (node.at.text,))
        if len(node.arguments) > (1 if key == "forward" else 2):
            place = self.argument_place(node.arguments[-1].value)
            if place is not None:
                known = not isinstance(made, Unknown) or failed
                told: Value = int(failed) if known else Unknown(f"whether {node.at.text} works", (node.at.text,), DONE)
                self.store(place, told, node.arguments[-1].at)
        return made

    def _solved(self, key: str, values: list[Value], node: tree.FunctionCall) -> Value:
        """Return the answer; None if the arm does not reach the place."""
        name = node.at.text
        if self.options.robot is None or self.options.robot.n != len(AXES):
            return Unknown(f"{name} asks {NO_ARM}", (name,))
        if not values or not isinstance(values[0], RecordValue):
            found = unknown_in(values[0]) if values else None
            return found if found is not None else Unknown(f"{name} needs axes or a place", (name,))
        try:
            base, tool = (
                np.eye(4) if (frame := self.system.get(which)) is None else frame_matrix(frame)
                for which in ("$base", "$tool")
            )
            given = numbers_in(values[0])
            if key == "forward":
                return self._forward([float(given[axis]) for axis in AXES], base, tool)
            T = base @ frame_matrix(values[0]) @ np.linalg.inv(tool)
            near = _axes(values[1]) if len(values) > 1 else []
        except UnknownPart as part:
            return part.unknown
        except KeyError as missing:
            return Unknown(f"{name}: the axis {str(missing.args[0]).upper()} is not given", (name,))
        status = tuple(int(given[part]) for part in ("s", "t") if part in given) if "s" in given else ()
        posture = posture_at(self.options, T, near, status, "krl")
        return None if posture is None else RecordValue("e6axis", dict(zip(AXES, posture, strict=True)))

    def _forward(self, degrees: list[float], base: np.ndarray[Any, Any], tool: np.ndarray[Any, Any]) -> Value:
        flange = flange_at(self.options, degrees)
        assert flange is not None
        made = frame_record(np.asarray(np.linalg.inv(base) @ flange @ tool, dtype=np.float64))
        status = status_at(self.options, degrees, "krl")
        return RecordValue("e6pos", {**made.parts, **dict(zip(("s", "t"), status, strict=False))})


def _axes(value: Value) -> list[float]:
    """Return the axes [°] from which a posture is looked for; nothing if they are not known."""
    if not isinstance(value, RecordValue) or unknown_in(value) is not None:
        return []
    given = numbers_in(value)
    return [float(given[axis]) for axis in AXES] if all(axis in given for axis in AXES) else []
