# SPDX-License-Identifier: Apache-2.0
"""KRL programs whose moves are known beforehand: each rule of the language once, and each trap."""

from __future__ import annotations

import math

import numpy as np
import pytest

import armwright as aw
from armwright.programs import Distance, Fraction, Pose, Share, Stop, ToolRate

P = "{X 500,Y 0,Z 400,A 0,B 0,C 0}"


def src(body: str, more: str = "") -> str:
    return f"&ACCESS RVP\nDEF prog()\nDECL INT i,n\nDECL REAL r\n$VEL.CP=0.1\nPTP {P}\n{body}\nEND\n{more}"


def x(value: str) -> str:
    """A move as many millimetres along x from the first one as `value` says."""
    return f"LIN {{X 500+({value})}}\n"


def shifts(program) -> list[float]:
    moves = [m for m in program.moves if isinstance(m.target, Pose)]
    return [round(1e3 * float((m.T_base_frame @ m.target.T)[0, 3]) - 500.0, 6) for m in moves[1:]]


ANSWERS = [
    ("whole numbers divide whole", x("7/2") + x("-7/2") + x("7/2.0"), [3, -3, 3.5]),
    ("a real is rounded into an int", "i=2.5\n" + x("i") + "i=-2.5\n" + x("i") + "i=7.9\n" + x("i"), [3, -3, 8]),
    ("a real variable divides", "r=7\n" + x("r/2"), [3.5]),
    ("precedence", x("1+2*3-4/2"), [5]),
    ("comparisons bind weaker than and", f"IF (1==1) AND NOT (2==1) THEN\n{x('1')}ENDIF", [1]),
    ("degrees", x("10*SIN(90)+ATAN2(1,1)"), [55]),
    ("bits", x("6 B_AND 3") + x("'HF'") + x("'B101'"), [2, 15, 5]),
    ("for", f"FOR i=1 TO 3\n{x('i')}ENDFOR\n{x('i')}", [1, 2, 3, 4]),
    ("for down needs a step", f"FOR i=3 TO 1\n{x('i')}ENDFOR\nFOR i=3 TO 1 STEP -2\n{x('i')}ENDFOR", [3, 1]),
    ("while", f"n=0\nWHILE n<2\nn=n+1\n{x('n')}ENDWHILE", [1, 2]),
    ("repeat", f"n=0\nREPEAT\nn=n+1\n{x('n')}UNTIL n==2", [1, 2]),
    ("loop is one pass", f"LOOP\n{x('1')}ENDLOOP", [1]),
    ("loop leaves itself", f"n=0\nLOOP\nn=n+1\n{x('n')}IF n==3 THEN\nEXIT\nENDIF\nENDLOOP\n{x('9')}", [1, 2, 3, 9]),
    ("switch", f"n=2\nSWITCH n\nCASE 1\n{x('1')}CASE 2,3\n{x('2')}DEFAULT\n{x('9')}ENDSWITCH", [2]),
    ("goto", f"GOTO on\n{x('1')}on:\n{x('2')}", [2]),
    ("goto back is one pass", f"again:\n{x('1')}GOTO again", [1]),
    ("halt goes on", f"{x('1')}HALT\n{x('2')}", [1, 2]),
    ("inputs are off", f"IF $IN[3] THEN\n{x('1')}ELSE\n{x('2')}ENDIF\nIF $IN[3]==FALSE THEN\n{x('3')}ENDIF", [2, 3]),
    ("what is waited for holds", f"WAIT FOR $IN[3] AND NOT $IN[4]\nIF $IN[3] THEN\n{x('1')}ENDIF", [1]),
    ("outputs are remembered", f"$OUT[2]=TRUE\nIF $OUT[2] THEN\n{x('1')}ENDIF", [1]),
    ("a loop on an input is one pass", f"WHILE NOT $IN[1]\n{x('1')}ENDWHILE", [1]),
    ("waiting loop", f"WHILE NOT $IN[1]\nWAIT SEC 0.1\nENDWHILE\n{x('1')}", [1]),
    ("left out components stay", "LIN {Y 100}\nLIN {X 510}", [0, 10]),
    ("relative", "LIN_REL {X 5}\nLIN_REL {X 5}", [5, 10]),
    ("relative to the tool", "LIN {A 180}\nLIN_REL {X 5} #TOOL", [0, -5]),
    ("base by frame operator", "$BASE={X 100}:{X 20}\nLIN {X 400,Y 0,Z 400,A 0,B 0,C 0}", [20]),
    ("in another base", "$BASE={X 100}\nLIN {Y 7}", [0]),
    ("inverse", "$BASE=INV_POS({X -30})\nLIN {X 500,Y 0,Z 400}", [30]),
    ("signal", f"SIGNAL go $IN[5]\nIF go THEN\n{x('1')}ENDIF\n{x('2')}", [2]),
    (
        "interrupts and triggers do not run",
        "INTERRUPT DECL 3 WHEN $STOPMESS==TRUE DO IR_STOPM()\nTRIGGER WHEN DISTANCE=0 DELAY=0 DO f()\n" + x("1"),
        [1],
    ),
    ("where the arm stands is no move", f"PTP $AXIS_ACT\n{x('1')}", [1]),
    ("folds are comments", f";FOLD LIN P1 Vel=1 m/s\n{x('1')};ENDFOLD", [1]),
    ("several on a line", f"DECL INT a,b\na=1\nb=2\n{x('a+b')}", [3]),
]
ROUTINES = [
    ("call", "sub()\n" + x("9"), f"DEF sub()\n{x('1')}END\n", [1, 9]),
    ("by value", "n=1\nsub(n)\n" + x("n"), f"DEF sub(a:IN)\nINT a\na=5\n{x('a')}END\n", [5, 1]),
    ("by reference", "n=1\nsub(n)\n" + x("n"), "DEF sub(a:OUT)\nINT a\na=5\nEND\n", [5]),
    ("function", x("twice(4)"), "DEFFCT INT twice(a:IN)\nINT a\nRETURN 2*a\nENDFCT\n", [8]),
    ("own variables", "n=1\nsub()\n" + x("n"), f"DEF sub()\nINT n\nn=5\n{x('n')}END\n", [5, 1]),
    (
        "an array of the caller's size",
        "INT b[2,2]\nb[1,2]=3\nb[2,1]=4\n" + x("both(b[,])"),
        "DEFFCT INT both(q:OUT)\nINT q[,]\nRETURN q[1,2]+q[2,1]\nENDFCT\n",
        [7],
    ),
    (
        "an item of the caller's array",
        "INT b[3]\nset(b[])\n" + x("b[2]"),
        "DEF set(q:OUT)\nDECL INT q[]\nq[2]=6\nEND\n",
        [6],
    ),
    ("return", "sub()\n", f"DEF sub()\n{x('1')}RETURN\n{x('2')}END\n", [1]),
]


