# SPDX-License-Identifier: Apache-2.0
"""Branches that a program's text does not decide, taken one at a time; waits as long as the user says."""

from __future__ import annotations

import pytest

import armwright as aw
from armwright.programs import Duration, read_branches
from armwright.programs.program_branches import MOST_BRANCHES

RAPID = """MODULE m
CONST robtarget p := [[500,0,400],[1,0,0,0],[0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]];
PROC main()
{body}
ENDPROC
ENDMODULE
"""
KRL = "DEF prog()\n$VEL.CP=0.1\nPTP {{X 0,Y 0,Z 400,A 0,B 0,C 0}}\n{body}\nEND\n"


def rapid(body: str) -> str:
    return RAPID.format(body=body)


def krl(body: str) -> str:
    return KRL.format(body=body)


def go(x: int) -> str:
    return f"MoveL Offs(p,{x},0,0), v100, fine, tool0;"


def lin(x: int) -> str:
    return f"LIN {{X {x}}}"


def xs(program, less: float = 500.0) -> list[int]:
    """Where the moves lead along x, from `less` [mm]."""
    return [round(1e3 * m.target.T[0, 3] - less) for m in program.moves if m.kind != "wait"]


def variants(text: str, language: str, less: float = 500.0, **told) -> list[tuple[str, list[int]]]:
    found = read_branches(text, language, **told)
    assert found.left == 0
    return [(one.words, xs(one.program, less)) for one in found.variants]


TWO = f"IF di1=1 THEN\n{go(1)}\nELSE\n{go(2)}\nENDIF\nIF di2=1 THEN\n{go(3)}\nENDIF"


def test_two_tests_make_three_variants_not_four():
    assert variants(rapid(TWO), "rapid") == [
        ("as read by default", [2]),
        ("line 4: true (di1)", [1]),
        ("line 9: true (di2)", [2, 3]),
    ]


def test_what_the_user_tells_is_decided():
    assert [moves for _, moves in variants(rapid(TWO), "rapid", inputs={"di1": 1})] == [[1], [1, 3]]
    assert [moves for _, moves in variants(rapid(TWO), "rapid", inputs={"di1": 1, "di2": 0})] == [[1]]


def test_a_branch_within_a_branch_is_found_in_its_variant():
    body = f"IF di1=1 THEN\n{go(1)}\nIF di2=1 THEN\n{go(2)}\nENDIF\nELSE\n{go(3)}\nENDIF"
    assert [moves for _, moves in variants(rapid(body), "rapid")] == [[3], [1], [1, 2]]


def test_every_case_of_a_choice():
    body = f"TEST gi1\nCASE 1,2:\n{go(1)}\nCASE 3:\n{go(3)}\nDEFAULT:\n{go(9)}\nENDTEST"
    found = variants(rapid(body), "rapid")
    assert [moves for _, moves in found] == [[9], [1], [3]]
    assert found[1][0] == "line 4: 1 or 2 (gi1)"
    reading = aw.read_program(rapid(body), "rapid").reading
    assert [needs for _, _, needs in reading.not_run] == ["gi1 = 1 or 2", "gi1 = 3"]


def test_a_test_in_a_loop_goes_the_same_way_in_all_passes():
    body = f"FOR i FROM 1 TO 3 DO\nIF di1=1 THEN\n{go(1)}\nELSE\n{go(2)}\nENDIF\nENDFOR"
    assert [moves for _, moves in variants(rapid(body), "rapid")] == [[2, 2, 2], [1, 1, 1]]


def test_krl_branches():
    body = f"IF $IN[3]==TRUE THEN\n{lin(1)}\nELSE\n{lin(2)}\nENDIF"
    body += f"\nIF NOT $IN[4] THEN\n{lin(3)}\nELSE\n{lin(4)}\nENDIF"
    found = variants(krl(body), "krl", 0.0)
    assert [moves for _, moves in found] == [[0, 2, 3], [0, 1, 3], [0, 2, 4]]
    assert found[1][0] == "line 4: true ($IN[3])" and found[2][0] == "line 9: false ($IN[4])"


def test_gcode_branches():
    body = "G21 G90 F100\nG1 X0 Y0 Z0\nO1 if [#5070 GT 0]\nG1 X1\nO1 else\nG1 X2\nO1 endif\n"
    assert [moves for _, moves in variants(body, "g-code", 0.0)] == [[0, 2], [0, 1]]
    reading = aw.read_program(body, "g-code").reading
    assert reading.not_run == ((4, 4, "line 3 to hold"),)


