# SPDX-License-Identifier: Apache-2.0
"""Where a plan begins if nobody says: at rest in the first target, in a posture that can be told why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.errors import NotSupportedError, ProgramError
from armwright.kinematics import fk, jacobian
from armwright.kinematics.extent import weights
from armwright.programs import (
    Distance,
    Fraction,
    Joints,
    Move,
    Pose,
    Program,
    ToolRate,
    home_posture,
    plan_program,
    read_program,
    run_program,
)
from armwright.programs.program_start import RANGE_MARGIN
from support.moves import HOME, joints, shifted, to


def least(robot, q):
    return np.linalg.svd(jacobian(robot, q) * weights(robot)[:, None], compute_uv=False)[..., -1]


def test_the_first_joint_target_is_where_the_arm_stands(ur5):
    """Its way there is in no time, figure or event; with a start it is."""
    program = Program((joints(HOME, blend=Distance(0.05), line=4), joints(HOME + 0.3, line=5)))
    plan = plan_program(ur5, program)
    np.testing.assert_array_equal(plan.q[0], HOME)
    assert plan.route.unchecked == (0,) and plan.moves[0] == (0, 0.0, 0.0, 0.0)
    assert plan.duration == plan_program(ur5, program, start_q=HOME).duration
    (note,) = [note for note in plan.notes if "is not checked" in note.message]
    assert note.line == 4 and "--start" in note.message
    far = plan_program(ur5, program, start_q=np.zeros(6))
    assert far.route.unchecked == () and far.moves[0].length > 0.0 and far.duration > plan.duration
    outcome = run_program(ur5, program)
    assert outcome.moves[0].duration == 0.0 and set(outcome.demand.moves) == {1}


def test_the_first_pose_is_met_far_from_singular_and_from_the_limits(ur5, rl15):
    for robot, q in ((ur5, HOME), (rl15, np.radians([20.0, 30.0, -20.0, 30.0, 40.0, 10.0]))):
        T = fk(robot, q)
        plan = plan_program(robot, Program((to(T, line=2), joints(q + 0.1))))
        np.testing.assert_allclose(fk(robot, plan.q[0]), T, atol=1e-9)
        options = aw.ik(robot, T, limits=True, restarts=0)
        room = RANGE_MARGIN * (robot.upper - robot.lower)
        room = np.where(np.isfinite(room), room, 0.0)
        inside = ((options.solutions >= robot.lower + room) & (options.solutions <= robot.upper - room)).all(axis=1)
        assert least(robot, plan.q[0]) == pytest.approx(least(robot, options.solutions[inside]).max(), rel=1e-5)
        assert ((plan.q[0] >= robot.lower + room) & (plan.q[0] <= robot.upper - room)).all()


def test_a_first_posture_from_which_the_path_cannot_be_followed_is_not_taken(rl15):
    """The demonstration's first pose is farthest from singular where its fourth move is not possible."""
    demo = aw.read_program(Path(__file__).parents[2] / "examples" / "programs" / "lola15dd.irl")
    plan = plan_program(rl15, demo)
    assert any("from which the program can go on" in note.message for note in plan.notes)
    assert plan.moves[0].length == 0.0 and plan.moves[1].length > 0.0


def test_kinds_of_first_targets(ur5):
    """An arc and a spline begin where they end first; joints that are left out stand in the middle of their range."""
    T = fk(ur5, HOME)
    arc = Move("arc", Pose(T), ToolRate(0.2), ToolRate(1.0), via=Pose(shifted(T, 0, 0.05, 0.05)))
    then = to(shifted(T, 0.0, 0.1, 0.0))
    for first in (arc, to(T, kind="spline")):
        plan = plan_program(ur5, Program((first, then)))
        np.testing.assert_allclose(fk(ur5, plan.q[0]), T, atol=1e-9)
        assert plan.moves[1].length == pytest.approx(0.1, abs=1e-6)
    partly = Move("joint", Joints(HOME, (True, True, False, True, True, True)), Fraction(1.0))
    moved = Move("joint", Joints(HOME + 0.2, partly.target.known), Fraction(1.0))
    np.testing.assert_array_equal(plan_program(ur5, Program((partly, joints(HOME), moved))).q[0], HOME)
    plan = plan_program(ur5, Program((partly, moved)))
    np.testing.assert_allclose(plan.q[0], HOME * [1, 1, 0, 1, 1, 1])
    assert any("the middle of their range" in note.message for note in plan.notes)


