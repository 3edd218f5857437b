# SPDX-License-Identifier: Apache-2.0
"""Damaged programs: whatever the damage, a reader answers with a program or with an error of ours, and it answers."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import armwright as aw
from armwright.programs.interpreter.program_interpreter import Interpreter
from support.programs import EXAMPLES, GOOD

SUFFIXES = {"l-irl": ".irl", "urscript": ".script", "rapid": ".mod", "krl": ".src", "g-code": ".ngc"}
PIECES = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":=",
    "=",
    "-",
    "*",
    "/",
    "0",
    "1e308",
    "-1",
    "9E9",
    "0.5",
    '"',
    "\n",
    "#",
]
FLOW = {
    "l-irl": ["move", "lin", "circle", "speed=1", "c_cp=", "tool", "endseq", "joint(mainjoint(0))"],
    "urscript": [
        "while True:",
        "if i < 2:",
        "else:",
        "end",
        "break",
        "def f():",
        "f()",
        "i = i + 1",
        "p[",
        "movec(",
        "t=0",
        "switch i:",
        "case 1:",
        "thread t():",
        "run t()",
        "local i = ",
        "struct(n=1).n",
        "pose_trans(",
        "get_inverse_kin(",
        "sleep(",
        "$ 1",
    ],
    "rapid": [
        "WHILE TRUE DO",
        "ENDWHILE",
        "FOR i FROM 1 TO 3 DO",
        "ENDFOR",
        "IF TRUE THEN",
        "ENDIF",
        "main;",
        "MoveC",
        "\\V:=",
    ],
    "krl": [
        "LOOP",
        "ENDLOOP",
        "EXIT",
        "FOR i=1 TO 3",
        "ENDFOR",
        "REPEAT",
        "UNTIL TRUE",
        "SPLINE",
        "ENDSPLINE",
        "CIRC",
        "$TOOL=",
    ],
    "g-code": [
        *("G2", "G3", "R", "I1", "G68.2", "G91", "G64 P", "G20", "A1", "X", "F0", "G18", "G81 Z-1 R1", "G92 X0", "G55"),
        *(
            "#1=[#1+1]",
            "X[#1]",
            "o1 while [1]",
            "o1 endwhile",
            "o1 repeat [9]",
            "o1 endrepeat",
            "o1 if [1]",
            "o1 endif",
        ),
        *("IF[1EQ1]GOTO5", "N5", "WHILE[1]DO1", "END1", "M98 P1", "O1", "M99", "G28", "G53 X1", "G10 L20 P1 X0", "%"),
    ],
}
COUNT, MANY = 700, 10_000  # for each language


@pytest.fixture(autouse=True)
def slips_are_seen(monkeypatch):
    """A slip of the interpreter (a `TypeError`, a `KeyError`) is an error here, not a refusal at its line."""
    monkeypatch.setattr(Interpreter, "forgiving", False)


def mutated(text: str, language: str, random_: random.Random) -> str:
    """Apply one to four changes: words deleted, doubled, swapped or replaced, characters changed, the end cut off."""
    for _ in range(random_.randint(1, 4)):
        words = re.findall(r"\s+|[\w.$]+|.", text)
        if not words:
            return text
        at = random_.randrange(len(words))
        kind = random_.randrange(7)
        if kind == 0:
            del words[at]
        elif kind == 1:
            words.insert(at, words[at])
        elif kind == 2:
            other = random_.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        elif kind == 3:
            words[at] = random_.choice(PIECES)
        elif kind == 4:
            words.insert(at, random_.choice(FLOW[language]) + random_.choice([" ", "\n"]))
        elif kind == 5:
            words[at] = words[at][:-1] + chr(random_.randrange(32, 127))
        else:
            words = words[:at]
        text = "".join(words)
    return text


def answered(text: str, language: str) -> aw.programs.Program | aw.ProgramError:
    try:
        return aw.read_program(text, language)
    except aw.ProgramError as error:
        return error


@pytest.mark.parametrize("language", GOOD)
def test_damage_is_an_answer_of_ours(language):
    """Every damaged program is read, or refused by our own error with a line that exists and something valid."""
    damage(language, COUNT)


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["urscript", "rapid", "krl", "g-code"])
def test_much_damage_is_an_answer_of_ours(language):
    damage(language, MANY)


def damage(language, count):
    random_ = random.Random(f"armwright {language}")
    whole = [GOOD[language], *(path.read_text(encoding="utf-8") for path in EXAMPLES.glob(f"*{SUFFIXES[language]}"))]
    read = refused = 0
    for _ in range(count):
        text = mutated(random_.choice(whole), language, random_)
        answer = answered(text + "\n", language)
        if isinstance(answer, aw.ProgramError):
            refused += 1
            assert answer.valid, answer
            assert 0 <= answer.line <= text.count("\n") + 2
        else:
            read += 1
            refused += answer.reading is not None and not answer.reading.whole  # read in part, and said so
            assert all(np.isfinite(move.T_base_frame).all() for move in answer.moves)
            assert all(1 <= move.line <= text.count("\n") + 1 for move in answer.moves)
    assert read > count / 100, "the damage leaves nothing to read"
    assert refused > count / 4, "the damage does nothing"


def test_deep_and_long_programs_end_in_words():
    deep = "(" * 5000
    for text, language in (
        (f"program a;\nseq move lin robtarg(position({deep}1,", "l-irl"),
        (f"movel(p[{deep}\n", "urscript"),
        ("x = " + "[" * 5000 + "\n", "urscript"),
        ("while 1 < 2:\n" * 5000, "urscript"),
        ("i = 0\nwhile i < 1000000000:\n  i = i + 1\nend\n", "urscript"),
        ("MODULE a\nCONST num x := " + "-(" * 5000 + "\n", "rapid"),
        ("DEF a()\n" + "IF TRUE THEN\n" * 5000, "krl"),
        ("DEF a()\nFOR i=1 TO 1000000000\nENDFOR\nEND\n", "krl"),
        ("G1 X" + "[" * 5000 + "\n", "g-code"),
        ("G1 X" + "-" * 5000 + "1\n", "g-code"),
        ("#1=1\nN1 #1=[#1+1]\nGOTO1\n", "g-code"),
        ("O1\nM98 P1\nM99\n", "g-code"),
        ("DEF a()\nx = " + "{X " * 5000 + "\nEND\n", "krl"),
    ):
        with pytest.raises(aw.ProgramError):
            aw.read_program(text, language)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("def f():\n  f()\nend\nf()\n", "urscript"),
        ("MODULE a\nPROC main()\nmain;\nENDPROC\nENDMODULE\n", "rapid"),
    ],
)
def test_a_routine_that_calls_itself_is_one_pass_and_says_so(text, language):
    program = aw.read_program(text, language)
    assert not program.moves and any("called without an end" in note.message for note in program.notes)
