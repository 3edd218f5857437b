# SPDX-License-Identifier: Apache-2.0
"""Programs with a mistake in them: each is refused with file, line, column, word, and what would be valid there."""

from __future__ import annotations

import re

import numpy as np
import pytest

import armwright as aw
from armwright.programs import Fraction, Joints, Move, Pose, Program, ToolRate, check_program
from armwright.programs.program_reader import MAX_BYTES
from support.programs import EXAMPLES, GCODE, GOOD, KRL, LIRL, RAPID, URSCRIPT

# language, text to replace, by what, line, word at the place, words of the message
MISTAKES = [
    # unknown words
    ("l-irl", "move lin", "move lni", 8, "lni", "unknown kind of move; did you mean 'lin'"),
    ("l-irl", "speed=100", "sped=100", 8, "sped", "did you mean 'speed'"),
    ("l-irl", "move ptp", "jump ptp", 7, "jump", "unknown statement"),
    ("urscript", "movel(a", "movl(a", 4, "movl", "did you mean 'movel'"),
    ("urscript", "v=0.1", "w=0.1", 4, "w", "no argument 'w'"),
    ("rapid", "MoveL a", "MovL a", 6, "MovL", "did you mean 'movel'"),
    ("rapid", "robtarget a", "robotarget a", 2, "robotarget", "unknown type; did you mean 'robtarget'"),
    ("krl", "LIN a", "LINE a", 5, "LINE", "unknown word"),
    ("krl", "$VEL.CP =", "$VEL.CT =", 3, "$VEL.CT", "unknown system variable"),
    ("krl", "Y 0, Z", "Q 0, Z", 2, "Q", "unknown component"),
    ("g-code", "G1 X600", "G7 X600", 3, "G", "unknown word G7"),
    ("g-code", "G1 X600", "G1 X600 ?3", 3, "?", "begins no word"),
    ("g-code", "G1 X600", "G0 G1 X600", 3, "G", "contradict each other"),
    # targets: undeclared, declared twice
    ("l-irl", "lin a", "lin b", 8, "b", "target 'b' is not declared"),
    ("l-irl", "robtarg : v", "robtarg : a", 4, "a", "declared twice"),
    ("rapid", "jointtarget j", "jointtarget a", 3, "a", "declared twice"),
    ("krl", "  $VEL.CP", "  DECL POS a\n  $VEL.CP", 3, "a", "declared twice"),
    # missing tool, status, unit, speed
    ("rapid", "MoveL a, v100, fine, tool0", "MoveL a, v100, fine", 6, ";", "names no tool"),
    ("rapid", "[1,0,0,0],[0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]]", "[1,0,0,0]]", 2, "[", "lacks its status"),
    ("g-code", "G1 X600", "G1 X#7", 3, "X", "#7 was never set"),
    ("l-irl", " speed=100", "", 8, ";", "says no speed"),
    # comments and texts that stay open
    ("l-irl", "  move lin", "  { move lin", 8, "{", "never closed"),
    ("g-code", "G1 X600", "(G1 X600", 3, "(", "never closed"),
    ("l-irl", "speed=100;", 'speed=100 act_rob="x;', 8, '"x;', "closing quote"),
    # too few joints, items
    ("urscript", "[0, 0, 0, 0, 0, 0]", "[0, 0, 0, 0]", 3, "[", "too few joints: 4"),
    ("rapid", "j := [[0,0,0,0,0,0]", "j := [[0,0,0,0]", 3, "[", "too few items, 4"),
    ("l-irl", "position(500, 100, 600)", "position(500, 100)", 4, "(", "2 numbers given, 3 needed"),
    ("urscript", "p[0.5, 0, 0.5, 0, 0, 0]", "p[0.5, 0, 0.5]", 2, "p[", "3 numbers given, 6 needed"),
    # quaternion
    ("rapid", "[1,0,0,0],[0,0,0,0]", "[1,1,0,0],[0,0,0,0]", 2, "[", "quaternion of length 1.41421"),
    # units that cannot be meant
    ("urscript", "p[0.5, 0, 0.5,", "p[500, 0, 500,", 4, "movel", "millimetres where metres are meant"),
    ("urscript", "[0, 0, 0, 0, 0, 0]", "[0, -90, 90, 0, 0, 0]", 3, "movej", "degrees where radians are meant"),
    (
        "urscript",
        "p[0.5, 0, 0.5,",
        "p[50, 0, 0.5,",
        4,
        "movel",
        "a target 50 m away: millimetres where metres are meant",
    ),
    ("urscript", "v=0.1", "v=250", 4, "v", "a tool speed of 250 m/s: mm/s where m/s are meant? (then 0.25 m/s)"),
    ("urscript", "v=0.1", "a=1200", 4, "a", "acceleration of 1200 m/s²: mm/s² where m/s² are meant? (then 1.2 m/s²)"),
    ("urscript", "v=0.1", "r=50", 4, "r", "over 50 m: mm where m are meant? (then 0.05 m)"),
    (
        "urscript",
        "v=1.0",
        "v=180",
        3,
        "v",
        "°/s where rad/s are meant? (then 3.142 rad/s)",
    ),
    (
        "urscript",
        "0, 0, 0, 0, 0, 0]",
        "0, 0, 0, 0, 0, 0], 1200",
        3,
        "1200",
        "1200 rad/s²: °/s² where rad/s² are meant?",
    ),
    (
        "krl",
        "$VEL.CP = 0.1",
        "$VEL.CP = 250",
        5,
        "LIN",
        "a tool speed of 250 m/s: mm/s where m/s are meant? (then 0.25",
    ),
    (
        "krl",
        "$VEL.CP = 0.1",
        "$VEL.CP = 0.1\n  $ACC.CP = 2300",
        6,
        "LIN",
        "mm/s² where m/s² are meant? (then 2.3 m/s²)",
    ),
    # loops without an end
    ("krl", "  LIN a", "  FOR i=1 TO 3 STEP 0\n  LIN a\n  ENDFOR", 5, "FOR", "endless loop: STEP 0"),
    # speeds and sizes
    ("l-irl", "speed=100", "speed=0", 8, "speed", "must be finite and > 0"),
    ("l-irl", "speed=100", "speed=-5", 8, "speed", "must be finite and > 0"),
    ("l-irl", "speed_ptp=0.5", "speed_ptp=50", 7, "speed_ptp", "lies in (0, 1]"),
    ("urscript", "v=0.1", "v=0", 4, "v", "must be finite and > 0"),
    ("rapid", "MoveL a, v100", "MoveL a, v100\\V:=0", 6, "v100", "must be finite and > 0"),
    ("krl", "$VEL.CP = 0.1", "$VEL.CP = 0", 5, "LIN", "must be finite and > 0"),
    ("g-code", "F600", "F0", 2, "F", "feed must be above 0"),
    ("l-irl", "speed=100", "speed=1/0", 8, "/", "division by zero"),
    ("l-irl", "speed=100", "speed=1e999", 8, "1e999", "beyond all numbers"),
    # blocks, arcs, characters
    ("urscript", "end\n", "", 1, "def", "never closed by 'end'"),
    ("rapid", "  ENDPROC\n", "", 4, "PROC", "never closed by 'endproc'"),
    ("krl", "END\n", "", 1, "DEF", "never closed by 'end'"),
    ("g-code", "G2 X700 I50", "G2 X700 I40", 4, "G", "off the circle"),
    ("g-code", "G2 X700 I50 J0", "G2 R50", 4, "G", "names no circle"),
    ("g-code", "G2 X700 I50 J0", "G2 X700", 4, "G", "without a centre or radius"),
    ("l-irl", "move lin", "move § lin", 8, "§", "no word of the language begins with"),
    ("l-irl", "move lin a", "move lin joint(mainjoint(0,0,0,0,0,0))", 8, "joint", "not to joint angles"),
    ("l-irl", "speed=100", "speed=100 speed=200", 8, "speed", "one speed word"),
]


