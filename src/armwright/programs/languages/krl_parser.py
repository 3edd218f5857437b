# SPDX-License-Identifier: Apache-2.0
"""Parser of KRL: ``.src`` and ``.dat`` files into the common tree, line by line; nothing is run.

    file      = {["GLOBAL"] "DEF" name "(" parameters ")" … "END" | "DEFFCT" type name "(" … ")" … "ENDFCT"}
              | ["DEFDAT" name ["PUBLIC"]] {declaration | assignment} ["ENDDAT"]
    declaration = ["DECL"] ["GLOBAL"] ["CONST"] type name ["[" sizes "]"] ["=" value] {"," name …}
              | "STRUC" … | "ENUM" … | "SIGNAL" name $IN[…] ["TO" …] | "EXT" …
    statement = moves, SPLINE … ENDSPLINE, WAIT SEC, WAIT FOR, IF, FOR, WHILE, REPEAT, LOOP, SWITCH, GOTO, label ":",
                EXIT, RETURN, HALT, INTERRUPT, TRIGGER, calls, assignments
    move      = word target {"," target} ["," "CA" angle] ["WITH" name "=" value, …] {C_PTP | C_DIS | …} ["#TOOL"]

``;`` and lines with ``&`` are comments, so the folds of inline forms are; the statements between them are read.
Comparisons bind weaker than AND and OR, and NOT binds strongest, as in KUKA's table of priorities.
"""

from __future__ import annotations

from typing import ClassVar

from armwright.programs.languages.krl_words import (
    BLENDS,
    ENDS,
    INNER,
    MOTION,
    MOVES,
    OUTER,
    SPELLING,
    STATEMENTS,
    TO_LINE_END,
    TYPES,
)
from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Argument, Block, Module, Node, Routine, RoutineParameter
from armwright.syntax.scanner import Token
from armwright.syntax.tree_parser import Syntax, TreeParser, meant, near


def parse_krl(text: str, file: str = "") -> Module:
    """Return the module of one KRL file."""
    return KrlParser(text, file).parse()


