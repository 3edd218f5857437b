# SPDX-License-Identifier: Apache-2.0
"""RAPID programs whose moves are known beforehand: each rule of the language once, and each trap."""

from __future__ import annotations

import math
import zipfile

import numpy as np
import pytest

import armwright as aw
from armwright.programs import Distance, Duration, Fraction, Stop, ToolRate

NO = "[9E9,9E9,9E9,9E9,9E9,9E9]"
P = f"CONST robtarget p := [[500,0,400],[1,0,0,0],[0,0,0,0],{NO}];"
J = f"CONST jointtarget j := [[0,10,20,0,30,0],{NO}];"
GO = "MoveL Offs(p, {}, 0, 0), v100, fine, tool0;"


def module(body: str, data: str = "") -> str:
    return f"MODULE m\n{P}\n{J}\n{data}\nPROC main()\n{body}\nENDPROC\nENDMODULE\n"


def shifts(program) -> list[float]:
    """How far every move lies from `p` along x [mm]."""
    return [round(1e3 * float((m.T_base_frame @ m.target.T)[0, 3]) - 500.0, 6) for m in program.moves]


def x(value: str) -> str:
    return GO.format(value)


# name, statements, further declarations, shifts of the moves along x
ANSWERS = [
    ("num is one type", x("7/2"), "", [3.5]),
    ("div and mod", x("7 DIV 2") + x("-7 DIV 2") + x("7 MOD 4"), "", [3, -3, 3]),
    ("precedence", x("1+2*3-4/2"), "", [5]),
    ("unary minus", x("-(2)*3") + x("5--2"), "", [-6, 7]),
    ("not binds weaker than and", f"IF NOT TRUE AND FALSE THEN {x('1')} ENDIF", "", [1]),
    ("degrees", x("10*Sin(90)+Cos(180)+ATan2(1,1)"), "", [54]),
    ("compact if", f"IF 1=1 {x('1')} IF 1=2 {x('2')} {x('3')}", "", [1, 3]),
    ("elseif", f"IF n=1 THEN {x('1')} ELSEIF n=2 THEN {x('2')} ELSE {x('3')} ENDIF", "VAR num n:=2;", [2]),
    ("for up", f"FOR i FROM 1 TO 3 DO {x('i')} ENDFOR", "", [1, 2, 3]),
    ("for down without step", f"FOR i FROM 3 TO 1 DO {x('i')} ENDFOR", "", [3, 2, 1]),
    ("for step", f"FOR i FROM 0 TO 10 STEP 5 DO {x('i')} ENDFOR", "", [0, 5, 10]),
    ("the counter is the loop's own", f"FOR n FROM 1 TO 2 DO {x('n')} ENDFOR {x('n')}", "VAR num n:=9;", [1, 2, 9]),
    ("while", f"WHILE n<3 DO Incr n; {x('n')} ENDWHILE", "VAR num n:=0;", [1, 2, 3]),
    ("while true is one pass", f"WHILE TRUE DO {x('1')} {x('2')} ENDWHILE", "", [1, 2]),
    ("a flag that stays true is one pass", f"WHILE go DO {x('1')} ENDWHILE", "PERS bool go:=TRUE;", [1]),
    ("a loop leaves itself", f"WHILE TRUE DO Incr n; {x('n')} IF n=3 RETURN; ENDWHILE", "VAR num n:=0;", [1, 2, 3]),
    ("test", f"TEST n CASE 1,2: {x('1')} CASE 3: {x('3')} DEFAULT: {x('9')} ENDTEST", "VAR num n:=2;", [1]),
    ("goto forward", f"GOTO on; {x('1')} on: {x('2')}", "", [2]),
    ("goto back is one pass", f"again: {x('1')} GOTO again;", "", [1]),
    ("goto back by a count", f"again: Incr n; {x('n')} IF n<3 GOTO again;", "VAR num n:=0;", [1, 2, 3]),
    (
        "arrays count from 1",
        x("a{1}") + x("a{3}") + x("b{2,1}"),
        "CONST num a{3}:=[4,5,6]; CONST num b{2,2}:=[[1,2],[3,4]];",
        [4, 6, 3],
    ),
    ("arrays of records", "q{2}:=p; q{2}.trans.x:=507; MoveL q{2}, v100, fine, tool0;", "VAR robtarget q{2};", [7]),
    (
        "assignments copy",
        "q:=p; q.trans.x:=510; " + x("0") + " MoveL q, v100, fine, tool0;",
        "VAR robtarget q;",
        [0, 10],
    ),
    ("data without a value", x("n") + f"IF NOT b {x('1')}", "VAR num n; VAR bool b;", [0, 1]),
    ("positions add", "q:=p; q.trans:=q.trans+[2,4,6]; MoveL q, v100, fine, tool0;", "VAR robtarget q;", [2]),
    ("exit ends the program", f"{x('1')} EXIT; {x('2')}", "", [1]),
    ("stop goes on", f"{x('1')} Stop; {x('2')}", "", [1, 2]),
    ("outputs are remembered", f"SetDO do1, 1; IF do1=1 {x('1')} IF DOutput(do1)=0 {x('2')}", "", [1]),
    (
        "what is waited for holds",
        f"WaitDI di7, 1; IF di7=1 {x('1')} WaitUntil di8=1 AND di9=0; IF di8=1 {x('2')}",
        "",
        [1, 2],
    ),
    (
        "inputs are off",
        f"IF di1=1 THEN {x('1')} ELSE {x('2')} ENDIF IF di1=0 {x('3')} IF TestDI(di2) {x('4')}",
        "",
        [2, 3],
    ),
    ("unknown loop is one pass", f"WHILE di1=0 DO {x('1')} ENDWHILE", "", [1]),
    ("unknown count is one pass", f"FOR i FROM 1 TO howmany DO {x('i')} ENDFOR", "", [1]),
    ("base 16", x("0x10"), "", [16]),
    ("displacement", "PDispSet [[10,0,0],[1,0,0,0]]; " + x("1") + "PDispOff; " + x("1"), "", [11, 1]),
    ("late call", '%"sub"+"1"%; CallByVar "sub",1;', f"PROC sub1() {x('8')} ENDPROC", [8, 8]),
    ("a text becomes a number", f'IF StrToVal("12.5", n) THEN {x("n")} ENDIF', "VAR num n;", [12.5]),
    ("an empty text is no number", f'IF StrToVal("", n) THEN {x("n")} ELSE {x("1")} ENDIF', "VAR num n:=9;", [1]),
    ("it waits for the arm", x("1") + "WaitRob \\InPos; " + x("2"), "", [1, 2]),
    ("last target", x("5") + "q:=CRobT(); MoveL Offs(q,1,0,0), v100, fine, tool0;", "VAR robtarget q;", [5, 6]),
    (
        "search ends at its target",
        "SearchL di1, q, Offs(p,9,0,0), v100, tool0; MoveL q, v100, fine, tool0;",
        "VAR robtarget q;",
        [9, 9],
    ),
    ("handlers do not run", f"{x('1')} ERROR {x('2')} TRYNEXT;", "", [1]),
    ("trap does not run", x("1"), f"TRAP t {x('2')} ENDTRAP", [1]),
]
ROUTINES = [
    ("function", x("twice(4)"), "FUNC num twice(num a) RETURN 2*a; ENDFUNC", [8]),
    ("by value", f"sub n; {x('n')}", f"VAR num n:=1; PROC sub(num a) a:=5; {x('a')} ENDPROC", [5, 1]),
    ("by reference", f"sub n; {x('n')}", "VAR num n:=1; PROC sub(INOUT num a) a:=5; ENDPROC", [5]),
    (
        "part by reference",
        "sub q.trans.x; MoveL q,v5,fine,tool0;",
        "VAR robtarget q:=p; PROC sub(INOUT num a) a:=506; ENDPROC",
        [6],
    ),
    (
        "optional",
        "sub; sub\\n:=4; sub\\n:=2\\on;",
        f"PROC sub(\\num n \\switch on) IF Present(n) {x('n')} IF Present(on) {x('1')} ENDPROC",
        [4, 2, 1],
    ),
    (
        "routine variables begin anew",
        "sub; sub;",
        f"PROC sub() VAR num a:=1; {x('a')} a:=a+1; {x('a')} ENDPROC",
        [1, 2, 1, 2],
    ),
    ("module variables stay", "sub; sub;", f"VAR num a:=1; PROC sub() {x('a')} a:=a+1; ENDPROC", [1, 2]),
    (
        "own name hides the module's",
        f"sub; {x('a')}",
        f"VAR num a:=1; PROC sub() VAR num a:=5; {x('a')} ENDPROC",
        [5, 1],
    ),
    ("records of one's own", "r.b:=3; " + x("r.a+r.b"), "RECORD two num a; num b; ENDRECORD VAR two r:=[4,0];", [7]),
    ("recursion", "sub 3;", f"PROC sub(num n) {x('n')} IF n>1 sub n-1; ENDPROC", [3, 2, 1]),
    ("declared later", x("k"), "CONST num k:=l+1; CONST num l:=1;", [2]),
    (
        "target passed on",
        "go p;",
        "PROC go(robtarget t) MoveL t,v5,fine,tool0; MoveL RelTool(t,3,0,0),v5,fine,tool0; ENDPROC",
        [0, 3],
    ),
]