@pytest.mark.parametrize("name, body, expected", ANSWERS, ids=[a[0] for a in ANSWERS])
def test_known_moves(name, body, expected):
    program = aw.read_program(src(body), "krl")
    assert shifts(program) == expected
    assert program.reading.whole


@pytest.mark.parametrize("name, body, more, expected", ROUTINES, ids=[r[0] for r in ROUTINES])
def test_known_moves_of_routines(name, body, more, expected):
    assert shifts(aw.read_program(src(body, more), "krl")) == expected


def last(words: str, **said):
    return aw.read_program(src(words), "krl", **said).moves[-1]


def test_override_and_speeds():
    assert last("$OV_PRO=50\nLIN {X 1}").speed == ToolRate(0.05)
    assert last("$OV_PRO=50\nBAS(#VEL_PTP,40)\nPTP {A1 0}").speed == Fraction(0.2)
    assert last("BAS(#VEL_CP,0.3)\nBAS(#ACC_CP,50)\nLIN {X 1}").speed == ToolRate(0.3)
    assert last("BAS(#ACC_CP,50)\nLIN {X 1}").acceleration == Fraction(0.5)  # percent, as BAS.SRC has it
    assert last("$VEL={CP 0.4,ORI1 90.0,ORI2 90.0}\nLIN {X 1}").speed == ToolRate(0.4, math.radians(90))


