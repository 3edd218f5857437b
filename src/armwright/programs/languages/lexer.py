# SPDX-License-Identifier: Apache-2.0
"""Words of a program with their places: one scanner for all languages, told what comments and names look like."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from armwright.errors import ProgramError

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
    """How one language spells: regular expressions of names and symbols, comments, whether lines matter."""

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