@pytest.mark.parametrize("name, body, data, expected", ANSWERS + ROUTINES, ids=[a[0] for a in ANSWERS + ROUTINES])
def test_known_moves(name, body, data, expected):
    program = aw.read_program(module(body, data), "rapid")
    assert shifts(program) == expected
    assert program.reading.whole


def one(words: str, data: str = "", **said):
    """The last move of a program with these statements."""
    return aw.read_program(module(words, data), "rapid", **said).moves[-1]


def test_speeds_are_scaled_and_bounded():
    assert one("VelSet 50, 800; MoveL p, v1000, fine, tool0;").speed == ToolRate(0.5, math.radians(250))
    assert one("VelSet 100, 200; MoveL p, v1000, fine, tool0;").speed.linear == 0.2
    assert one("MoveL p, vmax, fine, tool0;").speed == Fraction(1.0)
    assert one("MoveL p, v1000\\V:=70, fine, tool0;").speed.linear == pytest.approx(0.07)
    assert one("MoveL p, v1000\\T:=3, fine, tool0;").speed == Duration(3.0)
    assert one("VelSet 50, 800; MoveL p, v1000\\T:=3, fine, tool0;").speed == Duration(6.0)
    own = "CONST speeddata s:=[123,45,5000,1000];"
    assert one("MoveL p, s, fine, tool0;", own).speed == ToolRate(0.123, math.radians(45))


