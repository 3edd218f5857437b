# SPDX-License-Identifier: Apache-2.0
"""URScript programs whose moves are known beforehand: each rule of the language once, and each trap."""

from __future__ import annotations

import math

import numpy as np
import pytest

import armwright as aw
from armwright.programs import Distance, Duration, Joints, LeadingAxis, Pose, Stop, ToolRate
from armwright.spatial import exp_so3


def src(body: str, functions: str = "") -> str:
    return f"def prog():\n{functions}  set_tcp(p[0, 0, 0.1, 0, 0, 0])\n{body}end\n"


def x(value: str) -> str:
    """A line to the place as many metres along x as `value` says."""
    return f"  movel(p[{value}, 0, 0.4, 0, 0, 0])\n"


def places(program) -> list[float]:
    return [round(float(m.target.T[0, 3]), 9) for m in program.moves if isinstance(m.target, Pose)]


F = "  def f(a, b=2):\n    return a + b\n  end\n"
ANSWERS = [
    ("whole numbers divide into others", x("7/2") + x("8/2") + x("7.0/2"), "", [3.5, 4, 3.5]),
    ("rest", x("7 % 4") + x("7.5 % 2"), "", [3, 1.5]),
    ("precedence", x("1+2*3-4/2") + x("-2*3+9"), "", [5, 3]),
    ("radians", x("sin(d2r(90))") + x("r2d(atan2(1, 1))/45"), "", [1, 1]),
    ("rounding", x("floor(2.7)") + x("ceil(2.2)") + x("round(2.5)"), "", [2, 3, 3]),
    ("powers and roots", x("pow(2, 3)") + x("sqrt(9)") + x("log(10, 100)"), "", [8, 3, 2]),
    ("lists count from 0", "  l = [1, 2, 3]\n" + x("l[0]") + "  l[2] = 9\n" + x("l[2]"), "", [1, 9]),
    ("lists are copied", "  l = [1, 2]\n  m = l\n  m[0] = 5\n" + x("l[0]") + x("m[0]"), "", [1, 5]),
    ("lists add item by item", "  l = [1, 2] + [3, 4]\n" + x("l[1]") + "  l = 2 * [1, 2]\n" + x("l[1]"), "", [6, 4]),
    ("length", x("length([1, 2, 3])") + x("get_list_length([1])"), "", [3, 1]),
    ("made lists", "  l = make_list(3, 2)\n" + x("l[2] + size(l)"), "", [5]),
    ("norm", x("norm([3, 4])") + x("norm(-2)"), "", [5, 2]),
    ("direction", "  d = normalize([3, 0, 4])\n" + x("d[0]") + x("d[2]"), "", [0.6, 0.8]),
    (
        "towards, as PolyScope writes it",
        "  movel(p[1, 0, 0.4, 0, 0, 0])\n  movel(pose_add(get_target_waypoint(), p[0.25, 0, 0, 0, 0, 0]))\n",
        "",
        [1, 1.25],
    ),
    ("structures by number", "  s = struct(n = 1, t = [2, 3])\n" + x("s[0]") + x("s[1][1]"), "", [1, 3]),
    ("structures", "  s = struct(n = 1, t = [2, 3])\n  s.n = 4\n" + x("s.n") + x("s.t[1]"), "", [4, 3]),
    ("poses have items", "  a = p[1, 2, 3, 0, 0, 0]\n  a[0] = a[0] + a[1]\n" + x("a[0]"), "", [3]),
    (
        "poses in a pose",
        "  a = p[1, 0, 0, 0, 0, d2r(180)]\n  movel(pose_trans(a, p[0.25, 0, 0, 0, 0, 0]))\n"
        "  movel(pose_trans(pose_inv(a), a))\n",
        "",
        [0.75, 0],
    ),
    (
        "poses add apart",
        "  a = p[1, 0, 0, 0, 0, d2r(180)]\n  movel(pose_add(a, p[0.25, 0, 0, 0, 0, 0]))\n",
        "",
        [1.25],
    ),
    ("poses subtract", "  movel(pose_sub(p[1, 0, 0, 0, 0, 1], p[0.25, 0, 0, 0, 0, 1]))\n", "", [0.75]),
    ("between poses", "  movel(interpolate_pose(p[0,0,0,0,0,0], p[1,0,0,0,0,0], 0.25))\n", "", [0.25]),
    ("distance", x("point_dist(p[0, 0, 0, 0, 0, 0], p[0, 3, 4, 1, 1, 1])"), "", [5]),
    ("while", "  i = 0\n  while i < 2:\n    i = i + 1\n  " + x("i") + "  end\n", "", [1, 2]),
    ("while True is one pass", "  while (True):\n  " + x("1") + "  end\n", "", [1]),
    (
        "a loop leaves itself",
        "  i = 0\n  while True:\n    i = i + 1\n    if i == 2:\n      continue\n    end\n"
        "    if i > 3:\n      break\n    end\n  " + x("i") + "  end\n" + x("9"),
        "",
        [1, 3, 9],
    ),
    (
        "elif",
        "  i = 2\n  if i == 1:\n" + x("1") + "  elif i == 2:\n" + x("2") + "  else:\n" + x("3") + "  end\n",
        "",
        [2],
    ),
    ("not, and, or", "  if not False and (False or True):\n" + x("1") + "  end\n", "", [1]),
    (
        "switch",
        "  i = 2\n  switch i:\n    case 1:\n" + x("1") + "    end\n    case 2:\n" + x("2") + "    end\n"
        "    default:\n" + x("9") + "    end\n  end\n",
        "",
        [2],
    ),
    ("halt ends the program", x("1") + "  halt\n" + x("2"), "", [1]),
    ("functions return", x("f(1)") + x("f(1, 5)") + x("f(b=3, a=1)"), F, [3, 6, 4]),
    (
        "arguments are copied",
        "  l = [1]\n  g(l)\n" + x("l[0]"),
        "  def g(m):\n    m[0] = 5\n" + x("m[0]") + "  end\n",
        [5, 1],
    ),
    (
        "local hides, the program's own is seen",
        "  a = 1\n  g()\n" + x("a") + x("b"),
        "  b = 1\n  def g():\n    local a = 5\n    b = 7\n  end\n",
        [1, 7],
    ),
    (
        "what the program sets only behind a function, the function has for itself",
        "  b = 1\n  g()\n" + x("b"),
        "  def g():\n    b = 7\n  end\n",
        [1],
    ),
    ("a variable may be called p", "  p = [1, 2]\n  p[0] = p[0] + p[1]\n" + x("p[0]"), "", [3]),
    (
        "what a function sets is its own",
        "  g()\n  c = 2\n" + x("c"),
        "  def g():\n    d = 5\n" + x("d") + "  end\n",
        [5, 2],
    ),
    ("global", "  g()\n" + x("e"), "  def g():\n    global e = 5\n  end\n", [5]),
    ("inputs are off", "  if get_digital_in(3):\n" + x("1") + "  else:\n" + x("2") + "  end\n", "", [2]),
    (
        "a loop on an input is one pass",
        "  while get_standard_digital_in(3) == False:\n    sync()\n  end\n" + x("1"),
        "",
        [1],
    ),
    ("an answer of a socket is awaited", '  if socket_open("10.0.0.1", 50):\n' + x("1") + "  end\n", "", [1]),
    (
        "a thread without moves is left out",
        "  h = run t()\n" + x("1") + "  kill h\n",
        "  thread t():\n    while True:\n      set_digital_out(1, True)\n      sync()\n    end\n  end\n",
        [1],
    ),
    ("secondary programs do not run", x("1"), "  sec s():\n    set_digital_out(1, True)\n  end\n", [1]),
    ("labels of PolyScope", '  $ 2 "MoveL"\n  $ 3 "Waypoint_1" "breakAfter"\n' + x("1"), "", [1]),
    ("code that does not run is only read", "  if False:\n    zzz qqq\n    nothing(1)\n  end\n" + x("1"), "", [1]),
    ("several on a line, brackets over lines", "  a = [1,\n   2]; b = 3\n" + x("a[1] + b"), "", [5]),
    ("case counts", "  a = 1\n  A = 2\n" + x("a") + x("A"), "", [1, 2]),
]


