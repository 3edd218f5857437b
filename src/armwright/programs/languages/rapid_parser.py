# SPDX-License-Identifier: Apache-2.0
r"""Parser of RAPID: modules, data, records, routines and statements into the common tree; nothing is run.

    file      = {"MODULE" name ["(" … ")"] {declaration} "ENDMODULE"} or declarations alone
    declaration = ["LOCAL"|"TASK"] ("CONST"|"VAR"|"PERS") type name ["{" sizes "}"] [":=" expr] ";"
              | "RECORD" name {type name ";"} "ENDRECORD" | "ALIAS" type name ";"
              | ["LOCAL"] ("PROC" name | "FUNC" type name) "(" parameters ")" body, or "TRAP" name body
    statement = name [":=" expr] arguments ";" | label ":" | IF, FOR, WHILE, TEST, GOTO, RETURN
    arguments = [expr] {"\" name [":=" expr]} {"," …}

An IF without THEN governs one statement. Every instruction has the same syntax, so moves need no grammar of their own.
ERROR, UNDO and BACKWARD parts of routines are read and left out. NOT binds weaker than AND, as in ABB's grammar:
``expr = ["NOT"] term {("OR"|"XOR") term}``.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Argument, Block, Module, Node, Routine, RoutineParameter
from armwright.syntax.scanner import Token
from armwright.syntax.tree_parser import Spelling, Syntax, TreeParser, meant, near

SPELLING = Spelling(
    names=r"[^\W\d]\w*",
    signs=r":=|<=|>=|<>|[-+*/()\[\]{}=:;,<>\\.|%?]",
    comments=("!",),
    lines=False,
    data=True,
    numbers=r"0[xX][0-9a-fA-F]+|0[bB][01]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?",
)
STORAGE = ("const", "var", "pers")
ROUTINES = {"proc": "endproc", "func": "endfunc", "trap": "endtrap"}
INNER = ("endif", "endfor", "endwhile", "endtest", "else", "elseif", "case", "default")
OUTER = ("endproc", "endfunc", "endtrap", "endmodule", "endrecord", *ROUTINES)
PARTS = ("error", "undo", "backward")
KEYWORDS = {*INNER, *OUTER, "then", "do", "to", "from", "step", "if", "for", "while", "test", "module", *STORAGE}
MOTION = frozenset(
    f"{word}{letter}{rest}"
    for word, letters, rests in (
        ("move", "jlc", ("", "do", "ao", "go", "sync")),
        ("trigg", "jlc", ("", "ios")),
        ("arc", "lc", ("", "start", "end")),
        ("search", "lc", ("",)),
        ("spot", "lj", ("",)),
        ("paint", "lc", ("",)),
        ("disp", "lc", ("",)),
        ("move", ("absj", "extj"), ("",)),
    )
    for letter in letters
    for rest in rests
)


def parse_rapid(text: str, file: str = "") -> list[Module]:
    """Return the modules of a RAPID file; a header between ``%%%`` is left out."""
    text = re.sub(r"\A\s*%%%.*?%%%", lambda m: "\n" * m[0].count("\n"), text, count=1, flags=re.DOTALL)
    return RapidParser(text, file).modules()


class RapidParser(TreeParser):
    """See the module's text."""

    spelling = SPELLING
    ends = (";",)
    powers: ClassVar[dict[str, int]] = {
        **dict.fromkeys(("or", "xor"), 1),
        "and": 2,
        **dict.fromkeys(("<", ">", "<=", ">=", "=", "<>"), 3),
        **dict.fromkeys(("+", "-"), 4),
        **dict.fromkeys(("*", "/", "div", "mod"), 5),
    }
    signs: ClassVar[dict[str, int]] = {"not": 2, "-": 5, "+": 5}

    # --- modules ------------------------------------------------------------------------------------------------------

    def modules(self) -> list[Module]:
        """Read the whole file."""
        found = []
        while self.word.kind != "end":
            opening = self.accept("module")
            if opening and self.at(*KEYWORDS):
                self.refuse("the module's name is missing", opening, "MODULE name")
            if opening and self.word.kind == "name":
                self.module.name = self.take().text
            if opening and self.accept("("):
                while not self.at(")") and self.word.kind != "end":
                    self.take()
                self.accept(")")
            self.declarations(opening)
            found.append(self.module)
            if self.word.kind != "end":
                self.module = Module(self.module.file, self.module.lines)
        return found or [self.module]

    def declarations(self, opening: Token | None) -> None:
        """Read the parts of a module up to its end."""
        while not self.at("endmodule"):
            if self.word.kind == "end":
                if opening:
                    self.never_closed(opening, "endmodule")
                return
            first, start = self.word, self.index
            try:
                self.declaration()
            except Syntax as error:
                self.recover(error, first, start, MOTION)
        self.take()
        self.accept(";")
        if not opening:
            hint = self.damaged(self.module.set_aside[:1])
            self.refuse(f"'endmodule' closes no module{hint}", self.words[self.index - 1], "'module' before it")

    def declaration(self) -> None:
        """Read data, a record type or a routine."""
        hidden = False
        while word := self.accept("local", "task"):
            hidden = hidden or word.key == "local"
        if self.at(*STORAGE):
            self.module.data.append(self.datum("local" if hidden else ""))
        elif self.at(*ROUTINES):
            self.routine(hidden)
        elif self.accept("record"):
            name, parts = self.name("the record's name"), []
            while not self.accept("endrecord"):
                kind = self.name("a type")
                parts.append((self.name("a part's name").key, kind.key))
                self.expect(";")
            self.module.records[name.key] = tuple(parts)
        elif self.accept("alias"):
            kind = self.name("a type")
            self.module.records[self.name("a name").key] = (("", kind.key),)
            self.expect(";")
        elif self.at("module"):
            self.refuse("a module inside a module", self.word, "'endmodule' before it")
        else:
            words = ["CONST", "PERS", "VAR", "PROC", "FUNC", "RECORD", "ENDMODULE"]
            self.fail(f"unknown word in a module{meant(self.word.key, words)}", valid=", ".join(words[:6]))

    def datum(self, hidden: str = "") -> tree.Declare:
        """Read the declaration of data from its storage class on."""
        storage = self.take().key
        kind = self.name("a type")
        name = self.name("a name")
        if name.key in KEYWORDS:
            self.fail("a name is missing", at=name, valid="a name")
        sizes: list[Any] = []
        if self.accept("{"):
            sizes.append(self.expression())
            while self.accept(","):
                sizes.append(self.expression())
            self.expect("}")
        value = self.expression() if self.accept(":=") else None
        self.expect(";")
        return tree.Declare(name, kind.key, tuple(sizes), value, f"{hidden} {storage}".strip(), kind)

    def routine(self, hidden: bool) -> None:
        """Read a routine; what it does about errors is left out."""
        opening = self.take()
        result = self.name("a type").key if opening.key == "func" else ""
        name = self.name("the routine's name")
        parameters: tuple[RoutineParameter, ...] = ()
        if opening.key != "trap":
            self.expect("(")
            parameters = self.parameters()
            self.expect(")")
        last = ROUTINES[opening.key]
        body = self.block(opening, *PARTS, last)
        while self.at(*PARTS):
            self.take()
            if self.accept("("):
                while not self.accept(")") and self.word.kind != "end":
                    self.take()
            self.block(opening, *PARTS, last)
        end = self.expect(last)
        self.accept(";")
        made = Routine(name, opening.key, parameters, result, body, end.line, self.module, hidden)
        if name.key in self.module.routines:
            self.module.doubled[name.key] = name
        self.module.routines.setdefault(name.key, made)

    def parameters(self) -> tuple[RoutineParameter, ...]:
        """Read the parameters of a routine."""
        found: list[RoutineParameter] = []
        while not self.at(")"):
            optional = bool(self.accept("\\"))
            shared = False
            while word := self.accept("inout", "pers", "var", "ref"):
                shared = shared or word.key in ("inout", "pers", "var")
            kind = self.name("a type").key
            found.append(RoutineParameter(self.name("a parameter's name"), kind, shared, optional))
            if self.accept("{"):
                while not self.accept("}") and self.word.kind != "end":
                    self.take()
            if not self.accept(",", "|") and not self.at(")", "\\"):
                self.fail("expected ',' or ')'", valid="',' or ')'")
        return tuple(found)

    # --- statements ---------------------------------------------------------------------------------------------------

    def block(self, opening: Token, *ends: str) -> Block:
        """Read statements up to one of `ends`, not taking it."""
        self.deeper()
        level, found = self.depth, []
        while not self.at(*ends):
            if self.word.kind == "end" or self.at(*OUTER):
                self.never_closed(opening, ends[-1])
            if self.at(*INNER):
                if ends[-1] in INNER:
                    self.never_closed(opening, ends[-1])
                self.stray(opening)
            first, start = self.word, self.index
            try:
                found.append(self.statement())
            except Syntax as error:
                found.append(self.recover(error, first, start, MOTION))
            self.depth = level
        self.depth = level - 1
        return tuple(found)

    def stops_here(self, first: Token) -> bool:
        """Return whether a block ends here: a statement without ';' does not swallow that."""
        return self.at(*INNER, *OUTER) and self.word.line > first.line

    def statement(self) -> Node:
        """Read one statement."""
        at = self.word
        if at.kind == "name":
            if at.key in STORAGE:
                return self.datum()
            if self.ahead().key == ":" and self.ahead().kind == "symbol":
                self.take(), self.take()
                return tree.Label(at, at.key)
            special = getattr(self, f"read_{at.key}", None)
            if special is not None and self.ahead().key not in (":=", "."):
                self.take()
                return special(at)
            if at.key in KEYWORDS:
                self.fail(f"{at.text} cannot begin a statement here", valid="a statement")
            return self.simple()
        if at.key == "%":
            return self.late_call()
        if self.accept(";"):
            self.remark(at, "an empty statement: is a word missing before ';'?")
            return tree.Label(at, "")
        self.fail("expected a statement", valid="an instruction, a name or an assignment")

    def simple(self) -> Node:
        """Read an assignment, an instruction or a call."""
        at = self.word
        if self.ahead().key in (":=", "{", ".") and self.ahead().kind == "symbol":
            target = self.atom()
            self.expect(":=")
            value = self.expression()
            self.end_of_statement()
            return tree.Assign(at, target, value)
        self.take()
        arguments = self.arguments(";")
        self.end_of_statement()
        return tree.Invoke(at, arguments)

    def end_of_statement(self) -> None:
        """Take the semicolon."""
        if not self.at(";"):
            self.fail("expected ';'", valid="';' at the end of the statement")
        self.take()

    def arguments(self, last: str) -> tuple[Argument, ...]:
        r"""Read arguments up to `last`, not taking it: by place, and ``\Name[:=value]``."""
        found: list[Argument] = []
        while not self.at(last):
            at = self.word
            if self.accept("\\"):
                name = self.name("an option")
                found.append(Argument(name, name.key, self.expression() if self.accept(":=") else None))
            elif self.accept("*"):
                found.append(Argument(at, "", tree.Name(at)))
            else:
                found.append(Argument(at, "", self.expression()))
            if not self.accept(",") and not self.at(last, "\\"):
                self.fail(f"expected ',' or {last!r}", valid=f"',' or {last!r}")
        return tuple(found)

    def late_call(self) -> Node:
        """Read ``%"name"% arguments;``: a routine whose name is worked out."""
        at = self.take()
        name = self.expression()
        self.expect("%")
        arguments = (Argument(at, "%name", name), *self.arguments(";"))
        self.end_of_statement()
        return tree.Invoke(Token("name", "%", "%", at.line, at.column), arguments)

    def read_if(self, at: Token) -> Node:
        """Read IF … THEN … ENDIF, or IF and one statement."""
        test = self.header("then", at)
        if isinstance(test, tree.NotUnderstood):
            self.rest_of_if(at)
            return test
        if not self.accept("then"):
            if near(self.word.key, ["then"], 0.7) and self.word.kind == "name":
                wrong = self.take()
                said = tree.NotUnderstood(wrong, "expected THEN; did you mean 'then'?", "THEN", motion=True)
                self.module.set_aside.append(said)
                self.rest_of_if(at)
                return said
            return tree.If(at, ((test, (self.statement(),)),), ())
        branches, otherwise = self.rest_of_if(at)
        unclear = next((test for test, _ in branches if isinstance(test, tree.NotUnderstood)), None)
        if unclear is not None:
            return unclear
        return tree.If(at, ((test, branches[0][1]), *branches[1:]), otherwise)

    def rest_of_if(self, at: Token) -> tuple[list[tuple[Any, Block]], Block]:
        """Read what follows THEN up to ENDIF."""
        branches: list[tuple[Any, Block]] = [(None, self.block(at, "elseif", "else", "endif"))]
        while word := self.accept("elseif"):
            test = self.header("then", word)
            if not isinstance(test, tree.NotUnderstood):
                self.expect("then")
            branches.append((test, self.block(at, "elseif", "else", "endif")))
        otherwise = self.block(at, "endif") if self.accept("else") else ()
        self.remark_empty(at, sum((body for _, body in branches), ()), otherwise)
        self.expect("endif")
        self.accept(";")
        return branches, otherwise

    def header(self, word: str, at: Token) -> Node:
        """Read the test of a block; one that does not fit is set aside up to `word`, which is taken then."""
        start = self.index
        try:
            return self.expression()
        except Syntax as error:
            while not self.at(word, ";", *INNER, *OUTER) and self.word.kind != "end":
                self.take()
            if not self.at(word):
                self.index, self.word = start, self.words[start]
                raise
            self.take()
            said = tree.NotUnderstood(error.at, str(error), error.valid, motion=True)
            self.module.set_aside.append(said)
            return said

    def read_for(self, at: Token) -> Node:
        """Read a counted loop."""
        name = self.name("the counter")
        self.expect("from")
        first = self.expression()
        self.expect("to")
        last = self.expression()
        step = self.expression() if self.accept("step") else None
        self.expect("do")
        body = self.block(at, "endfor")
        self.take(), self.accept(";")
        return tree.For(at, name, first, last, step, body)

    def read_while(self, at: Token) -> Node:
        """Read a loop with a test."""
        test = self.header("do", at)
        if not isinstance(test, tree.NotUnderstood):
            self.expect("do")
        body = self.block(at, "endwhile")
        self.take(), self.accept(";")
        return test if isinstance(test, tree.NotUnderstood) else tree.While(at, test, body, until=False)

    def read_test(self, at: Token) -> Node:
        """Read TEST … CASE … DEFAULT … ENDTEST."""
        subject = self.expression()
        cases, otherwise = [], ()
        while not self.accept("endtest"):
            if self.accept("default"):
                self.expect(":")
                otherwise = self.block(at, "case", "default", "endtest")
                continue
            self.expect("case")
            values = [self.expression()]
            while self.accept(","):
                values.append(self.expression())
            self.expect(":")
            cases.append((tuple(values), self.block(at, "case", "default", "endtest")))
        self.accept(";")
        return tree.Switch(at, subject, tuple(cases), otherwise)

    def read_goto(self, at: Token) -> Node:
        """Read a jump."""
        label = self.name("a label")
        self.end_of_statement()
        return tree.Jump(at, label.key)

    def read_return(self, at: Token) -> Node:
        """Read the end of a routine."""
        value = None if self.at(";") else self.expression()
        self.end_of_statement()
        return tree.Return(at, value)

    def read_exit(self, at: Token) -> Node:
        """Read EXIT: the program ends."""
        self.end_of_statement()
        return tree.Leave(at, "program")

    read_exitcycle = read_exit

    def read_connect(self, at: Token) -> Node:
        """Read CONNECT … WITH …: an interrupt, which is declared and never runs."""
        self.expression()
        self.expect("with")
        trap = self.expression()
        self.end_of_statement()
        return tree.Invoke(at, (Argument(trap.at, "", trap),))

    # --- values -------------------------------------------------------------------------------------------------------

    def number(self, text: str) -> Node:
        """Return a number; whole ones may be written to base 16 or 2."""
        return float(int(text, 0)) if text[:2].lower() in ("0x", "0b") else float(text)

    def atom(self) -> Node:
        """Read one value."""
        word = self.word
        if word.kind == "data":
            value = self.data(word)
            if value is None:
                self.fail("a number is written wrongly", valid="numbers in brackets")
            self.take()
            return tree.Literal(Token("symbol", "[", "[", word.line, word.column), value)
        if self.accept("["):
            items = [self.expression()]
            while self.accept(","):
                items.append(self.expression())
            self.expect("]")
            return tree.ListOf(word, tuple(items))
        if word.kind != "name":
            return super().atom()
        if word.key in KEYWORDS:
            self.fail("expected a value", valid="a number, a name or '['")
        self.take()
        if word.key in ("true", "false"):
            return tree.Literal(word, word.key == "true")
        if self.accept("("):
            arguments = self.arguments(")")
            self.expect(")")
            node: Node = tree.FunctionCall(word, arguments)
        else:
            node = tree.Name(word)
        while True:
            if self.accept("{"):
                indices = [self.expression()]
                while self.accept(","):
                    indices.append(self.expression())
                self.expect("}")
                node = tree.Index(word, node, tuple(indices))
            elif self.at(".") and self.ahead().kind == "name":
                self.take()
                node = tree.Member(word, node, self.take().key)
            else:
                return node