def test_seams_are_welded_at_their_weld_speed():
    weld = "PERS seamdata sm:=[0,0,[0],0]; PERS welddata wd:=[8,0,[5,0,0],[0,0,0]];"
    seam = "VelSet 50, 800; ArcLStart p, v1000, sm, wd, fine, tool0; ArcL Offs(p,9,0,0), v1000, sm, wd, z1, tool0;"
    seam += "ArcC Offs(p,20,9,0), Offs(p,30,0,0), v1000, sm, wd\\Weave:=wv, z1, tool0;"
    seam += "ArcLEnd p, v1000, sm, wd, fine, tool0; MoveL p, v100, fine, tool0;"
    program = aw.read_program(module(seam, weld), "rapid")
    assert [move.speed.linear for move in program.moves] == [0.5, 0.008, 0.008, 0.008, 0.05]
    assert any("welded at 8 mm/s" in note.message for note in program.notes)
    old = aw.read_program(module("ArcL p, v100, sm, wd, fine, tool0;", weld.replace("[8,0,", "[3,8,0,")), "rapid")
    assert old.moves[0].speed.linear == 0.1
    assert any("weld speed of wd is not known" in note.message for note in old.reading.assumed)


def test_options_of_a_search_are_known():
    program = aw.read_program(module("SearchL\\Stop, di1, q, Offs(p,9,0,0), v100, tool0;", "VAR robtarget q;"), "rapid")
    assert program.moves[0].blend == Stop()
    assert not any("option" in note.message for note in program.notes)


def test_zones_stop_where_the_program_waits():
    assert one("MoveL p, v100, z10, tool0;").blend == Distance(0.01, 0.015, math.radians(1.5))
    assert one("MoveL p, v100, z5, tool0;").blend.orientation == pytest.approx(0.008)
    assert one("MoveL p, v100, z10\\Z:=4, tool0;").blend == Distance(0.004)
    waited = aw.read_program(module("MoveL p, v100, z10, tool0; WaitDI di1, 1; " + x("1")), "rapid")
    assert waited.moves[0].blend == Stop()
    going = aw.read_program(module("MoveL p, v100, z10, tool0; SetDO do1, 1; " + x("1")), "rapid")
    assert going.moves[0].blend != Stop()


