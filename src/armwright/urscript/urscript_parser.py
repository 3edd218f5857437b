# SPDX-License-Identifier: Apache-2.0
"""URScript's grammar: a text becomes the shared tree; nothing is run here.

Blocks end with ``end``, indentation means nothing, several statements may share a line, an expression goes on over the
end of a line inside brackets and behind an operator. Names keep their case. Functions inside functions are gathered;
`ScriptModule.bound` says which names of a function are its own (name binding, see `bind_names`).
"""

from __future__ import annotations

from typing import ClassVar

from armwright.syntax import program_tree as tree
from armwright.syntax.program_tree import Argument, Block, Node, Routine, RoutineParameter
from armwright.syntax.scanner import Token
from armwright.syntax.tree_parser import Spelling, Syntax, TreeParser, meant
from armwright.urscript.script_module import ScriptModule
from armwright.urscript.urscript_builtins import BUILTINS, MOTION
from armwright.urscript.urscript_names import bind_names

KEYWORDS = frozenset(
    [
        "def",
        "thread",
        "sec",
        "if",
        "elif",
        "else",
        "while",
        "switch",
        "case",
        "default",
        "end",
        "return",
        "break",
        "continue",
        "halt",
        "global",
        "local",
        "run",
        "join",
        "kill",
        "and",
        "or",
        "not",
        "xor",
        "True",
        "False",
        "enter_critical",
        "exit_critical",
    ]
)
OPENERS = ("def", "thread", "sec", "if", "while", "switch")
BETWEEN = frozenset(
    ("+", "-", "*", "/", "%", "^", ",", "=", "==", "!=", "<", ">", "<=", ">=", "and", "or", "not", "xor")
)
STATEMENT_WORDS = (KEYWORDS | MOTION) - {"and", "or", "not", "xor", "True", "False", "run"}


def _words(found: list[Token]) -> list[Token]:
    """Return words with single-quoted texts, and without the ends of lines that end no statement."""
    kept: list[Token] = []
    depth, last = 0, len(found) - 1
    for place, word in enumerate(found):
        kind, key = word.kind, word.key
        if kind == "name":
            if key[0] == "'":
                word = Token("string", key, key[1:-1], word.line, word.column)
        elif kind == "symbol":
            if key in "([{":
                depth += 1
            elif key in ")]}" and depth:
                depth -= 1
        elif kind == "newline":
            following = found[min(place + 1, last)]
            opens = following.kind == "name" and following.text in STATEMENT_WORDS
            if depth and opens:
                depth = 0  # a bracket that was never closed does not swallow the statements behind it
            if (depth or (kept and kept[-1].key in BETWEEN and kept[-1].kind in ("name", "symbol"))) and not opens:
                continue
        kept.append(word)
    return kept


