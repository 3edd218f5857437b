# SPDX-License-Identifier: Apache-2.0
"""Planning of programs: words that are kept, blends, waits, tools, loads, and how the effort grows."""

import numpy as np
import pytest

import armwright as aw
from armwright import motion
from armwright.errors import ProgramError
from armwright.kinematics import fk
from armwright.motion import joint_curve, trajectory
from armwright.programs import (
    BySpeed,
    Distance,
    Duration,
    Fraction,
    LeadingAxis,
    Move,
    Payload,
    Share,
    Stop,
    Tangent,
    ToolRate,
    plan_program,
    read_program,
    write_program,
)
from support.moves import HOME, joints, run, shifted, to, tool_speed


def test_joint_move_is_the_synchronised_trapezoid(ur5):
    goal = HOME + np.array([0.5, -0.3, 0.8, 0.1, 0.0, -1.0])
    p = run(ur5, joints(goal, speed=Fraction(0.5), acceleration=Fraction(0.25)))
    rated = [(0.5 * j.limits.velocity, 0.25 * j.limits.acceleration) for j in ur5.joints]
    want = motion.trapezoid(HOME, goal, *(np.array(v) for v in zip(*rated, strict=True)))
    assert p.duration == pytest.approx(want.duration, rel=1e-9)
    for mine, theirs in zip(p.at(p.t[:-1])[:3], want.evaluate(p.t[:-1]), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-7)


def test_leading_axis_and_duration(ur5):
    goal = HOME + np.array([0.5, -0.3, 0.8, 0.1, 0.0, -1.0])
    lead = run(ur5, joints(goal, speed=LeadingAxis(0.7), acceleration=LeadingAxis(1.4)))
    assert lead.duration == pytest.approx(1.0 / 0.7 + 0.5, rel=1e-9)  # axis 6 moves 1 rad
    timed = run(ur5, joints(goal, speed=Duration(2.5)))
    assert timed.duration == pytest.approx(2.5, rel=1e-9)
    line_too = run(ur5, to(shifted(fk(ur5, HOME), 0, 0, 0.1), speed=Duration(1.5), acceleration=Fraction(1.0)))
    assert line_too.duration == pytest.approx(1.5, rel=1e-9)
    with pytest.raises(ProgramError, match=r"is to take 0\.05 s, but joints and motors need .*durations from"):
        run(ur5, joints(goal, speed=Duration(0.05)))
    short = [
        joints(goal, speed=Duration(0.05)),
        joints(HOME, speed=Duration(9.0)),
        joints(goal, speed=Duration(0.06), line=7),
    ]
    with pytest.raises(ProgramError, match=r"0\.05 s, .*1 more are too short: line 7: 0\.06 s, "):
        run(ur5, *short)


def test_turns_on_the_spot_and_angular_words(ur5):
    T = fk(ur5, HOME)
    turned = T.copy()
    turned[:3, :3] = aw.spatial.exp_so3(np.array([0.0, 0.0, 0.6])) @ T[:3, :3]
    p = run(ur5, to(turned, speed=ToolRate(0.2, 0.5), acceleration=ToolRate(1.0, 2.0)))
    assert p.duration == pytest.approx(0.6 / 0.5 + 0.5 / 2.0, rel=1e-6)
    assert np.ptp(p.T_base_tool[:, :3, 3], axis=0).max() < 1e-7
    assert run(ur5, to(turned)).duration < p.duration  # without such words the joints' ratings bound it


def test_travel_and_a_turn_on_the_spot_meet_at_a_stop(ur5):
    T = fk(ur5, HOME)
    turned = T.copy()
    turned[:3, :3] = aw.spatial.exp_so3(np.array([0.0, 0.0, 0.6])) @ T[:3, :3]
    p = run(
        ur5,
        to(turned, blend=Distance(0.02)),
        to(shifted(turned, 0, 0, 0.1), blend=Tangent()),
        to(shifted(T, 0, 0, 0.1)),
    )
    assert np.count_nonzero(p.route.stops) == 4
    assert sum("turn on the spot at its end" in note.message for note in p.notes) == 2