def test_frames_tools_and_loads():
    data = (
        'PERS wobjdata w:=[FALSE,TRUE,"",[[0,100,0],[0.7071068,0,0,0.7071068]],[[10,0,0],[1,0,0,0]]];'
        "PERS tooldata t:=[TRUE,[[0,0,200],[1,0,0,0]],[2,[0,0,50],[1,0,0,0],0.1,0.2,0.3]];"
        "CONST loaddata g:=[3,[0,0,10],[1,0,0,0],0,0,0];"
    )
    for comma in ("\\WObj:=w", ",\\WObj:=w", " \\WObj:=w"):
        move = one(f"MoveL p, v100, fine, t{comma};", data)
        assert np.allclose(move.T_base_frame[:3, 3], [0.0, 0.11, 0.0])
        assert np.allclose((move.T_base_frame @ move.target.T)[:3, 3], [0.0, 0.61, 0.4], atol=1e-7)
    assert np.allclose(move.T_flange_tool[:3, 3], [0, 0, 0.2])
    assert (move.payload.mass, move.payload.com[2]) == (2.0, 0.05)
    gripped = one("GripLoad g; MoveL p, v100, fine, t;", data).payload
    assert gripped.mass == 5.0 and gripped.com[2] == pytest.approx((2 * 0.05 + 3 * 0.21) / 5)


def test_moves_that_do_more_than_move():
    for words in (
        "MoveLDO p, v100, z10, tool0, do1, 1;",
        "TriggL p, v100, trig, z10, tool0;",
        'MoveLSync p, v100, z10, tool0, "sub";',
        "ArcL p, v100, seam, weld, weave, z10, tool0;",
        "MoveL\\Conc, p, v100, z10, tool0;",
    ):
        assert one(words).kind == "line"
    circle = one("MoveC Offs(p,5,5,0), Offs(p,10,0,0), v100, z10, tool0;")
    assert circle.kind == "arc" and circle.orientation == "with_path"
    assert (
        one("CirPathMode\\ObjectFrame; MoveC Offs(p,5,5,0), Offs(p,10,0,0), v100, z10, tool0;").orientation == "slerp"
    )


def test_what_is_not_known_is_a_gap_and_said():
    program = aw.read_program(module(x("1") + "MoveL q, v100, fine, tool0;\n" + x("2")), "rapid")
    reading = program.reading
    assert shifts(program) == [1, 2] and (reading.reached, reading.known) == (3, 2)
    assert reading.gaps[0].before == 1 and "'q' is not declared" in reading.gaps[0].reason
    tool = module("MoveL p, v100, fine, gripper\\WObj:=table;")
    assert not aw.read_program(tool, "rapid").moves
    assert aw.read_program(tool, "rapid").reading.words == "0 of 1 moves"
    assumed = aw.read_program(tool, "rapid", assume_frames=True)
    assert assumed.reading.whole and len(assumed.reading.assumed) == 2
    told = {
        "gripper": "[TRUE,[[0,0,50],[1,0,0,0]],[1,[0,0,1],[1,0,0,0],0,0,0]]",
        "table": '[FALSE,TRUE,"",[[1,2,3],[1,0,0,0]],[[0,0,0],[1,0,0,0]]]',
    }
    defined = aw.read_program(tool, "rapid", define=told).moves[0]
    assert defined.T_flange_tool[2, 3] == 0.05 and defined.T_base_frame[1, 3] == 0.002


def test_inputs_passes_and_coverage():
    text = module(f"\nWHILE TRUE DO\nIF di1=1 THEN\n{x('1')}\nELSE\n{x('2')}\nENDIF\nENDWHILE\n")
    assert shifts(aw.read_program(text, "rapid", inputs={"di1": [1, 0, 1]}, passes=4)) == [1, 2, 1, 1]
    reading = aw.read_program(text, "rapid").reading
    assert [(first, why) for first, _, why in reading.not_run] == [(9, "di1 = 1")]
    assert any("--input di1" in note.message for note in reading.assumed)


def test_calls_of_other_files_are_unread_and_listed_ones_quiet():
    program = aw.read_program(module(x("1") + 'Palletise 3; TPWrite "x"; SetDO do1,1; ConfL\\Off;'), "rapid")
    assert [note.line for note in program.reading.unread] == [6] and not program.reading.whole
    with pytest.raises(aw.ProgramError, match="did you mean 'movel'"):
        aw.read_program(module("MovL p, v100, fine, tool0;"), "rapid")


