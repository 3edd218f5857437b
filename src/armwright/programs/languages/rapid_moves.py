# SPDX-License-Identifier: Apache-2.0
"""RAPID's instructions that move the arm or say how; loops and procedures are in `rapid`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from armwright.programs.languages.cursor import Cursor
from armwright.programs.languages.draft import MM, PERCENT, Draft
from armwright.programs.languages.expression import Scope, evaluate, finite, number
from armwright.programs.languages.lexer import Token
from armwright.programs.languages.rapid_data import Parts, Tool, carried, predefined, turned
from armwright.programs.program import (
    Distance,
    Duration,
    Fraction,
    Joints,
    Orientation,
    Payload,
    Pose,
    Stop,
    ToolRate,
)

INPUTS = ("di", "ai", "gi", "dinput", "testdi", "cpos", "crobt", "cjointt", "doutput")
Switches = dict[str, tuple[Any, Token]]
_TYPES: dict[str, Any] = {
    "robtarget": Pose,
    "jointtarget": Joints,
    "speeddata": (ToolRate, Fraction),
    "zonedata": (Stop, Distance),
    "loaddata": (Payload, type(None)),
    "tooldata": Tool,
    "wobjdata": np.ndarray,
    "num": float,
    "bool": bool,
    "string": str,
}


class MoveReader:
    """What is known while a module is read, and the instructions that use it."""

    def __init__(self, draft: Draft) -> None:
        """Begin as a controller does: full acceleration, nothing gripped."""
        self.draft, self.cursor = draft, draft.cursor
        self.scope = Scope(predefined(), self.atom, INPUTS, "data")
        self.grip: Payload | None = None
        self.share = Fraction(1.0)
        self.path_acceleration: ToolRate | None = None
        self.on_circles: Orientation = "with_path"
        self.commands: dict[str, Callable[[Token], None]] = {
            "moveabsj": self.move,
            "movej": self.move,
            "movel": self.move,
            "movec": self.move,
            "waittime": self.wait,
            "gripload": self.grip_load,
            "accset": self.acc_set,
            "pathacclim": self.path_acc_lim,
            "cirpathmode": self.cir_path_mode,
        }

    def value(self, kind: str) -> Any:
        """Read a value of one of the language's types: a name, an expression or bracketed numbers."""
        at = self.cursor.word
        value = evaluate(self.cursor, self.scope, f"a {kind}")
        return self.typed(kind, value, at)

    def typed(self, kind: str, value: Any, at: Token) -> Any:
        """Return a value as one of a type: bracketed numbers are taken apart."""
        if isinstance(value, list):
            if not hasattr(Parts, kind):
                self.cursor.fail(f"a {kind} is one value", at=at, valid=f"a {kind}")
            return getattr(Parts(self.draft, at), kind)(value)
        if not isinstance(value, _TYPES[kind]):
            self.cursor.fail(f"this is no {kind}", at=at, valid=f"a {kind}: a declared name or […]")
        return value

    def atom(self, cursor: Cursor) -> Any:
        """Read bracketed values and shifted targets."""
        if cursor.accept("["):
            values = [evaluate(cursor, self.scope)]
            while cursor.accept(","):
                values.append(evaluate(cursor, self.scope))
            cursor.expect("]")
            return values
        if cursor.at("offs", "reltool") and cursor.ahead().key == "(":
            return self.moved_target(cursor.take())
        return None

    def moved_target(self, word: Token) -> Pose:
        """Read ``Offs`` or ``RelTool`` behind its name."""
        cursor = self.cursor
        cursor.expect("(")
        target = self.value("robtarget")
        shift = []
        for _ in range(3):
            cursor.expect(",")
            shift.append(number(cursor, self.scope, "an offset in mm"))
        angles = self.switches(("rx", "ry", "rz") if word.key == "reltool" else ())
        cursor.expect(")")
        if word.key == "reltool":
            turns = [finite(cursor, angles[n][0], "degrees", word) if n in angles else 0.0 for n in ("rx", "ry", "rz")]
            return turned(target, (turns[0], turns[1], turns[2]), shift)
        T = np.array(target.T)
        T[:3, 3] += np.array(shift) / MM
        return Pose(T, status=target.status)

    def switches(self, known: tuple[str, ...]) -> Switches:
        r"""Read ``\Name`` and ``\Name:=value`` as long as they come."""
        cursor, found = self.cursor, Switches()
        while cursor.accept("\\"):
            name = cursor.expect_name("an option")
            if name.key not in known:
                cursor.unknown("unknown option", known or ["none"], at=name)
            at = cursor.word
            found[name.key] = (evaluate(cursor, self.scope) if cursor.accept(":=") else True, at)
        return found

    def move(self, at: Token) -> None:
        """Read a move instruction behind its first word."""
        cursor = self.cursor
        parts: dict[str, Any] = {"kind": {"movel": "line", "movec": "arc"}.get(at.key, "joint")}
        if at.key == "movec":
            via = self.value("robtarget")
            parts["via"] = Pose(via.T, oriented=False)
            cursor.expect(",")
        parts["target"] = self.value("jointtarget" if at.key == "moveabsj" else "robtarget")
        self.switches(("noeoffs",))
        cursor.expect(",")
        place = cursor.word
        parts["speed"] = self.value("speeddata")
        given = self.switches(("v", "t"))
        if "v" in given:
            angular = parts["speed"].angular if isinstance(parts["speed"], ToolRate) else None
            parts["speed"] = cursor.located(place, ToolRate, finite(cursor, *_named(given, "v")) / MM, angular)
        if "t" in given:
            parts["speed"] = cursor.located(place, Duration, finite(cursor, *_named(given, "t")))
        cursor.expect(",")
        place = cursor.word
        parts["blend"] = self.value("zonedata")
        given = self.switches(("z", "inpos"))
        if "z" in given:
            parts["blend"] = cursor.located(place, Distance, finite(cursor, *_named(given, "z")) / MM)
        if not cursor.at(","):
            tools = [name for name, value in self.scope.values.items() if isinstance(value, Tool)]
            cursor.fail("the move names no tool", valid=", ".join(f"', {name}'" for name in tools))
        cursor.take()
        tool = self.value("tooldata")
        given = self.switches(("wobj",))
        frame = self.typed("wobjdata", *given["wobj"]) if "wobj" in given else np.eye(4)
        straight = at.key in ("movel", "movec")
        self.draft.add(
            at,
            acceleration=self.path_acceleration if straight and self.path_acceleration else self.share,
            orientation=self.on_circles if at.key == "movec" else "slerp",
            T_base_frame=frame,
            T_flange_tool=tool.T_flange_tool,
            payload=carried(tool, self.grip),
            **parts,
        )

    def wait(self, at: Token) -> None:
        r"""``WaitTime [\InPos,] seconds``."""
        if self.switches(("inpos",)):
            self.cursor.expect(",")
        seconds = self.cursor.located(at, Duration, number(self.cursor, self.scope, "seconds"))
        self.draft.add(at, kind="wait", target=None, speed=seconds)

    def grip_load(self, at: Token) -> None:
        """``GripLoad load``: in the frame of the tool that moves."""
        self.grip = self.value("loaddata")

    def acc_set(self, at: Token) -> None:
        """``AccSet acceleration, ramp`` in percent; the ramp is a matter of jerk and is left out."""
        percent = number(self.cursor, self.scope, "percent")
        self.cursor.expect(",")
        ramp = number(self.cursor, self.scope, "percent")
        self.share = self.cursor.located(at, Fraction, percent / PERCENT)
        if ramp != PERCENT:
            self.draft.note(at.line, "the ramp of AccSet is left out", once=True)

    def path_acc_lim(self, at: Token) -> None:
        r"""``PathAccLim TRUE \AccMax:=a, TRUE \DecelMax:=d`` in m/s², for lines and circles."""
        limits = []
        for name in ("accmax", "decelmax"):
            on = self.value("bool")
            given = self.switches((name,))
            if on and name not in given:
                self.cursor.fail(f"{at.text} TRUE needs its size", valid=f"\\{name}:=… (m/s²)")
            if on:
                limits.append(finite(self.cursor, *_named(given, name)))
            if name == "accmax":
                self.cursor.expect(",")
        self.path_acceleration = self.cursor.located(at, ToolRate, min(limits)) if limits else None
        if len(set(limits)) == 2:
            self.draft.note(at.line, "the smaller of AccMax and DecelMax is used for both")

    def cir_path_mode(self, at: Token) -> None:
        r"""``CirPathMode \PathFrame`` or ``\ObjectFrame``."""
        given = self.switches(("pathframe", "objectframe"))
        if len(given) != 1:
            self.cursor.fail("CirPathMode needs one option", valid="\\PathFrame or \\ObjectFrame")
        self.on_circles = "with_path" if "pathframe" in given else "slerp"


def _named(given: Switches, name: str) -> tuple[Any, str, Token]:
    value, at = given[name]
    return value, f"a number for \\{name}", at
