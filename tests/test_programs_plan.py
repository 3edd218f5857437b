# SPDX-License-Identifier: Apache-2.0
"""Planning of programs: the demonstration program, words that are kept, and what is refused, with its message."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright import motion
from armwright.errors import InputError, ProgramError
from armwright.kinematics import fk, jacobian
from armwright.motion import joint_curve, trajectory
from armwright.motion.torque import needed, torque_limits
from armwright.programs import (
    BySpeed,
    Distance,
    Duration,
    Fraction,
    Joints,
    LeadingAxis,
    Move,
    Payload,
    Pose,
    Program,
    Share,
    Stop,
    Tangent,
    ToolRate,
)
from armwright.programs.languages.lirl import read_lirl
from armwright.programs.plan import plan_program

DEMO = Path(__file__).parents[1] / "examples" / "programs" / "lola15dd.irl"
Q_S0 = np.radians([44.1162, 44.3961, -32.7075, -27.9415, -47.2794, 34.8090])


@pytest.fixture(scope="module")
def rl15():
    return aw.load("rl15")


@pytest.fixture(scope="module")
def ur5():
    return aw.load("ur5")


@pytest.fixture(scope="module")
def demo():
    return read_lirl(DEMO.read_text(encoding="utf-8"), DEMO.name)


@pytest.fixture(scope="module")
def plan(rl15, demo):
    return plan_program(rl15, demo)


def tool_speed(plan, t):
    q, qd, _, move = plan.at(t)
    points = np.array([np.eye(4) if m.T_flange_tool is None else m.T_flange_tool for m in plan.program.moves])
    J = jacobian(plan.robot, q, point=points[move][:, :3, 3])
    return np.linalg.norm((J[:, :3] @ qd[..., None])[..., 0], axis=1), move


def only(program, first, last, **change):
    return replace(program, moves=tuple(replace(move, **change) for move in program.moves[first:last]))


# --- the demonstration program ----------------------------------------------------------------------------------------


def test_demo_runs_without_a_stop(plan):
    """Moves 1–10: from the first ramp to the last the tool never stands, PTP into circle included."""
    end = plan.moves[9].end
    t = np.linspace(0.2, end - 0.4, 5001)
    speed, _ = tool_speed(plan, t)
    assert speed.min() > 0.2
    assert np.count_nonzero(plan.route.stops) == 4  # start, behind move 10, between the two last moves, end
    assert all(b.start == pytest.approx(a.end, abs=1e-9) for a, b in zip(plan.moves[:-1], plan.moves[1:], strict=True))


def test_demo_keeps_its_words(plan, rl15, demo):
    """Tool speed and tangential acceleration of every tool move, joint and motor speeds of all."""
    t = np.linspace(0.0, plan.duration, 40001)
    speed, move = tool_speed(plan, t)
    acceleration = np.abs(np.diff(speed) / np.diff(t))
    for k, word in enumerate(demo.moves):
        if word.kind == "joint":
            continue
        at = move == k
        assert speed[at].max() <= word.speed.linear * (1 + 1e-4), k
        inside = at[1:] & at[:-1]
        corner = k == 1  # its first half is a corner rounded in joint space
        assert corner or acceleration[inside].max() <= word.acceleration.linear * (1 + 5e-3), k
    _, qd, qdd, move = plan.at(t)
    rated = np.array([joint.limits.velocity for joint in rl15.joints])
    assert (np.abs(qd) <= rated * (1 + 2e-3)).all()
    assert (np.abs(qd @ rl15.actuators.gear.T) <= rl15.actuators.speed_limit * (1 + 2e-3)).all()
    hard = np.array([joint.limits.acceleration for joint in rl15.joints])
    assert (np.abs(qdd[np.isin(move, [10, 11])]) <= hard * (1 + 1e-9)).all()


def test_demo_goes_where_it_says(plan, rl15, demo):
    """Stops at its targets; passes the others at the very point, but for the corner that is rounded by 28 mm."""
    t = np.linspace(0.0, plan.duration, 60001)
    q, _, _, move = plan.at(t)
    tool = np.asarray(demo.moves[0].T_flange_tool)
    p = (fk(rl15, q) @ tool)[:, :3, 3]
    miss = []
    for k, word in enumerate(demo.moves[:10]):
        miss.append(np.linalg.norm(p[np.abs(move - k) <= 1] - word.target.T[:3, 3], axis=1).min())
    assert max(miss[k] for k in (1, 2, 3, 4, 6, 7, 8, 9)) < 1e-4  # the samples are that far apart
    assert miss[5] == pytest.approx(0.028125, abs=2e-4)
    assert miss[0] > 0.005  # rounded in joint space
    end = plan.at(plan.moves[9].end)[0]
    np.testing.assert_allclose(fk(rl15, end) @ tool, demo.moves[9].target.T, atol=2e-8)
    np.testing.assert_allclose(plan.q[-1], [*np.radians([-115.70, 55.70, 68.70]), 0, 0, plan.q[-1, 5]], atol=1e-12)


def test_demo_figures(rl15, demo):
    """Moves 2–10 alone, orientation turned evenly as in the digest: 7.7475 s, at most 52 % of any motor (f_e on).

    And the last move is the digest's X11, 1.4676 s.
    """
    tool_moves = only(demo, 1, 10, orientation="slerp", wrench=np.array([-100.0, -100.0, 150.0, 0, 0, 0]))
    p = plan_program(rl15, tool_moves, start_q=Q_S0)
    assert p.duration == pytest.approx(7.7475, abs=1e-4)
    limits = torque_limits(rl15)
    use = needed(rl15, limits, p.q, p.qd, p.qdd, p.wrench)[1]
    assert use.max() == pytest.approx(0.52, abs=0.005)
    np.testing.assert_allclose(use.max(axis=0) * limits.bound, [3.74, 10.23, 7.08, 1.47, 1.82, 0.93], rtol=0.02)
    last = plan_program(rl15, only(demo, 11, 12), start_q=np.zeros(6))
    assert last.duration == pytest.approx(1.4676, abs=1e-4)


def test_demo_fastest(rl15, demo):
    """At the motors' limits less than half as long; in every cycle within a hundredth of the share that is allowed."""
    tool_moves = only(demo, 1, 10, orientation="slerp")
    limits = torque_limits(rl15)
    full, eased = (plan_program(rl15, tool_moves, start_q=Q_S0, law="fastest", share=s) for s in (1.0, 0.95))
    assert 3.1 < full.duration < eased.duration < 3.4
    for p, share in ((full, 1.0), (eased, 0.95)):
        use = needed(rl15, limits, p.q, p.qd, p.qdd)[1]
        assert 0.95 * share < use.max() < 1.015 * share
        assert (np.abs(p.qd) <= 1.01 * np.array([joint.limits.velocity for joint in rl15.joints])).all()