REFUSED = [
    ("MoveL p, v100, fine;", "names no tool"),
    ("MoveL p v100, fine, tool0;", "expected ',' or ';'"),
    ("IF 1=1 THAN MoveL p, v100, fine, tool0; ENDIF", "did you mean 'then'"),
    ("IF 1=1 THEN MoveL p, v100, fine, tool0;", "never closed by 'endif'"),
    ("ENDWHILE", "belongs to no block"),
    ("deep 1;\nENDPROC\nPROC deep(num n)\ndeep n+1;", "more than 40 deep"),
    ("MoveL p, v100, fine, fixed;", "stand beside the arm"),
    ("MoveL p, v100, fine, tool0\\WObj:=moving;", "work objects that move"),
    ("SyncMoveOn s, all;", "several arms"),
    ("MoveL e1, v5, fine, tool0; MoveL e2, v5, fine, tool0;", "external axes move"),
    ("q:=p; q.tranq.x:=1;", "a ROBTARGET has no part 'tranq'; did you mean 'trans'"),
    ("q:=p; n:=q.trans.w;", "a POS has no part 'w'"),
    ("MoveL p, v100, fine, tool0\\WOxj:=moving;", r"unknown option; did you mean '\\wobj'"),
    ("MoveL RelTool(p,0,0,0\\Rw:=90), v100, fine, tool0;", r"RelTool has no option \\Rw"),
    ("MoveL p, v100, fine, tool0; TRYNEXT;", "is ERROR missing in lines 5 to 6"),
    ("IF 1=1 MoveL p, v100, fine, tool0; ENDIF", "belongs to no block that is open in lines 5 to 6"),
    ("n:=0; WHILE n<10 DO n:=n+0.00000001; ENDWHILE", "more than 200000 statements"),
]
BESIDE = (
    "PERS tooldata fixed:=[FALSE,[[0,0,0],[1,0,0,0]],[1,[0,0,1],[1,0,0,0],0,0,0]];"
    'PERS wobjdata moving:=[FALSE,FALSE,"STN1",[[0,0,0],[1,0,0,0]],[[0,0,0],[1,0,0,0]]]; VAR num n; VAR robtarget q;'
    "CONST robtarget e1:=[[500,0,400],[1,0,0,0],[0,0,0,0],[100,9E9,9E9,9E9,9E9,9E9]];"
    "CONST robtarget e2:=[[500,0,400],[1,0,0,0],[0,0,0,0],[200,9E9,9E9,9E9,9E9,9E9]];"
)


@pytest.mark.parametrize("words, message", REFUSED, ids=[r[1] for r in REFUSED])
def test_refusals(words, message):
    with pytest.raises(aw.ProgramError, match=message) as caught:
        aw.read_program(module(words, BESIDE), "rapid")
    assert caught.value.line and caught.value.valid


def test_all_obstacles_are_told_at_once_and_only_those_that_are_reached():
    text = module("MoveL p v100, fine, tool0;\n" + x("1") + "\nMoveL p, v100, fine;")
    with pytest.raises(aw.ProgramError, match=r"line 6.*1 more in the way: line 8 at ';': the move names no tool"):
        aw.read_program(text, "rapid")
    unreached = module(x("1"), "PROC never() MoveL p v100, fine, tool0; garbage + ; ENDPROC")
    program = aw.read_program(unreached, "rapid")
    assert shifts(program) == [1] and program.reading.whole and len(program.reading.idle) == 2


def test_a_line_that_is_not_understood_is_set_aside():
    program = aw.read_program(module(f"{x('1')}\nn := := 3;\n{x('2')}", "VAR num n;"), "rapid")
    assert shifts(program) == [1, 2] and [note.line for note in program.reading.set_aside] == [7]


TOLD = [
    ("", "VAR nun n;", (4, "the type nun is in none of the files; did you mean 'num'?")),
    ("n:=tru;", "VAR num n;", (6, "the value of n is not known: 'tru' is not declared in the files that were read")),
    (";", "", (6, "an empty statement: is a word missing before ';'?")),
    ("IF 1=2 THEN\nENDIF", "", (6, "this IF governs no statement, lines 6 to 7: is one missing?")),
    ("GOTO hre;\nhere:", "", (6, "no place 'hre' to jump to: the routine ends there; did you mean 'here'?")),
    ("GripLoad part;", "", (6, "the load is not known: 'part' is not declared in the files that were read")),
    ("IF 1=2 RETURX;", "", (6, "RETURX: did you mean 'return'?")),
    (
        "sob;",
        "PROC sub() ENDPROC",
        (6, "sob is in none of the files and is skipped; it may move the arm; did you mean 'sub' of line 4?"),
    ),
]