@pytest.mark.parametrize("name, body, functions, expected", ANSWERS, ids=[a[0] for a in ANSWERS])
def test_known_moves(name, body, functions, expected):
    program = aw.read_program(src(body, functions), "urscript")
    assert places(program) == expected
    assert program.reading.whole


def moves(body: str, **said):
    return aw.read_program(src(body), "urscript", **said).moves


Q = "[0, -1.5, 1.5, 0, 1.5, 0]"
A, B, C = "p[0.4, 0, 0.4, 0, 3, 0]", "p[0.45, 0.05, 0.4, 0, 3, 0]", "p[0.5, 0, 0.4, 0, 3, 1]"


def test_speeds_and_their_defaults():
    joint, line = moves(f"  movej({Q})\n  movel({A})\n")
    assert (joint.speed, joint.acceleration) == (LeadingAxis(1.05), LeadingAxis(1.4))
    assert (line.speed, line.acceleration) == (ToolRate(0.25), ToolRate(1.2))
    assert moves(f"  movej({Q}, 2, 0.5)\n")[0].speed == LeadingAxis(0.5)
    assert moves(f"  movel({A}, a=1, v=0.5, t=3)\n")[0].speed == Duration(3.0)  # t overrules a and v


def test_kinds_of_moves():
    to_pose, to_joints, through = moves(f"  movej({A})\n  movel({Q})\n  movep({B}, r=0.01)\n")
    assert to_pose.kind == "joint" and isinstance(to_pose.target, Pose)
    assert to_joints.kind == "line" and isinstance(to_joints.target, Joints)
    assert through.kind == "line" and through.blend == Distance(0.01)
    free, fixed = moves(f"  movel({A})\n  movec({B}, {C})\n  movec({B}, {A}, mode=1)\n")[1:]
    assert free.orientation == "slerp" and free.target.oriented and not free.via.oriented
    assert fixed.orientation == "with_path" and not fixed.target.oriented


