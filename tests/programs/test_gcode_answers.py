# SPDX-License-Identifier: Apache-2.0
"""G-code programs whose moves are known beforehand: each rule of the language once, and each trap."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import armwright as aw
from armwright.programs import Distance, Duration, Fraction, Stop, Tangent, ToolRate
from armwright.programs.languages.gcode import GcodeReader
from armwright.programs.reading import ReadOptions

HEAD = "G21 G90 F600\nG0 X0 Y0 Z0\n"


def read(body: str, head: str = HEAD, **options):
    return aw.read_program(head + body + "\n", "g-code", **options)


def places(program) -> list[tuple[float, ...]]:
    """Return the places of all moves but the first, in the base [mm]."""
    moves = [m for m in program.moves if m.kind != "wait"][1:]
    return [tuple(np.round(1e3 * (m.T_base_frame @ m.target.T)[:3, 3], 6).tolist()) for m in moves]


def xs(program) -> list[float]:
    return [p[0] for p in places(program)]


# what it shows, program behind HEAD, x of its moves [mm]
ANSWERS = [
    ("a colon is ISO's O: the program's number", ":1234\nG1 X1\n", [1]),
    ("modal motion", "G1 X1\nX2\nG0 X3\nX4", [1, 2, 3, 4]),
    ("no blanks, lower case, line numbers", "n10g1x1y2\nN20 g1 x 3", [1, 3]),
    ("comments", "G1 (X9) X1 ; X9\n(X9)\n;X9\nX2 (a (nested) one)", [1, 2]),
    ("incremental", "G91 G1 X1\nX1\nG90 X1", [1, 2, 1]),
    ("inches", "G20 G1 X1\nG21 X1", [25.4, 1]),
    ("M2 ends", "G1 X1\nM2\nX2", [1]),
    ("percent ends", "G1 X1\n%\nX2", [1]),
    ("M0 and M1 go on", "G1 X1\nM0\nX2\nM1\nX3", [1, 2, 3]),
    ("block delete is off", "/G1 X1\n/ X2", [1, 2]),
    ("G92 shifts", "G1 X10\nG92 X0\nX5\nG92.1\nX5", [10, 15, 5]),
    ("G92.2 and G92.3", "G1 X10\nG92 X0\nX1\nG92.2\nX1\nG92.3\nX1", [10, 11, 1, 11]),
    ("G10 L2", "G10 L2 P2 X100 Y0 Z0\nG1 X1\nG55 X1\nG54 X1", [1, 101, 1]),
    ("G10 L20", "G1 X10\nG10 L20 P1 X0\nX1", [10, 11]),
    ("G52", "G52 X5\nG1 X1\nG52 X0\nX1", [6, 1]),
    ("variables", "#1=3\n#2=[#1*2+1]\nG1 X#2\nX-#1\nX[#1-#2]", [7, -3, -4]),
    ("variables of variables", "#3=7\n#7=11\nG1 X##3", [11]),
    ("a line's words have the old values", "#1=3\nG1 X#1 #1=5\nX#1", [3, 5]),
    ("named variables", "#<a b>=4\nG1 X#<ab>", [4]),
    ("precedence", "G1 X[1+2*3**2/6-1]", [3]),
    ("degrees", "G1 X[10*SIN[30]]\nX[ATAN[1]/[1]]\nX[ATAN[1]/[-1]]\nXACOS[0]\nX LN[1]", [5, 45, 135, 90, 0]),
    ("rounding", "G1 X[ROUND[2.5]]\nX[FIX[-2.5]]\nX[FUP[2.1]]\nX[7 MOD 3]\nX[-7 MOD 3]", [3, -3, 3, 1, 2]),
    ("comparisons", "G1 X[2 GT 1]\nX[[2 LT 1] OR [1 EQ 1]]\nX[1 AND 0]\nX[1 XOR 1]", [1, 1, 0, 0]),
    ("o if", "#1=2\no1 if [#1 EQ 1]\nG1 X1\no1 elseif [#1 EQ 2]\nG1 X2\no1 else\nG1 X3\no1 endif\nX4", [2, 4]),
    ("o while", "#1=0\no1 while [#1 LT 3]\n#1=[#1+1]\nG1 X#1\no1 endwhile\nX9", [1, 2, 3, 9]),
    ("o do while", "#1=0\no1 do\n#1=[#1+1]\nG1 X#1\no1 while [#1 LT 2]\nX9", [1, 2, 9]),
    ("o repeat", "G91\no1 repeat [3]\nG1 X1\no1 endrepeat\nX10", [1, 2, 3, 13]),
    (
        "o break and continue",
        "#1=0\no1 while [#1 LT 9]\n#1=[#1+1]\no2 if [#1 EQ 2]\no1 continue\no2 endif\n"
        "o3 if [#1 EQ 4]\no1 break\no3 endif\nG1 X#1\no1 endwhile\nX20",
        [1, 3, 20],
    ),
    ("o sub", "o<go> sub\nG1 X#1\n#1=50\no<go> endsub\n#1=7\no<go> call [2]\no<go> call [#1+1]\nX#1", [2, 8, 7]),
    ("an endless loop is one pass", "o1 while [1]\nG1 X1\no1 endwhile\nX2", [1, 2]),
    ("Fanuc while", "#1=0\nWHILE[#1LT2]DO1\n#1=#1+1\nG1X#1\nEND1\nX9", [1, 2, 9]),
    ("Fanuc if and goto", "#1=0\nN5 #1=#1+1\nG1 X#1\nIF[#1LT3]GOTO5\nIF[#1EQ3]THEN#1=30\nX#1", [1, 2, 3, 30]),
    ("Fanuc goto with an exit", "#1=0\nN5#1=#1+1\nG1X#1\nIF[#1EQ2]GOTO9\nGOTO5\nN9X9", [1, 2, 9]),
    ("goto without an exit is one pass", "N5 G1 X1\nX2\nGOTO5\nX3", [1, 2, 3]),
    ("M98", "M98 P1000 L2\nG90 X9\nM30\nO1000\nG91 G1 X1\nM99", [1, 2, 9]),
    ("M98 with its count in P", "M98 P21000\nM30\nO1000\nG91 G1 X1\nM99", [1, 2]),
    ("G65", "#1=5\nG65 P1000 A2 X4\nG1 X#1\nM30\nO1000\nG1 X#1\nX#24\nM99", [2, 4, 5]),
    ("vacant", "IF[#5EQ#0]GOTO9\nG1X1\nN9G1X2", [2]),
    ("settings with axis words move nothing", "G1 X1\nM201 X500 Y500\nM203 X9\nM92 X80\nM900 K1\nX2", [1, 2]),
    ("G80 ends a cycle", "G0 Z5\nG81 X1 Z-1 R2\nG80\nG0 X2", [0, 1, 1, 1, 1, 2]),
    ("a probe finds nothing", "G38.2 X5\nG1 X6", [5, 6]),
    ("a probe of one block", "G1 X1\nG31 X5\nX6", [1, 5, 6]),
    ("R of a printer's progress is no radius", "G2 X10 R5\nM73 P5 R10\nX0 R5\nM73 P6 R9\nG1 X1", [10, 0, 1]),
    ("an arc in force needs an axis", "G3 X10 I5\nI-5\nX0 I-5\nG1 X1", [10, 0, 1]),
    ("lengths of tools shift nothing", "G43 H1\nG1 X1\nG49\nX2", [1, 2]),
    ("bracketed numbers of axes", "#7=2\nG1 X-#7 Y[1]\nX[-[#7]]", [-2, -2]),
    ("G0 G80 in one block", "G0 G80 X3", [3]),
]


@pytest.mark.parametrize("body, answer", [a[1:] for a in ANSWERS], ids=[a[0] for a in ANSWERS])
def test_moves_lead_where_the_rule_says(body, answer):
    assert xs(read(body)) == pytest.approx(answer)
    assert read(body).reading.whole


# what it shows, program behind HEAD, z of its moves [mm]
HOLES = [
    ("G81 with G98", "Z10\nG98 G81 X1 Z-3 R2", [10, 10, 2, -3, 10]),
    ("G81 with G99", "Z10\nG99 G81 X1 Z-3 R2\nX2", [10, 10, 2, -3, 2, 2, -3, 2]),
    ("from below R", "Z-5\nG99 G81 X1 Z-8 R2", [-5, 2, 2, -8, 2]),
    ("G85 comes out at the feed", "Z10\nG98 G85 X1 Z-3 R2", [10, 10, 2, -3, 2, 10]),
    ("G83 comes out between pecks", "Z2\nG99 G83 X1 Z-3 R2 Q3", [2, 2, -1, 2, -0.746, -3, 2]),
    ("G73 lifts a little", "Z2\nG99 G73 X1 Z-3 R2 Q3", [2, 2, -1, -0.746, -3, 2]),
    ("in G91 R counts from Z, Z from R", "Z10\nG91 G99 G81 X1 Z-3 R-8", [10, 10, 2, -1, 2]),
    ("L repeats", "Z2\nG91 G99 G81 X1 Z-1 R0 L2", [2, 2, 1, 2, 2, 1, 2]),
]


@pytest.mark.parametrize("body, answer", [a[1:] for a in HOLES], ids=[a[0] for a in HOLES])
def test_canned_cycles(body, answer):
    assert [p[2] for p in places(read("G0 " + body))] == pytest.approx(answer)


def test_a_cycle_drills_with_the_feed_and_repeats_along_x():
    program = read("G0 Z2\nG91 G99 G82 X5 Z-1 R0 P0.5 L2")
    assert [m.kind for m in program.moves[2:]] == ["joint", "line", "wait", "joint"] * 2
    assert program.moves[3].speed == ToolRate(0.01) and program.moves[4].speed == Duration(0.5)
    assert xs(program)[1:] == pytest.approx([5, 5, 5, 10, 10, 10])


# dialect, words, seconds
WAITS = [
    *(("linuxcnc", "G4 P0.5", 0.5), ("grbl", "G4 P2", 2.0), ("marlin", "G4 P500", 0.5), ("marlin", "G4 S2", 2.0)),
    *(("fanuc", "G4 P500", 0.5), ("fanuc", "G4 P2.", 2.0), ("fanuc", "G4 X1.5", 1.5)),
]


@pytest.mark.parametrize("dialect, words, seconds", WAITS)
def test_dwells_count_as_their_dialect_does(dialect, words, seconds):
    waits = [m for m in read(words, dialect=dialect).moves if m.kind == "wait"]
    assert [w.speed.seconds for w in waits] == pytest.approx([seconds])
    assert len(read(words, dialect=dialect).moves) == 2


# words behind X100 Y0 Z0: via x, y; end x, y [mm]; angle
ARCS = [
    ("G3 X0 Y100 I-100 J0", (70.7107, 70.7107), (0, 100), None),
    ("G3 X0 Y100 R100", (70.7107, 70.7107), (0, 100), None),
    ("G2 X0 Y100 R-100", (-70.7107, -70.7107), (0, 100), None),
    ("G2 X0 Y100 I-100", (-70.7107, -70.7107), (0, 100), None),
    ("G90.1 G3 X0 Y100 I0 J0", (70.7107, 70.7107), (0, 100), None),
    ("G91 G3 X-100 Y100 I-100", (70.7107, 70.7107), (0, 100), None),
    ("G3 I-100", (-50, 86.6025), (-50, -86.6025), 2 * math.pi),
    ("G2 I-100", (-50, -86.6025), (-50, 86.6025), 2 * math.pi),
    ("G3 I-100 P3", (-50, 86.6025), (-50, -86.6025), 6 * math.pi),
    ("G3 X0 Y100.004 I-100 J0", (70.7121, 70.7121), (0, 100.004), None),  # off by less than rounding: spread
]


@pytest.mark.parametrize("words, via, end, angle", ARCS, ids=[a[0] for a in ARCS])
def test_arcs(words, via, end, angle):
    arc = read(f"G1 X100\n{words}").moves[-1]
    assert arc.kind == "arc" and arc.speed == ToolRate(0.01)
    assert 1e3 * arc.via.T[:2, 3] == pytest.approx(via, abs=1e-3)
    assert 1e3 * arc.target.T[:2, 3] == pytest.approx(end, abs=1e-3)
    assert arc.arc_angle == (None if angle is None else pytest.approx(angle))


@pytest.mark.parametrize(
    "plane, words, via", [("G18", "G3 Z0 X100 K-100 I0", (2, 0)), ("G19", "G3 Y0 Z100 J-100", (1, 2))]
)
def test_arcs_of_other_planes(plane, words, via):
    start = "G1 Z100" if plane == "G18" else "G1 Y100"
    middle = read(f"{start}\n{plane} {words}").moves[-1].via.T[:3, 3]
    assert [1e3 * middle[axis] for axis in via] == pytest.approx([70.7107, 70.7107], abs=1e-3)


def test_a_helix_rises_evenly_with_its_angle():
    program = read("G1 X10\nG3 X-10 Z5 I-10 P2\nG1 X0")
    arcs = [m for m in program.moves if m.kind == "arc"]
    turn = 3 * math.pi  # half a turn and one more
    for k, arc in enumerate(arcs):
        for share, target in (((k + 0.5) / len(arcs), arc.via), ((k + 1) / len(arcs), arc.target)):
            angle = share * turn
            assert 1e3 * target.T[:3, 3] == pytest.approx(
                [10 * math.cos(angle), 10 * math.sin(angle), 5 * share], abs=1e-9
            )
    assert len(arcs) >= 18 and {type(arc.blend).__name__ for arc in arcs[:-1]} == {"Tangent"}


# program, kind and value of the speed of its last move
SPEEDS = [
    ("G1 X1 F60", ToolRate, "linear", 0.001),
    ("G20 G1 X1 F60", ToolRate, "linear", 0.0254),
    ("G93 G1 X1 F2", Duration, "seconds", 30.0),
    ("G95 S120 G1 X1 F0.5", ToolRate, "linear", 0.001),
    ("G0 X1 F60", Fraction, "value", 1.0),
]


@pytest.mark.parametrize("body, kind, name, value", SPEEDS)
def test_speeds(body, kind, name, value):
    found = read(body).moves[-1].speed
    assert type(found) is kind and getattr(found, name) == pytest.approx(value)


def test_a_printers_rapid_is_as_fast_as_its_feed_and_homing_has_no_path():
    program = aw.read_program(
        "M104 S200\nG28\nG1 X0 Y0 Z0 F600\nG0 X1 E2\nM204 X5 P3\nG1 E5\nG92 E0\nG28 X0\n", "g-code"
    )
    assert xs(program) == [1] and program.moves[1].speed == ToolRate(0.01) and program.reading.whole
    said = " ".join(note.message for note in program.notes)
    assert "marlin" in said and "no path here" in said and "E words" in said


# program behind HEAD, what its first line does at its end
CORNERS = [
    ("G1 X1\nX2", Stop()),
    ("G61 G1 X1\nX2", Stop()),
    ("G61.1 G1 X1\nX2", Stop()),
    ("G64 G1 X1\nX2", Tangent()),
    ("G64 P0.5 Q0.1 G1 X1\nX2", Distance(0.0005)),
    ("G64 P0.5 G1 X1\nG61 X2", Distance(0.0005)),
    ("G64 P0 G1 X1\nX2", Stop()),
]


@pytest.mark.parametrize(("body", "blend"), CORNERS, ids=[c[0].split("\n")[0] for c in CORNERS])
def test_corners(body, blend):
    assert read(body).moves[1].blend == blend


def test_words_of_one_block_take_effect_in_the_order_of_the_controllers():
    """Feed, units, offsets and distance mode before the motion, wherever they stand in the line."""
    program = read("X1 G1 F60\nX1 G91\nX1 G20 G90\nX5 G21 F120", define={"G55": "100,0,0"})
    assert xs(program) == pytest.approx([1, 2, 25.4, 5])
    assert [m.speed for m in program.moves[1:]] == [ToolRate(0.001)] * 3 + [ToolRate(0.002)]
    assert xs(read("X1 G55 G1", define={"G55": "100,0,0"})) == [101]


# what is not known, program, known and reached moves, words of the gap
GAPS = [
    ("home", "G28 Z0\nG1 X1\nZ0", (2, 4), "--machine-home"),
    ("a second home", "G30 Z0\nG1 X1\nZ0", (2, 4), "--machine-home"),
    ("machine", "G53 G0 Z0\nG1 X1\nX1 Z0", (2, 4), "--machine-frame"),
    ("another offset", "G55 G1 X1\nX2\nG54 X1 Y1 Z1", (2, 4), "--define G55"),
    ("cutter", "G41 D1 G1 X1\nX2\nG40 X3", (2, 4), "--define D=0"),
    ("a thread", "G33 Z-5 K1\nG1 X1", (2, 3), "spindle"),
    ("a rotary axis", "G1 X1 A90\nX2\nA0", (1, 4), "--lock-external"),
    ("a variable of the controller", "G1 X#5061\nX1", (2, 3), "#5061"),
]


@pytest.mark.parametrize("body, counts, words", [g[1:] for g in GAPS], ids=[g[0] for g in GAPS])
def test_what_is_not_known_is_a_gap_and_never_zero(body, counts, words):
    reading = read(body).reading
    assert (reading.known, reading.reached) == counts
    assert words in reading.gaps[0].reason and reading.gaps[0].line == 3


def test_a_move_without_a_feed_is_a_gap():
    program = aw.read_program("G21\nG0 X0 Y0 Z0\nG1 X1\nG1 X2 F60\n", "g-code")
    assert [gap.line for gap in program.reading.gaps] == [3] and "--define F" in program.reading.gaps[0].reason
    told = aw.read_program("G21\nG0 X0 Y0 Z0\nG1 X1\nG1 X2 F60\n", "g-code", define={"F": "120"})
    assert told.reading.whole and told.moves[1].speed.linear == pytest.approx(0.002)


def test_options_close_the_gaps():
    frame = np.eye(4)
    frame[:3, 3] = [0.0, 0.0, 0.4]
    home = read("G91 G28 Z10\nG90 G1 X1", machine_home=(0.1, 0.2, 0.0), machine_frame=frame)
    assert places(home) == [(0, 0, 10), (0, 0, 400), (1, 0, 400)]
    assert places(read("G53 G0 Z-5\nG1 X1", machine_frame=frame)) == [(0, 0, 395), (1, 0, 395)]
    assert xs(read("G55 G1 X1", define={"G55": "100,0,0"})) == [101]
    assert xs(read("G55 G1 X1", assume_frames=True)) == [1]
    assert xs(read("G41 D1 G1 X1\nX2", define={"D": 0})) == [1, 2]
    assert xs(read("G1 X1 A90", lock_external=True)) == [1]
    assert xs(read("G1 X#5061\nX1", inputs={"#5061": 4.0})) == [4, 1]
    assert xs(read("/G1 X1\nG1 X2", inputs={"/": 1.0})) == [2]


def test_the_part_and_the_tools_axis():
    part = np.eye(4)
    part[:3, 3] = [0.5, 0.0, 0.1]
    program = read("G1 X1", part=part, tool_axis=(0, 0, -1), spin=math.pi / 2)
    assert places(program) == [(501, 0, 100)]
    R = program.moves[1].target.T[:3, :3]
    assert R[:, 2] == pytest.approx([0, 0, -1]) and R[:, 0] == pytest.approx([0, -1, 0])
    assert program.moves[1].orientation == "slerp"


def test_axes_that_were_not_named_stay_where_the_arm_stands():
    program = aw.read_program("G21 G90 F600\nG0 Z500\nG91 G1 X10\nG90 X450 Y0\n", "g-code")
    assert [m.target.free for m in program.moves] == [(True, True, False), (True, True, False), (False,) * 3]
    robot = aw.load("ur5")
    q = np.array([0.3, -1.6, 1.8, -1.7, -1.5, 0.0])
    plan = aw.plan_program(robot, program, start_q=q)
    first = aw.fk(robot, q)[:3, 3]
    ends = [plan.T_base_tool[np.flatnonzero(plan.move == k)[-1], :3, 3] for k in range(3)]
    assert ends[0] == pytest.approx([first[0], first[1], 0.5], abs=2e-3)
    assert ends[1] == pytest.approx([first[0] + 0.01, first[1], 0.5], abs=2e-3)
    assert ends[2] == pytest.approx([0.45, 0.0, 0.5], abs=2e-3)


def test_zero_may_be_where_the_arm_stands():
    program = aw.read_program("G21 G92 X0 Y0 Z0\nG1 X10 F600\nX30 Y5\nG2 X40 I5\n", "g-code")
    assert all(m.target.free == (True,) * 3 for m in program.moves) and program.reading.whole
    assert [1e3 * m.target.T[0, 3] for m in program.moves] == pytest.approx([10, 20, 10])
    assert 1e3 * program.moves[2].via.T[:2, 3] == pytest.approx([5, 5])


# program behind HEAD, words of the refusal
REFUSED = [
    ("G1 X1 X2", "stands twice"),
    ("G17 G18", "contradict each other"),
    ("G90 G91 X1", "contradict each other"),
    ("G2 X10 R0", "no circle"),
    ("G2 X10 I4", "off the circle"),
    ("G5 X1 I1 J1", "a spline"),
    ("G83 X1 Z-1 R1", "needs Q"),
    ("G81 X1 Z-1", "lacks R"),
    ("G81 X1 Z3 R1", "above R"),
    ("G1 X[1/0]", "division by zero"),
    ("G1 X#<nobody>", "never set"),
    ("G1 X[1", "never closed"),
    ("o1 while [1]\nG1 X1", "never closed"),
    ("GOTO 7", "no line N7"),
    ("N9 G1 X1\nX2 GOTO9", "stands in the line of a test or jump"),
    ("#1=1\nF[#1EQ2]GOTO9\nN9 G1 X1", "stands in the line of a test or jump"),
    ("G1 X", "needs a number"),
    ("G4", "how long"),
    ("o1 sub\no1 call\no1 endsub\no1 call", "calls within each other"),
    ("#1=0\no1 while [#1 LT 1]\n#2=[#2+1]\no1 endwhile", "never set"),
]


@pytest.mark.parametrize("body, words", REFUSED)
def test_refused(body, words):
    with pytest.raises(aw.ProgramError, match=words) as caught:
        read(body)
    assert caught.value.line >= 3 and caught.value.valid


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("o1 if [0]\nG1 X1\no1 endf\nX2", r"endif in lines 3 to 7; line 5 is not understood: unknown word 'endf'"),
        ("o1 d\nG1 X1\no1 while [0]", "unknown word 'd' behind a number of O"),
        ("G1 Q9 X1\nQ50\nG2 X10 I4", r"off the circle .*left out: line 4: Q mean nothing .*; line 3: Q mean nothing"),
    ],
)
def test_a_refusal_names_the_slip_that_led_to_it(body, words):
    with pytest.raises(aw.ProgramError, match=words):
        read(body)


def test_all_obstacles_are_told_at_once():
    with pytest.raises(aw.ProgramError, match=r"2 more in the way: line 4 .*line 5") as caught:
        read("G1 X1 X2\nG5 X1\nG1 X#9")
    assert caught.value.line == 3


def test_a_missing_subprogram_is_unread_and_a_neighbour_is_found(tmp_path):
    assert "may move the arm" in read("M98 P7").reading.unread[0].message
    (tmp_path / "main.ngc").write_text(HEAD + "M98 P7\nG1 X9\no<deep> call [3]\nM2\n", encoding="utf-8")
    (tmp_path / "other.ngc").write_text("O0007\nG1 X5\nM99\n", encoding="utf-8")
    (tmp_path / "deep.ngc").write_text("o<deep> sub\nG1 X#1\no<deep> endsub\nM2\n", encoding="utf-8")
    program = aw.read_program(tmp_path / "main.ngc")
    assert xs(program) == [5, 9, 3] and len(program.reading.files) == 3


def test_guesses_and_checksums_are_noted():
    def said(text: str) -> str:
        return " ".join(note.message for note in aw.read_program(text, "g-code").notes)

    assert "of grbl" in said("$H\nG1 X1 Y1 Z1 F1\n")
    assert "of fanuc" in said("O1000\nG1 X1 Y1 Z1 F1\n")
    assert "of linuxcnc" in said("#<a>=1\nG1 X1 Y1 Z1 F1\n")
    assert "no unit was said" in said("G1 X1 Y1 Z1 F1\n")
    line = "N3 G1 X1 Y1 Z1 F1"
    right = 0
    for code in line.encode():
        right ^= code
    assert "checksum" not in said(f"M104 S1\n{line}*{right}\n")
    assert "checksum" in said(f"M104 S1\n{line}*{right ^ 1}\n")


def test_the_short_way_does_what_the_long_way_does(monkeypatch):
    """Plain lines go a short way; a reader that never takes it must give the same moves and notes."""
    random_ = random.Random("short way")
    lines = ["G21 G90", "G1 X0 Y0 Z0 F100 E1", "G0 X1 Y1 Z1"]
    for _ in range(300):
        letters = random_.sample("XYZFE", random_.randint(1, 3))
        words = " ".join(f"{a}{random_.uniform(1, 50):.3f}" for a in letters)
        lines.append(random_.choice(["", "G0 ", "G1 ", "G91 ", "G90 G1 ", "N5 G01", "G92 X1\n"]) + words)
    text = "\n".join(lines)
    for dialect in ("linuxcnc", "marlin"):
        options = ReadOptions(dialect=dialect)
        quick = GcodeReader(text, "", options).program()
        with monkeypatch.context() as patch:
            patch.setattr(GcodeReader, "quick", lambda self, line: False)
            slow = GcodeReader(text, "", options).program()
        assert len(quick.moves) > 200 and quick.notes == slow.notes
        assert quick.moves == slow.moves and [m.text for m in quick.moves] == [m.text for m in slow.moves]


@pytest.mark.parametrize("words", ["G10 L20 P1 Q0", "G64 Q150"])
def test_words_that_mean_nothing_in_their_block_are_told(words):
    program = aw.read_program(f"{HEAD}G1 X1\n{words}\nX2\n", "g-code")
    line = HEAD.count("\n") + 2
    assert any(note.line == line and "Q mean nothing" in note.message for note in program.notes)


# coordinates without a motion word: dialect, program, moves or "" where it is refused
WORDLESS = [
    ("grbl", "X1 Y0 Z0\nG1 X2 F100", "joint line"),
    ("fanuc", "X1 Y0 Z0\nG1 X2 F100", "joint line"),
    (None, "X1 Y0 Z0\nG1 X2 F100", "joint line"),
    ("linuxcnc", "X1 Y0 Z0", ""),
    ("marlin", "X1 Y0 Z0", ""),
    ("fanuc", "G0 X0 Y0 Z9\nG81 X1 Z-1 R2 F100\nG80\nX3\nG1 X5", "joint joint joint line joint joint line"),
    (None, "G1 X0 Y0 Z9 F100\nG81 X1 Z-1 R2\nG80\nX3", "line joint joint line joint line"),
    ("linuxcnc", "G0 X0 Y0 Z9\nG81 X1 Z-1 R2 F100\nG80\nX3", ""),
    ("grbl", "G0 X0 Y0 Z9\nG81 X1 Z-1 R2 F100\nG80\nX3", ""),
    (None, "G2 X1 I1 F100\nG80\nX3", ""),
]


@pytest.mark.parametrize(
    ("dialect", "body", "kinds"), WORDLESS, ids=[f"{d}-{k}" for k, (d, _, _) in enumerate(WORDLESS)]
)
def test_coordinates_without_a_motion_word_are_read_as_the_controller_does_and_told(dialect, body, kinds):
    if not kinds:
        with pytest.raises(aw.ProgramError, match="where to is said, but not how"):
            aw.read_program("G21 G90\n" + body + "\n", "g-code", dialect=dialect)
        return
    program = aw.read_program("G21 G90\n" + body + "\n", "g-code", dialect=dialect)
    assert " ".join(m.kind for m in program.moves) == kinds
    line = next(k for k, text in enumerate(body.split("\n"), 2) if text.startswith("X"))
    assert any(note.line == line and "--dialect" in note.message for note in program.reading.assumed)


def test_each_line_without_a_motion_word_is_told():
    cycle = "G81 X1 Z-1 R2\nG80\nX3\n"
    program = aw.read_program("G21 G90 F100\nG0 X0 Y0 Z9\n" + 2 * cycle, "g-code")
    assert {5, 8} <= {note.line for note in program.notes if "behind G80" in note.message}


# words of lathes behind HEAD, and whether they are a lathe's in a program that names Y, and in one that does not
TURNED = [
    ("G50 S2000", True, True),
    ("N3G50S2000", True, True),
    ("G28 U0. W0.", True, True),
    ("G96 S90 M3", False, True),
    ("G8 G96 S90", False, False),
    ("(G50 S2000) G97 S90 ; G28 U0", False, False),
    ("G50", False, False),
]


@pytest.mark.parametrize(("words", "with_y", "without"), TURNED, ids=[t[0] for t in TURNED])
def test_a_lathes_program_is_not_read_as_a_mills(words, with_y, without):
    for head, turned in ((HEAD, with_y), (HEAD.replace("Y0", ""), without)):
        if turned:
            with pytest.raises(aw.ProgramError, match=r"lathe's program.*turning=0") as caught:
                read(words + "\nG1 X40 Z-1", head)
            assert caught.value.line == 3
            assert read(words + "\nG1 X40 Z-1", head, define={"turning": 0}).reading.reached >= 2
        elif words != "G8 G96 S90":
            assert len(read(words + "\nG1 X40 Z-1", head).moves) == 2


def test_messages_for_the_operator_move_nothing():
    program = read('G1 X1\nMSG "X9 Y9"\nN5 LogMsg "M30"\nX2')
    assert xs(program) == [1, 2] and sum("message" in note.message for note in program.notes) == 2
    with pytest.raises(aw.ProgramError, match="line 4"):
        read("G1 X1\nMSX 5")


def test_too_many_moves_are_told_once_and_how_to_have_more():
    text = "G1 X1 F100\n" + "\n".join(f"X{k}" for k in range(2, 60))
    with pytest.raises(aw.ProgramError, match=r"more than 20 moves; valid here: .*--most-moves") as caught:
        read(text, most_moves=20)
    assert caught.value.line == 22 and "in the way" not in str(caught.value)
    assert len(read(text, most_moves=60).moves) == 60
    for bad in (0, True, 2.0, 10**9):
        with pytest.raises(aw.InputError, match="most_moves: expected a whole number"):
            read(text, most_moves=bad)
