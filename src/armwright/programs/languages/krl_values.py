# SPDX-License-Identifier: Apache-2.0
"""Values of KRL: whole numbers and others, frames, the controller's own variables, functions.

INT / INT gives an INT, towards zero; a REAL that is put into an INT is rounded, and a note says so where that changes
it. Variables of the controller begin with ``$``: what the program sets is remembered, inputs are off until told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from armwright.programs.interpreter.interpreter_scope import Cell
from armwright.programs.interpreter.program_interpreter import Interpreter
from armwright.programs.interpreter.program_values import (
    RecordValue,
    Unknown,
    UnknownPart,
    Value,
    ValueTrouble,
    combined,
    is_number,
    rounded,
    truncated,
    unknown_in,
)
from armwright.programs.languages.krl_data import HOME, PARTS, frame_matrix, frame_record
from armwright.programs.languages.krl_words import LOOK_ALIKE, SYSTEM, SYSTEM_PARTS, VALUES, WITHOUT_EFFECT
from armwright.programs.languages.planned_place import flange_at
from armwright.programs.languages.program_draft import DEG
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Node
from armwright.syntax.scanner import Token
from armwright.syntax.tree_parser import meant, near

OFF = {"$in": False, "$out": False, "$flag": False, "$cycflag": False, "$anin": 0.0, "$anout": 0.0, "$timer": 0}
MATHS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "sqrt": math.sqrt,
    "sin": lambda x: math.sin(x * DEG),
    "cos": lambda x: math.cos(x * DEG),
    "tan": lambda x: math.tan(x * DEG),
    "acos": lambda x: math.acos(x) / DEG,
    "asin": lambda x: math.asin(x) / DEG,
    "atan2": lambda y, x: math.atan2(y, x) / DEG,
    "round": rounded,
    "trunc": math.trunc,
    "ceil": math.ceil,
    "floor": math.floor,
}
STANDING = ("$axis_act", "$pos_act", "$axis_for", "$pos_for", "$axis_int", "$pos_int", "$axis_act_meas", "$pos_act_mes")
"""Variables of the controller that say where the arm is."""
KNOWN_TYPES = frozenset((*PARTS, "int", "real", "bool", "char", "fdat", "pdat", "ldat"))
NULL = dict.fromkeys(("x", "y", "z", "a", "b", "c"), 0.0)


class KrlValues(Interpreter):
    """See the module's text."""

    language = "krl"
    functions = (*MATHS, "inv_pos")
    keeps_parameters = True
    counter_goes_on = True

    def begin_values(self) -> None:
        """Begin with what a controller has after a cold start, as far as it matters here."""
        self.system: dict[str, Any] = {"$ori_type": "#var", "$circ_type": "#base", "$ov_pro": 100, "$advance": 3}
        self.aliases: dict[str, Node] = {}
        self.records: dict[str, Any] = {}
        self.enums: dict[str, tuple[str, ...]] = {}
        self.last: Value = None  # T_base_flange (4, 4), a record of axes, or None: not known

    # --- types --------------------------------------------------------------------------------------------------------

    def fit(self, value: Value, kind: str, at: Token) -> Value:
        """Return a value as one of a type: whole numbers are rounded, aggregates get the type's name."""
        if isinstance(value, Unknown):
            return value
        if kind == "int" and isinstance(value, float):
            whole = rounded(value)
            if whole != value:
                self.notes.note(at.line, f"{value:g} becomes {whole} in an INT")
            return whole
        if kind == "real" and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if kind in ("int", "real") and not is_number(value):
            self.notes.obstacle(f"this is no {kind.upper()}", at, "a number")
        if isinstance(value, str) and value.startswith("#") and value[1:] not in self.enums.get(kind, (value[1:],)):
            known = self.enums[kind]
            message = f"{kind.upper()} has no value {value.upper()}{meant(value[1:], known)}"
            self.notes.obstacle(message, at, ", ".join(f"#{name}" for name in known).upper())
        if isinstance(value, RecordValue):
            if kind in PARTS:
                self.check_parts(value, kind)
            if kind and value.kind != kind:
                value = self.copy(value)
                value.kind = kind
        return value

    def declared(self, statement: tree.Declare) -> Cell:
        """Return the variable that a declaration makes; types that no file has are told."""
        if statement.kind not in KNOWN_TYPES and statement.kind not in self.records | self.enums:
            self.notes.note(statement.at.line, f"the type {statement.kind.upper()} is in none of the files", once=True)
        return super().declared(statement)

    def parts_of(self, kind: str) -> Collection[str]:
        """Return the names of a record's parts; frames may have those of every place."""
        if kind in ("frame", "pos"):
            return PARTS["e6pos"]
        return PARTS.get(kind) or [name for name, _ in self.records.get(kind, ())]

    def own_parts(self, kind: str) -> Collection[str]:
        """Return the names of the parts that every value of a type has."""
        return PARTS.get(kind) or self.parts_of(kind)

    def check_parts(self, value: RecordValue, kind: str) -> None:
        """Refuse components that a type does not have."""
        for name in value.parts:
            if name not in PARTS[kind] and not (kind in ("frame", "pos") and name in PARTS["e6pos"]):
                at = value.at or Token("name", name, name, 0, 0)
                line = self.notes.module.text_of(at.line)
                column = line.upper().find(f"{name.upper()} ") + 1
                raw = self.notes.module.lines[at.line - 1] if 0 < at.line <= len(self.notes.module.lines) else ""
                column += len(raw) - len(raw.lstrip()) if column else 0
                place = Token("name", name.upper(), name, at.line, column or at.column)
                self.notes.obstacle("unknown component", place, ", ".join(sorted(PARTS[kind])).upper())

    # --- operators ----------------------------------------------------------------------------------------------------

    def arithmetic(self, sign: str, left: Value, right: Value) -> Value:
        """Return sums of numbers, compositions of frames, and what is done with bits."""
        if sign == ":":
            try:
                like = right if isinstance(right, RecordValue) else None
                return frame_record(frame_matrix(left) @ frame_matrix(right), like)
            except UnknownPart as part:
                return part.unknown
        if sign in ("b_and", "b_or", "b_exor"):
            if not (isinstance(left, int) and isinstance(right, int)):
                raise ValueTrouble(f"{sign.upper()} needs whole numbers", "an INT on either side")
            a, b = int(left), int(right)
            return a & b if sign == "b_and" else a | b if sign == "b_or" else a ^ b
        return super().arithmetic(sign, left, right)

    def quotient(self, sign: str, left: Value, right: Value) -> Value:
        """Return a quotient; of two whole numbers its whole part."""
        if isinstance(left, int) and isinstance(right, int):
            return truncated(left, right)
        return left / right

    # --- the controller's variables -----------------------------------------------------------------------------------

    def key_of(self, node: Node) -> str | None:
        """Return the name of a controller's variable as it is remembered: ``$vel.cp``, ``$in[3]``; None for others."""
        if isinstance(node, tree.Name):
            if node.at.key in self.aliases:
                return self.key_of(self.aliases[node.at.key])
            return node.at.key if node.at.key.startswith("$") else None
        base = self.key_of(node.base) if isinstance(node, tree.Index | tree.Member) else None
        if base is None:
            return None
        if isinstance(node, tree.Member):
            return f"{base}.{node.name}"
        positions = [self.value(index) for index in node.indices]
        if any(isinstance(p, Unknown) for p in positions):
            return f"{base}[?]"
        return f"{base}[{','.join(f'{p:g}' if is_number(p) else str(p) for p in positions)}]"

    def value(self, node: Node) -> Value:
        """Return the value of an expression; the controller's variables are looked up as wholes."""
        if isinstance(node, tree.Index | tree.Member | tree.Name):
            key = self.key_of(node)
            if key is not None:
                return self.system_value(key, node.at)
        return super().value(node)

    def system_value(self, key: str, at: Token) -> Value:
        """Return what a variable of the controller has."""
        if key in self.system:
            return self.system[key]
        base = key.partition("[")[0]
        if key in ("$nullframe", "$world"):
            return RecordValue("frame", dict(NULL))
        if key.lower() in self.inputs:
            said = self.input_value(key.lower())
            return bool(said) if base in ("$in", "$flag", "$cycflag") and is_number(said) else said
        parts = {k[len(key) + 1 :]: v for k, v in self.system.items() if k.startswith(f"{key}.")}
        if parts:
            return RecordValue(key, parts)
        first, _, rest = key.partition(".")
        whole = self.system.get(first)
        if rest and isinstance(whole, RecordValue):
            return whole.parts.get(rest, Unknown(f"{key.upper()} has no value", (key.upper(),)))
        if first in STANDING:
            here = self.stands(first, at)
            return here.parts[rest] if rest and isinstance(here, RecordValue) and rest in here.parts else here
        return Unknown(f"{key.upper()} is only known while the cell runs", (key.upper(),), OFF.get(base))

    def stands(self, key: str, at: Token) -> Value:
        """Return where the arm was led last: planned, not measured."""
        here: Value = Unknown(f"{key.upper()}: where the arm stands is not known", (key.upper(),))
        flange = self.led_to()
        if key.startswith("$axis") and isinstance(self.last, RecordValue):
            here = self.last
        elif key.startswith("$pos") and flange is not None:
            tool, base = self.system.get("$tool"), self.system.get("$base")
            try:
                T = np.linalg.inv(np.eye(4) if base is None else frame_matrix(base)) @ flange
                here = frame_record(T @ (np.eye(4) if tool is None else frame_matrix(tool)))
            except UnknownPart:
                return here
        if not isinstance(here, Unknown):
            self.notes.assume(at.line, f"{key.upper()}: the last target, planned and not measured")
        return here

    def led_to(self) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        """Return T_base_flange (4, 4) of the last target; where it was axes, as far as the arm is known."""
        if isinstance(self.last, RecordValue):
            return flange_at(self.options, [self.last.parts[key] for key in HOME])
        return self.last if isinstance(self.last, np.ndarray) else None

    def known_name(self, key: str) -> Value:
        """Return the home position if no file says another."""
        if key in ("xhome", "home"):
            self.notes.assume(0, "no file has HOME: A1 … A6 = 0, -90, 90, 0, 0, 0 is taken", "--config or --define")
            return RecordValue("e6axis", dict(HOME))
        return NotImplemented

    def set_system(self, target: Node, value: Value, at: Token) -> bool:
        """Set a variable of the controller; False if the name is an ordinary one."""
        key = self.key_of(target)
        if key is None:
            return False
        first, _, part = key.partition(".")
        base = first.partition("[")[0]
        if part and first in SYSTEM_PARTS and part not in (*SYSTEM_PARTS[first], "cori1", "cori2", "cv"):
            known = [f"{first}.{p}" for p in SYSTEM_PARTS[first]]
            self.unknown_system(key, at, known)
        if base not in SYSTEM and base not in WITHOUT_EFFECT:
            if base not in LOOK_ALIKE and near(base, SYSTEM, 0.75):
                self.unknown_system(key, at, list(SYSTEM))
            self.notes.note(at.line, f"{base.upper()} is set, and what that does is not followed here", once=True)
        if isinstance(value, str) and base in VALUES and value not in VALUES[base]:
            message = f"{base.upper()} has no value {value.upper()}{meant(value, VALUES[base])}"
            self.notes.obstacle(message, at, ", ".join(VALUES[base]).upper())
        if first in SYSTEM_PARTS and not part and isinstance(value, RecordValue):
            if first == "$apo":  # one size says which of them counts
                self.system = {k: v for k, v in self.system.items() if not k.startswith("$apo.")}
            self.system.update({f"{first}.{name}": inner for name, inner in value.parts.items()})
        elif part and isinstance(self.system.get(first), RecordValue):
            self.system[first] = self.copy(self.system[first])
            self.system[first].parts[part] = value
        else:
            if self.system.get(key) != value:
                self.changes += 1
            self.system[key] = self.copy(value)
        self.after_setting(base, at)
        return True

    def after_setting(self, base: str, at: Token) -> None:
        """Do what a controller does when one of its variables is set."""

    def unknown_system(self, key: str, at: Token, known: list[str]) -> None:
        """Refuse a variable of the controller that looks like a misspelt one."""
        like = near(key, known, 0.6)
        hint = f"; did you mean {like!r}?" if like else ""
        raw = self.notes.module.lines[at.line - 1]
        column = raw.lower().find(key) + 1
        place = Token("name", raw[column - 1 : column - 1 + len(key)], key, at.line, column) if column else at
        self.notes.obstacle(f"unknown system variable{hint}", place, ", ".join(known).upper())

    # --- functions ----------------------------------------------------------------------------------------------------

    def function(self, node: tree.FunctionCall) -> Value:
        """Return the value of a function of the language."""
        key = node.at.key
        if key == "varstate":
            return Unknown("whether a variable has a value is not followed", (node.at.text,))
        values = [self.value(a.value) for a in node.arguments]
        if key in MATHS or key == "inv_pos":
            for value in values:
                found = unknown_in(value)
                if found is not None:
                    return combined(found)
            try:
                if key == "inv_pos":
                    return frame_record(np.asarray(np.linalg.inv(frame_matrix(values[0])), dtype=np.float64))
                return MATHS[key](*values)
            except (TypeError, ValueError, ArithmeticError, IndexError):
                raise ValueTrouble(f"{node.at.text} does not fit its arguments", "as the manual has them") from None
        return self.motion_function(key, values, node)

    def motion_function(self, key: str, values: list[Value], node: tree.FunctionCall) -> Value:
        """Return what the functions of inline forms give; `NotImplemented` if it is none of them."""
        return NotImplemented
