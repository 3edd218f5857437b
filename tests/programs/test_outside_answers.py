# SPDX-License-Identifier: Apache-2.0
"""What RAPID and KRL programs get from outside or from routines that no file has is not what it was before."""

from __future__ import annotations

import pytest
from test_krl_answers import src
from test_rapid_answers import module, x

import armwright as aw
from armwright.programs import Distance, Stop

Q = "VAR robtarget q:=[[500,0,400],[1,0,0,0],[0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]];"
GO = "MoveL q, v100, fine, tool0;"


@pytest.mark.parametrize(
    "words, data",
    [
        ("SocketReceive d \\Str:=s; ok := StrToVal(s, n); " + x("n"), "VAR num n:=7; VAR string s; VAR socketdev d;"),
        ("ok := Measure(n); " + x("n"), "VAR num n:=7;"),
        (f'GetDataVal "p2", q; {GO}', Q),
        (f"CamGetResult camera, seen; q.trans.x := seen.cframe.trans.x; {GO}", Q + "VAR cameratarget seen;"),
        ("RMQGetMsgData message, n; " + x("n"), "VAR num n:=7; VAR rmqmessage message;"),
        ("BitSet n, 1; " + x("n"), "VAR num n:=8;"),
    ],
)
def test_rapid_forgets_what_is_received(words, data):
    read = aw.read_program(module(words, "VAR bool ok; " + data), "rapid").reading
    assert len(read.gaps) == 1 and not read.whole


@pytest.mark.parametrize(
    "words",
    [
        'ret=EKI_GetReal("c","v",z)\nLIN {Z z}',
        'EKI_GetReal("c","v",z)\nLIN {Z z}',
        'ret=EKI_GetFrame("c","v",f)\nLIN f',
        "ret=measure(z)\nLIN {Z z}",
        'ret=EKI_GetFrame("c","v",f)\nf.Z=500\nLIN f',
        "f=$POS_ACT_MES\nEKI_GetFrame(1,2,f)\nf.X=f.X+1\nLIN f",
        "ok=EXISTS_KRLDLG(1,z)\nLIN {Z z}",
        "ret=RSI_ON(#RELATIVE)\nLIN {Z 1}",
        "ret=ST_ON(1,2)\nLIN {Z 1}",
    ],
)
def test_krl_forgets_what_is_received(words):
    before = "INT ret\nBOOL ok\nREAL z\nFRAME f\nz=5.0\nf={X 1,Y 2,Z 3,A 0,B 0,C 0}\n"
    read = aw.read_program(src(before + words), "krl").reading
    assert len(read.gaps) >= 1 and not read.whole


@pytest.mark.parametrize(
    "language, text", [("rapid", module("ok := PickUp(1);", "VAR bool ok;")), ("krl", src("i=pickup(1)"))]
)
def test_a_function_that_no_file_has_may_move_the_arm(language, text):
    read = aw.read_program(text, language).reading
    assert not read.whole and "may move the arm" in read.unread[0].message


def test_what_is_said_of_a_part_does_not_hide_that_the_others_are_unknown():
    """The reason is where the whole came from; parts that are all set count, and so do those of a new variable."""
    text = module("q := CRobT(); q.trans.z := 450; MoveL q, v100, fine, tool0;", "VAR robtarget q;")
    assert "CRobT: where the arm stands" in aw.read_program(text, "rapid").reading.gaps[0].reason
    every = "\n".join(f"f.{part}={value}" for part, value in zip("XYZABC", (510, 0, 400, 0, 0, 0), strict=True))
    for words in (f'EKI_GetFrame("c","v",f)\n{every}\nLIN f', "f.X=510\nLIN f"):
        program = aw.read_program(src("FRAME f\n" + words), "krl")
        assert program.reading.whole and program.moves[-1].target.T[0, 3] == 0.51


def test_grippers_and_guns_move_no_axis_and_end_the_rounding():
    begin = "USERSPOT(#INIT)\nUSER_GRP(0,DUMMY,DUMMY,GDEFAULT)\n$APO.CDIS=20\n"
    for words, blend in (
        ("H50(GRP,1,1,GDEFAULT)", Stop()),
        ("GRPg_SetStateAndCheck(1,2,0.2,1)", Stop()),
        ("CONTINUE\nH50(GRP,1,1,GDEFAULT)", Distance(0.02)),
        ("H50(GRP_APO,1,1,GDEFAULT)", Distance(0.02)),
    ):
        program = aw.read_program(src(f"{begin}LIN {{X 1}} C_DIS\n{words}\nLIN {{X 2}}"), "krl")
        assert program.reading.whole and program.moves[1].blend == blend
        assert any("a gripper" in note.message for note in program.notes)


def test_tables_that_no_file_has_are_the_null_frame_if_the_user_says_so():
    text = src("$BASE=BASE_DATA[2]\n$TOOL=TOOL_DATA[3]\nLIN {X 10,Y 0,Z 400,A 0,B 0,C 0}")
    assert len(aw.read_program(text, "krl").reading.gaps) == 1
    program = aw.read_program(text, "krl", assume_frames=True)
    assert program.reading.whole
    assert any("BASE_DATA[2] is not known" in note.message for note in program.reading.assumed)
    defined = aw.read_program(text, "krl", define={"BASE_DATA[2]": "{X 5}", "TOOL_DATA[3]": "{Z 100}"})
    assert defined.moves[-1].T_base_frame[0, 3] == 0.005 and defined.moves[-1].T_flange_tool[2, 3] == 0.1


def test_the_only_routine_that_moves_is_run():
    others = "PROC grip()\nSet do1;\nENDPROC\nPROC release()\nReset do1;\nENDPROC\nPROC go()\n"
    text = module(x("3")).replace("PROC main()", others)
    program = aw.read_program(text, "rapid")
    assert program.reading.entry == "go" and len(program.moves) == 1
    assert any("--entry" in note.message for note in program.reading.assumed)
    with pytest.raises(aw.ProgramError, match="which procedure"):
        aw.read_program(text.replace("Reset do1;", x("1")), "rapid")


def test_what_an_interrupt_sets_is_known_in_no_move_and_guessed_in_tests():
    """A trap comes at any time: a move never takes the variable's value, a test takes what the program put there."""
    connect = "CONNECT i WITH t; ISignalDI di1,1,i; "
    data = (
        "VAR intnum i; VAR num n:=5; VAR bool seen; TRAP t\nn:=n+1; done;\nENDTRAP\nPROC done()\nseen:=TRUE;\nENDPROC\n"
    )
    data = data.replace("; VAR", ";\nVAR").replace("; TRAP", ";\nTRAP")
    gap = aw.read_program(module(connect + x("n"), data), "rapid").reading
    assert "may be changed by the interrupt t" in gap.gaps[0].reason
    for words, said, moves in (
        (x("n"), {"n": 8}, 1),
        (f"IF seen {x('1')}", {}, 0),
        (f"IF seen {x('1')}", {"seen": True}, 1),
        (f"WaitUntil seen; IF seen {x('1')}", {}, 1),
        (f"WaitUntil seen=TRUE; IF seen {x('1')}", {}, 1),
    ):
        program = aw.read_program(module(connect + words, data), "rapid", inputs=said)
        assert program.reading.whole and len(program.moves) == moves
        assert said or any("seen" in note.message for note in program.notes)
    assert aw.read_program(module(x("n"), data), "rapid").reading.whole  # nobody connects the trap