def test_waits_payload_wrench_and_tools(ur5):
    T = fk(ur5, HOME)
    grip = np.eye(4)
    grip[:3, 3] = 0.0, 0.0, 0.15
    wait = Move("wait", None, Duration(0.5))
    load = Payload(3.0, np.array([0.0, 0.0, 0.1]))
    push = np.array([0, 0, -10.0, 0, 0, 0])
    up = to(shifted(T, 0, 0, 0.1), blend=Distance(0.02))
    p = run(ur5, up, wait, to(shifted(T, 0, 0.1, 0.1) @ grip, T_flange_tool=grip, payload=load, wrench=push))
    still = np.abs(p.qd).max(axis=1) < 1e-12
    assert still.sum() == pytest.approx(0.5 / 0.01, abs=3)
    assert p.move[still][5] == 0  # a wait belongs to the move before it
    assert any("blend is left out" in note.message for note in p.notes)
    np.testing.assert_allclose(p.T_base_tool[-1], shifted(T, 0, 0.1, 0.1) @ grip, atol=2e-8)
    assert p.wrench is not None and not p.wrench[0].any() and p.wrench[-1, 2] == -10.0
    lever = fk(ur5, p.q[-1])[:3, :3] @ grip[:3, 3]
    np.testing.assert_allclose(p.wrench[-1, 3:], np.cross(lever, [0, 0, -10.0]), atol=1e-12)
    light, heavy = (run(ur5, joints(HOME + 0.5, payload=w), law="fastest") for w in (None, Payload(5.0, np.zeros(3))))
    assert heavy.duration > light.duration * 1.01


@pytest.mark.parametrize("blend", [Distance(0.03), Share(0.5), BySpeed(0.5)])
def test_blends_pass_without_a_stop_and_stops_do_not(ur5, blend):
    T = fk(ur5, HOME)
    a, b = shifted(T, 0, 0, 0.1), shifted(T, 0, 0.12, 0.1)
    through, halted = (run(ur5, to(a, blend=kind), to(b)) for kind in (blend, Stop()))
    assert through.duration < halted.duration
    assert np.count_nonzero(through.route.stops) == 2 and np.count_nonzero(halted.route.stops) == 3
    assert np.abs(through.route.curve.jumps()[:, :2]).max() < 1e-6  # once continuous all over
    speed, _ = tool_speed(through, np.linspace(0.2, through.duration - 0.25, 500))
    assert speed.min() > 0.05
    np.testing.assert_allclose(through.T_base_tool[-1], halted.T_base_tool[-1], atol=1e-7)


def test_joint_moves_flow_into_one_another_and_into_lines(ur5):
    T = fk(ur5, HOME + 0.2)
    moves = [joints(HOME - 0.3, blend=Share(1.0)), joints(HOME + 0.2, blend=Distance(0.05)), to(shifted(T, 0, 0, 0.1))]
    moves[1:1] = [joints(HOME, blend=Share(1.0)), joints(HOME - 0.3, blend=Share(1.0))]  # zones that meet half way
    p = run(ur5, *moves)
    assert np.count_nonzero(p.route.stops) == 2
    assert np.abs(p.route.curve.jumps()[:, :3]).max() < 1e-6
    hard = np.array([joint.limits.acceleration for joint in ur5.joints])
    at = np.isin(p.move, [0, 1, 2, 3])
    assert (np.abs(p.qdd[at]) <= hard * (1 + 1e-6)).all()


def test_joint_moves_in_one_direction_are_passed_straight(ur5):
    """Tangent between two joint moves on one line: no stop, no corner, and never off the line."""
    step = np.array([0.4, 0.1, -0.2, 0.0, 0.3, 0.5])
    p = run(ur5, joints(HOME + step, blend=Tangent()), joints(HOME + 1.7 * step))
    assert np.count_nonzero(p.route.stops) == 2
    assert np.abs(p.route.curve.jumps()[:, :3]).max() < 1e-9
    along_line = (p.q - HOME) @ step / (step @ step)
    np.testing.assert_allclose(p.q, HOME + along_line[:, None] * step, atol=1e-12)
    assert (np.diff(along_line) > -1e-12).all()


def test_turning_back_is_a_stop(ur5):
    T = fk(ur5, HOME)
    p = run(ur5, to(shifted(T, 0, 0, 0.1), blend=Distance(0.02)), to(T))
    assert np.count_nonzero(p.route.stops) == 3
    assert any("turns back at its end: the arm stops there" in note.message for note in p.notes)
    sharp = run(ur5, to(shifted(T, 0, 0, 0.1), blend=Distance(0.03)), to(shifted(T, 0, 0.04, 0.0)))  # 158°
    assert np.count_nonzero(sharp.route.stops) == 2
    assert tool_speed(sharp, np.linspace(0.0, sharp.duration, 4001))[0].max() <= 0.2 * (1 + 2e-3)


SQUARE = "G1 X{b} Y{c} F600\nG1 Y{d}\nG1 X{a}\nG0 Z{f}\nG1 Z{e} F100\n"


