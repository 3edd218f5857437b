# SPDX-License-Identifier: Apache-2.0
"""Values of URScript: whole and other numbers, lists, poses, structures, and the functions that work on them.

A pose is a `RecordValue` of kind ``pose`` with the parts ``0`` to ``5``: metres and a rotation vector [rad]. Joints
that an inverse kinematics would give are a record of kind ``ik`` that holds the pose, a pose that a forward
kinematics would give one of kind ``fk`` that holds the joints: a move can use both, a sum cannot. ``/`` is always
real division.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from armwright.programs.interpreter.interpreter_scope import CallFrame, Cell, Element
from armwright.programs.interpreter.program_interpreter import Interpreter
from armwright.programs.interpreter.program_values import (
    RecordValue,
    Unknown,
    Value,
    ValueTrouble,
    combined,
    is_number,
    number_of,
    unknown_in,
)
from armwright.programs.interpreter.told_inputs import ToldInputs
from armwright.programs.interpreter.tree_routines import LeaveFlow
from armwright.programs.languages.urscript_grippers import works_a_gripper
from armwright.programs.reading import ReadOptions
from armwright.spatial import euler_from_rotation, exp_so3, inverse, log_so3, pose, rotation_from_euler
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Argument, Block, Node, Routine
from armwright.syntax.scanner import Token
from armwright.types import Array
from armwright.urscript.script_module import ScriptModule
from armwright.urscript.urscript_builtins import BUILTINS, Builtin

MOST_TURNING = 628.0  # rad of a rotation vector: a hundred turns
MOST_ITEMS = 65_536  # of a list


def pose_of(numbers: list[float]) -> RecordValue:
    """Return a pose from x, y, z [m] and a rotation vector [rad]."""
    return RecordValue("pose", {str(i): n for i, n in enumerate(numbers)})


def six_of(value: Value) -> list[float]:
    """Return the six numbers of a pose."""
    if not isinstance(value, RecordValue) or value.kind != "pose":
        raise ValueTrouble("this needs a pose", "p[x, y, z, rx, ry, rz]")
    six = [float(number_of(part)) for part in value.parts.values()]
    if max(map(abs, six[3:])) > MOST_TURNING:
        raise ValueTrouble("a rotation vector of more than a hundred turns", "radians, within ±2π mostly")
    return six


def matrix_of(value: Value) -> Array:
    """Return T (4, 4) of a pose."""
    six = six_of(value)
    T: Array = pose(exp_so3(np.array(six[3:])), np.array(six[:3]))
    return T


def pose_from(T: Array) -> RecordValue:
    """Return the pose of T (4, 4)."""
    return pose_of([*map(float, T[:3, 3]), *map(float, log_so3(T[:3, :3]))])


OF_THE_ARM = ("ik", "fk")
"""Kinds of records that stand for the joints of a pose, and for the pose of joints."""


def needs_the_arm(at: Token) -> Unknown:
    """Return the value of what the text alone does not tell."""
    return Unknown(f"{at.text} follows from the arm's kinematics, which the text does not have", (at.text,))


class UrscriptValues(Interpreter):
    """Scopes, sums and functions of URScript."""

    language = "urscript"
    first_index = 0
    notes: Any

    def __init__(self, module: ScriptModule, options: ReadOptions) -> None:
        """Know the functions that give values."""
        super().__init__(module, options)
        self.script = module
        self.inputs = ToldInputs(options.inputs, lower=False)
        self.made: dict[str, Callable[..., Value]] = {
            **{n: self._plain(f) for n, f in NUMBERS.items()},
            **POSES,
            "length": self._length,
            "size": self._length,
            "get_list_length": self._length,
            "norm": self._norm,
            "normalize": self._normalize,
            "make_list": self._make_list,
            "str_cat": lambda a, b: f"{a}{b}",
            "to_str": lambda a: f"{a}",
            "str_len": len,
        }

    # --- scopes -------------------------------------------------------------------------------------------------------

    def place(self, node: Node) -> Value:
        """Return the variable, or the part of one, that an expression names; an assignment makes it."""
        if isinstance(node, tree.Name):
            key = node.at.key
            own = self.frame.routine is not None and key in self.bound(self.frame.routine)
            cells = self.frame.cells if own or key in self.frame.cells else self.scopes.shared
            if key not in cells:
                cells[key] = Cell("", Unknown(f"{node.at.text} has no value yet", (node.at.text,)))
            return cells[key]
        if isinstance(node, tree.Index):
            base = self.place(node.base)
            for position in node.indices:
                where = self.value(position)
                held = base.value
                if isinstance(held, RecordValue) and held.kind in OF_THE_ARM:
                    held = base.value = needs_the_arm(node.at)
                if isinstance(held, RecordValue) and held.kind == "pose" and not isinstance(where, Unknown):
                    where = str(int(number_of(where)))
                    if where not in held.parts:
                        raise ValueTrouble(f"no item {where} in a pose", "0 to 5")
                base = Element(self, base, where, node.at)
            return base
        return super().place(node)

    def bound(self, routine: Routine) -> Collection[str]:
        """Return the names that are a routine's own."""
        return routine.module.bound.get(routine.at.key, ()) if isinstance(routine.module, ScriptModule) else ()

    def _declare(self, statement: tree.Declare) -> None:
        value = Unknown(f"{statement.at.text} has no value yet", (statement.at.text,))
        made = value if statement.value is None else self.value(statement.value)
        cells = self.frame.cells if statement.storage == "local" else self.scopes.shared
        cell = cells.setdefault(statement.at.key, Cell("", value))
        if statement.value is not None:
            self.store(cell, made, statement.at)

    def seen(self, names: list[str]) -> list[Any]:
        """Return the values of the variables of a test; names keep their case."""
        cells = [self.scopes.find(self.frame, name) for name in names]
        return [None if cell is None else self.copy(cell.value) for cell in cells]

    def bind(self, frame: CallFrame, routine: Routine, arguments: tuple[Argument, ...], at: Token) -> None:
        """Give parameters their values by place, by name, or their defaults."""
        names = [p.at.key for p in routine.parameters]
        defaults = routine.module.defaults.get(routine.at.key, {}) if isinstance(routine.module, ScriptModule) else {}
        given = self.sorted_arguments(at, arguments, names, 0)
        for name in names:
            if name not in given and name not in defaults:
                self.notes.obstacle(f"{at.text} lacks {name!r}", at, f"{name} = …")
            value = self.value(given[name].value if name in given else defaults[name])
            frame.cells[name] = Cell("", self.copy(value))

    def sorted_arguments(
        self, at: Token, arguments: tuple[Argument, ...], names: list[str], fewest: int
    ) -> dict[str, Argument]:
        """Return arguments by the names of their parameters; those that fit none are in the way."""
        given: dict[str, Argument] = {}
        for place, argument in enumerate(arguments):
            name = argument.name or (names[place] if place < len(names) else "")
            if name not in names:
                what = f"no argument {name!r}" if name else f"takes {len(names)} arguments"
                self.notes.obstacle(f"{at.text} has {what}", argument.at, ", ".join(names) or "no argument")
            if name in given:
                self.notes.obstacle(f"{name!r} is given twice", argument.at, "each argument once")
            given[name] = argument
        lacking = [name for name in names[:fewest] if name not in given]
        if lacking:
            self.notes.obstacle(f"{at.text} lacks {lacking[0]!r}", at, f"{lacking[0]} = …")
        return given

    def loop_body(self, body: Block) -> bool:
        """Carry out one pass; ``continue`` ends it, ``break`` the loop."""
        try:
            return super().loop_body(body)
        except LeaveFlow as leave:
            if leave.what != "pass":
                raise
            return True

    # --- values -------------------------------------------------------------------------------------------------------

    def item(self, value: Value, position: Value, at: Token) -> Value:
        """Return one item of a list or pose, from 0."""
        if isinstance(value, RecordValue) and value.kind in OF_THE_ARM:
            return needs_the_arm(at)
        if isinstance(value, RecordValue) and value.kind == "pose" and not isinstance(position, Unknown):
            return self.part(value, str(int(number_of(position))), at)
        if isinstance(value, RecordValue) and value.kind == "struct" and not isinstance(position, Unknown):
            parts = list(value.parts.values())
            self.notes.assume(at.line, f"parts of a structure by number, as of {at.text}: in the order of struct(…)")
            return super().item(parts, position, at)
        return super().item(value, position, at)

    def arithmetic(self, sign: str, left: Value, right: Value) -> Value:
        """Return a sum or product, of lists and poses item by item; texts are joined by ``+``."""
        if sign == "+" and isinstance(left, str) and isinstance(right, str):
            return left + right
        for value in (left, right):
            if isinstance(value, RecordValue) and value.kind != "pose":
                return Unknown("this follows from the arm's kinematics, which the text does not have")
        if sign == "*" and any(isinstance(v, list) and v and isinstance(v[0], list) for v in (left, right)):
            return Unknown("products of matrices are not followed here")
        if isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                raise ValueTrouble(f"lists of {len(left)} and {len(right)} items", "lists of one length")
            return [self._each(sign, a, b) for a, b in zip(left, right, strict=True)]
        if isinstance(left, list) and is_number(right):
            return [self._each(sign, a, right) for a in left]
        if isinstance(right, list) and is_number(left):
            return [self._each(sign, left, b) for b in right]
        return super().arithmetic(sign, left, right)

    line = 0  # of the sum under way

    def _binary(self, node: tree.Binary) -> Value:
        self.line = node.at.line
        return super()._binary(node)

    def _each(self, sign: str, left: Value, right: Value) -> Value:
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return combined(left, right)
        return self.arithmetic(sign, left, right)

    def quotient(self, sign: str, left: Value, right: Value) -> Value:
        """Return ``/``, which is real division, or the rest ``%``."""
        if sign == "/":
            if isinstance(left, int) and isinstance(right, int) and left % right:
                self.notes.note(
                    self.line, f"'/' of whole numbers is real division: {left} / {right} is {left / right:g}"
                )
            return left / right
        if sign == "%" and left >= 0 and right > 0:
            return left % right
        return Unknown(f"what {sign!r} gives for these numbers differs between controllers")

    def _call(self, node: tree.FunctionCall) -> Value:
        routine = self.routine(node.at.key)
        if routine is not None:
            return self.call(routine, node.arguments, node.at)
        made = self.function(node)
        if made is NotImplemented and self.elsewhere(node.at.key):
            return self._call(node)
        if made is NotImplemented:
            self.missing(node.at)
            return Unknown(f"function {node.at.text!r} is in none of the files", (node.at.text,))
        return made

    def function(self, node: tree.FunctionCall) -> Value:
        """Return the value of a function of the language."""
        key, at = node.at.key, node.at
        if key == "p[":
            six = [self.value(a.value) for a in node.arguments]
            if len(six) != 6:
                self.notes.obstacle(f"{len(six)} numbers given, 6 needed", at, "p[x, y, z, rx, ry, rz]")
            unknown = next((n for n in six if isinstance(n, Unknown)), None)
            return unknown if unknown is not None else pose_of([number_of(n) for n in six])
        if key == "struct":
            return RecordValue("struct", {a.name: self.value(a.value) for a in node.arguments})
        if key.startswith("."):
            return self.method(node)
        if key == "run":
            self.instruction(at, node.arguments)
            return Unknown(f"{node.arguments[0].at.text} is a thread", (node.arguments[0].at.text,), 1)
        row = BUILTINS.get(key)
        if row is None and works_a_gripper(key):
            if key in self.inputs:
                return self.input_value(key)
            self.instruction(at, node.arguments)
            return Unknown(f"{at.text} asks a gripper", (at.text,))
        if row is None:
            return NotImplemented
        if row.does == "cell":
            return self.from_cell(row, node)
        if row.does == "value":
            given = self.sorted_arguments(at, node.arguments, list(row.names), row.fewest)
            values = {name: self.value(a.value) for name, a in given.items()}
            unknown = next((u for v in values.values() if (u := unknown_in(v)) is not None), None)
            if unknown is not None:
                return Unknown(unknown.reason, unknown.names)
            if key == "get_forward_kin":
                return self.forward_kin(values, at)
            if key == "get_inverse_kin":
                return self.inverse_kin(values, at)
            if any(isinstance(v, RecordValue) and v.kind in OF_THE_ARM for v in values.values()):
                return needs_the_arm(at)
            if key in self.made:
                return self.made[key](*(values[n] for n in row.names if n in values))
        return self.state(row, node)

    def state(self, row: Builtin, node: tree.FunctionCall) -> Value:
        """Return what a function of the arm's state gives; instructions used as values are carried out."""
        raise NotImplementedError

    def forward_kin(self, values: dict[str, Value], at: Token) -> Value:
        """Return the pose of joints."""
        raise NotImplementedError

    def inverse_kin(self, values: dict[str, Value], at: Token) -> Value:
        """Return the joints of a pose."""
        raise NotImplementedError

    def from_cell(self, row: Builtin, node: tree.FunctionCall) -> Value:
        """Return what the running cell would give: what the user says, or unknown."""
        said = [self.value(a.value) for a in node.arguments[:1]]
        name = row.name + "".join(f"_{v}" for v in said if isinstance(v, int | str) and not isinstance(v, bool))
        self.asked_outside(node.at)
        for key in (name, row.name):
            if key in self.inputs:
                return self.input_value(key)
        return Unknown(f"{row.name} is only known while the cell runs; --input {name}=… says it", (name,), row.guess)

    def asked_outside(self, at: Token) -> None:
        """Take notice that the program asks the cell: the arm stops for it."""

    def method(self, node: tree.FunctionCall) -> Value:
        """Return what ``x.name(…)`` gives: lists know their length, others answer from outside."""
        base = self.value(node.arguments[0].value)
        rest = [self.value(a.value) for a in node.arguments[1:]]
        if isinstance(base, list) and node.at.key == ".length":
            return len(base)
        if isinstance(base, list) and node.at.key == ".append" and len(rest) == 1 and len(base) < MOST_ITEMS:
            base.append(self.copy(rest[0]))
            self.changes += 1
            return None
        names = tuple(sorted(self.names_in(node.arguments[0].value)))
        asked = node.at.key.removeprefix(".")
        if asked in self.inputs:
            return self.input_value(asked)
        said = f"what {node.at.text} of {', '.join(names)} answers is only known while the cell runs"
        return Unknown(f"{said}; --input {asked}=… says it", names, 0)

    # --- functions ----------------------------------------------------------------------------------------------------

    def _plain(self, function: Callable[..., float]) -> Callable[..., Value]:
        def call(*numbers: Value) -> Value:
            try:
                return function(*(number_of(n) for n in numbers))
            except (ValueError, ArithmeticError) as error:
                raise ValueTrouble(f"no such value: {error}", "numbers that the function is defined for") from None

        return call

    def _length(self, value: Value) -> int:
        if isinstance(value, RecordValue) and value.kind in ("pose", "ik"):
            return 6
        if not isinstance(value, list | str):
            raise ValueTrouble("only lists and texts have a length", "a list")
        return len(value)

    def _norm(self, value: Value) -> float:
        parts = (
            value.parts.values() if isinstance(value, RecordValue) else value if isinstance(value, list) else [value]
        )
        return math.sqrt(math.fsum(float(number_of(n)) ** 2 for n in parts))

    def _normalize(self, value: Value) -> Value:
        size = self._norm(value)
        if not isinstance(value, list) or size == 0.0:
            raise ValueTrouble("this has no direction", "a list of numbers, not all of them 0")
        return [float(number_of(n)) / size for n in value]

    def _make_list(self, length: Value, initial: Value, capacity: Value = 0) -> Value:
        if not 0 <= number_of(length) <= MOST_ITEMS:
            raise ValueTrouble(f"a list of {length:g} items", f"at most {MOST_ITEMS}")
        return [self.copy(initial) for _ in range(int(length))]