def test_blends_end_where_the_program_waits():
    assert last("$APO.CDIS=20\nLIN {X 1} C_DIS").blend == Distance(0.02)
    assert last("$APO.CPTP=30\nPTP {A1 0} C_PTP C_DIS").blend == Share(0.3)
    assert last("$ADVANCE=0\n$APO.CDIS=20\nLIN {X 1} C_DIS").blend == Stop()
    for words, blend in (
        ("WAIT FOR $IN[1]", Stop()),
        ("$OUT[1]=TRUE", Stop()),
        ("CONTINUE\n$OUT[1]=TRUE", Distance(0.02)),
    ):
        program = aw.read_program(src(f"$APO.CDIS=20\nLIN {{X 1}} C_DIS\n{words}\nLIN {{X 2}}"), "krl")
        assert program.moves[1].blend == blend


def test_frames_by_number_need_the_controllers_data(tmp_path):
    text = src("BAS(#TOOL,2)\nBAS(#BASE,1)\nLIN {X 10,Y 0,Z 400,A 0,B 0,C 0}\nPTP {A1 10}")
    gap = aw.read_program(text, "krl")
    assert len(gap.moves) == 2 and "BASE_DATA[1] is in $config.dat" in gap.reading.gaps[0].reason
    assert aw.read_program(text, "krl", assume_frames=True).reading.whole
    config = tmp_path / "$config.dat"
    config.write_text(
        "DEFDAT $CONFIG PUBLIC\nDECL FRAME TOOL_DATA[16]\nTOOL_DATA[2]={X 0.0,Y 0.0,Z 150.0,A 0.0,B 0.0,C 0.0}\n"
        "DECL FRAME BASE_DATA[32]\nBASE_DATA[1]={X 490.0,Y 0.0,Z 0.0,A 0.0,B 0.0,C 0.0}\n"
        "DECL LOAD LOAD_DATA[16]\nLOAD_DATA[2]={M 3.0,CM {X 0.0,Y 0.0,Z 50.0},J {X 0.0,Y 0.0,Z 0.0}}\n"
        "REAL DEF_VEL_CP=2.0\nREAL DEF_ACC_CP=2.5\nENDDAT\n",
        encoding="utf-8",
    )
    known = aw.read_program(text, "krl", config=config)
    assert known.reading.whole and shifts(known)[0] == 0.0
    assert known.moves[1].T_flange_tool[2, 3] == 0.15 and known.moves[1].payload.mass == 3.0
    assert last("BAS(#INITMOV,0)\nBAS(#TOOL,0)\nLIN {X 1,Y 0,Z 0,A 0,B 0,C 0}", config=config).acceleration == ToolRate(
        2.5
    )
    defined = {"TOOL_DATA[2]": "{Z 50}", "BASE_DATA[1]": "{X 1}"}
    assert aw.read_program(text, "krl", define=defined).moves[1].T_flange_tool[2, 3] == 0.05