def test_a_target_keeps_its_rotation_vector_and_tool():
    move = moves(f"  movel({C})\n")[0]
    assert np.allclose(move.target.T[:3, :3], exp_so3(np.array([0, 3, 1.0])))
    assert move.T_flange_tool[2, 3] == 0.1


@pytest.mark.parametrize(
    "between, blend",
    [
        ("", Distance(0.02)),
        ("  set_digital_out(1, True)\n", Distance(0.02)),
        ("  sleep(get_analog_in(0))\n", Stop()),
        ("  if get_digital_in(1):\n    sync()\n  end\n", Stop()),
        ("  while get_digital_in(1):\n    sync()\n  end\n", Stop()),
    ],
)
def test_waiting_and_asking_end_a_blend(between, blend):
    assert moves(f"  movel({A}, r=0.02)\n{between}  movel({B})\n")[0].blend == blend


def test_labels_name_the_moves():
    assert moves(f'  $ 4 "Above"\n  movel({A})\n  movel({B})\n')[0].text.startswith("Above: movel(")


def test_where_the_arm_is_follows_from_the_plan():
    assert places(aw.read_program(src(x("1") + "  a = get_actual_tcp_pose()\n  a[0] = a[0] + 1\n  movel(a)\n"))) == [
        1,
        2,
    ]
    joints = moves(f"  movej({Q})\n  q = get_actual_joint_positions()\n  q[0] = 0.5\n  movej(q)\n")[1]
    assert joints.target.q[0] == 0.5 and joints.target.q[1] == -1.5
    assert isinstance(moves(f"  movej(get_inverse_kin({A}))\n")[0].target, Pose)
    assert isinstance(moves(f"  movel(get_forward_kin({Q}))\n")[0].target, Joints)
    unknown = aw.read_program(src("  movel(get_actual_tcp_pose())\n"))
    assert "get_actual_tcp_pose" in unknown.reading.gaps[0].reason  # before the first move


def test_loads():
    said = moves(f"  set_payload(2, [0, 0, 0.05])\n  movej({Q})\n")[0].payload
    assert said.mass == 2 and said.com[2] == 0.05
    program = aw.read_program(src(f"  set_payload(2)\n  movej({Q})\n  set_tcp(p[0, 0, 0.2, 0, 0, 0])\n  movej({Q})\n"))
    assert [m.payload.com[2] for m in program.moves] == [0.1, 0.2]  # the tool point, and it follows
    assert any("without a centre of mass" in note.message for note in program.reading.assumed)


