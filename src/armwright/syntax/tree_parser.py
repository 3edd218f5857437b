# SPDX-License-Identifier: Apache-2.0
"""What the parsers of all languages share: words, expressions by binding power, recovery after a statement.

A hand-written parser: operators are a table, blocks are calls. A statement that does not fit becomes `NotUnderstood`
and reading goes on behind it; a block that is never closed is an error, because nobody can say where it ends.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, NoReturn

from armwright.errors import ProgramError
from armwright.syntax.program_tree import Binary, Block, Literal, Module, Node, NotUnderstood, Unary
from armwright.syntax.scanner import LONGEST_GUESS, MAX_DEPTH, MAX_TOKENS, MOST_GUESSES, NUMBER, Token

_N = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_FLAT = rf"\[\s*{_N}(?:\s*,\s*{_N})*\s*\]"
DATA = rf"\[\s*(?:{_FLAT}|{_N})(?:\s*,\s*(?:{_FLAT}|{_N}))*\s*\]"  # numbers in brackets, two deep: one word, read fast
MOST_VALID = 6  # words that an error lists as valid


@dataclass(frozen=True)
class Spelling:
    """Spelling of a language.

    Attributes:
        names, signs, numbers: regular expressions. comments: how they begin. lines: whether lines matter.
        data: whether numbers in brackets are one word. cased: whether names that differ in case are different.
    """

    names: str
    signs: str
    comments: tuple[str, ...]
    lines: bool
    data: bool = False
    cased: bool = False
    numbers: str = NUMBER
    pattern: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compile one expression that matches any word; what none begins with is one character."""
        parts = [
            r"(?P<newline>\n)",
            rf"(?P<remark>(?:{'|'.join(map(re.escape, self.comments))})[^\n]*)",
            *([f"(?P<data>{DATA})"] if self.data else []),
            f"(?P<name>{self.names})",
            f"(?P<number>{self.numbers})",
            r'(?P<string>"(?:[^"\n]|"")*"?)',
            f"(?P<symbol>{self.signs})",
            r"(?P<odd>.)",
        ]
        object.__setattr__(self, "pattern", re.compile(rf"[ \t\r\f\v\ufeff\x1a]*(?:{'|'.join(parts)}|$)"))


def words_of(text: str, spelling: Spelling, file: str) -> list[Token]:
    """Cut a text into words, the last of kind ``end``; characters that fit nowhere are words of kind ``odd``."""
    found: list[Token] = []
    line, before = 1, -1
    lines, cased, add, make = spelling.lines, spelling.cased, found.append, tuple.__new__
    for match in spelling.pattern.finditer(text):  # words follow each other without a gap: the last kind fits anything
        kind = match.lastgroup
        if kind is None:
            break
        start = match.start(kind)
        if kind == "newline":
            if lines:
                add(make(Token, (kind, "end of line", "\n", line, start - before)))
            line, before = line + 1, start
            continue
        if kind == "remark":
            continue
        word = match[kind]
        if kind == "string":
            key = word[1:-1]
            if len(word) < 2 or not word.endswith('"'):
                kind = "odd"
        else:
            key = word if cased or kind in ("number", "data") else word.lower()
        add(make(Token, (kind, word, key, line, start - before)))
        if kind == "data" and "\n" in word:
            line, before = line + word.count("\n"), start + word.rindex("\n")
        if len(found) > MAX_TOKENS:
            raise ProgramError(f"more than {MAX_TOKENS} words", file=file, line=line, valid="a shorter program")
    found.append(Token("end", "end of file", "", line, len(text) - before))
    return found


class Syntax(Exception):  # noqa: N818 - becomes a line that was not understood
    """A statement does not fit; the place is the word that does not."""

    def __init__(self, message: str, at: Token, valid: str) -> None:
        """Keep the parts."""
        super().__init__(message)
        self.at, self.valid = at, valid


