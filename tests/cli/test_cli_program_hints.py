# SPDX-License-Identifier: Apache-2.0
"""What ``armwright run program`` says first of a program that is not wholly known: which option would make it so."""

from __future__ import annotations

import json
import re
import shlex

import numpy as np
import pytest

import armwright as aw
from armwright.cli import main
from armwright.programs import home_posture

KRL = """DEF p()
$VEL.CP=0.2
BAS(#VEL_PTP,50)
PTP {A1 0,A2 -90,A3 90,A4 0,A5 30,A6 0}
BAS(#TOOL,3)
BAS(#BASE,2)
LIN_REL {X -10}
LIN_REL {Z -20}
END
"""
RAPID = """MODULE m
VAR robtarget here;
PROC main()
here := CRobT(\\Tool:=tool0 \\WObj:=wobj0);
MoveL Offs(here,0,0,20), v100, fine, tool0;
MoveL Offs(here,0,20,20), v100, fine, gripper;
ENDPROC
ENDMODULE
"""
URSCRIPT = "def p():\n  movel(pose_add(get_actual_tcp_pose(), p[0, 0, 0.05, 0, 0, 0]))\nend\n"
GCODE = "G21 G90\nG0 X450 Y0 Z300\nG1 X460\nG1 X470\n"
DOWN = {".nc": ("--tool-axis", "0,0,-1")}
ONE = "DEF p()\nPTP {A1 0,A2 -90,A3 90,A4 0,A5 30,A6 0}\nEND\n"


@pytest.fixture
def run(capsys, tmp_path):
    def go(text, suffix, robot, *argv):
        file = tmp_path / f"program{suffix}"
        file.write_text(text, encoding="utf-8")
        code = main(["run", "program", str(file), "--robot", robot, "--floor", "none", *DOWN.get(suffix, ()), *argv])
        out, err = capsys.readouterr()
        return code, " ".join(out.split()), " ".join(err.split())

    return go


@pytest.mark.parametrize(
    "text, suffix, robot, options, file",
    [
        (KRL, ".src", "kr6r900", "--assume-frames", "$config.dat (--config)"),
        (RAPID, ".mod", "irb140", "--assume-frames --start home", "--more FILE"),
        (URSCRIPT, ".script", "ur5", "--start home", ""),
        (GCODE, ".nc", "kr6r900", "--define F=600", ""),
    ],
)
def test_the_first_line_says_which_options_make_how_many_moves_known_and_they_do(
    run, text, suffix, robot, options, file
):
    """The advice is followed word by word: then as many moves are known as it said, and the next line is a verdict."""
    code, out, _ = run(text, suffix, robot)
    told = re.match(r"(\d+) of (\d+) moves are known; (\d+) would be with (.*?) \(", out)
    assert told, out
    before, reached, after = (int(told[k]) for k in (1, 2, 3))
    assert told[4] == options and before < after == reached and file in out and code in (2, 3)
    code, out, _ = run(text, suffix, robot, *shlex.split(options), "--json")
    read = json.loads(out)["read"]
    assert code in (0, 1) and read["moves"] == reached and read["gaps"] == [] and read["hint"] == []


def test_what_no_option_makes_known_is_told_with_its_line(run):
    text = ONE.replace("END", "LIN somewhere\nEND")
    _, out, _ = run(text, ".src", "kr6r900")
    assert re.match(r"1 of 2 moves are known; the first that is not is in line 3: .*somewhere", out)


def test_a_program_that_reaches_no_move_tells_which_test_leads_to_some(run):
    text = "DEF PROG()\nIF $IN[3] THEN\nPTP {A1 10,A2 -90,A3 90,A4 0,A5 10,A6 0}\nPTP {A1 20}\nENDIF\nEND\n"
    code, out, _ = run(text, ".src", "kr6r900")
    assert code == 0 and out.startswith("no move is reached: 1 test") and "2 moves would be with line 2: true" in out
    code, out, _ = run(text, ".src", "kr6r900", "--input", "$IN[3]=1", "--json")
    assert code in (0, 1, 3) and json.loads(out)["read"]["moves"] == 2


def test_one_move_without_a_start_is_advised_to_start_at_home(run):
    code, _, err = run(ONE, ".src", "kr6r900")
    assert code == 2 and "--start home" in err
    code, out, _ = run(ONE, ".src", "kr6r900", "--start", "home", "--json")
    found = json.loads(out)
    assert code in (0, 1, 3) and found["read"]["gaps"] == []
    (said,) = [note["message"] for note in found["read"]["assumed"] if "--start home" in note["message"]]
    angles = np.fromstring(re.search(r"joints \((.*)\)°", said)[1], sep=",")
    np.testing.assert_allclose(angles, np.degrees(home_posture(aw.load("kr6r900"))), atol=0.006)


def test_most_moves_is_an_option_and_its_refusal_names_it(run):
    text = GCODE.replace("G1 X460", "G1 X460 F600")
    code, _, err = run(text, ".nc", "kr6r900", "--most-moves", "2")
    assert code == 2 and "more than 2 moves" in err and "--most-moves" in err
    assert run(text, ".nc", "kr6r900", "--most-moves", "3")[0] in (0, 1, 3)
    for bad in ("0", "-1"):
        code, _, err = run(text, ".nc", "kr6r900", "--most-moves", bad)
        assert code == 2 and "most_moves: expected a whole number" in err
