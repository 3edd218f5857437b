# SPDX-License-Identifier: Apache-2.0
"""What programs of a larger project leave open: files elsewhere on the controller, frames of other files, doubts."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.kinematics import fk

HOME = [0.0, -90.0, 90.0, 0.0, 45.0, 0.0]
PUBLIC = "DEFDAT {0} PUBLIC\nDECL GLOBAL E6AXIS {1}={{A1 {2},A2 -90,A3 90,A4 0,A5 0,A6 0}}\nENDDAT\n"


@pytest.fixture
def controller(tmp_path):
    """Return the folder of a controller with a program whose points, routine and tools lie in three other folders."""
    texts = {
        "Program/jobs/a.src": "DEF a()\nBAS(#INITMOV,0)\nBAS(#TOOL,2)\nPTP XFAR\nsub()\nEND\n",
        "Program/points/points.dat": PUBLIC.format("POINTS", "XFAR", 7),
        "Program/parts/sub.src": "DEF sub()\nPTP XOWN\nEND\n",
        "Program/parts/sub.dat": "DEFDAT SUB\nDECL E6AXIS XOWN={A1 9,A2 -90,A3 90,A4 0,A5 0,A6 0}\nENDDAT\n",
        "System/$config.dat": "DEFDAT $CONFIG PUBLIC\nDECL FRAME TOOL_DATA[2]\nTOOL_DATA[1]={X 0,Y 0,Z 0,A 0,B 0,C 0}\n"
        "TOOL_DATA[2]={X 0,Y 0,Z 100,A 0,B 0,C 0}\nREAL DEF_VEL_CP=0.5\nENDDAT\n",
    }
    for name, text in texts.items():
        path = tmp_path / "R1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "R1"


def test_files_elsewhere_on_the_same_controller_are_found(controller):
    program = aw.read_program(controller / "Program/jobs/a.src")
    assert program.reading.whole and [round(float(np.degrees(m.target.q[0]))) for m in program.moves] == [7, 9]
    assert program.moves[0].T_flange_tool[2, 3] == 0.1
    used = [name.rsplit("/", 1)[-1] for name in program.reading.files]
    assert sorted(used) == ["$config.dat", "a.src", "points.dat", "sub.dat", "sub.src"]


def test_a_name_in_two_files_of_a_controller_is_refused_and_one_beside_goes_before(controller):
    other = controller / "Program/other/more.dat"
    other.parent.mkdir()
    other.write_text(PUBLIC.format("MORE", "XFAR", 3), encoding="utf-8")
    with pytest.raises(aw.ProgramError, match=r"several files: more\.dat, points\.dat"):
        aw.read_program(controller / "Program/jobs/a.src")
    (controller / "Program/jobs/near.dat").write_text(PUBLIC.format("NEAR", "XFAR", 5), encoding="utf-8")
    program = aw.read_program(controller / "Program/jobs/a.src")
    assert round(float(np.degrees(program.moves[0].target.q[0]))) == 5


def test_a_folder_that_is_no_controllers_is_not_searched(controller):
    plain = controller.rename(controller.with_name("robot"))
    assert len(aw.read_program(plain / "Program/jobs/a.src").reading.gaps) == 1
    named = controller.with_name("r1")
    (named / "x").mkdir(parents=True)
    (named / "x/a.src").write_text("DEF a()\nPTP XFAR\nEND\n", encoding="utf-8")
    (named / "y.dat").write_text(PUBLIC.format("Y", "XFAR", 7), encoding="utf-8")
    assert len(aw.read_program(named / "x/a.src").reading.gaps) == 1  # neither programs nor system in it


def test_the_data_of_a_move_that_no_file_has_are_tool_and_base_0_if_the_user_says_so():
    words = "PDAT_ACT=PDEFAULT\nFDAT_ACT=FHOME\nBAS(#PTP_PARAMS,100)\nPTP {X 500,Y 0,Z 600,A 0,B 90,C 0}\n"
    text = f"DEF a()\n{words}END\n"
    assert "FDAT_ACT" in aw.read_program(text, "krl").reading.gaps[0].reason
    program = aw.read_program(text, "krl", assume_frames=True)
    assert program.reading.whole and np.array_equal(program.moves[0].T_base_frame, np.eye(4))
    assert any("tool 0 and base 0 are taken" in note.message for note in program.reading.assumed)


def test_where_the_arm_stands_is_told_with_the_flange_for_a_tool_of_another_file(irb):
    words = "here := CRobT(\\Tool:=pen \\WObj:=board);\nMoveL Offs(here,0,0,50),v100,fine,pen\\WObj:=board;\n"
    text = f"MODULE m\nVAR robtarget here;\nPROC main()\n{words}ENDPROC\nENDMODULE\n"
    q = np.radians([0.0, 10.0, 20.0, 0.0, 50.0, 0.0])
    assert len(aw.read_program(text, "rapid", robot=irb, start_q=q).reading.gaps) == 1
    program = aw.read_program(text, "rapid", robot=irb, start_q=q, assume_frames=True)
    wanted = fk(irb, q)[:3, 3] + [0, 0, 0.05]
    assert program.reading.whole and np.allclose(program.moves[0].target.T[:3, 3], wanted)
    said = [note.message for note in program.reading.assumed]
    assert any("tool0 is taken" in text for text in said) and any("wobj0 is taken" in text for text in said)


@pytest.fixture(scope="module")
def irb():
    return aw.load("irb120")


def test_a_routine_may_read_and_set_one_item_of_its_callers_array():
    words = "REAL b[2]\nb[1]=3\ntwice(b[1])\nPTP {A1 0,A2 -90,A3 90,A4 0,A5 0,A6 0}\nPTP {A1 b[1]}\n"
    text = f"DEF a()\n{words}END\nDEF twice(r:OUT)\nREAL r\nr=r*2\nEND\n"
    assert round(float(np.degrees(aw.read_program(text, "krl").moves[1].target.q[0])), 9) == 6
    body = "half a{2};\nMoveAbsJ [[a{2},0,0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]],v100,fine,tool0;"
    text = "MODULE m\nVAR num a{2}:=[1,8];\nPROC main()\n" + body + "\nENDPROC\n"
    text += "PROC half(INOUT num n)\nn:=n/2;\nENDPROC\nENDMODULE\n"
    assert round(float(np.degrees(aw.read_program(text, "rapid").moves[0].target.q[0])), 9) == 4


def test_a_loop_whose_test_asks_a_routine_that_is_in_doubt_makes_one_pass():
    text = "def p():\n  def ready():\n    if get_digital_in(1):\n      return True\n    end\n    return False\n  end\n"
    text += "  i = 0\n  while not ready():\n    i = i + 1\n    movej([0.1 * i, 0, 0, 0, 0, 0])\n  end\nend\n"
    program = aw.read_program(text, "urscript")
    assert len(program.moves) == 1
    assert any("this loop depends on what its test asks" in note.message for note in program.reading.assumed)
    assert len(aw.read_program(text, "urscript", inputs={"get_digital_in_1": [False, False, True]}).moves) == 2


def test_a_choice_that_only_an_assumption_makes_impossible_is_left_out():
    data = "VAR num a{3}:=[1,2,3];\nVAR num n:=0;\n"
    body = "TEST di1\nCASE 1:\nn:=2;\nENDTEST\nTEST a{n}\nCASE 2:\nStop;\nENDTEST\n"
    move = "MoveAbsJ [[1,0,0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]],v100,fine,tool0;\n"
    text = f"MODULE m\n{data}PROC main()\n{body}{move}ENDPROC\nENDMODULE\n"
    program = aw.read_program(text, "rapid")
    assert len(program.moves) == 1 and "no item 0 in a" in program.reading.set_aside[0].message
    assert aw.read_program(text, "rapid", inputs={"di1": 1}).reading.whole
    with pytest.raises(aw.ProgramError, match="no item 0 in a"):
        aw.read_program(text.replace("TEST di1\nCASE 1:\nn:=2;\nENDTEST\n", ""), "rapid")


def test_a_grippers_functions_move_no_axis_and_a_search_may():
    words = "  movej([0,-1,1,0,1,0],r=0.01)\n  rq_close_and_wait()\n  if rq_is_object_detected():\n    {}\n  end\n"
    text = "def p():\n" + words.format("movej([1, -1, 1, 0, 1, 0])") + "end\n"
    program = aw.read_program(text, "urscript", inputs={"rq_is_object_detected": True})
    assert program.reading.whole and len(program.moves) == 2 and type(program.moves[0].blend).__name__ == "Stop"
    unread = aw.read_program(text.replace("rq_close_and_wait", "rq_linear_search"), "urscript").reading.unread
    assert "rq_linear_search" in unread[0].message


def test_moves_in_force_mode_are_taken_as_written_only_if_the_user_says_so():
    force = "force_mode(p[0,0,0,0,0,0], [0,0,1,0,0,0], [0,0,-6,0,0,0], 2, [0.1,0.1,0.1,1,1,1])"
    text = f"def p():\n  movej([0,-1,1,0,1,0])\n  {force}\n  movej([1,-1,1,0,1,0])\n  end_force_mode()\nend\n"
    gaps = aw.read_program(text, "urscript").reading.gaps
    assert len(gaps) == 2 and "--define force_mode=0" in gaps[0].reason
    told = aw.read_program(text, "urscript", define={"force_mode": "0"})
    assert told.reading.whole and len(told.moves) == 2
    assert any("contact" in note.message for note in told.reading.assumed)


@pytest.mark.parametrize(
    ("words", "degrees"), [("10-4-3", 3), ("2*7 DIV 4", 3), ("-14 MOD 4", -2), ("7 DIV (0.1*30)", 2)]
)
def test_brackets_of_numbers_may_hold_what_is_to_be_worked_out(words, degrees):
    target = f"[[{words},0,0,0,0,0],[9E9,9E+09,9E9,9E9,9E9,9E9]]"
    text = f"MODULE m\nPROC main()\nMoveAbsJ {target},v100,fine,tool0;\nENDPROC\nENDMODULE\n"
    q = aw.read_program(text, "rapid").moves[0].target.q
    assert round(float(np.degrees(q[0])), 9) == degrees


def test_div_and_mod_take_whole_numbers():
    text = "MODULE m\nPROC main()\nWaitTime 14.5 DIV 4;\nENDPROC\nENDMODULE\n"
    with pytest.raises(aw.ProgramError, match=r"DIV of 14\.5 and 4: not whole"):
        aw.read_program(text, "rapid")


MENU = """def prog():
  state = -1
  while (True):
    if state == 0:
      movej([0, -1.4, 1.8, -2, -1.57, 0])
    elif state == 1:
      movej([1, -1.4, 1.8, -2, -1.57, 0])
      movej([2, -1.4, 1.8, -2, -1.57, 0])
    else:
      state = request_integer_from_primary_client("what?")
    end
  end