class TreeParser:
    """Walks along the words of one file; languages add their statements and the beginnings of expressions.

    `powers` has the binding power of every operator between two values, `signs` that of those before one.
    """

    powers: ClassVar[dict[str, int]] = {}
    signs: ClassVar[dict[str, int]] = {}
    spelling: Spelling
    ends: tuple[str, ...] = ("\n",)  # where a statement ends

    def __init__(self, text: str, file: str) -> None:
        """Cut the text and stand before the first word."""
        self.module = Module(file, text.split("\n"))
        self.words = words_of(text, self.spelling, file)
        self.index = 0
        self.depth = 0
        self.word = self.words[0]

    # --- walking ------------------------------------------------------------------------------------------------------

    def take(self) -> Token:
        """Return the next word and go on; the end of the file stays."""
        word = self.word
        if word.kind != "end":
            self.index += 1
            self.word = self.words[self.index]
        return word

    def ahead(self, count: int = 1) -> Token:
        """Return a later word."""
        return self.words[min(self.index + count, len(self.words) - 1)]

    def at(self, *keys: str) -> bool:
        """Return whether the next word is one of `keys`."""
        word = self.word
        return word.key in keys and word.kind in ("name", "symbol", "newline")

    def accept(self, *keys: str) -> Token | None:
        """Take the next word if it is one of `keys`."""
        return self.take() if self.at(*keys) else None

    def expect(self, *keys: str) -> Token:
        """Take the next word, which must be one of `keys`."""
        if not self.at(*keys):
            self.fail(f"expected {shown(keys)}", valid=shown(keys))
        return self.take()

    def name(self, what: str) -> Token:
        """Take a name."""
        if self.word.kind != "name":
            self.fail(f"expected {what}", valid=what)
        return self.take()

    def fail(self, message: str, *, at: Token | None = None, valid: str = "") -> NoReturn:
        """Say that the statement does not fit here."""
        raise Syntax(message, at or self.word, valid)

    def refuse(self, message: str, at: Token, valid: str) -> NoReturn:
        """Give up the whole file."""
        raise ProgramError(
            message, file=self.module.file, line=at.line, column=at.column, word=at.text[:40], valid=valid
        )

    def deeper(self) -> None:
        """Go one level into parentheses or blocks."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.refuse(f"more than {MAX_DEPTH} levels inside one another", self.word, "fewer levels")

    # --- expressions --------------------------------------------------------------------------------------------------

    def expression(self, least: int = 0) -> Node:
        """Read an expression of operators that bind at least as strongly as `least`."""
        self.deeper()
        word = self.word
        power = self.signs.get(word.key) if word.kind in ("name", "symbol") else None
        if power is not None:
            self.take()
            left: Node = Unary(word, word.key, self.expression(power))
        else:
            left = self.atom()
        while (power := self.powers.get(self.word.key, -1)) >= least and self.word.kind in ("name", "symbol"):
            sign = self.take()
            left = Binary(sign, sign.key, left, self.expression(power + 1))
        self.depth -= 1
        return left

    def atom(self) -> Node:
        """Read one value; languages add names, calls and brackets."""
        word = self.word
        if word.kind == "number":
            self.take()
            return Literal(word, self.number(word.text))
        if word.kind == "string":
            return Literal(self.take(), word.key)
        if self.accept("("):
            value = self.expression()
            self.expect(")")
            return value
        self.fail("expected a value", valid="a number, a name or '('")

    def number(self, text: str) -> Node:
        """Return the number that a word means."""
        return float(text)

    def data(self, word: Token) -> Node:
        """Return nested lists of numbers; None where the word has other things in it."""
        try:
            return json.loads(word.text, parse_int=float)
        except ValueError:
            pass
        plain = re.sub(r"(?<![\d.])\.(?=\d)", "0.", re.sub(r"\.(?!\d)", ".0", word.text)).replace("+", "")
        plain = re.sub(r"(?<![\d.eE])0+(?=\d)", "", plain)
        try:
            return json.loads(plain, parse_int=float)
        except ValueError:
            return None

    # --- statements ---------------------------------------------------------------------------------------------------

    def recover(self, error: Syntax, first: Token, start: int, motion: Iterable[str]) -> NotUnderstood:
        """Go behind the statement that did not fit, and say that it was set aside."""
        if self.index == start and not self.at(*self.ends):
            self.take()
        while not self.at(*self.ends) and self.word.kind != "end" and not self.stops_here(first):
            self.take()
        if self.at(*self.ends):
            self.take()
        kind = first.key.lower()
        moving = kind in motion or bool(near(kind, motion, 0.8))  # a misspelt move is not skipped either
        said = NotUnderstood(error.at, str(error), error.valid, moving)
        self.module.set_aside.append(said)
        return said

    def never_closed(self, opening: Token, word: str) -> NoReturn:
        """Refuse a file with a block that has no end; the missing word is in the lines that are named."""
        hint = self.damaged([said for said in self.module.set_aside if said.at.line >= opening.line][-1:])
        where = f"in lines {opening.line} to {self.word.line}"
        message = f"the block that begins here is never closed by {word!r} {where}{hint}"
        self.refuse(message, opening, f"{word!r} at the end of the block")

    def stray(self, opening: Token) -> NoReturn:
        """Refuse a file with an end that has no beginning; `opening` begins the block around it."""
        word = self.word
        where = f"in lines {opening.line} to {word.line}"
        hint = self.damaged([said for said in self.module.set_aside if said.at.line >= opening.line][-1:])
        self.refuse(f"{word.text} belongs to no block that is open {where}{hint}", word, "its beginning before it")

    def damaged(self, said: Sequence[NotUnderstood]) -> str:
        """Return lines that were not understood, in words: one of them may be what is missing."""
        return "".join(f" (line {s.at.line} was not understood: {s.message})" for s in said)

    def remark(self, at: Token, text: str) -> None:
        """Remember something that the language allows and that looks as if a word were missing."""
        self.module.remarks.append((at, text))

    def remark_empty(self, at: Token, body: Block, otherwise: Block) -> None:
        """Remark on a test that nothing depends on."""
        if not body and not otherwise:
            lines = f"lines {at.line} to {self.word.line}"
            self.remark(at, f"this {at.text} governs no statement, {lines}: is one missing?")

    def stops_here(self, first: Token) -> bool:
        """Return whether a damaged statement ends before this word although its end sign is missing."""
        return False


def near(word: str, known: Iterable[str], cutoff: float = 0.75) -> str:
    """Return the known word that is nearest to `word`, or nothing."""
    if len(word) > LONGEST_GUESS:
        return ""
    return _nearest(word.lower(), tuple(known), cutoff)


@lru_cache(maxsize=1000)
def _nearest(word: str, known: tuple[str, ...], cutoff: float) -> str:
    likely = [k.lower() for k in known if abs(len(k) - len(word)) <= 3][:MOST_GUESSES]
    found = difflib.get_close_matches(word, likely, 1, cutoff)
    return found[0] if found else ""


def meant(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean …?`` if a known word is near."""
    found = near(word, known, 0.6)
    return f"; did you mean {found!r}?" if found else ""


def shown(keys: Sequence[str]) -> str:
    """Return words that would be valid, at most six."""
    words = ["the end of the line" if key == "\n" else repr(key) for key in keys]
    return " or ".join(words[:MOST_VALID]) + (" …" if len(words) > MOST_VALID else "")