LED = [
    ("servoj([0,0,0,0,0,0], t=0.008)", "servoj follows a reference"),
    ("speedj([0.1,0,0,0,0,0], 1, 1)", "speedj follows a reference"),
    ("speedl([0.1,0,0,0,0,0], 1, 1)", "speedl follows a reference"),
    ("force_mode(p[0,0,0,0,0,0], [0,0,1,0,0,0], [0,0,9,0,0,0], 2, [1,1,1,1,1,1])", "depends on contact"),
    ("freedrive_mode()", "a person leads the arm"),
    ("movel(nowhere)", "'nowhere' is not declared"),
    ("movec([0,0,0,0,0,0], p[0.4,0,0.4,0,0,0])", "follows from the arm"),
]


@pytest.mark.parametrize("call, reason", LED, ids=[led[0][:12] for led in LED])
def test_what_is_not_known_is_a_gap(call, reason):
    program = aw.read_program(src(x("1") + f"  {call}\n" + x("2")))
    assert reason in program.reading.gaps[0].reason and program.reading.gaps[0].line == 4
    assert not program.reading.whole


def test_moves_under_force_control_are_gaps_until_it_ends():
    press = "  force_mode(p[0,0,0,0,0,0], [0,0,1,0,0,0], [0,0,9,0,0,0], 2, [1,1,1,1,1,1])\n"
    program = aw.read_program(src(x("1") + press + x("2") + "  end_force_mode()\n" + x("3")))
    assert places(program) == [1, 3] and [gap.line for gap in program.reading.gaps] == [4, 5]


REFUSED = [
    ("  movel(p[1, 2])\n", "2 numbers given, 6 needed"),
    ("  movj([0, 0, 0, 0, 0, 0])\n", "did you mean 'movej'"),
    ("  movel(3)\n", "this is no target"),
    ("  movel(p[1, 0, 0, 0, 0, 0], speed=1)\n", "no argument 'speed'"),
    ("  movel(p[1, 0, 0, 0, 0, 0], v=True)\n", "'v' needs a number"),
    ("  movel(p[1, 0, 0, 0, 0, 0]\n", "expected"),
    ("  movec(p[1, 0, 0, 0, 0, 0], p[1, 1, 0, 0, 0, 0], mode=4)\n", "no mode 4"),
    ("  l = [1]\n  l[1] = 2\n", "no item 1"),
    ("  def deep(n):\n    deep(n + 1)\n  end\n  deep(1)\n", "more than 40 deep"),
    ("  def g(a=1, b):\n    return a\n  end\n  g(2)\n", "g lacks 'b'"),
]


@pytest.mark.parametrize("words, message", REFUSED, ids=[r[1] for r in REFUSED])
def test_refusals(words, message):
    with pytest.raises(aw.ProgramError, match=message) as caught:
        aw.read_program(src(words), "urscript")
    assert caught.value.line and caught.value.valid


def test_pose_sub_is_what_pose_add_undoes():
    a, b = "p[0.4, 0.1, 0.3, 1, 0.5, 0]", "p[0.1, 0.2, 0.1, 0, 0.4, 0.9]"
    back, plain = moves(f"  movel(pose_add(pose_sub({a}, {b}), {b}))\n  movel({a})\n")
    np.testing.assert_allclose(back.target.T, plain.target.T, atol=1e-12)


def test_files_without_moves_are_readings():
    blink = aw.read_program("def blink():\n  set_digital_out(0, True)\n  sleep(1)\nend\n", "urscript")
    assert not [m for m in blink.moves if m.kind != "wait"] and blink.reading.whole
    library = aw.read_program("def f(a):\n  return a\nend\ndef g(a):\n  movej(a)\nend\n", "urscript")
    assert library.moves == () and library.reading.routines == ("f", "g")


def test_which_function_is_the_program():
    two = f"def a():\n  movej({Q})\nend\ndef b():\n  movej({Q})\n  movej({Q})\nend\n"
    with pytest.raises(aw.ProgramError, match="which function is the program"):
        aw.read_program(two, "urscript")
    assert len(aw.read_program(two, "urscript", entry="b").moves) == 2
    assert len(aw.read_program(two + "a()\n", "urscript").moves) == 1  # a call outside of functions


def test_what_the_user_says():
    text = src("  if get_digital_in(2):\n" + x("1") + "  end\n" + x("there"))
    known = aw.read_program(text, "urscript", inputs={"get_digital_in_2": True}, define={"there": "1 + 1"})
    assert places(known) == [1, 2] and known.reading.whole
    assert len(moves("  while True:\n  " + x("1") + "  end\n", passes=3)) == 3