def _interpolated(a: Value, b: Value, alpha: Value) -> Value:
    A, B, share = matrix_of(a), matrix_of(b), float(number_of(alpha))
    R = A[:3, :3] @ exp_so3(share * log_so3(A[:3, :3].T @ B[:3, :3]))
    return pose_from(pose(R, (1.0 - share) * A[:3, 3] + share * B[:3, 3]))


def _added(a: Value, b: Value) -> Value:
    A, B = matrix_of(a), matrix_of(b)
    return pose_from(pose(A[:3, :3] @ B[:3, :3], A[:3, 3] + B[:3, 3]))


def _subtracted(to: Value, origin: Value) -> Value:
    # the maker's forum (pose_sub, usage and meaning): made so that pose_add(pose_sub(a, b), b) is a
    A, B = matrix_of(to), matrix_of(origin)
    return pose_from(pose(A[:3, :3] @ B[:3, :3].T, A[:3, 3] - B[:3, 3]))


def _distance(a: Value, b: Value) -> float:
    return float(np.linalg.norm(np.array(six_of(a)[:3]) - np.array(six_of(b)[:3])))


def _three(value: Value) -> Array:
    if not isinstance(value, list) or len(value) != 3:
        raise ValueTrouble("this needs three numbers", "[rx, ry, rz]")
    return np.array([float(number_of(n)) for n in value])


