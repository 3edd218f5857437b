# SPDX-License-Identifier: Apache-2.0
"""One word of a program deleted or misspelt: the moves stay the same, or a note or a refusal names the line."""

from __future__ import annotations

import random
import re

import pytest
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


def unnoticed(language: str, count: int) -> list[str]:
    """Return the damages that changed the moves without a word."""
    random_ = random.Random(f"mutation {language}")
    found = []
    for _ in range(count):
        whole = random_.choice(PROGRAMS[language])
        text, line, word = damaged(whole, random_)
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