def test_samples_are_one_motion(plan):
    """qd and qdd are the derivatives of q, away from the instants at which a law switches."""
    h = 1e-6
    t = np.linspace(0.01, plan.duration - 0.01, 997)
    (a, va, _, _), (_, v, acc, _), (b, vb, _, _) = plan.at(t - h), plan.at(t), plan.at(t + h)
    np.testing.assert_allclose((b - a) / (2 * h), v, atol=1e-4)
    assert np.median(np.abs((vb - va) / (2 * h) - acc)) < 1e-3
    assert plan.t[0] == 0.0 and plan.t[-1] >= plan.duration > plan.t[-2]
    assert not plan.qd[0].any() and not plan.qd[-1].any()


def test_any_cycle_and_override(rl15, demo):
    p, fine = (plan_program(rl15, only(demo, 1, 10), c, start_q=Q_S0) for c in (0.01, 0.003))
    np.testing.assert_allclose(fine.q[::10][: p.q[::3].shape[0]], p.q[::3][: fine.q[::10].shape[0]], atol=1e-12)
    half = plan_program(rl15, only(demo, 1, 10), start_q=Q_S0, override=0.5)
    assert half.duration == pytest.approx(2.0 * p.duration, rel=1e-12)
    np.testing.assert_allclose(half.q[::2][:700], p.q[:700], atol=1e-9)


# --- words ------------------------------------------------------------------------------------------------------------

HOME = np.array([0.0, -1.2, 1.5, -1.8, -1.5, 0.3])


def joints(q, **words):
    return Move("joint", Joints(np.asarray(q)), **{"speed": Fraction(1.0), **words})


def to(T, kind="line", **words):
    return Move(kind, Pose(T), **{"speed": ToolRate(0.2), "acceleration": ToolRate(1.0), **words})


def shifted(T, *d):
    out = np.array(T)
    out[:3, 3] += d
    return out


def run(robot, *moves, start=HOME, **options):
    return plan_program(robot, Program(moves, start_q=start), **options)


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


