# SPDX-License-Identifier: Apache-2.0
"""KRL, the part that moves the arm: millimetres, degrees, $VEL.CP in m/s; ``;`` begins a comment, any case.

program   = {"DEF" name "(" ")" {statement} "END"}          the first one is run, others when they are called
statement = ["DECL"] type name {"," name} ["=" value] | name "=" value | system "=" value
          | ("PTP"|"LIN"|"PTP_REL"|"LIN_REL") target [word] | ("CIRC"|"CIRC_REL") via "," target ["," "CA" angle] [word]
          | "SPLINE" … "ENDSPLINE" with ("SPL"|"SLIN") target | "SCIRC" via "," target, each [WITH system = value, …]
          | "WAIT" "SEC" s | "FOR" i "=" a "TO" b ["STEP" s] … "ENDFOR" | "WHILE" cond … "ENDWHILE"
          | "REPEAT" … "UNTIL" cond | "LOOP" … "ENDLOOP" | "IF" cond "THEN" … ["ELSE" …] "ENDIF" | "EXIT" | "HALT"
          | "BAS" "(" "#VEL_PTP"|"#ACC_PTP"|"#VEL_CP"|"#ACC_CP"|"#INITMOV" "," number ")"
word      = "C_PTP" | "C_DIS" | "C_ORI" | "C_VEL"
system    = $VEL.CP $VEL.ORI1 $ACC.CP $ACC.ORI1 $VEL_AXIS[i] $ACC_AXIS[i] $APO.CDIS/CORI/CVEL/CPTP $TOOL $BASE $LOAD
          | $ORI_TYPE = #VAR|#CONSTANT | $CIRC_TYPE = #BASE|#PATH

`KrlMoveReader` reads the motion instructions (PTP, LIN, CIRC, their relative forms, spline blocks), `read_krl` a whole
program; `krl_data` has the values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from armwright.programs.languages.expression import (
    Blocks,
    BreakLoop,
    Scope,
    condition,
    evaluate,
    finite,
    number,
    repeat,
)
from armwright.programs.languages.krl_data import ARRAYS, BLENDS, ENUMS, FRAMES, NUMERIC, Machine, aggregate
from armwright.programs.languages.program_draft import DEG, Draft
from armwright.programs.languages.scanner import Cursor, Lexicon, Token
from armwright.programs.program import Duration, Joints, MoveKind, Orientation, Pose, Program, Stop, Tangent

MOTIONS: dict[str, MoveKind] = {
    "ptp": "joint",
    "sptp": "joint",
    "ptp_rel": "joint",
    "lin": "line",
    "slin": "line",
    "lin_rel": "line",
    "circ": "arc",
    "scirc": "arc",
    "circ_rel": "arc",
}
SEGMENTS: dict[str, MoveKind] = {"spl": "spline", "slin": "line", "scirc": "arc"}


class KrlMoveReader:
    """Reads motion instructions, given what the machine knows."""

    def __init__(self, draft: Draft, scope: Scope) -> None:
        """Begin with an unmoved machine."""
        self.draft, self.cursor, self.scope = draft, draft.cursor, scope
        self.machine = Machine(draft)

    def motion(self, at: Token) -> None:
        """Read a move after its first word."""
        parts = self.parts(at, MOTIONS[at.key])
        words = [word for word in iter(lambda: self.cursor.accept(*BLENDS), None) if word]
        if len(words) > 1:
            self.draft.note(words[1].line, f"of two blend words the first counts: {words[0].text}", once=True)
        parts["blend"] = self.machine.blend(words[0] if words else None)
        self.draft.add(at, **parts)

    def spline(self, at: Token) -> None:
        """Read a spline block; its inner targets are passed without rounding."""
        cursor = self.cursor
        segments: list[tuple[Token, dict[str, Any]]] = []
        outer = self.with_settings()
        while not cursor.accept("endspline"):
            if cursor.accept("\n"):
                continue
            if not cursor.at(*SEGMENTS):
                cursor.unknown("unknown word in a spline block", ["SPL", "SLIN", "SCIRC", "ENDSPLINE"])
            word = cursor.take()
            segments.append((word, self.parts(word, SEGMENTS[word.key])))
            if cursor.word.kind != "end":
                cursor.expect("\n")
        if not segments:
            cursor.fail("a spline block without a segment", at=at, valid="SPL, SLIN or SCIRC before ENDSPLINE")
        last = self.machine.blend(cursor.accept("c_dis", "c_ori", "c_vel"))
        self.machine.system = outer
        for index, (word, parts) in enumerate(segments):
            self.draft.add(word, blend=last if index == len(segments) - 1 else Tangent(), **parts)

    def parts(self, at: Token, kind: MoveKind) -> dict[str, Any]:
        """Read targets and settings of one move."""
        cursor, machine = self.cursor, self.machine
        relative, arc = at.key.endswith("_rel"), kind == "arc"
        places = [self.place()]
        if arc:
            cursor.expect(",")
            places.append(self.place())
        angle = None
        if arc and cursor.accept(","):
            cursor.expect("ca")
            angle = number(cursor, self.scope, "an angle in degrees") * DEG
        outer = self.with_settings()
        found: dict[str, Any] = {"kind": kind}
        if arc:
            found |= {"via": machine.via(*places[0], relative), "arc_angle": angle}
        value, word = places[-1]
        target = machine.target(value, word, relative=relative, arc=arc)
        if kind != "joint" and isinstance(target, Joints):
            cursor.fail(f"{at.text} leads to a place, not to axes", at=word, valid="{X …, Y …, Z …, A …, B …, C …}")
        found["target"] = target
        if kind == "joint":
            found |= {"speed": machine.share("$vel_axis", at), "acceleration": machine.share("$acc_axis", at)}
            if isinstance(target, Pose) and not target.oriented:
                cursor.fail("PTP to a place needs its orientation", at=word, valid="A, B and C")
        else:
            found |= {"speed": machine.rate("$vel", at), "acceleration": machine.acceleration(at)}
            found["orientation"] = self.orientation(arc)
        found |= {"T_base_frame": machine.base, "T_flange_tool": machine.tool, "payload": machine.payload}
        machine.system = outer
        return found

    def orientation(self, arc: bool) -> Orientation:
        """Return how the tool turns on the way."""
        system = self.machine.system
        if arc and system["$circ_type"] == "#path":
            return "with_path"
        return "fixed" if system["$ori_type"] == "#constant" else "slerp"

    def place(self) -> tuple[dict[str, Any], Token]:
        """Read a target: an aggregate or the name of one."""
        at = self.cursor.word
        value = evaluate(self.cursor, self.scope, "a target")
        if not isinstance(value, dict):
            self.cursor.fail("this is no target", at=at, valid="{X …} or {A1 …}, or a declared name")
        return value, at

    def with_settings(self) -> dict[str, Any]:
        """Read ``WITH name = value, …``, which holds for one move; return the settings to go back to."""
        cursor, before = self.cursor, dict(self.machine.system)
        if cursor.accept("with"):
            while True:
                name = cursor.expect_name("a system variable")
                if name.key not in NUMERIC and name.key not in ENUMS:
                    cursor.unknown("unknown after WITH", [*NUMERIC, *ENUMS, *FRAMES], at=name)
                cursor.expect("=")
                at = cursor.word
                self.machine.assign(name, evaluate(cursor, self.scope), at)
                if not cursor.accept(","):
                    break
        return before

    def wait(self, at: Token) -> None:
        """Read ``WAIT SEC s``."""
        seconds = self.cursor.located(at, Duration, number(self.cursor, self.scope, "seconds"))
        self.draft.add(at, kind="wait", target=None, speed=seconds, blend=Stop())


LEXICON = Lexicon(
    names=r"[$A-Za-z_][\w$]*(?:\.[A-Za-z_]\w*)*",
    symbols=r"<=|>=|<>|==|[-+*/()\[\]{}=:,<>#]",
    line_comments=(";", "&"),
    newlines=True,
)
BLOCKS = Blocks(
    ("def", "for", "while", "loop", "repeat", "if", "switch", "spline"),
    ("end", "endfor", "endwhile", "endloop", "until", "endif", "endswitch", "endspline"),
)
TYPES = ("e6pos", "pos", "frame", "e6axis", "axis", "load", "real", "int", "bool")
INPUTS = ("$in", "$anin", "$pos_act", "$axis_act", "$timer", "$flag", "$cycflag")
SILENT = ("$out", "$anout", "ini", "global", "ext", "fold", "endfold")
REFUSED = ("switch", "goto", "interrupt", "trigger", "signal", "return")
STATEMENTS = (
    "PTP",
    "LIN",
    "CIRC",
    "PTP_REL",
    "LIN_REL",
    "CIRC_REL",
    "SPLINE",
    "WAIT SEC",
    "FOR",
    "WHILE",
    "REPEAT",
    "LOOP",
    "IF",
    "DECL",
    "BAS",
    "HALT",
    "$VEL.CP",
    "$TOOL",
    "$BASE",
)
MAX_CALLS = 20


class _KrlHalt(Exception):  # noqa: N818 - not an error: the program ends here
    pass


def read_krl(text: str, file: str = "") -> Program:
    """Read a KRL program; see the module for what it knows."""
    return _KrlReader(text, file).program()


class _KrlReader(KrlMoveReader):
    def __init__(self, text: str, file: str) -> None:
        scope = Scope(atom=self.atom, inputs=INPUTS, what="variable")
        super().__init__(Draft(Cursor(text, LEXICON, file), "krl"), scope)
        self.declared: set[str] = set()
        self.routines: dict[str, int] = {}
        self.calls = 0

    def program(self) -> Program:
        cursor = self.cursor
        while cursor.word.kind != "end":
            if cursor.accept("\n"):
                continue
            opening = cursor.expect("def")
            name = cursor.expect_name("the program's name")
            if name.key in self.routines:
                cursor.fail(f"{name.text!r} is defined twice", at=name, valid="another name")
            cursor.expect("(")
            cursor.expect(")")
            self.routines[name.key] = cursor.index
            self.draft.name = self.draft.name or name.text
            BLOCKS.skip(cursor, opening, "end")
            cursor.take()
        if not self.routines:
            cursor.fail("no program in this file", valid="DEF name() … END")
        cursor.index = next(iter(self.routines.values()))
        try:
            self.run("end")
        except _KrlHalt:
            pass
        except BreakLoop:
            cursor.fail("EXIT outside of a loop", valid="EXIT inside a loop")
        if any(move.T_flange_tool is None for move in self.draft.moves):
            self.draft.note(1, "no $TOOL is set: targets are places of the arm's own tool frame")
        return self.draft.finish()

    def run(self, *ends: str) -> None:
        """Carry out statements up to one of `ends`, not taking it."""
        cursor = self.cursor
        cursor.deeper()
        while not cursor.at(*ends):
            if cursor.word.kind == "end" or cursor.at("else", *BLOCKS.closers):
                cursor.fail(f"the block is never closed by {ends[-1].upper()!r}", valid=" or ".join(ends).upper())
            if not cursor.accept("\n"):
                self.statement()
                if cursor.word.kind != "end":
                    cursor.expect("\n")
        cursor.higher()

    def statement(self) -> None:
        cursor, at = self.cursor, self.cursor.word
        self.draft.step(at)
        if cursor.at("decl", *TYPES):
            self.declaration()
        elif cursor.at(*MOTIONS):
            self.motion(cursor.take())
        elif cursor.accept("spline"):
            self.spline(at)
        elif cursor.accept("wait"):
            if not cursor.accept("sec"):
                cursor.fail("WAIT FOR depends on the running cell", valid="WAIT SEC …")
            self.wait(at)
        elif cursor.at("for", "while", "loop", "repeat", "if"):
            self.flow(cursor.take())
        elif cursor.accept("exit"):
            raise BreakLoop
        elif cursor.accept("halt"):
            raise _KrlHalt
        elif cursor.accept("bas"):
            self.bas()
        elif cursor.at(*SILENT):
            self.draft.note(at.line, f"{at.text} moves nothing and is left out", once=True)
            while not cursor.at("\n") and cursor.word.kind != "end":
                cursor.take()
        elif cursor.at(*REFUSED):
            cursor.fail(f"{at.text} is not followed", valid=", ".join(STATEMENTS))
        else:
            self.assignment_or_call(cursor.expect_name("a statement"))

    def declaration(self) -> None:
        cursor = self.cursor
        cursor.accept("decl")
        if not cursor.at(*TYPES):
            cursor.unknown("unknown type", [name.upper() for name in TYPES])
        cursor.take()
        while True:
            name = cursor.expect_name("a name")
            if name.key in self.declared:
                cursor.fail(f"{name.text!r} is declared twice", at=name, valid="another name")
            self.declared.add(name.key)
            if cursor.accept("="):
                self.scope.values[name.key] = evaluate(cursor, self.scope)
            if not cursor.accept(","):
                break

    def assignment_or_call(self, name: Token) -> None:
        cursor = self.cursor
        if name.key in ARRAYS:
            self.axis_value(name)
        elif cursor.accept("="):
            at = cursor.word
            value = evaluate(cursor, self.scope)
            if name.key in NUMERIC or name.key in ENUMS or name.key in FRAMES:
                self.machine.assign(name, value, at)
            elif name.key.startswith("$"):
                cursor.unknown("unknown system variable", [*NUMERIC, *ENUMS, *FRAMES, *ARRAYS], at=name)
            else:
                self.scope.values[name.key] = value
        elif cursor.at("(") and name.key in self.routines:
            self.call(name)
        else:
            cursor.unknown("unknown word", [*STATEMENTS, *self.routines], at=name)

    def call(self, name: Token) -> None:
        cursor = self.cursor
        cursor.expect("(")
        cursor.expect(")")
        self.calls += 1
        if self.calls > MAX_CALLS:
            cursor.fail(f"calls inside calls, more than {MAX_CALLS} deep: endless?", at=name, valid="fewer calls")
        after, cursor.index = cursor.index, self.routines[name.key]
        self.run("end")
        cursor.index = after
        self.calls -= 1

    def atom(self, cursor: Cursor) -> dict[str, Any] | str | None:
        """Read aggregates, #ENUMERATION and $NULLFRAME."""
        if cursor.at("{"):
            return aggregate(cursor, self.scope)
        if cursor.accept("#"):
            return f"#{cursor.expect_name('the name of a value').key}"
        if cursor.accept("$nullframe"):
            return {"x": 0.0, "y": 0.0, "z": 0.0, "a": 0.0, "b": 0.0, "c": 0.0}
        return None

    # --- loops and branches -------------------------------------------------------------------------------------------

    def flow(self, at: Token) -> None:
        values = self.scope.values
        if at.key == "while":
            repeat(self.draft, at, values, self.test, lambda: self.run("endwhile"), self.leave(at, "endwhile"))
        elif at.key == "loop":
            repeat(self.draft, at, values, lambda: True, lambda: self.run("endloop"), self.leave(at, "endloop"))
        elif at.key == "repeat":
            self.until(at)
        elif at.key == "for":
            self.count(at)
        else:
            self.branch(at)

    def test(self) -> bool:
        return condition(self.cursor, self.scope)

    def leave(self, at: Token, word: str) -> Callable[[], None]:
        def go() -> None:
            BLOCKS.skip(self.cursor, at, word)
            self.cursor.take()

        return go

    def until(self, at: Token) -> None:
        """Run REPEAT … UNTIL: a loop whose test stands at its end."""
        cursor, finished = self.cursor, False

        def body() -> None:
            nonlocal finished
            self.run("until")
            cursor.take()
            finished = self.test()
            if finished:
                raise BreakLoop

        def leave() -> None:
            self.leave(at, "until")()
            while not cursor.at("\n") and cursor.word.kind != "end":
                cursor.take()

        repeat(self.draft, at, self.scope.values, lambda: True, body, leave)

    def count(self, at: Token) -> None:
        cursor = self.cursor
        name = cursor.expect_name("the counter")
        cursor.expect("=")
        value = number(cursor, self.scope)
        cursor.expect("to")
        last = number(cursor, self.scope)
        step = number(cursor, self.scope) if cursor.accept("step") else 1.0
        if step == 0.0:
            cursor.fail("endless loop: STEP 0", valid="a step that is not 0")
        body = cursor.index
        try:
            while (value <= last) if step > 0 else (value >= last):
                cursor.index = body
                self.scope.values[name.key] = value
                self.draft.step(at)
                self.run("endfor")
                value += step
        except BreakLoop:
            pass
        cursor.index = body
        self.leave(at, "endfor")()

    def branch(self, at: Token) -> None:
        cursor = self.cursor
        done = self.test()
        cursor.expect("then")
        if done:
            self.run("else", "endif")
        else:
            BLOCKS.skip(cursor, at, "else", "endif")
        if cursor.accept("else"):
            if done:
                BLOCKS.skip(cursor, at, "endif")
            else:
                self.run("endif")
        cursor.expect("endif")

    # --- settings -----------------------------------------------------------------------------------------------------

    def axis_value(self, name: Token) -> None:
        cursor = self.cursor
        cursor.expect("[")
        at = cursor.word
        axis = number(cursor, self.scope, "the axis")
        if axis not in range(1, 7):
            cursor.fail("axes are numbered 1 to 6", at=at, valid="1 … 6")
        cursor.expect("]")
        cursor.expect("=")
        self.machine.axes[name.key][int(axis) - 1] = number(cursor, self.scope, "percent")

    def bas(self) -> None:
        cursor = self.cursor
        cursor.expect("(")
        at = cursor.word
        what = evaluate(cursor, self.scope)
        value = finite(cursor, evaluate(cursor, self.scope), "a number", at) if cursor.accept(",") else 0.0
        cursor.expect(")")
        if what in ("#vel_ptp", "#acc_ptp"):
            self.machine.axes[f"${what[1:4]}_axis"] = [value] * 6
        elif what in ("#vel_cp", "#acc_cp"):
            self.machine.system[f"${what[1:4]}.cp"] = value
        elif what != "#initmov":
            cursor.unknown("unknown part of BAS", ["#VEL_PTP", "#ACC_PTP", "#VEL_CP", "#ACC_CP", "#INITMOV"], at=at)
