# SPDX-License-Identifier: Apache-2.0
"""Where the arm stands while RAPID or KRL is read: at its last target, and by the arm after a move to joints."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.cli import main
from armwright.errors import InputError
from armwright.kinematics import fk
from armwright.programs import run_program

NO = "[9E9,9E9,9E9,9E9,9E9,9E9]"
DEGREES = [10.0, -80.0, 95.0, 5.0, 40.0, -20.0]
HEAD = "FRAME f\n$VEL.CP=0.2\n$TOOL={X 0,Y 0,Z 100,A 0,B 0,C 0}\n$BASE={X 50,Y 0,Z 0,A 0,B 0,C 0}\n"
AXES = "PTP {A1 10,A2 -80,A3 95,A4 5,A5 40,A6 -20}\n"
RAPID = f"""MODULE m
VAR robtarget here;
CONST jointtarget j := [[10,-20,30,5,40,-20],{NO}];
PERS tooldata t := [TRUE,[[0,0,100],[1,0,0,0]],[1,[0,0,1],[1,0,0,0],0,0,0]];
PERS wobjdata w := [FALSE,TRUE,"",[[50,0,0],[1,0,0,0]],[[0,0,0],[1,0,0,0]]];
PROC main()
  %s
ENDPROC
ENDMODULE
"""
BACK = "here := CRobT(\\Tool:=t \\WObj:=w); here.trans.z := here.trans.z - 30; MoveL here, v100, fine, t \\WObj:=w;"


def krl(words: str) -> str:
    return f"DEF a()\n{HEAD}{words}\nEND\n"


@pytest.fixture(scope="module")
def kuka():
    return aw.load("kr6r900")


def place(robot, degrees: list[float]) -> np.ndarray:
    """Where a tool of 100 mm along z is, in the arm's base."""
    T = np.array(fk(robot, np.radians(degrees)))
    T[:3, 3] += 0.1 * T[:3, 2]
    return T


def led(program) -> np.ndarray:
    move = program.moves[-1]
    return move.T_base_frame @ move.target.T


@pytest.mark.parametrize(
    "words, z",
    [
        ("LIN {Z 500}", None),
        ("f=$POS_ACT\nf.Z=f.Z-30\nLIN f", -30.0),
        ("f=$POS_ACT_MES\nLIN f", 0.0),
        ("LIN_REL {Z -30}", -30.0),
        ("f=$POS_ACT\nf.Z=$POS_ACT.Z-30\nLIN f", -30.0),
    ],
)
def test_krl_knows_the_place_of_a_posture_by_the_arm(kuka, words, z):
    program = aw.read_program(krl(AXES + words), "krl", robot=kuka)
    assert program.reading.whole
    expected = place(kuka, DEGREES)
    expected[2, 3] = 0.5 if z is None else expected[2, 3] + z / 1e3
    np.testing.assert_allclose(led(program), expected, atol=1e-9)
    assert len(aw.read_program(krl(AXES + words), "krl").reading.gaps) == 1  # nobody knows it without the arm


def test_krl_asks_for_the_measured_axes():
    words = "E6AXIS q\nq=$AXIS_ACT_MEAS\nq.A1=q.A1+15\nPTP q"
    program = aw.read_program(krl(AXES + words), "krl")
    np.testing.assert_allclose(np.degrees(program.moves[-1].target.q), [25.0, *DEGREES[1:]], atol=1e-12)
    assert any("planned and not measured" in note.message for note in program.reading.assumed)


def test_rapid_knows_the_place_of_a_posture_by_the_arm():
    robot = aw.load("irb120")
    text = RAPID % ("MoveAbsJ j, v100, fine, tool0;\n" + BACK)
    program = aw.read_program(text, "rapid", robot=robot)
    expected = place(robot, [10.0, -20.0, 30.0, 5.0, 40.0, -20.0])
    expected[2, 3] -= 0.03
    np.testing.assert_allclose(led(program), expected, atol=1e-9)
    assert len(aw.read_program(text, "rapid").reading.gaps) == 1