class KrlParser(TreeParser):
    """See the module's text."""

    spelling = SPELLING
    powers: ClassVar[dict[str, int]] = {
        **dict.fromkeys(("==", "<>", "<", ">", "<=", ">="), 1),
        **dict.fromkeys(("or", "b_or"), 2),
        **dict.fromkeys(("exor", "b_exor"), 3),
        **dict.fromkeys(("and", "b_and"), 4),
        **dict.fromkeys(("+", "-"), 5),
        **dict.fromkeys(("*", "/"), 6),
        ":": 8,
    }
    signs: ClassVar[dict[str, int]] = {"not": 7, "b_not": 7, "-": 7, "+": 7}

    # --- files --------------------------------------------------------------------------------------------------------

    def parse(self) -> Module:
        """Read the whole file; statements outside of any routine make one of their own."""
        loose: list[Node] = []
        while self.word.kind != "end":
            if self.accept("\n"):
                continue
            first, start = self.word, self.index
            shared = bool(self.at("global") and self.ahead().key in ("def", "deffct") and self.take())
            if self.at("def", "deffct"):
                self.routine(shared)
            elif self.at("defdat"):
                self.take()
                self.module.name = self.name("the data list's name").text
                self.rest_of_line()
            elif self.at("enddat"):
                self.take()
            else:
                try:
                    made = self.statement()
                    loose.extend(made.branches[0][1] if isinstance(made, tree.If) and made.at.key != "if" else [made])
                    self.end_of_line()
                except Syntax as error:
                    loose.append(self.recover(error, first, start, MOTION))
        plain = [s for s in loose if isinstance(s, tree.Declare | tree.Assign | tree.NotUnderstood)]
        self.module.data.extend(plain)
        if not self.module.routines and any(isinstance(s, tree.Invoke) and s.at.key in MOTION for s in loose):
            name = Token("name", "program", "program", 1, 1)
            self.module.routines["program"] = Routine(
                name, "def", (), "", tuple(loose), self.words[-1].line, self.module
            )
            self.module.data.clear()
        return self.module

    def routine(self, shared: bool) -> None:
        """Read a routine from DEF to END."""
        opening = self.take()
        result = ""
        parameters: list[RoutineParameter] = []
        try:
            if opening.key == "deffct":
                result = self.name("a type").key
                if self.accept("["):
                    self.skip_to("]")
            name = self.name("the routine's name")
            if self.accept("("):
                while not self.accept(")"):
                    word = self.name("a parameter")
                    if self.accept("["):
                        self.skip_to("]")
                    way = self.take().key if self.accept(":") else "out"
                    parameters.append(RoutineParameter(word, "", way != "in"))
                    self.accept(",")
            self.end_of_line()
        except Syntax as error:
            self.refuse(str(error), error.at, error.valid)
        body = self.block(opening, ENDS[opening.key])
        end = self.take()
        self.rest_of_line()
        hidden = not shared and bool(self.module.routines)  # the first one of a file is its program
        made = Routine(name, opening.key, tuple(parameters), result, body, end.line, self.module, hidden)
        if name.key in self.module.routines:
            self.module.doubled[name.key] = name
        self.module.routines.setdefault(name.key, made)

    def skip_to(self, sign: str) -> None:
        """Go behind a sign on this line."""
        while not self.accept(sign):
            if self.at("\n") or self.word.kind == "end":
                self.fail(f"expected {sign!r}", valid=repr(sign))
            self.take()

    def rest_of_line(self) -> None:
        """Go to the end of the line."""
        while not self.at("\n") and self.word.kind != "end":
            self.take()

    def end_of_line(self) -> None:
        """Take the end of the line."""
        if self.word.kind != "end" and not self.accept("\n"):
            self.fail("expected the end of the line", valid="the end of the line")

    # --- statements ---------------------------------------------------------------------------------------------------

    def block(self, opening: Token, *ends: str) -> Block:
        """Read statements up to one of `ends`, not taking it."""
        self.deeper()
        level, found = self.depth, []
        while not self.at(*ends):
            if self.accept("\n"):
                continue
            if self.word.kind == "end" or (self.at(*OUTER) and self.begins_line()):
                self.never_closed(opening, ends[-1])
            if self.at(*INNER):
                if ends[-1] in INNER:
                    self.never_closed(opening, ends[-1])
                self.stray(opening)
            first, start = self.word, self.index
            try:
                found.append(self.statement())
                self.end_of_line()
            except Syntax as error:
                found.append(self.recover(error, first, start, MOTION))
            self.depth = level
        self.depth = level - 1
        return tuple(found)

    def begins_line(self) -> bool:
        """Return whether the next word is the first of its line."""
        return self.index == 0 or self.words[self.index - 1].kind == "newline"

    def statement(self) -> Node:
        """Read one statement, without the end of its line."""
        at = self.word
        if at.kind != "name":
            self.fail("expected a statement", valid="a word")
        if at.key in MOVES:
            return self.move(self.take())
        special = getattr(self, f"read_{at.key}", None)
        follows = self.ahead()
        if special is not None and follows.key not in ("=", "."):
            self.take()
            return special(at)
        if at.key in TO_LINE_END and follows.key not in ("=", "[", "."):
            self.rest_of_line()
            return tree.Invoke(at, ())
        if follows.key == ":" and follows.kind == "symbol":
            self.take(), self.take()
            return tree.Label(at, at.key)
        if follows.kind == "name" and at.key not in (*TYPES, "decl", "global", "const") and near(at.key, MOTION, 0.8):
            self.fail(f"unknown word{meant(at.key, MOTION)}", at=at, valid=STATEMENTS)
        if at.key in ("decl", "global", "const") or (follows.kind == "name" and at.key not in INNER):
            return self.declaration()
        target = self.atom()
        if self.accept("="):
            return tree.Assign(at, target, self.expression())
        if isinstance(target, tree.FunctionCall):
            return tree.Invoke(at, target.arguments)
        if isinstance(target, tree.Name):
            self.fail(f"unknown word{meant(at.key, MOTION)}", at=at, valid="a move, a call with '( )' or an assignment")
        self.fail("expected '='", valid="'='")

    def declaration(self) -> Node:
        """Read a declaration; several names make several of them."""
        shared = ""
        while word := self.accept("decl", "global", "const"):
            shared = "global" if word.key == "global" else shared
        if self.at("interrupt", "signal", "struc", "enum"):
            return self.statement()
        kind = self.name("a type")
        found = []
        while True:
            name = self.name("a name")
            sizes: list[Node] = []
            if self.accept("["):
                while not self.accept("]"):  # "[,]" is a parameter's array, which has the caller's size
                    if not self.accept(","):
                        sizes.append(self.expression())
            value = self.expression() if self.accept("=") else None
            found.append(tree.Declare(name, kind.key, tuple(sizes), value, shared, kind))
            if not self.accept(","):
                break
        if len(found) == 1:
            return found[0]
        return tree.If(kind, ((tree.Literal(kind, True), tuple(found)),), ())

    def move(self, at: Token) -> Node:
        """Read a move after its first word: targets by place, everything else by name."""
        found = [Argument(self.word, "", self.expression())]
        while self.accept(","):
            if word := self.accept("ca"):
                found.append(Argument(word, "ca", self.expression()))
            else:
                found.append(Argument(self.word, "", self.expression()))
        while not self.at("\n") and self.word.kind != "end":
            if word := self.accept("with"):
                found.append(Argument(word, "with", self.settings()))
            elif word := self.accept(*BLENDS):
                found.append(Argument(word, word.key, None))
            elif self.accept("#"):
                frame = self.name("TOOL or BASE")
                if frame.key not in ("tool", "base"):
                    self.fail("relative to what?", at=frame, valid="#TOOL or #BASE")
                found.append(Argument(frame, "frame", None))
            else:
                self.fail("expected the end of the line", valid="C_PTP, C_DIS, C_ORI, C_VEL or the end of the line")
            self.accept(",")
        return tree.Invoke(at, tuple(found))

    def settings(self) -> tuple[tree.Assign, ...]:
        """Read ``name = value, …`` behind WITH."""
        found = []
        while True:
            at = self.word
            target = self.atom()
            self.expect("=")
            found.append(tree.Assign(at, target, self.expression()))
            if not self.accept(","):
                return tuple(found)

    def read_spline(self, at: Token) -> Node:
        """Read a spline block with its segments."""
        settings = self.settings() if self.accept("with") else ()
        segments = self.block(at, "endspline")
        self.take()
        found = [Argument(at, "with", settings), Argument(at, "segments", segments)]
        while word := self.accept(*BLENDS):
            found.append(Argument(word, word.key, None))
        return tree.Invoke(at, tuple(found))

    read_ptp_spline = read_spline

    def read_wait(self, at: Token) -> Node:
        """Read WAIT SEC or WAIT FOR."""
        if word := self.accept("sec", "for"):
            return tree.Invoke(at, (Argument(word, word.key, self.expression()),))
        self.fail("expected SEC or FOR", valid="SEC or FOR")

    def read_halt(self, at: Token) -> Node:
        """Read HALT, which waits for the operator and goes on."""
        return tree.Invoke(at, ())

    def read_exit(self, at: Token) -> Node:
        """Read EXIT: the loop ends."""
        return tree.Leave(at, "loop")

    def read_goto(self, at: Token) -> Node:
        """Read a jump."""
        return tree.Jump(at, self.name("a label").key)

    def read_return(self, at: Token) -> Node:
        """Read the end of a routine."""
        return tree.Return(at, None if self.at("\n") or self.word.kind == "end" else self.expression())

    def read_if(self, at: Token) -> Node:
        """Read IF … THEN … ELSE … ENDIF; ELSEIF is no word of the language."""
        test = self.header("then")
        self.end_of_line()
        body = self.block(at, "else", "endif")
        otherwise = self.block(at, "endif") if self.accept("else") else ()
        self.remark_empty(at, body, otherwise)
        self.take()
        return test if isinstance(test, tree.NotUnderstood) else tree.If(at, ((test, body),), otherwise)

    def header(self, word: str) -> Node:
        """Read the test of a block; one that does not fit is set aside with its block."""
        try:
            test = self.expression()
            self.expect(word)
            return test
        except Syntax as error:
            self.rest_of_line()
            said = tree.NotUnderstood(error.at, str(error), error.valid, motion=True)
            self.module.set_aside.append(said)
            return said

    def read_for(self, at: Token) -> Node:
        """Read a counted loop."""
        name = self.name("the counter")
        self.expect("=")
        first = self.expression()
        self.expect("to")
        last = self.expression()
        step = self.expression() if self.accept("step") else None
        self.end_of_line()
        body = self.block(at, "endfor")
        self.take()
        return tree.For(at, name, first, last, step, body)

    def read_while(self, at: Token) -> Node:
        """Read a loop with its test at the beginning."""
        test = self.expression()
        self.end_of_line()
        body = self.block(at, "endwhile")
        self.take()
        return tree.While(at, test, body, until=False)

    def read_loop(self, at: Token) -> Node:
        """Read a loop without a test."""
        body = self.block(at, "endloop")
        self.take()
        return tree.While(at, None, body, until=False)

    def read_repeat(self, at: Token) -> Node:
        """Read a loop with its test at the end."""
        body = self.block(at, "until")
        self.take()
        return tree.While(at, self.expression(), body, until=True)

    def read_switch(self, at: Token) -> Node:
        """Read SWITCH … CASE … DEFAULT … ENDSWITCH."""
        subject = self.expression()
        self.end_of_line()
        cases, otherwise = [], ()
        while not self.accept("endswitch"):
            if self.accept("\n"):
                continue
            if self.accept("default"):
                otherwise = self.block(at, "case", "default", "endswitch")
                continue
            if not self.at("case"):
                self.never_closed(at, "endswitch")
            self.take()
            values = [self.expression()]
            while self.accept(","):
                values.append(self.expression())
            cases.append((tuple(values), self.block(at, "case", "default", "endswitch")))
        return tree.Switch(at, subject, tuple(cases), otherwise)

    def read_interrupt(self, at: Token) -> Node:
        """Read INTERRUPT DECL … DO routine(…), and ON, OFF and their like: the words behind DO are kept."""
        found: list[Argument] = []
        behind = False
        while not self.at("\n") and self.word.kind != "end":
            word = self.take()
            if behind and word.kind == "name":
                found.append(Argument(word, "", tree.Name(word)))
            behind = behind or word.key == "do"
        return tree.Invoke(at, tuple(found))

    def read_struc(self, at: Token) -> Node:
        """Read a record type: ``STRUC name type a, b, type c``."""
        name, parts, kind = self.name("the type's name"), [], ""
        while not self.at("\n") and self.word.kind != "end":
            word = self.name("a type or a name")
            if self.word.kind == "name":
                kind = word.key
                word = self.name("a name")
            if self.accept("["):
                self.skip_to("]")
            parts.append((word.key, kind))
            self.accept(",")
        self.module.records[name.key] = tuple(parts)
        return tree.Label(at, "")

    def read_enum(self, at: Token) -> Node:
        """Read an enumeration, whose names are known by their ``#``."""
        name, values = self.name("the type's name"), []
        while not self.at("\n") and self.word.kind != "end":
            values.append(self.name("a value's name").key)
            self.accept(",")
        self.module.enums[name.key] = tuple(values)
        return tree.Label(at, "")

    def read_signal(self, at: Token) -> Node:
        """Read another name for inputs or outputs: ``SIGNAL name $IN[1] [TO $IN[8]]``."""
        name = self.name("a name")
        value = self.expression()
        if self.accept("to"):
            self.expression()
        return tree.Assign(at, tree.Name(name), tree.Unary(at, "signal", value))

    # --- values -------------------------------------------------------------------------------------------------------

    def number(self, text: str) -> int | float:
        """Return a number: whole ones stay whole."""
        if text[0] == "'":
            return int(text[2:-1], 16 if text[1] in "hH" else 2)
        return int(text) if text.isdigit() and len(text) < 16 else float(text)

    def atom(self) -> Node:
        """Read one value."""
        word = self.word
        if self.accept("{"):
            return self.record(word)
        if self.accept("#"):
            return tree.Literal(word, f"#{self.name('the name of a value').key}")
        if word.kind != "name":
            return super().atom()
        self.take()
        if word.key in ("true", "false"):
            return tree.Literal(word, word.key == "true")
        if self.accept("("):
            arguments = []
            while not self.accept(")"):
                if self.accept(","):
                    continue
                arguments.append(Argument(self.word, "", self.expression()))
                if not self.at(",", ")"):
                    self.fail("expected ',' or ')'", valid="',' or ')'")
                if self.at(","):
                    self.take()
            node: Node = tree.FunctionCall(word, tuple(arguments))
        else:
            node = tree.Name(word)
        while True:
            if self.accept("["):
                indices = []
                while not self.accept("]"):
                    if not self.accept(","):
                        indices.append(self.expression())
                node = tree.Index(word, node, tuple(indices))
            elif self.at(".") and self.ahead().kind == "name":
                self.take()
                node = tree.Member(word, node, self.take().key)
            else:
                return node

    def record(self, opening: Token) -> Node:
        """Read ``{[type:] NAME value, …}`` behind its brace."""
        kind = ""
        if self.word.kind == "name" and self.ahead().key == ":":
            kind = self.take().key
            self.take()
        parts = []
        while not self.accept("}"):
            name = self.name("a component")
            if self.accept("["):
                self.skip_to("]")
            parts.append((name, self.expression()))
            if not self.accept(",") and not self.at("}"):
                self.fail("expected ',' or '}'", valid="',' or '}'")
        if not parts:
            self.fail("an aggregate without components", at=opening, valid="{X …, Y …, Z …, A …, B …, C …}")
        return tree.RecordOf(opening, kind, tuple(parts))