@pytest.mark.parametrize("language", GOOD)
def test_the_programs_without_a_mistake_are_read(language):
    assert len(aw.read_program(GOOD[language]).moves) >= 2
    assert aw.read_program(GOOD[language]).language == language


@pytest.mark.parametrize(
    "language, old, new, line, word, message", MISTAKES, ids=[f"{m[0]}: {m[2][:30].strip()!r}" for m in MISTAKES]
)
def test_a_mistake_is_named_with_its_place(language, old, new, line, word, message, tmp_path):
    suffix = {"l-irl": ".irl", "urscript": ".script", "rapid": ".mod", "krl": ".src", "g-code": ".nc"}[language]
    path = tmp_path / f"bad{suffix}"
    assert old in GOOD[language]
    text = GOOD[language].replace(old, new, 1)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(aw.ProgramError, match=re.escape(message)) as caught:
        aw.read_program(path)
    error = caught.value
    assert (error.file, error.line, error.word) == (str(path), line, word)
    assert error.valid
    assert str(path) in str(error) and f"line {line}, column {error.column}" in str(error)
    if word not in ("end of file", "end of line"):
        assert text.split("\n")[line - 1][error.column - 1 :].startswith(word)


def test_files_that_are_no_programs(tmp_path):
    def refused(content: bytes, message: str, name: str = "p.irl") -> None:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(aw.ProgramError, match=message) as caught:
            aw.read_program(tmp_path / name)
        assert caught.value.file == str(tmp_path / name)

    refused(b"", "empty")
    refused(b" \n\n", "empty")
    refused(b"\xff\xfe\x00m\x00", "p.irl: this is no text; valid here: a text file$")
    refused(b"program a;\x00\x01", "not text")
    refused(b"program a; seq endseq", "moves nowhere")
    refused(b" " * (MAX_BYTES + 1), f"at most {MAX_BYTES}")
    refused(b"hello\nworld\n", "which language is this", "p.txt")
    with pytest.raises(aw.ProgramError, match="cannot read"):
        aw.read_program(tmp_path / "missing.irl")
    with pytest.raises(aw.ProgramError, match="directory"):
        aw.read_program(tmp_path)
    with pytest.raises(aw.ProgramError, match="at most"):
        aw.read_program("\n" * (MAX_BYTES + 1))
    with pytest.raises(aw.InputError, match="l-irl, urscript, rapid, krl, g-code"):
        aw.read_program(LIRL, "basic")
    with pytest.raises(aw.InputError, match="path or the text"):
        aw.read_program(3)


