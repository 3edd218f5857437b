# SPDX-License-Identifier: Apache-2.0
"""Lines of G-code: comments, line numbers, checksums, words (a letter and a number), assignments and flow.

``(…)`` and ``;`` hold comments, ``N`` numbers a line, ``*nn`` at its end is Marlin's checksum, a ``/`` before it marks
a block that a switch skips. Letters are in either case, blanks do not matter. A number may be a ``#`` variable or an
expression in brackets (`gcode_expression`). `parse_line` returns a `Block`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from armwright.programs.languages.gcode_expression import ExpressionParser, WordTrouble
from armwright.syntax.program_tree import Node
from armwright.syntax.scanner import Token

WORD = re.compile(r"([A-Za-z])[ \t]*([-+]?[ \t]*(?:\d+\.?\d*|\.\d+)(?:[eE][-+]\d+)?)[ \t]*")
PRINTER_WORD = re.compile(r"([A-Za-z])[ \t]*([-+]?[ \t]*(?:\d+\.?\d*|\.\d+))[ \t]*")
LARGEST_WORD = 1e9  # beyond all numbers of a program
TEXT_WORDS = re.compile(r"[ \t]*(?:N\d+[ \t]*)?M(?:117|118|23|28|32|33|16|486|862\.3|1002)(?!\d)", re.IGNORECASE)
"""Words of Marlin whose arguments are text: messages and names of files."""
MESSAGE = re.compile(r"[ \t]*(?:N\d+[ \t]*)?(?:LOG)?MSG[ \t]*[\"(]", re.IGNORECASE)
"""``MSG "…"`` and ``LOGMSG "…"``: texts for the operator on some hobby controllers; the machine goes on."""
FLOW_WORDS = ("if", "goto", "while", "end", "then", "do", "else")
O_WORDS = (
    *("sub", "endsub", "return", "call", "if", "elseif", "else", "endif"),
    *("while", "endwhile", "do", "repeat", "endrepeat", "break", "continue"),
)


@dataclass(frozen=True)
class Word:
    """A letter with its number: a float, or an expression to be worked out."""

    letter: str
    value: Node
    at: Token


@dataclass
class Block:
    """One line of a program.

    Attributes:
        line: number of the line in its file, from 1.
        label: its N word; -1 without.
        words: in their order, N left out.
        assigns: variable (an expression), value (an expression), place.
        flow: name, label and arguments of a word of flow, or None.
        skip: begins with ``/``.
        percent: consists of ``%``.
        trouble: message, place, what would be valid: the line is not understood.
        remarks: notes that belong to the line.
    """

    line: int
    label: int = -1
    words: list[Word] = field(default_factory=list)
    assigns: list[tuple[Node, Node, Token]] = field(default_factory=list)
    flow: tuple[str, str, list[Node], Token] | None = None
    skip: bool = False
    percent: bool = False
    trouble: tuple[str, Token, str] | None = None
    remarks: list[str] = field(default_factory=list)


def token(text: str, line: int, column: int) -> Token:
    """Return a word's place, its column from 0."""
    return Token("name", text, text.lower(), line, column + 1)


def without_comments(text: str) -> tuple[str, int]:
    """Return a line with blanks in place of its comments, and where one is left open (-1: none)."""
    if "(" not in text and ";" not in text:
        return text, -1
    kept: list[str] = []
    depth, opened = 0, -1
    for k, sign in enumerate(text):
        if sign == "(":
            opened = k if depth == 0 else opened
            depth += 1
        elif sign == ";" and depth == 0:
            return "".join(kept), -1
        kept.append(" " if depth else sign)
        if sign == ")" and depth:
            depth -= 1
    if depth:
        last = text.rfind(")", opened)  # "(a (b)" is a comment that holds a bracket; "(a" is one that stays open
        return (
            ("".join(kept[:opened]) + " " * (last + 1 - opened) + text[last + 1 :], -1) if last > 0 else (text, opened)
        )
    return "".join(kept), -1