def test_a_first_place_without_orientation(ur5):
    """G-code of a mill: the tool is turned as in the middle of the ranges, or points down; the note says which."""
    text = "G21 G90\nG0 X-400 Y-200 Z300\nG1 X-400 Y-100 F1000\n"
    plan = plan_program(ur5, aw.read_program(text))
    np.testing.assert_allclose(plan.T_base_tool[0][:3, 3], [-0.4, -0.2, 0.3], atol=1e-9)
    np.testing.assert_allclose(plan.T_base_tool[-1][:3, 3], [-0.4, -0.1, 0.3], atol=1e-9)
    assert any("the tool turned as" in note.message or "pointing down" in note.message for note in plan.notes)


def test_a_first_target_out_of_reach_is_refused(ur5):
    far = to(shifted(fk(ur5, HOME), -2.0, 0.0, 0.0), line=3)
    with pytest.raises(ProgramError, match=r"line 3.*out of reach of 'ur5': its flange would be"):
        plan_program(ur5, Program((far, joints(HOME))))
    with pytest.raises(ProgramError, match=r"line 6.*nothing to check.*--start"):
        plan_program(ur5, Program((joints(HOME, line=6),)))


def test_a_plan_begins_at_the_first_target_that_leaves_nothing_open():
    """A printer homes, lifts and only then says where it is: where the lift happens nobody knows."""
    text = "G28\nG1 Z50 F3000\nG1 X20 Y10\nG1 X80 Y10\nG1 X80 Y60\n"
    part = np.eye(4)
    part[:3, 3] = 0.45, -0.1, 0.25
    program = read_program(text, "g-code", part=part, dialect="marlin")
    plan = plan_program(aw.load("ur10e"), program)
    assert plan.T_base_tool[0, :3, 3] == pytest.approx([0.47, -0.09, 0.3], abs=1e-9)
    assert [move.length > 0.0 for move in plan.moves if program.moves[move.move].kind == "line"][-2:] == [True, True]
    assert any("names no whole target" in note.message for note in plan.notes)


@pytest.mark.parametrize("name", ["ur5", "irb140", "kr6r900", "kr70r2100", "panda"])
def test_home_is_a_posture_from_which_every_way_is_open(name):
    """In front of the base, the tool pointing down, away from limits and from singular postures; always the same."""
    robot = aw.load(name)
    q = home_posture(robot)
    T = fk(robot, q)
    np.testing.assert_allclose(T[:3, :3], np.diag([1.0, -1.0, -1.0]), atol=1e-6)
    assert T[0, 3] > 0.2 and abs(T[1, 3]) < 1e-6 and T[2, 3] > 0.2
    assert ((q >= robot.lower) & (q <= robot.upper)).all()
    postures = np.random.default_rng(0).uniform(-np.pi, np.pi, (300, robot.n))
    assert least(robot, q) > np.median(least(robot, postures))
    np.testing.assert_array_equal(home_posture(aw.load(name)), q)
    down = T.copy()
    down[2, 3] -= 0.05
    plan = plan_program(robot, Program((to(down),)), start_q=q)
    assert plan.moves[0].length == pytest.approx(0.05)


def test_an_arm_that_has_no_such_home_is_told(ur5):
    arm = replace(ur5, joints=tuple(replace(j, limits=replace(j.limits, lower=-0.01, upper=0.01)) for j in ur5.joints))
    with pytest.raises(NotSupportedError, match="say where it begins by its joints"):
        home_posture(arm)
