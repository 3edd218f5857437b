# SPDX-License-Identifier: Apache-2.0
"""Paths of several moves in a program: blends stay within their radius and do not stop, movep keeps its speed."""

import numpy as np
import pytest

from armwright.lab.controller.controller_states import ControllerState
from armwright.spatial.rotations import exp_so3, log_so3
from support.scripts import HOME, controller, run_text, went

DT = 0.002


@pytest.fixture
def c():
    return controller()


def run(c, text):
    """References (q, TCP position) of every tick until the program has ended."""
    run_text(c, text)
    rows = []
    while c.program is not None:
        c.tick()
        rows.append(c.reference.q.copy())
        assert len(rows) < 20_000
    assert c.state is ControllerState.READY, c.outbox.take()
    q = np.array(rows)
    return q, np.array([c.plant.pose_of(row)[:3] for row in q])


def program(*lines):
    return "def prog():\n" + "\n".join(lines) + "\nend\n"


def literal(pose):
    return "p[" + ",".join(f"{x:.9f}" for x in pose) + "]"


def corner(c, kind, r, v=0.2, a=1.0):
    """Two legs with a right angle; the corner and the end."""
    start = c.plant.pose_of(HOME)
    first, second = start + np.array([0, 0.15, 0, 0, 0, 0]), start + np.array([0, 0.15, 0.15, 0, 0, 0.3])
    lines = (f"{kind}({literal(goal)}, a={a}, v={v}, r={radius})" for goal, radius in ((first, r), (second, 0.0)))
    return program(*lines), first[:3], second[:3]


def speeds(points):
    return np.linalg.norm(np.diff(points, axis=0), axis=1) / DT


@pytest.mark.parametrize("kind", ["movel", "movep", "movej"])
def test_the_radius_of_the_last_move_does_nothing(c, kind):
    goal = c.plant.pose_of(HOME) + np.array([0, 0.15, 0, 0, 0, 0])
    _, points = run(c, program(f"{kind}({literal(goal)}, a=1, v=0.2, r=0.03)"))
    assert np.linalg.norm(points[-1] - goal[:3]) < 1e-5
    assert c.program is None and not c.moving


@pytest.mark.parametrize("kind", ["movel", "movep"])
def test_a_blend_leaves_the_lines_only_within_its_radius_and_does_not_stop(c, kind):
    text, waypoint, end = corner(c, kind, 0.03)
    start = c.plant.pose_of(HOME)[:3]
    _, points = run(c, text)
    far = np.linalg.norm(points - waypoint, axis=1) > 0.0301
    off_first = np.linalg.norm((points - start)[:, [0, 2]], axis=1)
    off_second = np.linalg.norm((points - waypoint)[:, [0, 1]], axis=1)
    assert np.minimum(off_first, off_second)[far].max() < 1e-5
    assert np.linalg.norm(points - waypoint, axis=1).min() > 1e-3  # it is cut
    moving = speeds(points)[50:-150]
    assert moving.min() > 0.05 and speeds(points).max() < 0.2 * 1.001
    assert np.allclose(points[-1], end, atol=1e-6)


def test_without_a_radius_the_arm_stops_at_the_waypoint(c):
    text, waypoint, _ = corner(c, "movel", 0.0)
    _, points = run(c, text)
    assert np.linalg.norm(points - waypoint, axis=1).min() < 1e-6
    assert speeds(points)[50:-150].min() < 1e-3


def test_a_blend_saves_time(c):
    taken = {}
    for r in (0.0, 0.02, 0.05):
        c.plant.live.reset(HOME)
        c.settle()
        taken[r] = len(run(c, corner(c, "movel", r)[0])[0])
    assert taken[0.0] > taken[0.02] > taken[0.05]


def test_movep_keeps_its_speed_round_the_corner(c):
    text, waypoint, _ = corner(c, "movep", 0.05, v=0.15, a=4.0)
    _, points = run(c, text)
    round_it = np.linalg.norm(points[1:] - waypoint, axis=1) < 0.05
    assert round_it.sum() > 200 and np.allclose(speeds(points)[round_it], 0.15, rtol=2e-3)