def parse_line(raw: str, line: int, printer: bool) -> Block:
    """Return the block of a line; what is not understood is in its `trouble`."""
    block = Block(line)
    if MESSAGE.match(raw):
        block.remarks.append("a message for the operator is left out")
        return block
    text_word = TEXT_WORDS.match(raw) if printer else None
    text, opened = (text_word[0], -1) if text_word else without_comments(raw)
    if opened >= 0:
        block.trouble = ("a comment that is never closed", token("(", line, opened), ") at its end")
        return block
    text = text.rstrip()
    start = len(text) - len(text.lstrip())
    if text[start:].startswith("/"):
        block.skip, start = True, start + 1
    if text[start:].strip() == "%" or text[start : start + 1] == "%":
        block.percent = True
        return block
    star = text.rfind("*")
    if star > 0 and text[star + 1 :].strip().isdigit() and "[" not in text:
        _check_sum(block, raw, int(text[star + 1 :]))
        text = text[:star].rstrip()
    try:
        _words(block, text, start, PRINTER_WORD if printer else WORD)
    except WordTrouble as trouble:
        where = min(trouble.position, max(len(text) - 1, 0))
        word = re.match(r"[A-Za-z]+|.", text[where:] or " ")
        block.trouble = (str(trouble), token(word[0] if word else "", line, where), trouble.valid)
    return block


def _check_sum(block: Block, raw: str, said: int) -> None:
    found = 0
    for code in raw[: raw.rfind("*")].encode("utf-8"):
        found ^= code
    if found != said:
        block.remarks.append(f"its checksum is {said}, and {found} would be right: this line was changed")


def _words(block: Block, text: str, position: int, pattern: re.Pattern[str]) -> None:
    line, size, match_at = block.line, len(text), pattern.match
    while position < size:
        match = match_at(text, position)
        if match is not None:
            letter = match[1].upper()
            if letter == "O" and not block.words and block.flow is None:
                position = _o_word(block, text, match.start(), match[2].strip(), match.end())
                continue
            number = match[2].replace(" ", "").replace("\t", "")
            value = float(number)
            if abs(value) > LARGEST_WORD:
                raise WordTrouble(f"{letter} is beyond all numbers of a program", match.start(), "at most 1e9")
            if letter == "N" and not block.words and block.label < 0:
                block.label = int(value)
            else:
                block.words.append(Word(letter, value, token(match[1], line, match.start())))
            position = match.end()
            continue
        sign = text[position]
        if sign in " \t":
            position += 1
        elif sign == ":" and (number := re.match(r":[ \t]*(\d+)", text[position:])) and not block.words:
            position = _o_word(block, text, position, number[1], position + number.end())  # ISO's O
        elif sign == "$":  # LinuxCNC: which spindle
            position = _computed_number(text, position)
        elif sign == "#":
            position = _assign(block, text, position)
        elif re.match(r"(if|while|goto|end\d|then|else)(?![a-z])", text[position:], re.IGNORECASE):
            position = _flow(block, text, position)
        elif sign in "oO":
            name = re.match(r"[oO][ \t]*(<[^>]*>|[#\[].*)", text[position:])
            if name is None:
                raise WordTrouble("O needs a number or a <name>", position, "O100, or O<name>")
            if not name[1].startswith("<"):
                raise WordTrouble("O words by variables are not followed", position, "O100, or O<name>")
            position = _o_word(block, text, position, name[1], position + name.end())
        elif sign.isalpha():
            position = _computed(block, text, position)
        else:
            raise WordTrouble("this begins no word of G-code", position, "a letter with a number")


def _computed_number(text: str, position: int) -> int:
    """Go over a number that means nothing to an arm."""
    parser = ExpressionParser(text, position + 1)
    parser.value()
    return parser.position