INLINE = """DEF pick()
;FOLD INI
BAS (#INITMOV,0 )
;ENDFOLD (INI)
;FOLD PTP P1 CONT Vel=50 % PDAT1 Tool[0] Base[0];%{PE}
$BWDSTART=FALSE
PDAT_ACT=PPDAT1
FDAT_ACT=FP1
BAS(#PTP_PARAMS,50)
PTP XP1 C_PTP
;ENDFOLD
;FOLD LIN P2 Vel=0.2 m/s CPDAT1 Tool[0] Base[0];%{PE}
LDAT_ACT=LCPDAT1
FDAT_ACT=FP2
BAS(#CP_PARAMS,0.2)
LIN XP2
;ENDFOLD
SPTP XP1 WITH $VEL_AXIS[1]=SVEL_JOINT(30.0), $ACC_AXIS[1]=SACC_JOINT(PPDAT1), $APO=SAPO_PTP(PPDAT1) C_Spl
SLIN XP2 WITH $VEL=SVEL_CP(0.3, , LCPDAT1), $TOOL=STOOL2(FP2), $BASE=SBASE(FP2.BASE_NO)
LIN XP2
END
"""
DATA = """DEFDAT pick
DECL E6POS XP1={X 500.0,Y 0.0,Z 400.0,A 0.0,B 90.0,C 0.0,S 2,T 10,E1 0.0,E2 0.0}
DECL E6POS XP2={X 510.0,Y 0.0,Z 400.0,A 0.0,B 90.0,C 0.0,S 2,T 10,E1 0.0,E2 0.0}
DECL FDAT FP1={TOOL_NO 0,BASE_NO 0,IPO_FRAME #BASE,POINT2[] " ",TQ_STATE FALSE}
DECL FDAT FP2={TOOL_NO 0,BASE_NO 0,IPO_FRAME #BASE,POINT2[] " "}
DECL PDAT PPDAT1={VEL 100.0,ACC 80.0,APO_DIST 40.0,APO_MODE #CPTP}
DECL LDAT LCPDAT1={VEL 2.0,ACC 60.0,APO_DIST 25.0,APO_FAC 50.0,ORI_TYP #VAR}
ENDDAT
"""


def test_inline_forms_with_their_data(tmp_path):
    (tmp_path / "pick.src").write_bytes(INLINE.replace("\n", "\r\n").encode())
    (tmp_path / "PICK.dat").write_text(DATA, encoding="utf-8")
    program = aw.read_program(tmp_path / "pick.src")
    ptp, lin, sptp, slin, again = program.moves
    assert program.reading.whole
    assert (ptp.speed, ptp.acceleration, ptp.blend) == (Fraction(0.5), Fraction(0.8), Share(0.4))
    assert (lin.speed, lin.acceleration, lin.target.status) == (ToolRate(0.2), Fraction(0.6), (2, 10))
    assert (sptp.speed, sptp.blend) == (Fraction(0.3), Share(0.4))
    assert slin.speed == ToolRate(0.3) and again.speed == ToolRate(0.2)  # WITH holds for one move
    assert np.allclose(again.target.T[:3, 3], [0.51, 0.0, 0.4])
    assert len(program.reading.files) == 2


def test_routines_and_data_of_other_files(tmp_path):
    (tmp_path / "main.src").write_text(
        f"DEF main()\n$VEL.CP=0.1\nPTP {P}\nside()\nLIN {{X far}}\nEND\n", encoding="utf-8"
    )
    (tmp_path / "side.src").write_text(
        "DEF side()\nLIN {X 505}\nhelper()\nEND\nDEF helper()\nLIN {X 506}\nEND\n", encoding="utf-8"
    )
    (tmp_path / "shared.dat").write_text("DEFDAT shared PUBLIC\nDECL GLOBAL REAL far=507.0\nENDDAT\n", encoding="utf-8")
    assert shifts(aw.read_program(tmp_path / "main.src")) == [5, 6, 7]
    with pytest.raises(aw.ProgramError, match="no routine 'other'"):
        aw.read_program(tmp_path / "main.src", entry="other")


