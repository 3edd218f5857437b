# SPDX-License-Identifier: Apache-2.0
"""Words of a program with their places: one scanner for all languages, told what comments and names look like."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from armwright.errors import ProgramError

NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
MAX_TOKENS = 2_000_000


class Token(NamedTuple):
    """One word: ``name``, ``number``, ``string``, ``symbol``, ``newline`` or ``end``; it is compared by its `key`."""

    kind: str
    text: str
    key: str
    line: int
    column: int


@dataclass(frozen=True)
class Lexicon:
    """How one language spells: regular expressions of names and symbols, comments, whether lines and cases matter."""

    names: str = r"[A-Za-z_]\w*"
    symbols: str = r":=|<=|>=|<>|==|!=|[-+*/()\[\]{}=:;,<>\\#.]"
    line_comments: tuple[str, ...] = ()
    block_comment: tuple[str, str] | None = None
    newlines: bool = False
    case_matters: bool = False
    pattern: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compile one expression that matches any word."""
        parts = [r"(?P<space>[ \t\r\f]+)", r"(?P<newline>\n)"]
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
        object.__setattr__(self, "pattern", re.compile("|".join(parts), re.ASCII))


def tokens(text: str, lexicon: Lexicon, file: str) -> list[Token]:
    """Cut a program into words, the last of kind ``end``; `ProgramError` where a character or comment does not fit."""
    found: list[Token] = []
    position, line, start_of_line = 0, 1, 0
    match_at = lexicon.pattern.match
    while position < len(text):
        match = match_at(text, position)
        column = position - start_of_line + 1
        if match is None:
            raise ProgramError(
                "a character that no word of the language begins with",
                file=file,
                line=line,
                column=column,
                word=text[position],
                valid="names, numbers and the signs of the language",
            )
        kind, word = match.lastgroup or "", match[0]
        position = match.end()
        if kind == "newline":
            if lexicon.newlines:
                found.append(Token("newline", "end of line", "\n", line, column))
            line, start_of_line = line + 1, position
        elif kind == "block" and lexicon.block_comment:
            if not word.endswith(lexicon.block_comment[1]):
                raise ProgramError(
                    "this comment is never closed; all that follows would be part of it",
                    file=file,
                    line=line,
                    column=column,
                    word=word[0],
                    valid=f"{lexicon.block_comment[1]!r} at the end of the comment",
                )
            if "\n" in word:
                line, start_of_line = line + word.count("\n"), match.start() + word.rindex("\n") + 1
        elif kind in ("number", "name", "symbol"):
            found.append(Token(kind, word, word if lexicon.case_matters else word.lower(), line, column))
        elif kind == "string":
            if len(word) < 2 or not word.endswith('"'):
                raise ProgramError(
                    "a text without its closing quote",
                    file=file,
                    line=line,
                    column=column,
                    word=word[:20],
                    valid='"…" on one line',
                )
            found.append(Token("string", word, word[1:-1], line, column))
        if len(found) > MAX_TOKENS:
            raise ProgramError(f"more than {MAX_TOKENS} words", file=file, line=line, valid="a shorter program")
    found.append(Token("end", "end of file", "", line, len(text) - start_of_line + 1))
    return found