def _computed(block: Block, text: str, position: int) -> int:
    """Read a letter whose number is a variable or an expression; a printer's flag stands alone."""
    letter = text[position]
    parser = ExpressionParser(text, position + 1)
    parser.blanks()
    if parser.peek() in ("#", "[", "-", "+") or re.match(r"[A-Za-z]{2,}[ \t]*\[", text[parser.position :]):
        value = parser.value()
        block.words.append(Word(letter.upper(), value, token(letter, block.line, position)))
        return parser.position
    following = text[position + 1 : position + 2]
    if following and following.isalpha():
        raise WordTrouble(f"{letter} needs a number", position, f"{letter}1.5")
    block.words.append(Word(letter.upper(), None, token(letter, block.line, position)))
    return position + 1


def _assign(block: Block, text: str, position: int) -> int:
    at = token("#", block.line, position)
    parser = ExpressionParser(text, position)
    variable = parser.variable()
    parser.blanks()
    if parser.peek() != "=":
        raise WordTrouble("a variable that is given nothing", position, "#100 = …, or X#100")
    parser.position += 1
    block.assigns.append((variable, parser.sum(), at))
    parser.blanks()
    return parser.position


def _flow(block: Block, text: str, position: int) -> int:
    """Read IF […] GOTO n, IF […] THEN #1=…, GOTO n, WHILE […] DO m, END m (Fanuc's macros)."""
    at = token(text[position : position + 4].split("[")[0].strip(), block.line, position)
    rest = text[position:]
    ending = re.match(r"end[ \t]*(\d)[ \t]*$", rest, re.IGNORECASE)
    if ending:
        block.flow = ("end", ending[1], [], at)
        return len(text)
    if re.match(r"goto", rest, re.IGNORECASE):
        parser = ExpressionParser(text, position + 4)
        block.flow = ("goto", "", [None, parser.value()], at)
        return parser.position
    head = re.match(r"(if|while)[ \t]*", rest, re.IGNORECASE)
    if head is None:
        raise WordTrouble("this begins no block", position, "IF […] GOTO n, WHILE […] DO1, END1, GOTO n")
    parser = ExpressionParser(text, position + head.end())
    test = parser.bracket()
    parser.blanks()
    tail = text[parser.position :]
    then = re.match(r"(goto|then|do)[ \t]*", tail, re.IGNORECASE)
    if then is None:
        raise WordTrouble("a test that decides nothing", position, "GOTO n or THEN behind IF […], DO1 behind WHILE […]")
    word, behind = then[1].lower(), parser.position + then.end()
    if word == "then":
        inner = ExpressionParser(text, behind)
        inner.blanks()
        block.flow = ("then", "", [test], at)
        return _assign(block, text, inner.position)
    inner = ExpressionParser(text, behind)
    value = inner.value()
    if word == "do":
        block.flow = ("while", f"{int(value) if isinstance(value, float) else 0}", [test], at)
    else:
        block.flow = ("goto", "", [test, value], at)
    return inner.position


def _o_word(block: Block, text: str, position: int, name: str, behind: int) -> int:
    """Read O100 or O<name>, and what stands behind it."""
    at = token(text[position], block.line, position)
    label = name.lower().replace(" ", "") if name.startswith("<") else f"{int(float(name))}"
    match = re.match(r"[ \t]*([A-Za-z]+)", text[behind:])
    word = match[1].lower() if match else ""
    if word not in O_WORDS:
        if match is not None and name.startswith("<"):
            raise WordTrouble(f"unknown word {match[1]!r}", behind, ", ".join(O_WORDS))
        if word and len(word) > 1 and word not in FLOW_WORDS:
            raise WordTrouble(f"unknown word {match[1]!r}" if match else "", behind, ", ".join(O_WORDS))
        block.flow = ("number", label, [], at)
        return behind
    assert match is not None
    parser = ExpressionParser(text, behind + match.end())
    arguments = []
    parser.blanks()
    while parser.peek() == "[":
        arguments.append(parser.bracket())
        parser.blanks()
    block.flow = (f"o{word}", label, arguments, at)
    return parser.position
