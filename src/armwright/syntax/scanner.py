# SPDX-License-Identifier: Apache-2.0
"""The words of a program text with their places: one scanner and one cursor for all languages.

`tokens` cuts a text into words, given a `Lexicon` that says what comments and names look like. `Cursor` walks along
them: look, take, require. Whatever does not fit is a `ProgramError` with its place.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, TypeVar

from armwright.errors import InputError, ProgramError

NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
SPACE = r"[ \t\r\f]*"
MAX_TOKENS = 1_000_000


class Token(NamedTuple):
    """One word: ``name``, ``number``, ``string``, ``symbol``, ``newline`` or ``end``; it is compared by its `key`."""

    kind: str
    text: str
    key: str
    line: int
    column: int


@dataclass(frozen=True)
class Lexicon:
    """Spelling of one language: regular expressions of names and symbols, comments, whether lines matter."""

    names: str = r"[A-Za-z_]\w*"
    symbols: str = r":=|<=|>=|<>|==|!=|[-+*/()\[\]{}=:;,<>\\#.]"
    line_comments: tuple[str, ...] = ()
    block_comment: tuple[str, str] | None = None
    newlines: bool = False
    pattern: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compile one expression that matches any word."""
        parts = [r"(?P<newline>\n)"]
        if self.line_comments:
            parts.append(f"(?P<remark>(?:{'|'.join(map(re.escape, self.line_comments))})[^\\n]*)")
        if self.block_comment:
            opening, closing = map(re.escape, self.block_comment)
            parts.append(f"(?P<block>{opening}[^{closing}]*{closing}?)")
        parts += [
            f"(?P<number>{NUMBER})",
            f"(?P<name>{self.names})",
            r'(?P<string>"[^"\n]*"?)',
            f"(?P<symbol>{self.symbols})",
        ]
        object.__setattr__(self, "pattern", re.compile(rf"{SPACE}(?:{'|'.join(parts)}|(?P<rest>$))", re.ASCII))


def tokens(text: str, lexicon: Lexicon, file: str) -> list[Token]:
    """Cut a program into words, the last of kind ``end``; `ProgramError` where a character or comment does not fit."""
    found: list[Token] = []
    position, line, before = 0, 1, -1  # `before`: where the last line ended
    match_at = lexicon.pattern.match

    def fail(message: str, at: int, word: str, valid: str) -> NoReturn:
        raise ProgramError(message, file=file, line=line, column=at - before, word=word, valid=valid)

    while position < len(text):
        match = match_at(text, position)
        if match is None:
            at = position + len(text[position:]) - len(text[position:].lstrip(" \t\r\f"))
            fail("a character that no word of the language begins with", at, text[at], "names, numbers, signs")
        kind = match.lastgroup or ""
        word, start, position = match[kind], match.start(kind), match.end()
        if kind in ("number", "name", "symbol"):
            found.append(Token(kind, word, word.lower(), line, start - before))
        elif kind == "newline":
            if lexicon.newlines:
                found.append(Token("newline", "end of line", "\n", line, start - before))
            line, before = line + 1, start
        elif kind == "block" and lexicon.block_comment:
            closing = lexicon.block_comment[1]
            if not word.endswith(closing):
                message = "this comment is never closed; all that follows would be part of it"
                fail(message, start, word[0], f"{closing!r} at the end of the comment")
            if "\n" in word:
                line, before = line + word.count("\n"), start + word.rindex("\n")
        elif kind == "string":
            if len(word) < 2 or not word.endswith('"'):
                fail("a text without its closing quote", start, word[:20], '"…" on one line')
            found.append(Token("string", word, word[1:-1], line, start - before))
        if len(found) > MAX_TOKENS:
            fail(f"more than {MAX_TOKENS} words", start, word, "a shorter program")
    found.append(Token("end", "end of file", "", line, len(text) - before))
    return found


T = TypeVar("T")
VALID = {
    "Fraction": "a share above 0 and at most 1",
    "Share": "a share above 0 and at most 1",
    "BySpeed": "a share above 0 and at most 1",
    "ToolRate": "numbers above 0",
    "LeadingAxis": "a number above 0",
    "Distance": "sizes above 0",
    "Duration": "0 seconds or more",
    "Payload": "0 kg or more",
}
MAX_WORK = 1_000_000  # words read again in loops and calls, variables compared, `MOVE_WORK` per move: seconds
MOVE_WORK = 40  # words that take as long to read as a move takes to make
LONGEST_GUESS, MOST_GUESSES = 40, 500  # letters of a word, and names, among which the nearest is looked for
MAX_DEPTH = 60  # nesting of parentheses and blocks: far above any program, far below Python's own limit


