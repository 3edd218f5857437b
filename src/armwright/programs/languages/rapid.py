# SPDX-License-Identifier: Apache-2.0
r"""RAPID, the part that moves the arm: millimetres, degrees, quaternions w, x, y, z; ``!`` begins a comment.

    program   = ["MODULE" name] {declaration | "PROC" name "()" {statement} "ENDPROC"} ["ENDMODULE"]
    declaration = ("CONST"|"PERS"|"VAR") type name [":=" expr] ";"            types: see `rapid_data`
    statement = "MoveAbsJ"|"MoveJ"|"MoveL"  target, speed [\V][\T], zone [\Z], tool [\WObj] ";"
              | "MoveC" via, target, speed, zone, tool ";"
              | "WaitTime" s | "GripLoad" load | "AccSet" percent, percent | "PathAccLim" on [\AccMax], on [\DecelMax]
              | "CirPathMode" \PathFrame|\ObjectFrame | name ";" | name ":=" expr ";"
              | "FOR" i "FROM" a "TO" b ["STEP" s] "DO" … "ENDFOR" | "WHILE" cond "DO" … "ENDWHILE"
              | "IF" cond "THEN" … {"ELSEIF" cond "THEN" …} ["ELSE" …] "ENDIF"
    expr      = numbers, TRUE, FALSE, […], Offs(p, x, y, z), RelTool(p, x, y, z [\Rx] [\Ry] [\Rz])

``main`` is run, or the only PROC. The speed of joint moves is that of the tool, as in the language. On circles the
tool turns as seen from the path unless CirPathMode \ObjectFrame was said: that is the language's default.

`RapidMoveReader` reads the instructions that move the arm or say how, `read_rapid` a whole module with its loops and
procedures; `rapid_data` has the data types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from armwright.programs.languages.expression import Blocks, Scope, condition, evaluate, finite, number, repeat
from armwright.programs.languages.program_draft import MM, PERCENT, Draft
from armwright.programs.languages.rapid_data import TYPES, Parts, Tool, carried, predefined, turned
from armwright.programs.languages.scanner import Cursor, Lexicon, Token
from armwright.programs.program import (
    Distance,
    Duration,
    Fraction,
    Joints,
    Orientation,
    Payload,
    Pose,
    Program,
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


class RapidMoveReader:
    """State while a module is read, and the instructions that use it."""

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

    def typed(self, kind: str, value: object, at: Token) -> Any:
        """Return a value as one of a type: bracketed numbers are taken apart."""
        if isinstance(value, list):
            if not hasattr(Parts, kind):
                self.cursor.fail(f"a {kind} is one value", at=at, valid=f"a {kind}")
            return getattr(Parts(self.draft, at), kind)(value)
        if not isinstance(value, _TYPES[kind]):
            self.cursor.fail(f"this is no {kind}", at=at, valid=f"a {kind}: a declared name or […]")
        return value

    def atom(self, cursor: Cursor) -> list[object] | Pose | None:
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
        """Read ``Offs`` or ``RelTool`` after its name."""
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
        """Read a move instruction after its first word."""
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
        r"""Read ``WaitTime [\InPos,] seconds``."""
        if self.switches(("inpos",)):
            self.cursor.expect(",")
        seconds = self.cursor.located(at, Duration, number(self.cursor, self.scope, "seconds"))
        self.draft.add(at, kind="wait", target=None, speed=seconds)

    def grip_load(self, at: Token) -> None:
        """Read ``GripLoad load``: in the frame of the tool that moves."""
        self.grip = self.value("loaddata")

    def acc_set(self, at: Token) -> None:
        """Read ``AccSet acceleration, ramp`` in percent; the ramp is a matter of jerk and is left out."""
        percent = number(self.cursor, self.scope, "percent")
        self.cursor.expect(",")
        ramp = number(self.cursor, self.scope, "percent")
        self.share = self.cursor.located(at, Fraction, percent / PERCENT)
        if ramp != PERCENT:
            self.draft.note(at.line, "the ramp of AccSet is left out", once=True)

    def path_acc_lim(self, at: Token) -> None:
        r"""Read ``PathAccLim TRUE \AccMax:=a, TRUE \DecelMax:=d`` in m/s², for lines and circles."""
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
        r"""Read ``CirPathMode \PathFrame`` or ``\ObjectFrame``."""
        given = self.switches(("pathframe", "objectframe"))
        if len(given) != 1:
            self.cursor.fail("CirPathMode needs one option", valid="\\PathFrame or \\ObjectFrame")
        self.on_circles = "with_path" if "pathframe" in given else "slerp"


def _named(given: Switches, name: str) -> tuple[Any, str, Token]:
    value, at = given[name]
    return value, f"a number for \\{name}", at


LEXICON = Lexicon(line_comments=("!",), symbols=r":=|<=|>=|<>|[-+*/()\[\]=:;,<>\\]")
BLOCKS = Blocks(("if", "for", "while", "test"), ("endif", "endfor", "endwhile", "endtest"), lines=False)
SILENT = (
    "setdo",
    "set",
    "reset",
    "pulsedo",
    "tpwrite",
    "tperase",
    "confl",
    "confj",
    "singarea",
    "clkreset",
    "clkstart",
    "clkstop",
    "setgo",
    "setao",
)
REFUSED = (
    "waitdi",
    "waituntil",
    "waitdo",
    "test",
    "goto",
    "searchl",
    "searchc",
    "triggl",
    "triggj",
    "triggc",
    "velset",
)
MAX_CALLS = 20


def read_rapid(text: str, file: str = "") -> Program:
    """Read a RAPID module; see the module docstring for what is known of the language."""
    return _RapidReader(text, file).program()


class _RapidReader(RapidMoveReader):
    def __init__(self, text: str, file: str) -> None:
        super().__init__(Draft(Cursor(text, LEXICON, file), "rapid"))
        self.own: set[str] = set()
        self.procedures: dict[str, int] = {}
        self.calls = 0

    def program(self) -> Program:
        cursor = self.cursor
        module = cursor.accept("module")
        if module:
            self.draft.name = cursor.expect_name("the module's name").text
        while not cursor.at("endmodule") and cursor.word.kind != "end":
            self.part()
        if module:
            cursor.expect("endmodule")
        if cursor.word.kind != "end":
            cursor.fail("nothing may follow ENDMODULE", valid="the end of the file")
        start = "main" if "main" in self.procedures else next(iter(self.procedures), "")
        if not start or (start != "main" and len(self.procedures) > 1):
            cursor.fail("which procedure is the program?", valid="one PROC, or one that is called main")
        cursor.index = self.procedures[start]
        self.run("endproc")
        return self.draft.finish()

    def part(self) -> None:
        cursor = self.cursor
        cursor.accept("local"), cursor.accept("task")
        if cursor.at("const", "pers", "var"):
            self.declaration()
        elif opening := cursor.accept("proc"):
            name = cursor.expect_name("the procedure's name")
            if name.key in self.procedures or name.key in self.commands:
                cursor.fail(f"procedure {name.text!r} is declared twice", at=name, valid="another name")
            cursor.expect("(")
            if not cursor.at(")"):
                cursor.fail("procedures with parameters are not followed", valid="')'")
            cursor.take()
            self.procedures[name.key] = cursor.index
            BLOCKS.skip(cursor, opening, "endproc")
            cursor.take()
        else:
            cursor.unknown("unknown word in a module", ["CONST", "PERS", "VAR", "PROC", "ENDMODULE"])

    def declaration(self) -> None:
        cursor = self.cursor
        cursor.take()
        if not cursor.at(*TYPES):
            cursor.unknown("unknown type", TYPES)
        kind = cursor.take().key
        name = cursor.expect_name("a name")
        if name.key in self.own:
            cursor.fail(f"{name.text!r} is declared twice", at=name, valid="another name")
        self.own.add(name.key)
        default = {"num": 0.0, "bool": False, "string": ""}.get(kind)
        if cursor.accept(":="):
            value = self.value(kind)
            self.scope.values[name.key] = replace(value, name=name.text) if isinstance(value, Pose | Joints) else value
        elif default is not None:
            self.scope.values[name.key] = default
        else:
            cursor.fail(f"{name.text!r} has no value", valid=":= […]")
        cursor.expect(";")

    def run(self, *ends: str) -> None:
        """Carry out statements up to one of `ends`, not taking it."""
        cursor = self.cursor
        cursor.deeper()
        while not cursor.at(*ends):
            if cursor.word.kind == "end" or cursor.at("endproc", "endmodule", *BLOCKS.closers):
                cursor.fail(f"the block is never closed by {ends[-1].upper()!r}", valid=" or ".join(ends).upper())
            self.statement()
        cursor.higher()

    def statement(self) -> None:
        cursor = self.cursor
        at = cursor.word
        self.draft.step(at)
        if cursor.at("const", "pers", "var"):
            self.declaration()
        elif cursor.accept("for"):
            self.count(at)
        elif cursor.accept("while"):
            repeat(
                self.draft,
                at,
                self.scope.values,
                self.test("do"),
                lambda: self.run("endwhile"),
                self.leave(at, "endwhile"),
            )
        elif cursor.accept("if"):
            self.branch(at)
        elif cursor.at(*REFUSED):
            cursor.fail(f"{at.text} depends on the running cell or is not followed", valid="moves, waits, known loops")
        elif cursor.at(*SILENT) and cursor.ahead().key != ":=":
            self.draft.note(at.line, f"{at.text} moves nothing and is left out", once=True)
            while not cursor.at(";") and cursor.word.kind != "end":
                cursor.take()
            cursor.expect(";")
        else:
            name = cursor.expect_name("a statement")
            if cursor.accept(":="):
                self.assign(name)
            elif name.key in self.commands:
                self.commands[name.key](name)
            elif name.key in self.procedures:
                self.call(name)
            else:
                names = ["MoveAbsJ", "MoveJ", "MoveL", "MoveC", "WaitTime", "GripLoad", "AccSet", "FOR", "WHILE", "IF"]
                cursor.unknown("unknown word", [*names, *self.procedures], at=name)
            cursor.expect(";")

    def assign(self, name: Token) -> None:
        if name.key not in self.own:
            self.cursor.unknown(f"{name.text!r} is not declared", self.own, at=name)
        old = self.scope.values[name.key]
        at = self.cursor.word
        value = evaluate(self.cursor, self.scope)
        if isinstance(value, list) or type(value) is not type(old):
            self.cursor.fail(f"the value is not of the type of {name.text!r}", at=at, valid="a value of the same type")
        self.scope.values[name.key] = value

    def call(self, name: Token) -> None:
        self.calls += 1
        if self.calls > MAX_CALLS:
            self.cursor.fail(f"calls inside calls, more than {MAX_CALLS} deep: endless?", at=name, valid="fewer calls")
        after, self.cursor.index = self.cursor.index, self.procedures[name.key]
        self.run("endproc")
        self.cursor.index = after
        self.calls -= 1

    def test(self, word: str) -> Callable[[], bool]:
        def read() -> bool:
            value = condition(self.cursor, self.scope)
            self.cursor.expect(word)
            return value

        return read

    def leave(self, at: Token, word: str) -> Callable[[], None]:
        def go() -> None:
            BLOCKS.skip(self.cursor, at, word)
            self.cursor.take()

        return go

    def count(self, at: Token) -> None:
        cursor = self.cursor
        name = cursor.expect_name("the counter")
        cursor.expect("from")
        value = number(cursor, self.scope)
        cursor.expect("to")
        last = number(cursor, self.scope)
        step = number(cursor, self.scope) if cursor.accept("step") else (1.0 if last >= value else -1.0)
        if step == 0.0:
            cursor.fail("endless loop: STEP 0", valid="a step that is not 0")
        cursor.expect("do")
        body = cursor.index
        while (value <= last) if step > 0 else (value >= last):
            cursor.index = body
            self.scope.values[name.key] = value
            self.draft.step(at)
            self.run("endfor")
            value += step
        cursor.index = body
        self.leave(at, "endfor")()

    def branch(self, at: Token) -> None:
        cursor, done = self.cursor, False
        while True:
            if self.test("then")() and not done:
                done = True
                self.run("elseif", "else", "endif")
            else:
                BLOCKS.skip(cursor, at, "elseif", "else", "endif")
            if not cursor.accept("elseif"):
                break
        if cursor.accept("else"):
            if done:
                BLOCKS.skip(cursor, at, "endif")
            else:
                self.run("endif")
        cursor.expect("endif")