REFUSED = [
    ("LINE {X 1}", "did you mean 'lin'"),
    ("PTP HOME VEL=50 % DEFAULT", "expected the end of the line"),
    ("IF 1==1 THAN\nLIN {X 1}\nENDIF", "expected 'then'"),
    ("IF 1==1 THEN\nLIN {X 1}", "never closed by 'endif'"),
    ("ENDLOOP", "belongs to no block"),
    ("$IPO_MODE=#TCP\nLIN {X 1}", "stand beside the arm"),
    ("BAS(#EX_BASE,1)", "external axis moves"),
    ("LIN {X 1,E1 100}\nLIN {X 2,E1 200}", "external axes move"),
    ("$VEL.CT=1", "unknown system variable"),
    ("$BAXE={X 1}", r"unknown system variable; did you mean '\$base'"),
    ("$CIRC_TYPE=#PAXH", r"\$CIRC_TYPE has no value #PAXH; did you mean '#path'"),
    ("LIN {X 1} C_DIS\nSLIN {X 2} WITH VEL.CP=1", "WITH sets variables of the controller"),
    ("ENUM colour red, blue\nDECL colour c\nc=#rad", "COLOUR has no value #RAD; did you mean 'red'"),
    ("DECL FRAME f\nf={X 1}\nf.W=2", "a FRAME has no part 'w'"),
    ("DECL AXIS a\na={A1 1}\nr=a.X", "a AXIS has no part 'x'"),
    ("DECL FRAME f={X 1,Q 2}", "unknown component"),
    ("deep(1)\nEND\nDEF deep(n:IN)\nINT n\ndeep(n+1)", "more than 40 deep"),
]


@pytest.mark.parametrize("words, message", REFUSED, ids=[r[1] for r in REFUSED])
def test_refusals(words, message):
    with pytest.raises(aw.ProgramError, match=message) as caught:
        aw.read_program(src(words), "krl")
    assert caught.value.line and caught.value.valid


def test_external_axes_that_stand_still_are_told():
    program = aw.read_program(src("LIN {X 1,E1 100}\nLIN {X 2,E1 100}"), "krl")
    assert any("external axes" in note.message for note in program.notes)


def test_what_is_not_known_is_said():
    program = aw.read_program(src("LIN there\nfetch(i)\nzzz qqq ===\n" + x("1")), "krl")
    reading = program.reading
    assert shifts(program) == [] and "'there' is not declared" in reading.gaps[0].reason  # X 501 alone: where from?
    assert [note.line for note in reading.unread] == [8] and [note.line for note in reading.set_aside] == [9]
    home = aw.read_program("DEF a()\nPTP XHOME\nEND\n", "krl")
    assert np.allclose(home.moves[0].target.q, np.radians([0, -90, 90, 0, 0, 0])) and home.reading.assumed
    rounded = aw.read_program(src("i=7.9\n" + x("i")), "krl")
    assert any("7.9 becomes 8 in an INT" in note.message for note in rounded.notes)


TOLD = [
    ("$MYSTERY=1", (7, "$MYSTERY is set, and what that does is not followed here")),
    ("r=SIM(30)", (7, "the value of r is not known: function 'SIM' is in none of the files; did you mean 'sin'?")),
    ("$OUT[2]=TRUX", (7, "the value of $OUT is not known: 'TRUX' is not declared in the files that were read")),
    ("IF $IN[1] THEN\nENDIF", (7, "this IF governs no statement, lines 7 to 8: is one missing?")),
    (
        "SPLINE\nSLIN there\nENDSPLINE",
        (8, "this move is not known: 'there' is not declared in the files that were read; --define or --more says it"),
    ),
]


@pytest.mark.parametrize("words, note", TOLD, ids=[t[1][1][:30] for t in TOLD])
def test_what_looks_misspelt_or_left_out_is_told_at_its_line(words, note):
    assert note in [(n.line, n.message) for n in aw.read_program(src(words), "krl").notes]


def test_files_without_a_program():
    assert aw.read_program("DECL E6POS XP1={X 1.0,Y 2.0,Z 3.0,A 0.0,B 0.0,C 0.0}\n\n", "krl").moves == ()
    assert aw.read_program("DEF lib(a:IN)\nINT a\nEND\n", "krl").reading.routines == ("lib",)


