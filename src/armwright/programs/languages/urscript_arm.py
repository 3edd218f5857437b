# SPDX-License-Identifier: Apache-2.0
"""What URScript asks of the arm: where it is, the pose of joints and the joints of a pose.

The arm is the nominal one of its sheet; a controller works with the arm's own calibration, some tenths of a millimetre
away. ``get_inverse_kin`` gives the posture nearest to ``qnear``; without that argument the nearest to where the arm is,
which is found when the program is planned.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.kinematics import fk, ik
from armwright.programs.interpreter.program_values import RecordValue, Unknown, Value, is_number, number_of
from armwright.programs.languages.urscript_values import UrscriptValues, matrix_of, pose_from, pose_of, six_of
from armwright.programs.legs import nearest_posture
from armwright.programs.program import Joints
from armwright.programs.reading import ReadOptions
from armwright.robot.load import load
from armwright.spatial import inverse, log_so3
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Argument
from armwright.syntax.scanner import Token
from armwright.types import Array
from armwright.urscript.script_module import ScriptModule
from armwright.urscript.urscript_builtins import BUILTINS, Builtin

if TYPE_CHECKING:
    from armwright.robot.model import Robot

JOINTS = 6
MAKERS_ARMS = ("ur3e", "ur5e", "ur10e", "ur16e", "ur20", "ur3", "ur5", "ur10")
NOWHERE = Token("name", "get_target_tcp_pose", "get_target_tcp_pose", 0, 0)  # what the reader asks, no line does
SAME_PLACE = 0.03  # m, with a radian of turning for a metre: calibrated arms are a few mm and mrad off


class UrscriptArm(UrscriptValues):
    """The functions that depend on the arm, its tool and its last target."""

    def __init__(self, module: ScriptModule, options: ReadOptions) -> None:
        """Begin without a tool, the arm somewhere."""
        super().__init__(module, options)
        self.tool: Array | Unknown | None = None
        self.last: Joints | Array | None = None  # joints, or T_base_flange (4, 4)
        self.robot = options.robot if options.robot is not None and options.robot.n == JOINTS else None
        if self.robot is not None and options.start_q is not None:
            self.last = Joints(options.start_q)

    def instruction(self, at: Token, arguments: tuple[Argument, ...]) -> bool:
        """Carry out an instruction."""
        raise NotImplementedError

    def inverse_kin(self, values: dict[str, Value], at: Token) -> Value:
        """Return the joints of a pose: the nearest to ``qnear`` if the arm is known, else what a move can use."""
        x, near = values["x"], values.get("qnear")
        six_of(x)
        made = RecordValue("ik", {"pose": x})
        if near is None:
            return made
        if isinstance(near, RecordValue) and near.kind == "ik":
            return made  # the posture that another pose would have, itself the nearest by continuity
        tool = matrix_of(values["tcp"]) if "tcp" in values else self.tool
        if self.robot is None or isinstance(tool, Unknown) or not joint_angles(near):
            said = "--robot says which arm" if self.robot is None else "of what it is given not all is known"
            self.notes.note(
                at.line, f"{at.text}: the branch follows by continuity, qnear is not used: {said}", once=True
            )
            return made
        T = matrix_of(x) if tool is None else matrix_of(x) @ inverse(tool)
        seed = np.array([float(number_of(angle)) for angle in near])
        found: Any = ik(self.robot, T, seed=seed, limits=False, restarts=0)
        if not len(found.solutions):
            said = f"{at.text}: no joints of {self.robot.name!r} reach this pose"
            other = arm_of(T, seed)
            said += f"; qnear are its joints on {other!r}: --robot {other}?" if other else " (another arm, or tool?)"
            self.notes.note(at.line, said, once=True)
            return made
        return [float(angle) for angle in nearest_posture(self.robot, np.asarray(found.solutions), seed)]

    def state(self, row: Builtin, node: tree.FunctionCall) -> Value:
        """Return where the arm is, as far as its last target says; other instructions are carried out."""
        name, at = row.name, node.at
        if row.does != "state":
            self.instruction(at, node.arguments)
            return Unknown(f"{name} gives nothing that is known", (name,))
        if name == "get_tcp_offset":
            if isinstance(self.tool, Unknown):
                return self.tool
            return pose_of([0.0] * 6) if self.tool is None else pose_from(self.tool)
        if name in self.inputs:
            return self.input_value(name)
        posed = "pose" in name or name == "get_target_waypoint"  # of a move that has ended: where the arm is
        planned = "where the arm is follows from its last target: planned, not measured"
        if "joint" in name and isinstance(self.last, Joints):
            self.notes.note(at.line, planned, once=True)
            return [float(angle) for angle in self.last.q]
        if posed and isinstance(self.last, np.ndarray) and not isinstance(self.tool, Unknown):
            self.notes.note(at.line, planned, once=True)
            return pose_from(self.last if self.tool is None else self.last @ self.tool)
        if posed and isinstance(self.last, Joints):
            self.notes.note(at.line, planned, once=True)
            return self.pose_at([float(angle) for angle in self.last.q], self.tool)
        if "joint" in name and isinstance(self.last, np.ndarray) and not isinstance(self.tool, Unknown):
            return RecordValue("ik", {"pose": pose_from(self.last if self.tool is None else self.last @ self.tool)})
        example = "p[x, y, z, rx, ry, rz]" if posed else "[q1, …, q6]"
        return Unknown(f"{name} is only known while the cell runs; --input {name}={example} says it", (name,))

    def tool_place(self) -> Array | None:
        """Return T_base_tool (4, 4) where the arm stands; None if that is not known."""
        here = self.state(BUILTINS["get_target_tcp_pose"], tree.FunctionCall(NOWHERE, ()))
        return matrix_of(here) if isinstance(here, RecordValue) and here.kind == "pose" else None

    def forward_kin(self, values: dict[str, Value], at: Token) -> Value:
        """Return the pose of joints: a move can use it, a sum would need the arm."""
        tool = matrix_of(values["tcp"]) if "tcp" in values else self.tool
        if "tcp" in values and (self.robot is None or "q" not in values):
            return Unknown("get_forward_kin with another tool needs the arm and its joint angles", ("get_forward_kin",))
        if "q" not in values:
            row = BUILTINS["get_target_tcp_pose"]
            return self.state(row, tree.FunctionCall(at, ()))
        if isinstance(values["q"], RecordValue) and values["q"].kind == "ik":
            return values["q"].parts["pose"]
        return self.pose_at(values["q"], tool)

    def pose_at(self, q: Value, tool: Array | Unknown | None) -> Value:
        """Return the pose of joint angles (6,) [rad]: with the arm its numbers, else one that a move can use."""
        if self.robot is None or not joint_angles(q):
            return RecordValue("fk", {"q": q})
        if isinstance(tool, Unknown):
            return tool
        T = fk(self.robot, np.array([float(number_of(n)) for n in q]))
        return pose_from(T if tool is None else T @ tool)


def arm_of(T: Array, q: Array) -> str:
    """Return the arm of the maker on which joints q (6,) bring the flange to T (4, 4); empty if there is none.

    A controller's poses are those of its own calibrated arm: some millimetres are allowed, other sizes of arm are
    hundreds away.
    """
    far = {name: _apart(fk(_arm(name), q), T) for name in MAKERS_ARMS}
    name = min(far, key=far.__getitem__)
    return name if far[name] < SAME_PLACE else ""


@cache
def _arm(name: str) -> Robot:
    return load(name)


def _apart(A: Array, B: Array) -> float:
    """Return how far two poses (4, 4) are apart [m], a radian of turning taken for a metre."""
    return float(np.linalg.norm(A[:3, 3] - B[:3, 3]) + np.linalg.norm(log_so3(A[:3, :3].T @ B[:3, :3])))


def joint_angles(value: Value) -> bool:
    """Return whether a value is a list of the joints' angles, all of them known."""
    return isinstance(value, list) and len(value) == JOINTS and all(is_number(n) for n in value)