class UrscriptParser(TreeParser):
    """Walks along the words of one file."""

    spelling = Spelling(
        names=r"[A-Za-z_]\w*|'[^'\n]*'",
        signs=r"<=|>=|==|!=|[-+*/%^()\[\]{}=:,<>.;$]",
        comments=("#",),
        lines=True,
        cased=True,
    )
    powers: ClassVar[dict[str, int]] = {
        **dict.fromkeys(("or",), 1),
        **dict.fromkeys(("xor",), 2),
        **dict.fromkeys(("and",), 3),
        **dict.fromkeys(("==", "!=", "<", ">", "<=", ">="), 5),
        **dict.fromkeys(("+", "-"), 6),
        **dict.fromkeys(("*", "/", "%"), 7),
        "^": 9,
    }
    signs: ClassVar[dict[str, int]] = {"not": 4, "-": 8, "+": 8}
    ends = ("\n", ";")

    def __init__(self, text: str, file: str) -> None:
        """Cut the text into words."""
        super().__init__(text, file)
        self.words = _words(self.words)
        self.word = self.words[0]
        self.module: ScriptModule = ScriptModule(file, text.split("\n"))
        self.opened: list[Token] = []
        self.closed = self.word  # what began the outermost block that was closed last

    # --- expressions --------------------------------------------------------------------------------------------------

    def number(self, text: str) -> Node:
        """Return a whole number or another one: they are different types."""
        return int(text) if text.isdigit() and len(text) < 16 else float(text)

    def atom(self) -> Node:
        """Read a value with what follows it: items, parts, calls."""
        word = self.word
        if word.kind == "name" and word.key in ("True", "False", "true", "false"):
            self.take()
            return tree.Literal(word, word.key in ("True", "true"))
        if word.kind == "name" and word.key == "run":
            self.take()
            name = self.name("the thread to run")
            if self.call_arguments():
                self.fail("a thread takes no arguments", at=name, valid=f"run {name.text}()")
            return tree.FunctionCall(word, (Argument(name, "", tree.Name(name)),))
        if word.kind == "name":
            if word.key in KEYWORDS:
                self.fail(f"{word.text!r} cannot stand in an expression", valid="a value")
            self.take()
            if word.key == "p" and self.at("["):
                found = self.items()
                if len(found) == 1:  # an item of a variable that is called p
                    return self.behind(tree.Index(word, tree.Name(word), found))
                items = tuple(Argument(i.at, "", i) for i in found)
                made = tree.FunctionCall(Token("name", "p[", "p[", word.line, word.column), items)
                return self.behind(made)
            value: Node = tree.FunctionCall(word, self.call_arguments()) if self.at("(") else tree.Name(word)
        elif self.at("["):
            value = tree.ListOf(word, self.items())
        else:
            value = super().atom()
        return self.behind(value)

    def behind(self, value: Node) -> Node:
        """Read ``[i]``, ``.name`` and ``.name(…)`` behind a value."""
        while True:
            if self.at("["):
                at = value.at
                value = tree.Index(at, value, self.items())
            elif self.at("."):
                self.take()
                name = self.name("a part's name")
                if self.at("("):
                    first = Argument(value.at, "", value)
                    method = Token("name", name.text, f".{name.text}", name.line, name.column)
                    value = tree.FunctionCall(method, (first, *self.call_arguments()))
                else:
                    value = tree.Member(name, value, name.key)
            else:
                return value

    def items(self) -> tuple[Node, ...]:
        """Read ``[a, b, …]``."""
        self.expect("[")
        found: list[Node] = []
        while not self.accept("]"):
            if found:
                self.expect(",", "]")
            found.append(self.expression())
        return tuple(found)

    def call_arguments(self) -> tuple[Argument, ...]:
        """Read ``(a, name=b)``."""
        self.expect("(")
        found: list[Argument] = []
        while not self.accept(")"):
            if found:
                self.expect(",", ")")
            at = self.word
            name = ""
            if at.kind == "name" and self.ahead().key == "=" and self.ahead().kind == "symbol":
                self.take(), self.take()
                name = at.key
            elif found and found[-1].name:
                self.fail("an argument by place behind one by name", valid="name = …")
            if name and any(a.name == name for a in found):
                self.fail(f"{name!r} is given twice", at=at, valid="each argument once")
            found.append(Argument(at, name, self.expression()))
        return tuple(found)

    # --- statements ---------------------------------------------------------------------------------------------------

    def block(self, *ends: str) -> Block:
        """Read statements up to one of `ends`, which is not taken."""
        self.deeper()
        found: list[Node] = []
        while self.word.kind != "end":
            if self.accept("\n", ";"):
                continue
            if self.at("end", "elif", "else", "case", "default"):
                if not self.opened:
                    before = [said.at for said in self.module.set_aside if said.at.line < self.closed.line]
                    self.stray(before[-1] if before else self.closed)
                break
            found.extend(self.one())
        self.depth -= 1
        if ends and not self.at(*ends):
            if self.word.kind == "end":
                self.never_closed(self.opened[-1], "end")
            self.stray(self.opened[-1])
        return tuple(found)

    def one(self) -> list[Node]:
        """Read one statement; one that does not fit is set aside."""
        first, start, depth, open_blocks = self.word, self.index, self.depth, len(self.opened)
        try:
            made = self.statement()
            if not (self.at("\n", ";", *KEYWORDS) or self.word.kind == "end" or self.goes_on()):
                self.fail(f"{self.word.text!r} does not belong here", valid="the end of the line")
            return made
        except Syntax as error:
            if first.key in OPENERS:
                del self.opened[open_blocks:]
                self.refuse(str(error), error.at, error.valid or "a statement")
            self.depth = depth
            return [self.recover(error, first, start, MOTION)]

    def goes_on(self) -> bool:
        """Return whether another statement begins here, on the same line."""
        following = self.ahead()
        return self.word.kind in ("name", "symbol") and (
            self.word.key == "$"
            or (self.word.kind == "name" and following.kind == "symbol" and following.key in ("(", "=", "[", "."))
        )

    def stops_here(self, first: Token) -> bool:
        """End a damaged statement before the word that closes its block."""
        return self.at("end", "elif", "else")

    def statement(self) -> list[Node]:
        """Read one statement; functions give none."""
        word = self.word
        key = word.key if word.kind in ("name", "symbol") else ""
        if key in ("def", "thread", "sec"):
            self.routine(self.take())
            return []
        if key == "if":
            return [self.branches()]
        if key == "while":
            self.opened.append(self.take())
            test = self.expression()
            self.expect(":")
            body = self.block("end")
            self.close()
            return [tree.While(word, test, body, False)]
        if key == "switch":
            return [self.choice()]
        if key == "return":
            self.take()
            bare = self.at("\n", ";", *KEYWORDS - {"True", "False", "not", "run"}) or self.word.kind == "end"
            return [tree.Return(word, None if bare else self.expression())]
        if key in ("break", "continue", "halt"):
            self.take()
            return [tree.Leave(word, {"break": "loop", "continue": "pass", "halt": "program"}[key])]
        if key in ("enter_critical", "exit_critical") or (key == "pass" and self.ahead().kind in ("newline", "end")):
            self.take()
            return []
        if key in ("join", "kill"):
            self.take()
            return [tree.Invoke(word, (Argument(word, "", self.expression()),))]
        if key == "run":
            return [tree.Invoke(word, self.atom().arguments)]
        if key in ("global", "local"):
            self.take()
            name = self.name("a variable")
            value = self.expression() if self.accept("=") else None
            return [tree.Declare(name, "", (), value, key)]
        if key == "$":
            self.take()
            parts = []
            while self.word.kind in ("number", "string"):
                parts.append(Argument(self.word, "", tree.Literal(self.word, self.take().key)))
            return [tree.Invoke(word, tuple(parts))]
        return [self.assignment_or_call(word)]

    def assignment_or_call(self, word: Token) -> Node:
        """Read ``target = value`` or ``name(…)``."""
        if word.kind != "name" or word.key in KEYWORDS:
            self.fail("no statement begins like this", valid="a name or a word like 'if', 'while', 'def'")
        made = self.atom()
        if self.at("="):
            self.take()
            if not isinstance(made, tree.Name | tree.Index | tree.Member):
                self.fail("this cannot be set", at=word, valid="a variable, an item or a part")
            return tree.Assign(word, made, self.expression())
        if not isinstance(made, tree.FunctionCall) or made.at.key == "p[":
            hint = meant(word.text, (*BUILTINS, *KEYWORDS))
            self.fail(f"{word.text!r} is no statement{hint}", at=word, valid="name(…) or name = …")
        return tree.Invoke(made.at, made.arguments)

    def close(self) -> None:
        """Take ``end``."""
        self.expect("end")
        self.closed = self.opened.pop()

    def branches(self) -> Node:
        """Read ``if … elif … else … end``."""
        at = self.take()
        self.opened.append(at)
        found: list[tuple[Node, Block]] = []
        otherwise: Block = ()
        while True:
            test = self.expression()
            self.expect(":")
            found.append((test, self.block("elif", "else", "end")))
            if not self.accept("elif"):
                break
        if self.accept("else"):
            self.expect(":")
            otherwise = self.block("end")
        self.remark_empty(at, tuple(s for _, block in found for s in block), otherwise)
        self.close()
        return tree.If(at, tuple(found), otherwise)

    def choice(self) -> Node:
        """Read ``switch x: case 1: … end default: … end end``."""
        at = self.take()
        self.opened.append(at)
        subject = self.expression()
        self.expect(":")
        cases: list[tuple[tuple[Node, ...], Block]] = []
        otherwise: Block = ()
        while True:
            while self.accept("\n", ";"):
                pass
            if self.accept("case"):
                value = self.expression()
                self.expect(":")
                cases.append(((value,), self.block("end")))
                self.expect("end")
            elif self.accept("default"):
                self.expect(":")
                otherwise = self.block("end")
                self.expect("end")
            else:
                break
        self.close()
        return tree.Switch(at, subject, tuple(cases), otherwise)

    def routine(self, kind: Token) -> None:
        """Read ``def name(a, b=1): … end``; it belongs to the module, wherever it stands."""
        name = self.name("the function's name")
        parameters: list[RoutineParameter] = []
        defaults: dict[str, Node] = {}
        self.expect("(")
        while not self.accept(")"):
            if parameters:
                self.expect(",", ")")
            at = self.name("a parameter")
            if self.accept("="):
                defaults[at.key] = self.expression()
            parameters.append(RoutineParameter(at, "", optional=at.key in defaults))
        self.expect(":")
        outer = not self.opened
        self.opened.append(kind)
        body = self.block("end")
        last = self.word
        self.close()
        made = Routine(name, kind.key, tuple(parameters), "", body, last.line, self.module)
        if name.key in self.module.routines:
            self.module.doubled[name.key] = name
        else:
            self.module.routines[name.key] = made
            if outer:
                self.module.outer.append(name.key)
            self.module.defaults[name.key] = defaults


def parse_urscript(text: str, file: str = "") -> ScriptModule:
    """Return the tree of a program; `ProgramError` where a block is never closed or a function's head does not fit."""
    parser = UrscriptParser(text, file)
    parser.module.top = parser.block()
    bind_names(parser.module)
    return parser.module