def test_turns_on_the_spot_and_angular_words(ur5):
    T = fk(ur5, HOME)
    turned = T.copy()
    turned[:3, :3] = aw.spatial.exp_so3(np.array([0.0, 0.0, 0.6])) @ T[:3, :3]
    p = run(ur5, to(turned, speed=ToolRate(0.2, 0.5), acceleration=ToolRate(1.0, 2.0)))
    assert p.duration == pytest.approx(0.6 / 0.5 + 0.5 / 2.0, rel=1e-6)
    assert np.ptp(p.T_base_tool[:, :3, 3], axis=0).max() < 1e-7
    assert run(ur5, to(turned)).duration < p.duration  # without such words the joints' ratings bound it


def test_rated_accelerations_on_tool_moves_are_an_option(rl15, demo):
    hard = np.array([joint.limits.acceleration for joint in rl15.joints])
    free, kept = (plan_program(rl15, only(demo, 1, 4), start_q=Q_S0, keep_acceleration=k) for k in (False, True))
    assert (np.abs(free.qdd) / hard).max() > 1.5
    assert (np.abs(kept.qdd) / hard).max() <= 1.0 + 1e-6
    assert kept.duration > free.duration


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
    assert np.abs(through.route.curve.jumps()[:, :3]).max() < 1e-6  # twice continuous all over
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
    assert any("turns back at its end (180.0°)" in note.message for note in p.notes)
    sharp = run(ur5, to(shifted(T, 0, 0, 0.1), blend=Distance(0.03)), to(shifted(T, 0, 0.04, 0.0)))  # 158°
    assert np.count_nonzero(sharp.route.stops) == 2
    assert tool_speed(sharp, np.linspace(0.0, sharp.duration, 4001))[0].max() <= 0.2 * (1 + 2e-3)


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
        assert max(solved) <= joint_curve.AT_ONCE
        return np.array([sum(solved), p.route.owner.size, sum(handled)])

    few, many = effort(20), effort(200)
    assert (many > 8.0 * few).all() and (many < 12.0 * few).all(), (few, many)


# --- what is refused, and how -----------------------------------------------------------------------------------------


def test_out_of_reach(ur5):
    T = fk(ur5, HOME)
    far = to(shifted(T, -0.9, 0, 0), line=7, text="movel(far)")
    with pytest.raises(
        ProgramError,
        match=r"line 7, at 'movel\(far\)': \d+\.\d mm into this move of 900\.0 mm .*"
        r"joint \d .*valid here: targets up to",
    ) as info:
        run(ur5, far)
    assert info.value.line == 7
    with pytest.raises(ProgramError, match=r"line 3.*out of reach of 'ur5': the closest approach misses it"):
        run(ur5, Move("joint", Pose(shifted(T, -2, 0, 0), name="p1"), Fraction(1.0), line=3))


def test_singular_path_names_what_works(rl15):
    q = np.radians([10.0, 20.0, -20.0, 0.0, 0.0, 0.0])
    T = fk(rl15, q)
    start = aw.ik(rl15, shifted(T, 0, 0, -0.1), seed=q).solutions[0]
    with pytest.raises(ProgramError, match=r"(singular|branch).*valid here: .*(joint move|posture)"):
        run(rl15, to(shifted(T, 0, 0, 0.15)), start=start)


def test_corners_that_are_to_be_passed(ur5):
    T = fk(ur5, HOME)
    with pytest.raises(ProgramError, match=r"line 2.*corner of 90\.000°.*valid here: a blend over a distance"):
        run(ur5, to(shifted(T, 0, 0, 0.1), blend=Tangent(), line=2), to(shifted(T, 0, 0.1, 0.1), line=3))
    with pytest.raises(ProgramError, match="joints change direction"):
        run(ur5, joints(HOME + 0.3, blend=Tangent()), joints(HOME))


def test_circles_without_a_circle(ur5):
    T = fk(ur5, HOME)

    def arc(via, end):
        return Move("arc", Pose(end), ToolRate(0.2), ToolRate(1.0), via=Pose(via), line=5)

    with pytest.raises(ProgramError, match=r"line 5: .*lie on one line"):
        run(ur5, arc(shifted(T, 0, 0.05, 0), shifted(T, 0, 0.1, 0)))
    with pytest.raises(ProgramError, match="three different points"):
        run(ur5, arc(T, shifted(T, 0, 0.1, 0)))
    with pytest.raises(ProgramError, match="two arcs, or as an arc with an angle of 360°"):
        run(ur5, arc(shifted(T, 0, 0.05, 0), T))
    whole = replace(arc(shifted(T, 0, 0.05, 0.05), shifted(T, 0, 0.1, 0)), arc_angle=2 * np.pi)
    p = run(ur5, whole)
    np.testing.assert_allclose(p.T_base_tool[-1, :3, 3], T[:3, 3], atol=1e-7)