end
"""


def test_a_menu_that_waits_for_its_answer_makes_another_pass():
    """Its first pass only asks; what it leads to is told by the undecided tests of the next one."""
    program = aw.read_program(MENU, "urscript", choose={})
    tests = {one.key[1]: one for one in program.reading.undecided}
    assert set(tests) >= {4}
    known = [aw.read_program(MENU, "urscript", choose={one.key: 1}).reading.known for one in tests.values()]
    assert max(known) >= 1
    stands = MENU.replace("    if state", "    textmsg(state)\n    if state").replace(
        'request_integer_from_primary_client("what?")', "-1"
    )
    assert aw.read_program(stands, "urscript").reading.reached == 0  # the same again: no more than its passes


ERRORS = """def prog():
  ok = rpc.connect()
  if not ok:
    popup("no partner", error=True)
    halt
  end
  movej([0, -1.4, 1.8, -2, -1.57, 0])
  if read_input_boolean_register(3):
    movej([1, -1.4, 1.8, -2, -1.57, 0])
    halt
  end
  movej([2, -1.4, 1.8, -2, -1.57, 0])
end
"""


def test_an_answer_that_is_not_known_does_not_end_a_program():
    """What it does about an error is not taken for its work; a branch that moves and then ends is as before."""
    text = 'rpc = rpc_factory("xmlrpc", "http://127.0.0.1:1")\n'
    program = aw.read_program(ERRORS.replace("def prog():\n", f"def prog():\n  {text}"), "urscript")
    assert [move.target.q[0] for move in program.moves] == [0, 2]
    note = next(note for note in program.reading.assumed if "would end otherwise" in note.message)
    assert note.line == 4 and "--input" in note.message
    (first, second) = program.reading.undecided
    turned = ERRORS.replace("def prog():\n", f"def prog():\n  {text}")
    assert aw.read_program(turned, "urscript", choose={first.key: 1 - first.taken}).reading.reached == 0
    assert [m.target.q[0] for m in aw.read_program(turned, "urscript", choose={second.key: 1}).moves] == [0, 1]
