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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from armwright.programs.languages.cursor import Cursor
from armwright.programs.languages.draft import Draft
from armwright.programs.languages.expression import condition, evaluate, number
from armwright.programs.languages.flow import Blocks, repeat
from armwright.programs.languages.lexer import Lexicon, Token
from armwright.programs.languages.rapid_data import TYPES
from armwright.programs.languages.rapid_moves import MoveReader
from armwright.programs.program import Joints, Pose, Program

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
    """Read a RAPID module; see above for what is known of the language."""
    return _Reader(text, file).program()


class _Reader(MoveReader):
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
