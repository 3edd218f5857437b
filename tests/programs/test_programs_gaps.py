# SPDX-License-Identifier: Apache-2.0
"""Programs that are read in part: what a plan makes of gaps, and how the command ends."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.cli import main
from armwright.kinematics import fk
from armwright.programs import run_program
from armwright.programs.gaps import checked_moves
from armwright.programs.motors.what_works import exact

NO = "[9E9,9E9,9E9,9E9,9E9,9E9]"
TEXT = f"""MODULE m
CONST jointtarget j := [[0,10,20,0,30,0],{NO}];
CONST jointtarget j2 := [[20,10,20,0,30,0],{NO}];
CONST robtarget a := [[500,0,500],[0.5,0.5,0.5,0.5],[0,0,0,0],{NO}];
PROC main()
  MoveAbsJ j, v100, z10, tool0;
  MoveAbsJ j2, v100, z10, tool0;
  MoveL away, v100, fine, tool0;
  MoveL a, v100, fine, tool0;
  MoveL Offs(a,0,50,0), v100, fine, tool0;
ENDPROC
ENDMODULE
"""


@pytest.fixture(scope="module")
def outcome():
    return run_program(aw.load("irb140"), aw.read_program(TEXT))


def test_the_plan_stops_at_a_gap_and_begins_anew_behind_it(outcome):
    """Two motions from rest to rest; what nobody knows between them is in no time, no figure and no event."""
    plan, robot = outcome.plan, outcome.robot
    (_, end), (begin, last) = plan.parts
    assert begin == end and last == plan.duration and plan.route.unchecked == (0, 2)
    assert checked_moves(plan) == 3 and plan.program.reading.reached == 5
    jump = int(np.flatnonzero(outcome.demand.leaps)[0])
    assert plan.t[jump + 1] == pytest.approx(begin, abs=1e-12)
    np.testing.assert_allclose(fk(robot, plan.q[jump + 1])[:3, 3], [0.5, 0.0, 0.5], atol=1e-9)
    assert not plan.qd[jump - 1 : jump + 2].any()
    first, second = (plan.moves[k] for k in (1, 3))
    alone = [
        aw.plan_program(robot, replace(plan.program, reading=None, moves=moves))
        for moves in (plan.program.moves[:2], plan.program.moves[2:])
    ]
    for move, part in zip((first, second), alone, strict=True):
        assert move.end - move.start == pytest.approx(part.duration, rel=1e-9)
    assert plan.duration - sum(part.duration for part in alone) < 4 * plan.cycle  # a pause marks the gap


def test_nothing_is_asked_where_the_arm_is_set_down(outcome):
    """The whole as its two parts: the same demands, and no motor flagged by a jump of half a metre."""
    jump = int(np.flatnonzero(outcome.demand.leaps)[0])
    assert np.linalg.norm(outcome.demand.q[jump + 1] - outcome.demand.q[jump]) > 0.2
    for run in (outcome.wished, outcome.motors):
        assert not run.wanted[jump].any() and not run.qd[jump].any() and not run.lag[jump].any()
        assert np.abs(run.lag).max() < 1e-3
    assert outcome.feasible and outcome.trip is None and not outcome.events
    assert outcome.override.program > 1.0
    parts = [part for _, part in outcome.demand.parts()]
    most = np.max([exact(outcome.robot, part, outcome.basis)[0].speed_use.max(axis=0) for part in parts], axis=0)
    np.testing.assert_allclose(outcome.wished.speed_use.max(axis=0), most, atol=1e-12)


def test_too_fast_behind_a_gap_is_told_there(outcome):
    faster = run_program(outcome.robot, outcome.program, override=18.0)
    beyond = np.unique(faster.demand.moves[faster.wished.clipped.any(axis=1)])
    assert not faster.feasible and beyond.tolist() == [1, 3]


def test_a_drive_that_stops_behind_a_gap_stops_there(outcome):
    """The part before it is followed to its end; time and cycle of the trip count from the program's beginning."""
    text = TEXT.replace("MoveL Offs(a,0,50,0), v100", "MoveJ Offs(a,0,300,0), v5000")
    faster = run_program(outcome.robot, aw.read_program(text), override=3.0)
    begins = faster.plan.parts[1][0]
    assert faster.trip is not None and begins < faster.trip.time < faster.plan.duration
    assert faster.trip.cycle == pytest.approx(faster.trip.time / 0.01, abs=1.0)
    assert faster.motors.demand.cycles <= faster.trip.cycle + 1
    before = faster.motors.time < begins
    assert np.abs(faster.motors.lag[before]).max() < 0.01
    assert {event.move for event in faster.events} == {3}


def test_the_verdict_says_how_far_it_goes(outcome):
    assert "as far as read: 3 of 5 moves" in outcome.verdict
    notes = {note.line: note.message for note in outcome.plan.notes if "is not checked" in note.message}
    assert "begins at rest in the first target" in notes[6] and "begins anew" in notes[9]


def test_a_target_that_says_not_all_is_no_place_to_begin_anew():
    text = TEXT.replace(
        "MoveL a, v100, fine, tool0;",
        f"MoveAbsJ [[10,9E9,9E9,9E9,9E9,9E9],{NO}], v100, fine, tool0;\n  MoveL a, v100, fine, tool0;",
    )
    plan = aw.plan_program(aw.load("irb140"), aw.read_program(text))
    assert plan.route.unchecked == (0, 2, 3)
    assert any("names no whole target" in note.message and note.line == 9 for note in plan.notes)


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
    assert (read["whole"], read["moves"], len(read["gaps"])) == (False, 5, 5)
    assert main([*words, "--strict"]) == 2
    path.write_text("MODULE m\nFUNC num f(num a)\nRETURN a;\nENDFUNC\nENDMODULE\n", encoding="utf-8")
    assert main(words) == 0
    capsys.readouterr()
    assert main([*words, "--input", "di1"]) == 2  # what value?


@pytest.mark.parametrize(
    "slip", ["o1 eleif [#1 EQ 2]", "1 elseif [#1 EQ 2]", "o1 elseif [#1 Q 2]", "q1 elseif [#1 EQ 2]"]
)
def test_a_slip_in_a_branch_that_does_not_run_is_told(slip):
    """Nobody knows what the line would have been: it may begin the branch that runs."""
    body = f"#1=2\no1 if [#1 EQ 1]\nG1 X1\n{slip}\nG1 X2\no1 else\nG1 X3\no1 endif\nX4\n"
    program = aw.read_program("G21 G90 F600\nG0 X0 Y0 Z0\n" + body, "g-code")
    assert [note.line for note in program.reading.set_aside] == [6]
    assert "passed over in the branch of line 4" in program.reading.set_aside[0].message
