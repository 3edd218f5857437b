# SPDX-License-Identifier: Apache-2.0
"""The demonstration program, planned: it runs without a stop, keeps its words, and takes as long as it should."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.kinematics import fk
from armwright.motion.arm_limits import needed, torque_limits
from armwright.programs import plan_program, read_program
from support.moves import tool_speed

DEMO = Path(__file__).parents[2] / "examples" / "programs" / "lola15dd.irl"
Q_S0 = np.radians([44.1162, 44.3961, -32.7075, -27.9415, -47.2794, 34.8090])


@pytest.fixture(scope="module")
def demo():
    return read_program(DEMO)


@pytest.fixture(scope="module")
def plan(rl15, demo):
    return plan_program(rl15, demo, start_q=np.zeros(6))


def only(program, first, last, **change):
    return replace(program, moves=tuple(replace(move, **change) for move in program.moves[first:last]))


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

    And the last move takes 1.4676 s.
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


def test_rated_accelerations_on_tool_moves_are_an_option(rl15, demo):
    hard = np.array([joint.limits.acceleration for joint in rl15.joints])
    free, kept = (plan_program(rl15, only(demo, 1, 4), start_q=Q_S0, keep_acceleration=k) for k in (False, True))
    assert (np.abs(free.qdd) / hard).max() > 1.5
    assert (np.abs(kept.qdd) / hard).max() <= 1.0 + 1e-6
    assert kept.duration > free.duration


TOOL = np.eye(4)
TOOL[:3, 3] = 0.12, 0.12, 0.35


@pytest.mark.parametrize("suffix", ["mod", "src", "script", "ngc"])
def test_every_language_goes_the_same_way(rl15, plan, suffix):
    """Moves 1–10 without a stop in each; on every target but those that are rounded, and nearly as long."""
    program = read_program(DEMO.with_suffix(f".{suffix}"))
    p = plan_program(rl15, program, tool=TOOL)
    assert not p.route.stops[1:-1][p.route.owner[:-1] < 9].any()
    end = p.at(p.moves[9].end)[0]
    np.testing.assert_allclose(fk(rl15, end) @ TOOL, plan.program.moves[9].target.T, atol=1e-6)
    way = [sum(move.length for move in q.moves[1:10]) for q in (p, plan)]
    assert way[0] == pytest.approx(way[1], abs=0.03)  # the corner at s8_a may be rounded by less


@pytest.mark.parametrize("name", ["irb140_pick.mod", "irb140_weld.mod", "ur5_pick.script", "ur5_weld.script"])
def test_examples_can_be_planned(name):
    arm = aw.load(name.split("_")[0])
    p = plan_program(arm, read_program(DEMO.with_name(name)))
    assert (np.abs(p.qd) <= [joint.limits.velocity * (1 + 1e-3) for joint in arm.joints]).all()
    assert (np.diff(p.move) >= 0).all()


def test_a_joint_at_its_speed_limit_is_followed_without_chatter(plan):
    """In move 3 axis 4 is at its limit: its acceleration swings once, not in every piece of the way."""
    move = plan.moves[2]
    push = plan.time.evaluate(np.linspace(move.start, move.end, 4001)[1:-1]).qdd[:, 0]
    assert np.abs(np.diff(push)).sum() < 4.0 * np.ptp(push)
