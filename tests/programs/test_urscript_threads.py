# SPDX-License-Identifier: Apache-2.0
"""URScript: threads that move the arm, and joints that an inverse kinematics gives."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.programs import Pose
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
    assert "no joints of 'ur5e' reach this pose" in lost.reading.gaps[0].reason


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