class Cursor:
    """A place among the words of a program."""

    def __init__(self, text: str, lexicon: Lexicon, file: str) -> None:
        """Cut the text into words and stand before the first."""
        self.file = file
        self.lines = text.split("\n")
        self.words: Sequence[Token] = tokens(text, lexicon, file)
        self.index = 0
        self.depth = 0
        self.work, self.most_work = 0, MAX_WORK + 4 * len(self.words)  # all languages read a text at most four times

    @property
    def word(self) -> Token:
        """Return the word that comes next."""
        return self.words[self.index]

    def ahead(self, count: int = 1) -> Token:
        """Return a later word."""
        return self.words[min(self.index + count, len(self.words) - 1)]

    def take(self) -> Token:
        """Return the next word and go on; the end of the file stays where it is."""
        self.count()
        word = self.words[self.index]
        self.index = min(self.index + 1, len(self.words) - 1)
        return word

    def count(self, work: int = 1) -> None:
        """Count what reading costs, in words; a text whose loops make it read on and on is refused."""
        self.work += work
        if self.work > self.most_work:
            self.fail(
                f"loops and calls read more than {self.most_work} words: endless?",
                valid="fewer passes, or shorter blocks",
            )

    def at(self, *keys: str) -> bool:
        """Return whether the next word is one of `keys` (texts in quotes never are)."""
        return self.word.key in keys and self.word.kind in ("name", "symbol", "newline")

    def accept(self, *keys: str) -> Token | None:
        """Take the next word if it is one of `keys`."""
        return self.take() if self.at(*keys) else None

    def expect(self, *keys: str) -> Token:
        """Take the next word, which must be one of `keys`."""
        if not self.at(*keys):
            self.fail(f"expected {_either(keys)}", valid=_either(keys))
        return self.take()

    def expect_name(self, what: str) -> Token:
        """Take a name."""
        if self.word.kind != "name":
            self.fail(f"expected {what}", valid=what)
        return self.take()

    def integer(self, what: str) -> int:
        """Take a whole number, with or without a sign."""
        sign = -1 if self.accept("-") else 1
        if self.word.kind != "number" or not self.word.text.isdigit() or len(self.word.text) > 15:
            self.fail(f"{what} must be a whole number", valid="an integer")
        return sign * int(self.take().text)

    def text_of(self, line: int) -> str:
        """Return the text of a line as it was written."""
        return self.lines[line - 1].strip()

    def unknown(self, what: str, known: Iterable[str], at: Token | None = None) -> NoReturn:
        """Raise for a word that is not known here, with the nearest that is."""
        word = at or self.word
        known = sorted(set(known))
        likely = [k.lower() for k in known if abs(len(k) - len(word.key)) <= len(word.key)][:MOST_GUESSES]
        near = difflib.get_close_matches(word.key, likely, 1, 0.6) if len(word.key) <= LONGEST_GUESS else []
        hint = f"; did you mean {near[0]!r}?" if near else ""
        self.fail(f"{what}{hint}", at=word, valid=_listed(known) or "a name that was declared before")

    def fail(self, message: str, *, at: Token | None = None, valid: str = "") -> NoReturn:
        """Raise a `ProgramError` that names the place: the next word, or `at`."""
        word = at or self.word
        raise ProgramError(
            message, file=self.file, line=word.line, column=word.column, word=word.text[:40], valid=valid
        )

    def deeper(self) -> None:
        """Go one level into parentheses or blocks."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"more than {MAX_DEPTH} levels inside one another", valid="fewer levels")

    def higher(self) -> None:
        """Come back one level."""
        self.depth -= 1

    def located(self, at: Token, make: Callable[..., T], *args: Any, **parts: Any) -> T:
        """Return ``make(*args, **parts)``; an `InputError` in it becomes an error at a place."""
        try:
            return make(*args, **parts)
        except InputError as error:
            self.fail(str(error), at=at, valid=VALID.get(make.__name__, "other values"))


def _either(keys: Iterable[str]) -> str:
    return " or ".join("the end of the line" if key == "\n" else repr(key) for key in keys)


def _listed(known: Sequence[str], most: int = 30) -> str:
    return ", ".join(known[:most]) + (", …" if len(known) > most else "")
