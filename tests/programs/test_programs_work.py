# SPDX-License-Identifier: Apache-2.0
"""What reading a program costs: bounded by a count of words, whatever its loops, calls and lists do."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import pytest

from armwright.errors import ProgramError
from armwright.programs.interpreter import program_interpreter
from armwright.programs.program_reader import read_program

MOVE = "movej([0,-1,1,0,0,0])\n"
UNREAD = "".join(f"  y{k} = {k} + {k} * 2\n" for k in range(200))
GREEDY = {
    "a long block that is passed over": f"i = 0\nwhile i < 9000:\n i = i + 1\n if False:\n{UNREAD} end\nend\n{MOVE}",
    "a long expression": f"i = 0\nwhile i < 90000:\n  i = i + 1\n  x = {'+'.join(['1'] * 300)}\nend\n{MOVE}",
    "many variables": f"{UNREAD}i = 0\nwhile i < 90000:\n  i = i + 1\nend\n{MOVE}",
    "many moves": f"i = 0\nwhile i < 45000:\n  i = i + 1\n  {MOVE}end\n",
    "lists of the same list": f"x = [1]\ni = 0\nwhile i < 55:\n  i = i + 1\n  x = [x, x]\n  y = [x, x]\nend\n{MOVE}",
    "lists without end": f"x = [1]\nwhile True:\n  x = [x, x]\nend\n{MOVE}",
    "krl: a long block": "DEF p()\nDECL INT i\nFOR i = 1 TO 90000\nIF FALSE THEN\n"
    + "WAIT SEC 1\n" * 500
    + "ENDIF\nENDFOR\nPTP {A1 0,A2 0,A3 0,A4 0,A5 0,A6 0}\nEND\n",
}


CALLS_PER_WORK = 20  # of Python for one unit of the interpreter's limit, at most


@contextmanager
def calls_counted():
    """Count the calls of Python functions: a measure of work that the reader does not keep itself."""
    counts = [0]

    def count(frame, event, argument):
        counts[0] += event == "call"

    sys.setprofile(count)
    try:
        yield counts
    finally:
        sys.setprofile(None)


@pytest.fixture
def limit(monkeypatch):
    """One tenth of the usual limit, so that the tests are quick."""
    monkeypatch.setattr(program_interpreter, "MOST_WORK", program_interpreter.MOST_WORK // 10)
    return program_interpreter.MOST_WORK


@pytest.mark.parametrize("what", GREEDY)
def test_no_text_makes_the_reader_work_on_and_on(what, limit):
    with calls_counted() as calls:
        try:
            read_program(GREEDY[what], "krl" if what.startswith("krl") else "urscript")
        except ProgramError as error:
            assert error.line  # noqa: PT017 - that it may be read is as good an end
    assert calls[0] <= CALLS_PER_WORK * limit


def test_a_long_program_is_no_greedy_one(limit):
    """Reading costs as much as there is, so a long file is read as any other."""
    assert len(read_program(MOVE * 3000, "urscript").moves) == 3000


def test_the_nearest_name_is_not_looked_for_among_everything(limit):
    names = "".join(f"{'a' * 300}{k} = {k}\n" for k in range(300))
    with calls_counted() as calls:
        notes = read_program(f"{names}z = {'a' * 300}q\n{MOVE}", "urscript").notes
    assert any("is not declared" in note.message for note in notes)
    assert calls[0] <= limit
