# SPDX-License-Identifier: Apache-2.0
"""Values of RAPID: types of data, functions, inputs and outputs, sums of positions; where the arm stands."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from armwright.programs.interpreter.interpreter_scope import Cell
from armwright.programs.interpreter.program_interpreter import Interpreter
from armwright.programs.interpreter.program_values import (
    RecordValue,
    Unknown,
    Value,
    ValueTrouble,
    combined,
    is_number,
    number_of,
    truth_of,
    unknown_in,
)
from armwright.programs.interpreter.reading_notes import NOT_DECLARED
from armwright.programs.languages.planned_place import NO_ARM, flange_at, posture_at, start_degrees, status_at
from armwright.programs.languages.program_draft import DEG, joints_deg
from armwright.programs.languages.rapid_data import (
    FIELDS,
    NUMBERS,
    OTHER_TYPES,
    TYPES,
    UNUSED,
    blank,
    frame_of,
    matrix,
    numbers,
    pose_record,
    predefined,
    record,
    seam_of,
    tool_of,
)
from armwright.programs.languages.rapid_functions import FUNCTION_OPTIONS, FUNCTIONS, INPUTS, OUTSIDE
from armwright.programs.program import Joints
from armwright.spatial import rotation_from_wxyz, wxyz_from_rotation
from armwright.syntax import program_tree as tree
from armwright.syntax.scanner import Token
from armwright.syntax.tree_parser import meant, near

ONLY_PARTS = "and only parts of it are set"
WHOLE = 1e-6  # by how much a whole number may miss one, from rounding, as an operand of DIV and MOD
JOINTS = 6
UNUSED_AXES = [UNUSED] * 6


class RapidValues(Interpreter):
    """See the module's text."""

    language = "rapid"
    truths = tested_truths = ("FALSE", "TRUE")  # a signal is compared with 0 or 1, a test by itself is a bool
    functions = tuple(FUNCTIONS)
    predefined = predefined()

    def begin_values(self) -> None:
        """Begin without outputs and with an arm that stands where the user says, or nobody knows where."""
        self.outputs: dict[str, Any] = {}
        self.last: Value = None  # T_base_flange (4, 4), `Joints`, or None: not known
        begun = start_degrees(self.options)
        if begun:
            self.last = joints_deg(begun, (True,) * len(begun), "")
        self.records = dict(FIELDS)

    # --- types --------------------------------------------------------------------------------------------------------

    def known_name(self, key: str) -> Value:
        """Return predefined data, what the program set an output to, or what the user defines."""
        if key in self.outputs:
            return self.outputs[key]
        return self.predefined.get(key, NotImplemented)

    def kind_of(self, kind: str) -> str:
        """Return the type that another name stands for."""
        parts = self.records.get(kind, ())
        return parts[0][1] if parts and parts[0][0] == "" else kind

    def part_kind(self, kind: str, name: str) -> str:
        """Return the type of a part."""
        return next((inner for part, inner in self.records.get(self.kind_of(kind), ()) if part == name), "")

    def declared(self, statement: tree.Declare) -> Value:
        """Return the variable that a declaration makes; a type that looks like a misspelt one is in the way."""
        kind, typed = statement.kind, statement.typed or statement.at
        if kind not in self.records and kind not in TYPES:
            like = near(kind, TYPES, 0.8)
            if like and kind not in OTHER_TYPES:
                self.notes.obstacle(f"unknown type{meant(kind, TYPES)}", typed, ", ".join(TYPES[:6]))
            if kind not in OTHER_TYPES:
                said = f"the type {typed.text} is in none of the files{meant(kind, (*self.records, *TYPES))}"
                self.notes.note(typed.line, said, once=True)
        return super().declared(statement)

    def parts_of(self, kind: str) -> Collection[str]:
        """Return the names of a record's parts."""
        return [name for name, _ in self.records.get(self.kind_of(kind), ()) if name]

    def fit(self, value: Value, kind: str, at: Token) -> Value:
        """Return a value as one of a type: bracketed values become records."""
        kind = self.kind_of(kind)
        if isinstance(value, Unknown):
            return value
        if isinstance(value, RecordValue) and not value.kind and kind in self.records:  # parts of it were set, no more
            name = value.name or at.text
            if kind != "wobjdata" or not self.options.assume_frames or not set(value.parts) <= set(self.parts_of(kind)):
                return Unknown(f"{name} {NOT_DECLARED}, {ONLY_PARTS}", (name,))
            said = f"{name} {NOT_DECLARED}: its parts that the program does not set are taken as those of wobj0"
            self.notes.assume(at.line, said, "--define")
            value = self.over(self.predefined["wobj0"], value, at)
        try:
            if kind in self.records:
                made = value if isinstance(value, RecordValue) else record(kind, value, self.records)
                if not isinstance(made, RecordValue) or made.kind != kind:
                    raise ValueTrouble(f"this is no {kind}", f"a {kind}: a declared name or […]")
                if made.at is None:
                    made.at = at
                self.check(made)
                return made
        except ValueTrouble as trouble:
            self.notes.obstacle(str(trouble), at, trouble.valid)
        if kind == "welddata" and isinstance(value, list):
            return seam_of(value)
        if kind and kind not in TYPES and isinstance(value, list):
            return Unknown(f"the parts of the type {kind} are in none of the files", (kind,))
        right = {"bool": bool, "string": str}.get(kind)
        if (kind in NUMBERS and not is_number(value)) or (right is not None and not isinstance(value, right)):
            self.notes.obstacle(f"this is no {kind}", at, f"a {kind}")
        return value

    def over(self, whole: RecordValue, parts: RecordValue, at: Token) -> RecordValue:
        """Return a copy of a record with some of its parts, or parts of these, replaced."""
        made = {name: self.copy(value) for name, value in whole.parts.items()}
        for name, value in parts.parts.items():
            inner = made.get(name)
            if isinstance(inner, RecordValue) and isinstance(value, RecordValue) and not value.kind:
                made[name] = self.over(inner, value, at)
            else:
                made[name] = self.fit(value, self.part_kind(whole.kind, name), at)
        return RecordValue(whole.kind, made, name=parts.name)

    def check(self, made: RecordValue) -> None:
        """Check that the parts of a record are of their types."""
        missing = {name: Unknown(f"{name} has no value", (name,)) for name, _ in self.records[made.kind]}
        made.parts = {name: made.parts.get(name, missing[name]) for name in missing}
        for name, kind in self.records[made.kind]:
            value = made.parts[name]
            if isinstance(value, RecordValue) and kind in self.records:
                self.check(value)
            elif isinstance(value, Unknown):
                continue
            elif kind in self.records:
                raise ValueTrouble(f"{name} is no {kind}", f"[…] of {len(self.records[kind])}")
            elif kind in NUMBERS:
                if name != "v_tcp" or value != math.inf:
                    number_of(value, f"a number for {name}")
            elif kind == "bool" and not isinstance(value, bool):
                raise ValueTrouble(f"expected TRUE or FALSE for {name}", "TRUE or FALSE")

    def blank(self, kind: str, at: Token) -> Value:
        """Return data without a value; data of types that are not known here have none."""
        kind = self.kind_of(kind)
        if kind in self.records or kind in TYPES:
            return blank(kind, self.records)
        return Unknown(f"{at.text} is a {kind}, which has no value beforehand", (at.text,))

    def default_step(self, first: Value, last: Value) -> Value:
        """Return 1, or -1 for loops that count down."""
        return 1.0 if last >= first else -1.0

    counter_is_own = True

    def counter(self, name: Token) -> Value:
        """Return the variable of a counted loop."""
        cell = self.frame.cells[name.key] = Cell("num", 0.0)
        return cell

    # --- operators ----------------------------------------------------------------------------------------------------

    def arithmetic(self, sign: str, left: Value, right: Value) -> Value:
        """Return sums of numbers, texts, positions and turns."""
        if isinstance(left, str) and isinstance(right, str) and sign == "+":
            if len(left) + len(right) > 10_000:
                raise ValueTrouble("a text without end", "at most 80 characters")
            return left + right
        if isinstance(left, RecordValue) or isinstance(right, RecordValue):
            return self.of_records(sign, left, right)
        return super().arithmetic(sign, left, right)

    def of_records(self, sign: str, left: Value, right: Value) -> Value:
        """Return sums and products of positions, products of turns."""
        if isinstance(left, list) and isinstance(right, RecordValue):
            left = record(right.kind, left, self.records)
        if isinstance(right, list) and isinstance(left, RecordValue):
            right = record(left.kind, right, self.records)
        kinds = tuple(value.kind if isinstance(value, RecordValue) else "num" for value in (left, right))
        found = unknown_in(left) or unknown_in(right)
        if found is not None:
            return combined(found)
        if not {"num", "pos", "orient"}.issuperset(kinds):
            raise ValueTrouble(f"{kinds[0]} {sign} {kinds[1]} has no value", "numbers, positions")
        a, b = (
            np.array([number_of(part) for part in numbers(v)] if isinstance(v, RecordValue) else number_of(v))
            for v in (left, right)
        )
        if kinds == ("pos", "pos") and sign in "+-*":
            made = a + b if sign == "+" else a - b if sign == "-" else np.cross(a, b)
        elif kinds in (("pos", "num"), ("num", "pos")) and sign == "*":
            made = a * b
        elif kinds == ("pos", "num") and sign == "/" and b:
            made = a / b
        elif kinds == ("orient", "orient") and sign == "*":
            unit = [np.asarray(turn / np.linalg.norm(turn), dtype=np.float64) for turn in (a, b)]
            R = np.matmul(rotation_from_wxyz(unit[0]), rotation_from_wxyz(unit[1]))
            return record("orient", [float(c) for c in wxyz_from_rotation(R)])
        else:
            raise ValueTrouble(f"{kinds[0]} {sign} {kinds[1]} has no value", "numbers, positions")
        return record("pos", [float(x) for x in made])

    def quotient(self, sign: str, left: Value, right: Value) -> Value:
        """Return ``/``, or DIV and MOD of whole numbers."""
        if sign == "/":
            return left / right
        if max(abs(left - round(left)), abs(right - round(right))) > WHOLE:
            raise ValueTrouble(
                f"{sign.upper()} of {left:g} and {right:g}: not whole", "whole numbers; / divides others"
            )
        whole = float(math.trunc(left / right))
        return whole if sign == "div" else left - whole * right

    def signed(self, sign: str, value: Value) -> Value:
        """Return a value with its sign; positions have one, too."""
        if isinstance(value, RecordValue) and value.kind == "pos" and sign == "-":
            return record("pos", [-x for x in numbers(value)])
        return super().signed(sign, value)

    def same(self, left: Value, right: Value) -> bool:
        """Return whether two values are equal; bracketed ones are compared as records."""
        if isinstance(left, RecordValue) and isinstance(right, list):
            right = record(left.kind, right, self.records)
        return super().same(left, right)

    # --- functions ----------------------------------------------------------------------------------------------------

    def function(self, node: tree.FunctionCall) -> Value:
        """Return the value of a function of the language."""
        key = node.at.key
        placed = [a for a in node.arguments if not a.name]
        if key == "present":
            name = placed[0].value.at.key if placed and isinstance(placed[0].value, tree.Name) else ""
            return name not in self.frame.absent
        if key in OUTSIDE:
            if key in self.inputs:
                return self.input_value(key)
            return Unknown(f"{node.at.text} asks {OUTSIDE[key]}", (node.at.text,))
        if key in INPUTS and placed and isinstance(placed[0].value, tree.Name):
            value = self.value(placed[0].value)
            if key == "testdi":
                return (
                    combined(value, guess=lambda: truth_of(value.guess))
                    if isinstance(value, Unknown)
                    else truth_of(value)
                )
            return value
        if key in ("crobt", "cpos", "cjointt"):
            return self.stands(node)
        if key in ("calcrobt", "calcjointt"):
            return self.by_the_arm(node, [self.value(a.value) for a in placed])
        if key not in FUNCTIONS:
            return NotImplemented
        wrong = next((a for a in node.arguments if a.name and a.name not in FUNCTION_OPTIONS.get(key, ())), None)
        if wrong is not None:
            valid = ", ".join(f"\\{name}" for name in FUNCTION_OPTIONS.get(key, ())) or "no option"
            self.notes.obstacle(f"{node.at.text} has no option \\{wrong.at.text}", wrong.at, valid)
        options = {a.name: True if a.value is None else self.value(a.value) for a in node.arguments if a.name}
        values = [self.value(a.value) for a in placed]
        for value in (*values, *options.values()):
            found = unknown_in(value)
            if found is not None:
                return combined(found)
        values = [self.guess_kind(key, value, a.at) for value, a in zip(values, placed, strict=True)]
        try:
            made = FUNCTIONS[key](options, *values)
        except (TypeError, AttributeError, KeyError, IndexError, ValueError, ArithmeticError):
            raise ValueTrouble(f"{node.at.text} does not fit its arguments", "as the manual has them") from None
        if isinstance(made, RecordValue):
            made.at = node.at
        return made

    def guess_kind(self, key: str, value: Value, at: Token) -> Value:
        """Return bracketed values as the records that a function takes."""
        if not isinstance(value, list) or key == "dim":
            return value
        by_size = {2: "pose", 4: "robtarget" if key in ("offs", "reltool", "defframe") else "orient", 3: "pos"}
        kind = by_size.get(len(value))
        return value if kind is None else self.fit(value, kind, at)

    def stands(self, node: tree.FunctionCall) -> Value:
        """Return where the arm was led last: planned, not measured."""
        named = {a.name: a.value for a in node.arguments if a.name}
        if node.at.key == "cjointt":
            if not isinstance(self.last, Joints) or not all(self.last.known):
                return Unknown("the joints at this place are not known", (node.at.text,))
            self.notes.assume(node.at.line, f"{node.at.text}: the last target, planned and not measured")
            degrees = [float(q) / DEG for q in self.last.q]
            return record("jointtarget", [degrees, UNUSED_AXES])
        flange = self.last
        if isinstance(flange, Joints) and all(flange.known):
            flange = flange_at(self.options, [float(q) / DEG for q in flange.q])
        if not isinstance(flange, np.ndarray):
            return Unknown(f"{node.at.text}: where the arm stands is not known", (node.at.text,))
        tool = self.named_frame(named.get("tool"), "tool0")
        frame = self.named_frame(named.get("wobj"), "wobj0")
        for value in (tool, frame):
            found = unknown_in(value)
            if found is not None:
                return found
        tool, frame = self.fit(tool, "tooldata", node.at), self.fit(frame, "wobjdata", node.at)
        self.notes.assume(node.at.line, f"{node.at.text}: the last target, planned and not measured")
        T = np.linalg.inv(frame_of(frame)) @ flange @ tool_of(tool).T_flange_tool
        place = pose_record(T)
        if node.at.key == "cpos":
            return place.parts["trans"]
        parts = [numbers(place.parts["trans"]), numbers(place.parts["rot"]), [0.0] * 4, UNUSED_AXES]
        made = record("robtarget", parts)
        assert matrix(made) is not None
        return made

    def named_frame(self, node: tree.Node | None, standard: str) -> Value:
        """Return the tool or work object that an option names; the standard one without it."""
        return self.predefined[standard] if node is None else self.assumed_frame(self.value(node), standard, node.at)

    def assumed_frame(self, value: Value, standard: str, at: Token) -> Value:
        """Return a tool or work object; the standard one for those of no file, if the user says so."""
        found = unknown_in(value)
        if found is None or not self.options.assume_frames or NOT_DECLARED not in found.reason:
            return value
        self.notes.assume(at.line, f"{found.reason}: {standard} is taken", "--define")
        return self.predefined[standard]

    def by_the_arm(self, node: tree.FunctionCall, values: list[Value]) -> Value:
        """Return the place of joints (CalcRobT) or the joints of a place (CalcJointT), by the arm's kinematics."""
        at = node.at
        if at.key in self.inputs:
            return self.input_value(at.key)
        if self.options.robot is None or self.options.robot.n != JOINTS:
            return Unknown(f"{at.text} asks {NO_ARM}", (at.text,))
        if len(values) < 2:
            raise ValueTrouble(f"{at.text} needs a target and a tool", f"{at.text}(target, tool)")
        named = {a.name: a.value for a in node.arguments if a.name}
        values[1] = self.assumed_frame(values[1], "tool0", at)
        frame = self.named_frame(named.get("wobj"), "wobj0")
        for value in (*values, frame):
            found = unknown_in(value)
            if found is not None:
                return found
        T_tool = tool_of(self.fit(values[1], "tooldata", at)).T_flange_tool
        T_frame = frame_of(self.fit(frame, "wobjdata", at))
        if at.key == "calcrobt":
            degrees = [float(q) for q in numbers(self.fit(values[0], "jointtarget", at).parts["robax"])]
            flange = flange_at(self.options, degrees)
            assert flange is not None
            place = pose_record(np.linalg.inv(T_frame) @ flange @ T_tool)
            status = [float(n) for n in status_at(self.options, degrees, "rapid")] or [0.0] * 4
            return record(
                "robtarget", [numbers(place.parts["trans"]), numbers(place.parts["rot"]), status, UNUSED_AXES]
            )
        target = self.fit(values[0], "robtarget", at)
        T = T_frame @ matrix(target) @ np.linalg.inv(T_tool)
        near = [float(q) / DEG for q in self.last.q] if isinstance(self.last, Joints) and all(self.last.known) else []
        configuration = tuple(int(n) for n in numbers(target.parts["robconf"]))
        posture = posture_at(self.options, T, near, configuration, "rapid")
        if posture is None:
            return Unknown(f"{at.text}: no posture within the joint limits reaches the target", (at.text,))
        return record("jointtarget", [posture, UNUSED_AXES])