def test_moves_without_length_are_left_out_with_a_note(ur5):
    T = fk(ur5, HOME)
    up = shifted(T, 0, 0, 0.1)
    p = run(
        ur5,
        to(T, line=1),
        to(up, line=2, blend=Distance(0.01)),
        to(up, line=3),
        joints(HOME, line=4),
        joints(HOME, line=5),
    )
    left_out = [note.line for note in p.notes if "no length" in note.message and "left out: the" in note.message]
    assert left_out == [1, 3, 5]
    assert p.moves[0].length == p.moves[2].length == p.moves[4].length == 0.0
    assert np.count_nonzero(p.route.stops) == 3  # the stop of move 3 counts, though the move does not
    with pytest.raises(InputError, match="no move of it has any length"):
        run(ur5, to(T), joints(HOME))


def test_overlapping_zones_shrink_with_a_note(ur5):
    T = fk(ur5, HOME)
    ring = [shifted(T, 0, 0, 0.1), shifted(T, 0, 0.06, 0.1), shifted(T, 0, 0.06, 0.0)]
    program = Program(tuple(to(x, blend=Distance(0.05), line=k + 1) for k, x in enumerate(ring)), start_q=HOME)
    p = plan_program(ur5, program)
    notes = [note.message for note in p.notes if "does not fit" in note.message]
    assert len(notes) == 2 and "30.0 mm are rounded" in notes[0]
    halves = plan_program(ur5, replace(program, language="rapid"))
    assert any("30.0 mm" in note.message for note in halves.notes)


def test_program_of_another_arm(ur5, rl15):
    with pytest.raises(ProgramError, match=r"line 4: the target has 7 joints, 'ur5' has 6: .*another arm"):
        run(ur5, joints(np.zeros(7), line=4))
    with pytest.raises(InputError, match="starts with 7 joints"):
        plan_program(ur5, Program((joints(HOME),), start_q=np.zeros(7)))
    with pytest.raises(ProgramError, match=r"outside its range; valid here: -360\.00° to 360\.00°"):
        run(ur5, joints(HOME + 9.0))
    p = plan_program(rl15, Program((joints(HOME),), robot="irb140", start_q=np.zeros(6)))
    assert any("written for 'irb140'" in note.message for note in p.notes)


def test_arms_without_limits_or_closed_form(ur5):
    bare = replace(
        ur5,
        joints=tuple(replace(j, limits=replace(j.limits, velocity=np.inf, acceleration=np.inf)) for j in ur5.joints),
    )
    with pytest.raises(ProgramError, match="nothing bounds the speed of this move: 'ur5' has no rated joint speeds"):
        run(bare, joints(HOME + 0.1))
    slow = replace(ur5, joints=tuple(replace(j, limits=replace(j.limits, acceleration=np.inf)) for j in ur5.joints))
    assert any("our assumption" in note.message for note in run(slow, joints(HOME + 0.1)).notes)
    with pytest.raises(InputError, match="has neither motor torques nor joint efforts"):
        run(aw.load("irb140"), joints(np.full(6, 0.1)), start=np.zeros(6), law="fastest")
    panda = aw.load("panda")
    q = np.array([0.0, -0.3, 0.0, -2.0, 0.0, 1.8, 0.7])
    assert run(panda, joints(q + 0.1), start=q).duration > 0.0
    with pytest.raises(ProgramError, match="no closed-form inverse kinematics"):
        run(panda, to(shifted(fk(panda, q), 0, 0, 0.05)), start=q)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"cycle": 0.0}, "cycle"),
        ({"cycle": float("nan")}, "cycle"),
        ({"override": -1.0}, "override"),
        ({"law": "slowest"}, "law must be"),
        ({"law": "fastest", "share": 2.0}, "share"),
        ({"jerk": 0.0}, "jerk"),
        ({"law": "fastest", "jerk": 5.0}, "jerk"),
        ({"acceleration": -1.0}, "acceleration"),
    ],
)
def test_bad_options(ur5, options, message):
    with pytest.raises(InputError, match=message):
        run(ur5, joints(HOME + 0.1), **options)