@pytest.mark.parametrize("words", ["G64", "G64 P0"])
def test_g64_without_a_tolerance_stops_at_corners_and_says_how_many(ur5, words):
    """As with G61 then, to the same places, in the same time; tangents are passed."""
    x, y, z = fk(ur5, HOME)[:3, 3] * 1e3
    places = {"a": x, "b": x + 50, "c": y, "d": y + 50, "e": z, "f": z + 30}
    text = f"G21 G90 {{}}\nG0 X{x} Y{y} Z{z}\nG1 X{x + 20} F600\n" + SQUARE.format(**places)
    text += (
        f"G2 X{x + 20} Y{y + 50} I10 J0 F300\nG1 X{x + 20} Y{y}\n"  # a half circle that a line leaves without a corner
    )
    passing = read_program(text.format(words), "g-code")
    plan = plan_program(ur5, passing, start_q=HOME)
    stopping = plan_program(ur5, read_program(text.format("G61"), "g-code"), start_q=HOME)
    told = [note for note in plan.notes if "G64 without P" in note.message]
    if words == "G64":
        assert [(note.line, "at 5 corners" in note.message) for note in told] == [(4, True)]
        assert plan.duration < stopping.duration  # two tangents
        assert plan.route.stops.sum() == stopping.route.stops.sum() - 2
        written = read_program(write_program(passing, "g-code"), "g-code")
        assert [move.blend for move in written.moves] == [move.blend for move in passing.moves]
    else:
        assert not told and plan.duration == pytest.approx(stopping.duration)
    np.testing.assert_allclose(plan.q[-1], stopping.q[-1], atol=1e-9)


def test_splines_and_jerk(ur5):
    T = fk(ur5, HOME)
    points = [shifted(T, 0, 0.05, 0.05), shifted(T, 0.02, 0.1, 0.0), shifted(T, 0, 0.15, 0.05)]
    p = run(ur5, *(to(x, kind="spline") for x in points))
    assert np.count_nonzero(p.route.stops) == 2
    for x in points:
        assert np.linalg.norm(p.T_base_tool[:, :3, 3] - x[:3, 3], axis=1).min() < 2e-3
    smooth = run(ur5, *(to(x, kind="spline") for x in points), jerk=10.0)
    assert 6.0 * np.abs(smooth.time.coefficients[:, 3]).max() <= 10.0 * (1 + 1e-9)
    assert smooth.duration > p.duration
    t = np.linspace(0, smooth.duration, 3001)
    assert tool_speed(smooth, t)[0].max() <= 0.2 * (1 + 1e-4)


@pytest.mark.parametrize("blend", [Distance(0.01), Stop()])
def test_effort_grows_in_step_with_the_program(ur5, monkeypatch, blend):
    """Ten times the moves: ten times the poses, the pieces, and the numbers of all curves that are ever evaluated."""
    T, solved, handled = fk(ur5, HOME), [], []
    solve, derive = joint_curve.ik, trajectory.differentiate

    def counted(robot, poses, **options):
        solved.append(np.shape(poses)[0])
        return solve(robot, poses, **options)

    def weighed(coefficients):
        handled.append(coefficients.size)
        return derive(coefficients)

    monkeypatch.setattr(joint_curve, "ik", counted)
    monkeypatch.setattr(trajectory, "differentiate", weighed)

    def effort(n):
        solved.clear()
        handled.clear()
        ring = [shifted(T, 0, 0.05 * np.sin(k), 0.05 * np.cos(k)) for k in range(n)]
        p = run(ur5, *(to(x, blend=blend) for x in ring))
        assert max(solved) <= joint_curve.POSES_AT_ONCE
        return np.array([sum(solved), p.route.owner.size, sum(handled)])

    few, many = effort(20), effort(200)
    assert (many > 8.0 * few).all() and (many < 12.0 * few).all(), (few, many)


def test_a_line_to_joints_leads_to_the_pose_they_have(ur5):
    """URScript's movel takes both; where it ends follows from the tool, too."""
    way = "set_tcp(p[0, 0.02, 0.1, 0, 0, 0])\nmovej([0.1, -1.2, 1.4, -1.7, -1.5, 0.2])\n"
    goal = [0.4, -1.0, 1.3, -1.8, -1.5, 0.2]
    plan = plan_program(ur5, read_program(f"{way}movel({goal})\n", "urscript"))
    np.testing.assert_allclose(plan.q[-1], goal, atol=1e-9)
    points = plan.T_base_tool[:, :3, 3]
    chord = points[-1] - points[0]
    assert np.linalg.norm(np.cross(points - points[0], chord / np.linalg.norm(chord)), axis=1).max() < 1e-6
