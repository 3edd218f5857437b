# SPDX-License-Identifier: Apache-2.0
"""Status numbers of RAPID and KRL choose the posture; what contradicts them is told."""

from __future__ import annotations

import numpy as np
import pytest

import armwright as aw
from armwright.kinematics import fk
from armwright.kinematics.ik_limits import middle
from armwright.programs import Fraction, Joints, Move, Pose, Program, ToolRate, plan_program
from armwright.programs.posture_status import fit_status, status_of, with_turns
from support.moves import shifted

POSTURES = 25  # of each arm and language; 150 in all


def ptp(q, robot, language):
    T = fk(robot, q)
    return Move("joint", Pose(T, status=status_of(robot, q, language)), Fraction(1.0))


@pytest.mark.parametrize(
    ("name", "language"), [(n, c) for n in ("kr6r900-2", "irb140", "ur5") for c in ("krl", "rapid")]
)
def test_a_ptp_ends_in_the_posture_of_its_status(name, language):
    """Random postures, their status by the rule, one program of PTPs: each ends in its own, turns included.

    A joint of more than a turn may end a full turn off where no number of the language tells the two apart.
    """
    robot, rng = aw.load(name), np.random.default_rng(4)
    low, high = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    if name != "ur5":
        low, high = robot.lower, robot.upper
    postures = rng.uniform(low, high, (POSTURES, 6))
    plan = plan_program(
        robot, Program(tuple(ptp(q, robot, language) for q in postures), language=language, start_q=middle(robot))
    )
    ends = np.array([plan.at(move.end)[0] for move in plan.moves])
    turns = (ends - postures) / (2.0 * np.pi)
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-7)
    for end, q in zip(ends, postures, strict=True):
        assert status_of(robot, end, language) == status_of(robot, q, language)
    if name == "kr6r900-2" and language == "krl":  # T tells all its turns
        np.testing.assert_allclose(ends, postures, atol=1e-6)


def test_turns_of_krl_and_quarters_of_rapid():
    """A6 at 190° and at −170° are one place: T's bit 5, cf6 tell them apart."""
    robot = aw.load("kr6r900-2")
    q = np.radians([10.0, -80.0, 100.0, 20.0, 30.0, 190.0])
    other = q - [0, 0, 0, 0, 0, 2.0 * np.pi]
    start = np.radians([0.0, -90.0, 90.0, 0.0, 10.0, 0.0])
    for language in ("krl", "rapid"):
        for wanted in (q, other):
            program = Program((ptp(wanted, robot, language),), language=language, start_q=start)
            np.testing.assert_allclose(plan_program(robot, program).q[-1], wanted, atol=1e-7)
    assert status_of(robot, q, "krl") == (2, 0b000010) and status_of(robot, other, "krl") == (2, 0b100010)
    assert status_of(robot, q, "rapid")[2] == 2 and status_of(robot, other, "rapid")[2] == -2


def test_the_makers_own_zero_postures():
    """KUKA's home is S 2, T 2; an ABB arm at its zero is [0,0,0,0], bent over backwards cfx 6, wrist turned 1 more."""
    kuka, abb = aw.load("kr6r900-2"), aw.load("irb140")
    assert status_of(kuka, np.radians([0.0, -90.0, 90.0, 0.0, 1e-3, 0.0]), "krl") == (2, 2)
    assert status_of(kuka, np.radians([0.0, -90.0, 90.0, 0.0, -30.0, 0.0]), "krl") == (6, 0b010010)
    assert status_of(abb, np.radians([0.0, 0.0, 0.0, 0.0, 30.0, 0.0]), "rapid") == (0, 0, 0, 0)
    assert status_of(abb, np.radians([0.0, 0.0, 0.0, 0.0, -30.0, 100.0]), "rapid") == (0, 0, 1, 1)
    assert status_of(abb, np.radians([0.0, -80.0, -100.0, 0.0, 30.0, 0.0]), "rapid")[3] == 6


def test_numbers_on_a_boundary_fit_both_ways():
    robot = aw.load("kr6r900-2")
    q = np.radians([0.0, -90.0, 90.0, 0.0, 0.0, 0.0])
    for status in ((2, 2), (6, 2), (2, 0b111011), (6, 0b100010)):
        assert fit_status(robot, q[None], status, "krl").turns[0]
    assert not fit_status(robot, q[None], (0, 2), "krl").branch[0]
    q[5] = np.radians(100.0)
    assert len(with_turns(robot, q[None])) == 2  # A6 within ±350°, the others within less than a turn or at 0