def test_a_text_that_may_be_two_languages_is_asked_about():
    both = "move lin a speed=1;\nPTP {A1 0}\n"
    with pytest.raises(aw.ProgramError, match="one of l-irl, krl"):
        aw.read_program(both)


def test_loops_and_branches_that_are_known_are_followed():
    urscript = "i = 0\nwhile i < 3:\n  if i == 1:\n    sleep(1)\n  else:\n    movej([i, 0, 0, 0, 0, 0])\n  end\n"
    urscript += "  i = i + 1\nend\n"
    assert [m.kind for m in aw.read_program(urscript).moves] == ["joint", "wait", "joint"]
    rapid = RAPID.replace("    MoveL a", "    FOR i FROM 1 TO 3 DO\n    MoveL Offs(a, 0, 10*i, 0)")
    rapid = rapid.replace("  ENDPROC", "    ENDFOR\n  ENDPROC")
    assert np.allclose([m.target.T[1, 3] for m in aw.read_program(rapid).moves[1:]], [0.01, 0.02, 0.03])
    krl = KRL.replace(
        "  LIN a\n", "  DECL INT i = 0\n  REPEAT\n  LIN_REL {Z 10}\n  i = i + 1\n  UNTIL i == 2\n"
    ).replace("  PTP {A1", "  LIN a\n  ;PTP {A1")
    assert np.allclose([m.target.T[2, 3] for m in aw.read_program(krl).moves], [0.5, 0.51, 0.52])


def test_a_program_for_another_arm_is_noticed():
    planar, ur5 = aw.load("planar2"), aw.load("ur5")
    program = aw.read_program(URSCRIPT)
    check_program(program, ur5)
    with pytest.raises(aw.ProgramError, match="line 3: move 1 speaks of 6 joints, 'planar2' has 2"):
        check_program(program, planar)
    far = np.eye(4)
    far[0, 3] = 99.0
    moves = (Move("joint", Joints(np.zeros(2)), Fraction(1.0)), Move("line", Pose(far), ToolRate(0.1), line=7))
    with pytest.raises(aw.ProgramError, match=r"line 7: move 2 leads 99 m away.*millimetres"):
        check_program(Program(moves), aw.load("irb140"))


def test_small_targets_in_millimetres_are_remarked_on():
    notes = aw.read_program(
        GCODE.replace("500", "0.5").replace("600\nG2", "0.6\nG2").replace("700 I50", "0.7 I0.05")
    ).notes
    assert any("were metres written" in note.message for note in notes)


def test_readers_say_what_they_assumed():
    notes = [note.message for note in aw.read_program(EXAMPLES / "lola15dd.irl").notes]
    assert "status 4 is kept, the branch follows by continuity" in notes
    assert "3 joints are listed; any further ones keep their value" in notes
    assert any("c_ptp" in note for note in notes)


def test_a_loop_that_only_repeats_its_assignments_makes_one_pass():
    program = aw.read_program("while True:\n  a = p[0.5, 0, 0.5, 0, 0, 0]\n  movel(a)\nend\n")
    assert len(program.moves) == 1
    assert [note.line for note in program.reading.assumed if "has no end: one pass" in note.message] == [1]


def test_a_radius_that_is_too_small_is_told_in_millimetres():
    with pytest.raises(aw.ProgramError, match=r"no circle of radius 10 mm .* half the way, 15 mm"):
        aw.read_program("G21 G90 F100\nG1 X0 Y0 Z0\nG2 X30 Y0 R10\n", "g-code")