@pytest.mark.parametrize("call", ["RSI_ON(#RELATIVE)", "RSI_MOVECORR()", "MOVE_EMI()"])
def test_what_something_outside_leads_is_never_read_whole(call):
    program = aw.read_program(f"DEF main()\nPTP {{A1 0,A2 -90,A3 90,A4 0,A5 0,A6 0}}\n{call}\nEND\n", "krl")
    assert not program.reading.whole and "outside" in program.reading.gaps[0].reason


def test_a_routine_that_no_file_has_may_move_the_arm():
    program = aw.read_program("DEF main()\nPTP {A1 0,A2 -90,A3 90,A4 0,A5 0,A6 0}\nINIT_POS()\nEND\n", "krl")
    assert not program.reading.whole and "INIT_POS" in program.reading.unread[0].message


@pytest.mark.parametrize("name", ["$ASYNC_AXIS", "$PAL_MODE", "$TOOL_C"])
def test_variables_of_the_controller_are_no_misspelt_ones(name):
    program = aw.read_program(src(f"{name}=1\n{x('1')}"), "krl")
    assert shifts(program) == [1] and any(f"{name} is set" in note.message for note in program.notes)


def test_misspelt_variables_of_the_controller_are_refused():
    with pytest.raises(aw.ProgramError, match="OV_PRO"):
        aw.read_program(src(f"$OV_PTO=50\n{x('1')}"), "krl")


TRAPPED = f"""DEF prog()
DECL INT given
INTERRUPT DECL 3 WHEN $IN[1]==TRUE DO seen(given)
INTERRUPT ON 3
$VEL.CP=0.1
given=1
PTP {P}
n=2
IF n==2 THEN
{x("1")}ENDIF
%s
END
DEF seen(g:OUT)
g=5
inner()
END
DEF inner()
n=7
flag=TRUE
$OUT[1]=TRUE
END
"""
TRAP_DATA = "DEFDAT prog\nDECL INT n=1\nDECL INT m=3\nDECL BOOL flag=FALSE\nENDDAT\n"


@pytest.mark.parametrize(
    "words, known, gaps",
    [
        (x("n"), [1], 1),  # set two calls inside the interrupt's routine
        (x("given"), [1], 1),  # given to it
        (x("m"), [1, 3], 0),
        ("WAIT FOR flag\nIF flag THEN\n" + x("4") + "ENDIF", [1, 4], 0),  # what is waited for has come
        ("IF flag THEN\n" + x("4") + "ENDIF", [1], 0),
    ],
)
def test_what_an_interrupt_sets_is_known_in_no_move(tmp_path, words, known, gaps):
    (tmp_path / "prog.src").write_text(TRAPPED % words, encoding="utf-8")
    (tmp_path / "prog.dat").write_text(TRAP_DATA, encoding="utf-8")
    program = aw.read_program(tmp_path / "prog.src")
    assert shifts(program) == known and len(program.reading.gaps) == gaps
    assert all("interrupt seen" in gap.reason for gap in program.reading.gaps)
    told = aw.read_program(tmp_path / "prog.src", inputs={"n": 6, "given": 6})
    assert len(told.reading.gaps) == 0


def test_interrupts_without_a_routine_change_nothing():
    body = "INTERRUPT DECL 2 WHEN $IN[1] DO BRAKE\nINTERRUPT ON 2\nINTERRUPT OFF\n"
    body += "GLOBAL INTERRUPT DECL 4 WHEN $IN[2] DO gone()\n"
    program = aw.read_program(src("i=2\n" + x("1") + body + x("2")), "krl")
    assert shifts(program) == [1, 2] and not program.reading.gaps


def test_moves_of_loops_in_a_short_text_are_bounded_until_the_user_says_how_many():
    text = f"DEF a()\nDECL INT i\n$VEL.CP=0.1\nPTP {P}\nFOR i=1 TO 5200\nLIN_REL {{X 0.01}}\nENDFOR\nEND\n"
    with pytest.raises(aw.ProgramError, match=r"more than 50\d0 moves.*--most-moves"):
        aw.read_program(text, "krl")
    assert len(aw.read_program(text, "krl", most_moves=5201).moves) == 5201


