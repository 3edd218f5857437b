# SPDX-License-Identifier: Apache-2.0
"""One word of a program deleted or misspelt: the moves stay the same, or a note or a refusal names the line.

The line is named if it is the place of a note or refusal that the whole program does not have, or if the message says
it ("lines 7 to 12" of a block without its end). For a name of the program's own the lines count where it is used, too:
that is where its absence is seen.

What no reader can notice is a deletion that leaves another valid program. The grammars say which words may be left
out so (`another_program`); misspellings are never let pass.
"""

from __future__ import annotations

import random
import re
from functools import cache

import pytest
from test_gcode_answers import ANSWERS as GCODE_ANSWERS
from test_gcode_answers import HEAD, HOLES
from test_krl_answers import ANSWERS as KRL_ANSWERS
from test_krl_answers import src
from test_rapid_answers import ANSWERS as RAPID_ANSWERS
from test_rapid_answers import ROUTINES, module
from test_urscript_answers import ANSWERS as URSCRIPT_ANSWERS
from test_urscript_answers import src as script

import armwright as aw
from armwright.programs.interpreter.program_interpreter import Interpreter
from support.programs import EXAMPLES

PROGRAMS = {
    "rapid": [
        *(
            module(body.replace("; ", ";\n"), data.replace("; ", ";\n"))
            for _, body, data, _ in RAPID_ANSWERS + ROUTINES
        ),
        *(path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.mod")),
    ],
    "krl": [
        *(src(body) for _, body, _ in KRL_ANSWERS),
        *(path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.src")),
    ],
    "urscript": [
        *(script(body, functions) for _, body, functions, _ in URSCRIPT_ANSWERS),
        *(path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.script")),
    ],
    "g-code": [
        *(HEAD + body + "\n" for _, body, _ in GCODE_ANSWERS),
        *(HEAD + "G0 " + body + "\n" for _, body, _ in HOLES),
        *(path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.ngc")),
    ],
}
WORD = re.compile(r"(?<![\w$])[A-Za-z_$][\w$]{2,}")
FEW, MANY = 200, 4000
LEFT_OUT = {
    "rapid": {"not", "inout", "else"},
    "krl": {"not", "else", "default", "step", "c_dis", "c_ptp"},  # "TO 3 STEP -1" becomes "TO 3 -1"
    "urscript": {"not", "local", "global", "halt", "break"},  # the last two are statements of one word
}
"""Words that the grammars make optional: a program without one of them is another program."""
OTHER_WORDS = {"XCOS", "COS", "SIN", "TAN", "OR"}
"""Words of G-code that others become by the loss of a letter: ACOS (behind an X), ASIN, ATAN, XOR."""
DECLARED = (
    r"(?im)^\s*(?:const|var|pers|proc|func|trap|decl|def|int|real|setdo)\b[^\n:=(]*\b{0}\s*(?:$|[:;={{(,])"
    r"|^\s*{0}\s*:(?!=)|^\s*record\s+{0}"
)
"""Where a program declares a name of its own: data, routines, labels, record types; signals where they are set."""
SET = r"(?m)^\s*(?:(?:local|global)\s+)?{0}\s*=(?!=)"
"""In URScript a name is declared where it is set."""


@pytest.fixture(autouse=True)
def slips_are_seen(monkeypatch):
    """A slip of the interpreter is an error here, not a refusal."""
    monkeypatch.setattr(Interpreter, "forgiving", False)


@cache
def read_whole(text: str, language: str) -> aw.programs.Program:
    return aw.read_program(text, language)


def damaged(text: str, random_: random.Random) -> tuple[str, re.Match[str]]:
    """Return a program with one word deleted or misspelt, and that word."""
    word = random_.choice(list(WORD.finditer(text)))
    letters = list(word[0])
    if random_.random() < 0.5:
        letters = []
    else:
        at = random_.randrange(len(letters))
        letters[at] = random_.choice("qxz")
    return text[: word.start()] + "".join(letters) + text[word.end() :], word


LETTERS = re.compile(r"\([^)\n]*\)|;[^\n]*|<[^>\n]*>|(?P<letters>[A-Za-z]+)")  # comments and names have none


def damaged_gcode(text: str, random_: random.Random) -> tuple[str, re.Match[str]]:
    """Return a G-code program with one letter deleted or misspelt, and the word that it was in.

    In G-code almost every word is a letter with a number, and without it, or with another number or axis, a line is a
    valid line of another program, which nobody can notice. So what is counted is a letter that goes missing before its
    number, at the begin of a word; a letter that becomes Q, which only pecks have; and a letter of a longer word.
    """
    words = [m for m in LETTERS.finditer(text) if m["letters"]]
    word = random_.choice(words)
    letters, start = list(word[0]), word.start()
    at = random_.randrange(len(letters))
    apart = start == 0 or text[start - 1] in " \n"
    if random_.random() < 0.5 and (apart or len(letters) > 1):
        del letters[at]
    else:
        letters[at] = "q" if len(letters) == 1 else random_.choice("qxz")
    return text[:start] + "".join(letters) + text[word.end() :], word


def another_program(text: str, word: re.Match[str], language: str, damaged: str) -> bool:
    """Return whether the grammar allows to leave a word out: an optional one, or a function before "(value)".

    In G-code a letter goes, and ACOS without its A is COS.
    """
    if language == "g-code":
        left = re.search(r"[A-Za-z]*$", damaged[: word.end() - 1])
        return left is not None and left[0] in OTHER_WORDS
    before, behind = text[: word.start()].rstrip(" "), text[word.end() :].lstrip(" ")
    function = behind.startswith("(") and before.endswith((*"=+-*/,([", "if", "while"))
    return language in LEFT_OUT and (word[0].lower() in LEFT_OUT[language] or function)


def lines_of(text: str, word: re.Match[str], language: str) -> set[int]:
    """Return the line of a word; of a name that the program declares, all lines that have it."""
    name = rf"(?<![\w$]){re.escape(word[0])}(?![\w$])"
    declared = f"{DECLARED}|{SET.removeprefix('(?m)')}" if language == "urscript" else DECLARED
    own = re.search(declared.format(name), text)
    places = [m.start() for m in re.finditer(name, text, re.IGNORECASE)] if own else [word.start()]
    label = re.match(r"\d+", text[word.end() :]) if word[0] in ("N", "O") else None  # of a G-code line or program
    if label:
        call = "GOTO" if word[0] == "N" else r"(?:M98|G65) ?P\d?"
        places += [m.start() for m in re.finditer(rf"{call}{label[0]}\b", text)]
    if language == "g-code" and "G65" in text[text.rfind("\n", 0, word.start()) + 1 : word.start()]:
        places += [m.start() for m in re.finditer(r"#\d", text)]  # an argument's letter is a variable's name
    return {text.count("\n", 0, place) + 1 for place in places}


def named(line: int, message: str) -> set[int]:
    """Return the lines that a note or a refusal names."""
    found = {line}
    for first, last in re.findall(r"\blines? (\d+)(?: to (\d+))?", message):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def noticed(whole: str, text: str, word: re.Match[str], language: str) -> bool:
    """Return whether a damage leaves the moves as they are, or its line is named."""
    lines, before = lines_of(whole, word, language), read_whole(whole, language)
    try:
        after = aw.read_program(text, language)
    except aw.ProgramError as error:
        return bool(named(error.line, str(error)) & lines)
    old = {note.message for note in before.notes}
    said = [note for note in after.notes if note.message not in old]
    return after.moves == before.moves or any(named(note.line, note.message) & lines for note in said)


def unnoticed(language: str, count: int, seed: str = "mutation") -> list[str]:
    """Return the damages that changed the moves while nothing names their line."""
    random_ = random.Random(f"{seed} {language}")
    found = []
    for _ in range(count):
        whole = random_.choice(PROGRAMS[language])
        text, word = (damaged_gcode if language == "g-code" else damaged)(whole, random_)
        deleted = len(text) < len(whole)
        if not noticed(whole, text, word, language) and not (deleted and another_program(whole, word, language, text)):
            line = whole.count("\n", 0, word.start()) + 1
            found.append(f"line {line}, {word[0]}: {text.splitlines()[line - 1]}")
    return found


@pytest.mark.parametrize("language", PROGRAMS)
def test_damage_is_noticed(language):
    assert not unnoticed(language, FEW)


@pytest.mark.thorough
@pytest.mark.parametrize("language", PROGRAMS)
def test_much_damage_is_noticed(language):
    assert not unnoticed(language, MANY)
