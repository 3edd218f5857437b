# SPDX-License-Identifier: Apache-2.0
"""Programs that are read in part: what a plan makes of gaps, and how the command ends."""

from __future__ import annotations

import json

import pytest

import armwright as aw
from armwright.cli import main
from armwright.programs import Fraction, Stop, run_program
from armwright.programs.gaps import LEADING_SHARE, bridged, checked_moves

NO = "[9E9,9E9,9E9,9E9,9E9,9E9]"
TEXT = f"""MODULE m
CONST jointtarget j := [[0,10,20,0,30,0],{NO}];
CONST robtarget a := [[500,0,500],[0,0,1,0],[0,0,0,0],{NO}];
PROC main()
  MoveAbsJ j, v100, z10, tool0;
  MoveL away, v100, fine, tool0;
  MoveL a, v100, fine, tool0;
  MoveL Offs(a,0,50,0), v100, fine, tool0;
ENDPROC
ENDMODULE
"""


def test_the_plan_stops_at_a_gap_and_begins_anew_behind_it():
    program = aw.read_program(TEXT)
    closed = bridged(program)
    assert [m.kind for m in program.moves] == ["joint", "line", "line"]
    assert [m.kind for m in closed.moves] == ["joint", "joint", "line"]
    assert closed.moves[0].blend == Stop() and closed.moves[1].speed == Fraction(LEADING_SHARE)
    assert checked_moves(program) == 2 and program.reading.reached == 4
    assert any("is no move" in note.message for note in closed.notes)
    whole = aw.read_program(TEXT.replace("away", "a"))
    assert bridged(whole) is whole and checked_moves(whole) == 4


def test_the_verdict_says_how_far_it_goes():
    outcome = run_program(aw.load("irb140"), aw.read_program(TEXT))
    assert outcome.feasible and "as far as read: 2 of 4 moves" in outcome.verdict


def test_a_program_without_known_moves_cannot_be_planned():
    nothing = aw.read_program("MODULE m\nPROC main()\nSet do1;\nENDPROC\nENDMODULE\n")
    with pytest.raises(aw.ProgramError, match="no move of this program is known"):
        run_program(aw.load("irb140"), nothing)


def test_exit_codes_of_programs_that_are_not_read_whole(tmp_path, capsys):
    path = tmp_path / "m.mod"
    path.write_text(TEXT.replace("tool0", "gripper"), encoding="utf-8")
    words = ["run", "program", str(path), "--robot", "irb140", "--json"]
    assert main(words) == 3
    read = json.loads(capsys.readouterr().out)["read"]
    assert (read["whole"], read["moves"], len(read["gaps"])) == (False, 4, 4)
    assert main([*words, "--strict"]) == 2
    path.write_text("MODULE m\nFUNC num f(num a)\nRETURN a;\nENDFUNC\nENDMODULE\n", encoding="utf-8")
    assert main(words) == 0
    capsys.readouterr()
    assert main([*words, "--input", "di1"]) == 2  # what value?