def test_movep_stops_where_it_turns_back_or_only_turns(c):
    start = c.plant.pose_of(HOME)
    there, turned = start + np.array([0, 0.1, 0, 0, 0, 0]), start + np.array([0, 0, 0, 0, 0, 0.2])
    for goals in ((there, start), (there, there + np.array([0, 0, 0, 0, 0, 0.2]), start), (turned, there)):
        c.plant.live.reset(HOME)
        c.settle()
        radii = [0.02] * (len(goals) - 1) + [0.0]
        lines = [f"movep({literal(goal)}, a=1, v=0.2, r={r})" for goal, r in zip(goals, radii, strict=True)]
        q, _ = run(c, program(*lines))
        assert np.abs(np.diff(q, 2, axis=0)).max() / DT**2 < 20.0  # no jump of speed
        assert np.allclose(c.plant.pose_of(q[-1])[:3], goals[-1][:3], atol=1e-6)


def test_movep_slows_down_for_a_bend_that_is_too_tight(c):
    """The circle that begins d before a right angle has ρ = d, and v² = a ρ on it."""
    text, waypoint, _ = corner(c, "movep", 0.004, v=0.3, a=1.0)
    _, points = run(c, text)
    middle = np.argmin(np.linalg.norm(points - waypoint, axis=1))
    assert speeds(points)[middle] == pytest.approx(np.sqrt(1.0 * 0.004), rel=0.005)


@pytest.mark.parametrize("end, angle", [((0.15, 0.0), 0.0), ((0.1, 0.1), 0.25 * np.pi), ((0.0, 0.15), 0.5 * np.pi)])
def test_movep_bends_in_a_circle_that_touches_both_lines(c, end, angle):
    """It begins and ends d from the corner, at a radius of d / tan(γ/2), and the tool turns on it without a jump."""
    start, d = c.plant.pose_of(HOME), 0.04
    corner = start + np.array([0, 0.15, 0, 0, 0, 0])
    last = corner + np.array([0, *end, 0, 0, 0])
    last[3:] = log_so3(exp_so3(np.array([0.4, 0, 0])) @ exp_so3(start[3:]))
    q, points = run(c, program(f"movep({literal(corner)}, a=2, v=0.1, r={d})", f"movep({literal(last)}, a=2, v=0.1)"))
    off = points - corner[:3]
    bend = np.linalg.norm(off, axis=1) < 0.98 * d
    assert bend.sum() > 200 and np.abs(np.diff(q, 2, axis=0)).max() / DT**2 < 10.0
    if not angle:
        assert np.linalg.norm(off[:, [0, 2]], axis=1).max() < 1e-5
        return
    late = d - np.linspace(0.0, 1e-3, 501)[:, None]  # it begins with a tick, a little after d
    radius = late / np.tan(0.5 * angle)
    away = np.abs(np.hypot(off[bend, 1] + late, off[bend, 2] - radius) - radius).max(axis=1)
    assert away.min() < 2e-6 and np.abs(off[bend, 0]).max() < 2e-6


def test_joint_moves_blend_within_their_radius_and_speed(c):
    a, b = HOME + np.array([0.6, 0, 0, 0, 0, 0]), HOME + np.array([0.6, 0.3, 0, 0, 0.4, 0])
    q, points = run(c, program(f"movej({a.tolist()}, a=2, v=1, r=0.05)", f"movej({b.tolist()}, a=2, v=1)"))
    waypoint = c.plant.pose_of(a)[:3]
    straight = np.minimum(np.abs(q - HOME)[:, 1:].max(axis=1), np.abs(q - a)[:, 0])
    assert straight[np.linalg.norm(points - waypoint, axis=1) > 0.0505].max() < 1e-9
    rates = np.abs(np.diff(q, axis=0)).max(axis=1) / DT
    assert rates.max() < 1.001 and rates[20:-150].min() > 0.05
    assert np.allclose(q[-1], b)