def test_a_refusal_names_the_line_that_was_left_out_before():
    loop = "  i = 0\n  while True:\n    i = i + 1\n    if i == 2:\n      continue\n    end\n"
    body = loop + "    if i > 3:\n      bxeak\n    end\n" + x("i") + "  end\n"
    with pytest.raises(aw.ProgramError, match=r"millimetres where metres are meant.*left out: line 10: .*'bxeak'"):
        aw.read_program(src(body), "urscript")


def test_templates_are_refused():
    with pytest.raises(aw.ProgramError, match="template"):
        aw.read_program("def a():\n  movej({{ target }})\nend\n", "urscript")


def test_rotations_between_conventions():
    yaw = moves("  r = rpy2rotvec([0, 0, d2r(90)])\n  movel(p[1, 0, 0, r[0], r[1], r[2]])\n")[0]
    assert np.allclose(yaw.target.T[:3, 0], [0, 1, 0]) and math.isclose(yaw.target.T[0, 3], 1.0)


@pytest.mark.parametrize("angles", [(0.3, -0.4, 1.2), (3.0, 0.2, -2.5), (0.0, 0.0, 0.0)])
def test_rotations_come_back_from_the_other_convention(angles):
    """PolyScope's programs keep the yaw of a waypoint this way: to roll, pitch and yaw and back."""
    roll, pitch, yaw = angles
    body = f"  v = rotvec2rpy(rpy2rotvec([{roll}, {pitch}, {yaw}]))\n  movel(p[v[0], v[1], v[2], 0, 0, 0])\n"
    assert np.allclose(moves(body)[0].target.T[:3, 3], angles, atol=1e-12)
    body = "  v = rotvec2rpy([0.3, 0.1, -0.2])\n  w = rpy2rotvec(v)\n  movel(p[1, 0, 0, w[0], w[1], w[2]])\n"
    assert np.allclose(moves(body)[0].target.T[:3, :3], exp_so3(np.array([0.3, 0.1, -0.2])), atol=1e-12)


def test_where_the_arm_is_at_first_can_be_told():
    body = "  a = get_actual_tcp_pose()\n  a[0] = a[0] + 1\n  movel(a)\n"
    asked = aw.read_program(src(body)).reading.gaps[0].reason
    assert "--input get_actual_tcp_pose=p[" in asked
    told = {"get_actual_tcp_pose": "p[1, 2, 3, 0, 0, 0]"}
    assert places(aw.read_program(src(body), inputs=told)) == [2]
    body = "  q = get_actual_joint_positions()\n  q[5] = q[5] + 1\n  movej(q)\n  movej(get_actual_joint_positions())\n"
    told = {"get_actual_joint_positions": "[0, 1, 2, 3, 4, 5]"}
    program = aw.read_program(src(body), inputs=told)
    assert [m.target.q[5] for m in program.moves] == [6, 5]  # what is told is not changed by the program
    with pytest.raises(aw.ProgramError, match="--input get_actual_tcp_pose"):
        aw.read_program(src(body), inputs={"get_actual_tcp_pose": "p[1, 2"})


RELATIVE = [
    "  movel(pose_trans(get_actual_tcp_pose(), p[0, 0, 0.1, 0, 0, 0]))\n",
    "  movel(pose_trans(get_forward_kin(), p[0, 0, 0.1, 0, 0, 0]))\n",
    "  a = get_target_tcp_pose()\n  movel(pose_trans(p[a[0], a[1], a[2], a[3], a[4], a[5]], p[0, 0, 0.1, 0, 0, 0]))\n",
    f"  a = get_forward_kin({Q})\n  a = pose_trans(a, p[0, 0, 0, 0, 0, 0])\n"
    "  movel(pose_trans(a, p[0, 0, 0.1, 0, 0, 0]))\n",
    f"  a = get_forward_kin({Q}, tcp=p[0, 0, 0.2, 0, 0, 0])\n  movel(a)\n",
]


@pytest.mark.parametrize("body", RELATIVE)
def test_where_joint_angles_lead_follows_from_the_arm(body, ur5):
    """Moves relative to a joint move: known with the arm, a gap without it, never refused."""
    text = src(f"  movej({Q})\n{body}")
    gap = aw.read_program(text, "urscript").reading.gaps[0]
    assert gap.line == text.count("\n") - 1 and "the arm" in gap.reason
    program = aw.read_program(text, "urscript", robot=ur5)
    tip = aw.fk(ur5, [0, -1.5, 1.5, 0, 1.5, 0])
    tip[:3, 3] += 0.2 * tip[:3, 2]  # 0.1 of set_tcp, 0.1 of the move
    assert program.reading.whole and np.allclose(program.moves[1].target.T, tip, atol=1e-12)


