# SPDX-License-Identifier: Apache-2.0
"""What reading a program costs: bounded by a count of words, whatever its loops, calls and lists do."""

from __future__ import annotations

import pytest

from armwright.errors import ProgramError
from armwright.programs.languages import scanner
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


@pytest.fixture
def counted(monkeypatch):
    """Words that were read, and one tenth of the usual limit so that the tests are quick."""
    counts = []
    monkeypatch.setattr(scanner, "MAX_WORK", scanner.MAX_WORK // 10)
    real = scanner.Cursor.count

    def count(self, work=1):
        counts.append(work)
        real(self, work)

    monkeypatch.setattr(scanner.Cursor, "count", count)
    return counts


@pytest.mark.parametrize("what", GREEDY)
def test_no_text_makes_the_reader_work_on_and_on(what, counted):
    text = GREEDY[what]
    words = len(scanner.tokens(text, scanner.Lexicon(line_comments=("#",), newlines=True), ""))
    try:
        read_program(text, "krl" if what.startswith("krl") else "urscript")
    except ProgramError as error:
        assert error.line  # noqa: PT017 - that it may be read is as good an end
    assert sum(counted) <= scanner.MAX_WORK + 4 * words + 500


def test_a_long_program_is_no_greedy_one(counted):
    """Reading costs as much as there is, so a long file is read as any other."""
    assert len(read_program(MOVE * 3000, "urscript").moves) == 3000


def test_the_nearest_name_is_not_looked_for_among_everything():
    names = "".join(f"{'a' * 300}{k} = {k}\n" for k in range(300))
    with pytest.raises(ProgramError, match="is not declared"):
        read_program(f"{names}z = {'a' * 300}q\n", "urscript")