def test_a_status_that_no_posture_has_is_told_and_the_nearest_taken():
    robot = aw.load("kr6r900-2")
    q = np.radians([10.0, -60.0, 80.0, 20.0, 30.0, 10.0])
    start = q + 0.1
    wrong = Move("joint", Pose(fk(robot, q), status=(2, 0b001101)), Fraction(1.0), line=7)
    plan = plan_program(robot, Program((wrong,), language="krl", start_q=start))
    np.testing.assert_allclose(plan.q[-1], q, atol=1e-7)
    assert any(
        note.line == 7 and "no posture has the turns of its status S 2, T 13" in note.message for note in plan.notes
    )
    flipped = Move("joint", Pose(fk(robot, q), status=(6, 0b011010)), Fraction(1.0), line=8)
    plan = plan_program(robot, Program((flipped,), language="krl", start_q=start))
    assert any(note.line == 8 and "asks for another posture" in note.message for note in plan.notes)
    assert plan.q[-1][4] < 0.0


def test_a_rapid_line_that_ends_in_another_posture_is_told():
    """MoveL keeps its posture whatever the status says; KRL's LIN has none to keep."""
    robot = aw.load("irb140")
    q = np.radians([10.0, 20.0, 10.0, 20.0, 40.0, 10.0])
    T = shifted(fk(robot, q), 0.0, 0.05, 0.0)
    for language, status, told in (("rapid", (0, 0, 0, 1), 1), ("rapid", (0, 0, 0, 0), 0), ("krl", (4, 0), 0)):
        move = Move("line", Pose(T, status=status), ToolRate(0.2), ToolRate(1.0), line=3)
        plan = plan_program(robot, Program((move,), language=language, start_q=q))
        said = [note for note in plan.notes if note.line == 3 and "not in its status" in note.message]
        assert len(said) == told


NO = "[9E9,9E9,9E9,9E9,9E9,9E9]"


@pytest.mark.parametrize(("conf", "wrist"), [("", -1), (r"ConfJ \Off;", 1), (r"ConfJ \Off; ConfJ \On;", -1)])
def test_confj_off_lets_continuity_decide(conf, wrist):
    robot = aw.load("irb140")
    q = np.radians([10.0, 20.0, 10.0, 20.0, 40.0, 10.0])
    flipped = q + np.array([0, 0, 0, -np.pi, -2 * q[4], np.pi])
    T = fk(robot, q)
    text = f"""MODULE m
CONST jointtarget j := [[10,20,10,20,40,20],{NO}];
PROC main()
  {conf}
  MoveAbsJ j, v100, fine, tool0;
  MoveJ [[{",".join(f"{1e3 * x:.9f}" for x in T[:3, 3])}],[{_wxyz(T)}],[0,-2,2,1],{NO}], v100, fine, tool0;
ENDPROC
ENDMODULE
"""
    assert status_of(robot, flipped, "rapid") == (0, -2, 2, 1)
    plan = plan_program(robot, aw.read_program(text))
    assert np.sign(plan.q[-1][4]) == wrist


def _wxyz(T):
    """Return a rotation as RAPID's quaternion, in words."""
    R = T[:3, :3]
    w = 0.5 * np.sqrt(max(0.0, 1.0 + np.trace(R)))
    x, y, z = (R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    return ",".join(f"{v:.12f}" for v in (w, x / (4 * w), y / (4 * w), z / (4 * w)))


def test_the_first_pose_stands_as_its_status_says():
    robot = aw.load("kr6r900-2")
    for q in (
        np.radians([10.0, -60.0, 80.0, 20.0, 30.0, 10.0]),
        np.radians([-20.0, -80.0, 70.0, 100.0, -40.0, -200.0]),
    ):
        moves = (ptp(q, robot, "krl"), Move("joint", Joints(q + 0.1), Fraction(1.0)))
        plan = plan_program(robot, Program(moves, language="krl"))
        np.testing.assert_allclose(plan.q[0], q, atol=1e-7)
        assert any("is not checked" in note.message for note in plan.notes) and plan.moves[0].length == 0.0