def test_where_the_arm_stands_at_first_is_where_it_is(ur5):
    q = [0.1, -1.5, 1.5, 0.2, 1.5, 0.3]
    text = src("  a = get_actual_tcp_pose()\n  a[2] = a[2] + 0.1\n  movel(a)\n")
    text = text.replace("  a =", "  q = get_actual_joint_positions()\n  q[0] = 0.2\n  movej(q)\n  a =")
    moves = aw.read_program(text, "urscript", robot=ur5, start_q=q).moves
    assert moves[0].target.q.tolist() == [0.2, *q[1:]]
    tip = aw.fk(ur5, moves[0].target.q)
    assert np.allclose(moves[1].target.T[:3, 3], tip[:3, 3] + 0.1 * tip[:3, 2] + [0, 0, 0.1], atol=1e-12)
    with pytest.raises(aw.InputError, match="start_q"):
        aw.read_program(text, "urscript", robot=ur5, start_q=q[:4])


def test_an_item_of_a_pose_that_the_arm_knows_may_be_set():
    body = f"  movej({Q})\n  a = get_actual_tcp_pose()\n  a[2] = a[2] + 0.1\n  movel(a)\n" + x("1")
    program = aw.read_program(src(body), "urscript")
    assert program.reading.words == "2 of 3 moves" and places(program) == [1]


def test_a_misspelt_call_names_the_function_that_was_meant():
    program = aw.read_program(f"def prog():\n  def Pick():\n    movej({Q})\n  end\n  Pik()\nend\n", "urscript")
    assert "did you mean 'Pick' of line 2?" in program.reading.unread[0].message


def test_a_loop_that_only_waits_makes_one_pass():
    program = aw.read_program(
        src("  while True:\n    sleep(0.1)\n    if force() > 5:\n      break\n    end\n  end\n" + x("1"))
    )
    assert [m.kind for m in program.moves] == ["wait", "line"]
    assert any("this loop waits for" in note.message for note in program.reading.assumed)


def test_a_pose_is_no_name_that_a_test_needs():
    text = "def f():\n  movej([0,0,0,0,0,0])\n  if 1 < length(p[0,0,1,0,0,0]) + get_digital_in(3):\n"
    text += "    movej([1,0,0,0,0,0])\n  end\nend\n"
    assert aw.read_program(text, "urscript").reading.not_run == ((4, 4, "get_digital_in, length"),)


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("movej(get_inverse_kin(a))", [0.4, 0.1, 0.4]),
        ("movel(get_forward_kin(get_inverse_kin(a)))", [0.4, 0.1, 0.4]),
        ("s = struct(at = struct(p = a), n = 1)\n  movel(s.at.p)", [0.4, 0.1, 0.4]),
        ("l = [p[0,0,0,0,0,0], a]\n  movel(l[1])", [0.4, 0.1, 0.4]),
        ("s = struct(l = [a])\n  movel(s.l[0])", [0.4, 0.1, 0.4]),
        ("movel(pose_add(get_forward_kin(q), p[0,0,0.05,0,0,0]))", [None, None, 0.05]),
        (
            "movel(interpolate_pose(get_forward_kin(q), pose_add(get_forward_kin(q), p[0,0,0.2,0,0,0]), 0.25))",
            [None] * 2 + [0.05],
        ),
    ],
)
def test_a_place_that_is_worked_out_is_known_with_the_arm(words, place):
    """A place with None in it counts from where the joints q bring the tool."""
    arm, q = aw.load("ur5e"), [0.2, -1.5, 1.5, -1.5, -1.5, 0.0]
    text = f"def m():\n  a = p[0.4, 0.1, 0.4, 0, 3.14, 0]\n  q = {q}\n  {words}\nend\n"
    program = aw.read_program(text, "urscript", robot=arm, start_q=q)
    assert program.reading.whole and len(program.moves) == 1
    at = np.array(place, dtype=float)
    if None in place:
        at = aw.kinematics.fk(arm, np.array(q))[:3, 3] + np.nan_to_num(at)
    np.testing.assert_allclose(program.moves[0].target.T[:3, 3], at, atol=1e-9)