def test_lines_and_joint_moves_blend_into_one_another(c):
    start = c.plant.pose_of(HOME)
    goal = start + np.array([0, 0.1, 0.1, 0, 0, 0])
    q, points = run(
        c,
        program(f"movel({literal(goal)}, a=1, v=0.2, r=0.03)", f"movej({(HOME + 0.3).tolist()}, a=2, v=0.5)"),
    )
    assert speeds(points)[50:-150].min() > 0.01 and np.allclose(q[-1], HOME + 0.3)
    assert np.abs(np.diff(q, 2, axis=0)).max() / DT**2 < 10.0  # no jump


def test_a_blend_takes_at_most_half_of_a_move(c):
    q, _ = run(c, corner(c, "movel", 1.9)[0])
    assert np.abs(np.diff(q, axis=0)).max() / DT < 3.0


def test_a_time_in_place_of_a_speed(c):
    q, _ = run(c, f"movej({(HOME + 0.2).tolist()}, 1.4, 1.05, 0.8)")
    assert len(q) * DT == pytest.approx(0.8, abs=0.01) and np.allclose(q[-1], HOME + 0.2)


def test_servoj_is_followed_while_it_comes_and_the_arm_stops_when_it_does_not(c):
    text = """def f():
  q = get_target_joint_positions()
  i = 0
  while i < 150:
    q[0] = q[0] + 0.002
    servoj(q, t=0.008, lookahead_time=0.05, gain=500)
    i = i + 1
  end
  write_output_integer_register(0, 1)
  sleep(0.6)
  write_output_integer_register(0, 2)
  sync()
end
"""
    goal = HOME + np.array([0.3, 0, 0, 0, 0, 0])
    run_text(c, text)
    while c.registers.out_ints[0] != 1:
        c.tick()
        assert c.state is ControllerState.PLAYING
    assert 0.0 < goal[0] - c.plant.live.q[0] < 0.25 * 0.1  # the filter is behind by about its look-ahead time
    assert c.plant.live.qd[0] > 0.2
    while c.registers.out_ints[0] != 2:
        c.tick()
    assert c.state is ControllerState.PLAYING and not c.moving  # the program goes on, the arm stands
    assert np.allclose(c.plant.live.q, goal, atol=2e-3)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("movej([0,0,0,0,0,0], r=-1)", "blend radius"),
        ("movel(p[0.3,0.3,0.3,0,0,0], r=9)", "blend radius"),
        ("movej([9,0,0,0,0,0])", "leave their range"),
        ("movej([0,0,0,0,0,0], a=0)", "must be > 0"),
        ("movej([0,0,0])", "6"),
    ],
)
def test_what_cannot_be_is_a_fault_with_words(c, line, why):
    run_text(c, line)
    ran = went(c, 5)
    assert not c.moving and c.state is ControllerState.READY and why in ran.faults[0][2]


def test_movej_to_a_pose_takes_joints_near_those_before_it(c):
    there = HOME + np.array([0.4, 0.2, -0.3, 0.1, 0.2, 0.5])
    goal = c.plant.pose_of(there)
    q, _ = run(c, program(f"movej({(HOME + 0.1).tolist()}, a=3, v=2)", f"movej({literal(goal)}, a=3, v=2)"))
    assert np.allclose(q[-1], there, atol=1e-6)


def test_a_stop_forgets_what_was_being_solved(c):
    there = HOME + np.array([1.5, 0.3, 0.3, 0.5, 0.3, 0])  # too far for a few steps of Newton's method in the tick
    run_text(c, f"movej({literal(c.plant.pose_of(there))})")
    c.tick()
    assert c.solver.busy
    c.protective_stop("test")
    assert not c.solver.busy
    c.solver.close()
    for _ in range(50):
        c.tick()
    assert c.state is ControllerState.STOPPED and np.allclose(c.plant.live.q, HOME, atol=1e-3)