@pytest.mark.parametrize("language, text", [("krl", krl("LIN_REL {Z -30}")), ("rapid", RAPID % BACK)])
def test_a_start_tells_where_the_arm_stands_at_first(language, text):
    robot = aw.load("kr6r900" if language == "krl" else "irb120")
    degrees = DEGREES if language == "krl" else [0.0, 10.0, 20.0, 0.0, 30.0, 0.0]
    program = aw.read_program(text, language, robot=robot, start_q=np.radians(degrees))
    expected = place(robot, degrees)
    expected[2, 3] -= 0.03
    np.testing.assert_allclose(led(program), expected, atol=1e-9)
    with pytest.raises(InputError, match="start_q"):
        aw.read_program(text, language, robot=robot, start_q=[0.0])


def test_the_command_and_run_program_know_their_arm(tmp_path, capsys):
    path = tmp_path / "down.src"
    path.write_text(krl(AXES + "LIN_REL {Z -30}"), encoding="utf-8")
    assert run_program(aw.load("kr6r900"), path, floor=None).program.reading.whole
    assert main(["run", "program", str(path), "--robot", "kr6r900-2", "--floor", "none", "--json"]) in (0, 3)
    assert '"gaps": []' in capsys.readouterr().out


@pytest.mark.parametrize("degrees", [DEGREES, [60.0, -100.0, 120.0, 150.0, -35.0, 40.0]])
def test_forward_and_inverse_by_the_arm_that_is_named(kuka, degrees):
    """Back to the axes from which the place was made, by its status; in $BASE and with $TOOL."""
    axes = ",".join(f"A{i} {angle:g}" for i, angle in enumerate(degrees, 1))
    words = f"E6AXIS a,back\nE6POS p\nINT err\na={{{axes}}}\np=FORWARD(a,err)\nLIN p\nback=INVERSE(p,a,err)\n"
    words += "back.A1=back.A1+err\nPTP back\n"
    text = krl(words).replace("FRAME f\n", "")
    text = text.replace("E6AXIS a,back\nE6POS p\nINT err\n", "").replace(
        "DEF a()\n", "DEF a()\nE6AXIS a,back\nE6POS p\nINT err\n"
    )
    program = aw.read_program(text, "krl", robot=kuka)
    line, joint = program.moves
    np.testing.assert_allclose(line.T_base_frame @ line.target.T, place(kuka, degrees), atol=1e-9)
    np.testing.assert_allclose(np.degrees(joint.target.q), degrees, atol=1e-6)
    unarmed = aw.read_program(text, "krl").reading
    assert unarmed.known == 0 and all("--robot" in gap.reason for gap in unarmed.gaps)
    far = text.replace("back=INVERSE", "p.X=9000\nback=INVERSE").replace(
        "PTP back", "IF err<>0 THEN\nLIN {Z 500}\nENDIF"
    )
    assert len(aw.read_program(far, "krl", robot=kuka).moves) == 2  # the error that INVERSE tells is not 0


@pytest.mark.parametrize("name", ["irb140", "irb1200"])
def test_calc_rob_t_and_calc_joint_t_by_the_arm_that_is_named(name):
    robot = aw.load(name)
    words = "here := CalcRobT(j, t \\WObj:=w); MoveL here, v100, fine, t \\WObj:=w; "
    words += "MoveAbsJ CalcJointT(here, t \\WObj:=w), v100, fine, t;"
    program = aw.read_program(RAPID % words, "rapid", robot=robot)
    line, joint = program.moves
    degrees = [10, -20, 30, 5, 40, -20]
    np.testing.assert_allclose(line.T_base_frame @ line.target.T, place(robot, degrees), atol=1e-9)
    np.testing.assert_allclose(np.degrees(joint.target.q), degrees, atol=1e-6)
    reading = aw.read_program(RAPID % words, "rapid").reading
    assert reading.known == 0 and all("--robot" in gap.reason for gap in reading.gaps)
    far = RAPID % words.replace("MoveAbsJ", "here.trans.x := 9000; MoveAbsJ")
    assert "reaches the target" in aw.read_program(far, "rapid", robot=robot).reading.gaps[0].reason
