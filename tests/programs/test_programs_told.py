# SPDX-License-Identifier: Apache-2.0
"""What a user says about a program by options: a slip of the pen there is told, never silent and never a crash."""

from __future__ import annotations

import pytest

import armwright as aw
from armwright.errors import ProgramError

TEXTS = {
    "rapid": "MODULE m\nCONST jointtarget j := [[0,1,2,0,3,0],[9E9,9E9,9E9,9E9,9E9,9E9]];\nPROC main()\n"
    "IF di1=1 MoveAbsJ home, v100, fine, tool0;\nMoveAbsJ j, v100, fine, tool0;\nENDPROC\nENDMODULE\n",
    "krl": "DEF m()\nPTP {A1 0, A2 -90, A3 90, A4 0, A5 0, A6 0}\nIF $IN[1] THEN\nPTP home2\nENDIF\nEND\n",
    "urscript": "def m():\n  movej([0,0,0,0,0,0])\n  if get_digital_in(1):\n    movej(home)\n  end\nend\n",
    "g-code": "G21 G90 F100\nG1 X0 Y0 Z0\nO1 if [#5070 GT 0]\nG1 X9\nO1 endif\n",
}
NAMED = {"rapid": "di1", "krl": "$IN[1]", "urscript": "get_digital_in_1", "g-code": "#5070"}


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_an_input_that_nothing_asks_for_is_told(language):
    told = {NAMED[language]: 1, "diReddy": 1}
    program = aw.read_program(TEXTS[language], language, inputs=told)
    said = [note.message for note in program.notes if "asks for it" in note.message]
    assert said == ["--input diReddy: nothing that was reached asks for it"]
    assert program.reading.reached == 2


@pytest.mark.parametrize("language", ["rapid", "krl", "urscript"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1,2", r"^--define home.*: expected .*valid here: "),
        ("{A1 1", r"^--define home.*: expected .*valid here: "),
        ("1 2", r"^--define home, at '2': this is behind the value's end; valid here: one value"),
        ("foo(", r"^--define home: expected a value"),
    ],
)
def test_a_definition_that_is_no_value_is_refused(language, text, said):
    with pytest.raises(ProgramError, match=said):
        aw.read_program(TEXTS[language], language, define={"home": text})


@pytest.mark.parametrize("language", ["rapid", "krl", "urscript"])
def test_a_definition_that_nothing_takes_is_told(language):
    value = {"rapid": "[[0,1,2,0,3,0],[9E9,9E9,9E9,9E9,9E9,9E9]]", "krl": "{A1 0}", "urscript": "[0,0,0,0,0,1]"}[
        language
    ]
    name = {"krl": "home2"}.get(language, "home")
    told = {name: value, "Hoem": value}
    program = aw.read_program(TEXTS[language], language, define=told, inputs={NAMED[language]: 1})
    said = [note.message for note in program.notes if "--define" in note.message]
    assert said == ["--define Hoem: nothing that was reached takes it"]
    assert program.reading.whole and program.reading.reached == 2


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_a_file_of_the_controller_that_is_missing_is_refused(language, tmp_path):
    missing = tmp_path / "config.dat"
    with pytest.raises(ProgramError, match=r"config\.dat: cannot read: no such file") as caught:
        aw.read_program(TEXTS[language], language, config=missing)
    assert caught.value.file == str(missing)


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_no_pass_at_all_is_refused(language):
    with pytest.raises(aw.InputError, match="passes: expected 1 or more, got 0"):
        aw.read_program(TEXTS[language], language, passes=0)


def test_truth_is_told_as_the_language_writes_it():
    program = aw.read_program(TEXTS["rapid"], "rapid")
    assert any("depends on di1: taken as FALSE" in note.message for note in program.notes)
    flag = TEXTS["rapid"].replace("PROC main()", "VAR bool go;\nPROC main()")
    flag = flag.replace("IF di1=1 MoveAbsJ home", "go := di1=1;\nIF go THEN\nMoveAbsJ home").replace(
        "MoveAbsJ j", "ENDIF\nMoveAbsJ j"
    )
    program = aw.read_program(flag, "rapid")
    said = [note.message for note in program.notes]
    assert any("taken as FALSE" in words for words in said) and any("it needs go = TRUE" in words for words in said)
    assert [needs for _, _, needs in program.reading.not_run] == ["go = TRUE"]


def test_a_definition_of_another_type_is_refused():
    wrong = '[[1,2,"a"],[1,0,0,0],[0,0,0,0],[0,0,0,0,0,0]]'
    with pytest.raises(ProgramError, match=r"^--define home: expected a number for z; valid here: a robtarget"):
        aw.read_program(TEXTS["rapid"], "rapid", define={"home": wrong})


def test_a_name_that_no_file_has_is_told_with_what_says_it():
    program = aw.read_program(TEXTS["rapid"], "rapid", inputs={"di1": 1})
    assert program.reading.gaps[0].reason == (
        "'home' is not declared in the files that were read; --define or --more says it"
    )


def test_a_text_that_doubles_itself_ends():
    text = 'def m():\n  s = "a"\n  i = 0\n  while i < 60:\n    s = str_cat(s, s)\n    i = i + 1\n  end\nend\n'
    with pytest.raises(ProgramError, match="a text of more than 100000 characters"):
        aw.read_program(text, "urscript")


def test_texts_saved_as_utf_16_are_read(tmp_path):
    file = tmp_path / "m.mod"
    file.write_bytes(TEXTS["rapid"].encode("utf-16"))
    assert aw.read_program(file) == aw.read_program(TEXTS["rapid"], "rapid")
    file.write_bytes(b"\x00\xff" + bytes(40))
    with pytest.raises(ProgramError, match=r"m\.mod"):
        aw.read_program(file)


POLLING = {
    "rapid": "MODULE m\nPROC main()\nWHILE di1=0 DO\n{}\nENDWHILE\nMoveAbsJ [[1,0,0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]],"
    "v100,fine,tool0;\nENDPROC\nENDMODULE\n",
    "krl": "DEF m()\nPTP {{A1 0,A2 -90,A3 90,A4 0,A5 0,A6 0}}\nREPEAT\n{}\nUNTIL $IN[1]\nEND\n",
    "urscript": "def m():\n  while not get_digital_in(1):\n    {}\n  end\n  movej([1,0,0,0,0,0])\nend\n",
}
IN_THE_LOOP = {
    "rapid": ("WaitTime 0.5;", "MoveAbsJ [[2,0,0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]],v100,fine,tool0;"),
    "krl": ("WAIT SEC 0.5", "PTP {A1 2}"),
    "urscript": ("sleep(0.5)", "movej([2,0,0,0,0,0])"),
}


@pytest.mark.parametrize("language", sorted(POLLING))
def test_a_loop_on_an_input_goes_round_once_for_every_reading_that_is_told(language):
    for words in IN_THE_LOOP[language]:
        text = POLLING[language].format(words)
        for readings in ([0, 0, 0, 1], [0, 1], [1]):
            inputs = {NAMED[language]: [bool(r) for r in readings] if language != "rapid" else readings}
            rounds = len(readings) - (language != "krl")  # KRL's loop tests at its end
            assert len(aw.read_program(text, language, inputs=inputs).moves) == 1 + rounds
        assert len(aw.read_program(text, language).moves) == 2  # nothing told: one pass
