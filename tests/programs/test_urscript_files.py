# SPDX-License-Identifier: Apache-2.0
"""URScript in several files: functions of scripts beside the program, and of those that the user names."""

from __future__ import annotations

import pytest

import armwright as aw

MAIN = "def prog():\n  set_tcp(p[0, 0, 0.1, 0, 0, 0])\n  go(0.3)\nend\n"
GO = "height = 0.4\ndef go(where, along=0.1):\n  x = where\n  movel(p[x, along, height, 0, 3.14, 0])\nend\n"


@pytest.fixture
def main(tmp_path):
    file = tmp_path / "prog.script"
    file.write_text(MAIN, encoding="utf-8")
    return file


def test_a_function_beside_the_program_is_found_with_the_variables_of_its_file(main):
    (main.parent / "helpers.script").write_text(GO, encoding="utf-8")
    program = aw.read_program(main)
    assert program.reading.whole and [len(program.moves), len(program.reading.files)] == [1, 2]
    assert list(program.moves[0].target.T[:3, 3]) == pytest.approx([0.3, 0.1, 0.4])
    assert any("files used" in note.message and "helpers.script" in note.message for note in program.notes)


def test_a_file_that_the_user_names_comes_first(main, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "lib.script").write_text(GO.replace("0.4", "0.6"), encoding="utf-8")
    (main.parent / "helpers.script").write_text(GO, encoding="utf-8")
    program = aw.read_program(main, more=[other / "lib.script"])
    assert program.moves[0].target.T[2, 3] == pytest.approx(0.6)
    (main.parent / "again.script").write_text(GO, encoding="utf-8")
    with pytest.raises(aw.ProgramError, match=r"'go' is a function of several files: again.script, helpers.script"):
        aw.read_program(main)


def test_functions_inside_other_programs_are_theirs(main):
    (main.parent / "whole.script").write_text(
        "def whole():\n  def go(where):\n    sleep(1)\n  end\nend\n", encoding="utf-8"
    )
    program = aw.read_program(main)
    assert "go is in none of the files" in program.reading.unread[0].message


def test_a_function_that_gives_a_value_and_one_that_cannot_be_read(main):
    main.write_text("def prog():\n  movel(place(0.3))\n  movel(spoilt())\nend\n", encoding="utf-8")
    place = "def place(x):\n  return p[x, 0, 0.4, 0, 3.14, 0]\nend\n"
    (main.parent / "places.script").write_text(place, encoding="utf-8")
    (main.parent / "spoilt.script").write_text("def spoilt():\n  return p[1,\n", encoding="utf-8")
    program = aw.read_program(main)
    assert program.reading.known == 1 and program.moves[0].target.T[0, 3] == pytest.approx(0.3)
    assert any("spoilt.script has 'spoilt' but cannot be read" in note.message for note in program.notes)