@pytest.mark.parametrize("words, data, note", TOLD, ids=[t[2][1][:30] for t in TOLD])
def test_what_looks_misspelt_or_left_out_is_told_at_its_line(words, data, note):
    program = aw.read_program(module(f"{words}\nn:=0;" if data == "VAR nun n;" else words, data), "rapid")
    assert note in [(n.line, n.message) for n in program.notes]


def test_headers_and_code_pages(tmp_path):
    text = "%%%\n  VERSION:1\n  LANGUAGE:ENGLISH\n%%%\n" + module(x("1")).replace("MODULE m", "MODULE m ! Gerät")
    path = tmp_path / "m.mod"
    path.write_bytes(text.replace("\n", "\r\n").encode("cp1252"))
    program = aw.read_program(path)
    assert shifts(program) == [1] and program.moves[0].line == 10
    assert any("cp1252" in note.message for note in program.notes)


def test_names_are_found_in_modules_beside(tmp_path):
    (tmp_path / "main.mod").write_text(module("deliver; " + x("far")), encoding="utf-8")
    (tmp_path / "data.sys").write_text("MODULE d(SYSMODULE)\nCONST num far:=7;\nENDMODULE\n", encoding="utf-8")
    (tmp_path / "work.mod").write_text(
        f"MODULE w\n{P}\nPROC deliver()\n{x('5')}\nENDPROC\nENDMODULE\n", encoding="utf-8"
    )
    program = aw.read_program(tmp_path / "main.mod")
    assert shifts(program) == [5, 7] and len(program.reading.files) == 3
    assert shifts(aw.read_program(tmp_path)) == [5, 7]
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in ("main.mod", "data.sys", "work.mod"):
            archive.write(tmp_path / name, name)
    assert shifts(aw.read_program(tmp_path / "all.zip")) == [5, 7]
    (tmp_path / "twin.mod").write_text(
        f"MODULE v\n{P}\nPROC deliver()\n{x('6')}\nENDPROC\nENDMODULE\n", encoding="utf-8"
    )
    with pytest.raises(aw.ProgramError, match=r"several files: twin\.mod, work\.mod"):
        aw.read_program(tmp_path / "main.mod")


def test_entries():
    two = f"MODULE m\n{P}\nPROC a()\n{x('1')}\nENDPROC\nPROC b()\n{x('2')}\na;\nENDPROC\nENDMODULE\n"
    assert shifts(aw.read_program(two, "rapid")) == [2, 1]  # nobody calls b
    assert shifts(aw.read_program(two, "rapid", entry="A")) == [1]
    with pytest.raises(aw.ProgramError, match=r"--entry with one of a \(line 3\), b \(line 6\)"):
        aw.read_program(two.replace("a;\n", ""), "rapid")
    with pytest.raises(aw.ProgramError, match="no routine 'c'"):
        aw.read_program(two, "rapid", entry="c")


def test_a_file_that_moves_nowhere_is_read():
    program = aw.read_program("MODULE m\nFUNC num f(num a)\nRETURN a;\nENDFUNC\nENDMODULE\n", "rapid")
    assert program.moves == () and program.reading.routines == ("f",)


@pytest.mark.parametrize("words", ["wIn.oframe.trans.x := 5;", "wIn.oframe := [[1,2,3],[1,0,0,0]];"])
def test_a_work_object_of_another_file_with_parts_set_here_is_a_gap_or_lies_on_the_base(words):
    target = "[[400,0,400],[0,0,1,0],[0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]]"
    text = f"MODULE m\nPROC main()\n{words}\nMoveJ {target},v100,fine,tool0\\WObj:=wIn;\nENDPROC\nENDMODULE\n"
    assert "only parts of it are set; --define" in aw.read_program(text, "rapid").reading.gaps[0].reason
    assumed = aw.read_program(text, "rapid", assume_frames=True)
    place = [5, 0, 0] if "x :=" in words else [1, 2, 3]
    assert (assumed.moves[0].T_base_frame[:3, 3] * 1000).round(9).tolist() == place
    assert any("taken as those of wobj0" in note.message for note in assumed.reading.assumed)
    whole = '[FALSE,TRUE,"",[[0,0,0],[1,0,0,0]],[[0,0,0],[1,0,0,0]]]'
    assert aw.read_program(text, "rapid", define={"wIn": whole}).reading.whole
