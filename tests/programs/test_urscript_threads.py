# SPDX-License-Identifier: Apache-2.0
"""URScript: threads that move the arm, and joints that an inverse kinematics gives."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.programs import Joints, Pose
from armwright.spatial import log_so3, pose


def src(body: str) -> str:
    return f"def prog():\n  set_tcp(p[0, 0, 0.1, 0, 0, 0])\n{body}end\n"


def x(value: str) -> str:
    """A line to the place as many metres along x as `value` says."""
    return f"  movel(p[{value}, 0, 0.4, 0, 0, 0])\n"


def places(program) -> list[float]:
    return [round(float(m.target.T[0, 3]), 9) for m in program.moves if isinstance(m.target, Pose)]


UNTIL = """  thread t():
    flag = 1
    movel(p[9, 0, 0, 0, 0, 0])
    flag = 2
  end
  h = run t()
"""


@pytest.mark.parametrize(
    "wait, known",
    [
        ("  join h\n", [1, 9, 2]),
        ("  while flag < 2:\n    sync()\n  end\n", [1, 9, 2]),
        ("  while True:\n    if flag > 1:\n      break\n    end\n    sync()\n  end\n", [1, 9, 2]),
        (  # PolyScope's Until: the input is taken as off, so that the way is gone to its end
            "  while True:\n    if flag > 1:\n      join h\n      break\n    end\n    if get_digital_in(1):\n"
            "      kill h\n      break\n    end\n    sync()\n  end\n",
            [1, 9, 2],
        ),
    ],
)
def test_a_thread_that_the_program_waits_for_is_carried_out(wait, known):
    program = aw.read_program(src("  flag = 0\n" + x("1") + UNTIL + wait + x("2")), "urscript")
    assert places(program) == known and program.reading.whole
    assert any("thread t, which is taken to come to its end" in note.message for note in program.reading.assumed)


@pytest.mark.parametrize(
    "wait, known",
    [
        ("", [1]),  # nobody waits for the thread: what follows is not known either
        ("  kill h\n", [1, 2]),
        ("  while True:\n    if get_digital_in(1):\n      kill h\n      break\n    end\n    sync()\n  end\n", [1, 2]),
        ("  while get_digital_in(1):\n    sync()\n  end\n", [1]),
        ("  u = run quiet()\n  kill u\n", [1]),  # another thread ends
    ],
)
def test_moves_of_a_thread_that_is_not_waited_for_are_a_gap(wait, known):
    quiet = "  thread quiet():\n    sleep(1)\n  end\n  flag = 0\n"
    program = aw.read_program(src(quiet + x("1") + UNTIL + wait + x("2")), "urscript")
    assert places(program) == known
    gaps = program.reading.gaps
    assert "thread 't' moves the arm" in gaps[0].reason and gaps[0].before == 1
    assert [gap.line for gap in gaps[1:]] == ([] if len(known) == 2 else [program.text.count("\n") - 1])


def test_a_thread_that_an_input_kills_a_loop_or_the_end_of_the_program_is_a_gap():
    until = "  while True:\n    if flag > 1:\n      break\n    elif get_digital_in(1):\n      kill h\n      break\n"
    until = until.replace("flag > 1", "flag > 2") + "    end\n    sync()\n  end\n"
    told = aw.read_program(src("  flag = 0\n" + UNTIL + until + x("2")), "urscript", inputs={"get_digital_in_1": True})
    assert places(told) == [2] and "until the program kills it" in told.reading.gaps[0].reason
    endless = UNTIL.replace("    flag = 1\n", "    while True:\n").replace("    flag = 2\n", "    end\n")
    cut = aw.read_program(src(x("1") + endless + "  join h\n"), "urscript")
    assert places(cut) == [1] and not cut.reading.whole
    last = aw.read_program(src(x("1") + UNTIL + "  flag = 0\n"), "urscript")
    assert places(last) == [1] and "until the program ends" in last.reading.gaps[0].reason


def test_qnear_says_which_posture_an_inverse_kinematics_gives():
    robot = aw.load("ur5e")
    q = np.array([0.3, -1.3, 1.6, -1.9, -1.5, 0.4])
    other = np.asarray(aw.ik(robot, aw.fk(robot, q), seed=q, restarts=0).solutions)
    far = other[np.argmax(np.abs(other - q).max(axis=1))]  # the same place of the tool, another posture
    assert np.abs(far - q).max() > 1.0
    T = aw.fk(robot, q) @ pose(np.eye(3), np.array([0, 0, 0.1]))  # the tool that `src` sets
    numbers = ", ".join(f"{v:.12f}" for v in (*T[:3, 3], *log_so3(T[:3, :3])))
    for near in (q, far):
        text = f"  movej(get_inverse_kin(p[{numbers}], qnear=[{', '.join(f'{v + 0.01:.9f}' for v in near)}]))\n"
        program = aw.read_program(src(text), "urscript", robot=robot)
        np.testing.assert_allclose(program.moves[0].target.q, near, atol=1e-6)
    without = aw.read_program(src(text), "urscript")
    assert isinstance(without.moves[0].target, Pose)
    assert any("qnear is not used" in note.message for note in without.notes)
    lost = aw.read_program(src(text.replace(numbers, "5, 0, 0, 0, 0, 0")), "urscript", robot=robot)
    assert lost.reading.whole and lost.moves[0].target.T[0, 3] == pytest.approx(5.0)
    assert any("no joints of 'ur5e' reach this pose (another arm" in note.message for note in lost.notes)
    with pytest.raises(aw.ProgramError, match="out of reach of 'ur5e'"):
        aw.plan_program(robot, lost, start_q=q)


def test_joints_beside_a_pose_say_for_which_arm_a_program_was_written():
    """PolyScope writes both of every point; a pose that only a larger arm reaches is told with that arm's name."""
    large = aw.load("ur10e")
    q = np.array([0.3, -0.6, 0.8, -1.7, -1.5, 0.4])
    T = aw.fk(large, q)
    numbers = ", ".join(f"{v:.12f}" for v in (*T[:3, 3] + [0.001, 0, 0], *log_so3(T[:3, :3])))  # a calibrated arm's
    text = f"def prog():\n  movej(get_inverse_kin(p[{numbers}], qnear={[float(v) for v in q]}))\nend\n"
    small = aw.read_program(text, "urscript", robot=aw.load("ur5e"))
    assert any("qnear are its joints on 'ur10e': --robot ur10e?" in note.message for note in small.notes)
    program = aw.read_program(text, "urscript", robot=large)
    assert isinstance(program.moves[0].target, Joints) and not any("--robot" in note.message for note in program.notes)