POSES: dict[str, Callable[..., Value]] = {
    "pose_trans": lambda a, b: pose_from(matrix_of(a) @ matrix_of(b)),
    "pose_inv": lambda a: pose_from(inverse(matrix_of(a))),
    "inv": lambda a: pose_from(inverse(matrix_of(a))),
    "pose_add": _added,
    "pose_sub": _subtracted,
    "point_dist": _distance,
    "interpolate_pose": _interpolated,
    "rpy2rotvec": lambda v: [*map(float, log_so3(rotation_from_euler(_three(v)[::-1], "zyx")))],
    "rotvec2rpy": lambda v: [*map(float, euler_from_rotation(exp_so3(_three(v)), "zyx").angles[::-1])],
}
NUMBERS: dict[str, Callable[..., float]] = {
    "acos": math.acos,
    "asin": math.asin,
    "atan": math.atan,
    "atan2": math.atan2,
    "cos": math.cos,
    "sin": math.sin,
    "tan": math.tan,
    "sqrt": math.sqrt,
    "log": lambda base, f: math.log(f, base),
    "pow": lambda base, exponent: (
        float(base) ** float(exponent) if base >= 0 or float(exponent).is_integer() else math.nan
    ),
    "ceil": math.ceil,
    "floor": math.floor,
    "round": lambda f: math.floor(f + 0.5),
    "abs": abs,
    "d2r": math.radians,
    "r2d": math.degrees,
}