@pytest.mark.parametrize(
    ("test", "needs"),
    [
        ("di3=1", "di3 = 1"),
        ("di3<>0", "di3 <> 0"),
        ("NOT (di3=0)", "di3 <> 0"),
        ("DInput(di3)=1", "DInput(di3) = 1"),
        ("di3=1 AND di4=1", "di3, di4"),
    ],
)
def test_coverage_says_what_lines_need(test, needs):
    text = rapid(f"{go(0)}\nIF {test} THEN\n{go(1)}\n{go(2)}\nENDIF")
    program = aw.read_program(text, "rapid")
    assert program.reading.not_run == ((6, 7, needs),)
    assert any(note.message == f"this and all down to line 7 did not run; they need {needs}" for note in program.notes)


def test_coverage_of_krl_and_of_the_other_branch():
    text = krl(f"IF $IN[3] THEN\n{lin(1)}\nENDIF")
    assert aw.read_program(text, "krl").reading.not_run == ((5, 5, "$IN[3] = 1"),)
    text = rapid(f"IF di1=0 THEN\n{go(1)}\nELSE\n{go(2)}\nENDIF")
    assert aw.read_program(text, "rapid").reading.not_run == ((7, 7, "di1 <> 0"),)


def test_not_more_than_sixteen_and_the_rest_is_counted():
    body = "\n".join(f"IF di{k}=1 THEN\n{go(k)}\nENDIF" for k in range(20))
    found = read_branches(rapid(body), "rapid")
    assert (len(found.variants), found.left) == (MOST_BRANCHES, 21 - MOST_BRANCHES)


def test_a_variant_that_is_refused_says_why_and_the_others_stand():
    body = f"{go(0)}\nIF di1=1 THEN\nMoveL Offs(p,1e9,0,0), v100, fine, tool0;\nENDIF\nIF di2=1 THEN\n{go(2)}\nENDIF"
    default, other, last = read_branches(rapid(body), "rapid").variants
    assert xs(default.program) == [0] and xs(last.program) == [0, 2]
    assert other.program is None and "m away" in str(other.error) and "line 6" in str(other.error)


# --- waits ------------------------------------------------------------------------------------------------------------


def waits(program) -> list[float]:
    return [m.speed.seconds for m in program.moves if m.kind == "wait" and isinstance(m.speed, Duration)]


@pytest.mark.parametrize(
    ("text", "language", "name"),
    [
        (rapid(f"{go(0)}\nWaitDI di1, 1;\n{go(1)}"), "rapid", "di1"),
        (rapid(f"{go(0)}\nWaitUntil di1=1;\n{go(1)}"), "rapid", "DI1"),
        (krl(f"{lin(0)}\nWAIT FOR $IN[7]\n{lin(1)}"), "krl", "$IN[7]"),
        ("G21 G90 F100\nG1 X0 Y0 Z0\nM0\nG1 X1\n", "g-code", "M0"),
    ],
)
def test_a_wait_takes_as_long_as_told(text, language, name):
    default = aw.read_program(text, language)
    assert waits(default) == []
    told = aw.read_program(text, language, waits={name: 2.5})
    assert waits(told) == [2.5]
    assert [m.kind for m in told.moves][-2:] == ["wait", "line"]
    assert not any("lower bound" in note.message for note in told.notes)


def test_a_wait_that_nothing_waits_for_is_told_and_bad_times_are_refused():
    text = rapid(f"{go(0)}\nWaitDI di1, 1;\n{go(1)}")
    program = aw.read_program(text, "rapid", waits={"di9": 1.0})
    assert any("--wait di9" in note.message for note in program.notes) and waits(program) == []
    for bad in (-1.0, float("inf"), float("nan"), "2", True):
        with pytest.raises(aw.InputError, match="waits: di1: expected seconds"):
            aw.read_program(text, "rapid", waits={"di1": bad})


def test_a_branch_that_ran_in_another_call_did_run():
    text = "o<f> sub\no1 if [#1 GT 1]\nG1 X1\no1 else\nG1 X2\no1 endif\no2 if [#1 GT 9]\nG1 X9\no2 endif\n"
    text += "o<f> endsub\nG21 G90 F100\nG1 X0 Y0 Z0\no<f> call [1]\no<f> call [2]\nM2\n"
    program = aw.read_program(text, "g-code")
    assert [round(1e3 * move.target.T[0, 3]) for move in program.moves] == [0, 2, 1]
    assert program.reading.not_run == ((8, 8, "line 7 to hold"),)
    assert "did not run; it needs line 7 to hold" in [note.message for note in program.notes]