UNTIL_CONTACT = """def prog():
  movej([0, -1.4, 1.8, -2, -1.57, 0])
  flag = 0
  thread seeks():
    enter_critical
    flag = 1
    movel(pose_add(get_target_waypoint(), p[0, 0, -{far}, 0, 0, 0]), a=1.2, v=0.02)
    flag = 2
    exit_critical
  end
  han = run seeks()
  while (True):
    if (tool_contact(direction=get_target_tcp_speed()) > 0):
      kill han
      stopl(3.0)
      break
    end
    if (flag > 1):
      join han
      break
    end
    sync()
  end
  movej([1, -1.4, 1.8, -2, -1.57, 0])
end
"""


def test_a_search_over_a_thousand_metres_is_a_gap_and_one_over_a_distance_its_end():
    """PolyScope writes 1000 m where only contact ends the way; that is no slip of the unit, and no target either."""
    arm = aw.load("ur5e")
    far = aw.read_program(UNTIL_CONTACT.format(far="1000.0"), "urscript", robot=arm)
    assert (
        far.reading.known == 2 and far.reading.reached == 3 and "until something stops it" in far.reading.gaps[0].reason
    )
    near = aw.read_program(UNTIL_CONTACT.format(far="0.05"), "urscript", robot=arm)
    assert near.reading.whole and near.reading.known == 3
    fell = aw.fk(arm, near.moves[0].target.q)[2, 3] - near.moves[1].target.T[2, 3]
    assert fell == pytest.approx(0.05, abs=1e-9)
    with pytest.raises(aw.ProgramError, match="millimetres where metres"):
        aw.read_program("def prog():\n  movel(p[1000.0, 0, 0.3, 0, 3.14, 0])\nend\n", "urscript")


def test_how_far_a_search_goes_can_be_told():
    """Then it ends by what it meets: PolyScope's way back from the contact is known, too, and so is what follows."""
    arm, text = aw.load("ur5e"), UNTIL_CONTACT.format(far="1000.0")
    back = "      speed = get_target_tcp_speed()\n      at = get_forward_kin(get_actual_joint_positions_history(1))\n"
    back += "      movel(pose_sub(at, p[0, 0, speed[2], 0, 0, 0]))\n      break\n"
    text = text.replace("      break\n", back, 1)
    unknown = aw.read_program(text, "urscript", robot=arm)
    assert "--define seeks=0.05 says after how many metres" in unknown.reading.gaps[0].reason
    told = aw.read_program(text, "urscript", robot=arm, define={"seeks": 0.08})
    assert told.reading.whole and told.reading.known == 4
    heights = [aw.fk(arm, told.moves[0].target.q)[2, 3], *(move.target.T[2, 3] for move in told.moves[1:3])]
    assert np.diff(heights) == pytest.approx([-0.08, 0.02])
    assert any("the way that --define says" in note.message for note in told.reading.assumed)


