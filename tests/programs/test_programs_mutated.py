# SPDX-License-Identifier: Apache-2.0
"""One word of a program deleted or misspelt: the moves stay the same, or a note or a refusal names the line."""

from __future__ import annotations

import random
import re

import pytest
from test_gcode_answers import ANSWERS as GCODE_ANSWERS
from test_gcode_answers import HEAD, HOLES
from test_krl_answers import ANSWERS as KRL_ANSWERS
from test_krl_answers import src
from test_rapid_answers import ANSWERS as RAPID_ANSWERS
from test_rapid_answers import ROUTINES, module

import armwright as aw
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
    "g-code": [
        *(HEAD + body + "\n" for _, body, _ in GCODE_ANSWERS),
        *(HEAD + "G0 " + body + "\n" for _, body, _ in HOLES),
        *(path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.ngc")),
    ],
}
WORD = re.compile(r"[A-Za-z_$][\w$]{2,}")
FEW, MANY = 200, 4000


def damaged(text: str, random_: random.Random) -> tuple[str, int, str]:
    """Return a program with one word deleted or misspelt, the line of that word, and the word."""
    words = [m for m in WORD.finditer(text) if "\n" not in m[0]]
    word = random_.choice(words)
    letters = list(word[0])
    if random_.random() < 0.5:
        letters = []
    else:
        at = random_.randrange(len(letters))
        letters[at] = random_.choice("qxz")
    return text[: word.start()] + "".join(letters) + text[word.end() :], text.count("\n", 0, word.start()) + 1, word[0]


LETTERS = re.compile(r"\([^)\n]*\)|;[^\n]*|<[^>\n]*>|(?P<letters>[A-Za-z]+)")  # comments and names have none


def damaged_gcode(text: str, random_: random.Random) -> tuple[str, int, str]:
    """Return a G-code program with one letter deleted or misspelt, its line, and the word.

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
    return text[:start] + "".join(letters) + text[word.end() :], text.count("\n", 0, start) + 1, word[0]


def unnoticed(language: str, count: int) -> list[str]:
    """Return the damages that changed the moves without a word."""
    random_ = random.Random(f"mutation {language}")
    found = []
    for _ in range(count):
        whole = random_.choice(PROGRAMS[language])
        text, line, word = (damaged_gcode if language == "g-code" else damaged)(whole, random_)
        before = aw.read_program(whole, language)
        try:
            after = aw.read_program(text, language)
        except aw.ProgramError:
            continue
        said = {note.message for note in after.notes} - {note.message for note in before.notes}
        if after.moves != before.moves and not said:
            found.append(f"line {line}, {word}: {text.splitlines()[line - 1]}")
    return found


@pytest.mark.parametrize("language", PROGRAMS)
def test_damage_is_noticed(language):
    assert not unnoticed(language, FEW)


@pytest.mark.thorough
@pytest.mark.parametrize("language", PROGRAMS)
def test_much_damage_is_noticed(language):
    assert not unnoticed(language, MANY)
