# SPDX-License-Identifier: Apache-2.0
"""Two versions of a program: what is said to have changed is what was changed, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import armwright as aw
from armwright.cli import main
from armwright.programs import Distance, Duration, Fraction, Joints, Move, Pose, Program, ToolRate, run_program
from armwright.programs.outcome.version_comparison import compare_versions, move_changes, version_figures
from armwright.programs.program_comparison import program_differences
from armwright.programs.setting_words import setting_words

START = np.array([0.0, -1.4, 1.8, -2.0, -1.57, 0.0])


@pytest.fixture(scope="module")
def ur5():
    return aw.load("ur5")


@pytest.fixture(scope="module")
def program(ur5):
    T = aw.fk(ur5, START)

    def at(x, y, z):
        P = T.copy()
        P[:3, 3] += [x, y, z]
        return Pose(P)

    words = {"speed": ToolRate(0.25), "acceleration": ToolRate(1.0)}
    moves = (
        Move("joint", Joints(START + 0.1), Fraction(0.5), line=2),
        Move("line", at(0.0, 0.1, 0.0), line=3, **words),
        Move("line", at(0.0, 0.1, 0.1), line=4, **words),
        Move("line", at(0.0, 0.0, 0.1), line=5, **words),
    )
    return Program(moves, start_q=START)


def test_a_program_is_itself(ur5, program):
    run = run_program(ur5, program)
    found = compare_versions(run, run)
    assert found.same and found.changes == () and found.path.value < 1e-12


def test_a_move_more_does_not_change_the_others(program):
    moves = program.moves
    extra = replace(moves[3], kind="joint", line=9)
    for index in range(len(moves) + 1):
        longer = replace(program, moves=(*moves[:index], extra, *moves[index:]))
        (change,) = move_changes(program, longer)
        assert (change.kind, change.after) == ("added", index)
        (back,) = move_changes(longer, program)
        assert (back.kind, back.before) == ("removed", index)


def test_faster_words_are_told_and_leave_the_path(ur5, program):
    moves = list(program.moves)
    moves[2] = replace(moves[2], speed=ToolRate(0.4))
    before, after = run_program(ur5, program), run_program(ur5, replace(program, moves=tuple(moves)))
    found = compare_versions(before, after)
    (change,) = found.changes
    assert (change.kind, change.before, change.after) == ("changed", 2, 2) and "speed" in change.what[0]
    assert found.path.value < 1e-6 and not found.same
    told = version_figures(found)
    assert told["time_s"] == pytest.approx(after.plan.duration - before.plan.duration) and told["time_s"] < 0.0
    assert told["changes"][0]["after"]["line"] == 4


@pytest.mark.parametrize("shift", [0.005, 0.02])
def test_a_shifted_target_is_as_far_as_it_was_shifted(ur5, program, shift):
    """The corner of a path with stops moves by as much as its target, and the line of that target is named."""
    moves = list(program.moves)
    T = moves[2].target.T.copy()
    T[2, 3] += shift
    moves[2] = replace(moves[2], target=Pose(T))
    found = compare_versions(run_program(ur5, program), run_program(ur5, replace(program, moves=tuple(moves))))
    (change,) = found.changes
    assert change.kind == "changed" and any("apart" in words for words in change.what)
    assert found.path.value == pytest.approx(shift, rel=1e-3)
    assert found.path.of == "after" and found.path.move in (2, 3)


def test_the_command_tells_by_its_exit_code(tmp_path, capsys):
    old, new = tmp_path / "old.script", tmp_path / "new.script"
    text = """def a():
  movej([0, -1.4, 1.8, -2.0, -1.57, 0], a=1.4, v=1.0)
  movej([0.5, -1.4, 1.8, -2.0, -1.57, 0], a=1.4, v=1.0)
end
"""
    old.write_text(text, encoding="utf-8")
    new.write_text(text.replace("0.5,", "0.6,"), encoding="utf-8")
    assert main(["compare-programs", str(old), str(old), "--robot", "ur5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["same"]
    page = tmp_path / "page.html"
    assert main(["compare-programs", str(old), str(new), "--robot", "ur5", "--out", str(page)]) == 1
    out = capsys.readouterr().out
    assert "line 3 → 3" in out and "1 changed" in out
    assert "What changed" in page.read_text(encoding="utf-8")
    assert main(["compare-programs", str(old), str(new), "--robot", "ur5", "--out", "page.txt"]) == 2


def test_what_differs_is_said_with_units():
    told = [
        setting_words(ToolRate(0.2, np.radians(500.0))),
        setting_words(ToolRate(1.2), per="s²"),
        setting_words(Fraction(0.6)),
        setting_words(Duration(0.6)),
        setting_words(Distance(0.02)),
    ]
    assert told == ["0.2 m/s, 500 °/s", "1.2 m/s²", "60 %", "0.6 s", "20 mm"]
    go = Move("joint", Joints(START), Fraction(0.5), line=1)
    first, later, near = (Program((go, Move("wait", None, Duration(t), line=2))) for t in (0.2, 0.6, 0.2 + 1e-8))
    assert program_differences(first, later) == ["move 2: speed 0.2 s and 0.6 s"]
    assert "seconds=0.2" in program_differences(first, near)[0]  # what words do not tell is told in full


def test_a_version_of_which_no_move_is_known_is_named(tmp_path, capsys):
    moves, none = tmp_path / "moves.script", tmp_path / "none.script"
    there = "  movej([{}, -1.4, 1.8, -2.0, -1.57, 0])\n"
    moves.write_text("def a():\n" + there.format(0) + there.format(1) + "end\n", encoding="utf-8")
    none.write_text("def a():\n  movej(get_actual_joint_positions())\nend\n", encoding="utf-8")
    assert main(["compare-programs", str(moves), str(none), "--robot", "ur5"]) == 2
    assert "none.script: no move of it is known: 0 of 1 moves; nothing can be compared" in capsys.readouterr().err