def test_factory_config_says_speeds_and_corners_and_no_frames(tmp_path):
    there = "{X 510,Y 0,Z 600,A 0,B 90,C 0}"
    text = src(f"BAS(#INITMOV,0)\nBAS(#TOOL,0)\nLIN {there} C_DIS\nLIN {P}\nBAS(#TOOL,1)\nLIN {there}")
    alone = aw.read_program(text, "krl")
    assert "--config factory" in alone.reading.gaps[0].reason
    shipped = aw.read_program(text, "krl", config="factory")
    assert shipped.moves[1].speed == ToolRate(2.0, math.radians(200)) and shipped.moves[1].blend == Distance(0.003)
    assert [gap.reason.split(" is in")[0] for gap in shipped.reading.gaps] == ["TOOL_DATA[1]"]
    assert any("as shipped" in note.message for note in shipped.reading.assumed)
    (tmp_path / "a.src").write_text(text, encoding="utf-8")  # a true one beside the program goes before
    (tmp_path / "$config.dat").write_text("DEFDAT $CONFIG PUBLIC\nREAL DEF_VEL_CP=0.5\nENDDAT\n", encoding="utf-8")
    assert aw.read_program(tmp_path / "a.src", config="factory").moves[1].speed.linear == 0.5
    with pytest.raises(aw.ProgramError, match="or the word factory"):
        aw.read_program(text, "krl", config="fabrik")


def test_a_program_that_calls_itself_without_an_end_is_one_pass():
    more = "DEF second()\nLIN_REL {X 10}\nprog()\nLIN_REL {X 1000}\nEND\n"
    program = aw.read_program(src("LIN_REL {X 1}\nsecond()\nLIN_REL {X 100}", more), "krl")
    assert len(program.moves) == 3 and program.reading.whole  # the first is `src`'s own
    assert any("begins anew, one pass" in note.message for note in program.reading.assumed)
    counted = "n=n+1\nLIN_REL {X 1}\nIF n<3 THEN\nprog()\nENDIF"
    ended = aw.read_program("DEF prog()\n" + counted + "\nEND\n", "krl", define={"n": "0"})
    assert ended.reading.reached == 3 and not any("anew" in note.message for note in ended.reading.assumed)


def test_a_data_file_named_before_its_source_belongs_to_it(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "sub.dat").write_text("DEFDAT SUB\nDECL AXIS XP={A1 7}\nENDDAT\n", encoding="utf-8")
    (tmp_path / "far" / "sub.src").write_text("DEF SUB()\nPTP XP\nEND\n", encoding="utf-8")
    (tmp_path / "a.src").write_text("DEF A()\nSUB()\nEND\n", encoding="utf-8")
    for names in (["sub.dat", "sub.src"], ["sub.src", "sub.dat"]):
        program = aw.read_program(tmp_path / "a.src", more=[tmp_path / "far" / name for name in names])
        assert program.reading.words == "1 of 1 moves"


def test_what_only_an_assumption_makes_impossible_is_left_out():
    words = "INT b[3],n\nn=-1\nIF $IN[1] THEN\nn=2\nENDIF\nb[n]=1\nPTP {A1 10}"
    program = aw.read_program("DEF prog()\n" + words + "\nEND\n", "krl")
    assert not program.reading.whole and "no item -1 in b" in program.reading.set_aside[0].message
    assert aw.read_program("DEF prog()\n" + words + "\nEND\n", "krl", inputs={"$IN[1]": True}).reading.whole
    with pytest.raises(aw.ProgramError, match="no item -1"):
        aw.read_program("DEF prog()\nINT b[3]\nb[-1]=1\nPTP {A1 10}\nEND\n", "krl")