CIRCLE = """  i = 0
  thread t():
    movel(p[9, 0, 0, 0, 0, 0])
    while True:
{body}    end
  end
  h = run t()
  while {test}:
    sync()
  end
{end}"""
MOVES = "      movel(p[3, 0, 0.4, 0, 0, 0])\n      movel(p[4, 0, 0.4, 0, 0, 0])\n"
COUNTS = "      i = i + 1\n"


@pytest.mark.parametrize(
    "body, test, known",
    [
        (MOVES + COUNTS, "i < 2", [9, 3, 4, 3, 4]),
        (COUNTS + MOVES, "i < 2", [9, 3, 4]),  # the second round counts to 2 and is killed before it moves
        ("      movel(p[3, 0, 0.4, 0, 0, 0])\n" + COUNTS + MOVES, "i < 2", [9, 3, 3, 4, 3]),
        (MOVES + COUNTS, "i < 0", []),
        (MOVES, "get_digital_in(1) == False", [9, 3, 4]),  # one round, as of every loop with such a test
        (MOVES, "True", [9, 3, 4]),
    ],
)
def test_a_thread_that_goes_round_while_the_program_waits_is_a_loop(body, test, known):
    """PolyScope writes a loop so that is left as soon as its test fails, and not only at its end."""
    text = src("  i = 0\n" + CIRCLE.format(body=body, test=test, end="  kill h\n" + x("1")))
    program = aw.read_program(text, "urscript")
    assert places(program) == [*known, 1] and program.reading.whole
    assert any("thread t goes round while the program waits" in note.message for note in program.reading.assumed)


def test_a_thread_that_goes_round_beside_other_moves_is_a_gap():
    """Nobody kills it before the program moves the arm itself, or it was never waited for."""
    there = CIRCLE.format(body=MOVES + COUNTS, test="i < 2", end="")
    beside = aw.read_program(src(x("1") + there + x("2")), "urscript")
    assert places(beside) == [1] and "thread 't' moves the arm beside" in beside.reading.gaps[0].reason
    alone = aw.read_program(src(x("1") + there), "urscript")  # the program ends behind its loop, and the thread with it
    assert places(alone) == [1, 9, 3, 4, 3, 4] and alone.reading.whole
    unseen = there.replace("  while i < 2:\n    sync()\n  end\n", "  sleep(3)\n  kill h\n")
    killed = aw.read_program(src(x("1") + unseen + x("2")), "urscript")
    assert places(killed) == [1, 2] and len(killed.reading.gaps) == 1


def test_where_a_thread_is_killed_that_an_input_ends_nobody_knows():
    """What counts from there is not known, and what does not is."""
    there = CIRCLE.format(body=MOVES, test="get_digital_in(1) == False", end="  kill h\n")
    text = src(there + "  movel(pose_add(get_actual_tcp_pose(), p[0, 0, 0.1, 0, 0, 0]))\n" + x("2"))
    program = aw.read_program(text, "urscript")
    assert places(program) == [9, 3, 4, 2] and len(program.reading.gaps) == 1


def test_what_a_camera_or_a_socket_answers_can_be_told():
    text = src('  cam = rpc_factory("xmlrpc", "http://127.0.0.1/RPC2")\n  movel(cam.where(1))\n')
    unknown = aw.read_program(text, "urscript")
    assert "--input where=… says it" in unknown.reading.gaps[0].reason
    told = aw.read_program(text, "urscript", inputs={"where": "p[0.4, 0, 0.3, 0, 3.14, 0]"})
    assert told.reading.whole and places(told) == [0.4]
    asks = src("  got = socket_read_ascii_float(2)\n  movel(p[got[1], 0, 0.4, 0, 0, 0])\n")
    unknown = aw.read_program(asks, "urscript")
    assert "--input socket_read_ascii_float_2=… says it" in unknown.reading.gaps[0].reason
    told = aw.read_program(asks, "urscript", inputs={"socket_read_ascii_float_2": "[2, 0.5, 0.7]"})
    assert told.reading.whole and places(told) == [0.5]
